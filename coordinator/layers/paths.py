"""Exact shortest paths: along stored layers from the start, or by a layered search of their own between any two."""

from collections.abc import Callable, Iterable

import numpy as np

from coordinator.errors import UnanswerableError
from coordinator.session.control import Control
from puzzles.capabilities import Quotient
from puzzles.contract import Puzzle
from puzzles.keys.layout import Key, Keys, Mask, key_at, layout_of
from puzzles.keys.order import equal_rows, members
from storage.errors import DamagedError
from storage.layers.store import RunStore
from storage.ledger.manifest import Depth
from worker.layers.kernels import merge

#: Tells which keys of a batch are the end of a path.
Wanted = Callable[[Keys], Mask]


def path_from_start(store: RunStore, puzzle: Puzzle, target: Key, depth: Depth) -> list[Key]:
    """A shortest path from the start to `target`, which lies in layer `depth`; of several, always the same.

    Walks back from the target through the stored layers: one block decoded per candidate; of a directed puzzle each
    layer is expanded until something in it leads to the next configuration.
    """
    path = [target]
    for earlier in range(depth - 1, -1, -1):
        if puzzle.undirected:
            # What leads to a configuration is among what it leads to.
            candidates = _distinct_successors(puzzle, path[-1])
            found = candidates[store.contains(earlier, candidates)][:1]
        else:
            found = _first_that_leads_to(puzzle, store.blocks(earlier), path[-1])
        if not len(found):
            run = store.directory.name
            raise DamagedError(f"run {run}: {path[-1]:#x} has no neighbour in layer {earlier}; 'hakoiri verify {run}'")
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


def search_path(puzzle: Puzzle, source: Key, wanted: Wanted, control: Control) -> list[Key] | None:
    """A shortest path from `source` to the nearest wanted configuration (of several the least), or ``None``.

    Keeps the layers between them in memory.
    """
    layers = [puzzle.keys([source])]
    while len(layers[-1]):
        ends = layers[-1][wanted(layers[-1])]
        if len(ends):
            return _walk_back(puzzle, layers, key_at(ends, 0))
        control.check()
        known = layers[-2:] if puzzle.undirected else layers
        layers.append(merge([puzzle.expand(layers[-1]).successors], known).copy())
    return None


def _distinct_successors(puzzle: Puzzle, key: Key) -> Keys:
    return merge([puzzle.expand(puzzle.keys([key])).successors], [])


def _walk_back(puzzle: Puzzle, layers: list[Keys], target: Key) -> list[Key]:
    path = [target]
    for layer in reversed(layers[:-1]):
        if puzzle.undirected:
            candidates = _distinct_successors(puzzle, path[-1])
            path.append(key_at(candidates[members(layer, candidates)], 0))
        else:
            path.append(key_at(_first_that_leads_to(puzzle, [layer], path[-1]), 0))
    return path[::-1]


def real_path(puzzle: Puzzle, path: list[Key], start: Key) -> list[Key]:
    """The path as moves on a real board from `start`: where mirrors are merged, the images that belong together."""
    return puzzle.lift(path, start) if isinstance(puzzle, Quotient) else path


def equals(key: Key) -> Wanted:
    """The end of a path that leads to `key`."""
    return lambda keys: equal_rows(keys, layout_of(keys).pack([key]))


def require_path(path: list[Key] | None, source: str, target: str) -> list[Key]:
    """`path`, or an `UnanswerableError` that says that none exists."""
    if path is None:
        raise UnanswerableError(f"no path leads from {source} to {target}: they lie in different components")
    return path
