"""Puzzles that break their own promises: a search says so, names the configuration, and claims nothing false."""

from itertools import product
from pathlib import Path

import pytest

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import PuzzleError, TaskError
from hakoiri.keys.layout import LAYOUTS
from hakoiri.puzzles.conformance.pool import try_out
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from tests.support.toy import UNSEEN, GuardedLiar, vertex_keys
from tests.support.toy_runs import MANNERS

#: What is said of each lie; ``{start}`` is the key of the start.
SAID = {
    "dtype": r"liar: expand of 1 .*{start}.* successors as int64 of shape .*layout {layout}",
    "shape": r"liar: expand of 1 .*{start}.* successors as uint\d+ of shape \(\d+, .*1\).*layout {layout}",
    "few-counts": r"liar: expand of 1 .*{start}.* returned \d+ successors and 0 counts whose sum is 0",
    "wrong-sum": r"liar: expand of 1 .*{start}.* returned (\d+) successors and 1 counts whose sum is (?!\1)",
    "many": r"liar: {start} has \d+ successors, more than most_successors, 4",
    "stray": r"liar: a move from {start} leads to (0x[0-9a-f]+), which is not a configuration: \1 has fallen over",
    "raises": r"ZeroDivisionError: a slip of the pen",
}


@pytest.fixture(autouse=True)
def liar(monkeypatch: pytest.MonkeyPatch) -> None:
    """The liar is among the puzzles."""
    monkeypatch.setitem(PUZZLES, "liar", ("tests.support.toy", "Liar"))


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


@pytest.mark.parametrize("layout", LAYOUTS)
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


@pytest.mark.parametrize("layout", LAYOUTS)
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
    ("kind", "manner", "layout"),
    list(product(["explore", "census"], ["default", "spilling"], LAYOUTS)),
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


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("lie", ["dtype", "shape", "few-counts", "wrong-sum", "many"])
def test_a_guarded_puzzle_is_refused_before_a_run_is_made(lie: str, layout: str) -> None:
    with pytest.raises(PuzzleError, match=SAID[lie].format(start="0x[0-9a-f]+", layout=layout)):
        try_out(GuardedLiar({"layout": layout, "keys": "clumped", "lie": lie}))
