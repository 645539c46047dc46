"""Random keys for the kernels of the built-in puzzles, which must read and write within their arrays whatever they get.

``NUMBA_BOUNDSCHECK=1 python -m tests.support.checked_kernels COUNT [PUZZLE ...]`` gives each puzzle so many, with every
index checked, and prints how many keys there were of each and how many its `are_keys` accepted.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import numba
import numpy as np

from hakoiri.guests.deals.dealt import Family
from hakoiri.guests.nakuron.scored import Scored
from hakoiri.guests.stars.placements import Placements
from hakoiri.keys.layout import Keys, ints
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.quotient import MergedMirrors
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from tests.support.random_keys import random_keys, some_configurations

#: Keys made at a time, and those of them that are drawn, which is done in plain Python.
_BATCH, _DRAWN = 50_000, 20
#: The most numbers that are placed below a root of a tree.
_MOST_PLACED = 2_000
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
    return [*(PuzzleSpec(name, start=_BOARD if name == "sliding" else None) for name in PUZZLES), *_MORE]


def kernels_of(puzzle: Puzzle) -> Iterator[tuple[str, Callable[[Keys], object]]]:
    """Yield everything that a puzzle does with batches of keys."""
    yield "expand", puzzle.expand
    yield "goal", puzzle.is_goal
    yield "orbits", puzzle.orbits
    if puzzle.has_mirrors:
        yield "canonical", puzzle.canonical
        yield "merged", MergedMirrors(puzzle).expand
    if (matching := puzzle.match(puzzle.render(puzzle.start))) is not None:
        yield "match", matching
    for number, symmetry in enumerate(puzzle.symmetry_maps()):
        yield f"symmetry {number}", symmetry
    if isinstance(puzzle, Reversible):
        yield "unmove", puzzle.unmove
    if isinstance(puzzle, Family):
        yield "images", puzzle.images
    if isinstance(puzzle, Scored):
        yield "scored", puzzle.scored
        yield "reserves", puzzle.reserves
    if isinstance(puzzle, Placements):
        yield "exceeds", lambda keys: puzzle.exceeds(keys[:200], _MOST_PLACED)
        yield "count", lambda keys: puzzle.count_subtrees(_nearly_full(puzzle, keys))


def _nearly_full(puzzle: Placements, keys: Keys) -> Keys:
    """Some roots with as few numbers left to place as any, two at most."""
    placings = puzzle.placings(keys)
    placed = np.count_nonzero(placings, axis=1)
    chosen: Keys = keys[placed == max(placed.max(), placings.shape[1] - 2)][:50]
    return chosen


def misuse(puzzle: Puzzle, keys: Keys) -> int:
    """Give some keys to all kernels as far as `are_keys` accepts them; return how many those are."""
    accepted = keys[puzzle.are_keys(keys)]
    batches = [accepted, accepted[:1], accepted[::-1], puzzle.keys(sorted(ints(accepted[:1_000])))]
    if isinstance(puzzle, Placements) and len(accepted):
        # Keys of a batch are of one level.
        placed = np.count_nonzero(puzzle.placings(accepted), axis=1)
        batches += [accepted[placed == each] for each in np.unique(placed)]
    for name, kernel in kernels_of(puzzle):
        for batch in filter(len, batches):
            try:
                kernel(np.ascontiguousarray(batch))
            except Exception as error:
                raise AssertionError(f"{puzzle.name} {name}: {type(error).__name__}: {error}") from error
    for key in ints(keys[:_DRAWN]):
        for draw in (puzzle.render, puzzle.check_key, puzzle.picture, puzzle.successors):
            # Plain Python, which only may not end the process.
            with suppress(Exception):
                draw(key)
    return len(accepted)


def try_puzzle(name: str, count: int, seed: int = 1) -> int:
    """Give a puzzle `count` keys, with each of its options as many; return how many it accepted."""
    mine, accepted = [spec for spec in specs() if spec.name == name], 0
    for spec in mine:
        puzzle, chance = spec.build(), np.random.default_rng(seed)
        known = some_configurations(puzzle)
        assert puzzle.are_keys(known).all(), f"{name} refuses configurations"
        left = -(-count // len(mine))
        while left > 0:
            accepted += misuse(puzzle, random_keys(puzzle, known, min(left, _BATCH), chance))
            left -= _BATCH
    return accepted


def main(count: int, names: list[str]) -> None:
    assert numba.config.BOUNDSCHECK, "set NUMBA_BOUNDSCHECK=1"  # type: ignore[attr-defined]
    for name in names or sorted({spec.name for spec in specs()}):
        began = time.perf_counter()
        accepted = try_puzzle(name, count)
        took = time.perf_counter() - began
        print(f"{name}: {count:,} keys, {accepted:,} accepted, none out of bounds, {took:.0f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
