"""A helper that compiles kernels beside the process that waits for them: ``python -m hakoiri.worker.compiling``."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.jit import prepare
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker import warm
from hakoiri.worker.machine import usable_cores
from hakoiri.worker.parent import end_with
from hakoiri.worker.warm import Loader


def prepare_kernels(puzzle: Puzzle, spec: PuzzleSpec, loaders: Sequence[Loader], tell: Callable[[int], None]) -> None:
    """Call some `loaders` for `puzzle`, built from `spec`; what is not on disk is compiled, by two processes if it can.

    `tell` is called as `puzzles.jit.prepare` does.
    """

    def load() -> None:
        for each in loaders:
            each(puzzle)

    # A user puzzle is code that this process has been given, not the helper.
    alone = len(loaders) == 1 or bool(spec.digest) or len(usable_cores()) == 1
    prepare(load, tell, *([] if alone else [partial(_helped, spec, loaders)]))


@contextmanager
def _helped(spec: PuzzleSpec, loaders: Sequence[Loader]) -> Iterator[None]:
    """While the block runs another process compiles the same, the last loader first: what one has made the other finds
    on disk. Without it everything is compiled all the same."""
    names = [load.__name__ for load in reversed(loaders)]
    helper = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, json.dumps([os.getpid(), spec.as_dict(), names])],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        # Ctrl-C on the terminal is for the process that waits.
        process_group=0,
    )  # fmt: skip
    try:
        yield
    finally:
        helper.kill()
        helper.wait()


def _help(parent: int, spec: PuzzleSpec, names: Sequence[str]) -> None:
    end_with(parent)
    puzzle = spec.build()
    for name in names:
        getattr(warm, name)(puzzle)


if __name__ == "__main__":
    _parent, _spec, _names = json.loads(sys.argv[1])
    _help(_parent, PuzzleSpec.from_dict(_spec), _names)
