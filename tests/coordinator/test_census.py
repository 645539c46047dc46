"""Censuses of spaces whose moves do not fit in memory: by passes, interrupted, damaged, and as those in memory."""

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import lmdb
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from hakoiri.api import Run, census, verify_run
from hakoiri.coordinator.census.census import check_wanted, wanted_of
from hakoiri.coordinator.errors import ContradictionError, UnanswerableError
from hakoiri.coordinator.graphs import distances
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.resources import Budget, Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import DamagedError, Hint, OverBudgetError, PuzzleError
from hakoiri.keys.layout import LAYOUTS, U32, Keys, Layout, ints
from hakoiri.keys.order import lower_bounds
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.names import LABELS, META, NUMBERS_KEY, PARTIAL_KEY, SPILL_FOLDER, number_key
from hakoiri.storage.results import Diameter, read_component, read_pairs, stage_component
from hakoiri.worker.census import joining
from hakoiri.worker.census.forests import Forest, balance, pairs_of, split_numbered
from hakoiri.worker.graphs.searches import find_roots, unite_all
from hakoiri.worker.layers.exchange import Exchange
from tests.support.keys import every_layout
from tests.support.refusals import refused
from tests.support.runs import essence, opened, small_slabs, verified
from tests.support.seeds import usual
from tests.support.toy import Dust, Toy
from tests.support.toy_runs import before_call, left_by_another_version, open_without_sync

