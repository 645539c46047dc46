"""The queue of a coordinator: what is driven when, by a clock that stands still unless the coordinator sleeps."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack
import pytest

from hakoiri.coordinator.runs import drive, service
from hakoiri.coordinator.runs.catalogue import queue_again
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.service import RunEnd, serve
from hakoiri.coordinator.session.resources import LEAST_MEMORY, Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.errors import Hint
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.render.progress import work_log_facts
from hakoiri.rows.runs import work_log_row
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import DATA_FILE, QUEUED_FILE

#: A queue that never sleeps is stopped after so many attempts.
_MOST_ATTEMPTS = 20


class Clock:
    """Time that passes only in `sleep`, which calls `at_sleep` and interrupts the coordinator at `end`."""

    def __init__(self, end: float, at_sleep: Callable[[], None] = lambda: None) -> None:
        self.now, self.control, self.attempts = 1000.0, Control(), list[int]()
        self._began, self._end, self._at_sleep = self.now, self.now + end, at_sleep

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._at_sleep()
        if self.now >= self._end:
            self.control.interrupt("the end of the test")

    def observed(self) -> SilentObserver:
        """Asked for at each attempt to drive a run: at which second."""
        self.attempts.append(round(self.now - self._began))
        if len(self.attempts) == _MOST_ATTEMPTS:
            self.control.interrupt("too many attempts")
        return SilentObserver()


def served(data: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> list[RunEnd]:
    monkeypatch.setattr(service, "time", clock)
    return serve(data, Resources(workers=1), None, clock.control, lambda _: clock.observed(), lambda *_: None)


def hanoi(discs: int) -> PuzzleSpec:
    return PuzzleSpec("hanoi", {"discs": str(discs), "pegs": "3"})


@pytest.fixture
def queued(tmp_path: Path) -> Path:
    """A queued run of 27 configurations."""
    return make_run(tmp_path, hanoi(3), None, {}, Resources(), queued=True)


def test_a_run_that_an_error_interrupts_is_tried_again_every_30_seconds(
    queued: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (queued / DATA_FILE).write_bytes(b"")
    clock = Clock(61)
    assert served(queued.parent, clock, monkeypatch) == [RunEnd(queued.name, "error")] * 3
    assert clock.attempts == [0, 30, 60]


def test_a_run_that_another_process_drives_is_looked_at_every_second(
    queued: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(2.5)
    with RunLock(queued):
        assert served(queued.parent, clock, monkeypatch) == []
    assert clock.attempts == [0, 1, 2]


def test_a_driver_knows_whether_other_queued_runs_have_no_driver(queued: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator tells each run that it drives."""
    control, found = Control(), list[bool]()
    monkeypatch.setattr(drive, "_session", lambda *_: found.append(control.others_wait()))
    drive.drive(queued, Resources(), control, SilentObserver(), awaited=True)
    other = make_run(queued.parent, hanoi(2), None, {}, Resources(), queued=True)
    drive.drive(queued, Resources(), control, SilentObserver(), awaited=True)
    with RunLock(other):
        drive.drive(queued, Resources(), control, SilentObserver(), awaited=True)
    assert found == [False, True, False]


