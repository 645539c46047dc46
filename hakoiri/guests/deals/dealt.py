"""Puzzles whose starts come as deals, and those whose starts make other puzzles of the same rules."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Literal, Self

from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.options import Number

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

    start_word = "DEAL"
    #: The option, a `Number`, that holds the size of a deal; empty if the start decides that.
    size_option: ClassVar[str] = ""
    #: The solver of deals in memory, and the walker of a hunt: names of the tables in `guests.deals.tasks`.
    solver: ClassVar[str] = "layers"
    walker: ClassVar[str] = "deals"
    figures_apart = "hakoiri.guests.deals.tasks:figures_apart"
    orders: ClassVar[tuple[SearchOrder, ...]] = ("bfs",)
    #: The end of a study's search, and the goals by which it distinguishes deals, each with its name.
    until: ClassVar[Until] = "goal"
    goal_names: ClassVar[Mapping[Convention, str]] = MappingProxyType({"first": "the goal"})
    #: The number of lines of each deal in a text of deals that contains no ``/``.
    rows_of_deal: ClassVar[int] = 1
    #: Redundant moves of solutions found depth first can be recognised (`guests.deals.shortening`).
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
