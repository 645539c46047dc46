"""`verify` of layers and of a census: every kind of fault is found, in pieces that fit the memory, in linear time."""

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hakoiri.api import census, explore
from hakoiri.coordinator.census import job as graphs_verify
from hakoiri.coordinator.census.job import CensusVerifier
from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.layers.verify import LayersVerifier
from hakoiri.coordinator.runs import verify
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session import check
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver, ThreadExecutor
from hakoiri.errors import OverBudgetError, PuzzleError, TaskError
from hakoiri.keys.layout import LAYOUTS, Key, Keys, ints
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.conformance.pool import try_out
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress
from hakoiri.storage.names import BLOCKS, SCRATCH_PREFIX, number_key
from hakoiri.worker.layers.closed_set import ClosedSet
from tests.support.toy import UNSEEN, GuardedLiar, Toy, is_goal, vertex_keys
from tests.support.toy_runs import MANNERS, Elsewhere, before_call, driven, new_run, spied


def faults(directory: Path, resources: Resources, full: bool = True) -> list[str]:
    """Return the faults. No repair would mend them, because every checksum is right."""
    report = verify_directory(directory, full, resources, Control(), SilentObserver())
    assert report.cause in (None, "unknown")
    return report.faults


#: Toys err by chance, which depends on the width of keys.
_TOYS = ("u32", "u64", "u128", "u256")


#: Much memory, or so little that a comparison holds a hundred moves or so.
@pytest.fixture(params=[Resources(), Resources(memory=1, tuning=Tuning(least_bytes=16_000))], ids=["plenty", "starved"])
def resources(request: pytest.FixtureRequest) -> Resources:
    """Return the resources of a verification."""
    found: Resources = request.param
    return found


def rewritten(directory: Path, depth: int, change: Callable[[Keys], Keys]) -> None:
    """A layer changed as by a wrong search: its record is that of the changed keys."""
    with RunStore(directory, writable=True) as store:
        keys = sort_keys(change(store.layer(depth)))
        store.erase(BLOCKS, number_key(depth))
        store.put_layer(depth, keys, sum(is_goal(key) for key in ints(keys)))
        store.commit(store.state)


@pytest.mark.ci_slow
@pytest.mark.parametrize("directed", ["no", "yes"])
@pytest.mark.parametrize(("layout", "keys"), [("u32", "clumped"), ("u256", "spread")])
def test_wrong_layers_are_found(
    layout: str, keys: str, directed: str, resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
    options = {"layout": layout, "keys": keys, "directed": directed}
    directory = new_run(tmp_path, options)
    driven(directory, Resources())
    assert faults(directory, resources) == []
    toy = Toy(options)
    with RunStore(directory) as store:
        layers = [ints(store.layer(depth)) for depth in range(store.state.depth + 1)]
    # One that layer 2 leads to is gone from layer 3.
    gone = layers[3][7]
    rewritten(directory, 3, lambda found: found[np.array(ints(found), dtype=object) != gone])
    before = next(key for key in layers[2] if gone in toy.successors(key))
    assert f"layer 2: {before:#x} leads to {gone:#x}, which is in no layer" in faults(directory, resources)
    # One that nothing in layer 2 leads to stands in layer 3 instead.
    lonely = toy.vertices[-2]
    assert not any(lonely in layer for layer in layers)
    rewritten(directory, 3, lambda found: toy.keys([*layers[3], lonely]))
    where = "nothing in layer 2 leads to {:#x}" if directed == "yes" else "{:#x} has no neighbour in layer 2"
    assert f"layer 3: {where.format(lonely)}" in faults(directory, resources)
    assert not list(directory.glob(f"{SCRATCH_PREFIX}*"))


class Fan(Puzzle):
    """Directed: one configuration, then 200, then twice 20,000, with keys all over 256 bits; back to the start."""

    name = "fan"
    layout, undirected, most_successors = LAYOUTS["u256"], False, 200
    _factor = int("9e3779b97f4a7c15" * 4, 16)
    _inverse = pow(_factor, -1, 1 << 256)

    def usual_start(self) -> Key:
        return 0

    def successors(self, key: Key) -> list[Key]:
        number = key * self._inverse % (1 << 256)
        if number == 0:
            found = range(1, 201)
        elif number <= 200:
            found = range(1_000 + 100 * number, 1_100 + 100 * number)
        else:
            found = range(number + 100_000, number + 100_001) if number < 100_000 else range(1)
        return [other * self._factor % (1 << 256) for other in found]


@pytest.mark.ci_slow
def test_a_directed_run_is_verified_in_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUZZLES, "fan", f"{__name__}:Fan")
    with explore("fan", data=tmp_path) as run:
        assert run.layer_sizes == [1, 200, 20_000, 20_000]
        directory, blocks = run.store.directory, len(run.store.names(BLOCKS))
    calls = spied(monkeypatch, (RunStore, "decode"), (Puzzle, "expand"), (ClosedSet, "add"))
    assert faults(directory, Resources()) == []
    # Four layers, and the successors of each but the last.
    assert calls["add"] == 7
    # Each block for its checksum, for being in one layer alone, for its goals, and whenever its layer is compared with
    # another; a block of one layer with each of another, as it once was, would be some hundred times.
    assert blocks > 20
    assert calls["decode"] < 9 * blocks
    assert calls["expand"] == 0


