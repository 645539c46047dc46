"""The time that a layer and a run will take yet: right where layers come evenly, else nothing is said."""

from pathlib import Path
from typing import Any

import pytest

from hakoiri.api import explore
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.layers import job
from hakoiri.coordinator.layers.job import probe
from hakoiri.coordinator.layers.step import Pace
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import SilentObserver
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.codec import WORD_BITS
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.worker.layers import table
from hakoiri.worker.layers.table import TableNumbers
from tests.support.plain_search import reference_layers


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def paced(most: int | None = None) -> tuple[Pace, Clock]:
    clock = Clock()
    return Pace(most, 1.0, clock), clock


def layer(pace: Pace, clock: Clock, size: int, expanding: float, merging: float) -> None:
    """One layer from its beginning to its end."""
    pace.expand(0)
    clock.now += expanding
    pace.merge(0)
    clock.now += merging
    pace.finish(size)


def test_a_half_that_comes_evenly_is_foretold() -> None:
    pace, clock = paced()
    pace.expand(0)
    pace.merge(0)
    clock.now += 3.0
    assert pace.merging_left(30, 100) == pytest.approx(7.0)
    assert pace.run_left(7.0, 5) is None, "nobody knows how many layers there are"


def test_a_resumed_layer_counts_what_this_session_does_and_shows_no_pace() -> None:
    pace, clock = paced(most=10_000)
    pace.expand(600)
    clock.now += 2.0
    pace.merge(0)
    clock.now += 2.0
    pace.finish(1_000)
    assert pace.run_left(1.0, 0) is None
    layer(pace, clock, 1_000, expanding=2.0, merging=1.0)
    pace.expand(500)
    clock.now += 2.0
    assert pace.expanding_left(750, 1_000) == pytest.approx(2.0 + 4.0), "merging takes half of what all expanding would"
    pace.merge(50)
    clock.now += 2.0
    assert pace.merging_left(75, 100) == pytest.approx(2.0)


def test_the_slowest_of_the_last_layers_counts() -> None:
    pace, clock = paced(most=1_000)
    for seconds in (9.0, 1.0, 2.0, 1.0):
        layer(pace, clock, 100, expanding=seconds / 2, merging=seconds / 2)
    assert pace.run_left(0.0, 900) == pytest.approx(2.0)
    assert pace.run_left(3.0, 1_000) == pytest.approx(3.0), "all is found, only the last layer is to be expanded"


class Watching(SilentObserver):
    def __init__(self) -> None:
        self.seen: list[Progress] = []

    def progress(self, progress: Progress) -> None:
        self.seen.append(progress)


@pytest.mark.parametrize(("puzzle", "known"), [("tiles", True), ("klotski", False)])
def test_a_run_says_what_can_be_said(puzzle: str, known: bool, tmp_path: Path) -> None:
    options = {"rows": "2", "columns": "4"} if puzzle == "tiles" else {}
    watching = Watching()
    resources = Resources(workers=1, chunk=100, farm=500, tuning=Tuning(paced_from=0.0))
    with explore(puzzle, options, data=tmp_path, resources=resources, observer=watching):
        pass
    halves = [
        progress for progress in watching.seen if "merged" in progress.headline or "expanded" in progress.headline
    ]
    assert any(progress.step_left for progress in halves)
    assert any(progress.most_left for progress in halves) == known
    assert all(
        progress.most_left >= progress.step_left for progress in halves if progress.most_left and progress.step_left
    )
    assert (watching.seen[-1].step_left, watching.seen[-1].most_left) == (None, None)


# Probes: exact where the space is small, honest where it is not


@pytest.mark.parametrize(
    ("spec", "configurations", "depth", "goal"),
    [
        (PuzzleSpec("sliding", {"goal": "B@4,2"}, "ABBC/ABBC/DEEF/DGHF/I..J"), 25_955, 167, 116),
        (PuzzleSpec("sliding", {}, "AABB/AACC/DE../FGHH/FGII"), 1_398, 112, None),
        (PuzzleSpec("tiles", {"rows": "2", "columns": "3"}), 360, 21, 0),
    ],
)
def test_a_small_space_is_known_in_full(spec: PuzzleSpec, configurations: int, depth: int, goal: int | None) -> None:
    found = probe(spec.build(), seconds=60.0)
    assert (found.configurations, found.depth, found.goal_depth) == (configurations, depth, goal)
    assert found.exhausted
    assert found.expected == configurations
    assert found.stored_bytes is not None and configurations <= found.stored_bytes <= 8 * configurations


