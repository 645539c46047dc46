"""The work of an optimisation of Nakuron in chunks: many fields tilted, or some games played, by kernels on bit planes.

What all chunks share are the arrays of a `Ground`, and after them, for games, the field that they begin with.
"""

import numpy as np

from puzzles.capabilities import Scored
from puzzles.keys.splitmix import random_words
from puzzles.nakuron.board import MOST_MOVES, random_board
from puzzles.nakuron.kernels import PLANES, SIDES, WORDS, Ground, Words, drops, field_of, ground_of
from worker.nakuron.tilting_kernels import GREEDY, digest, tilt_all
from worker.nakuron.tilting_kernels import play as play_one
from worker.plays.moving import Array, Arrays, Game, Moved, best_answer

#: A game ends when nothing has dropped for this many moves.
_IDLE_MOVES = 1_000


def tilt_fields(fields: Words, parents: Array, sides: Array, ground: Ground) -> Moved:
    """Each field ``fields[parents[i]]`` tilted to ``sides[i]``."""
    count, size = len(parents), fields.shape[2]
    made = Moved(
        np.empty((count, PLANES, size, WORDS), dtype=np.uint64), np.empty((count, 2), dtype=np.uint64),
        np.empty((count, SIDES), dtype=np.int32), np.empty((count, SIDES), dtype=np.int32),
    )  # fmt: skip
    walls, exits, holes, bits = ground
    tilt_all(fields, parents, sides, walls, exits, holes, int(bits[0]), *made)
    return made


def first_field(field: Words, ground: Ground) -> Moved:
    """A field as it is, as the only one."""
    made = np.zeros((1, 2), dtype=np.uint64)
    found = [drops(field, ground.holes[side]) for side in range(SIDES)]
    right, total = (np.array([[pair[which] for pair in found]], dtype=np.int32) for which in range(2))
    digest(field, made[0])
    return Moved(field[None].copy(), made, right, total)


def move(puzzle: Scored, chunk: Arrays, shared: Arrays) -> list[Array]:
    """[fields, parents, sides], shared [a ground] -> the arrays of `Moved`; [a field] -> those of this field.

    To the side that a field was tilted to last it has no move: nothing would change.
    """
    fields, *chosen = chunk
    if not chosen:
        return list(first_field(fields[0], Ground(*shared)))
    parents, sides = chosen
    moved = tilt_fields(fields, parents, sides.astype(np.uint8), Ground(*shared))
    moved.takes[np.arange(len(sides)), sides] = -1
    return list(moved)


def play(puzzle: Scored, chunk: Arrays, shared: Arrays) -> list[Array]:
    """[a request], shared [a ground, the first field] -> the best of some games (`worker.plays.moving.best_answer`)."""
    strategy, seed, first, count = chunk[0].tolist()
    *ground, field = shared
    return best_answer(
        [play_game(strategy, seed, number, Ground(*ground), field) for number in range(first, first + count)]
    )


def play_game(strategy: int, seed: int, number: int, ground: Ground, field: Words) -> Game:
    """Game `number` of a strategy and seed. In the first one the first of several equal moves is taken."""
    state = np.array([next(random_words((seed << 32) + number))], dtype=np.uint64)
    sequence = np.zeros(MOST_MOVES, dtype=np.uint8)
    walls, exits, holes, bits = ground
    score, moves, tilts = play_one(
        field, strategy, number > 0, state, MOST_MOVES, _IDLE_MOVES, walls, exits, holes, int(bits[0]), sequence
    )
    return Game(number, score, sequence[:moves].tolist(), tilts)


def load_tilting_kernels() -> None:
    """Bring the kernels from the disk cache into this process, or compile them."""
    board = random_board(2, 1, 1)
    ground, field = ground_of(board), field_of(board)
    tilt_fields(field[None], np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.uint8), ground)
    first_field(field, ground)
    play_game(GREEDY, 1, 0, ground, field)
