"""Searches interrupted, failing or killed inside a layer: whoever goes on, however, arrives at the same run."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.hosts.layers import HostedStep
from hakoiri.coordinator.layers.step import LayerStep
from hakoiri.coordinator.runs import drive as driving
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Session
from hakoiri.errors import StorageError, TaskError
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.engine.environment import disk_full
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import Layer, RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import HOLDER_FILE, META, PARTIAL_KEY, SPILL_FOLDER
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.step import RangeStep
from tests.support.runs import Countdown, StoppingAfter
from tests.support.toy import Toy
from tests.support.toy_runs import (
    MANNERS,
    assert_as_expected,
    assert_tidy,
    before_call,
    driven,
    expected,
    left_by_another_version,
    new_run,
    spied,
)

#: A run whose books are wrong may go on for ever.
pytestmark = pytest.mark.timeout(120)

SEARCHES = [
    ("u32", "clumped", "no"), ("u32", "low", "yes"), ("u64", "spread", "no"), ("u64", "clumped", "yes"),
    ("u128", "spread", "yes"), ("u128", "clumped", "no"), ("u256", "spread", "no"), ("u256", "clumped", "yes"),
]  # fmt: skip
searches = pytest.mark.parametrize(("layout", "keys", "directed"), SEARCHES)


_STARVING = {"u128": pytest.mark.ci_slow, "u256": pytest.mark.slow}


def every_other(name: str, values: Iterable[str]) -> pytest.MarkDecorator:
    """A quarter of all combinations with the searches, so that each value and each search has its share.

    Keys of several words starve as those of one do, and take longest: that is slow, or that of two only CI's.
    """
    pairs = [(value, search) for value in values for search in SEARCHES]
    chosen = [
        pytest.param(value, *search, marks=_STARVING.get(search[0], ()) if value == "starving" else ())
        for number, (value, search) in enumerate(pairs)
        if (number + number // len(SEARCHES)) % 4 == 1
    ]
    return pytest.mark.parametrize((name, "layout", "keys", "directed"), chosen)


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is among the puzzles; its layers are committed as those of puzzles with a kernel are."""
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
    monkeypatch.setattr(Toy, "has_kernel", True)


@pytest.fixture
def options(layout: str, keys: str, directed: str) -> dict[str, str]:
    """A toy of a few hundred configurations."""
    return {"layout": layout, "keys": keys, "directed": directed, "size": "300"}


@pytest.fixture
def manners(monkeypatch: pytest.MonkeyPatch, layout: str) -> Callable[[str], Resources]:
    """Takes on a manner by its name; returns its ways."""

    def take(name: str) -> Resources:
        return MANNERS[name].take(monkeypatch, layout)

    return take


def assert_begun_well(directory: Path, options: dict[str, str]) -> None:
    """Check that the layers of an interrupted run are the beginning of the whole."""
    right = expected(**options)
    with RunStore(directory) as store:
        found = [(record.size, record.digest, record.goals) for record in store.layer_records()]
        assert found == right.records[: len(found)]


@every_other("manner", ["starving", "durable", "any"])
def test_a_search_may_be_interrupted_at_any_check(
    manner: str, options: dict[str, str], manners: Callable[[str], Resources], tmp_path: Path
) -> None:
    rng = Random(str(options) + manner)
    directory, sessions, status = new_run(tmp_path, options), 0, ""
    while status != "complete":
        sessions += 1
        # More and more patient, for what is done within an expansion counts only from its next checkpoint on.
        resources = manners(rng.choice(list(MANNERS)) if manner == "any" else manner)
        status = driven(directory, resources, StoppingAfter(rng.randrange(1, 20 * sessions + 1))).status
        assert_begun_well(directory, options)
    assert sessions > 1
    assert_as_expected(directory, options)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u32", "clumped", "no"), ("u128", "spread", "yes")])
