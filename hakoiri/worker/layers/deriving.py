"""Moves derived again by the reference rules."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.conformance.checks import disagreement
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Keys, ints

Array = NDArray[Any]


def derive(puzzle: Puzzle, chunk: Sequence[Array], shared: Sequence[Array]) -> list[Array]:
    """[keys] -> [the distinct successors of each in turn by the reference rules, how many each has, unlike places].

    At unlike places the kernel, if there is one, gives others.
    """
    (keys,) = chunk
    plain = [sorted(set(puzzle.successors(key))) for key in ints(keys)]
    counts = np.array([len(successors) for successors in plain], dtype=np.int64)
    successors = puzzle.layout.pack([key for found in plain for key in found])
    unlike = _unlike(puzzle, keys, plain) if puzzle.has_kernel else []
    return [successors, counts, np.array(unlike, dtype=np.int64)]


def _unlike(puzzle: Puzzle, keys: Keys, plain: list[list[int]]) -> list[int]:
    successors, counts = puzzle.expand(keys)
    ends = np.cumsum(counts, dtype=np.int64)
    parts = zip(ints(keys), plain, (ends - counts).tolist(), ends.tolist(), strict=True)
    return [
        place
        for place, (key, found, begin, end) in enumerate(parts)
        if disagreement(puzzle, key, successors[begin:end], found)
    ]
