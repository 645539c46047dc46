"""Workers that are slow, or of another version, and a coordinator that is away: none of it fails a run."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.executors import in_flight, remote
from hakoiri.coordinator.executors.remote import RemoteExecutor
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.worker.rq_worker import TaskQueue
from hakoiri.worker.transport.connection import ALIVE_SECONDS, connect, event_key
from hakoiri.worker.transport.payload import Arrays, Event
from tests.support.commands import FinishedRuns, Hakoiri, wait_until
from tests.support.runs import Notes
from tests.support.servers import RedisServer, Workers, comes_out_right, other_worker
from tests.support.user_puzzles import ruled
from tests.system.conftest import StartWorkers

#: A row of numbers, one of which takes seconds, that writes down each number that it was asked for.
SLOW = ruled(
    "Slow",
    """\
    def successors(self, key):
        with open({asked!r}, "a") as asked:
            asked.write(f"{{key}}\\n")
        time.sleep(3.5 * (key == 10))
        return [key - 1, key + 1]
""",
    imports="import time",
    start=100,
    undirected=True,
)

#: A run whose work is chunks.
CENSUS = ("run", "klotski", "--whole", "--farm", "0", "--chunk", "5000", "--json")

#: A worker process whose puzzle overlooks a move: what it answers is readable, and wrong.
OVERLOOKS = """
import numpy as np
from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.sliding_blocks.klotski import Klotski

plain = Klotski.expand

def expand(self, keys):
    successors, counts = plain(self, keys)
    counts = counts.copy()
    counts[-1] -= 1
    return Expansion(successors[:-1], counts)

Klotski.expand = expand
"""

#: What makes a worker process one of other code, and what it says: its puzzle, tasks or coding, or the message itself.
OTHER_VERSIONS = {
    "its code differs from the run's: puzzle; install": (
        "from hakoiri.puzzles.sliding_blocks.klotski import Klotski; Klotski.version = 0"
    ),
    "its code differs from the run's: puzzle;": OVERLOOKS,
    "its code differs from the run's: tasks;": "from hakoiri.worker.graphs import searches; searches._BLOCK = 4",
    "its code differs from the run's: coding;": (
        "from hakoiri.storage.layers import codec; codec.longest_varint = lambda layout: 20"
    ),
    "its code differs from the run's: Python (cpython 3.9, not cpython ": (
        "import sys, types; from hakoiri.worker import program; "
        "program.sys = types.SimpleNamespace(**vars(sys) | {'version_info': types.SimpleNamespace(major=3, minor=9)})"
    ),
    "this worker has no task 'forest'": "from hakoiri.worker.tasks import TASKS; del TASKS['forest']",
    "does not understand the request": (
        "import hakoiri.worker.rq_worker as rq; rq.TaskRequest = lambda session, token, attempt, keep: None"
    ),
}


@contextmanager
def working(server: RedisServer, chunks: list[Arrays], task: str, shared: Arrays, tuning: Tuning) -> Iterator[None]:
    """An executor at work on `chunks` in a thread of its own, with a worker that lives and never takes a job."""
    server.pretend_worker()
    control = Control()
    puzzle, spec = Klotski(), PuzzleSpec("klotski")

    def work() -> None:
        connection = connect(server.url)
        with (
            closing(
                RemoteExecutor(server.url, connection, puzzle, spec, control, SilentObserver(), 1 << 28, tuning)
            ) as executor,
            suppress(StopRun),
        ):
            list(executor.map(task, chunks, shared))

    thread = Thread(target=work)
    thread.start()
    try:
        # Nobody begins any.
        wait_until(lambda: TaskQueue(connection=server.client).count)
        yield
    finally:
        control.interrupt("enough")
        thread.join()


@pytest.fixture(scope="module")
def keys() -> Keys:
    """Some thousand configurations."""
    return next(Klotski().configurations())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """A stand-in for the time module of executors; its clock stands still unless it is told otherwise."""
    clock = Mock()
    clock.monotonic.return_value = 0.0
    monkeypatch.setattr(remote, "time", clock)
    monkeypatch.setattr(in_flight, "time", clock)
    return clock


@pytest.mark.parametrize("kind", ["hakoiri:*:in:*", "hakoiri:*:shared:*", "rq:job:*"])
def test_what_is_waited_for_is_renewed(kind: str, redis_server: RedisServer, keys: Keys) -> None:
    """All that a worker who comes late will need: the arrays of the chunk, the shared ones, the job."""
    lives: list[int] = []

    def renewed() -> bool:
        lives.append(redis_server.client.pttl(key))
        assert lives[-1] > 0, "gone"
        return len(lives) > 1 and lives[-1] > lives[-2]

    with working(redis_server, [[keys[:1]]], "goals", [keys[:3]], Tuning(keep=5)):
        (key,) = redis_server.client.scan_iter(kind)
        wait_until(renewed)


def test_results_that_nobody_took_in_time_are_made_again(farm: Workers, keys: Keys) -> None:
    """By a coordinator that was away for longer than they are kept; no chunk counts as lost: one would be too many."""
    connection: Any = connect(farm.url)
    tuning = Tuning(most_losses=1)
    puzzle, spec = Klotski(), PuzzleSpec("klotski")

    def chunks() -> Iterator[Arrays]:
        for begin in range(0, 100, 10):
            if begin == 30:
                results = wait_until(lambda: found if len(found := connection.keys("hakoiri:*:out:*")) == 3 else None)
                connection.delete(*(results or ()))
            yield [keys[begin : begin + 10]]

    with closing(RemoteExecutor(farm.url, connection, puzzle, spec, Control(), Notes(), 1 << 28, tuning)) as executor:
        assert sorted(number for number, _ in executor.map("neighbours", chunks())) == list(range(10))


def test_what_a_coordinator_did_not_renew_while_it_was_away_is_not_lost(
    redis_server: RedisServer, keys: Keys, clock: Mock
) -> None:
    """It is sent again, which is nobody's fault: a single loss would be too much."""
    queue, tuning = TaskQueue(connection=redis_server.client), Tuning(most_losses=1)
    with working(redis_server, [[keys[:1]]], "neighbours", (), tuning):
        (key,) = redis_server.client.scan_iter("hakoiri:*:in:*")
        redis_server.client.delete(key)
        queue.empty()
        clock.monotonic.return_value = 1.0 * tuning.keep
        (job,) = wait_until(lambda: queue.jobs)
        assert job.kwargs["attempt"] == 2
        assert redis_server.client.exists(key)


