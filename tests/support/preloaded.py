"""What the process that others are forked from has in memory: Hakoiri, and the kernels of the usual puzzle."""

import gc
from functools import partial

import hakoiri.api  # noqa: F401
import worker.main  # noqa: F401
from puzzles.jit import prepare
from puzzles.sliding_blocks.klotski import Klotski
from worker.warm import load_all_kernels

prepare(partial(load_all_kernels, Klotski()))
gc.freeze()
