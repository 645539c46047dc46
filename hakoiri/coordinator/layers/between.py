"""All shortest paths at once: level k holds the configurations k moves from one end on any of them.

Each configuration of a level leads to one of the next, and all ways from the first level to the last are shortest
paths. They are counted level by level in Python integers, and listed by walking along the levels. With `one`, a level
is only the least configuration that the level before it leads to.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.capabilities import Quotient, Reversible
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.layout import Key, Keys, ints
from hakoiri.puzzles.keys.order import lower_bounds, members, sort_keys
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.readers import StoredLayer
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.kernels import merge, split
from hakoiri.worker.plain import Array

#: Configurations of a level expanded at a time.
_AT_ONCE = 1 << 16


def moves_back(puzzle: Puzzle) -> Callable[[Keys], Expansion] | None:
    """Return the function for the predecessors of a batch, if any; in an undirected puzzle they are the successors."""
    if puzzle.undirected:
        return puzzle.expand
    return puzzle.unmove if isinstance(puzzle, Reversible) else None


def levels_back(context: ComputeContext, store: RunStore, ends: Keys, depth: Depth, one: bool = False) -> list[Keys]:
    """Return the levels from layer 0 of a search by layers to given configurations of its layer `depth`."""
    return _levels(context, moves_back(context.puzzle), store, ends, depth, one)[::-1]


def levels_on(context: ComputeContext, store: RunStore, begin: Keys, depth: Depth, one: bool = False) -> list[Keys]:
    """Return the levels from given configurations of layer `depth` to layer 0, if moves lead towards layer 0."""
    return _levels(context, context.puzzle.expand, store, begin, depth, one)


def _levels(
    context: ComputeContext, way: Callable[[Keys], Expansion] | None, store: RunStore, begin: Keys, depth: Depth,
    one: bool,
) -> list[Keys]:  # fmt: skip
    """Return the levels from layer `depth` down to 0, within the memory; ``way=None`` searches for predecessors."""
    levels, held = [begin], begin.nbytes
    for nearer in range(depth - 1, -1, -1):
        if way is None:
            parts = _leading(context, store, nearer, levels[-1])
        else:
            moves = (merge([way(keys).successors], []) for keys in split(levels[-1], _AT_ONCE))
            parts = [keys[store.contains(nearer, keys)] for keys in moves]
        level = merge([context.puzzle.keys([]), *parts], [])
        if not len(level):
            run = store.directory.name
            raise DamagedError(
                f"run {run}: no move leads from layer {nearer} to the layer beside it", Hint("verify", run)
            )
        if not one:
            held += level.nbytes
            context.budget.require("a list of the configurations on all shortest paths", held + level.nbytes)
        levels.append(level[:1] if one else level)
    return levels


def _leading(context: ComputeContext, store: RunStore, depth: Depth, level: Keys) -> list[Keys]:
    """Return the keys of layer `depth` that lead to `level`, in parts; expands the whole layer."""
    layer = StoredLayer(store, depth, store.layer_record(depth).size)
    chunks = layer.chunks(0, context.shares.chunk_size(layer.size, context.puzzle.most_successors))
    found = context.map_chunks("leading", ([keys] for keys in chunks), layer.size, [context.puzzle.keys([]), level])
    return [keys for _, (keys, _) in found]


@dataclass(frozen=True)
class AllPaths:
    """All shortest paths along `levels` from `start`, on real boards if `puzzle` merges mirror images."""

    puzzle: Puzzle
    levels: list[Keys]
    start: Key

    def __len__(self) -> int:
        """Return the number of moves of each path."""
        return len(self.levels) - 1

    def count(self) -> int:
        """Return the exact number of paths."""
        keys, counts = self.puzzle.keys([self.start]), np.array([1], dtype=object)
        for level in self.levels[1:]:
            moves = [self._moves(some, level) for some in split(keys, _AT_ONCE)]
            successors = np.concatenate([found for found, _ in moves])
            parts = zip(split(counts, _AT_ONCE), moves, strict=True)
            owned = np.concatenate([part[owners] for part, (_, owners) in parts])
            keys = merge([successors], [])
            counts = np.zeros(len(keys), dtype=object)
            np.add.at(counts, lower_bounds(keys, successors), owned)
        return int(counts.sum())

    def __iter__(self) -> Iterator[list[Key]]:
        """Yield each path, in the order of their keys."""
        path: list[Key] = []
        open_ends = [[self.start]]
        while open_ends:
            if not open_ends[-1]:
                open_ends.pop()
                path = path[: len(open_ends) - 1]
                continue
            path = [*path[: len(open_ends) - 1], open_ends[-1].pop()]
            if len(path) == len(self.levels):
                yield path
            else:
                found, _ = self._moves(self.puzzle.keys([path[-1]]), self.levels[len(path)])
                open_ends.append(ints(sort_keys(found.copy()))[::-1])

    def _moves(self, keys: Keys, level: Keys) -> tuple[Keys, Array]:
        """Return the distinct moves from `keys` to a level: the successors, and the index of each one's source."""
        base = self.puzzle.base if isinstance(self.puzzle, Quotient) else self.puzzle
        successors, counts = base.expand(keys)
        owners = np.repeat(np.arange(len(keys)), counts)
        known = base.canonical(successors) if isinstance(self.puzzle, Quotient) else successors
        inside = members(level, known)
        return _distinct(successors[inside], owners[inside])


def _distinct(successors: Keys, owners: Array) -> tuple[Keys, Array]:
    """Return the moves without duplicates, because a path is identified by its configurations."""
    keys = merge([successors], [])
    _, first = np.unique(owners * len(keys) + lower_bounds(keys, successors), return_index=True)
    return successors[first], owners[first]
