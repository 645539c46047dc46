"""Workers that are slow, or of another version, and a coordinator that is away: none of it fails a run."""

import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any
from unittest.mock import Mock

import msgpack
import numpy as np
import pytest

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.executors import in_flight, sending
from hakoiri.coordinator.executors.remote import remote_executor
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import TaskError, WorkerError
from hakoiri.keys.layout import Keys, Layout
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import BLOCKS, LAYERS, number_key
from hakoiri.worker import supervisor
from hakoiri.worker.rq_worker import TaskQueue
from hakoiri.worker.supervisor import Supervisor
from hakoiri.worker.transport.connection import (
    ALIVE_SECONDS,
    QUEUE,
    SHARED_TYPES,
    WORKERS,
    connect,
    event_key,
    require_own_names,
    worker_key,
)
from hakoiri.worker.transport.payload import Arrays, Event
from tests.support.commands import START_OF_248, FinishedRuns, Hakoiri, wait_until
from tests.support.runs import Notes
from tests.support.servers import RedisServer, Workers, comes_out_right, other_worker
from tests.support.toy_runs import before_call
from tests.system.conftest import StartWorkers

#: A run whose work is chunks.
CENSUS = ("run", "klotski", "--whole", "--farm", "0", "--chunk", "5000", "--json")

#: A worker process that was started before an edit of a module.
EDITED = """
from hakoiri.worker import program
known = program._source
program._source = lambda name: (known(name)[0] + "edited" * (name == "{}"), known(name)[1])
"""