def test_a_job_that_was_just_taken_is_no_lost_one(redis_server: RedisServer, keys: Keys, clock: Mock) -> None:
    """However long it waited in the queue: only who has taken it and says nothing for seconds has lost it."""
    queue = TaskQueue(connection=redis_server.client)

    def look_at(seconds: float) -> None:
        """Let the executor look after its chunks at that time, which renews what was kept for ever."""
        clock.monotonic.return_value = seconds
        (key,) = redis_server.client.scan_iter("hakoiri:*:in:*")
        redis_server.client.persist(key)
        wait_until(lambda: redis_server.client.ttl(key) > 0)

    with working(redis_server, [[keys[:1]]], "neighbours", (), Tuning()):
        waited = 2.0 * ALIVE_SECONDS
        look_at(waited)
        queue.empty()
        look_at(waited + 1)
        look_at(waited + ALIVE_SECONDS - 1)
        assert not queue.jobs
        look_at(waited + ALIVE_SECONDS + 1)
        (job,) = wait_until(lambda: queue.jobs)
        assert job.kwargs["attempt"] == 2


def test_an_overdue_chunk_does_not_take_up_all_workers(redis_server: RedisServer, keys: Keys) -> None:
    """Each further worker is asked after twice the time."""
    deadline, times = 0.2, []
    queue = TaskQueue(connection=redis_server.client)
    with working(redis_server, [[keys[:1]]], "neighbours", (), Tuning(deadline=deadline)):
        for attempt in range(1, 5):
            (job,) = wait_until(lambda: queue.jobs)
            times.append(monotonic())
            assert job.kwargs["attempt"] == attempt
            queue.empty()
            began = Event("started", job.kwargs["token"], attempt, "nobody")
            redis_server.client.lpush(event_key(job.kwargs["session"]), began.pack())
    for attempt, gap in enumerate(np.diff(times)):
        assert gap > deadline * 2**attempt


