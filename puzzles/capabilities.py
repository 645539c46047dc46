"""What a puzzle can do beyond the contract: it says so by its base class, and no engine asks for a puzzle by name.

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

from hakoiri.puzzles.contract import Expansion, Number, Puzzle
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.keys.layout import Counts, Key, Keys, ints, key_at
from hakoiri.puzzles.keys.numbering import Placings
from hakoiri.puzzles.pictures.shapes import Picture

Scores = NDArray[np.int64]


class ScoredMoves(NamedTuple):
    """The moves of a batch, as in `puzzles.contract.Expansion`, and what each of them scores."""

    successors: Keys
    counts: Counts
    scores: Scores


class Arena(NamedTuple):
    """What a beam plays on: arrays that all chunks share, the board as the one row of an array, its reserve."""

    shared: list[NDArray[Any]]
    first: NDArray[Any]
    reserve: int
    #: How many games are worth a chunk.
    games: int = 1


class Filmed(NamedTuple):
    """A board of a play: the move that led to it in words, what that scored, its picture."""

    move: str
    score: int
    picture: Picture


class Scored(Puzzle):
    """Moves score: the best play has the highest sum of scores, then the fewest moves.

    The reserve of a configuration bounds what is still to be had. A move lowers the reserve
    by at least its score and never raises it: so no play scores for ever, and the best one is a shortest path.
    """

    #: How boards are moved on by a beam: a name of a table in `worker.tasks`.
    mover: ClassVar[str] = "keys"
    #: The names of strategies that play one game after another (the task ``play``).
    games: ClassVar[tuple[str, ...]] = ()
    #: Those among them whose games are all the same.
    fixed_games: ClassVar[tuple[str, ...]] = ()
    #: `arena` and `replay` take boards, too, that have no keys.
    large_boards: ClassVar[bool] = False
    #: A play has no more moves.
    most_moves: ClassVar[int] = 30_000

    @abstractmethod
    def score(self, before: Key, after: Key) -> int:
        """What a move scores, in plain Python; where several lead from one to the other, the most."""

    @abstractmethod
    def reserve(self, key: Key) -> int:
        """An upper bound on what can still be scored."""

    def scored(self, keys: Keys) -> ScoredMoves:
        """The moves of a batch with their scores. Override it, as `expand`, with a kernel."""
        expansion = self.expand(keys)
        before = [key for key, count in zip(ints(keys), expansion.counts.tolist(), strict=True) for _ in range(count)]
        scores = [self.score(*move) for move in zip(before, ints(expansion.successors), strict=True)]
        return ScoredMoves(*expansion, np.array(scores, dtype=np.int64))

    def reserves(self, keys: Keys) -> Scores:
        return np.array([self.reserve(key) for key in ints(keys)], dtype=np.int64)

    def write_play(self, path: Sequence[Key]) -> str:
        """A play as a text: for each move its place among those of `scored`, of several the one that scores most."""
        return " ".join(str(self._number_of(*move)) for move in pairwise(path))

    def _number_of(self, before: Key, after: Key) -> int:
        moves = self.scored(self.keys([before]))
        leading = [number for number, key in enumerate(ints(moves.successors)) if key == after]
        return max(leading, key=lambda number: (int(moves.scores[number]), -number))

    def spell(self, moves: Sequence[int]) -> str:
        """A play as `write_play` has it, from the numbers of its moves."""
        return " ".join(map(str, moves))

    @classmethod
    def tidy_board(cls, text: str) -> str:
        """Where there are `large_boards`: the one text of a board; `ConfigurationError` for one that is none."""
        return text

    def arena(self, start: str | None = None) -> Arena:
        """The start, or another board, for a beam."""
        key = self.start if start is None else self.parse(start)
        return Arena([], self.keys([key]).astype(np.uint64).reshape(1, -1), self.reserve(key))

    def bound(self, start: str | None = None) -> int:
        """No play of the start, or another board, scores more: always the same number, proved within seconds."""
        return self.arena(start).reserve

    def replay(self, play: str, start: str | None = None) -> int:
        """The score of what `write_play` gave, by the reference rules; `PuzzleError` for a move that does not exist."""
        return sum(score for _, score in self._replayed(play, start))

    def filmed(self, play: str, start: str | None = None) -> Iterator[Filmed]:
        """The boards of a play by the reference rules, its start first; made as they are asked for."""
        path = [self.start if start is None else self.parse(start)]
        yield Filmed("start", 0, self.picture(path[0]))
        for key, score in self._replayed(play, start):
            path = [path[-1], key]
            yield Filmed(self.describe_move(*path), score, self.pictures(path)[-1])

    def _replayed(self, play: str, start: str | None) -> Iterator[tuple[Key, int]]:
        """Where each move of a play leads, and what it scores."""
        key = self.start if start is None else self.parse(start)
        for place, word in enumerate(play.split(), 1):
            moves, number = self.scored(self.keys([key])).successors, int(word) if word.isdigit() else -1
            after = key_at(moves, number) if 0 <= number < len(moves) else -1
            if after not in self.successors(key):
                raise PuzzleError(f"move {place} of the play is {word[:20]!r}: there is no such move")
            score, key = self.score(key, after), after
            yield key, score


#: Breadth first; depth first; all positions for a longest solution; depth first without memory of positions.
SearchOrder = Literal["bfs", "dfs", "longest", "tree"]
#: With which goals a search of a deal may end: none before everything is seen, the first, the fixed one, or both.
Until = Literal["exhausted", "goal", "fixed", "both"]
#: Which goal: the first of all goals met, or the fixed one of a puzzle that distinguishes one.
Convention = Literal["first", "fixed"]
#: Some small numbers, whose meaning is the puzzle's (`Dealt.follow`).
Move = tuple[int, ...]


class Dealt(Puzzle):
    """Its starts come as deals. A deal is a text that `parse` accepts; random deals are numbered per seed."""

    #: The option, a `Number`, that says how large a deal is; empty where the start decides that.
    size_option: ClassVar[str] = ""
    #: How deals are solved in memory, and how a hunt walks among them: a name of the tables in `worker.tasks`.
    solver: ClassVar[str] = "layers"
    walker: ClassVar[str] = "deals"
    orders: ClassVar[tuple[SearchOrder, ...]] = ("bfs",)
    #: When the search of a study ends, and by which goals it tells deals apart, each with what it is called.
    until: ClassVar[Until] = "goal"
    goal_names: ClassVar[Mapping[Convention, str]] = MappingProxyType({"first": "the goal"})
    #: How many lines each deal has in a text of deals, where none of them holds a ``/``.
    rows_of_deal: ClassVar[int] = 1
    #: Redundant moves of solutions found depth first can be recognised (`worker.solitaires.shortening`).
    shortens: ClassVar[bool] = False
    #: `varied` is defined, so that deals can be hunted for; and `grown`, so that a hunt begins with smaller ones.
    hunted: ClassVar[bool] = False
    grows: ClassVar[bool] = False
    #: Whatever a deal leads to is a deal, too, and leads back: a hunt for moves takes the hardest of all of these.
    judged_together: ClassVar[bool] = False

    @classmethod
    def sizes(cls) -> Number:
        """How large a deal may be."""
        allowed = cls.options.get(cls.size_option)
        if not isinstance(allowed, Number):
            raise PuzzleError(f"{cls.name}: size_option is {cls.size_option!r}, and no option of that name is a Number")
        return allowed

    @property
    def size(self) -> int:
        """How large a deal is here; 0 where there are no sizes."""
        return int(self.parameters[self.size_option]) if self.size_option else 0

    @property
    def convention(self) -> Convention:
        """Which goal a solution leads to, by the options."""
        return "first"

    def sized(self, size: int) -> Self:
        """The same puzzle with deals of another size."""
        return self if size == self.size else type(self)({**self.parameters, self.size_option: str(size)})

    @abstractmethod
    def random_deal(self, seed: int, number: int) -> str:
        """Deal `number` of a seed, the same on every machine (`puzzles.keys.splitmix.random_words`)."""

    def start_of_deal(self, seed: int, number: int) -> Key:
        """The configuration that `random_deal` begins with."""
        return self.parse(self.random_deal(seed, number))

    def tidy_deal(self, text: str) -> str:
        """The one text of a deal; `ConfigurationError` for a text that is no deal."""
        return self.render(self.parse(text))

    def follow(self, start: Key, moves: Sequence[Move]) -> list[Key]:
        """The configurations that a solver's moves lead through: by default the places among the `successors`."""
        path = [start]
        for (place,) in moves:
            path.append(self.successors(path[-1])[place])
        return path

    def varied(self, deal: str, word: int) -> str:
        """A deal that differs a little from another, as a random word of 64 bits decides."""
        raise PuzzleError(f"{self.name} has no deals to hunt for")

    def grown(self, deal: str, word: int) -> str:
        """A deal of one size more with this one in it, as a random word decides."""
        raise PuzzleError(f"the deals of {self.name} do not grow")


