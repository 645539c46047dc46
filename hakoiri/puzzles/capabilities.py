"""Capabilities of puzzles beyond the contract, each a base class; engines never test for a puzzle by name.

``Scored``      its moves score: a finished run has a best play
``Dealt``       its starts come as deals: they are solved in memory, studied by the thousand, hunted for hard ones
``Family``      other starts make other puzzles of it: their whole spaces are studied together
``Sized``       options say how large it is: tables of its layers and diameters go through the sizes
``Placements``  its solutions grow on a tree of partial placings: they are counted, subtree by subtree
``Quotient``    it is another puzzle whose mirror images are taken as one
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import Counts, Key, Keys, Placings, ints, key_at
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.options import Number
from hakoiri.puzzles.pictures import Picture

#: Breadth first; depth first; all positions for a longest solution; depth first without memory of positions.
SearchOrder = Literal["bfs", "dfs", "longest", "tree"]
#: The goals after which a search of a deal may end: none before it is exhausted, the first, the fixed one, or both.
Until = Literal["exhausted", "goal", "fixed", "both"]
#: The first of all goals met, or the fixed one of a puzzle that distinguishes one.
Convention = Literal["first", "fixed"]
#: Some small numbers, whose meaning is the puzzle's (`Dealt.follow`).
Move = tuple[int, ...]


class Dealt(Puzzle):
    """A puzzle whose starts come as deals: texts that `parse` accepts. Random deals are numbered per seed."""

    #: The option, a `Number`, that holds the size of a deal; empty if the start decides that.
    size_option: ClassVar[str] = ""
    #: The solver of deals in memory, and the walker of a hunt: names of the tables in `worker.tasks`.
    solver: ClassVar[str] = "layers"
    walker: ClassVar[str] = "deals"
    orders: ClassVar[tuple[SearchOrder, ...]] = ("bfs",)
    #: The end of a study's search, and the goals by which it distinguishes deals, each with its name.
    until: ClassVar[Until] = "goal"
    goal_names: ClassVar[Mapping[Convention, str]] = MappingProxyType({"first": "the goal"})
    #: The number of lines of each deal in a text of deals that contains no ``/``.
    rows_of_deal: ClassVar[int] = 1
    #: Redundant moves of solutions found depth first can be recognised (`worker.solitaires.shortening`).
    shortens: ClassVar[bool] = False
    #: `varied` is defined, so that deals can be hunted for; and `grown`, so that a hunt begins with smaller ones.
    hunted: ClassVar[bool] = False
    grows: ClassVar[bool] = False
    #: All positions of a deal are deals, too, and lead back to it: a hunt for moves takes the hardest of all of these.
    judged_together: ClassVar[bool] = False

    @classmethod
    def sizes(cls) -> Number:
        """Return the allowed sizes of a deal."""
        allowed = cls.options.get(cls.size_option)
        if not isinstance(allowed, Number):
            raise PuzzleError(f"{cls.name}: size_option is {cls.size_option!r}, and no option of that name is a Number")
        return allowed

    @property
    def size(self) -> int:
        """The size of a deal here; 0 if there are no sizes."""
        return int(self.parameters[self.size_option]) if self.size_option else 0

    @property
    def convention(self) -> Convention:
        """The goal to which a solution leads, by the options."""
        return "first"

    def sized(self, size: int) -> Self:
        """Return the same puzzle with deals of another size."""
        return self if size == self.size else type(self)({**self.parameters, self.size_option: str(size)})

    @abstractmethod
    def random_deal(self, seed: int, number: int) -> str:
        """Return deal `number` of a seed, the same on every machine (`hakoiri.keys.splitmix.random_words`)."""

    def start_of_deal(self, seed: int, number: int) -> Key:
        """The configuration that `random_deal` begins with."""
        return self.parse(self.random_deal(seed, number))

    def tidy_deal(self, text: str) -> str:
        """Return the canonical text of a deal; `ConfigurationError` if the text is not a deal."""
        return self.render(self.parse(text))

    def follow(self, start: Key, moves: Sequence[Move]) -> list[Key]:
        """Return the configurations along a solver's moves: by default these are indices among the `successors`."""
        path = [start]
        for (place,) in moves:
            path.append(self.successors(path[-1])[place])
        return path

    def varied(self, deal: str, word: int) -> str:
        """Return a deal that differs a little from another, determined by a random word of 64 bits."""
        raise PuzzleError(f"{self.name} does not support hunts")

    def grown(self, deal: str, word: int) -> str:
        """Return a deal of the next size that contains this one, determined by a random word."""
        raise PuzzleError(f"the deals of {self.name} cannot be enlarged")