#: Few enough that a toy has a dozen slabs.
_SLAB = 64
#: Too little for the moves of all, enough for those of the small components.
_SHORT = Resources(
    workers=2, memory=20_000, chunk=50, farm=1,
    tuning=Tuning(least_bytes=20_000, most_range=3 * _SLAB, checkpoint=-1.0),
)  # fmt: skip
_SMALL = {"diameters": "below=200"}
_PASSES = ("listing configurations", "expanding moves", "joining configurations", "numbering components")
_EMBEDDINGS = [
    ("u32", "low"), ("u32", "spread"), ("u64", "high"), ("u64", "clumped"), ("u128", "spread"), ("u256", "clumped"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Toys are among the puzzles, have many slabs, and no power is cut."""
    for name in ("Toy", "Dust", "Liar"):
        monkeypatch.setitem(PUZZLES, name.lower(), f"tests.support.toy:{name}")
    small_slabs(monkeypatch, _SLAB)
    monkeypatch.setattr(lmdb, "open", open_without_sync)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def started(data: Path, layout: str, keys: str, puzzle: str = "toy", **options: str) -> Path:
    spec = PuzzleSpec(puzzle, {"layout": layout, "keys": keys, **options})
    return make_run(data, spec, "census", _SMALL, Resources())


def driven(directory: Path, resources: Resources, control: Control | None = None) -> str:
    return drive(directory, resources, control or Control(), SilentObserver()).status


def found(directory: Path) -> tuple[Any, ...]:
    """All that a census has found."""
    with closing(Run(RunStore(directory))) as run:
        figures = {name: run.store.state.figures[name] for name in ("edges", "components", "start_component")}
        return essence(run), figures, run.components(), run.configurations()[1].tolist()


def by_scipy(toy: Toy) -> list[int]:
    """The component of each configuration of a toy."""
    places = {key: place for place, key in enumerate(sorted(toy.vertices))}
    ends = np.array([(places[one], places[other]) for one in places for other in toy.successors(one)])
    matrix = coo_array((np.ones(len(ends)), ends.T), shape=(len(places), len(places)))
    count, labels = connected_components(matrix, directed=False)
    sizes = np.bincount(labels, minlength=count)
    order = sorted(range(count), key=lambda label: (-sizes[label], list(labels).index(label)))
    return [order.index(label) for label in labels.tolist()]


@pytest.mark.ci_slow
@pytest.mark.parametrize("toy", [Toy, Dust])
@pytest.mark.parametrize(("layout", "keys"), _EMBEDDINGS)
def test_passes_find_what_memory_finds(layout: str, keys: str, toy: type[Toy], tmp_path: Path) -> None:
    in_memory, by_passes = (started(tmp_path, layout, keys, toy.name) for _ in range(2))
    assert driven(in_memory, Resources()) == driven(by_passes, _SHORT) == "complete"
    assert found(by_passes) == found(in_memory)
    assert found(by_passes)[-1] == by_scipy(toy({"layout": layout, "keys": keys}))
    assert not list((by_passes / SPILL_FOLDER).glob("*"))
    assert verified(by_passes).faults == []


def test_labels_of_no_tree_are_refused(tmp_path: Path) -> None:
    """They come out of a run, and are indices for the kernel that unites trees."""
    numbers = joining.TreeNumbers("given", [2, 3], [0, 65_536])
    assert numbers.within(1, np.array([65_536, 65_538], dtype=np.uint32)).tolist() == [0, 2]
    assert numbers.among_all(np.array([1, 65_538])).tolist() == [1, 4]
    for wrong in ([65_539], [65_535], [0], [2**32 - 1]):
        with pytest.raises(DamagedError, match="run given: its labels name a part of a component"):
            numbers.within(1, np.array(wrong, dtype=np.uint32))
    for wrong in ([-1], [65_539], [2**32 - 1]):
        with pytest.raises(DamagedError, match="run given: its labels name a part of a component"):
            numbers.among_all(np.array(wrong))


def test_trees_that_do_not_fit_in_memory_are_united_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[int]()
    before_call(monkeypatch, joining, "file_array", lambda run, dtype, count: made.append(count))
    in_memory, in_files = (started(tmp_path, "u32", "clumped", "dust") for _ in range(2))
    assert driven(in_memory, _SHORT) == "complete"
    assert not made
    monkeypatch.setattr(joining, "TREE_BYTES", 1 << 20)
    assert driven(in_files, _SHORT) == "complete"
    assert len(made) == 2
    assert found(in_files) == found(in_memory)
    assert sorted(path.name for path in in_files.iterdir()) == sorted(path.name for path in in_memory.iterdir())


class StopsAt(SilentObserver):
    """Interrupts a census in the middle of a pass."""

    def __init__(self, headline: str) -> None:
        self.control, self._headline, self._seen = Control(), headline, 0

    def progress(self, progress: Progress) -> None:
        """Look at what it is at."""
        self._seen += progress.headline == self._headline
        if self._seen > 1:
            self.control.interrupt("enough")


def stopped_at(directory: Path, headline: str) -> str:
    observer = StopsAt(headline)
    return drive(directory, _SHORT, observer.control, observer).status


@pytest.mark.ci_slow
@pytest.mark.parametrize("layout", ["u32", pytest.param("u128", marks=pytest.mark.slow)])
def test_each_pass_goes_on_where_it_was_interrupted(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Configurations of several slabs are listed together.
    small_slabs(monkeypatch, 8)
    straight, stopped = (started(tmp_path, layout, "clumped", "dust") for _ in range(2))
    driven(straight, _SHORT)
    for headline in _PASSES:
        # Twice: a session that begins within a pass is interrupted there, too; the list is a short one.
        times = 1 if headline == _PASSES[0] else 2
        assert [stopped_at(stopped, headline) for _ in range(times)] == ["interrupted"] * times
    assert driven(stopped, _SHORT) == "complete"
    assert found(stopped) == found(straight)


def test_the_time_of_all_passes_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[float] = []
    before_call(monkeypatch, RunStore, "commit", lambda _, state: seconds.append(state.seconds))
    assert driven(started(tmp_path, "u32", "clumped"), _SHORT) == "complete"
    assert seconds == sorted(seconds)


def test_a_kernel_that_forgets_a_move_back_is_found_by_passes(tmp_path: Path) -> None:
    directory = started(tmp_path, "u32", "clumped", "liar", lie="slip")
    with pytest.raises(PuzzleError, match=r"liar: successors of 0x[0-9a-f]+ returns 0x[0-9a-f]+, expand does not"):
        driven(directory, _SHORT)


@pytest.mark.parametrize("place", [0, 300, -1])
def test_a_move_out_of_the_space_is_found_by_passes(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, listed = started(tmp_path, "u32", "clumped"), Toy.configurations
    without = sorted(Toy({"keys": "clumped"}).vertices)[place]
    monkeypatch.setattr(Toy, "configurations", lambda self: (block[block != without] for block in listed(self)))
    with pytest.raises(ContradictionError, match=f"leads to {without:#x}, which is not among the 599 configurations"):
        driven(directory, _SHORT)


def _damaged_labels(directory: Path) -> str:
    with RunStore(directory, writable=True) as store:
        store.stage(LABELS, number_key(3), b"\0" * (4 + 4 * _SLAB))
        store.commit(store.state)
    return "labels slab 3 is damaged"


def _damaged_spill(directory: Path) -> str:
    path = next(path for path in sorted((directory / SPILL_FOLDER).glob("*")) if path.stat().st_size)
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    return f"spill file {path.name} of run"


def _cut_spill(directory: Path) -> str:
    path = next(path for path in sorted((directory / SPILL_FOLDER).glob("*")) if path.stat().st_size)
    os.truncate(path, path.stat().st_size - 1)
    return f"spill file {path.name} of run"


@pytest.mark.parametrize(
    ("damage", "headline"),
    [
        (_damaged_labels, "numbering components"),
        (_damaged_spill, "expanding moves"),
        (_cut_spill, "joining configurations"),
    ],
)
def test_damage_between_sessions_is_named_and_mended(
    damage: Callable[[Path], str], headline: str, tmp_path: Path
) -> None:
    straight, stopped = (started(tmp_path, "u32", "spread") for _ in range(2))
    driven(straight, _SHORT)
    assert stopped_at(stopped, headline) == "interrupted"
    said = damage(stopped)
    with pytest.raises(DamagedError, match=said):
        driven(stopped, _SHORT)
    drive(stopped, _SHORT, Control(), SilentObserver(), repair=True)
    assert found(stopped) == found(straight)


def test_a_space_without_configurations_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Toy, "configurations", lambda self: iter(()))
    with pytest.raises(ContradictionError, match="toy lists no configurations"):
        driven(started(tmp_path, "u32", "spread"), _SHORT)


def test_nobody_holds_the_moves_of_more_than_a_chunk_or_a_component(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expanded, graphs = list[int](), list[int]()
    before_call(monkeypatch, Dust, "expand", lambda _, keys: expanded.append(len(keys)))
    before_call(monkeypatch, distances, "build_graph", lambda _, keys, **__: graphs.append(len(keys)))
    chunks = Resources(workers=2, chunk=50, tuning=Tuning(searched_alone_from=7, batch_work=100))
    directory = make_run(tmp_path, PuzzleSpec("dust", {"keys": "clumped"}), "census", {}, Resources())
    assert driven(directory, chunks) == "complete"
    with closing(Run(RunStore(directory))) as run:
        sizes = [one.size for one in run.components()]
    assert graphs == [size for size in sizes if size >= 7]
    assert max(expanded) == max(50, sizes[0]) < sum(sizes)
    # The moves of each are looked at twice, but for the sample that is compared with the reference rules.
    assert sum(expanded) >= 2 * sum(sizes)


def test_more_than_places_have_bits_for_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Toy, "total", 1 << 32)
    with refused(UnanswerableError, "above the limit of 4,294,967,295", Hint("leave out", "whole")):
        driven(started(tmp_path, "u32", "spread"), _SHORT)


def test_a_component_that_does_not_fit_is_left_for_more_memory(tmp_path: Path) -> None:
    directory = make_run(tmp_path, PuzzleSpec("toy"), "census", {}, Resources())
    with pytest.raises(OverBudgetError, match=r"of 458 configurations needs .* above the limit of 20,000"):
        driven(directory, replace(_SHORT, tuning=replace(_SHORT.tuning, searched_alone_from=2)))
    assert driven(directory, Resources()) == "complete"


def test_a_move_that_leads_one_way_is_found_by_passes(tmp_path: Path) -> None:
    directory = started(tmp_path, "u32", "clumped", "liar", lie="rare")
    with pytest.raises(ContradictionError, match=r"but 0x[0-9a-f]+ leads to 0x[0-9a-f]+, which does not lead back"):
        driven(directory, _SHORT)


class Telling(SilentObserver):
    """Remembers what was told, and that no more was done than there is."""

    def __init__(self) -> None:
        self.headlines: list[str] = []

    def progress(self, progress: Progress) -> None:
        """Look at it."""
        assert progress.total is None or 0 <= progress.done <= progress.total
        self.headlines.append(progress.headline)


def counted(data: Path, puzzle: str, options: dict[str, str], resources: Resources | None = None) -> tuple[Path, str]:
    """A census, and all that it told."""
    directory, observer = make_run(data, PuzzleSpec(puzzle, options), "census", {}, Resources()), Telling()
    assert drive(directory, resources or Resources(), Control(), observer).status == "complete"
    return directory, "\n".join(observer.headlines)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("puzzle", "options"), [("pancakes", {"n": "6"}), ("burnt-pancakes", {"n": "4"}), ("topspin", {"n": "7", "k": "4"})]
)
@pytest.mark.parametrize("short", ["time", "memory"])
def test_alike_configurations_are_measured_by_one_search(
    puzzle: str, options: dict[str, str], short: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One search if one from each takes long or the pairs do not fit; else one from each finds the same distances."""
    tuning = Tuning(searched_alone_from=2)
    listed, told = counted(tmp_path, puzzle, options, Resources(tuning=tuning))
    assert "listing diametral pairs" in told
    if short == "time":
        tuning = replace(tuning, most_steps=1_000)
    else:
        monkeypatch.setattr(distances, "bytes_of_pair", lambda layout: 1 << 40)
    some, told = counted(tmp_path, puzzle, options, Resources(tuning=tuning))
    assert "from kind 1 of 1" in told
    assert "building the graph" not in told
    with closing(Run(RunStore(listed))) as full, closing(Run(RunStore(some))) as run:
        assert run.components() == full.components()
        for number in range(len(run.components())):
            all_pairs, pairs = full.diameter(number).pairs.tolist(), run.diameter(number).pairs.tolist()
            assert len(all_pairs) == run.components()[number].pair_count
            assert pairs == [pair for pair in all_pairs if pair[0] == pairs[0][0]][:16]
    tuning = replace(tuning, most_derived=100)
    for thorough in (False, True):
        report = verify_directory(some, thorough, Resources(tuning=tuning), Control(), SilentObserver())
        assert (report.faults, report.sampled) == ([], not thorough)
    resources = Resources(tuning=replace(tuning, most_steps_verified=1_000))
    report = verify_directory(some, True, resources, Control(), SilentObserver())
    assert (report.faults, report.sampled) == ([], True)


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("false", ["diameter", "pair", "number of pairs"])
def test_a_false_result_of_one_search_is_found(thorough: bool, false: str, tmp_path: Path) -> None:
    tuning = Tuning(searched_alone_from=2, most_steps=100, most_steps_verified=100, most_derived=100)
    resources = Resources(tuning=tuning)
    directory, _ = counted(tmp_path, "pancakes", {"n": "6"}, resources)
    with RunStore(directory, writable=True) as store:
        record, pairs = read_component(store, 0), read_pairs(store, 0)
        if false == "diameter":
            record = replace(record, diameter=6)
        elif false == "pair":
            pairs[-1, 1] = pairs[0, 0]
        else:
            pairs = np.concatenate([pairs, pairs])
        stage_component(store, Diameter(record, pairs))
        store.commit(store.state)
    report = verify_directory(directory, thorough, resources, Control(), SilentObserver())
    said = "searches find" if false == "diameter" else "pairs differ from those of a search"
    assert any("component 0" in fault and said in fault for fault in report.faults), report.faults


@pytest.mark.ci_slow
@pytest.mark.parametrize("memory", [8_000, 30_000])
def test_a_component_that_does_not_fit_is_measured_by_its_symmetries(memory: int, tmp_path: Path) -> None:
    """By a layered search for each kind of configuration: corners and edges of the board with the blank on them."""
    spec = PuzzleSpec("tiles", {"rows": "2", "columns": "3"})
    directories = [make_run(tmp_path, spec, "census", {}, Resources()) for _ in range(2)]
    # The graph does not need all of the greater memory, but the eccentricities would.
    tuning = Tuning(least_bytes=20_000, most_range=3 * _SLAB, searched_alone_from=2)
    short = Resources(memory=memory, chunk=50, farm=1, tuning=tuning)
    assert [driven(directories[0], Resources()), driven(directories[1], short)] == ["complete"] * 2
    with closing(Run(RunStore(directories[0]))) as full, closing(Run(RunStore(directories[1]))) as run:
        (expected,), (record,) = full.components(), run.components()
        assert record == expected
        all_pairs, some = full.diameter().pairs.tolist(), run.diameter().pairs.tolist()
        assert 0 < len(some) <= 16 < len(all_pairs) == record.pair_count
        assert all(pair in all_pairs for pair in some)
        assert some == sorted(some)
    for thorough in (False, True):
        resources = Resources(tuning=Tuning(searched_alone_from=2))
        assert verify_directory(directories[1], thorough, resources, Control(), SilentObserver()).faults == []


# Directed puzzles


@usual(1, ("layout", "keys"), [("u32", "clumped"), ("u128", "spread")])
def test_a_directed_space_has_weak_and_strong_components(layout: str, keys: str, tmp_path: Path) -> None:
    toy = Toy({"layout": layout, "keys": keys, "directed": "yes"})
    spec = PuzzleSpec("toy", toy.parameters)
    in_memory, by_passes = (make_run(tmp_path, spec, "census", {}, Resources()) for _ in range(2))
    assert driven(in_memory, Resources()) == driven(by_passes, _SHORT) == "complete"
    graph = nx.DiGraph((key, other) for key in toy.vertices for other in toy.successors(key) if other != key)
    graph.add_nodes_from(toy.vertices)
    for directory in (in_memory, by_passes):
        with closing(Run(RunStore(directory))) as run:
            weak, strong = run.weak_components(), run.strong_components()
            labels = run.configurations()[1].tolist()
            moves = run.store.state.figures["edges"]
            starts_in = run.component_of(toy.start)
        assert labels == by_scipy(toy)
        assert [one.size for one in weak] == np.bincount(labels).tolist()
        assert [one.representative for one in weak] == [
            sorted(toy.vertices)[labels.index(one.component)] for one in weak
        ]
        assert starts_in == labels[sorted(toy.vertices).index(toy.start)]
        assert (moves, strong.weak) == (graph.number_of_edges(), len(weak))
        assert strong.strong == nx.number_strongly_connected_components(graph)
        assert strong.between == nx.condensation(graph).number_of_edges()
        assert verified(directory).faults == []


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({"diameters": "largest=1"}, "toy is directed, so its components have no diameters"),
        ({"most": 1}, "toy is directed, so its components have no diameters"),
        ({"by": "layers"}, "toy is directed: a search does not find its components"),
    ],
)
def test_a_directed_space_has_no_diameters_and_no_search(plan: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match=said):
        make_run(tmp_path, PuzzleSpec("toy", {"directed": "yes"}), "census", plan, Resources())


