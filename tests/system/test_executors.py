"""One conformance suite for all executors: threads of this process, its children, and RQ workers."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.executors import in_flight as shared
from hakoiri.coordinator.executors import processes
from hakoiri.coordinator.executors.in_flight import InFlight, Shared
from hakoiri.coordinator.executors.processes import ProcessChannel, process_executor
from hakoiri.coordinator.executors.remote import remote_executor
from hakoiri.coordinator.executors.sending import SendingExecutor
from hakoiri.coordinator.session.farm import Executor
from hakoiri.coordinator.session.resources import DEFAULT, Budget, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver, ThreadExecutor
from hakoiri.errors import TaskError
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.worker.graphs.searches import Graph
from hakoiri.worker.tasks import TASKS
from hakoiri.worker.transport.connection import QUEUE, connect, own_queue
from hakoiri.worker.transport.payload import Arrays, TaskRequest, pack_arrays
from tests.support.commands import wait_until
from tests.support.seeds import first_usual
from tests.support.servers import RedisServer, Workers

WORKERS = 2
MEMORY = 1 << 28


@dataclass(frozen=True)
class Made:
    """An executor and what stops it."""

    executor: Executor
    control: Control


def threads(farm: Workers, puzzle: Klotski, control: Control) -> ThreadExecutor:
    return ThreadExecutor(puzzle, WORKERS, control)


def rq_workers(farm: Workers, puzzle: Klotski, control: Control, tuning: Tuning = DEFAULT) -> SendingExecutor:
    spec = PuzzleSpec(puzzle.name)
    return remote_executor(farm.url, connect(farm.url), puzzle, spec, control, SilentObserver(), MEMORY, tuning)


def children(farm: Workers, puzzle: Klotski, control: Control) -> SendingExecutor:
    budget, spec = Budget(1 << 30, farm="always"), PuzzleSpec(puzzle.name)
    shares = budget.shares(puzzle, WORKERS, 0)
    made = process_executor(puzzle, spec, control, SilentObserver(), budget, shares, 0.0, WORKERS)
    wait_until(lambda: made.workers == WORKERS)
    return made


EXECUTORS: tuple[Callable[..., Executor], ...] = (threads, children, rq_workers)


@pytest.fixture(params=[threads, pytest.param(children, marks=pytest.mark.ci_slow), rq_workers])
def made(request: pytest.FixtureRequest, farm: Workers) -> Iterator[Made]:
    control = Control()
    with closing(request.param(farm, Klotski(), control)) as executor:
        yield Made(executor, control)


@pytest.fixture(scope="module")
def keys() -> Keys:
    """Some thousand configurations."""
    return next(Klotski().configurations())


def cut(keys: Keys, size: int) -> list[Arrays]:
    return [[keys[begin : begin + size]] for begin in range(0, len(keys), size)]


def same(one: Arrays, other: Arrays) -> bool:
    return len(one) == len(other) and all(
        here.dtype == there.dtype and np.array_equal(here, there) for here, there in zip(one, other, strict=True)
    )


def collected(executor: Executor, task: str, chunks: list[Arrays], shared: Arrays = ()) -> dict[int, Arrays]:
    """The results by number, each chunk's but once."""
    results: dict[int, Arrays] = {}
    for number, result in executor.map(task, chunks, shared):
        assert number not in results, "one chunk, two results"
        results[number] = result
    return results


@pytest.mark.parametrize("size", first_usual(2, 97, 100_000, 1, 1_000))
@pytest.mark.parametrize("task", ["neighbours", "forest"])
def test_every_chunk_has_its_result_once(made: Made, task: str, size: int, keys: Keys) -> None:
    chunks = cut(keys[: 60 * size], size)
    results = collected(made.executor, task, chunks)
    assert sorted(results) == list(range(len(chunks)))
    for number, chunk in enumerate(chunks):
        assert same(results[number], TASKS[task].work(Klotski(), chunk, ())), number


def test_what_is_for_one_host_waits_for_it_alone(redis_server: RedisServer) -> None:
    """It does not come to be in the queue for all, and passes if the host never comes."""
    connection, own = connect(redis_server.url), f"rq:queue:{own_queue('one')}"
    request = TaskRequest("here", "", 0, 0, 9, {}, {})
    flight = InFlight(connection, "host-index", 1, request, Shared(connection, "here", Tuning(keep=9)))
    chunks = [flight.add(number, [], 0.0) for number in range(3)]
    for chunk in chunks[:2]:
        flight.send(chunk, "one")
    assert (connection.llen(own), flight.waits()) == (2, False)
    assert 0 < connection.ttl(own) <= 9
    flight.send(chunks[2])
    assert (connection.llen(own), connection.llen(f"rq:queue:{QUEUE}"), flight.waits()) == (2, 1, True)
    flight.take_back()
    assert not connection.keys("hakoiri:*")


