"""Kernels get keys of others: what they may take, and that they stay within their arrays."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import Field, Fields, Layout, ints
from hakoiri.puzzles import hanoi
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from tests.support.checked_kernels import specs
from tests.support.keys import every_layout
from tests.support.random_keys import random_keys, some_configurations

_ROOT = Path(__file__).parents[2]


def name_of(spec: PuzzleSpec) -> str:
    return "-".join([spec.name, *spec.options.values(), *([str(len(spec.start))] if spec.start else [])])


def is_configuration(puzzle: Puzzle, key: int) -> bool:
    try:
        puzzle.check_key(key)
    except PuzzleError:
        return False
    return True


@pytest.mark.parametrize("spec", specs(), ids=name_of)
def test_keys_are_refused_that_are_not_configurations(spec: PuzzleSpec) -> None:
    puzzle = spec.build()
    keys = random_keys(puzzle, some_configurations(puzzle), 400, np.random.default_rng(1))
    for batch in (keys, np.sort(keys, axis=0)):
        accepted = puzzle.are_keys(batch).tolist()
        found = [is_configuration(puzzle, key) for key in ints(batch)]
        assert not any(right and not said for right, said in zip(found, accepted, strict=True))
        if puzzle.name not in ("magic-star", "peg-solitaire"):
            # A tree has no keys to check, and kernels take any image of a board.
            assert accepted == found


@every_layout
def test_every_field_is_compared_with_its_own_limit(layout: Layout) -> None:
    rng = np.random.default_rng(2)
    fields, shift = list[Field](), 0
    while shift < layout.bits:
        width = min(int(rng.integers(1, 12)), min(layout.bits, 64) - shift % 64)
        fields.append(Field(shift, width, int(rng.integers(1, (1 << width) + 1))))
        shift += width + int(rng.integers(0, 2))
    within = [sum(int(rng.integers(0, each.limit)) << each.shift for each in fields) for _ in range(500)]
    others = [key ^ 1 << int(rng.integers(0, layout.bits)) for key in within]

    def holds(key: int) -> bool:
        left = key
        for each in fields:
            value = key >> each.shift & (1 << each.width) - 1
            left ^= value << each.shift
            if value >= each.limit:
                return False
        return left == 0

    keys = [*within, *others, 0, layout.greatest]
    assert Fields.of(layout, fields).hold(layout.pack(keys)).tolist() == [holds(key) for key in keys]


@pytest.mark.parametrize(
    "spec",
    # Others have as many successors of every key as there is room for.
    [
        each
        for each in specs()
        if each.name in ("gap", "hanoi", "klotski", "peg-solitaire", "sliding", "superpuzz", "tiles")
    ],
    ids=name_of,
)
def test_a_kernel_writes_no_more_successors_than_there_is_room_for(
    spec: PuzzleSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    puzzle = spec.build()
    keys = np.repeat(some_configurations(puzzle)[:4], 50, axis=0)
    kernels = [puzzle.expand, *([puzzle.unmove] if isinstance(puzzle, Reversible) else [])]
    assert all(len(expand(keys).successors) for expand in kernels)
    monkeypatch.setattr(puzzle, "most_predecessors", 0, raising=False)
    monkeypatch.setattr(puzzle, "most_successors", 0)
    monkeypatch.setattr(hanoi, "comb", lambda pegs, two: 0)
    for expand in kernels:
        with pytest.raises(PuzzleError, match="more than 0 successors"):
            expand(keys)


def run_checked(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1"}
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.slow
def test_no_kernel_goes_out_of_bounds_with_random_keys() -> None:
    done = run_checked("-m", "tests.support.checked_kernels", "6000")
    assert done.returncode == 0, done.stderr[-2_000:]
    assert [line.split(":")[0] for line in done.stdout.splitlines() if "none out of bounds" in line] == sorted(PUZZLES)


@pytest.mark.ci_slow
def test_a_kernel_that_goes_out_of_bounds_is_found() -> None:
    trusting = (
        "from tests.support.checked_kernels import try_puzzle\n"
        "from hakoiri.puzzles.contract import Puzzle\n"
        "from hakoiri.puzzles.sliding_blocks.klotski import Klotski\n"
        "refuses, Klotski.are_keys = Klotski.are_keys, Puzzle.are_keys\n"
        "try_puzzle('klotski', 2000)\n"
    )
    assert "IndexError: index is out of bounds" in run_checked("-c", trusting).stderr
