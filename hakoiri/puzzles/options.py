"""The kinds of options of a puzzle: the values that each allows, its default; and the range of seeds."""

from dataclasses import dataclass

from hakoiri.errors import PuzzleError, did_you_mean


@dataclass(frozen=True)
class Choice:
    """One of some words, the first by default."""

    values: tuple[str, ...]

    @property
    def default(self) -> str:
        return self.values[0]

    def check(self, value: str) -> str:
        if value not in self.values:
            raise PuzzleError(f"expected {self.describe()}{did_you_mean(value, self.values)}")
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

    def check(self, value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            number = self.least - 1
        if not self.least <= number <= self.most:
            raise PuzzleError(f"expected a whole number in {self.describe()}")
        return number

    def describe(self) -> str:
        return f"{self.least}..{self.most}"


@dataclass(frozen=True)
class Text:
    """Any text, which the puzzle itself checks. `what` describes it in lists."""

    default: str = ""
    what: str = "any text"

    def check(self, value: str) -> str:
        return value

    def describe(self) -> str:
        return self.what


#: An option's allowed values: the default, a `check` of a user's value (or a `PuzzleError`), and a description.
Option = Choice | Number | Text


#: Seeds up to this share nothing: a stream of chance is begun with seed * 2^32 + number (`hakoiri.keys.splitmix`).
MOST_SEED = (1 << 32) - 1
