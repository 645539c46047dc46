"""What an option of a puzzle may be: one of some words, a whole number between limits, or a text of its own kind."""

from dataclasses import dataclass
from typing import Protocol

from puzzles.errors import PuzzleError


class Option(Protocol):
    """One option: its default, and the text that a user's value becomes in a run's pinned parameters."""

    @property
    def default(self) -> str:
        """The value where the user gives none."""

    def check(self, value: str) -> str:
        """The value in its one pinned form; `PuzzleError` that says what is allowed."""

    def describe(self) -> str:
        """What is allowed, for lists and errors."""


@dataclass(frozen=True)
class Choice:
    """One of some words, the first by default."""

    values: tuple[str, ...]

    @property
    def default(self) -> str:
        return self.values[0]

    def check(self, value: str) -> str:
        if value not in self.values:
            raise PuzzleError(f"allowed are {self.describe()}")
        return value

    def describe(self) -> str:
        return "|".join(self.values)


@dataclass(frozen=True)
class Number:
    """A whole number between two limits, both included."""

    usual: int
    least: int
    most: int

    @property
    def default(self) -> str:
        return str(self.usual)

    def check(self, value: str) -> str:
        try:
            number = int(value)
        except ValueError:
            number = self.least - 1
        if not self.least <= number <= self.most:
            raise PuzzleError(f"allowed are whole numbers {self.describe()}")
        return str(number)

    def describe(self) -> str:
        return f"{self.least}..{self.most}"


@dataclass(frozen=True)
class Text:
    """Any text, by default none; the puzzle itself says what is wrong with it. `what` describes it in lists."""

    what: str
    default: str = ""

    def check(self, value: str) -> str:
        return value

    def describe(self) -> str:
        return self.what