class Family(Puzzle):
    """A puzzle of which other starts make other puzzles of the same rules; their whole spaces are studied together."""

    #: The options name pieces of the start, so they mean nothing for another start.
    names_pieces: bool = False

    @abstractmethod
    def member(self, start: str, goal: str = "") -> Self:
        """Return the puzzle of another start, with a goal of its own."""

    @abstractmethod
    def images(self, keys: Keys) -> list[Keys]:
        """Return images of keys by self-inverse symmetries of the moves, one batch for each but the identity."""


class SizedMember(NamedTuple):
    """One of the puzzles of a size: its options, and its place in a `series` of similar ones (empty: the only one)."""

    options: dict[str, str]
    place: int
    series: str = ""


class Sized(Puzzle):
    """A puzzle whose options set its size: tables go through the sizes."""

    #: The options that `members` sets.
    size_options: ClassVar[tuple[str, ...]] = ("n",)

    @classmethod
    def members(cls, size: int) -> list[SizedMember]:
        """Return the puzzles of a size, perhaps none. By default that of the single size option."""
        (option,) = cls.size_options
        allowed = cls.options[option]
        if isinstance(allowed, Number) and allowed.least <= size <= allowed.most:
            return [SizedMember({option: str(size)}, size)]
        return []


class SubtreeCounts(NamedTuple):
    """The result of counting some subtrees.

    `solutions` counts all solutions, including those that a search leaves out as images of others. `orbits` counts them
    up to the symmetries of the figure, and `classes` up to all automorphisms. `nodes` counts the numbers placed below
    the roots. `found` holds the least image of one solution of each orbit, distinct, in no order.
    """

    solutions: int
    orbits: int
    classes: int
    nodes: int
    found: Keys


class Placements(Puzzle):
    """A puzzle whose configurations are partial placings; those of the last level that are goals are its solutions.

    `successors` and `expand` lead one level deeper, never to the same placing twice; the keys of a batch are of one
    level. Where a strategy leaves out images, every orbit must be met once, in whatever subtree. Nodes are counted by
    the numbers placed: a step that places two numbers counts two, and a number that is tried and refused at once
    counts nothing.
    """

    undirected = False
    levels: int  # below the start, that of the solutions included
    keeps: bool  # solutions are stored, not only counted
    #: The number of images of each solution by the symmetries of the figure, itself included, and by all automorphisms.
    symmetries: int
    automorphisms: int

    @abstractmethod
    def count_subtrees(self, keys: Keys) -> SubtreeCounts:
        """Count the subtrees below `keys`, all of one level. Releases the GIL meanwhile."""

    @abstractmethod
    def exceeds(self, keys: Keys, nodes: int) -> bool:
        """Return whether more than `nodes` numbers are placed below some of `keys`; stops as soon as that is known."""

    @abstractmethod
    def reference_counts(self, key: Key) -> SubtreeCounts:
        """Count one subtree as `count_subtrees` does, in plain Python, from `successors`."""

    @abstractmethod
    def numbers_placed(self, level: int) -> int:
        """Return the number of numbers that the step to this level places."""

    @abstractmethod
    def images(self, key: Key) -> list[Key]:
        """The images of a solution by the symmetries of the figure, in increasing order."""

    def faults(self, key: Key) -> list[str]:
        """Return the reasons known why a placing leads to no solution, a sentence for each."""
        return []

    @abstractmethod
    def placings(self, keys: Keys) -> Placings:
        """Return the number on each point, shape (keys, points), uint8; 0 for none."""

    @abstractmethod
    def drawing(self, key: Key) -> str:
        """The figure with its numbers, in lines of text."""


class Quotient(Puzzle):
    """The classes of equivalent configurations of `base`, each named by one of its members."""

    base: Puzzle

    @abstractmethod
    def lift(self, path: list[Key], start: Key) -> list[Key]:
        """A path of `base` from `start` whose classes are those of `path`; `start` belongs to the first class."""


class Reversible(Puzzle):
    """A directed puzzle with moves backwards: `unmove` is to `predecessors` as `expand` is to `successors`.

    Predecessors are all configurations with a move to the key, even if no start reaches them.
    """

    #: No configuration has more predecessors than this.
    most_predecessors: int

    @abstractmethod
    def unmove(self, keys: Keys) -> Expansion:
        """Return all predecessors of a batch: those of its first key, then of its second, and so on."""

    @abstractmethod
    def predecessors(self, key: Key) -> list[Key]:
        """The predecessors of one key in plain Python: the reference for `unmove`."""


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

    #: The implementation of moves for a beam: a name of a table in `worker.tasks`.
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

    def bound(self, start: str | None = None) -> int:
        """Return an upper bound of all plays of the start, or another board: always the same, within seconds."""
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
            moves, number = self.scored(self.keys([key])).successors, int(word) if word.isdigit() else -1
            after = key_at(moves, number) if 0 <= number < len(moves) else -1
            if after not in self.successors(key):
                raise PuzzleError(f"move {place} of the play, {word[:20]!r}, is not a legal move")
            score, key = self.score(key, after), after
            yield key, score