def test_a_run_that_ended_and_is_queued_again_is_driven_at_once(queued: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = iter([queued])

    def queue_once() -> None:
        for directory in again:
            queue_again(directory)

    with Ledger(queued, writable=True) as ledger:
        ledger.request_cancel()
    clock = Clock(0.25, queue_once)
    ends = served(queued.parent, clock, monkeypatch)
    assert [end.status for end in ends] == ["cancelled", "complete"]
    assert clock.attempts == [0, 0]


#: A driver that takes the lock of a run, perhaps says that its session has begun, and is ended by SIGABRT.
DRIVER = """
import os, sys
from dataclasses import replace
from pathlib import Path
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock
directory = Path(sys.argv[1])
lock = RunLock(directory)
if sys.argv[2]:
    with Ledger(directory, writable=True) as ledger:
        ledger.commit(replace(ledger.state.become("running"), idle=sys.argv[2] == "idle"))
os.abort()
"""


@pytest.mark.parametrize(
    ("begun", "end"),
    [("", "failed"), ("idle", "failed"), ("at work", "complete")],
    ids=["before its first write", "before any work", "amid the work"],
)
def test_a_run_whose_process_is_ended_by_a_signal_twice_is_set_aside(
    begun: str, end: str, queued: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run is driven then. After it has committed work it is no more suspect than others."""
    behind = make_run(queued.parent, hanoi(4), None, {}, Resources(), queued=True)
    abort, popen = [sys.executable, "-c", DRIVER, str(queued), begun], subprocess.Popen
    assert subprocess.run(abort, check=False).returncode == -signal.SIGABRT
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: popen(abort, stderr=subprocess.DEVNULL))
    ends = served(queued.parent, Clock(1), monkeypatch)
    assert ends == [RunEnd(queued.name, end), RunEnd(behind.name, "complete")]
    if end == "complete":
        return
    assert not (queued / QUEUED_FILE).exists()
    with Ledger(queued) as ledger:
        assert ledger.state.status == "failed"
        assert "ended by SIGABRT before its work was done, twice in a row" in ledger.state.reason
        assert ledger.state.hints == (Hint("resume", queued.name),)


class Child:
    """A process that ends after so many looks at it, each of which takes 20 seconds."""

    def __init__(self, clock: Clock, looks: int) -> None:
        self.told, self.environment, self.returncode = list[str](), dict[str, str](), 0
        self._clock, self._looks = clock, looks

    def __call__(self, command: list[str], env: dict[str, str], **_: Any) -> "Child":
        self.environment = env
        return self

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        """It has ended."""

    def poll(self) -> int | None:
        self._looks -= 1
        return 0 if self._looks < 0 else None

    def send_signal(self, number: int) -> None:
        self.told.append(signal.Signals(number).name)

    def kill(self) -> None:
        self.told.append("SIGKILL")

    def wait(self, seconds: float) -> None:
        self._clock.sleep(20)


@pytest.mark.parametrize(
    ("interrupted", "looks", "told"), [(False, 3, []), (True, 2, ["SIGTERM"]), (True, 3, ["SIGTERM", "SIGKILL"])]
)
def test_the_process_of_a_run_is_asked_to_stop_once_and_killed_if_it_does_not(
    interrupted: bool, looks: int, told: list[str], queued: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, control = Clock(1e9), Control()
    child = Child(clock, looks)
    monkeypatch.setattr(drive, "time", clock)
    monkeypatch.setattr(subprocess, "Popen", child)
    if interrupted:
        control.interrupt("enough")
    assert drive.drive_apart(queued, Resources(workers=1), control).status == "queued"
    assert child.told == told
    assert child.environment.items() >= {"PATH": os.environ["PATH"], "HAKOIRI_SUPERVISOR": str(os.getpid())}.items()


# The work log of a run counts all its sessions


def test_sessions_are_counted_together() -> None:
    first = WorkLog()
    assert first.as_dict() == {}
    first.add_layer("small", 7)
    first.add_layer("hosts", 1_000)
    for worker in ("a-1", "a-2", "a-1"):
        first.add_chunk("forest", "a", worker)
    kept = msgpack.unpackb(msgpack.packb(first.as_dict()))
    second = WorkLog()
    second.go_on(kept)
    # A scratch run beside it has none.
    second.go_on({})
    second.add_layer("hosts", 2_000)
    second.add_chunk("forest", "a", "a-3")
    second.add_chunk("solve")
    assert second.as_dict() == {
        "layers": {"small": [1, 7], "hosts": [2, 3_000]},
        "hosts": {"a": {"workers": 2, "chunks": {"forest": 4}}, "": {"workers": 0, "chunks": {"solve": 1}}},
    }
    assert kept == first.as_dict(), "what was committed is not changed any more"
    facts = work_log_facts(work_log_row(second.as_dict()))
    assert facts["expanded"] == "3 layers: 1 here, 2 by hosts"
    assert facts["chunks"].splitlines() == ["1 solve by this process, without workers", "4 forest by 2 workers of a"]


def test_what_older_versions_counted_is_told_and_goes_on() -> None:
    """Workers made layers then, and left pieces in data Redis."""
    old = {
        "layers": {"workers": [9, 3_521_340], "cheaper": [1, 60_000]},
        "hosts": {"a": {"workers": 2, "data_redis": ["redis://10.0.0.2:1/0"], "chunks": {"gather": 18}}},
        "why_here": "0.02 s of work, and 0.03 s to hand it out",
        "audit": {"chunks": 3, "untrusted": ["b-17"], "first_layers": {"a-12": 40}},
    }
    places = WorkLog()
    places.go_on(old)
    places.add_layer("threads", 5)
    assert places.answered == {"a-12"}
    for stored in (old, places.as_dict()):
        facts = work_log_facts(work_log_row(stored))
        here = 1 if stored is old else 2
        assert facts["expanded"] == f"{here + 9} layers: {here} here, 9 by workers"
        assert facts["chunks"] == "18 gather by 2 workers of a"
        assert facts["audit"] == "3 chunks computed again here; excluded because they were wrong: b-17"


def test_who_expanded_is_counted_by_layer_and_in_all_from_session_to_session() -> None:
    first, second = WorkLog(), WorkLog()
    first.add_expanded("", 100, 0.5)
    first.add_expanded("a-3", 40, 0.25, 10, 20)
    first.add_expanded("a-3", 60, 0.25, 30, 40)
    first.repeated += 2
    second.go_on(first.as_dict())
    done: Any = second.take_layer()
    assert done == {"": [1, 100, 0.5, 0, 0], "a-3": [2, 100, 0.5, 40, 60]}
    second.add_layer("workers", 70)
    second.add_expanded("b-4", 70, 3.0, 5_000_000, 6)
    done = second.take_layer()
    assert done == {"b-4": [1, 70, 3.0, 5_000_000, 6]}
    assert second.take_layer() == {}
    facts = work_log_facts(work_log_row(second.as_dict()))
    assert facts["expanded"] == "1 layer: 1 by 2 workers in 3 chunks"
    assert facts["by"].splitlines() == [
        "threads here: 1 chunk of 100 configurations in 0.50 s",
        "a-3: 2 chunks of 100 configurations in 0.50 s, 0.00 MB sent, 0.00 MB received",
        "b-4: 1 chunk of 70 configurations in 3.00 s, 5.00 MB sent, 0.00 MB received",
    ]
    assert facts["sent again"] == "2 chunks"


def test_threads_of_one_process_are_not_told_of() -> None:
    assert work_log_facts(work_log_row(WorkLog().as_dict())) == {}


def test_a_short_run_does_not_wait_for_a_long_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has half of the memory. The long one ends when the short one has ended."""
    long, short = (make_run(tmp_path, hanoi(discs), None, {}, Resources(), queued=True) for discs in (5, 3))
    has_ended, given = threading.Event(), list[int | None]()

    def driven(directory: Path, resources: Resources, control: Control) -> Any:
        given.append(resources.memory)
        if directory == long:
            assert has_ended.wait(60)
        state = drive.drive(directory, replace(resources, workers=1), control, SilentObserver(), awaited=True)
        if directory == short:
            has_ended.set()
        return state

    monkeypatch.setattr(service, "drive_apart", driven)
    resources, control = Resources(memory=1 << 30), Control()
    ends = serve(tmp_path, resources, None, control, lambda _: SilentObserver(), lambda *_: None, burst=True, runs=2)
    assert ends == [RunEnd(short.name, "complete"), RunEnd(long.name, "complete")]
    assert given == [1 << 29] * 2


def test_of_two_coordinators_one_reports_the_end_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one has begun to start a process when the run ends."""
    run, resources = make_run(tmp_path, hanoi(3), None, {}, Resources(), queued=True), Resources(workers=1)
    quiet, reported = SilentObserver(), list[str]()

    def report(run: str, text: str, *_: object) -> None:
        reported.append(text)

    def late(directory: Path, resources: Resources, control: Control) -> Any:
        drive.drive(directory, resources, control, quiet, awaited=True)
        return drive.drive(directory, resources, control, quiet, awaited=True)

    monkeypatch.setattr(service, "drive_apart", late)
    assert serve(tmp_path, resources, None, Control(), lambda _: quiet, report, burst=True, runs=2) == []
    assert reported == ["started"]
    with Ledger(run) as ledger:
        assert ledger.state.status == "complete"


def test_the_highest_priority_is_driven_first_and_then_the_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [
        make_run(tmp_path, hanoi(discs), None, {}, Resources(priority=priority), queued=True)
        for discs, priority in ((2, None), (3, 5), (4, 0), (5, 5), (6, -1))
    ]
    ends = served(tmp_path, Clock(0.1), monkeypatch)
    assert [end.run for end in ends] == [runs[place].name for place in (1, 3, 0, 2, 4)]


GB = 1 << 30


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ([None, None], [GB // 2, GB // 2]),
        ([None, None, None, None], [GB // 2, GB // 4, GB // 8, GB // 8]),
        ([200 << 20, None, None], [200 << 20, (GB - (200 << 20)) // 2, (GB - (200 << 20)) // 2]),
        ([None] * 9, [GB - 8 * LEAST_MEMORY, *[LEAST_MEMORY] * 8]),
    ],
)
def test_the_oldest_run_gets_half_of_the_memory_that_is_left(
    asked: list[int | None], given: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run gets more than it was queued with, and none less than the least."""
    runs = [make_run(tmp_path, hanoi(2), None, {}, Resources(memory=each), queued=True) for each in asked]
    found, all_begun = dict[Path, int | None](), threading.Barrier(len(runs))

    def driven(directory: Path, resources: Resources, control: Control) -> Any:
        found[directory] = resources.memory
        all_begun.wait(60)
        return drive.drive(directory, replace(resources, workers=1), control, SilentObserver(), awaited=True)

    monkeypatch.setattr(service, "drive_apart", driven)
    resources, quiet = Resources(memory=GB), SilentObserver()
    serve(tmp_path, resources, None, Control(), lambda _: quiet, lambda *_: None, burst=True, runs=len(runs))
    assert [found[run] for run in runs] == given


def test_a_run_that_has_ended_leaves_its_memory_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it has ended: the first is cancelled, and the others are complete before the second is."""
    runs = [make_run(tmp_path, hanoi(2), None, {}, Resources(), queued=True) for _ in range(4)]
    found, is_over = dict[Path, int | None](), threading.Event()

    def driven(directory: Path, resources: Resources, control: Control) -> Any:
        found[directory] = resources.memory
        if directory == runs[0]:
            with Ledger(directory, writable=True) as ledger:
                ledger.request_cancel()
        if directory == runs[1]:
            assert is_over.wait(60)
        state = drive.drive(directory, replace(resources, workers=1), control, SilentObserver(), awaited=True)
        if directory == runs[3]:
            is_over.set()
        return state

    monkeypatch.setattr(service, "drive_apart", driven)
    resources, quiet = Resources(memory=GB), SilentObserver()
    ends = serve(tmp_path, resources, None, Control(), lambda _: quiet, lambda *_: None, burst=True, runs=2)
    assert {end.run: end.status for end in ends} == {
        run.name: "cancelled" if run == runs[0] else "complete" for run in runs
    }
    assert [found[run] for run in runs] == [GB // 2] * 4


def test_a_run_whose_process_was_killed_is_tried_again_after_a_second(
    queued: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after the 30 seconds of an error."""
    killed, clock = iter([True]), Clock(2.5)

    def driven(directory: Path, resources: Resources, control: Control) -> Any:
        if next(killed, False):
            abort = [sys.executable, "-c", DRIVER, str(directory), "at work"]
            assert subprocess.run(abort, check=False).returncode == -signal.SIGABRT
            raise drive.DiedError("killed")
        return drive.drive(directory, replace(resources, workers=1), control, SilentObserver(), awaited=True)

    monkeypatch.setattr(service, "time", clock)
    monkeypatch.setattr(service, "drive_apart", driven)
    ends = serve(queued.parent, Resources(), None, clock.control, lambda _: clock.observed(), lambda *_: None, runs=2)
    assert [end.status for end in ends] == ["complete"]
    assert clock.attempts == [0, 1]


@pytest.mark.parametrize(("deaths", "end"), [(1, "complete"), (2, "failed")])
def test_a_run_whose_process_dies_before_it_holds_it_is_tried_once_more(
    deaths: int, end: str, queued: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a third time a burst would never end."""
    killed, clock = iter(range(deaths)), Clock(100)

    def driven(directory: Path, resources: Resources, control: Control) -> Any:
        if next(killed, None) is not None:
            raise drive.DiedError("killed")
        return drive.drive(directory, replace(resources, workers=1), control, SilentObserver(), awaited=True)

    monkeypatch.setattr(service, "time", clock)
    monkeypatch.setattr(service, "drive_apart", driven)
    ends = serve(
        queued.parent, Resources(), None, clock.control, lambda _: clock.observed(), lambda *_: None, burst=True, runs=2
    )
    assert ends == [RunEnd(queued.name, end)]
    assert clock.attempts == [0, 1]
