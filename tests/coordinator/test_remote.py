"""Chunks on their way to workers: which are sent again, to whom, and which are done here."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import redis

from hakoiri.coordinator.executors import remote, worker_pool
from hakoiri.coordinator.executors.remote import RedisChannel
from hakoiri.coordinator.executors.sending import Chunk, SendingExecutor
from hakoiri.coordinator.executors.worker_pool import WorkerPool
from hakoiri.coordinator.layers.step import LayerStep
from hakoiri.coordinator.runs import opening
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.farm import Farm, Plan
from hakoiri.coordinator.session.resources import CHUNK_SECONDS, DEFAULT, Cost, Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Session, SilentObserver, ThreadExecutor
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.errors import Hint, PuzzleError, TaskError
from hakoiri.hints import worded
from hakoiri.keys.layout import U32, Keys, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.puzzles.user import graph
from hakoiri.render.progress import expanded_text
from hakoiri.rows.runs import work_log_row
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import State
from hakoiri.worker import supervisor
from hakoiri.worker.transport.payload import Event
from tests.support.runs import Notes
from tests.support.toy import Toy
from tests.support.toy_runs import MANNERS, Elsewhere, Manner, assert_as_expected, be_quick, driven, new_run

LONG_AGO = 60.0


def chunk_of(number: int, begun_by: str = "") -> Chunk:
    """One that was sent a minute ago."""
    begun = {1: begun_by} if begun_by else {}
    return Chunk(number, f"1.{number}", b"", 9.0, 1, time.monotonic() - LONG_AGO, begun=begun)


def executor_of(**parts: Any) -> SendingExecutor:
    """An executor that consists of these parts alone."""
    made = SendingExecutor.__new__(SendingExecutor)
    vars(made).update(parts)
    return made


def test_a_job_in_no_queue_that_no_worker_has_begun_is_lost() -> None:
    channel = RedisChannel.__new__(RedisChannel)
    vars(channel).update(living={"a"}, _queued_at=0.0)
    now = time.monotonic()
    assert channel._why_lost(chunk_of(0), True, now) == "its job is in no queue and no worker has begun it"
    assert channel._why_lost(chunk_of(0, begun_by="a"), True, now) == ""
    assert channel._why_lost(chunk_of(0), True, now - LONG_AGO) == ""
    assert channel._why_lost(chunk_of(0, begun_by="b"), True, now) == "worker b died"
    assert channel._why_lost(chunk_of(0), False, now) == "Redis lost its data"


def test_a_run_that_loses_its_workers_says_how_much_memory_they_take() -> None:
    channel, flight = SimpleNamespace(own=False), SimpleNamespace(task="forest")
    executor = executor_of(_tuning=DEFAULT, _channel=channel, _flight=flight)
    chunk = chunk_of(2)
    chunk.losses = DEFAULT.most_losses - 1
    with pytest.raises(TaskError, match=r"lost 25 times.*worker b died;.* 400 MB for each worker") as raised:
        executor._lose(chunk, "worker b died")
    assert re.search("; leave out --redis or HAKOIRI_REDIS; set --memory [0-9]+MB$", worded("", raised.value.hints))


@pytest.mark.parametrize(("worker", "result"), [("good", None), ("bad", [np.arange(3)])])
def test_a_result_that_is_gone_or_of_a_worker_that_is_left_out_is_asked_for_again(worker: str, result: Any) -> None:
    sent: list[Chunk] = []
    flight, chunk = SimpleNamespace(fetch=lambda *_: result, send=sent.append), chunk_of(0, begun_by=worker)
    executor = executor_of(_flight=flight, work_log=SimpleNamespace(untrusted=["bad"]))
    assert list(executor._take_in(chunk, Event("done", chunk.token, 1, worker))) == []
    assert sent == [chunk]


@pytest.mark.parametrize(("is_away", "chunks"), [(True, {}), (False, {"1.0": chunk_of(0)}), (False, {})])
def test_nothing_is_done_here_while_there_are_workers_or_where_nothing_is_left(is_away: bool, chunks: Any) -> None:
    executor = executor_of(_channel=SimpleNamespace(is_away=is_away), _flight=SimpleNamespace(chunks=chunks))
    assert list(executor._work_alone()) == []


@pytest.mark.parametrize(("deadline", "expected"), [(None, DEFAULT.deadline), (7.0, 7.0)])
def test_the_deadline_of_a_chunk_is_the_users_or_the_usual_one(
    deadline: float | None, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def no_workers(*_: Any) -> Iterator[Any]:
        yield set

    made = SimpleNamespace(close=lambda: None, work_log=WorkLog())
    given: list[Any] = []
    monkeypatch.setattr(remote, "remote_executor", lambda *parts: given.extend(parts) or made)
    monkeypatch.setattr(worker_pool, "await_redis", lambda *_: None)
    monkeypatch.setattr(supervisor, "supervised", no_workers)
    spec, resources = PuzzleSpec("hanoi"), Resources(redis="redis://den", deadline=deadline)
    with opening.open_context(spec.build(), spec, resources, Control(), SilentObserver()) as context:
        assert context.farm.helpers is made
    assert [part.deadline for part in given if isinstance(part, type(DEFAULT))] == [expected]


# The workers of a run by a clock: when the coordinator is alone, and who is left out


class Made:
    """A company, its Redis, the clock that it goes by, and what it has said."""

    def __init__(self) -> None:
        self.now, self.notes, self.work_log = 100.0, Notes(), WorkLog()
        self.living, self.coming = set[str](), set[str]()

    def monotonic(self) -> float:
        """The time."""
        return self.now

    def look(self) -> None:
        """See who lives."""
        self.company.count(cast(redis.Redis, None), None)

    def begin(self) -> None:
        """The company of a run that begins now."""
        self.company = WorkerPool(self.notes, self.work_log, DEFAULT)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    found = Made()
    monkeypatch.setattr(worker_pool, "time", found)
    monkeypatch.setattr(worker_pool, "living_workers", lambda connection: dict.fromkeys(found.living, ""))
    found.begin()
    return found


def test_the_coordinator_is_alone_two_seconds_after_it_saw_a_worker_last(made: Made) -> None:
    for moment, is_away in ((0, False), (1.9, False), (2.0, True)):
        made.now = 100 + moment
        assert made.company.is_away == is_away
    made.living = {"one", "two"}
    made.look()
    assert (made.company.living, made.company.is_away) == ({"one", "two"}, False)
    made.living = set()
    made.now += 1.9
    made.look()
    assert (made.company.living, made.company.is_away) == (set(), False)
    made.now += 0.1
    assert made.company.is_away
    made.company.expect_all()
    assert not made.company.is_away


def test_the_coordinator_is_not_alone_while_its_own_workers_are_still_to_come(made: Made) -> None:
    made.coming = {"own"}
    made.company.expect(lambda: made.coming)
    made.now += 60
    assert not made.company.is_away
    made.look()
    assert not made.company.is_away
    made.living = {"own"}
    made.look()
    made.living = set()
    made.now += 60
    made.look()
    assert made.company.is_away, "it came and went"


def test_a_worker_that_is_left_out_is_told_once_and_is_no_company(made: Made) -> None:
    made.living = {"good", "odd", "liar"}
    made.work_log.untrusted.append("liar")
    made.look()
    assert made.company.living == {"good", "odd"}
    for _ in range(2):
        made.company.exclude("odd", "it has other code")
    assert made.company.living == {"good"}
    assert made.notes.texts == ["worker odd is excluded from this run: it has other code"]
    made.living.remove("good")
    made.now += 2
    made.look()
    assert (made.company.living, made.company.is_away) == (set(), True)


@pytest.mark.parametrize("which", ["no worker", "no other worker"])
def test_that_the_coordinator_works_alone_is_said_once_each_time(which: str, made: Made) -> None:
    if which == "no other worker":
        made.company.exclude("odd", "it has other code")
        made.notes.texts.clear()
    said = f"{which} listens on Redis, so this process works alone"
    for _ in range(2):
        made.company.note_alone("redis://:secret@host:1/0")
    assert made.notes.texts == [said]
    made.living = {"good"}
    made.look()
    made.company.note_alone("redis://:secret@host:1/0")
    assert made.notes.texts == [said, said]
    assert made.notes.hints[-1] == (Hint("worker", "redis://host:1/0"),)


# Chunks of a frontier by workers and threads from one list, and the rule by which they are sent


OPTIONS = {"layout": "u32", "keys": "spread", "directed": "no", "size": "400"}
#: Threads and workers together: the size of a chunk is set by the tests.
SHARING = Manner(Resources(workers=2), 4_000, elsewhere=2)


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is among the puzzles."""
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Resources:
    """The resources of runs whose layers are cut into chunks of five keys, for two threads and two workers."""
    plan = Farm.plan

    def in_fives(farm: Farm, size: int, cost: Cost, beside: bool = False) -> Plan:
        return plan(farm, size, cost, beside)._replace(by=farm.helpers, chunk=5, threads=2, is_sent=True)

    monkeypatch.setattr(Farm, "plan", in_fives)
    return SHARING.take(monkeypatch, "u32")


