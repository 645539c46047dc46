"""``python -m hakoiri.cli.built_in`` compiles the kernels of all built-in puzzles: makes short runs, and asks them.

With names of puzzles, only theirs.
"""

import os
import re
import shlex
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_context
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import track

from hakoiri.cli import app
from hakoiri.worker.machine import REDIS, end_with, usable_cores

#: Commands for one process each, the longest first. Some options and larger sizes of a puzzle have their own kernels.
_TOURS = r"""
run gap --layers 3; study deals gap --sizes 3..5 --deals 1; hunt gap --legs 1 --pool 1
run nakuron; optimise nakuron --width 2 --rounds 1; optimise nakuron --strategy random --rounds 1
run klotski --merge-mirrors; hardest last; run klotski --whole; diameter last
run tiles; verify last; run tiles -o rows=2 -o columns=3 --whole; map last --to map.html
run magic-star; study magic-star --points 5..5
run superpuzz; study deals superpuzz --sizes 3 --deals 1 --strategy dfs
run sliding --from AABB/AACC/DE../FGHH/FGII --whole
run sliding --from AABB/AACC/DE../FGHH/FGII -o goal=A@4,1; hardest last
run sliding --from AABBCC/DDEEFF/GGHHII/J.KLMN/J.KLMN/OOOPQR --layers 3
run sliding --from AABBCCDD/EEFFGGHH/IJKLMNOP/IJKLMNOP/QQQRRRS./TTTUUUV./WXYZabcd/efghijk. --layers 3
run tiles -o rows=2 -o columns=5; run tiles -o goal=1**/***/***; hardest last
run tiles -o metric=multi -o rows=2 -o columns=3
run tiles -o rows=4 -o columns=4 --layers 3; run tiles -o rows=4 -o columns=4 -o goal=1***/****/****/**** --layers 3
run gap -o ranks=3; components last --strong; run topspin -o n=7 -o k=4 --whole
run hanoi --whole; run hanoi -o discs=20 --layers 3; run hanoi -o pegs=3; run hanoi -o pegs=3 -o discs=20 --layers 3
run pancakes -o n=6 --whole; run pancakes -o n=13 --layers 3; run burnt-pancakes -o n=4 --whole
run peg-solitaire --layers 8; run cube2 --layers 4; run pyraminx --layers 4; study boards --size 2x3 --pieces 1x1:*
generate sliding --size 3x3 --pieces "2x1:1 1x2:1 1x1:2" --goal 2x1@1,1 --boards 1
"""


def compile_all(*puzzles: str) -> None:
    """Use every puzzle, or only `puzzles`, on all processors, with a progress bar."""
    tours = [tour for tour in _TOURS.strip().splitlines() if not puzzles or {*puzzles} & {*re.findall(r"[\w-]+", tour)}]
    with _processes() as pool:
        done, console, which = pool.map(_follow, tours), Console(stderr=True), ", ".join(puzzles) or "all puzzles"
        for _ in track(done, f"compiling the kernels of {which}", len(tours), console=console):
            pass


def _processes() -> ProcessPoolExecutor:
    """Return a pool with a process per core; each ends with this process.

    A worker waits on a pipe that it holds open itself, so a kill of this process alone would not end it.
    """
    return ProcessPoolExecutor(len(usable_cores()), get_context("spawn"), initializer=end_with, initargs=(os.getpid(),))


def _follow(tour: str) -> None:
    with TemporaryDirectory() as data, open(os.devnull, "w", encoding="utf-8") as nothing:
        os.environ["HAKOIRI_DATA"] = data
        os.environ.pop(REDIS, None)
        os.chdir(data)
        for command in tour.split(";"):
            with redirect_stdout(nothing), redirect_stderr(nothing):
                if code := app(shlex.split(command), standalone_mode=False):
                    raise RuntimeError(f"{command} ended with {code}")


if __name__ == "__main__":
    compile_all(*sys.argv[1:])
