"""Many fields of Nakuron tilted at once, and whole games played: kernels that release the GIL."""

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit
from puzzles.keys.splitmix import random_below
from puzzles.nakuron.kernels import MOST_SIDE, PLANES, SIDES, STEP_BITS, WORDS, Words, drops, tilt

Bytes = NDArray[np.uint8]
#: The strategies that play one game after another, by their places in `puzzles.nakuron.puzzle.Nakuron.games`.
CYCLE, RANDOM, GREEDY, TWO_STEP = range(4)
#: Odd constants of a multiplicative hash, one for each of its two halves.
_ONE, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)


@jit
def digest(field: Words, out: Words) -> None:
    """Write a hash of a field into `out` (2,): 128 bits, by which a beam recognises equal fields.

    Two fields with one hash would cost the beam a board; what it finds is still a play, replayed by the rules.
    """
    words = field.reshape(-1)
    one, other, third, fourth = _ONE, _OTHER, _OTHER, _ONE
    for place in range(0, len(words) - 1, 2):
        # Four independent chains of multiplications.
        one = (one ^ words[place]) * _ONE
        other = (other ^ words[place + 1]) * _OTHER
        third = (third + words[place]) * _OTHER
        fourth = (fourth + words[place + 1]) * _ONE
        one ^= one >> _HALF
        other ^= other >> _HALF
        third ^= third >> _HALF
        fourth ^= fourth >> _HALF
    out[0] = (one ^ one >> _HALF) * _OTHER + other
    out[1] = (third ^ third >> _HALF) * _ONE + fourth


@jit
def tilt_all(
    fields: Words, parents: NDArray[np.int64], sides: Bytes, walls: Words, exits: Words, holes: Words, bits: int,
    found: Words, digests: Words, right: NDArray[np.int32], total: NDArray[np.int32],
) -> None:  # fmt: skip
    """Tilt field ``parents[i]`` to ``sides[i]``: the field found, its digest, and what it would drop to each side."""
    turned = np.zeros((PLANES, MOST_SIDE, WORDS), dtype=np.uint64)
    steps = np.zeros((STEP_BITS, MOST_SIDE, WORDS), dtype=np.uint64)
    for index in range(len(parents)):
        side = sides[index]
        tilt(fields[parents[index]], side, walls[side], exits[side], bits, turned, steps, found[index])
        digest(found[index], digests[index])
        for other in range(SIDES):
            right[index, other], total[index, other] = drops(found[index], holes[other])


@jit
def _best_side(scores: NDArray[np.int64], last: int, ties_at_random: bool, state: Words) -> int:
    """The side with the highest score, other than `last`; of equal ones the first, or one at random."""
    chosen, equal = -1, 0
    for side in range(SIDES):
        if side == last:
            continue
        if chosen < 0 or scores[side] > scores[chosen]:
            chosen, equal = side, 1
        elif scores[side] == scores[chosen]:
            equal += 1
            if ties_at_random and random_below(state, equal) == 0:
                chosen = side
    return chosen


@jit
def _most_right(field: Words, last: int, holes: Words) -> int:
    """The most that a tilt to another side than `last` scores."""
    most = 0
    for side in range(SIDES):
        if side != last:
            most = max(most, int(drops(field, holes[side])[0]))
    return most


@jit
def play(
    start: Words, strategy: int, ties_at_random: bool, state: Words, most: int, idle: int, walls: Words, exits: Words,
    holes: Words, bits: int, sequence: Bytes,
) -> tuple[int, int, int]:  # fmt: skip
    """Play one game into `sequence`; its score, the moves up to the last that scored, and how many tilts it took.

    It ends after `most` moves, or when nothing has dropped for `idle` moves.
    """
    turned = np.zeros((PLANES, MOST_SIDE, WORDS), dtype=np.uint64)
    steps = np.zeros((STEP_BITS, MOST_SIDE, WORDS), dtype=np.uint64)
    field, after = start.copy(), np.empty_like(start)
    scores = np.zeros(SIDES, dtype=np.int64)
    score, length, tilts, last, waited = 0, 0, 0, -1, 0
    for move in range(most):
        if strategy == CYCLE:
            side = move % SIDES
        elif strategy == RANDOM:
            side = int(random_below(state, SIDES if last < 0 else SIDES - 1))
            side += last >= 0 and side >= last
        else:
            for other in range(SIDES):
                scores[other] = drops(field, holes[other])[0]
                if strategy == TWO_STEP and other != last:
                    tilt(field, other, walls[other], exits[other], bits, turned, steps, after)
                    tilts += 1
                    scores[other] += _most_right(after, other, holes)
            side = _best_side(scores, last, ties_at_random, state)
        right, total = drops(field, holes[side])
        tilt(field, side, walls[side], exits[side], bits, turned, steps, after)
        field, after = after, field
        tilts += 1
        sequence[move] = side
        score += int(right)
        last, waited = side, 0 if total else waited + 1
        if right:
            length = move + 1
        if waited >= idle:
            break
    return score, length, tilts