def test_a_census_is_verified_within_the_memory(tmp_path: Path) -> None:
    with census("pancakes", {"n": "5"}, data=tmp_path) as run:
        directory = run.store.directory
    assert faults(directory, Resources(memory=1_000_000)) == []
    with pytest.raises(OverBudgetError, match="verifying components of 120 configurations needs") as caught:
        faults(directory, Resources(memory=5_000))
    (needed,) = re.findall(r"needs ([\d,]+) bytes", str(caught.value))
    assert faults(directory, Resources(memory=int(needed.replace(",", "")))) == []
    # Each configuration has four moves, there and back.
    assert int(needed.replace(",", "")) < 120 * 100


def test_searches_of_a_large_component_are_cut_into_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with census("pancakes", {"n": "5"}, data=tmp_path) as run:
        directory = run.store.directory
    parts = list[int]()
    before_call(monkeypatch, ThreadExecutor, "map", lambda _, task, *rest: parts.append(task == "searches"))
    # 120 configurations of four moves each: 120 searches of 601 steps.
    for at_once, cut in ((120 * 601, False), (120 * 601 - 1, True), (1_000, True)):
        parts.clear()
        assert faults(directory, Resources(tuning=Tuning(steps_at_once=at_once))) == []
        assert any(parts) == cut


