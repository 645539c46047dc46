"""Layers looked at again: moves by the reference rules, and blocks as they lie on disk."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.checks import disagreement
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Keys, ints, key_at, layout_of
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.blocks import Coded, decode
from hakoiri.storage.layers.digest import NOTHING, add_lanes, lanes_of

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


def audit(puzzle: Puzzle, chunk: Sequence[Array], shared: Sequence[Array]) -> list[Array]:
    """[depth; first keys; counts; lengths; bytes] of neighbouring blocks -> [how many keys, the lanes of their digest].

    The first keys may have one more, which all keys must be below. Nothing where a block is broken or out of order.
    """
    (depth,), firsts, counts, lengths, data = chunk
    coded = Coded(firsts[: len(counts)], counts, lengths, memoryview(data.tobytes()))
    lanes, size, bounds = NOTHING, 0, ints(firsts)
    for number, block in enumerate(coded.blocks(int(depth))):
        try:
            keys = decode(block, layout_of(firsts))
        except DamagedError:
            return [np.empty(0, dtype=np.uint64)]
        if number + 1 < len(bounds) and key_at(keys, -1) >= bounds[number + 1]:
            return [np.empty(0, dtype=np.uint64)]
        lanes, size = add_lanes(lanes, lanes_of(keys)), size + len(keys)
    return [np.array([size, *lanes], dtype=np.uint64)]