@contextmanager
def context_of(
    resources: Resources, workers: int, puzzle: Puzzle | None = None, threads: int = 2
) -> Iterator[ComputeContext]:
    """Yield a context with so many workers elsewhere."""
    puzzle, control = puzzle or Toy(OPTIONS), Control()
    budget, local = resources.budget(), ThreadExecutor(puzzle, threads, control)
    helpers = Elsewhere(puzzle, workers, control) if workers else None
    shares, notes = budget.shares(puzzle, threads, 0), Notes()
    farm = Farm(puzzle, local, helpers, budget, shares, notes.note)
    yield ComputeContext(puzzle, farm, local, budget, shares, control, notes, redis="redis://nowhere")
    local.close()


# One list


@pytest.mark.parametrize("directed", ["no", "yes"])
@pytest.mark.parametrize("keys", ["low", "clumped", "spread"])
def test_threads_and_workers_take_chunks_from_one_list(
    keys: str, directed: str, shared: Resources, tmp_path: Path
) -> None:
    options = OPTIONS | {"keys": keys, "directed": directed}
    directory = new_run(tmp_path, options)
    driven(directory, shared)
    assert_as_expected(directory, options)


def test_every_configuration_is_expanded_once(
    shared: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whom differs from run to run."""
    seen, lock, expand = list[int](), threading.Lock(), Toy.expand

    def counted(self: Toy, keys: Keys) -> Any:
        with lock:
            seen.extend(ints(keys))
        return expand(self, keys)

    # Samples are expanded besides.
    monkeypatch.setattr(LayerStep, "_look", quiet(LayerStep._look, monkeypatch, expand, counted))
    monkeypatch.setattr(Toy, "expand", counted)
    directory = new_run(tmp_path, OPTIONS)
    driven(directory, shared)
    with RunStore(directory) as store:
        keys = np.concatenate([store.layer(depth) for depth in range(store.state.depth + 1)])
    assert sorted(seen) == sorted(ints(keys))


def quiet(look: Callable[..., None], patch: pytest.MonkeyPatch, plain: Any, counted: Any) -> Callable[..., None]:
    """Return `look`, in which nothing is counted."""

    def looks(step: LayerStep) -> None:
        patch.setattr(Toy, "expand", plain)
        look(step)
        patch.setattr(Toy, "expand", counted)

    return looks


def test_an_error_in_a_thread_ends_the_run_and_no_piece_is_begun_after_it(
    shared: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expand = Toy.expand

    def failing(self: Toy, keys: Keys) -> Any:
        if threading.current_thread().name.startswith("chunk"):
            raise ValueError("no rules today")
        return expand(self, keys)

    monkeypatch.setattr(Toy, "expand", failing)
    directory = new_run(tmp_path, OPTIONS)
    with pytest.raises(TaskError, match="task expand failed: ValueError: no rules today"):
        drive(directory, shared, Control(), SilentObserver())
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("chunk")]
    monkeypatch.setattr(Toy, "expand", expand)


@pytest.mark.ci_slow
def test_a_layer_begun_by_threads_is_finished_by_workers_and_the_other_way_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each session is stopped within a layer, after every checkpoint."""
    options = OPTIONS | {"size": "900"}
    directory, number = new_run(tmp_path, options), 0
    commit = Session.commit

    def stopping(session: Session, state: State) -> State:
        state = commit(session, state)
        if session.store.has_partial:
            session.control.interrupt("stopped by the test")
        return state

    while True:
        number += 1
        with monkeypatch.context() as patch:
            manner = MANNERS["durable" if number % 2 else "farmed"]
            resources = Manner(manner.common, 30_000, durable=True, elsewhere=manner.elsewhere).take(patch, "u32")
            patch.setattr(Session, "commit", stopping)
            state = drive(directory, resources, Control(), SilentObserver())
        if state.status == "complete":
            break
        assert state.status == "interrupted"
    assert number > 4
    assert_as_expected(directory, options)


# The rule

SLOW, FAST = Cost(50e-6, 3.0), Cost(2e-9, 3.0)


@pytest.mark.parametrize(
    ("farm", "workers", "size", "cost", "sent"),
    [
        (None, 2, 100_000, SLOW, True),
        (None, 2, 2_100, SLOW, True),
        (None, 2, 1_900, SLOW, False),  # less than two chunks
        (None, 2, 100_000_000, FAST, False),
        (None, 0, 100_000, SLOW, False),
        ("auto", 2, 100_000, SLOW, True),
        ("always", 2, 1, FAST, True),
        ("always", 0, 1, FAST, False),
        (500, 2, 499, FAST, False),
        (500, 2, 500, FAST, True),
    ],
)
def test_what_is_sent(farm: str | int | None, workers: int, size: int, cost: Cost, sent: bool) -> None:
    with context_of(Resources(memory=1 << 30, farm=farm), workers) as context:
        assert context.farm.plan(size, cost).is_sent == sent


@pytest.mark.parametrize(
    ("size", "workers", "chunk"),
    [(25_000, 2, 12_500), (392, 2, 196), (392, 8, 64), (100, 2, 64), (64, 8, 64), (1, 2, 64), (5_000, 7, 715)],
)
def test_where_all_is_sent_a_layer_has_a_chunk_for_each_worker(size: int, workers: int, chunk: int) -> None:
    """Unless it would have less than 64 configurations."""
    with context_of(Resources(memory=1 << 30, farm="always"), workers) as context:
        assert context.farm.plan(size, FAST).chunk == chunk


@pytest.mark.parametrize("farm", [None, "always", "never"])
def test_a_puzzle_that_remembers_is_not_sent_and_says_why(farm: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of its workers would walk from the start to the states of its chunk."""

    @contextmanager
    def no_workers(*_: Any) -> Iterator[Any]:
        yield set

    class Walked(Toy):
        remembers = True

    made = SimpleNamespace(close=lambda: None, living=2)
    monkeypatch.setattr(remote, "remote_executor", lambda *parts: made)
    monkeypatch.setattr(worker_pool, "await_redis", lambda *_: None)
    monkeypatch.setattr(supervisor, "supervised", no_workers)
    notes, resources = Notes(), Resources(redis="redis://den", farm=farm)
    with opening.open_context(Walked(), PuzzleSpec("hanoi"), resources, Control(), notes) as context:
        assert context.farm.helpers is None
        said = context.farm.work_log.here
    why = "each worker would have to walk from the start"
    assert (why in said, sum(why in text for text in notes.texts)) == ((False, 0) if farm == "never" else (True, 1))


def test_graphs_of_states_remember_and_tables_do_not() -> None:
    assert (graph.StateGraph.remembers, graph.GoalGraph.remembers) == (True, True)
    assert (graph.TableGraph.remembers, graph.GoalTable.remembers, Toy.remembers) == (False, False, False)


def test_rules_that_take_as_long_as_sending_are_not_sent() -> None:
    """Ten million configurations in chunks of the least length: sending costs 5 ms each."""
    even = CHUNK_SECONDS + 4 * 3.0 * 2.5e-9
    assert Cost(even, 3.0).times_as_long(1, 1, U32.bytes) == pytest.approx(1)
    assert Cost(2 * even, 3.0).times_as_long(1, 1, U32.bytes) == pytest.approx(0.5)


def test_why_layers_are_expanded_here_is_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources, notes = Manner(Resources(), elsewhere=2).take(monkeypatch, "u32"), Notes()
    be_quick(monkeypatch)
    drive(new_run(tmp_path, OPTIONS), resources, Control(), notes)
    assert sum("layers are expanded here: sending would take" in text for text in notes.texts) == 1
    (run,) = (RunStore(each) for each in tmp_path.iterdir() if each.is_dir())
    with run:
        row = work_log_row(run.state.work_log)
    assert row is not None
    said = "here, because sending would take .* as long as expanding; farm always sends all"
    assert re.search(said, expanded_text(row))


@pytest.mark.parametrize("farm", ["sometimes", "-1", -1, 1 << 63, ""])
def test_other_values_are_refused(farm: str | int) -> None:
    with pytest.raises(PuzzleError, match="farm"):
        Resources(farm=farm)


def test_the_number_in_the_manifest_of_an_earlier_version_is_kept() -> None:
    assert Resources().over({"farm_from": 500}).farm == 500
    assert Resources(farm="never").over({"farm_from": 500}).farm == "never"
    assert Resources().over({"farm": "always"}).farm == "always"