#: What makes a worker process one of other code, and what it says: its puzzle, tasks or coding, or the message itself.
OTHER_VERSIONS = {
    "its code differs from the run's: puzzle; install": EDITED.format("hakoiri.puzzles.sliding_blocks.klotski"),
    "its code differs from the run's: tasks;": EDITED.format("hakoiri.worker.census.forests"),
    "its code differs from the run's: coding;": EDITED.format("hakoiri.storage.layers.codec"),
    "its code differs from the run's: Python (cpython 3.9, not cpython ": (
        "import sys, types; from hakoiri.worker import program; "
        "program.sys = types.SimpleNamespace(**vars(sys) | {'version_info': types.SimpleNamespace(major=3, minor=9)})"
    ),
    "this worker has no task 'forest'": "from hakoiri.worker.tasks import TASKS; del TASKS['forest']",
    "does not understand the request": (
        "from dataclasses import make_dataclass; import hakoiri.worker.rq_worker as rq; "
        "rq.TaskRequest = make_dataclass('TaskRequest', [('later', int)])"
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
                remote_executor(server.url, connection, puzzle, spec, control, SilentObserver(), 1 << 28, tuning)
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
    monkeypatch.setattr(sending, "time", clock)
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

    with working(redis_server, [[keys[:1]]], "goals", [keys[:3], np.zeros(3, dtype=np.uint64)], Tuning(keep=60)):
        key, *_ = redis_server.client.scan_iter(kind)
        wait_until(renewed)


def test_results_that_are_gone_are_made_again(farm: Workers, keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a coordinator that was away for longer than they are kept; no chunk counts as lost: one would be too many."""
    tuning, fetch, gone = Tuning(most_losses=1), in_flight.InFlight.fetch, list[int]()
    puzzle, spec = Klotski(), PuzzleSpec("klotski")

    def without_first(flight: in_flight.InFlight, chunk: sending.Chunk, event: Event) -> Any:
        if event.attempt == 1 and chunk.number < 3:
            gone.append(chunk.number)
            return None
        return fetch(flight, chunk, event)

    monkeypatch.setattr(in_flight.InFlight, "fetch", without_first)
    chunks = [[keys[begin : begin + 10]] for begin in range(0, 100, 10)]
    executor = remote_executor(farm.url, connect(farm.url), puzzle, spec, Control(), Notes(), 1 << 28, tuning)
    with closing(executor):
        assert sorted(number for number, _ in executor.map("neighbours", chunks)) == list(range(10))
    assert sorted(gone) == [0, 1, 2]


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
        (key,) = redis_server.client.scan_iter("hakoiri:*:in:*")
        redis_server.client.persist(key)
        clock.monotonic.return_value = seconds
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


@pytest.mark.ci_slow
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


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("said", "change"),
    [
        pytest.param(*version, id=name, marks=[] if name == "puzzle" else pytest.mark.slow)
        for name, version in zip(
            ("puzzle", "tasks", "coding", "Python", "task", "field"), OTHER_VERSIONS.items(), strict=True
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
        ("tasks;", EDITED.format("hakoiri.worker.hosts.wire")),
        ("coding;", EDITED.format("hakoiri.storage.layers.blocks")),
    ],
    ids=["hosts", "blocks"],
)
def test_a_host_of_another_version_is_named(
    said: str, change: str, hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path
) -> None:
    """Nobody else could keep its ranges."""
    arguments = ("--redis", redis_server.url, "--hosts", "all", "--farm", "1", "--json")
    with other_worker(redis_server, change, store=tmp_path / "host") as name:
        refused = hakoiri("run", "klotski", *arguments, check=False)
    assert refused.code == 1
    assert (
        f"host {name} is excluded from this run: its code differs from the run's: {said} install the same Hakoiri"
        in refused.stderr
    )
    assert hakoiri.ask("status", "last")["status"] == "interrupted"


@pytest.mark.slow
def test_a_worker_of_other_code_does_not_verify(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    """Its rules in plain Python would be wrong where those of the run are right, or the other way round."""
    rules = EDITED.format("hakoiri.puzzles.sliding_blocks.klotski")
    hakoiri("run", "klotski", "--farm", "400", "--json")
    with other_worker(redis_server, rules) as name:
        ended = hakoiri("verify", "last", "--full", "--redis", redis_server.url, "--json")
    assert ended.json["ok"]
    assert f"worker {name} is excluded from this run: its code differs from the run's: puzzle;" in ended.stderr


@pytest.mark.ci_slow
def test_a_worker_that_refuses_leaves_time_for_others(
    redis_server: RedisServer, keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it would take all chunks, as nobody is as quick as who does nothing."""
    times = list[float]()
    before_call(monkeypatch, in_flight.InFlight, "_put", lambda *_: times.append(monotonic()))
    with (
        working(redis_server, [[keys[:1]]], "neighbours", (), Tuning()),
        other_worker(redis_server, next(iter(OTHER_VERSIONS.values()))),
    ):
        wait_until(lambda: len(times) >= 4)
    # The third is taken only after the pause that follows the second.
    assert times[3] - times[1] > 1


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
                yield [np.zeros(size, dtype=np.uint8)]

        assert context.farm.plan_of(None).takers == 20
        with pytest.raises(StopRun):
            list(context.farm.map(context.farm.plan_of(None), "solve", chunks()))
    assert drawn == 16


# Data of other programs in Redis: workers go on beside it, or say which name is taken and are given up


def test_a_name_that_is_taken_is_told(redis_server: RedisServer) -> None:
    client = redis_server.client
    require_own_names(client, redis_server.url)
    for name, kind in SHARED_TYPES.items():
        client.set(name, "something else")
        words = f"holds a string under '{name}', expected a {kind}; use a Redis"
        with pytest.raises(WorkerError, match=words):
            require_own_names(client, redis_server.url)
        client.delete(name)


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The codes with which worker processes end as soon as they have begun, in turn, the last one ever after."""
    codes = [1]

    class Ending(Supervisor):
        # However slowly this machine starts them.
        poll_seconds, restart_seconds, early_seconds = 0.01, 0.0, 1e9

        def start_worker(self) -> "subprocess.Popen[bytes]":
            code = codes.pop(0) if len(codes) > 1 else codes[0]
            return subprocess.Popen([sys.executable, "-S", "-E", "-c", f"import os; os._exit({code})"])

    monkeypatch.setattr(supervisor, "Supervisor", Ending)
    return codes


@contextmanager
def running(team: Supervisor) -> Iterator[None]:
    team.start()
    keeper = Thread(target=team.run)
    keeper.start()
    try:
        yield
    finally:
        team.request_stop()
        keeper.join()


@pytest.mark.ci_slow
def test_workers_that_only_end_are_never_given_up(redis_server: RedisServer, exits: list[int]) -> None:
    """It is said once, however many they are and in which order they end; the name that is taken, too."""
    notes: list[str] = []
    team = supervisor.Supervisor(redis_server.url, 2, notes.append)
    with running(team):
        wait_until(lambda: team.replaced > 30)
    assert sum("ended with code 1; starting another" in note for note in notes) < 10
    (given,) = [note for note in notes if "in a row" in note]
    assert given.endswith("see what they have said; trying again after growing pauses")
    redis_server.client.set("rq:queues", "something else")
    team = supervisor.Supervisor(redis_server.url, 1, notes.append)
    with running(team):
        wait_until(lambda: "holds a string under 'rq:queues'" in notes[-1])


@pytest.mark.ci_slow
def test_a_run_whose_own_workers_only_end_works_alone(redis_server: RedisServer, exits: list[int]) -> None:
    """It would have waited for them for ever."""
    puzzle, resources, notes = Klotski(), Resources(redis=redis_server.url, workers=1), Notes()
    with open_context(puzzle, PuzzleSpec("klotski"), resources, Control(), notes) as context:
        ((_, found),) = context.farm.map(context.farm.plan_of(None), "neighbours", [[puzzle.keys([puzzle.start])]])
    assert np.array_equal(np.unique(found[0]), np.unique(puzzle.expand(puzzle.keys([puzzle.start]))[0]))
    assert any("this process works alone" in text for text in notes.texts)


@pytest.mark.ci_slow
def test_what_others_leave_under_names_of_rq_ends_no_worker(redis_server: RedisServer, workers: StartWorkers) -> None:
    """Registries of another type, suspended workers, and entries of the queue that name no job, or a wrong one."""
    client = redis_server.client
    for name in ("rq:groups", "rq:rl-keys", f"rq:failed:{QUEUE}", f"rq:finished:{QUEUE}"):
        client.set(name, "something else")
    client.set("rq:suspended", 1)
    client.set("rq:job:other", "something else")
    client.hset("rq:job:empty", mapping={"status": "queued"})
    # What is no job: zeros, a bomb of a gigabyte, a name that is a list, nothing to decompress.
    bomb = zlib.compressobj()
    jobs = {
        "zeros": zlib.compress(bytes(10)), "raw": bytes(10),
        "list": zlib.compress(msgpack.packb([["x"], None, [], {}])),
        "bomb": b"".join(bomb.compress(bytes(1 << 24)) for _ in range(64)) + bomb.flush(),
    }  # fmt: skip
    for name, data in jobs.items():
        client.hset(f"rq:job:{name}", mapping={"data": data})
    client.rpush(f"rq:queue:{QUEUE}", b"\xff\xfe", "other", "empty", "nobody", "a:b c", *jobs)
    puzzle, spec = Klotski(), PuzzleSpec("klotski")
    with workers(redis_server.url, 1) as team:
        first = team.pids()
        resources = Resources(redis=redis_server.url)
        with open_context(puzzle, spec, resources, Control(), SilentObserver()) as context:
            ((_, found),) = context.farm.map(context.farm.plan_of(None), "neighbours", [[puzzle.keys([puzzle.start])]])
        assert team.pids() == first
        assert all(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) < 400 << 8 for pid in first)
    assert np.array_equal(np.unique(found[0]), np.unique(puzzle.expand(puzzle.keys([puzzle.start]))[0]))
    assert connect(redis_server.url).get("rq:suspended") is not None
    assert not TaskQueue(connection=client).count


def test_a_worker_that_hangs_stalls_no_run(redis_server: RedisServer) -> None:
    """Its heartbeat goes on, it answers nothing, and it is waited for once."""
    redis_server.client.sadd(WORKERS, "hangs-1")
    redis_server.client.set(worker_key("hangs-1"), b"")
    puzzle, notes = Klotski(), Notes()
    resources = Resources(redis=redis_server.url, tuning=Tuning(silence=0.3))
    with open_context(puzzle, PuzzleSpec("klotski"), resources, Control(), notes) as context:
        start = puzzle.keys([puzzle.start])
        for _ in range(3):
            assert len(list(context.farm.map(context.farm.plan_of(None), "neighbours", [[start]] * 20))) == 20
        assert context.farm.plan_of(None).takers == 1
    (said,) = notes.texts
    assert said == "no worker answers, so this process works alone"


# Runs and chunks of others, with keys that are not configurations: refused in one line, never a signal


#: Small runs of the puzzles whose kernels look up parts of a key in tables.
RUNS = {
    "klotski": ["klotski", "--from", START_OF_248, "-o", "metric=finger"],
    "sliding": ["sliding", "--from", "AA./B.C/DDE", "-o", "goal=E@1,2"],
    "tiles": ["tiles", "-o", "rows=2", "-o", "columns=3"],
    "cube2": ["cube2", "--layers", "3"],
    "gap": ["gap", "-o", "ranks=3"],
    "peg-solitaire": ["peg-solitaire", "--layers", "5"],
}


def wrong_keys(layout: Layout, count: int, seed: int) -> Keys:
    """Increasing keys of the whole width."""
    rng = np.random.default_rng(seed)
    raw = np.unique(rng.integers(0, 256, (count, layout.bytes), dtype=np.uint8), axis=0)
    return layout.from_big_endian(raw.tobytes())


def forge(directory: Path, seed: int, stopped: bool = False) -> None:
    """Give all layers but the first wrong keys, with right checksums; let the run have been `stopped` at layer 2."""
    with RunLock(directory), RunStore(directory, writable=True) as store:
        deepest = 2 if stopped else store.state.depth
        for depth in range(1, store.state.depth + 1):
            size = store.layer_record(depth).size
            store.erase(BLOCKS, number_key(depth))
            store.erase(LAYERS, number_key(depth))
            if depth <= deepest:
                store.put_layer(depth, wrong_keys(store.layout, size, seed), goals=1)
        status = "interrupted" if stopped else store.state.status
        store.commit(replace(store.state, depth=deepest, status=status))


@pytest.mark.ci_slow
@pytest.mark.parametrize("name", RUNS)
def test_a_run_with_wrong_keys_is_refused_in_one_line(name: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    run = hakoiri.ask("run", *RUNS[name])["run"]
    forge(hakoiri.data / run, seed=len(name))
    whole = [] if "--layers" in RUNS[name] else ["path last --to farthest", "map last --to map.svg"]
    for question in (*whole, "export last --to keys.npz", "layers last --depth 2"):
        refused = hakoiri(*question.split(), check=False, cwd=tmp_path)
        assert refused.code == 1, refused
        assert f"run {run}: layer " in refused.error and f", which is not a configuration of {name}" in refused.error
        assert f"hakoiri verify {run}" in refused.error
    verified = hakoiri("verify", "last", check=False)
    assert verified.code == 1 and f"is not a configuration of {name}" in verified.stdout, verified


@pytest.mark.parametrize("name", RUNS)
def test_a_run_with_wrong_keys_is_not_resumed(name: str, hakoiri: Hakoiri) -> None:
    run = hakoiri.ask("run", *RUNS[name])["run"]
    forge(hakoiri.data / run, seed=len(name), stopped=True)
    refused = hakoiri("resume", "last", check=False)
    assert refused.code == 1, refused
    assert f", which is not a configuration of {name}" in refused.error
    assert hakoiri.ask("status", "last")["status"] == "interrupted"


CUBE = PuzzleSpec("cube2")
FAR = np.full(50, 2**31 - 1, dtype=np.int32)
EDGE: list[Any] = [np.array([0, 1, 2], dtype=np.int64), np.array([1, 0], dtype=np.int32)]
ONE = np.zeros(1, dtype=np.int32)
CHUNKS: list[tuple[str, Arrays, Arrays]] = [
    ("neighbours", [], [wrong_keys(CUBE.build().layout, 500, seed=1)]),
    ("derive", [], [wrong_keys(CUBE.build().layout, 500, seed=2)]),
    ("goals", [np.array([0, 0, 1 << 40, 0, 0, 0], dtype=np.int64)], [CUBE.build().keys([0, 1])]),
    ("searches", [EDGE[0], FAR[:2]], [ONE]),
    ("searches", [np.array([0, 1 << 50, 1 << 51], dtype=np.int64), EDGE[1]], [ONE]),
    ("searches", EDGE, [FAR]),
    ("look", EDGE, [FAR, np.zeros(1, dtype=np.uint8), np.array([2])]),
    ("diameters", [], [*EDGE, np.array([0, 1 << 40])]),
]


@pytest.mark.parametrize(("task", "shared", "chunk"), CHUNKS, ids=[each[0] for each in CHUNKS])
def test_a_worker_refuses_a_forged_chunk_and_lives_on(
    task: str, shared: Arrays, chunk: Arrays, farm: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator is one that does not look at what it sends."""
    puzzle, before = CUBE.build(), farm.pids()
    monkeypatch.setattr(sending, "wrong_array", lambda *_, **__: "")
    executor = remote_executor(farm.url, connect(farm.url), puzzle, CUBE, Control(), SilentObserver(), 1 << 28)
    with closing(executor):
        with pytest.raises(TaskError, match=rf"task {task} failed on worker .*: array \d of the (shared|chunk) "):
            list(executor.map(task, [chunk], shared))
        assert len(list(executor.map("neighbours", [[puzzle.keys([0])]]))) == 1
    assert farm.pids() == before
