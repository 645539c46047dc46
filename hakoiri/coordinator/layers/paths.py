"""Exact shortest paths: along stored layers, between two ends, and all at once.

Each configuration of a level leads to one of the next, and all ways from the first level to the last are shortest
paths. They are counted level by level in Python integers, and listed by walking along the levels. With `one`, a level
is only the least configuration that the level before it leads to.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from hakoiri.coordinator.layers.search import LayeredSearch, scratch_search
from hakoiri.coordinator.session.session import ComputeContext, ThreadExecutor
from hakoiri.errors import DamagedError, Hint
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.keys.order import lower_bounds, members, sort_keys
from hakoiri.puzzles.capabilities import Quotient, Reversible
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.goals import Backwards
from hakoiri.storage.layers.store import Layer, RunStore, StoredLayer
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.kernels import merge, split
from hakoiri.worker.layers.ranges import ExpandedChunk
from hakoiri.worker.transport.payload import Array


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
    levels, held, at_once = [begin], begin.nbytes, context.tuning.paths_at_once
    plan = np.zeros(3, dtype=np.uint64)
    for nearer in range(depth - 1, -1, -1):
        if way is None:
            layer = StoredLayer(store, nearer, store.layer_record(nearer).size)
            chunks = layer.chunks(0, context.shares.chunk_size(layer.size, context.puzzle.most_successors))
            found = context.farm.map(
                context.farm.plan_of(layer.size), "leading", ([keys] for keys in chunks),
                [context.puzzle.keys([]), plan, levels[-1]],
            )  # fmt: skip
            parts = [ExpandedChunk(*arrays).keys(store.layout) for _, arrays in found]
        else:
            moves = (merge([way(keys).successors], []) for keys in split(levels[-1], at_once))
            parts = [keys[store.contains_near(nearer, keys)] for keys in moves]
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


@dataclass(frozen=True)
class AllPaths:
    """All shortest paths along `levels` from `starts`, on real boards if `puzzle` merges mirror images."""

    puzzle: Puzzle
    levels: list[Keys]
    starts: list[Key]
    #: Configurations of a level expanded at a time.
    at_once: int

    def __len__(self) -> int:
        """Return the number of moves of each path."""
        return len(self.levels) - 1

    def count(self) -> int:
        """Return the exact number of paths."""
        keys, counts = self.puzzle.keys(self.starts), np.full(len(self.starts), 1, dtype=object)
        for level in self.levels[1:]:
            moves = [self._moves(some, level) for some in split(keys, self.at_once)]
            successors = np.concatenate([found for found, _ in moves])
            parts = zip(split(counts, self.at_once), moves, strict=True)
            owned = np.concatenate([part[owners] for part, (_, owners) in parts])
            keys = merge([successors], [])
            counts = np.zeros(len(keys), dtype=object)
            np.add.at(counts, lower_bounds(keys, successors), owned)
        return int(counts.sum())

    def of_each(self) -> tuple[list[list[Key]], Any]:
        """Return for each start its least path, and the exact number of its paths, as an array of Python integers.

        The puzzle must not merge mirror images.
        """
        counts = np.full(len(self.levels[-1]), 1, dtype=object)
        for level, nearer in reversed([*pairwise(self.levels)]):
            parts = list[Any]()
            for keys in split(level, self.at_once):
                successors, owners = self._moves(keys, nearer)
                parts.append(np.zeros(len(keys), dtype=object))
                np.add.at(parts[-1], owners, counts[lower_bounds(nearer, successors)])
            counts = np.concatenate(parts)
        paths = [self.levels[0]]
        for level in self.levels[1:]:
            found, owners = self._moves(paths[-1], level)
            # They are in the order of their owners and then of their keys.
            paths.append(found[np.unique(owners, return_index=True)[1]])
        return [list(path) for path in zip(*map(ints, paths), strict=True)], counts

    def __iter__(self) -> Iterator[list[Key]]:
        """Yield each path, in the order of their keys."""
        path: list[Key] = []
        open_ends = [self.starts[::-1]]
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
        successors, owners = successors[inside], owners[inside]
        # A path is identified by its configurations, not by its moves.
        keys = merge([successors], [])
        _, first = np.unique(owners * len(keys) + lower_bounds(keys, successors), return_index=True)
        return successors[first], owners[first]


#: Keys of a layer compared at a time.
_KEYS_AT_ONCE = 1 << 18


def search_levels(
    context: ComputeContext, run: RunStore, sources: Keys, target: Key | None, one: bool = False
) -> list[Keys] | None:
    """Return the levels of all shortest paths from the nearest `sources`, or of `one`; ``None`` if none exists.

    If `target` is ``None``, the paths lead to the nearest goals. The search is from both ends if possible; its layers
    are on disk, beside `run`.
    """
    if target is None or moves_back(context.puzzle) is None:
        with scratch_search(context, run, sources) as here:
            ends = _reach(here, target)
            return None if ends is None else _levels_to(context, here, first_or_all(ends, one), one)
    half = replace(context, shares=replace(context.shares, free=context.shares.free // 2))
    with (
        _turned_round(half) as other,
        scratch_search(half, run, sources) as here,
        scratch_search(other, run, context.puzzle.keys([target])) as there,
    ):
        if (met := _meet(here, there)) is None:
            return None
        keys = first_or_all(met, one)
        levels = _levels_to(context, here, keys, one)
        there.commit()
        return levels + levels_on(context, there.store, keys, there.state.depth, one)[1:]


def _levels_to(context: ComputeContext, search: LayeredSearch, ends: Keys, one: bool) -> list[Keys]:
    """Return the levels from the start of a search to given configurations of its last layer."""
    search.commit()
    return levels_back(context, search.store, ends, search.state.depth, one)


def first_or_all(batches: Iterator[Keys], one: bool) -> Keys:
    """Return all keys of increasing batches, or with `one` the least; `DamagedError` if there is no batch."""
    if (first := next(batches, None)) is None:
        raise DamagedError("a layer lacks the configurations that its record counts")
    return first[:1] if one else np.concatenate([first, *batches])


@contextmanager
def _turned_round(context: ComputeContext) -> Iterator[ComputeContext]:
    """Yield the same context with all moves reversed, if the puzzle is directed."""
    puzzle = context.puzzle
    if not isinstance(puzzle, Reversible):
        yield context
        return
    turned = Backwards(puzzle)
    with closing(ThreadExecutor(turned, context.local.workers, context.control)) as threads:
        yield replace(context, puzzle=turned, farm=context.farm.of_threads(turned, threads), local=threads)


def _meet(here: LayeredSearch, there: LayeredSearch) -> Iterator[Keys] | None:
    """Return the common keys of a forward and a backward search, in increasing batches; ``None`` if they never meet."""
    while here.current.size and there.current.size:
        common = _common(here.current, there.current)
        if (first := next(common, None)) is not None:
            return chain([first], common)
        min(here, there, key=lambda search: search.current.size).step()
    return None


def _reach(search: LayeredSearch, target: Key | None) -> Iterator[Keys] | None:
    """Return the keys of the last layer that are `target`, or goals if it is ``None``, in increasing batches."""
    while search.current.size:
        if target is not None:
            ends = search.puzzle.keys([target])
            if not len(search.current.exclude_from(ends)):
                return iter([ends])
        elif search.found.goal_depth is not None:
            return goals_among(search.puzzle, search.current.chunks(0, _KEYS_AT_ONCE))
        search.step()
    return None


def search_farthest(context: ComputeContext, run: RunStore, sources: Keys) -> list[Keys]:
    """Return the levels of a shortest path from `sources` to the least of the configurations farthest from it."""
    with scratch_search(context, run, sources) as search:
        search.exhaust()
        farthest = next(search.store.blocks(search.state.depth))[:1]
        return _levels_to(context, search, farthest, one=True)


def goals_among(puzzle: Puzzle, batches: Iterable[Keys]) -> Iterator[Keys]:
    """Yield the goals in each batch, without empty batches."""
    return (keys[goals] for keys in batches if (goals := puzzle.is_goal(keys)).any())


def _common(one: Layer, other: Layer) -> Iterator[Keys]:
    """Yield the common keys of two layers, in batches that are not empty."""
    small, large = sorted((one, other), key=lambda layer: layer.size)
    for keys in small.chunks(0, _KEYS_AT_ONCE):
        common = merge([keys], [large.exclude_from(keys)])
        if len(common):
            yield common
