"""``python -m campaigns.tables.stars printed | halves POINTS``: magic stars by other programs. Prints JSON.

``printed``: the three programs of Hiroi in C (`stars.c`), their seconds and the numbers that they place, and the third
with its mirror test at other points.

``halves``: the stars of so many tips counted by halves that meet. Nothing is shared with the search of `guests.stars`.
Line i of the star {n/2} has the tips i and i + 2 and the crossings i - 1 and i (mod n). From the numbers of tip 0, tip
1 and crossing -1 the lines 0, 1, ... are filled one way, and the lines n - 1, n - 2, ... the other. One number of each
line is chosen, and the last follows. Halves meet at three points. Those of one way are kept in a table by the numbers
there and by all that they have used, and each of the other way is looked up by what it lacks. Number 1 stands on a tip
or on a crossing, and a rotation takes it to tip 0 or crossing -1; both cases are counted, reflections too.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit

_EMPTY = np.uint64(2**64 - 1)
#: Points that a mirror image exchanges, without 2 and 3.
_MIRRORED = ("5 6", "1 4", "8 9", "7 10")
_MIX = np.uint64(0x9E3779B97F4A7C15)
Table = NDArray[np.uint64]
#: The number of halves that each place of a table stands for; at the end, the number of places taken.
Counts = NDArray[np.int64]


def orbits(points: int) -> int:
    """The magic stars of so many tips, up to rotations and reflections."""
    found, size = -1, 1 << 8
    while found < 0:
        # A table that is too small for the halves is made larger.
        size *= 4
        found = _solutions_with_one(points, np.full(size, _EMPTY), np.zeros(size + 1, dtype=np.int64))
    # `found` is of one rotation of each solution; no solution is like its own reflection, for all numbers differ.
    return found // 2


@jit
def _solutions_with_one(points: int, keys: Table, counts: Counts) -> int:
    """Return the number of solutions with 1 on tip 0 or on crossing -1; -1 if the table is too small."""
    most, half, total = 2 * points, points // 2, 0
    for place in range(2):
        for one in range(2, most + 1):
            tip, crossing = (1, one) if place == 0 else (one, 1)
            for next_tip in range(2, most + 1):
                if next_tip == one:
                    continue
                ends = 1 << tip | 1 << next_tip | 1 << crossing
                keys[:], counts[-1] = _EMPTY, 0
                if _walk(most, half, False, tip, next_tip, crossing, ends, ends, keys, counts) >= len(keys):
                    return -1
                total += _walk(most, points - half, True, next_tip, tip, crossing, ends, ends, keys, counts)
    return total


@jit
def _walk(
    most: int, lines: int, meets: bool, first: int, second: int, crossing: int, used: int, ends: int,
    keys: Table, counts: Counts,
) -> int:  # fmt: skip
    """Fill so many lines in all ways: how many halves of the other way they meet, or how many are new in the table.

    `first` is the tip on the next line, `second` that on the line after it; `ends` are where both ways begin.
    """
    if not lines:
        if meets:
            return _meet(most, first, second, crossing, used, ends, keys, counts)
        return _keep(_key(first, second, crossing, used), keys, counts)
    total, needed = 0, 2 * (most + 1) - first - crossing
    for number in range(max(1, needed - most), min(most, needed - 1) + 1):
        both = 1 << number | 1 << needed - number
        if 2 * number != needed and not used & both:
            total += _walk(most, lines - 1, meets, second, needed - number, number, used | both, ends, keys, counts)
    return total


@jit
def _keep(key: np.uint64, keys: Table, counts: Counts) -> int:
    """Count a half; 1 if it is the first of its kind, and as many as there are places if there is no room for it."""
    place = _place_of(key, keys)
    if keys[place] == key:
        counts[place] += 1
        return 0
    if 2 * counts[-1] >= len(keys):
        return len(keys)
    keys[place], counts[place] = key, 1
    counts[-1] += 1
    return 1


@jit
def _meet(most: int, first: int, second: int, crossing: int, used: int, ends: int, keys: Table, counts: Counts) -> int:
    """Return the number of halves of the other way with the same ends and with all numbers that this one lacks.

    They come to the same two tips in the other order.
    """
    left = ((1 << most + 1) - 2) & ~used | ends | 1 << first | 1 << second | 1 << crossing
    place = _place_of(_key(second, first, crossing, left), keys)
    return int(counts[place]) if keys[place] != _EMPTY else 0


@jit
def _key(first: int, second: int, crossing: int, used: int) -> np.uint64:
    return np.uint64(used << 15 | crossing << 10 | first << 5 | second)


@jit
def _place_of(key: np.uint64, keys: Table) -> int:
    """Return the index of a key in the table, or the free index where it belongs."""
    size = len(keys)
    place = int((key * _MIX) >> np.uint64(20)) & (size - 1)
    while keys[place] != _EMPTY and keys[place] != key:
        place = (place + 1) & (size - 1)
    return place


def printed() -> dict[str, Any]:
    """Compile and run the three programs; the least seconds of some runs are taken."""
    result: dict[str, Any] = {}
    with TemporaryDirectory() as folder:
        program = str(Path(folder) / "stars")
        subprocess.run(["gcc", "-O2", "-o", program, str(Path(__file__).with_suffix(".c"))], check=True)
        for name, words, times in (("one", "1", 3), ("every", "1 all", 1), ("two", "2", 5), ("three", "3", 9),
                                   *((f"mirror {pair}", f"3 {pair}", 1) for pair in _MIRRORED)):  # fmt: skip
            for _ in range(times):
                ended = subprocess.run([program, *words.split()], capture_output=True, text=True, check=True)
                solutions, placed, ticks = map(int, ended.stdout.split())
                seconds = min(ticks / 1e6, result.get(name, {}).get("seconds", ticks))
                result[name] = {"solutions": solutions, "placed": placed, "seconds": seconds}
    first, second, third = (result[name]["seconds"] for name in ("one", "two", "three"))
    others = [result.pop(f"mirror {pair}")["placed"] for pair in _MIRRORED]
    return result | {"ratios": [first / third, second / third], "others": others,
                     "times": result["every"]["seconds"] / first}  # fmt: skip


if __name__ == "__main__":
    if sys.argv[1] == "printed":
        print(json.dumps(printed()))
    else:
        points = int(sys.argv[2])
        print(json.dumps({"points": points, "orbits": orbits(points)}))
