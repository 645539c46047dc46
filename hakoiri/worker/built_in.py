"""``python -m hakoiri.worker.built_in`` compiles the kernels of all built-in puzzles, so that no run waits for them."""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from rich.console import Console
from rich.progress import track

from hakoiri.compiling import is_compiled
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.worker.machine import end_with
from hakoiri.worker.warm import load_all_kernels

_BOARD = "AABB/AACC/DE../FGHH/FGII"
#: Built-in puzzles with the options that give them kernels of their own, mostly for longer keys.
_MORE = (
    PuzzleSpec("gap", {"ranks": "3"}),
    PuzzleSpec("gap", {"ranks": "5"}),
    PuzzleSpec("hanoi", {"discs": "20"}),
    PuzzleSpec("hanoi", {"pegs": "3"}),
    PuzzleSpec("hanoi", {"pegs": "3", "discs": "20"}),
    PuzzleSpec("magic-star", {"strategy": "generate"}),
    PuzzleSpec("magic-star", {"points": "12"}),
    PuzzleSpec("pancakes", {"n": "13"}),
    PuzzleSpec("sliding", {"goal": "A@4,1"}, _BOARD),
    PuzzleSpec("sliding", start="AABBCC/DDEEFF/GGHHII/J.KLMN/J.KLMN/OOOPQR"),
    PuzzleSpec("sliding", start="AABBCCDD/EEFFGGHH/IJKLMNOP/IJKLMNOP/QQQRRRS./TTTUUUV./WXYZabcd/efghijk."),
    PuzzleSpec("tiles", {"rows": "4", "columns": "4"}),
    PuzzleSpec("tiles", {"metric": "multi"}),
    PuzzleSpec("tiles", {"goal": "1**/***/***"}),
    PuzzleSpec("tiles", {"rows": "4", "columns": "4", "goal": "1***/****/****/****"}),
)


def specs() -> list[PuzzleSpec]:
    """Return the built-in puzzles with options that together use every kernel."""
    # Gap first: it takes nearly half of the time.
    names = sorted(PUZZLES, key=lambda name: name != "gap")
    return [*(PuzzleSpec(name, start=_BOARD if name == "sliding" else None) for name in names), *_MORE]


def compile_all() -> None:
    """Compile all kernels that are not in the cache, on all processors, with a progress bar."""
    missing = [spec for spec in specs() if not is_compiled(partial(_load, spec))]
    if missing:
        with _processes() as pool:
            done, console = pool.map(_load, missing), Console(stderr=True)
            for _ in track(done, "compiling the kernels of all puzzles", len(missing), console=console):
                pass


def _processes() -> ProcessPoolExecutor:
    """Return a pool with a process per core; each ends with this process.

    A worker waits on a pipe that it holds open itself, so a kill of this process alone would not end it.
    """
    cores = len(os.sched_getaffinity(0))
    return ProcessPoolExecutor(cores, get_context("spawn"), initializer=end_with, initargs=(os.getpid(),))


def _load(spec: PuzzleSpec) -> None:
    puzzle = spec.build()
    load_all_kernels(puzzle)
    keys = puzzle.keys([puzzle.start])
    puzzle.is_goal(keys)
    puzzle.orbits(keys)
    if spec.start == _BOARD:
        next(puzzle.configurations())


if __name__ == "__main__":
    compile_all()
