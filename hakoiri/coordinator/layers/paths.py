"""Exact shortest paths: along stored layers from the start, or by a separate layered search between any two."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain

import numpy as np

from hakoiri.coordinator.executors.threads import ThreadExecutor
from hakoiri.coordinator.layers.between import levels_back, levels_on, moves_back
from hakoiri.coordinator.layers.search import LayeredSearch, scratch_search
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.goals import Backwards
from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.storage.layers.readers import Layer
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.layers.kernels import merge

#: Keys of a layer compared at a time.
_KEYS_AT_ONCE = 1 << 18


def search_levels(
    context: ComputeContext, run: RunStore, source: Key, target: Key | None, one: bool = False
) -> list[Keys] | None:
    """Return the levels of all shortest paths, or of `one` (`coordinator.layers.between`); ``None`` if none exists.

    If `target` is ``None``, the paths lead to the nearest goals. The search is from both ends if possible; its layers
    are on disk, beside `run`.
    """
    if target is None or moves_back(context.puzzle) is None:
        with scratch_search(context, run, source) as here:
            ends = _reach(here, target)
            return None if ends is None else _levels_to(context, here, first_or_all(ends, one), one)
    half = replace(context, shares=replace(context.shares, free=context.shares.free // 2))
    with (
        _turned_round(half) as other,
        scratch_search(half, run, source) as here,
        scratch_search(other, run, target) as there,
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
    """Return the least key of increasing batches, of which there is at least one, or all keys."""
    return next(batches)[:1] if one else np.concatenate(list(batches))


@contextmanager
def _turned_round(context: ComputeContext) -> Iterator[ComputeContext]:
    """Yield the same context with all moves reversed, if the puzzle is directed."""
    puzzle = context.puzzle
    if not isinstance(puzzle, Reversible):
        yield context
        return
    turned = Backwards(puzzle)
    with closing(ThreadExecutor(turned, context.local.workers, context.control)) as threads:
        yield replace(context, puzzle=turned, executor=threads, local=threads)


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


def search_farthest(context: ComputeContext, run: RunStore, source: Key) -> list[Keys]:
    """Return the levels of a shortest path from `source` to the least of the configurations farthest from it."""
    with scratch_search(context, run, source) as search:
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
