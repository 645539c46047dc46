"""One suite for every layout, directed or not, in every manner: the layers are those of a plain search, always."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partialmethod
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tests.support.toy as toy_module
from hakoiri.api import Run, census, explore
from hakoiri.coordinator.layers.step import LayerStep
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import DamagedError
from hakoiri.keys.layout import Key, Keys, ints, key_at
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import HeldLayer, Layer, RunStore, StoredLayer
from hakoiri.storage.names import BLOCKS, CLOSED, CLOSED_KEY, LAYERS, META, SPILL_FOLDER, number_key
from hakoiri.worker.layers import ranges
from hakoiri.worker.layers.closed_set import ClosedSet
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.partition import shares_within
from hakoiri.worker.layers.ranges import Bitmap
from hakoiri.worker.layers.step import RangeStep
from tests.support.plain_search import reference_distances, reference_layers
from tests.support.runs import verified
from tests.support.seeds import first_usual, usual
from tests.support.toy import DeadEnds, Toy
from tests.support.toy_runs import EMBEDDINGS, MANNERS, assert_as_expected, driven, expected, new_run, spied

#: What is spied on, so that no manner passes because it went an easier way than it says.
WAYPOINTS = (
    (LayerStep, "run"), (RangeStep, "spill"), (LayerStep, "_save"), (Spill, "append"), (Bitmap, "fill"),
    (Exchange, "add"), (Exchange, "put"), (Exchange, "cut_again"), (ClosedSet, "_put_away"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is among the puzzles."""
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")


def waypoints(manner: str, layout: str, keys: str, directed: str) -> set[str]:
    """Return the points that a search in this manner must pass."""
    if manner == "default":
        return set()
    dense = layout in ("u32", "u64") and keys in ("low", "high")
    if MANNERS[manner].elsewhere:
        return {"run", "put"}
    passed = {"run", "fill" if dense else "add"}
    if manner == "durable":
        passed |= {"spill", "append", "_save"}
    if not dense and (manner == "starving" or (manner == "spilling" and directed == "no")):
        passed |= {"put"}
    if manner == "starving" and directed == "no" and keys in ("clumped", "spread"):
        passed |= {"append"}
    # The sample says where keys crowd, and not where older ones do.
    crowded = ("crowded", "spilling", "starving") if directed == "yes" else ("starving",)
    if manner in crowded and keys == "clumped":
        passed |= {"cut_again"}
    if manner in ("spilling", "starving") and directed == "yes":
        passed |= {"_put_away"}
    return passed


def searches() -> Iterator[Any]:
    """Every manner with the narrowest keys in clumps and the widest ones spread out, directed and not.

    Else in turn one or the other, and not the manners that differ little from others; what is left is slow.
    """
    like_others = ("chunks", "crowded", "spilling")
    for number, (layout, keys) in enumerate(EMBEDDINGS):
        thorough = (layout, keys) in (("u32", "clumped"), ("u256", "spread"))
        for place, manner in enumerate(MANNERS):
            for directed in ("no", "yes"):
                in_turn = (number + place) % 4 == 2 * (directed == "yes")
                if thorough or (in_turn and manner not in like_others):
                    yield layout, keys, directed, manner
                else:
                    yield pytest.param(layout, keys, directed, manner, marks=pytest.mark.slow)


@usual(2, ("layout", "keys", "directed", "manner"), list(searches()))
def test_the_layers_are_those_of_a_plain_search(
    layout: str, keys: str, directed: str, manner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "400"}
    resources = MANNERS[manner].take(monkeypatch, layout)
    calls = spied(monkeypatch, *WAYPOINTS)
    directory = new_run(tmp_path, options)
    driven(directory, resources)
    assert_as_expected(directory, options)
    assert waypoints(manner, layout, keys, directed) <= set(calls)


