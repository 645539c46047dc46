"""Kernels that are compiled for a run: few of them, by two processes, told of and stopped between two."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from hakoiri.puzzles.registry import PuzzleSpec
from tests.system.helpers import PATIENCE_SECONDS, ROOT

#: Prints how many functions numba compiles for the whole space of a puzzle, its own among them.
_COUNTING = """
from numba.core import event
from hakoiri.coordinator.graphs.job import Whole
from hakoiri.puzzles.registry import PuzzleSpec
puzzle = PuzzleSpec("klotski").build()
with event.install_recorder("numba:compile") as recorder:
    for load in Whole.kernels:
        load(puzzle)
print(sum(each.is_start for _, each in recorder.buffer))
"""
_COMPILED = """
from functools import partial
from hakoiri.puzzles.jit import is_compiled
from hakoiri.worker.warm import load_strong_kernels
print(is_compiled(partial(load_strong_kernels, None)))
"""


def environment(cache: Path) -> dict[str, str]:
    """Of a process that finds no kernels but those in `cache`."""
    return os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}


def helper(parent: int, cache: Path, *loaders: str) -> "subprocess.Popen[bytes]":
    request = json.dumps([parent, PuzzleSpec("hanoi").as_dict(), loaders])
    return subprocess.Popen(
        [sys.executable, "-m", "hakoiri.worker.compiling", request], cwd=cache, env=environment(cache)
    )


def test_what_a_helper_compiles_others_find_on_disk(tmp_path: Path) -> None:
    def compiled() -> str:
        argv = [sys.executable, "-c", _COMPILED]
        return subprocess.run(argv, env=environment(tmp_path), check=True, capture_output=True, text=True).stdout

    assert compiled() == "False\n"
    with helper(os.getpid(), tmp_path, "load_strong_kernels") as process:
        assert process.wait(PATIENCE_SECONDS) == 0
    assert compiled() == "True\n"


def test_a_helper_ends_where_the_one_that_it_helps_is_gone(tmp_path: Path) -> None:
    with helper(1, tmp_path, "load_strong_kernels") as process:
        assert process.wait(PATIENCE_SECONDS) == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_ctrl_c_stops_between_kernels_and_leaves_nobody_who_compiles(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "hakoiri", "run", "hanoi", "--whole", "--data", tmp_path / "data"]
    with subprocess.Popen(
        argv, cwd=ROOT, env=environment(tmp_path / "cache"), stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        assert run.stderr.readline() == "compiling the kernels of hanoi, once: takes some seconds\n"
        helpers = psutil.Process(run.pid).children()
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
        assert run.wait(PATIENCE_SECONDS) == 128 + signal.SIGINT
    assert said.startswith("interrupted: stopped by SIGINT")
    assert psutil.wait_procs(helpers, timeout=PATIENCE_SECONDS)[1] == []


@pytest.mark.slow
def test_the_whole_space_of_the_usual_puzzle_needs_few_functions(tmp_path: Path) -> None:
    """They were 157 when some took arrays for indices, or literals for types."""
    argv = [sys.executable, "-c", _COUNTING]
    said = subprocess.run(argv, env=environment(tmp_path), check=True, capture_output=True, text=True).stdout
    assert 0 < int(said) <= 95
