"""Chunks of an optimisation of Nakuron: many fields tilted, or some games played, by kernels on bit planes.

All chunks share the arrays of a `Ground`, followed, for games, by the first field.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import TaskError
from hakoiri.guests.nakuron.board import MOST_MOVES
from hakoiri.guests.nakuron.kernels import SIDES, Ground, Words, drops, make_scratch, tilt
from hakoiri.guests.nakuron.moving import HALF, ONE, OTHER, Array, Arrays, GamesRequest, Moved, PlayedGame
from hakoiri.guests.nakuron.scored import Scored
from hakoiri.keys.splitmix import random_below, random_words
from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.transport.payload import packed, unpacked

#: A game ends when nothing has dropped for this many moves.
_IDLE_MOVES = 1_000
Bytes = NDArray[np.uint8]
#: The strategies that play one game after another, by their index in `guests.nakuron.puzzle.Nakuron.games`.
CYCLE, RANDOM, GREEDY, TWO_STEP, SAMPLE = range(5)


def moved_fields(fields: Words, parents: Array, sides: Array, ground: Ground) -> Moved:
    """Return each field ``fields[parents[i]]`` tilted to ``sides[i]``, or as it is if that is `SIDES`."""
    count = len(parents)
    made = Moved(
        np.empty((count, *fields.shape[1:]), dtype=np.uint64), np.empty((count, 2), dtype=np.uint64),
        np.empty((count, SIDES), dtype=np.int32), np.empty((count, SIDES), dtype=np.int32),
    )  # fmt: skip
    _tilt_all(fields, parents, sides, ground, made)
    return made


def move(puzzle: Scored, chunk: Arrays, shared: Arrays) -> list[Array]:
    """[fields, parents, sides], shared [a ground] -> the arrays of `Moved`; [a field] -> those of this field.

    The side that a field was tilted to last is no move: nothing would change.
    """
    fields, *chosen = chunk
    parents, sides = chosen or (np.zeros(1, dtype=np.int64), np.array([SIDES]))
    moved = moved_fields(fields, parents, sides.astype(np.uint8), Ground(*shared))
    if chosen:
        moved.takes[np.arange(len(sides)), sides] = -1
    return list(moved)


def play(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[a `GamesRequest`], shared [a ground, the first field] -> the best `PlayedGame`, with the tries of all."""
    if not isinstance(puzzle, Scored) or puzzle.mover != "planes":
        raise TaskError(f"{puzzle.name} has no games")
    asked, (*ground, field) = unpacked(chunk, GamesRequest), shared
    numbers = range(asked.first, asked.first + asked.count)
    games = [play_game(asked.strategy, asked.seed, number, Ground(*ground), field) for number in numbers]
    best = max(games, key=lambda game: (game.score, -len(game.sequence), -game.number))
    return packed(replace(best, tried=sum(game.tried for game in games)))


def play_game(strategy: int, seed: int, number: int, ground: Ground, field: Words) -> PlayedGame:
    """Play game `number` of a strategy and seed. Game 0 takes the first of several equal moves."""
    state = np.array([next(random_words((seed << 32) + number))], dtype=np.uint64)
    sequence = np.zeros(MOST_MOVES, dtype=np.uint8)
    score, moves, tilts = _play(field, strategy, number > 0, state, ground, sequence)
    return PlayedGame(number, score, sequence[:moves].tolist(), tilts)


@jit
def _digest(field: Words, out: Words) -> None:
    """Write a 128-bit hash of a field into `out` (2,), by which a beam recognises equal fields.

    A collision would cost the beam a board; its result is still a play that is replayed by the rules.
    """
    words = field.reshape(-1)
    one, other, third, fourth = ONE, OTHER, OTHER, ONE
    for place in range(0, len(words) - 1, 2):
        # Four independent chains of multiplications.
        one = (one ^ words[place]) * ONE
        other = (other ^ words[place + 1]) * OTHER
        third = (third + words[place]) * OTHER
        fourth = (fourth + words[place + 1]) * ONE
        one ^= one >> HALF
        other ^= other >> HALF
        third ^= third >> HALF
        fourth ^= fourth >> HALF
    out[0] = (one ^ one >> HALF) * OTHER + other
    out[1] = (third ^ third >> HALF) * ONE + fourth


@jit
def _tilt_all(fields: Words, parents: Array, sides: Bytes, ground: Ground, made: Moved) -> None:
    """Tilt field ``parents[i]`` to ``sides[i]``; write the field, its digest, and its drops to each side."""
    found, digests, right, total = made
    scratch = make_scratch()
    for index in range(len(parents)):
        if sides[index] < SIDES:
            tilt(fields[parents[index]], sides[index], ground, scratch, found[index])
        else:
            found[index] = fields[parents[index]]
        _digest(found[index], digests[index])
        for other in range(SIDES):
            right[index, other], total[index, other] = drops(found[index], ground.holes[other])


@jit
def _best_side(scores: NDArray[np.int64], last: int, ties_at_random: bool, state: Words) -> int:
    """Return the side with the highest score, other than `last`; of equal ones the first, or one at random."""
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
    """Return the most that a tilt to another side than `last` scores."""
    most = 0
    for side in range(SIDES):
        if side != last:
            most = max(most, int(drops(field, holes[side])[0]))
    return most


@jit
def _play(
    start: Words, strategy: int, ties_at_random: bool, state: Words, ground: Ground, sequence: Bytes
) -> tuple[int, int, int]:
    """Play one game into `sequence`; return its score, the moves up to the last that scored, and its tilts."""
    scratch = make_scratch()
    field, after = start.copy(), np.empty_like(start)
    scores = np.zeros(SIDES, dtype=np.int64)
    score, length, tilts, last, waited = 0, 0, 0, -1, 0
    for move in range(len(sequence)):
        if strategy == CYCLE:
            side = move % SIDES
        elif strategy == RANDOM:
            side = int(random_below(state, SIDES if last < 0 else SIDES - 1))
            side += last >= 0 and side >= last
        else:
            for other in range(SIDES):
                scores[other] = drops(field, ground.holes[other])[0]
                if strategy == TWO_STEP and other != last:
                    tilt(field, other, ground, scratch, after)
                    tilts += 1
                    scores[other] += _most_right(after, other, ground.holes)
            # The sample program of the contest also tries the side that the box lies on.
            side = _best_side(scores, -1 if strategy == SAMPLE else last, ties_at_random, state)
        right, total = drops(field, ground.holes[side])
        tilt(field, side, ground, scratch, after)
        field, after = after, field
        tilts += 1
        sequence[move] = side
        score += int(right)
        last, waited = side, 0 if total else waited + 1
        if right:
            length = move + 1
        if waited >= _IDLE_MOVES:
            break
    return score, length, tilts