def ring(size: int) -> Graph:
    """A ring of vertices: every eccentricity is half of its size."""
    vertices = np.arange(size)
    targets = np.stack([(vertices - 1) % size, (vertices + 1) % size], axis=1).astype(np.int32)
    return Graph(np.arange(0, 2 * size + 1, 2, dtype=np.int64), targets.ravel())


def test_shared_arrays_reach_every_chunk(made: Made) -> None:
    for size in (10, 1_000):
        graph = ring(size)
        half = np.array([size // 2], dtype=np.int32)
        chunks: list[Arrays] = [[np.array([vertex], dtype=np.int32), half] for vertex in range(5)]
        results = collected(made.executor, "pairs", chunks, graph)
        assert len(results) == 5
        for number, result in results.items():
            assert same(result, TASKS["pairs"].work(Klotski(), chunks[number], graph))
            assert result[0].ravel().tolist() == [number, number + size // 2]


def test_shared_arrays_are_sent_once_in_pieces_and_again_where_they_are_lost(
    farm: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Arrays] = []
    monkeypatch.setattr(
        shared, "pack_arrays", lambda arrays: (len(arrays) == 1 and sent.append(arrays)) or pack_arrays(arrays)
    )
    connection = connect(farm.url)
    with closing(rq_workers(farm, Klotski(), Control(), Tuning(piece_bytes=100))) as executor:
        graph, half = ring(100), np.array([50], dtype=np.int32)
        pieces = -(-graph.offsets.nbytes // 100) - (-graph.targets.nbytes // 100)
        for lost, count in ((False, pieces), (False, pieces), (True, 2 * pieces)):
            if lost:
                connection.delete(*connection.keys("hakoiri:*:shared:*"))
            chunks: list[Arrays] = [[np.array([vertex], dtype=np.int32), half] for vertex in range(5)]
            results = collected(executor, "pairs", chunks, graph)
            assert [results[number][0].tolist() for number in range(5)] == [[[n, n + 50]] for n in range(5)]
            assert len(sent) == count
        assert len(collected(executor, "pairs", chunks, ring(60))) == 5
        assert connection.keys("hakoiri:*:shared:*")
    assert not connection.keys("hakoiri:*:shared:*")


def test_chunks_are_drawn_as_they_are_needed(made: Made, keys: Keys) -> None:
    """So that not all of a layer is in flight."""
    drawn, most = 0, 0

    def chunks() -> Iterator[Arrays]:
        nonlocal drawn
        for chunk in cut(keys[:600], 10):
            drawn += 1
            yield chunk

    for finished, _ in enumerate(made.executor.map("neighbours", chunks())):
        most = max(most, drawn - finished)
    assert drawn == 60
    assert most <= 4 * WORKERS


def test_no_chunks_have_no_results(made: Made) -> None:
    assert not list(made.executor.map("neighbours", iter(())))
    assert not list(made.executor.map("pairs", [], ring(4)))


def test_a_chunk_may_be_empty(made: Made, keys: Keys) -> None:
    results = collected(made.executor, "neighbours", [[keys[:0]], [keys[:5]]])
    assert len(results[0][0]) == 0
    assert len(results[1][0]) > 0


@pytest.mark.parametrize("count", [0, 2])
def test_a_task_that_fails_says_which_and_why(made: Made, count: int, keys: Keys) -> None:
    wrong = [keys[:1]] * count
    with pytest.raises(TaskError, match=r"task neighbours failed.*ValueError: .* values to unpack"):
        collected(made.executor, "neighbours", [*cut(keys[:100], 10), wrong])
    results = collected(made.executor, "neighbours", cut(keys[:100], 10))
    assert len(results) == 10, "the next stage works"


def test_an_interrupt_stops_it(made: Made, keys: Keys) -> None:
    def forever() -> Iterator[Arrays]:
        while True:
            yield [keys[:50]]

    results = made.executor.map("neighbours", forever())
    next(results)
    made.control.interrupt("enough")
    with pytest.raises(StopRun, match="enough") as stop:
        for _ in results:
            pass
    assert stop.value.status == "interrupted"


def test_a_stage_that_was_left_disturbs_no_other(made: Made, keys: Keys) -> None:
    """Its late results are not taken for those of the next."""
    for size in (30, 20, 10):
        left = made.executor.map("neighbours", cut(keys[1_000 : 1_000 + 20 * size], size))
        next(left)
        chunks = cut(keys[: 12 * size], size)
        results = collected(made.executor, "neighbours", chunks)
        assert sorted(results) == list(range(12))
        assert all(
            same(results[number], TASKS["neighbours"].work(Klotski(), chunk, ())) for number, chunk in enumerate(chunks)
        )


#: Children that stand still: before they start, in the midst of an answer, and with a chunk.
STANDING_STILL = {
    "start": "",
    "message": "receive(parent, str); send(parent, b'', str); receive(parent, str); parent.send(bytes(7) + b'9')",
    "chunk": "receive(parent, str); send(parent, b'', str)",
}


@pytest.fixture
def stand_still(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], list[subprocess.Popen[bytes]]]]:
    """Let all children from now on stand still at some point; return the list of those that are started."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(when: str) -> list[subprocess.Popen[bytes]]:
        text = (
            "import socket, sys, time; from hakoiri.worker.child import receive, send; "
            f"parent = socket.socket(fileno=int(sys.argv[1])); {STANDING_STILL[when]}; time.sleep(600)"
        )

        def start(_: str, *words: str, **how: Any) -> subprocess.Popen[bytes]:
            started.append(subprocess.Popen([sys.executable, "-c", text, *words], **how))
            return started[-1]

        monkeypatch.setattr(processes, "start_child", start)
        return started

    yield begin
    assert all(child.poll() is not None for child in started)


@pytest.mark.ci_slow
@pytest.mark.parametrize("when", ["start", "message"])
def test_children_that_stand_still_are_replaced_and_then_done_without(
    when: str, keys: Keys, stand_still: Callable[[str], list[subprocess.Popen[bytes]]]
) -> None:
    started, control = stand_still(when), Control()
    budget = Budget(1 << 30, farm="always", tuning=Tuning(stands_still=0.3))
    shares, spec = budget.shares(Klotski(), WORKERS, 0), PuzzleSpec("klotski")
    with closing(process_executor(Klotski(), spec, control, SilentObserver(), budget, shares, 0.0, WORKERS)) as made:
        made.expect_work(1.0)
        assert len(collected(made, "neighbours", cut(keys[:20], 10))) == 2
    assert len(started) > WORKERS


def test_children_start_once_there_is_enough_work_for_them(
    stand_still: Callable[[str], list[subprocess.Popen[bytes]]],
) -> None:
    started, tuning = stand_still("start"), Tuning(processes_from=100.0)
    channel = ProcessChannel(PuzzleSpec("klotski"), Control(), SilentObserver(), tuning, 2, MEMORY, False)
    with closing(channel):
        channel.expect_work(20.0)
        assert not started
        channel.expect_work(101.0, beside=1)
        assert len(started) == 1
        channel.expect_work(101.0)
        assert len(started) == 2


def test_a_child_that_hangs_in_a_chunk_of_an_ended_stage_is_replaced(
    keys: Keys, stand_still: Callable[[str], list[subprocess.Popen[bytes]]]
) -> None:
    started, tuning, control = stand_still("chunk"), Tuning(deadline=60.0), Control()
    channel = ProcessChannel(PuzzleSpec("klotski"), control, SilentObserver(), tuning, 1, MEMORY, True)
    with closing(channel):
        channel.expect_work(1.0)
        wait_until(lambda: channel.look() or channel.living)
        flight = channel.begin("neighbours", 1, ())
        chunk = flight.add(0, [keys[:9]], 60.0)
        flight.send(chunk)
        assert not [*channel.events(0.0)]
        channel.renew(time.monotonic() + 61)
        assert len(started) == 1, "that is for the executor to say"
        channel.begin("neighbours", 2, ())
        channel.renew(time.monotonic() + 50)
        assert len(started) == 1
        channel.renew(time.monotonic() + 61)
        assert len(started) == 2


def test_workers_that_are_on_their_way_are_waited_for(redis_server: RedisServer, keys: Keys) -> None:
    """A run that has started workers does not work alone before they had time to come, or died."""
    asked, notes = 0, list[tuple[int, str]]()

    class Observer(SilentObserver):
        def note(self, text: str, *_: object) -> None:
            notes.append((asked, text))

    def coming() -> set[str]:
        nonlocal asked
        asked += 1
        return {"late"} if asked < 5 else set()

    puzzle, url = Klotski(), redis_server.url
    spec, tuning = PuzzleSpec(puzzle.name), Tuning(alone=0.0)
    with closing(
        remote_executor(url, connect(url), puzzle, spec, Control(), Observer(), MEMORY, tuning, 0.0, coming)
    ) as executor:
        assert len(collected(executor, "neighbours", cut(keys[:20], 10))) == 2
    ((when, text),) = notes
    assert when >= 5
    assert "works alone" in text


def test_it_knows_its_workers(made: Made) -> None:
    assert made.executor.workers == WORKERS