def test_no_more_components_are_measured_once_enough_configurations_are(tmp_path: Path) -> None:
    with census("toy", most=1, data=tmp_path) as run:
        first, *others = run.components()
        assert first.diameter is not None and {each.diameter for each in others} == {None}
    with census("toy", most=first.size + 1, data=tmp_path) as run:
        assert [each.diameter is not None for each in run.components()[:3]] == [True, True, False]
    assert verify_run("last", tmp_path, full=True).ok
    with pytest.raises(PuzzleError, match="most measures components"):
        census("toy", most=1, diameters="none", data=tmp_path)


@pytest.mark.parametrize(
    ("directed", "diameters", "question"),
    [("yes", None, "strong components"), ("no", None, "diameter"), ("no", "all", "components"),
     ("no", "none", "hardest")],
)  # fmt: skip
def test_what_may_be_asked_of_a_census(directed: str, diameters: str | None, question: str, tmp_path: Path) -> None:
    plan = {} if diameters is None else {"diameters": diameters}
    with opened(make_run(tmp_path, PuzzleSpec("toy", {"directed": directed}), "census", plan, Resources())) as job:
        assert job.questions() == [question]


def test_pairs_in_memory_are_counted_and_make_room_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held, roomy = list[int](), replace(_SHORT, tuning=replace(_SHORT.tuning, checkpoint=60.0))
    before_call(monkeypatch, Exchange, "add", lambda exchange, *_: held.append(exchange.held_bytes))
    before_call(monkeypatch, Exchange, "code_held", lambda exchange, *_, **__: held.append(exchange.held_bytes))
    directory = started(tmp_path, "u32", "spread")
    assert driven(directory, roomy) == "complete"
    assert min(held) == 0 < max(held)
    most = roomy.budget().shares(PuzzleSpec("toy").build(), 2).bucket_bytes
    # But for the pairs that were added last.
    assert max(held) < 3 * most
    assert sum(after < before for before, after in pairwise(held)) > 2


