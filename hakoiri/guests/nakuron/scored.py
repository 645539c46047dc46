"""Puzzles whose moves score, and plays of them."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import Counts, Key, Keys, ints, key_at
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.pictures import Picture

Scores = NDArray[np.int64]


class ScoredMoves(NamedTuple):
    """The moves of a batch, as in `puzzles.contract.Expansion`, and what each of them scores."""

    successors: Keys
    counts: Counts
    scores: Scores


class Arena(NamedTuple):
    """The input of a beam search: arrays that all chunks share, the board as the one row of an array, its reserve."""

    shared: list[NDArray[Any]]
    first: NDArray[Any]
    reserve: int
    #: The number of games that make a chunk.
    games: int = 1


class Filmed(NamedTuple):
    """A board of a play: the move that led to it in words, the score of that move, and its picture."""

    move: str
    score: int
    picture: Picture


class Scored(Puzzle):
    """A puzzle whose moves score: the best play has the highest sum of scores, then the fewest moves.

    The reserve of a configuration bounds the score still possible. A move lowers the reserve by at least its score and
    never raises it: so no play scores for ever, and the best one is a shortest path.
    """

    #: The play to which an exhausted search leads.
    conclusion = "hakoiri.guests.nakuron.best_play:best_play"
    #: The implementation of moves for a beam: `worker.tasks.TASKS` has a row for it.
    mover: ClassVar[str] = "keys"
    #: The names of strategies that play one game after another (the task ``play``).
    games: ClassVar[tuple[str, ...]] = ()
    #: Those among them whose games are all the same.
    fixed_games: ClassVar[tuple[str, ...]] = ()
    #: `arena` and `replay` take boards, too, that have no keys.
    large_boards: ClassVar[bool] = False
    #: The most moves of a play.
    most_moves: ClassVar[int] = 30_000

    @abstractmethod
    def score(self, before: Key, after: Key) -> int:
        """Return the score of a move, in plain Python; if several moves lead from one to the other, the most."""

    @abstractmethod
    def reserve(self, key: Key) -> int:
        """An upper bound on what can still be scored."""

    def scored(self, keys: Keys) -> ScoredMoves:
        """Return the moves of a batch with their scores. Override it, as `expand`, with a kernel."""
        expansion = self.expand(keys)
        before = [key for key, count in zip(ints(keys), expansion.counts.tolist(), strict=True) for _ in range(count)]
        scores = [self.score(*move) for move in zip(before, ints(expansion.successors), strict=True)]
        return ScoredMoves(*expansion, np.array(scores, dtype=np.int64))

    def reserves(self, keys: Keys) -> Scores:
        return np.array([self.reserve(key) for key in ints(keys)], dtype=np.int64)

    def write_play(self, path: Sequence[Key]) -> str:
        """Return a play as a text: for each move its index in `scored`, of several moves that of the highest score."""
        numbers = []
        for before, after in pairwise(path):
            moves = self.scored(self.keys([before]))
            scored = enumerate(zip(ints(moves.successors), moves.scores.tolist(), strict=True))
            numbers.append(-max((score, -number) for number, (key, score) in scored if key == after)[1])
        return " ".join(map(str, numbers))

    def spell(self, moves: Sequence[int]) -> str:
        """Return a play, as `write_play` does, from the indices of its moves."""
        return " ".join(map(str, moves))

    @classmethod
    def tidy_board(cls, text: str) -> str:
        """Return the canonical text of a board, if there are `large_boards`; `ConfigurationError` for other texts."""
        return text

    def arena(self, start: str | None = None) -> Arena:
        """Return the start, or another board, for a beam."""
        key = self.start if start is None else self.parse(start)
        return Arena([], self.keys([key]).astype(np.uint64).reshape(1, -1), self.reserve(key))

    def bound(self, start: str | None = None, check: Callable[[], None] | None = None) -> int:
        """Return an upper bound of all plays of the start, or another board: always the same, within seconds.

        `check` is called often, if it is given; what it raises ends the search.
        """
        return self.arena(start).reserve

    def replay(self, play: str, start: str | None = None) -> int:
        """Return the score of a play by the reference rules; `PuzzleError` for a move that does not exist."""
        return sum(score for _, score in self._replayed(play, start))

    def filmed(self, play: str, start: str | None = None) -> Iterator[Filmed]:
        """Yield the boards of a play by the reference rules, its start first; made on demand."""
        path = [self.start if start is None else self.parse(start)]
        yield Filmed("start", 0, self.picture(path[0]))
        for key, score in self._replayed(play, start):
            path = [path[-1], key]
            yield Filmed(self.describe_move(*path), score, self.pictures(path)[-1])

    def _replayed(self, play: str, start: str | None) -> Iterator[tuple[Key, int]]:
        """Yield the configuration after each move of a play, and the score of the move."""
        key = self.start if start is None else self.parse(start)
        for place, word in enumerate(play.split(), 1):
            moves = self.scored(self.keys([key])).successors
            number = int(word) if re.fullmatch("[0-9]{1,9}", word) else -1
            after = key_at(moves, number) if 0 <= number < len(moves) else -1
            if after not in self.successors(key):
                raise PuzzleError(f"move {place} of the play, {word[:20]!r}, is not a legal move")
            score, key = self.score(key, after), after
            yield key, score
