"""The search of a tree: the same counts and digest however it is cut, stopped, resumed, damaged and repaired."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hakoiri.api import Run, explore
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.catalogue import runs_like
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.farm import Farm, Plan
from hakoiri.coordinator.session.resources import DEFAULT, Budget, Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver, ThreadExecutor
from hakoiri.errors import DamagedError, Hint, OverBudgetError, PuzzleError
from hakoiri.guests.stars.chunk_store import ChunkRecord, read_chunk, read_chunks, read_cutting, stage_chunk
from hakoiri.guests.stars.job import Subtrees
from hakoiri.guests.stars.magic_star import FASTEST, PRUNE, MagicStar
from hakoiri.guests.stars.search import TreeFigures, TreeSearch
from hakoiri.keys.layout import LAYOUTS, ints
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.render.files import export_run
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import Progress, State, pack_record, unpack_as
from hakoiri.storage.names import CHUNKS, FOUND, number_key
from tests.support.refusals import refused
from tests.support.seeds import usual
from tests.support.toy_runs import MANNERS, before_call

SMALL = {"points": "6", "solutions": "keep"}
CHUNKED = Resources(workers=2, chunk=7, farm=1)


def new_run(data: Path, options: dict[str, str] | None = None, kind: str | None = None, **more: Any) -> Path:
    plan = more.pop("plan", {})
    return make_run(data, PuzzleSpec("magic-star", options or SMALL, **more), kind, plan, Resources())


def driven(
    directory: Path, resources: Resources = CHUNKED, control: Control | None = None, repair: bool = False
) -> State:
    return drive(directory, resources, control or Control(), SilentObserver(), repair)


def verified(directory: Path, full: bool = False, tuning: Tuning = DEFAULT) -> Report:
    return verify_directory(directory, full, Resources(tuning=tuning), Control(), SilentObserver())


def answer(directory: Path) -> tuple[Any, ...]:
    """All that must not depend on how a run went."""
    with RunStore(directory) as store:
        state, found = store.state, TreeFigures.of(store.state)
        keys = ints(store.layer(state.depth)) if found.orbits else []
        return found.solutions, found.orbits, found.classes, found.nodes, state.digest, keys


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    """Return the kernel's counts from the root, and the digest of an undisturbed run."""
    directory = new_run(tmp_path_factory.mktemp("right"))
    puzzle = MagicStar(SMALL)
    counted = puzzle.count_subtrees(puzzle.keys([puzzle.start]))
    digest = driven(directory, Resources()).digest
    return 960, 80, 20, counted.nodes, digest, sorted(ints(counted.found))