# Workers of another version


@pytest.mark.parametrize(
    ("said", "change"),
    [
        pytest.param(*version, id=name, marks=[] if name in ("number", "Python") else pytest.mark.slow)
        for name, version in zip(
            ("number", "moves", "tasks", "coding", "Python", "task", "field"), OTHER_VERSIONS.items(), strict=True
        )
    ],
)
def test_a_worker_of_another_version_is_left_out(
    said: str, change: str, hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    """It is given chunks first, and lives on beside the one that does the work."""
    redis_server.pretend_worker()
    with other_worker(redis_server, change) as name:
        running = hakoiri.start(*CENSUS, "--redis", redis_server.url)
        running.wait_for(f"worker {name} is excluded from this run: ")
        with workers(redis_server.url, 1):
            stderr = comes_out_right(running, finished)
    assert said in stderr
    assert stderr.count("is excluded") == 1
    assert "alone" not in stderr


@pytest.mark.parametrize(
    ("said", "change"),
    [
        ("tasks;", "from hakoiri.worker.hosts import wire; wire._LOOK_SECONDS = 0.3"),
        ("coding;", "from hakoiri.storage.layers import blocks; blocks._BITS = 1 << 30"),
        pytest.param("puzzle;", OVERLOOKS, marks=pytest.mark.slow),
    ],
    ids=["hosts", "blocks", "moves"],
)
def test_a_host_of_another_version_is_named(
    said: str, change: str, hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path
) -> None:
    """Nobody else could keep its ranges."""
    arguments = ("--redis", redis_server.url, "--hosts", "all", "--farm", "1", "--json")
    with other_worker(redis_server, change, store=tmp_path / "host") as name:
        refused = hakoiri("run", "klotski", *arguments, check=False)
    assert refused.code == 1
    assert f"host {name}: its code differs from the run's: {said} install the same Hakoiri" in refused.stderr
    assert hakoiri.ask("status", "last")["status"] == "interrupted"


def test_a_worker_of_other_code_does_not_verify(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    """Its rules in plain Python would be wrong where those of the run are right, or the other way round."""
    rules = "from hakoiri.puzzles.sliding_blocks.klotski import Klotski; Klotski.successors = lambda self, key: []"
    hakoiri("run", "klotski", "--farm", "400", "--json")
    with other_worker(redis_server, rules) as name:
        ended = hakoiri("verify", "last", "--full", "--redis", redis_server.url, "--json")
    assert ended.json["ok"]
    assert f"worker {name} is excluded from this run: its code differs from the run's: puzzle;" in ended.stderr


def test_a_worker_that_refuses_leaves_time_for_others(redis_server: RedisServer, keys: Keys) -> None:
    """Or it would take all chunks, as nobody is as quick as who does nothing."""

    def sent(times: int) -> bool:
        return bool(list(redis_server.client.scan_iter(f"rq:job:*-1-0-{times}")))

    with (
        working(redis_server, [[keys[:1]]], "neighbours", (), Tuning()),
        other_worker(redis_server, next(iter(OTHER_VERSIONS.values()))),
    ):
        wait_until(lambda: sent(2))
        began = monotonic()
        wait_until(lambda: sent(4))
        assert monotonic() - began > 1


def test_inputs_in_flight_take_a_quarter_of_the_memory(redis_server: RedisServer) -> None:
    """For as many workers as there are; a quarter of the quarter before."""
    for number in range(20):
        redis_server.pretend_worker(f"nobody-{number}")
    drawn, control = 0, Control()
    resources = Resources(redis=redis_server.url, memory=1 << 26)
    with open_context(Klotski(), PuzzleSpec("klotski"), resources, control, SilentObserver()) as context:
        size = context.shares.free // 4 // 16

        def chunks() -> Iterator[Arrays]:
            nonlocal drawn
            control.interrupt("enough")
            while drawn < 60:
                drawn += 1
                yield [Klotski().keys([0]), np.zeros(size, dtype=np.uint8)]

        assert context.executor.workers == 20
        with pytest.raises(StopRun):
            list(context.executor.map("solve", chunks()))
    assert drawn == 16