@pytest.mark.parametrize(("labels", "connected"), [(None, False), ([0, 1, 0], False), ([0, 0, 0], True)])
def test_a_component_that_leads_elsewhere_or_falls_apart_is_damage(
    labels: list[int] | None, connected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said, graph = list[str](), None if labels is None else object()
    verifying = CensusVerifier.__new__(CensusVerifier)
    monkeypatch.setattr(graphs_verify, "label_components", lambda _: np.array(labels))
    vars(verifying).update(
        control=Control(), report=SimpleNamespace(count=lambda what: None, damage=said.append),
        _graph_of=lambda members: graph,
    )  # fmt: skip
    record = ComponentRecord(5, 3, None, None, None, None, None, 7)
    verifying._check_distances(LAYOUTS["u32"].pack([7, 8, 9]), record)
    assert said == ["component 5 is not connected"] * (not connected)


@pytest.mark.parametrize("full", [False, True])
def test_the_moves_of_a_census_are_looked_at(full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUZZLES, "dust", "tests.support.toy:Dust")
    with census("dust", {"layout": "u32", "keys": "clumped"}, data=tmp_path) as run:
        directory, components, keys = run.store.directory, len(run.components()), ints(run.configurations()[0])
        moves = sum(len({*run.puzzle.successors(key)} - {key}) for key in keys)
        assert 2 * run.store.state.figures["edges"] == moves > 0
    looked, told = list[int](), list[Progress]()
    before_call(monkeypatch, CensusVerifier, "_labels_of", lambda _, keys: looked.append(len(keys)))
    observer = SilentObserver()
    monkeypatch.setattr(observer, "progress", told.append)
    assert verify_directory(directory, full, Resources(), Control(), observer).ok
    assert sum(looked) >= (len(keys) if full else 1)
    derived = [progress.done for progress in told if progress.unit == "components derived again"]
    assert derived == list(range(1, len(derived) + 1))
    assert len(derived) == components or not full


def test_a_damaged_block_of_a_large_layer_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its chunks are looked at by others first."""
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
    directory = new_run(tmp_path, {"layout": "u32", "keys": "clumped"})
    driven(directory, Resources())
    with RunStore(directory, writable=True) as store:
        (name,) = store.names(BLOCKS, number_key(3))
        value = store.read(BLOCKS, name)
        assert value is not None
        store.stage(BLOCKS, name, value[:-1] + bytes([value[-1] ^ 1]))
        store.commit(store.state)
    report = verify_directory(directory, True, Resources(chunk=20, farm=1), Control(), SilentObserver())
    assert ["layer 3, block" in fault for fault in report.faults] == [True]


@pytest.mark.parametrize(("at_once", "resources", "sent"), [
    (50, Resources(), True),
    (5_000, Resources(), False),
    (50, Resources(farm=10_000), False),
])  # fmt: skip
def test_workers_share_in_what_plain_rules_take_long_for(
    at_once: int, resources: Resources, sent: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a chunk of them, however few the configurations of a layer are; if the user does not say otherwise."""
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
    directory = new_run(tmp_path, {"layout": "u32", "keys": "clumped"})
    driven(directory, Resources())
    monkeypatch.setattr(check, "KEYS_AT_ONCE", at_once)
    monkeypatch.setattr(verify, "open_context", MANNERS["farmed"].context)
    asked = spied(monkeypatch, (Elsewhere, "map"))
    assert faults(directory, resources) == []
    assert (asked["map"] > 0) == sent


@pytest.mark.parametrize(
    ("where", "undirected", "back", "one_way"),
    [(None, True, [], False), (0, True, [], True), (0, True, [7], False), (0, False, [], False)],
)
def test_a_move_that_leads_astray_is_a_fault_or_leads_one_way(
    where: int | None, undirected: bool, back: list[Key], one_way: bool
) -> None:
    """The puzzle is wrong where what is found in another layer does not lead back; else the run is."""
    faults, moves, layout = list[str](), list[tuple[Key, Key]](), LAYOUTS["u32"]
    verifying = LayersVerifier.__new__(LayersVerifier)
    vars(verifying).update(
        store=SimpleNamespace(find=lambda key: where), report=SimpleNamespace(fault=faults.append),
        puzzle=SimpleNamespace(undirected=undirected, successors=lambda key: back),
        _report_one_way=lambda said, *move: moves.append(move),
    )  # fmt: skip
    verifying._report_strays(4, layout.pack([7]), layout.pack([3, 5]), np.array([0, 0]), layout.pack([5]))
    assert moves == [(7, 5)] * one_way
    place = "no layer" if where is None else "layer 0"
    assert faults == [f"layer 4: 0x7 leads to 0x5, which is in {place}"] * (not one_way)


def test_a_layer_that_is_not_finished_is_not_looked_at() -> None:
    """Some of its blocks may be there."""
    faults, seen = list[str](), list[int]()
    verifying = LayersVerifier.__new__(LayersVerifier)
    keys = LAYOUTS["u32"].pack([9])
    vars(verifying).update(
        _reached=SimpleNamespace(layers=list), _deepest=3,
        store=SimpleNamespace(blocks=lambda depth: [seen.append(depth), keys][1:]), control=Control(),
        report=SimpleNamespace(fault=faults.append),
    )  # fmt: skip
    verifying._look_back(3)
    assert faults == []
    verifying._look_back(2)
    assert (faults, seen) == (["layer 3: nothing in layer 2 leads to 0x9"], [3])


# Puzzles that break their own promises: a search says so, names the configuration, and claims nothing false


#: What is said of each lie; ``{start}`` is the key of the start.
SAID = {
    "dtype": r"liar: expand of 1 .*{start}.* successors as int64 of shape .*layout {layout}",
    "shape": r"liar: expand of 1 .*{start}.* successors as uint\d+ of shape \(\d+, .*1\).*layout {layout}",
    "few-counts": r"liar: expand of 1 .*{start}.* returned \d+ successors and 0 counts whose sum is 0",
    "wrong-sum": r"liar: expand of 1 .*{start}.* returned (\d+) successors and 1 counts whose sum is (?!\1)",
    "many": r"liar(?: of toy.py, line \d+)?: {start} has \d+ successors, more than most_successors, 4",
    "stray": r"liar: a move from {start} leads to (0x[0-9a-f]+), which is not a configuration: \1 has fallen over",
    "raises": r"ZeroDivisionError: a slip of the pen",
}


@pytest.fixture(autouse=True)
def liar(monkeypatch: pytest.MonkeyPatch) -> None:
    """The liar is among the puzzles."""
    monkeypatch.setitem(PUZZLES, "liar", "tests.support.toy:Liar")


def started(data: Path, kind: str = "explore", **options: str) -> Path:
    return make_run(data, PuzzleSpec("liar", options), kind, {}, Resources())


@pytest.mark.parametrize("layout", ["u32", "u128"])
@pytest.mark.parametrize("manner", ["default", "chunks"])
@pytest.mark.parametrize("lie", SAID)
def test_a_broken_expansion_is_named(
    lie: str, manner: str, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS[manner].take(monkeypatch, layout)
    directory = started(tmp_path, layout=layout, keys="clumped", lie=lie)
    vertices = vertex_keys(layout, "clumped", 600)
    words = SAID[lie].format(start=f"{vertices[0]:#x}", layout=layout)
    with pytest.raises(TaskError if lie == "raises" else PuzzleError, match=words) as refusal:
        drive(directory, resources, Control(), SilentObserver())
    assert "\n" not in str(refusal.value)
    with RunStore(directory) as store:
        assert store.state.status == "failed"
        assert store.state.reason == str(refusal.value)


@pytest.mark.parametrize("layout", _TOYS)
@pytest.mark.parametrize("manner", ["default", "spilling"])
def test_moves_that_cannot_be_taken_back_are_found_within_few_layers(
    manner: str, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS[manner].take(monkeypatch, layout)
    directory = started(tmp_path, layout=layout, keys="clumped", directed="yes", lie="one-way")
    words = r"liar is declared undirected, but (0x[0-9a-f]+) leads to (0x[0-9a-f]+), which does not"
    with pytest.raises(ContradictionError, match=words) as refusal:
        drive(directory, resources, Control(), SilentObserver())
    here, there = (int(word.rstrip(","), 16) for word in str(refusal.value).split() if word.startswith("0x"))
    liar = PuzzleSpec("liar", {"layout": layout, "keys": "clumped", "directed": "yes"}).build()
    assert there in liar.successors(here)
    assert here not in liar.successors(there)
    with RunStore(directory) as store:
        assert store.state.status == "failed"
        assert store.state.depth <= 2


@pytest.mark.parametrize("layout", _TOYS)
@pytest.mark.parametrize("lie", ["rare", "slip"])
def test_a_mistake_about_a_single_configuration_is_found_by_verify_as_the_puzzles(
    lie: str, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = MANNERS["default"].take(monkeypatch, layout)
    directory = started(tmp_path, layout=layout, keys="spread", lie=lie)
    assert drive(directory, resources, Control(), SilentObserver()).status == "complete"
    dumb = vertex_keys(layout, "spread", 600)[UNSEEN]
    report = verify_directory(directory, True, resources, Control(), SilentObserver())
    said = {"rare": f"{dumb:#x} has no neighbour in layer", "slip": f"successors of {dumb:#x} returns"}
    assert any(said[lie] in fault for fault in report.faults)
    assert report.cause == "puzzle"


@pytest.mark.parametrize(
    ("kind", "manner", "layout"), list(product(["explore", "census"], ["default", "spilling"], _TOYS))
)
def test_a_kernel_of_other_rules_is_found_within_few_layers(
    kind: str, manner: str, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its moves are configurations and can be taken back: the reference rules alone contradict it."""
    resources = MANNERS[manner].take(monkeypatch, layout)
    directory = started(tmp_path, kind, layout=layout, keys="clumped", lie="other-rules")
    with pytest.raises(PuzzleError, match=r"liar: successors of (0x[0-9a-f]+) returns (0x[0-9a-f]+), expand does not"):
        drive(directory, resources, Control(), SilentObserver())
    with RunStore(directory) as store:
        assert store.state.status == "failed"
        assert store.state.depth <= 6


def test_an_honest_puzzle_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources = MANNERS["default"].take(monkeypatch, "u32")
    directory = started(tmp_path, lie="one-way")
    assert drive(directory, resources, Control(), SilentObserver()).status == "complete"


@pytest.mark.parametrize("layout", _TOYS)
@pytest.mark.parametrize("lie", ["dtype", "shape", "few-counts", "wrong-sum", "many"])
def test_a_guarded_puzzle_is_refused_before_a_run_is_made(lie: str, layout: str) -> None:
    with pytest.raises(PuzzleError, match=SAID[lie].format(start="0x[0-9a-f]+", layout=layout)):
        try_out(GuardedLiar({"layout": layout, "keys": "clumped", "lie": lie}))
