"""Probes: exact where the space is small, honest where it is not."""

import pytest

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.layers import job as probes
from hakoiri.coordinator.layers.job import probe
from hakoiri.puzzles.registry import PuzzleSpec
from tests.support.plain_search import reference_layers


@pytest.mark.parametrize(
    ("spec", "configurations", "depth", "goal"),
    [
        (PuzzleSpec("sliding", {"goal": "B@4,2"}, "ABBC/ABBC/DEEF/DGHF/I..J"), 25_955, 167, 116),
        (PuzzleSpec("sliding", {}, "AABB/AACC/DE../FGHH/FGII"), 1_398, 112, None),
        (PuzzleSpec("tiles", {"rows": "2", "columns": "3"}), 360, 21, 0),
    ],
)
def test_a_small_space_is_known_in_full(spec: PuzzleSpec, configurations: int, depth: int, goal: int | None) -> None:
    found = probe(spec.build())
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


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    puzzle = PuzzleSpec("pancakes", {"n": "6"}).build()
    whole = probe(puzzle)
    monkeypatch.setattr(probes, "_BLOCK", 7)
    assert probe(puzzle)[:4] == whole[:4] == (720, 7, 0, True)


def test_a_tree_has_no_moves() -> None:
    with pytest.raises(UnanswerableError, match="magic-star is a tree"):
        probe(PuzzleSpec("magic-star", {"points": "6"}).build())
