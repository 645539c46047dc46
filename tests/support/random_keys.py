"""Random keys of a puzzle, for whatever takes keys of others."""

from contextlib import suppress

import numpy as np

from hakoiri.errors import HakoiriError
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.contract import Puzzle


def random_keys(puzzle: Puzzle, known: Keys, count: int, chance: np.random.Generator) -> Keys:
    """Random bits of the whole width or of less, and configurations that are `known` with some bits of others."""
    layout, third = puzzle.layout, count // 3
    words = chance.integers(0, 1 << 64, (count - third, layout.words), dtype=np.uint64)
    words[third:] >>= chance.integers(0, 64, (len(words) - third, 1), dtype=np.uint64)
    words[third:, : layout.words - 1] *= chance.integers(0, 2, (len(words) - third, layout.words - 1), dtype=np.uint64)
    flat = known.astype(np.uint64).reshape(len(known), layout.words)
    one, other = flat[chance.integers(0, len(flat), (2, third))]
    mask = np.bitwise_and.reduce(chance.integers(0, 1 << 64, (3, *one.shape), dtype=np.uint64))
    mixed = one ^ (one ^ np.where(chance.random((third, 1)) < 0.5, other, ~one)) & mask
    keys = np.concatenate([words, mixed]).astype(layout.dtype)
    return keys if layout.words > 1 else keys[:, 0].copy()


def some_configurations(puzzle: Puzzle) -> Keys:
    """Some thousand configurations near the start, and of the whole space where it can be listed."""
    layers = [puzzle.keys([puzzle.start])]
    while len(layers[-1]) and sum(map(len, layers)) < 2_000:
        layers.append(np.unique(puzzle.expand(layers[-1][:500]).successors, axis=0))
    with suppress(HakoiriError):
        block = next(puzzle.configurations())
        layers.append(block[:: len(block) // 2_000 + 1])
    return np.concatenate(layers)
