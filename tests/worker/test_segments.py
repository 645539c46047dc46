"""Layers whose marks are made one window of numbers after the other, as `docs/explanation/layers.md` proposes.

No product code does so. The model here has marks of one window in memory, and moves as arrays of numbers.
"""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.layers.table import TableNumbers
from tests.support.plain_search import reference_layers

_Numbers = NDArray[np.uint64]


def moves(puzzle: Puzzle, numbers: TableNumbers, frontier: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Return for each move from a frontier the number before it, and the one after it."""
    words = np.zeros(numbers.count // 64 + 1, dtype=np.uint64)
    np.bitwise_or.at(words, frontier >> 6, np.uint64(1) << (frontier & 63))
    expansion = puzzle.expand(numbers.listed(words, 0))
    keys, where = np.unique(expansion.successors, return_inverse=True)
    return np.repeat(frontier, expansion.counts), numbers.of(keys, 1).astype(np.uint64)[where]


def layers_by_windows(puzzle: Puzzle, windows: int) -> Iterator[tuple[int, float]]:
    """Yield for each layer its size, and the share of the moves into it that leave the window of their source."""
    numbers = TableNumbers(puzzle)
    width = -(-numbers.count // windows)
    frontier = numbers.of(np.array([puzzle.start], dtype=puzzle.layout.dtype), 0).astype(np.uint64)
    known = np.zeros(numbers.count, dtype=bool)
    known[frontier] = True
    yield 1, 0.0
    while len(frontier):
        before, after = moves(puzzle, numbers, frontier)
        fresh = []
        for begin in range(0, numbers.count, width):
            marks = np.zeros(width, dtype=bool)
            is_here, was_here = ((begin <= each) & (each < begin + width) for each in (after, before))
            # Inner moves are made once, from the sources of the window; outer ones are looked for from all sources.
            for part in (is_here & was_here, is_here & ~was_here):
                marks[after[part] - np.uint64(begin)] = True
            new = np.flatnonzero(marks[: numbers.count - begin] & ~known[begin : begin + width]) + begin
            known[new] = True
            fresh.append(new.astype(np.uint64))
        frontier = np.concatenate(fresh)
        if len(frontier):
            yield len(frontier), float(np.mean(before // np.uint64(width) != after // np.uint64(width)))


@pytest.mark.parametrize("windows", [1, 3, 7])
@pytest.mark.parametrize(
    "spec",
    [
        PuzzleSpec("pancakes", {"n": "7"}),
        PuzzleSpec("burnt-pancakes", {"n": "4"}),
        PuzzleSpec("tiles", {"rows": "2", "columns": "3"}),
        PuzzleSpec("hanoi", {"pegs": "5", "discs": "4"}, merge_mirrors=True),
    ],
)
def test_windows_make_the_layers_of_a_plain_search(spec: PuzzleSpec, windows: int) -> None:
    puzzle = spec.build()
    expected = [len(layer) for layer in reference_layers(puzzle.successors, puzzle.start)]
    assert [size for size, _ in layers_by_windows(puzzle, windows)] == expected


def test_of_pancakes_only_the_flip_of_all_leaves_a_window() -> None:
    """A window of numbers has some pancakes in the last place."""
    shares = [share for _, share in layers_by_windows(PuzzleSpec("pancakes", {"n": "7"}).build(), 7)]
    assert shares[1:] == pytest.approx([1 / 6] * (len(shares) - 1))