def test_as_many_configurations_are_joined_at_a_time_as_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes three keys of 4 bytes, two for each move, and 40 more; two threads share half of the memory."""
    spans = list[int]()
    before_call(monkeypatch, joining.Joining, "grow", lambda made, _: spans.append(made.done.range_slabs))
    roomy = replace(_SHORT, tuning=replace(_SHORT.tuning, least_bytes=200_000, most_range=1 << 20))
    driven(started(tmp_path, "u32", "spread"), roomy)
    each = (3 + 2 * Toy.most_successors) * 4 + 40
    assert spans == [200_000 // 2 // (4 * each) // _SLAB] == [2]


def _policy(layout: Layout, moves: float) -> distances.DistancePolicy:
    puzzle, nothing = SimpleNamespace(layout=layout), cast(Any, None)
    return distances.DistancePolicy(nothing, cast(Any, puzzle), Budget(1), moves)


# Which components are measured


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("all", range(5)), ("largest=2", range(2)), ("largest=9", range(5)), ("largest=0", range(0)),
     ("below=7", range(2, 5)), ("below=8", range(1, 5)), ("below=1", range(5, 5)), ("below=99", range(5))],
)  # fmt: skip
def test_wanted_components(text: str, wanted: range) -> None:
    check_wanted(text)
    assert list(wanted_of(text, np.array([9, 7, 6, 1, 1]))) == list(wanted)


@pytest.mark.parametrize(
    ("text", "most", "wanted"),
    [("all", 1, range(1)), ("all", 9, range(1)), ("all", 10, range(2)), ("all", 99, range(5)),
     ("largest=1", 99, range(1)), ("below=8", 7, range(1, 2)), ("below=8", 8, range(1, 3)),
     ("below=1", 1, range(5, 5))],
)  # fmt: skip
def test_as_many_components_as_have_enough_configurations(text: str, most: int, wanted: range) -> None:
    assert wanted_of(text, np.array([9, 7, 6, 1, 1]), most) == wanted


@pytest.mark.parametrize("text", ["", "largest", "largest=", "below=x", "below=-1", "smallest=3"])
def test_other_words_for_them_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match=r"expected all, none, largest=K or below=N"):
        make_run(tmp_path, PuzzleSpec("toy"), "census", {"diameters": text}, Resources())


def test_components_that_were_left_out_have_sizes_alone_until_they_are_asked_for(tmp_path: Path) -> None:
    directories = [started(tmp_path, "u32", "low"), make_run(tmp_path, PuzzleSpec("toy"), "census", {}, Resources())]
    assert [driven(directory, Resources()) for directory in directories] == ["complete"] * 2
    with closing(Run(RunStore(directories[0]))) as run, closing(Run(RunStore(directories[1]))) as full:
        largest, *others = run.components()
        assert others == full.components()[1:]
        assert (largest.size, largest.representative) == (
            full.components()[0].size,
            full.components()[0].representative,
        )
        assert (largest.diameter, largest.radius, largest.pair_count) == (None, None, None)
        alone, known = run.diameter(0), full.diameter(0)
        assert (alone.record, alone.pairs.tolist()) == (known.record, known.pairs.tolist())
        assert run.diameter(0, every=True).record == known.record
        # It stays what it was made for.
        assert run.components()[0].diameter is None


# Forests


@cache
def _keys(layout: str, count: int) -> Keys:
    rng, width = np.random.default_rng(7), LAYOUTS[layout]
    return width.pack(sorted({int.from_bytes(rng.bytes(width.bytes), "big") for _ in range(count)}))


@pytest.mark.ci_slow
@pytest.mark.parametrize("by_chunks", [False, True])
@pytest.mark.parametrize("layout", ["u32", pytest.param("u64", marks=pytest.mark.slow), "u128"])
@settings(max_examples=40)
@given(
    edges=st.sets(st.tuples(st.integers(0, 29), st.integers(0, 29)).filter(lambda ends: ends[0] != ends[1])),
    cuts=st.sets(st.integers(1, 29), max_size=4),
    undirected=st.booleans(),
)
def test_ranges_that_know_nothing_of_each_other_hang_together_as_the_edges_do(
    layout: str, by_chunks: bool, edges: set[tuple[int, int]], cuts: set[int], undirected: bool
) -> None:
    edges = edges | {(other, one) for one, other in edges} if undirected else edges
    ends = np.array(sorted(edges), dtype=int).reshape(-1, 2)
    wanted = connected_components(coo_array((np.ones(len(ends)), ends.T), shape=(30, 30)), directed=False)[1]
    keys, labels, away = _keys(layout, 30), np.empty(30, dtype=np.int32), []
    for low, high in pairwise([0, *sorted(cuts), 30]):
        forest = Forest(keys[low:high])
        for begin in range(low, high, 3 if by_chunks else 30):
            end = min(high, begin + 3) if by_chunks else high
            mine = ends[(ends[:, 0] >= begin) & (ends[:, 0] < end)]
            moves = keys[mine[:, 1]], np.bincount(mine[:, 0] - begin, minlength=end - begin).astype(np.uint16)
            if by_chunks:
                chunk = Forest(keys[begin:end])
                chunk.link(0, *moves, undirected)
                forest.join(chunk.pairs(), chunk.moves, chunk.balance)
            else:
                forest.link(0, *moves, undirected)
        trees = forest.grown(low)
        assert {*trees.labels.tolist()} == {*range(low, low + trees.size)}
        labels[low:high] = trees.labels
        away += [split_numbered(batch, LAYOUTS[layout]) for batch in trees.pairs]
    parents = np.arange(30, dtype=np.int32)
    for others, numbers in away:
        unite_all(parents, labels[lower_bounds(keys, others)], numbers.astype(np.int32))
    find_roots(parents)
    joined = parents[labels]
    assert all(
        (joined[one] == joined[other]) == (wanted[one] == wanted[other]) for one, other in combinations(range(30), 2)
    )


def test_moves_without_a_way_back_do_not_balance() -> None:
    keys = _keys("u64", 3)
    there_and_back = keys[[1, 0, 2, 1]], np.array([1, 2, 1], dtype=np.uint16)
    assert balance(keys, *there_and_back) == 0
    assert balance(keys, keys[[1, 2, 1]], np.array([1, 1, 1], dtype=np.uint16)) != 0
    forest = Forest(keys)
    forest.link(0, *there_and_back, undirected=True)
    assert ints(forest.pairs()) == ints(pairs_of(keys[1:], keys[[0, 0]]))


@every_layout
def test_to_measure_a_component_takes_no_less_memory_than_its_graph(layout: Layout) -> None:
    policy = _policy(layout, 6.0)
    assert policy.bytes_of(1_000) >= policy.graph_bytes(1_000)


def test_components_are_found_by_their_numbers_wherever_these_begin() -> None:
    """Components 5, 6 and 7, of which 6 and 7 are measured together."""
    keys = U32.pack([10, 11, 20, 21, 22, 30])
    ordered = distances.Ordered(keys, np.array([0, 2, 5, 6]), 5)
    assert [part.tolist() for part in ordered.part(range(6, 8))] == [[20, 21, 22, 30], [0, 3]]


@usual(1, "headline", _PASSES[1:])
def test_passes_that_another_version_left_half_done_are_begun_anew(headline: str, tmp_path: Path) -> None:
    straight, stopped = (started(tmp_path, "u32", "clumped", "dust") for _ in range(2))
    driven(straight, _SHORT)
    assert stopped_at(stopped, headline) == "interrupted"
    left_by_another_version(stopped)
    assert driven(stopped, _SHORT) == "complete"
    assert found(stopped) == found(straight)


def test_ranges_that_another_version_folded_one_after_the_other_are_joined_anew(tmp_path: Path) -> None:
    straight, stopped = (started(tmp_path, "u32", "clumped", "dust") for _ in range(2))
    driven(straight, _SHORT)
    assert stopped_at(stopped, "joining configurations") == "interrupted"
    with RunStore(stopped, writable=True) as store:
        fields = store.read_partial(dict[str, Any])
        assert fields is not None
        known = {name: fields[name] for name in ("range_slabs", "moves", "balance", "spilled")}
        store.stage_record(META, PARTIAL_KEY, {**known, "expanded": 600, "folded": 1, "numbered": 0, "sorted": 0})
        store.commit(store.state)
    assert driven(stopped, _SHORT) == "complete"
    assert found(stopped) == found(straight)


@pytest.mark.parametrize("headline", ["joining configurations", "numbering components"])
def test_passes_end_where_there_is_memory_again(headline: str, tmp_path: Path) -> None:
    straight, stopped = (started(tmp_path, "u32", "clumped", "dust") for _ in range(2))
    driven(straight, Resources())
    assert stopped_at(stopped, headline) == "interrupted"
    assert driven(stopped, Resources(memory=1 << 28)) == "complete"
    assert found(stopped) == found(straight)
    with RunStore(stopped) as store:
        assert not store.has_partial
        assert not store.names(META, NUMBERS_KEY)
    assert not list((stopped / SPILL_FOLDER).glob("*"))


def test_pairs_that_turn_out_to_fit_are_listed(tmp_path: Path) -> None:
    """Of 720 configurations 259,200 pairs might be diametral, too many for 10 MB; one search finds that 720 are."""
    tuning = Tuning(searched_alone_from=2)
    at_once, told = counted(tmp_path, "pancakes", {"n": "6"}, Resources(tuning=tuning))
    assert "from kind" not in told
    short, told = counted(tmp_path, "pancakes", {"n": "6"}, Resources(memory=10_000_000, tuning=tuning))
    assert "from kind 1 of 1: layer 7: 2 new" in told
    assert "listing diametral pairs" in told
    assert found(short) == found(at_once)