def test_a_directed_space_too() -> None:
    """Moves lead one way, so every layer before counts."""
    puzzle = PuzzleSpec("gap", {"ranks": "4"}).build()
    layers = reference_layers(puzzle.successors, puzzle.start)
    found = probe(puzzle)
    assert (found.configurations, found.depth, found.exhausted) == (sum(map(len, layers)), len(layers) - 1, True)


def test_a_large_space_ends_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """By configurations, or by the clock; a puzzle that knows its size says what all would take."""
    tiles = PuzzleSpec("tiles", {"rows": "4", "columns": "4"}).build()
    found = probe(tiles, most=1_000)
    assert not found.exhausted
    assert 1_000 < found.configurations < 10_000
    assert found.expected == 10_461_394_944_000
    assert found.stored_bytes is not None and found.stored_bytes >= found.expected
    assert found.seconds is not None and found.seconds > 1_000
    found = probe(tiles, seconds=0)
    assert (found.configurations, found.depth, found.exhausted) == (1, 0, False)
    unknown = probe(PuzzleSpec("sliding", {}, "AABBC/AABBC/DEFFG/DEH.G/IIJ..").build(), most=100)
    assert (unknown.expected, unknown.stored_bytes, unknown.seconds) == (None, None, None)


@pytest.mark.parametrize(
    "spec",
    [
        PuzzleSpec("hanoi", {"pegs": "5", "discs": "14"}, merge_mirrors=True),
        PuzzleSpec("pancakes", {"n": "10"}),
        PuzzleSpec("tiles", {"rows": "3", "columns": "4"}),
    ],
)
def test_a_table_is_forecast_by_its_kernel(spec: PuzzleSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given whole blocks, from the first to the last, and no others; the first layers say nothing of its pace."""
    puzzle = spec.build()
    numbers, given = TableNumbers(puzzle), list[tuple[int, int]]()
    kernel = numbers.spread
    assert kernel is not None

    def kept(words: Any, base: int, marks: Any) -> None:
        given.append((base, base + WORD_BITS * len(words)))
        (kernel.mark or kernel.write)(words, base, marks)

    monkeypatch.setattr(table, "TableNumbers", lambda _: numbers)
    numbers.spread = kernel._replace(mark=kept)
    found = probe(puzzle, most=1_000)
    assert found.pace is not None and found.seconds == numbers.count * found.pace
    assert min(given)[0] == 0 and all(begin % kernel.block == end % kernel.block == 0 for begin, end in given)
    assert numbers.count <= max(given)[1] < numbers.count + max(kernel.block, WORD_BITS)


def test_kernels_compiled_at_their_first_call_take_no_time_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    puzzle, clock = PuzzleSpec("klotski").build(), Clock()
    for name in ("is_goal", "expand"):
        warm, calls = getattr(puzzle, name), [10.0]

        def cold(keys: Keys, warm: Any = warm, calls: list[float] = calls) -> Any:
            clock.now += calls.pop() if calls else 0
            return warm(keys)

        monkeypatch.setattr(puzzle, name, cold)
    monkeypatch.setattr(job, "clock", clock)
    found = probe(puzzle)
    assert (found.configurations, found.goal_depth, found.exhausted) == (25_955, 116, True)


def test_blocks_make_no_difference() -> None:
    puzzle = PuzzleSpec("pancakes", {"n": "6"}).build()
    whole = probe(puzzle)
    assert probe(puzzle, block=7)[:4] == whole[:4] == (720, 7, 0, True)


def test_a_tree_has_no_moves() -> None:
    with pytest.raises(UnanswerableError, match="magic-star is a tree"):
        probe(PuzzleSpec("magic-star", {"points": "6"}).build())
