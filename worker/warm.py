"""Compile every kernel once, under a lock, before several processes would do it at once (numba#4807)."""

import fcntl
import os
import platform
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_name

from puzzles.contract import Puzzle
from puzzles.jit import cache_directory, source_digest
from puzzles.registry import PUZZLES, PuzzleSpec
from storage.codec import decode_block, encode_block
from storage.digest import lanes_of
from worker.components import label_components, one_way_edge, order_by_component
from worker.graphs import Graph, all_eccentricities, distances_from, farthest_pairs, sweep
from worker.kernels import simple_edges, sort_subtract, sort_unique

_LOCK_FILE = "warming"


def is_warm(puzzle: Puzzle) -> bool:
    """Whether `warm` has run for this puzzle and source: compiled kernels load in milliseconds."""
    return _mark(puzzle).exists()


def warm(puzzle: Puzzle) -> None:
    """See that all kernels that `puzzle` uses are compiled and on disk. Cold it takes ten seconds, warm no time."""
    if is_warm(puzzle):
        return
    with open(cache_directory() / _LOCK_FILE, "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_warm(puzzle):
            load_search_kernels(puzzle)
            load_graph_kernels(puzzle)
            _mark(puzzle).touch()


def warm_all(say: Callable[[str], None]) -> None:
    """`warm` for every puzzle that needs no start of the user's, before worker processes begin."""
    for name in PUZZLES:
        puzzle = PuzzleSpec(name).build()
        if not is_warm(puzzle):
            say(f"compiling the kernels of {name}, once for this version (some ten seconds)")
        warm(puzzle)


def load_search_kernels(puzzle: Puzzle) -> None:
    """Bring what a search by layers calls from the disk cache into this process."""
    keys = puzzle.keys([puzzle.start])
    successors = puzzle.expand(keys).successors
    if puzzle.has_mirrors:
        puzzle.canonical(keys)
    layer = sort_subtract(successors.copy(), keys, keys)
    sort_unique(successors.copy())
    _, raw = encode_block(layer, 0, np.empty(1 << 10, dtype=np.uint8))
    decode_block(raw, int(layer[0]), len(layer), layer.dtype)
    lanes_of(layer)


def load_graph_kernels(puzzle: Puzzle) -> None:
    """The same for components and eccentricities."""
    keys = puzzle.keys([puzzle.start])
    simple_edges(keys, *puzzle.expand(keys))
    graph = Graph(np.array([0, 1, 2], dtype=np.int64), np.array([1, 0], dtype=np.int32))
    sources = np.zeros(1, dtype=np.int32)
    one_way_edge(graph)
    order_by_component(graph, label_components(graph))
    sweep(graph, sources)
    farthest_pairs(graph, sources)
    all_eccentricities(graph)
    distances_from(graph, 0)


def _mark(puzzle: Puzzle) -> Path:
    # numba compiles anew for another Python, numba or processor, and keeps the results side by side.
    machine = (source_digest(), platform.python_version(), numba.__version__, get_host_cpu_name())
    name = "-".join(["warm", puzzle.name, puzzle.dtype.name, *machine])
    return cache_directory() / name.replace(os.sep, "-")
