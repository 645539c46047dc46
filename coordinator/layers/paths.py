"""Exact shortest paths: along stored layers from the start, or by a separate layered search between any two."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.executors.threads import ThreadExecutor
from hakoiri.coordinator.layers.between import levels_back, levels_on, moves_back
from hakoiri.coordinator.layers.search import LayeredSearch, scratch_search
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.capabilities import Quotient, Reversible
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.goals import Backwards
from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.storage.layers.readers import Layer
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.layers.kernels import merge

_What = TypeVar("_What")
#: Keys of a layer compared at a time.
_KEYS_AT_ONCE = 1 << 18


class Meeting(NamedTuple):
    """Where shortest paths meet: some of the last layer of a search from their source, in increasing batches.

    These are their ends, or lie in the last layer of a search from their target, too (`there`).
    """

    here: LayeredSearch
    keys: Iterator[Keys]
    there: LayeredSearch | None


def search_levels(
    context: ComputeContext, run: RunStore, source: Key, target: Key | None, one: bool = False
) -> list[Keys] | None:
    """The levels of all shortest paths, or of `one` (`coordinator.layers.between`); ``None`` where there is no path.

    They lead to the nearest goals if `target` is ``None``. The layers searched lie on disk, beside `run`.
    """
    with _search(context, run, source, target) as met:
        if met is None:
            return None
        here, batches, there = met
        here.commit()
        keys = first_or_all(batches, one)
        levels = levels_back(context, here.store, keys, here.state.depth, one)
        if there:
            there.commit()
            levels += levels_on(context, there.store, keys, there.state.depth, one)[1:]
        return levels


def first_or_all(batches: Iterator[Keys], one: bool) -> Keys:
    """The least key of some increasing batches, of which there is at least one, or all keys."""
    return next(batches)[:1] if one else np.concatenate(list(batches))


@contextmanager
def _search(context: ComputeContext, run: RunStore, source: Key, target: Key | None) -> Iterator[Meeting | None]:
    """Search until shortest paths are found: from both ends where that is possible."""
    if target is None or moves_back(context.puzzle) is None:
        with scratch_search(context, run, source) as search:
            yield _reach(search, target)
        return
    half = replace(context, shares=replace(context.shares, free=context.shares.free // 2))
    with (
        _turned_round(half) as other,
        scratch_search(half, run, source) as here,
        scratch_search(other, run, target) as there,
    ):
        yield _meet(here, there)


@contextmanager
def _turned_round(context: ComputeContext) -> Iterator[ComputeContext]:
    """The same with all moves made backwards, where it matters which way they lead."""
    puzzle = context.puzzle
    if not isinstance(puzzle, Reversible):
        yield context
        return
    turned = Backwards(puzzle)
    with closing(ThreadExecutor(turned, context.local.workers, context.control)) as threads:
        yield replace(context, puzzle=turned, executor=threads, local=threads)


def _meet(here: LayeredSearch, there: LayeredSearch) -> Meeting | None:
    """Two searches that meet half-way, one of them along the moves and one against them."""
    while here.current.size and there.current.size:
        common = _common(here.current, there.current)
        if (first := next(common, None)) is not None:
            return Meeting(here, chain([first], common), there)
        min(here, there, key=lambda search: search.current.size).step()
    return None


def _reach(search: LayeredSearch, target: Key | None) -> Meeting | None:
    """A search that goes on until `target`, or a goal where it is ``None``, lies in the last layer."""
    while search.current.size:
        if target is not None:
            ends = search.puzzle.keys([target])
            if not len(search.current.exclude_from(ends)):
                return Meeting(search, iter([ends]), None)
        elif search.found.goal_depth is not None:
            return Meeting(search, goals_among(search.puzzle, search.current.chunks(0, _KEYS_AT_ONCE)), None)
        search.step()
    return None


def search_farthest(context: ComputeContext, run: RunStore, source: Key) -> list[Keys]:
    """The levels of one shortest path from `source` to the least of the configurations farthest from it."""
    with scratch_search(context, run, source) as search:
        search.exhaust()
        depth = search.state.depth
        return levels_back(context, search.store, next(search.store.blocks(depth))[:1], depth, one=True)


def goals_among(puzzle: Puzzle, batches: Iterable[Keys]) -> Iterator[Keys]:
    """The goals of some batches, none of which is empty."""
    return (keys[goals] for keys in batches if (goals := puzzle.is_goal(keys)).any())


def _common(one: Layer, other: Layer) -> Iterator[Keys]:
    """What two layers have in common, in batches of which none is empty."""
    small, large = sorted((one, other), key=lambda layer: layer.size)
    for keys in small.chunks(0, _KEYS_AT_ONCE):
        common = merge([keys], [large.exclude_from(keys)])
        if len(common):
            yield common


def real_path(puzzle: Puzzle, path: list[Key], start: Key) -> list[Key]:
    """The path as moves on a real board from `start`: where mirrors are merged, the images that belong together."""
    return puzzle.lift(path, start) if isinstance(puzzle, Quotient) else path


def require_path(path: list[_What] | None, source: str, target: str) -> list[_What]:
    """`path`, or an `UnanswerableError` that says that none exists."""
    if path is None:
        raise UnanswerableError(f"no path leads from {source} to {target}: all that it can reach was looked at")
    return path
