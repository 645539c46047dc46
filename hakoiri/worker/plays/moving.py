"""Chunks of an optimisation: boards moved on, or some games played. Pure functions of arrays.

All chunks share the arrays of a `puzzles.scored.Arena`. Boards are keys here, as words of 64 bits.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.scored import Scored
from hakoiri.worker.errors import PayloadError, TaskError

Array = NDArray[Any]
Arrays = Sequence[Array]
_DIGEST_WORDS = 2
_MIXER, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


class Moved(NamedTuple):
    """Boards (m, ...), digests of 128 bits (m, 2), and the score and the cost in reserve of each move (m, moves).

    `takes` is -1 for a move that does not exist.
    """

    boards: Array
    digests: NDArray[np.uint64]
    gains: NDArray[np.int32]
    takes: NDArray[np.int32]


class PlayedGame(NamedTuple):
    """A game: its number, score, moves up to the last that scored, and the number of moves that its strategy tried."""

    number: int
    score: int
    sequence: list[int]
    tried: int


def move(puzzle: Scored, chunk: Arrays, shared: Arrays) -> list[Array]:
    """[boards, parents, moves] -> the arrays of `Moved`, of each board that move ``moves[i]`` leads to.

    [boards] alone -> those of these boards.
    """
    boards, *chosen = chunk
    keys = boards.astype(puzzle.layout.dtype).reshape(-1, *([puzzle.layout.words] if puzzle.layout.words > 1 else []))
    if not puzzle.are_keys(keys).all():
        raise TaskError(f"the boards of a chunk are not configurations of {puzzle.name}")
    if chosen:
        parents, moves = chosen
        found = puzzle.scored(keys)
        begins = np.cumsum(found.counts, dtype=np.int64) - found.counts
        keys = found.successors[begins[parents] + moves]
    return list(_looked_at(puzzle, keys))


def _looked_at(puzzle: Scored, keys: Keys) -> Moved:
    found, reserves = puzzle.scored(keys), puzzle.reserves(keys)
    owners = np.repeat(np.arange(len(keys)), found.counts)
    places = np.arange(len(owners)) - np.repeat(np.cumsum(found.counts, dtype=np.int64) - found.counts, found.counts)
    gains, takes = (np.full((len(keys), puzzle.most_successors), fill, dtype=np.int32) for fill in (0, -1))
    gains[owners, places] = found.scores
    takes[owners, places] = reserves[owners] - puzzle.reserves(found.successors)
    words = keys.astype(np.uint64, copy=False).reshape(len(keys), puzzle.layout.words)
    return Moved(words, _digests(words), gains, takes)


def _digests(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the words themselves, or a hash of them if there are more than two."""
    digests = np.zeros((len(words), _DIGEST_WORDS), dtype=np.uint64)
    for number, word in enumerate(words.T):
        mixed = digests[:, number % _DIGEST_WORDS] * _MIXER
        digests[:, number % _DIGEST_WORDS] = (mixed ^ mixed >> _HALF) + word
    return digests


def games_request(strategy: int, seed: int, first: int, count: int) -> list[Array]:
    """Return the request for games `first` to ``first + count - 1`` of a strategy, by number, and a seed."""
    return [np.array([strategy, seed, first, count], dtype=np.int64)]


def best_answer(games: Sequence[PlayedGame]) -> list[Array]:
    """Return the best of some games as arrays, with the number of moves tried in all of them."""
    best = max(games, key=lambda game: (game.score, -len(game.sequence), -game.number))
    figures = [best.number, best.score, sum(game.tried for game in games)]
    return [np.array(best.sequence, dtype=np.uint16), np.array(figures, dtype=np.int64)]


def best_answered(result: Arrays) -> PlayedGame:
    """The inverse of `best_answer`; `PayloadError` for arrays of another shape."""
    try:
        sequence, figures = result
        number, score, tried = figures.tolist()
    except (TypeError, ValueError) as error:
        raise PayloadError(f"a message of a worker is not readable: {error}") from error
    return PlayedGame(number, score, sequence.tolist(), tried)
