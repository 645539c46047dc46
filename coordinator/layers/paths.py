"""Exact shortest paths: along stored layers from the start, or by a separate layered search between any two."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from coordinator.errors import UnanswerableError
from coordinator.layers.search import LayeredSearch, scratch_search
from coordinator.session.session import ComputeContext, Control
from coordinator.steps.window import Layer
from puzzles.capabilities import Quotient
from puzzles.contract import Puzzle
from puzzles.errors import Step
from puzzles.keys.layout import Key, Keys, key_at
from puzzles.keys.order import equal_rows
from storage.errors import DamagedError
from storage.layers.store import RunStore
from storage.ledger.manifest import Depth
from worker.layers.kernels import merge

#: Keys of a layer compared at a time.
_KEYS_AT_ONCE = 1 << 18


def path_from_start(store: RunStore, puzzle: Puzzle, target: Key, depth: Depth) -> list[Key]:
    """A shortest path from the start to `target`, which lies in layer `depth`; of several, always the same.

    Walks back from the target through the stored layers: one block decoded per candidate; of a directed puzzle each
    layer is expanded until something in it leads to the next configuration.
    """
    path = [target]
    for earlier in range(depth - 1, -1, -1):
        if puzzle.undirected:
            # The predecessors of a configuration are among its successors.
            candidates = merge([puzzle.expand(puzzle.keys([path[-1]])).successors], [])
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


def search_path(
    context: ComputeContext, run: RunStore, source: Key, target: Key | None, control: Control
) -> list[Key] | None:
    """A shortest path from `source` to `target`, or to the nearest goal where that is ``None``; else ``None``.

    Of several goals it is the least, of several paths always the same. The layers searched lie on disk, beside `run`.
    """
    if target is not None and context.puzzle.undirected:
        return _search_from_both_ends(context, run, source, target, control)
    with scratch_search(context, run, source, control) as search:
        while search.current.size:
            end = _end(search, target)
            if end is not None:
                return _path_to(search, end)
            search.step()
    return None


def search_farthest(context: ComputeContext, run: RunStore, source: Key, control: Control) -> list[Key]:
    """A shortest path from `source` to the least of the configurations farthest from it."""
    with scratch_search(context, run, source, control) as search:
        while search.current.size:
            search.step()
        search.commit()
        return _path_to(search, search.store.first_keys(search.state.depth)[0])


def _end(search: LayeredSearch, target: Key | None) -> Key | None:
    """`target`, or the least goal where it is ``None``, if it lies in the last layer."""
    if target is not None:
        return None if len(search.current.exclude_from(search.puzzle.keys([target]))) else target
    if search.found.goal_depth is None:
        return None
    return least_goal(search.puzzle, search.current.chunks(0, _KEYS_AT_ONCE))


def least_goal(puzzle: Puzzle, batches: Iterable[Keys]) -> Key:
    """The first goal of some increasing batches that hold one."""
    return next(key_at(keys[goals], 0) for keys in batches if (goals := puzzle.is_goal(keys)).any())


def _search_from_both_ends(
    context: ComputeContext, run: RunStore, source: Key, target: Key, control: Control
) -> list[Key] | None:
    """The same where every move can be taken back: the two searches meet half-way."""
    half = replace(context, shares=replace(context.shares, free=context.shares.free // 2))
    with scratch_search(half, run, source, control) as here, scratch_search(half, run, target, control) as there:
        while here.current.size and there.current.size:
            meeting = _least_common(here.current, there.current)
            if meeting is not None:
                return [*_path_to(here, meeting), *_path_to(there, meeting)[-2::-1]]
            min(here, there, key=lambda search: search.current.size).step()
    return None


def _path_to(search: LayeredSearch, key: Key) -> list[Key]:
    search.commit()
    return path_from_start(search.store, search.puzzle, key, search.state.depth)


def _least_common(one: Layer, other: Layer) -> Key | None:
    small, large = sorted((one, other), key=lambda layer: layer.size)
    for keys in small.chunks(0, _KEYS_AT_ONCE):
        common = merge([keys], [large.exclude_from(keys)])
        if len(common):
            return key_at(common, 0)
    return None


def real_path(puzzle: Puzzle, path: list[Key], start: Key) -> list[Key]:
    """The path as moves on a real board from `start`: where mirrors are merged, the images that belong together."""
    return puzzle.lift(path, start) if isinstance(puzzle, Quotient) else path


def require_path(path: list[Key] | None, source: str, target: str) -> list[Key]:
    """`path`, or an `UnanswerableError` that says that none exists."""
    if path is None:
        raise UnanswerableError(f"no path leads from {source} to {target}: they lie in different components")
    return path