@pytest.mark.parametrize("manner", ["default", "starving", "farmed", "half farmed"])
def test_counts_and_solutions_do_not_depend_on_the_way(
    manner: str, right: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = new_run(tmp_path)
    resources = MANNERS[manner].take(monkeypatch, "u64")
    assert driven(directory, resources).status == "complete"
    assert answer(directory) == right
    assert verified(directory, full=True).faults == []


@pytest.mark.parametrize("chunk", [1, 7, 319, 320, 5_000])
def test_any_size_of_chunks(chunk: int, right: tuple[Any, ...], tmp_path: Path) -> None:
    directory = new_run(tmp_path)
    state = driven(directory, Resources(workers=2, chunk=chunk))
    assert (state.figures["chunks"], state.figures["chunks_done"]) == (-(-320 // chunk), -(-320 // chunk))
    assert answer(directory) == right


def test_the_bytes_of_prefixes_count(tmp_path: Path) -> None:
    directory = new_run(tmp_path, {"points": "6"})
    state = driven(directory)
    with RunStore(directory) as store:
        assert state.stored_bytes >= sum(record.stored_bytes for record in store.layer_records()) > 0


def test_all_layers_of_prefixes_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory, told, observer = new_run(tmp_path, {"points": "6"}), list[Progress](), SilentObserver()
    driven(directory)
    monkeypatch.setattr(observer, "progress", told.append)
    assert verify_directory(directory, False, Resources(), Control(), observer).ok
    layers = [progress.done for progress in told if progress.unit == "layers derived again"]
    with RunStore(directory) as store:
        cutting = read_cutting(store)
    assert cutting is not None
    assert layers == list(range(1, cutting.depth + 1)) != []


def test_few_prefixes_are_counted_here_and_more_by_the_executor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are what the user says, or what takes little time."""
    search, puzzle, control = TreeSearch.__new__(TreeSearch), MagicStar(SMALL), Control()
    executor = ThreadExecutor(puzzle, 1, control)
    cases: tuple[tuple[float, dict[str, Any], list[bool]], ...] = (
        (1e6, {"farm": 6}, [False, True]), (1e-6, {"farm": 6}, [False, True]),
        (1e6, {"chunk": 5}, [False, True]), (1e-6, {"chunk": 5}, [False, True]),
        (1e6, {}, [True, True]), (1e-6, {}, [False, False]),
    )  # fmt: skip
    for pace, more, expected in cases:
        budget, plans = Budget(1 << 30, **more), list[Plan]()
        farm = Farm(puzzle, executor, None, budget, budget.shares(puzzle, 1, 0), print)
        monkeypatch.setattr(Farm, "map", lambda _, plan, *rest, plans=plans: plans.append(plan))
        context = SimpleNamespace(farm=farm)
        vars(search).update(_session=SimpleNamespace(context=context), _pace=lambda _, pace=pace: pace)
        for missing in (5, 6):
            search._results([0], [LAYOUTS["u64"].pack([*range(missing)])])
        assert [plan.by is executor for plan in plans] == expected
    executor.close()


def test_large_subtrees_are_cut_further(tmp_path: Path) -> None:
    directory, tuning = new_run(tmp_path), Tuning(enough_prefixes=100, most_below=3)
    assert driven(directory, Resources(tuning=tuning)).figures["solutions"] == 960
    with RunStore(directory) as store:
        cutting = read_cutting(store)
    assert cutting is not None
    assert cutting.depth > 4
    assert verified(directory, full=True).faults == []


def test_no_solution_at_all(tmp_path: Path) -> None:
    directory = new_run(tmp_path, {"points": "5", "solutions": "keep"})
    state = driven(directory)
    assert (state.status, state.figures["configurations"], state.figures["orbits"], state.figures["classes"]) == (
        "complete",
        0,
        0,
        0,
    )
    assert verified(directory, full=True).faults == []
    with Run(RunStore(directory)) as run:
        assert list(run.solutions()) == []


# Stopped and resumed


def stop_before_chunk(patch: pytest.MonkeyPatch, control: Control, number: int) -> Counter[int]:
    """Interrupt as chunk `number` of this session comes in; which chunks come in is counted."""
    taken: Counter[int] = Counter()

    def look(search: TreeSearch, chunk: int, *_: Any) -> None:
        taken[chunk] += 1
        if len(taken) == number:
            control.interrupt("a test")

    before_call(patch, TreeSearch, "_take_in", look)
    return taken


@pytest.mark.parametrize("number", [1, 20, 46])
def test_no_chunk_is_worked_off_twice(
    number: int, right: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, control = new_run(tmp_path), Control()
    with monkeypatch.context() as patch:
        first = stop_before_chunk(patch, control, number)
        stopped = driven(directory, control=control)
    with RunStore(directory) as store:
        kept = read_chunks(store)
        found = [ints(keys) for keys in Run(store).solutions()] if stopped.status != "complete" else []
    assert sorted(kept) == sorted(first)
    assert stopped.figures["chunks_done"] == len(kept) == number
    assert verified(directory, full=True).faults == []
    with monkeypatch.context() as patch:
        second = stop_before_chunk(patch, Control(), 0)
        # Another size of chunks changes nothing of what is cut already.
        assert driven(directory, Resources(workers=1, chunk=50)).status == "complete"
    assert sorted([*first, *second]) == list(range(46))
    assert answer(directory) == right
    assert {key for keys in found for key in keys} <= set(right[5])
    with RunStore(directory) as store:
        assert store.names(FOUND) == []
        assert all(read_chunk(store, chunk) == record for chunk, record in kept.items())


def test_stopped_among_the_prefixes(right: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory, control = new_run(tmp_path), Control()
    with monkeypatch.context() as patch:
        before_call(patch, TreeSearch, "_add", lambda search, keys: len(keys) > 20 and control.interrupt("a test"))
        assert driven(directory, control=control).status == "interrupted"
    report = verified(directory)
    assert (report.faults, report.complete, report.sampled) == ([], False, False)
    assert driven(directory).status == "complete"
    assert answer(directory) == right


def test_rules_that_are_left_out_make_it_a_sample(tmp_path: Path) -> None:
    driven(directory := new_run(tmp_path))
    for nodes, sampled in ((100_000, False), (0, True)):
        report = verified(directory, tuning=Tuning(sampled=100_000, sampled_chunks=100_000, plain_nodes=nodes))
        assert (report.faults, report.complete, report.sampled) == ([], True, sampled)


@pytest.mark.ci_slow
def test_time_left_is_told_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory, control = new_run(tmp_path), Control()
    told: list[tuple[float, float] | None] = []

    class Watcher(SilentObserver):
        def progress(self, progress: Progress) -> None:
            if progress.unit == "chunks":
                told.append(progress.seconds_left)

    stop_before_chunk(monkeypatch, control, 200)
    at_once = Tuning(chunk_commit=-1.0)
    state = drive(directory, Resources(workers=1, chunk=1, tuning=at_once), control, Watcher())
    found = TreeFigures.of(state)
    assert (found.chunks_done, found.chunks) == (200, 320)
    assert told[0] is None
    assert told[-1] is not None
    left = state.progress.seconds_left
    assert left is not None
    assert 0 <= left[0] <= left[1]


# Damage


def tamper(directory: Path, chunk: int, **changes: Any) -> None:
    """Change a record and seal it again, as a program that counts wrongly would."""
    with RunLock(directory), RunStore(directory, writable=True) as store:
        stage_chunk(store, replace(read_chunk(store, chunk), **changes))
        store.commit(store.state)


def flip(directory: Path, database: bytes, name: bytes) -> None:
    """Change a byte of an entry."""
    with RunLock(directory), RunStore(directory, writable=True) as store:
        raw = bytearray(store.read(database, name) or b"")
        raw[-1] ^= 1
        store.stage(database, name, bytes(raw))
        store.commit(store.state)


@usual(1, "change", [{"solutions": 1}, {"nodes": 7}, {"lane_0": 5}])
def test_a_count_that_was_tampered_with_names_its_chunk(
    change: dict[str, int], right: tuple[Any, ...], tmp_path: Path
) -> None:
    directory = new_run(tmp_path)
    driven(directory)
    tamper(directory, 33, **change)
    faults = verified(directory).faults
    assert [fault for fault in faults if fault.startswith("chunk 33: recounted ")]
    assert not [fault for fault in faults if fault.startswith("chunk ") and "chunk 33:" not in fault]
    if change.keys() != {"lane_0"}:
        driven(directory, repair=True)
        assert answer(directory) == right
        assert verified(directory, full=True).faults == []


def test_a_broken_record_is_named_and_mended(right: tuple[Any, ...], tmp_path: Path) -> None:
    directory = new_run(tmp_path)
    driven(directory)
    flip(directory, CHUNKS, number_key(12))
    assert "record of chunk 12 is damaged" in verified(directory).faults[0]
    driven(directory, repair=True)
    assert answer(directory) == right


def test_broken_solutions_of_a_run_in_work_are_named_and_mended(
    right: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, control = new_run(tmp_path), Control()
    with monkeypatch.context() as patch:
        stop_before_chunk(patch, control, 30)
        driven(directory, control=control)
    with RunStore(directory) as store:
        names = store.names(FOUND)
    chunk = int.from_bytes(names[0][:4], "big")
    flip(directory, FOUND, names[0])
    assert f"layer {chunk}, block" in verified(directory).faults[0]
    with pytest.raises(DamagedError, match="damaged"):
        driven(directory)
    with monkeypatch.context() as patch:
        again = stop_before_chunk(patch, Control(), 0)
        driven(directory, repair=True)
    # The damage was found when all others were done.
    assert again == {chunk: 1}
    assert answer(directory) == right


@pytest.mark.parametrize("depth", [2, 5])
def test_broken_layers_are_mended(depth: int, right: tuple[Any, ...], tmp_path: Path) -> None:
    """Return the digest of the prefixes, and of the solutions."""
    directory = new_run(tmp_path)
    driven(directory)
    with RunStore(directory) as store:
        assert store.state.depth == 5
        name = store.names(b"blocks", number_key(depth))[0]
    flip(directory, b"blocks", name)
    assert f"layer {depth}" in verified(directory).faults[0]
    driven(directory, repair=True)
    assert answer(directory) == right
    assert verified(directory, full=True).faults == []


def test_a_repair_of_a_sound_run_changes_nothing(right: tuple[Any, ...], tmp_path: Path) -> None:
    directory = new_run(tmp_path)
    before = driven(directory)
    with RunStore(directory) as store:
        records = read_chunks(store)
    driven(directory, repair=True)
    assert answer(directory) == right
    with RunStore(directory) as store:
        assert read_chunks(store) == records
        assert store.state.figures["nodes"] == before.figures["nodes"]
        cutting = read_cutting(store)
        assert cutting is not None
        assert (cutting.depth, cutting.prefixes, cutting.chunk) == (4, 320, 7)


def test_records_of_later_versions_are_read() -> None:
    fields = dict.fromkeys(ChunkRecord.__dataclass_fields__, 1)
    assert unpack_as(ChunkRecord, pack_record(fields | {"later": 2}), "it").solutions == 1


# Questions


def test_what_a_tree_cannot_answer_it_refuses(tmp_path: Path) -> None:
    with explore("magic-star", SMALL, data=tmp_path) as run:
        questions = (
            run.path, run.diameter, run.components, run.weak_components, run.strong_components, run.graph,
            run.configurations, lambda: run.distance("0x0"),
        )  # fmt: skip
        for question in questions:
            with pytest.raises(UnanswerableError, match="is of the kind tree, which has no graph of moves"):
                question()
        with pytest.raises(UnanswerableError, match=r"must end in \.csv, \.npz"):
            export_run(run, tmp_path / "stars.graphml")
        for option in ({"layers": 3}, {"moves": True}):
            with pytest.raises(UnanswerableError, match=f"{next(iter(option))} does not apply to a file of solutions"):
                export_run(run, tmp_path / "stars.csv", **option)
    with (
        explore("magic-star", {"points": "6"}, data=tmp_path) as run,
        refused(UnanswerableError, "kept none", Hint("give", "option", "solutions=keep")),
    ):
        next(run.solutions())


def test_what_cannot_be_run_is_refused(tmp_path: Path) -> None:
    for what, more in (
        ("whole", {"kind": "census"}),
        ("until_goal", {"plan": {"until_goal": True}}),
        ("start", {"start": "0x0"}),
        ("merge_mirrors", {"merge_mirrors": True}),
    ):
        with refused(PuzzleError, "magic-star", Hint("leave out", what)):
            new_run(tmp_path, **more)
    assert not list(tmp_path.iterdir())


def test_solutions_that_do_not_fit_are_refused_and_kept(tmp_path: Path, right: tuple[Any, ...]) -> None:
    directory = new_run(tmp_path)
    with pytest.raises(OverBudgetError, match="sorting 80 solutions needs"):
        driven(directory, Resources(workers=1, memory=1_000, tuning=Tuning(least_bytes=1_000)))
    assert driven(directory, Resources()).status == "complete"
    assert answer(directory) == right


@pytest.mark.ci_slow
def test_strategies_agree_and_are_compared(right: tuple[Any, ...], tmp_path: Path) -> None:
    for strategy in (PRUNE, FASTEST):
        driven(new_run(tmp_path, SMALL | {"strategy": strategy}), Resources())
    new_run(tmp_path)
    driven(new_run(tmp_path, {"points": "5"}))
    with explore("magic-star", {"points": "6"}, data=tmp_path) as run:
        manifest = run.store.manifest
        assert run.summary()["digest"] == right[4]
    slow, fast = Subtrees.compare(manifest, lambda: runs_like(tmp_path, manifest)).rows
    assert (slow["strategy"], fast["strategy"]) == (PRUNE, FASTEST)
    assert slow["nodes"] > 100 * fast["nodes"]
    assert fast["run"] == manifest.run
    assert slow["processor"] > fast["processor"] > 0
