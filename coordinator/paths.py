"""Exact shortest paths: along stored layers from the start, or by a layered search of their own between any two."""

from collections.abc import Callable

import numpy as np

from coordinator.control import Control
from coordinator.errors import UnanswerableError
from puzzles.contract import Puzzle
from puzzles.keys import Key, Keys, Mask
from puzzles.symmetry import MergedMirrors
from storage.errors import DamagedError
from storage.manifest import Depth
from storage.store import RunStore
from worker.kernels import sort_subtract

#: Tells which keys of a batch are the end of a path.
Wanted = Callable[[Keys], Mask]


def path_from_start(store: RunStore, puzzle: Puzzle, target: Key, depth: Depth) -> list[Key]:
    """A shortest path from the start to `target`, which lies in layer `depth`; of several, always the same.

    Walks back from the target through the stored layers, one block decoded per candidate.
    """
    path = [target]
    for earlier in range(depth - 1, -1, -1):
        # The puzzle is undirected: what leads to a configuration is among what it leads to.
        candidates = np.unique(puzzle.expand(puzzle.keys([path[-1]])).successors)
        found = candidates[store.contains(earlier, candidates)]
        if not len(found):
            run = store.directory.name
            raise DamagedError(f"run {run}: {path[-1]:#x} has no neighbour in layer {earlier}; 'hakoiri verify {run}'")
        path.append(int(found[0]))
    return path[::-1]


def search_path(puzzle: Puzzle, source: Key, wanted: Wanted, control: Control) -> list[Key] | None:
    """A shortest path from `source` to the nearest wanted configuration (of several the least), or ``None``.

    Keeps the layers between them in memory.
    """
    layers = [puzzle.keys([source])]
    previous = layers[0][:0]
    while len(layers[-1]):
        ends = layers[-1][wanted(layers[-1])]
        if len(ends):
            return _walk_back(puzzle, layers, int(ends[0]))
        control.check()
        following = sort_subtract(puzzle.expand(layers[-1]).successors, previous, layers[-1]).copy()
        previous = layers[-1]
        layers.append(following)
    return None


def _walk_back(puzzle: Puzzle, layers: list[Keys], target: Key) -> list[Key]:
    path = [target]
    for layer in reversed(layers[:-1]):
        candidates = np.unique(puzzle.expand(puzzle.keys([path[-1]])).successors)
        path.append(int(candidates[np.isin(candidates, layer, assume_unique=True)][0]))
    return path[::-1]


def real_path(puzzle: Puzzle, path: list[Key], start: Key) -> list[Key]:
    """The path as moves on a real board from `start`: where mirrors are merged, the images that belong together."""
    return puzzle.lift(path, start) if isinstance(puzzle, MergedMirrors) else path


def equals(key: Key) -> Wanted:
    """The end of a path that leads to `key`."""
    return lambda keys: keys == keys.dtype.type(key)


def require_path(path: list[Key] | None, source: str, target: str) -> list[Key]:
    """`path`, or an `UnanswerableError` that says that none exists."""
    if path is None:
        raise UnanswerableError(f"no path leads from {source} to {target}: they lie in different components")
    return path
