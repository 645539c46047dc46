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
from hakoiri.coordinator.steps.window import Layer
from hakoiri.puzzles.capabilities import Quotient, Reversible
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Step
from hakoiri.puzzles.goals import Backwards
from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import equal_rows
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.kernels import merge

_What = TypeVar("_What")
#: Keys of a layer compared at a time.
_KEYS_AT_ONCE = 1 << 18


def path_from_start(store: RunStore, puzzle: Puzzle, target: Key, depth: Depth) -> list[Key]:
    """A shortest path from the start to `target`, which lies in layer `depth`; of several, always the same.

    Walks back from the target through the stored layers: one block decoded per candidate; of a directed puzzle that
    knows no moves backwards each layer is expanded until something in it leads to the next configuration.
    """
    path = [target]
    for earlier in range(depth - 1, -1, -1):
        if (before := moves_back(puzzle)) is not None:
            candidates = merge([before(puzzle.keys([path[-1]])).successors], [])
            found = candidates[store.contains(earlier, candidates)][:1]
        else:
            found = _first_that_leads_to(puzzle, store.blocks(earlier), path[-1])
        if not len(found):
            run = store.directory.name
            text = f"run {run}: {path[-1]:#x} has no neighbour in layer {earlier}"
            raise DamagedError(text, Step("verify", run))
        path.append(key_at(found, 0))
    return path[::-1]


def _first_that_leads_to(puzzle: Puzzle, blocks: Iterable[Keys], target: Key) -> Keys:
    """The least key of some increasing blocks with `target` among its successors, as a batch of one or none."""
    wanted = puzzle.keys([target])
    for block in blocks:
        successors, counts = puzzle.expand(block)
        places = np.flatnonzero(equal_rows(successors, wanted))
        if len(places):
            owner = int(np.searchsorted(np.cumsum(counts, dtype=np.int64), places[0], side="right"))
            return block[owner : owner + 1]
    return wanted[:0]


class Meeting(NamedTuple):
    """Where shortest paths meet: some of the last layer of a search from their source, in increasing batches.

    These are their ends, or lie in the last layer of a search from their target, too (`there`).
    """

    here: LayeredSearch
    keys: Iterator[Keys]
    there: LayeredSearch | None


def search_path(context: ComputeContext, run: RunStore, source: Key, target: Key | None) -> list[Key] | None:
    """A shortest path from `source` to `target`, or to the nearest goal where that is ``None``; else ``None``.

    Of several goals it is the least, of several paths always the same. The layers searched lie on disk, beside `run`.
    """
    with _search(context, run, source, target) as met:
        if met is None:
            return None
        here, keys, there = met
        middle = key_at(next(keys), 0)
        return [*_path_to(here, middle), *(_path_to(there, middle)[-2::-1] if there else [])]


def search_levels(context: ComputeContext, run: RunStore, source: Key, target: Key | None) -> list[Keys] | None:
    """The levels of all shortest paths (`coordinator.layers.between`); ``None`` where there is no path."""
    with _search(context, run, source, target) as met:
        if met is None:
            return None
        here, batches, there = met
        here.commit()
        keys = np.concatenate(list(batches))
        levels = levels_back(context, here.store, keys, here.state.depth)
        if there:
            there.commit()
            levels += levels_on(context, there.store, keys, there.state.depth)[1:]
        return levels


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


def search_farthest(context: ComputeContext, run: RunStore, source: Key) -> list[Key]:
    """A shortest path from `source` to the least of the configurations farthest from it."""
    with scratch_search(context, run, source) as search:
        while search.current.size:
            search.step()
        search.commit()
        return _path_to(search, search.store.first_keys(search.state.depth)[0])


def goals_among(puzzle: Puzzle, batches: Iterable[Keys]) -> Iterator[Keys]:
    """The goals of some batches, none of which is empty."""
    return (keys[goals] for keys in batches if (goals := puzzle.is_goal(keys)).any())


def _path_to(search: LayeredSearch, key: Key) -> list[Key]:
    search.commit()
    return path_from_start(search.store, search.puzzle, key, search.state.depth)


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