class Family(Puzzle):
    """Other starts make other puzzles of the same rules; their whole spaces are studied together."""

    @abstractmethod
    def member(self, start: str, goal: str = "") -> Self:
        """The puzzle of another start, with a goal of its own."""

    @abstractmethod
    def images(self, keys: Keys) -> list[Keys]:
        """Their images by symmetries of the moves that undo themselves, one batch for each but the identity."""


class SizedMember(NamedTuple):
    """One of the puzzles of a size: its options, and its place in a `series` of alike ones (empty: the only one)."""

    options: dict[str, str]
    place: int
    series: str = ""


class Sized(Puzzle):
    """Options say how large it is: tables go through the sizes."""

    #: The options that `members` sets.
    size_options: ClassVar[tuple[str, ...]] = ("n",)

    @classmethod
    def members(cls, size: int) -> list[SizedMember]:
        """The puzzles of a size; none where there is none. Here those of the one option."""
        (option,) = cls.size_options
        allowed = cls.options[option]
        if isinstance(allowed, Number) and allowed.least <= size <= allowed.most:
            return [SizedMember({option: str(size)}, size)]
        return []


class SubtreeCounts(NamedTuple):
    """What grows on some subtrees.

    `solutions` counts all, those too that a search leaves out as images of others; `orbits` counts them up to the
    symmetries of the figure, and `classes` up to all automorphisms. `nodes` counts the numbers placed below
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
    #: How many images each solution has by the symmetries of the figure, itself included, and by all automorphisms.
    symmetries: int
    automorphisms: int

    @abstractmethod
    def count_subtrees(self, keys: Keys) -> SubtreeCounts:
        """What grows on the subtrees below `keys`, all of one level. Releases the GIL while it counts."""

    @abstractmethod
    def exceeds(self, keys: Keys, nodes: int) -> bool:
        """Whether more than `most` numbers are placed below some of `keys`; takes no longer than needed to see that."""

    @abstractmethod
    def reference_counts(self, key: Key) -> SubtreeCounts:
        """The same for one subtree in plain Python, from `successors`."""

    @abstractmethod
    def numbers_placed(self, level: int) -> int:
        """How many numbers the step to this level places."""

    @abstractmethod
    def images(self, key: Key) -> list[Key]:
        """The images of a solution by the symmetries of the figure, in increasing order."""

    def faults(self, key: Key) -> list[str]:
        """Why a placing leads to no solution, a sentence for each reason that is seen."""
        return []

    @abstractmethod
    def placings(self, keys: Keys) -> Placings:
        """Which number stands on which point, shape (keys, points), uint8; 0 for none."""

    @abstractmethod
    def drawing(self, key: Key) -> str:
        """The figure with its numbers, in lines of text."""


class Quotient(Puzzle):
    """The classes of alike configurations of `base`, each named by one of its members."""

    base: Puzzle

    @abstractmethod
    def lift(self, path: list[Key], start: Key) -> list[Key]:
        """A path of `base` from `start` whose classes are those of `path`; `start` belongs to the first class."""


class Reversible(Puzzle):
    """A directed puzzle with moves backwards: `retract` is to `predecessors` what `expand` is to `successors`.

    All predecessors count that are configurations, whether a start reaches them or not.
    """

    #: No configuration has more predecessors than this.
    most_predecessors: int

    @abstractmethod
    def retract(self, keys: Keys) -> Expansion:
        """All predecessors of a batch: those of its first key, then of its second, and so on."""

    @abstractmethod
    def predecessors(self, key: Key) -> list[Key]:
        """The predecessors of one key in plain Python: the reference for `retract`."""