@usual(1, "manner", ["durable", "starving", "chunks"])
@pytest.mark.parametrize("directed", ["no", "yes"])
def test_bitmaps_that_do_not_all_fit_are_coded_one_by_one(
    directed: str, manner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": "u32", "keys": "low", "directed": directed}
    resources = MANNERS[manner].take(monkeypatch, "u32")
    plan: Callable[..., bool] = Exchange.plan_bitmaps
    monkeypatch.setattr(Exchange, "plan_bitmaps", lambda *given: plan(*given[:5], 0.0, *given[6:]) and False)
    calls = spied(monkeypatch, (ranges, "code_window"), (Exchange, "put"))
    directory = new_run(tmp_path, options)
    driven(directory, resources)
    assert_as_expected(directory, options)
    assert min(calls["code_window"], calls["put"]) > 10


@pytest.mark.ci_slow
def test_configurations_that_lead_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last layers of a solitaire, by threads and at once; and those that are too small for threads again."""
    digests = []
    # The layers have 1 to 12 configurations.
    for manner, least in (("spilling", 1), ("default", None), ("spilling", 8)):
        resources = replace(MANNERS[manner].take(monkeypatch, "u32"), farm=least)
        directory = make_run(tmp_path / f"{least}", PuzzleSpec("gap", {"ranks": "4"}), "explore", {}, resources)
        digests.append(driven(directory, resources).digest)
    assert len(set(digests)) == 1


@usual(1, "manner", ["farmed", "chunks"])
def test_who_made_the_layers_is_noted_where_there_are_workers(
    manner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": "u32", "keys": "spread", "directed": "no"}
    resources = replace(MANNERS[manner].take(monkeypatch, "u32"), chunk=None, farm=40)
    directory = new_run(tmp_path, options)
    made: Any = driven(directory, resources).work_log.get("layers")
    sizes = [size for size, *_ in expected(**options).records]
    large = [size for before, size in pairwise(sizes) if before >= 40]
    small = [len(sizes) - len(large), sum(sizes) - sum(large)]
    # Children of the process could have taken chunks.
    assert {name: [*row] for name, row in made.items()} == {
        "threads" if manner == "chunks" else "workers": [len(large), sum(large)],
        "small": small,
    }


@pytest.mark.parametrize("most", [0, 1, 4, 5])
def test_a_search_of_the_first_layers_makes_no_others(most: int, tmp_path: Path) -> None:
    options = {"layout": "u32", "keys": "spread", "directed": "no"}
    with explore("toy", options, layers=most, data=tmp_path) as run:
        assert run.layer_sizes == [len(layer) for layer in expected(**options).layers[: most + 1]]


@usual(2, "manner", ["default", "farmed", "starving"])
@pytest.mark.parametrize("directed", ["no", "yes"])
def test_a_search_stops_after_the_layer_with_enough_configurations(
    manner: str, directed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS[manner].take(monkeypatch, "u32")
    options = {"layout": "u32", "keys": "spread", "directed": directed}
    sizes = [len(layer) for layer in expected(**options).layers]
    for most, last in ((1, 0), (sum(sizes[:4]), 3), (sum(sizes[:4]) + 1, 4)):
        with explore("toy", options, most=most, data=tmp_path, resources=resources) as run:
            assert (run.layer_sizes, run.exhausted) == (sizes[: last + 1], False)
    with explore("toy", options, most=sum(sizes) + 1, layers=99, data=tmp_path, resources=resources) as run:
        assert run.exhausted


@pytest.mark.ci_slow
def test_older_keys_are_kept_in_few_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as their bytes need: they are merged in ranges of many keys."""
    resources = replace(MANNERS["spilling"].take(monkeypatch, "u32"), tuning=Tuning(least_bytes=9_000))
    directory = new_run(tmp_path, {"layout": "u32", "keys": "spread", "directed": "yes"})
    driven(directory, resources)
    with RunStore(directory) as store:
        segments = store.read_record(META, CLOSED_KEY, "segments")["segments"]
        assert segments
        for number, *_ in segments:
            assert len(store.names(CLOSED, number_key(number))) <= 3


@pytest.mark.ci_slow
def test_older_keys_that_reach_further_than_asked_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that makes a layer again may have put away the layer before it."""
    resources = replace(MANNERS["spilling"].take(monkeypatch, "u32"), tuning=Tuning(least_bytes=9_000))
    directory = new_run(tmp_path, {"layout": "u32", "keys": "spread", "directed": "yes"})
    driven(directory, resources)
    with RunStore(directory, writable=True) as store:
        record = store.read_record(META, CLOSED_KEY, "segments")
        shares = shares_within(1, store.layout.bytes, 1, None, 9_000)
        closed = ClosedSet(store, record["covered"] - 1, shares, 1_000, lambda: None)
        assert closed.depth == record["covered"] > 1
        assert sum(layer.size for layer in closed.layers()) == sum(size for _, size, *_ in record["segments"])


@pytest.mark.ci_slow
@pytest.mark.parametrize("layout", ["u32", "u256"])
def test_spill_files_that_cannot_be_removed_do_no_harm(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": layout, "keys": "spread", "directed": "no"}
    resources = MANNERS["starving"].take(monkeypatch, layout)
    directory = new_run(tmp_path, options)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        driven(directory, resources)
    assert list((directory / SPILL_FOLDER).iterdir())
    shutil.rmtree(directory / SPILL_FOLDER)
    assert_as_expected(directory, options)


@usual(1, "manner", ["default", "spilling", "starving"])
@usual(1, "layout", ["u32", "u256"])
def test_a_large_last_layer_may_lead_nowhere(
    layout: str, manner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PUZZLES, "dead-ends", "tests.support.toy:DeadEnds")
    resources = MANNERS[manner].take(monkeypatch, layout)
    puzzle = DeadEnds({"layout": layout, "keys": "spread", "directed": "yes"})
    with explore("dead-ends", puzzle.parameters, data=tmp_path, resources=resources) as run:
        layers = reference_layers(puzzle.successors, puzzle.start)
        assert [ints(run.layer(depth)) for depth in range(len(run.layer_sizes))] == layers
        assert len(layers) == 6
        assert len(layers[-1]) > 60


@pytest.mark.parametrize("manner", ["default", "spilling"])
def test_a_sample_may_lead_nowhere_where_others_lead_on(
    manner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": "u32", "keys": "spread", "directed": "yes"}
    resources, toy, misled = MANNERS[manner].take(monkeypatch, "u32"), Toy(options), list[bool]()

    def misleading(layer: Layer, sample: Callable[[Layer], Keys]) -> Keys:
        keys = ints(sample(layer))
        dead = [key for key in keys if not toy.successors(key)]
        misled.append(0 < len(dead) < len(keys))
        return toy.keys(dead or keys)

    for kind in (HeldLayer, StoredLayer):
        monkeypatch.setattr(kind, "sample", partialmethod(misleading, kind.sample))
    directory = new_run(tmp_path, options)
    driven(directory, resources)
    assert_as_expected(directory, options)
    assert manner == "default" or any(misled)


@pytest.mark.parametrize("manner", ["default", "starving", "durable", "farmed"])
@pytest.mark.parametrize("directed", ["no", "yes"])
def test_a_search_until_its_goal_stops_there(
    directed: str, manner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS[manner].take(monkeypatch, "u64")
    options = {"layout": "u64", "keys": "spread", "directed": directed}
    toy = Toy(options)
    layers = reference_layers(toy.successors, toy.start)
    goals = {layers[4][10], layers[5][3], layers[7][0]}
    monkeypatch.setattr(toy_module, "is_goal", lambda key: key in goals)
    with explore("toy", options, until_goal=True, data=tmp_path, resources=resources) as run:
        assert run.store.state.figures["goal_depth"] == 4
        assert [ints(run.layer(depth)) for depth in range(len(run.layer_sizes))] == layers[:5]
        assert not run.store.state.figures["exhausted"]
        assert_real(run.puzzle, run.path().keys, toy.start, layers[4][10])
        assert len(run.path()) == 4


@pytest.mark.ci_slow
def test_the_empty_layer_leaves_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources = MANNERS["chunks"].take(monkeypatch, "u32")
    directory = new_run(tmp_path, {"layout": "u32"})
    driven(directory, resources)
    with RunStore(directory) as store:
        assert len(store.names(LAYERS)) == store.state.depth + 1
        with pytest.raises(DamagedError, match="is missing"):
            store.layer_record(store.state.depth + 1)


@pytest.mark.ci_slow
@usual(1, ("layout", "directed"), [("u32", "yes"), ("u64", "no"), ("u128", "yes"), ("u256", "no")])
def test_verify_finds_such_runs_right_and_wrong_ones_wrong(
    layout: str, directed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS["spilling"].take(monkeypatch, layout)
    options = {"layout": layout, "keys": "clumped", "directed": directed, "size": "250"}
    directory = new_run(tmp_path, options)
    driven(directory, resources)
    for full in (False, True):
        report = verify_directory(directory, full, Resources(), Control(), SilentObserver())
        assert report.faults == []
        assert report.checked["layers"] == len(expected(**options).layers)
    # A configuration of layer 4 moved to layer 3, its books with it.
    with RunStore(directory, writable=True) as store:
        third, fourth = store.layer(3), store.layer(4)
        for depth, keys in ((3, sort_keys(np.concatenate([third, fourth[5:6]]))), (4, np.delete(fourth, 5, axis=0))):
            store.erase(BLOCKS, number_key(depth))
            store.put_layer(depth, keys, int(Toy({"layout": layout}).is_goal(keys).sum()))
        store.commit(store.state)
    report = verified(directory)
    assert any("layer 3" in fault for fault in report.faults)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("layout", "keys", "directed"),
    [("u32", "clumped", "yes"), ("u64", "high", "no"), ("u128", "clumped", "no"), ("u256", "spread", "yes")],
)
def test_paths_along_the_moves_are_shortest(
    layout: str, keys: str, directed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS["spilling"].take(monkeypatch, layout)
    options = {"layout": layout, "keys": keys, "directed": directed}
    directory = new_run(tmp_path, options)
    driven(directory, resources)
    layers = expected(layout, keys, directed).layers
    with closing(Run(RunStore(directory))) as run:
        for depth, layer in enumerate(layers):
            for target in layer[:2]:
                found = run.path(f"{target:#x}")
                assert_real(run.puzzle, found.keys, run.puzzle.start, target)
                assert len(found) == depth
        found = run.path("goal")
        assert len(found) == run.store.state.figures["goal_depth"]
        source = layers[3][0]
        distances = reference_distances(run.puzzle.successors, source)
        for target in list(distances)[::100]:
            found = run.path(f"{target:#x}", f"{source:#x}")
            assert_real(run.puzzle, found.keys, source, target)
            assert len(found) == distances[target]


def assert_real(puzzle: Puzzle, path: list[Key], source: Key, target: Key) -> None:
    assert (path[0], path[-1]) == (source, target)
    assert all(after in puzzle.successors(before) for before, after in pairwise(path))


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    "resources", [Resources(workers=1), Resources(workers=2, chunk=100, farm=1)], ids=["here", "threads"]
)
@pytest.mark.parametrize(
    ("layout", "keys"), first_usual(2, ("u32", "high"), ("u128", "clumped"), ("u64", "clumped"), ("u256", "spread"))
)
def test_a_census_is_that_of_plain_searches(layout: str, keys: str, resources: Resources, tmp_path: Path) -> None:
    options = {"layout": layout, "keys": keys, "size": "200"}
    with census("toy", options, data=tmp_path, resources=resources) as run:
        toy = Toy(options)
        every, labels = run.configurations()
        assert ints(every) == sorted(toy.vertices)
        distances = {key: reference_distances(toy.successors, key) for key in toy.vertices}
        components = sorted(
            {tuple(sorted(reached)) for reached in distances.values()}, key=lambda found: (-len(found), found)
        )
        label_of = dict(zip(ints(every), labels.tolist(), strict=True))
        assert label_of == {key: number for number, component in enumerate(components) for key in component}
        for component, record in zip(components, run.components(), strict=True):
            exact = [max(distances[key].values()) for key in component]
            farthest = [(key, other) for key in component for other in distances[key] if key < other]
            pairs = sorted(pair for pair in farthest if distances[pair[0]][pair[1]] == max(exact))
            assert (record.size, record.representative, record.pair_count) == (len(component), component[0], len(pairs))
            assert (record.diameter, record.radius) == (max(exact), min(exact))
            assert (record.periphery, record.centre) == (exact.count(max(exact)), exact.count(min(exact)))
            stored = run.diameter(record.component).pairs
            assert [(key_at(pair, 0), key_at(pair, 1)) for pair in stored] == pairs
        directory = run.store.directory
    assert verified(directory).faults == []