def test_an_error_between_two_entries_leaves_the_last_commit(
    error: type[BaseException], options: dict[str, str], manners: Callable[[str], Resources], tmp_path: Path
) -> None:
    """Such as a second Ctrl-C while the layer under way is stored at the first."""
    rng, stopped = Random(str(options)), 0
    for number in range(1, 13):
        directory, resources = new_run(tmp_path, options), manners(rng.choice(list(MANNERS)))
        control = StoppingAfter(rng.randrange(20, 200)) if number % 2 else Control()
        with pytest.MonkeyPatch.context() as patch, suppress(error):
            fail = Countdown(1 if number % 2 else 5 * number, partial(raise_error, error()))
            if number % 2:
                before_call(patch, LayerStep, "_save", fail)
            else:
                before_call(patch, Ledger, rng.choice(["stage", "erase"]), fail)
            driven(directory, resources, control)
        assert_begun_well(directory, options)
        with RunStore(directory) as store:
            stopped += store.state.status != "complete"
        # Others cut the layer under way differently.
        driven(directory, manners(rng.choice(list(MANNERS))))
        assert_as_expected(directory, options)
    assert stopped > 6


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("layout", "keys", "directed"),
    [("u128", "clumped", "yes"), pytest.param("u32", "clumped", "no", marks=pytest.mark.slow)],
)
def test_a_range_that_is_cut_again_may_be_interrupted_between_its_pieces(
    options: dict[str, str], manners: Callable[[str], Resources], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = options | {"size": "900" if options["directed"] == "no" else "300"}
    resources = manners("starving")
    pieces = calls_of([(Exchange, "between")], new_run(tmp_path / "undisturbed", options), resources)["between"]
    stopped = 0
    for piece in range(2, pieces, max(4, pieces // 3)):
        directory, control = new_run(tmp_path, options), Control()
        with monkeypatch.context() as patch:
            before_call(patch, Exchange, "between", Countdown(piece, partial(control.interrupt, "between pieces")))
            stopped += driven(directory, resources, control).status == "interrupted"
        driven(directory, resources)
        assert_as_expected(directory, options)
    assert stopped > 2


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u32", "clumped", "no"), ("u128", "spread", "yes")])
def test_a_layer_that_another_version_left_half_made_is_begun_anew(
    options: dict[str, str], manners: Callable[[str], Resources], tmp_path: Path
) -> None:
    options = options | {"size": "900"}
    resources, merged, spilled = manners("durable"), 0, 0
    for checks in range(20, 500, 8):
        directory = new_run(tmp_path, options)
        if driven(directory, resources, StoppingAfter(checks)).status == "interrupted":
            with RunStore(directory) as store:
                if store.read_partial(dict[str, Any]) is None:
                    continue
            left = left_by_another_version(directory)
            merged, spilled = merged + (left["merged"] > 0), spilled + bool(left["spilled"]["lengths"])
            driven(directory, resources)
        assert_as_expected(directory, options)
        if merged and spilled > 2:
            return
    pytest.fail("no layer was left half merged")


@pytest.mark.parametrize(("layout", "keys", "directed"), [("u32", "clumped", "no")])
def test_hosts_are_given_no_layer_that_threads_have_begun(
    options: dict[str, str], manners: Callable[[str], Resources], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources, directory, given = manners("durable"), new_run(tmp_path, options), list[int]()
    begun = None
    for checks in range(20, 500, 8):
        driven(directory, resources, StoppingAfter(checks))
        with RunStore(directory) as store:
            if begun := store.read_partial(dict[str, Any]):
                break
    assert begun is not None

    @contextmanager
    def with_hosts(*arguments: Any) -> Iterator[ComputeContext]:
        with open_context(*arguments) as context:
            yield replace(context, hosts=SimpleNamespace(pays=lambda threads, seconds: threads == 2))

    def begin(session: Session, depth: int, known: list[Layer]) -> None:
        given.append(depth)
        raise StopRun("interrupted", "given to hosts")

    monkeypatch.setattr(driving, "open_context", with_hosts)
    monkeypatch.setattr(HostedStep, "begin", begin)
    driven(directory, resources)
    assert given == [begun["depth"] + 1]


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u32", "clumped", "no"), ("u128", "spread", "yes")])
def test_a_layer_that_workers_of_an_older_version_have_begun_is_ended_by_threads(
    options: dict[str, str], manners: Callable[[str], Resources], tmp_path: Path
) -> None:
    """They expanded in the order of keys, and said how many, not up to which key."""
    options = options | {"size": "900"}
    resources, ended = manners("durable"), 0
    for checks in range(20, 500, 8):
        directory = new_run(tmp_path, options)
        driven(directory, resources, StoppingAfter(checks))
        with RunStore(directory, writable=True) as store:
            if fields := store.read_partial(dict[str, Any]):
                ended += fields["expanded"] > 0
                store.stage_record(META, PARTIAL_KEY, fields | {"at": "", "net_flow": 5})
                store.commit(store.state)
        driven(directory, resources)
        assert_as_expected(directory, options)
        if ended > 3:
            return
    pytest.fail("no layer was left half expanded")


def calls_of(steps: Sequence[tuple[type, str]], directory: Path, resources: Resources) -> Counter[str]:
    """Count the calls of some methods while a new run is driven to its end; a little depends on the clock."""
    with pytest.MonkeyPatch.context() as patch:
        calls = spied(patch, *steps)
        assert driven(directory, resources).status == "complete"
    return calls


def raise_error(error: BaseException) -> None:
    raise error


MISHAPS: dict[str, tuple[str, tuple[type, str], Exception]] = {
    "a commit": ("durable", (Ledger, "commit"), StorageError("a wire came loose")),
    "a commit on a full disk": ("durable", (Ledger, "commit"), disk_full(Path())),
    "a spill on a full disk": ("durable", (Spill, "append"), disk_full(Path())),
    "a commit while the next layer is expanded": ("chunks", (Ledger, "commit"), StorageError("a wire came loose")),
    "a flush": ("durable", (Spill, "sync"), StorageError("a wire came loose")),
    "a task": ("durable", (Exchange, "add"), TaskError("a worker lost its mind")),
}


@pytest.mark.ci_slow
@every_other("what", MISHAPS)
def test_a_search_goes_on_after_failures(
    what: str,
    options: dict[str, str],
    manners: Callable[[str], Resources],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manner, step, error = MISHAPS[what]
    resources, rng = manners(manner), Random(str(options) + what)
    calls = calls_of([step], new_run(tmp_path / "undisturbed", options), resources).total()
    directory, failures = new_run(tmp_path, options), 0
    for _ in range(3):
        mishap = Countdown(rng.randint(1, max(1, calls // 4)), partial(raise_error, error))
        with monkeypatch.context() as patch:
            before_call(patch, *step, mishap)
            with suppress(type(error)):
                driven(directory, resources)
        failures += mishap.left <= 0
        assert_begun_well(directory, options)
    assert failures
    driven(directory, manners(rng.choice([manner, *MANNERS])))
    assert_as_expected(directory, options)


#: Whatever changes something on disk: a kill before it finds the disk as everything before it left it.
STEPS = [(Ledger, "commit"), (Spill, "append"), (Spill, "sync"), (Spill, "forget_below"), (Spill, "clear")]


def as_a_kill_leaves_it(directory: Path, target: Path, rng: Random) -> None:
    """A copy of a run that is being driven. What was not flushed yet is torn or followed by noise."""
    shutil.copytree(directory, target, ignore=shutil.ignore_patterns("lock.mdb", HOLDER_FILE))
    with RunStore(target) as store:
        flushed = (store.read_partial(dict[str, Any]) or {"spilled": {"lengths": {}}})["spilled"]["lengths"]
    for path in (target / SPILL_FOLDER).glob("*"):
        whole = path.read_bytes()
        kept = rng.randint(flushed.get(path.name.split("-")[1], 0), len(whole))
        path.write_bytes(whole[:kept] + rng.randbytes(rng.choice([0, 0, 5, 500])))


@pytest.mark.ci_slow
@every_other("manner", ["starving", "durable", "chunks"])
def test_a_search_goes_on_after_a_kill(
    manner: str,
    options: dict[str, str],
    manners: Callable[[str], Resources],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resources, rng = manners(manner), Random(str(options) + manner)
    calls = calls_of(STEPS, new_run(tmp_path / "undisturbed", options), resources)
    directory = new_run(tmp_path, options)
    kills = [(STEPS, number) for number in rng.sample(range(1, calls.total() * 3 // 4), 4)]
    kills.append(([(Spill, "clear")], calls["clear"]))
    left = [tmp_path / f"left-{number}" for number in range(len(kills))]
    with monkeypatch.context() as patch:
        for target, (steps, number) in zip(left, kills, strict=True):
            kill = Countdown(number, partial(as_a_kill_leaves_it, directory, target, rng))
            for step in steps:
                before_call(patch, *step, kill)
        driven(directory, resources)
    assert_as_expected(directory, options)
    for target in left:
        driven(target, manners(rng.choice([manner, manner, *MANNERS])))
        assert_as_expected(target, options)


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u32", "low", "no"), ("u128", "spread", "yes")])
@pytest.mark.parametrize("stopped", [False, True])
def test_a_layer_stays_where_the_next_one_fails_at_once(
    stopped: bool, options: dict[str, str], manners: Callable[[str], Resources], tmp_path: Path
) -> None:
    """It is committed while the threads expand it, or when they cannot."""
    resources = manners("chunks")
    for depth in range(1, 5):
        directory, control = new_run(tmp_path, options), Control()
        act = partial(control.interrupt, "at once") if stopped else partial(raise_error, TaskError("lost its mind"))
        with pytest.MonkeyPatch.context() as patch, suppress(TaskError):
            before_call(patch, RangeStep, "expand", Countdown(depth, act))
            driven(directory, resources, control)
        with RunStore(directory) as store:
            assert store.state.depth == depth - 1
        assert_begun_well(directory, options)
        driven(directory, resources)
        assert_as_expected(directory, options)


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u32", "clumped", "no"), ("u128", "spread", "yes")])
def test_what_was_spilled_stays_until_its_layer_is_committed(
    options: dict[str, str], manners: Callable[[str], Resources], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the layer is in memory, so that the next one could be begun."""
    resources, rng, left = manners("chunks"), Random(str(options)), list[Path]()
    resources = replace(resources, tuning=replace(resources.tuning, checkpoint=-1.0))

    def keep(*_: object) -> None:
        left.append(tmp_path / f"left-{len(left)}")
        as_a_kill_leaves_it(directory, left[-1], rng)

    directory = new_run(tmp_path, options)
    with monkeypatch.context() as patch:
        before_call(patch, Ledger, "commit", keep)
        driven(directory, resources)
    for target in left[1::8]:
        driven(target, resources)
        assert_as_expected(target, options)


@pytest.mark.ci_slow
@pytest.mark.parametrize("layout", ["u32", "u128"])
def test_a_kill_at_the_very_end_leaves_nothing_twice(
    layout: str, manners: Callable[[str], Resources], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PUZZLES, "dead-ends", "tests.support.toy:DeadEnds")
    resources = manners("starving")
    spec = PuzzleSpec("dead-ends", {"layout": layout, "keys": "spread", "directed": "yes"})
    directory, rng = make_run(tmp_path, spec, "explore", {}, resources), Random(layout)
    left: list[Any] = []

    def keep(*_: object) -> None:
        left.append(tmp_path / f"left-{len(left)}")
        as_a_kill_leaves_it(directory, left[-1], rng)

    with monkeypatch.context() as patch:
        before_call(patch, Ledger, "commit", keep)
        state = driven(directory, resources)
    for target in left[-5:]:
        assert driven(target, resources).digest == state.digest
        with RunStore(target) as store:
            assert_tidy(store)
