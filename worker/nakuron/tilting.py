"""The work of an optimisation of Nakuron in chunks: many fields tilted, or some games played. Pure functions of arrays.

What all chunks share are the arrays of a `Ground`, and after them, for games, the field that they begin with.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puzzles.keys.splitmix import random_words
from puzzles.nakuron.board import MOST_MOVES, random_board
from puzzles.nakuron.ground import Ground, field_of, ground_of
from puzzles.nakuron.kernels import PLANES, SIDES, WORDS, Words, drops
from worker.nakuron.tilting_kernels import CYCLE, GREEDY, RANDOM, TWO_STEP, digest, play, tilt_all

Array = NDArray[Any]
#: The strategies of games, by name.
GAMES = {"cycle": CYCLE, "random": RANDOM, "greedy": GREEDY, "two-step": TWO_STEP}
#: A game ends when nothing has dropped for this many moves.
_IDLE_MOVES = 1_000


class Tilted(NamedTuple):
    """Fields (m, 3, n, 4) after tilts, their digests (m, 2), and what a tilt to each side (m, 4) would drop next."""

    fields: Words
    digests: Words
    right: NDArray[np.int32]
    total: NDArray[np.int32]


class Game(NamedTuple):
    """A game: its number, score, moves up to the last that scored, and how many tilts its strategy took."""

    number: int
    score: int
    sequence: list[int]
    tilts: int


def tilt_fields(fields: Words, parents: Array, sides: Array, ground: Ground) -> Tilted:
    """Each field ``fields[parents[i]]`` tilted to ``sides[i]``."""
    count, size = len(parents), fields.shape[2]
    made = Tilted(
        np.empty((count, PLANES, size, WORDS), dtype=np.uint64), np.empty((count, 2), dtype=np.uint64),
        np.empty((count, SIDES), dtype=np.int32), np.empty((count, SIDES), dtype=np.int32),
    )  # fmt: skip
    walls, exits, holes, bits = ground
    tilt_all(fields, parents, sides, walls, exits, holes, int(bits[0]), *made)
    return made


def first_field(field: Words, ground: Ground) -> Tilted:
    """A field as it is, as the only one."""
    made = np.zeros((1, 2), dtype=np.uint64)
    found = [drops(field, ground.holes[side]) for side in range(SIDES)]
    right, total = (np.array([[pair[which] for pair in found]], dtype=np.int32) for which in range(2))
    digest(field, made[0])
    return Tilted(field[None].copy(), made, right, total)


def tilt_chunk(chunk: Sequence[Array], shared: Sequence[Array]) -> list[Array]:
    """[fields, parents, sides], shared [a ground] -> the arrays of `Tilted`."""
    fields, parents, sides = chunk
    return list(tilt_fields(fields, parents, sides, Ground(*shared)))


def games_request(strategy: str, seed: int, first: int, count: int) -> list[Array]:
    """A request to a worker: games `first` to ``first + count - 1`` of a strategy and seed."""
    return [np.array([GAMES[strategy], seed, first, count], dtype=np.int64)]


def play_chunk(chunk: Sequence[Array], shared: Sequence[Array]) -> list[Array]:
    """[a request], shared [a ground, the first field] -> [the best game's sequence; its figures, all games' tilts]."""
    strategy, seed, first, count = chunk[0].tolist()
    *ground, field = shared
    games = [play_game(strategy, seed, number, Ground(*ground), field) for number in range(first, first + count)]
    best = max(games, key=lambda game: (game.score, -len(game.sequence), -game.number))
    figures = [best.number, best.score, sum(game.tilts for game in games)]
    return [np.array(best.sequence, dtype=np.uint8), np.array(figures, dtype=np.int64)]


def game_answered(result: Sequence[Array]) -> Game:
    """The best game of a result of `play_chunk`, with the tilts of all of them."""
    sequence, figures = result
    number, score, tilts = figures.tolist()
    return Game(number, score, sequence.tolist(), tilts)


def play_game(strategy: int, seed: int, number: int, ground: Ground, field: Words) -> Game:
    """Game `number` of a strategy and seed. In the first one the first of several equal moves is taken."""
    state = np.array([next(random_words((seed << 32) + number))], dtype=np.uint64)
    sequence = np.zeros(MOST_MOVES, dtype=np.uint8)
    walls, exits, holes, bits = ground
    score, moves, tilts = play(
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
