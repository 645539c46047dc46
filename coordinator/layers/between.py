"""All shortest paths at once: level k holds the configurations that are k moves from the one end on any of them.

Each configuration of a level leads to one of the next, and all ways from the first level to the last are shortest
paths. They are counted level by level, in Python's integers, and listed by walking along the levels. Of `one` path a
level is the least configuration that the level before it leads to.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.capabilities import Quotient, Reversible
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.errors import Step
from hakoiri.puzzles.keys.layout import Key, Keys, ints
from hakoiri.puzzles.keys.order import lower_bounds, members, sort_keys
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.readers import StoredLayer
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.kernels import merge, split
from hakoiri.worker.layers.partition import partition_by
from hakoiri.worker.tasks import Array

#: Configurations of a level expanded at a time.
_AT_ONCE = 1 << 16


def moves_back(puzzle: Puzzle) -> Callable[[Keys], Expansion] | None:
    """What gives the predecessors of a batch, if anything does; of an undirected puzzle they are its successors."""
    if puzzle.undirected:
        return puzzle.expand
    return puzzle.retract if isinstance(puzzle, Reversible) else None


class Levels:
    """Levels in the making, from one end on; together they must fit the memory of `context`."""

    def __init__(self, context: ComputeContext, begin: Keys, one: bool) -> None:
        self._context, self._puzzle, self._one, self.levels = context, context.puzzle, one, [begin]

    def lead_on(self, store: RunStore, depth: Depth) -> None:
        """The next level: those of layer `depth` that the last one leads to."""
        self._lead(self._puzzle.expand, store, depth)

    def lead_back(self, store: RunStore, depth: Depth) -> None:
        """The next level: those of layer `depth` that lead to the last one."""
        if (before := moves_back(self._puzzle)) is not None:
            self._lead(before, store, depth)
            return
        layer = StoredLayer(store, depth, store.layer_record(depth).size)
        table, shares = partition_by(self._puzzle.keys([0]), 1).table, self._context.shares
        chunks = layer.chunks(0, shares.chunk_size(layer.size, self._puzzle.most_successors))
        found = self._context.map_chunks("leading", ([keys] for keys in chunks), layer.size, [table, self.levels[-1]])
        self._add(store, depth, [keys for _, (keys, _) in found])

    def _lead(self, way: Callable[[Keys], Expansion], store: RunStore, depth: Depth) -> None:
        found = (merge([way(keys).successors], []) for keys in split(self.levels[-1], _AT_ONCE))
        self._add(store, depth, [keys[store.contains(depth, keys)] for keys in found])

    def _add(self, store: RunStore, depth: Depth, parts: list[Keys]) -> None:
        level = merge([self._puzzle.keys([]), *parts], [])
        if not len(level):
            run = store.directory.name
            raise DamagedError(f"run {run}: layer {depth} has no way to the layer beside it", Step("verify", run))
        if self._one:
            level = level[:1]
        else:
            held = sum(each.nbytes for each in self.levels) + 2 * level.nbytes
            self._context.budget.require("a list of the configurations on all shortest paths", held)
        self.levels.append(level)


def levels_back(context: ComputeContext, store: RunStore, ends: Keys, depth: Depth, one: bool = False) -> list[Keys]:
    """The levels from layer 0 of a search by layers to some configurations of its layer `depth`."""
    found = Levels(context, ends, one)
    for earlier in range(depth - 1, -1, -1):
        found.lead_back(store, earlier)
    return found.levels[::-1]


def levels_on(context: ComputeContext, store: RunStore, begin: Keys, depth: Depth, one: bool = False) -> list[Keys]:
    """The levels from some configurations of layer `depth` to layer 0, where each layer leads to the one before."""
    found = Levels(context, begin, one)
    for nearer in range(depth - 1, -1, -1):
        found.lead_on(store, nearer)
    return found.levels


@dataclass(frozen=True)
class AllPaths:
    """All shortest paths along `levels`, from `start` on; on real boards where `puzzle` merges mirror images."""

    puzzle: Puzzle
    levels: list[Keys]
    start: Key

    def __len__(self) -> int:
        """The moves of each."""
        return len(self.levels) - 1

    def count(self) -> int:
        """How many there are."""
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
        """Each of them, those that begin with lesser keys first."""
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
        """The distinct moves from `keys` to a level: where to, and the place of the key that each begins at."""
        base = self.puzzle.base if isinstance(self.puzzle, Quotient) else self.puzzle
        successors, counts = base.expand(keys)
        owners = np.repeat(np.arange(len(keys)), counts)
        known = base.canonical(successors) if isinstance(self.puzzle, Quotient) else successors
        inside = members(level, known)
        return _distinct(successors[inside], owners[inside])


def _distinct(successors: Keys, owners: Array) -> tuple[Keys, Array]:
    """Moves without those that are there twice, for a path is what it passes."""
    keys = merge([successors], [])
    _, first = np.unique(owners * len(keys) + lower_bounds(keys, successors), return_index=True)
    return successors[first], owners[first]
