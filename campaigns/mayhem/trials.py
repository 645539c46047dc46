"""The parts of the campaign, their trials, and the books of finished trials, a line of JSON each."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import ClassVar, NamedTuple

from campaigns.books import Books


@dataclass(frozen=True)
class Trial:
    """A trial. Its number decides the case, and with the seed all that is random in it."""

    part: str
    number: int
    seed: int

    @property
    def name(self) -> str:
        """As ``--only`` takes it."""
        return f"{self.part}:{self.number}"

    @property
    def folder(self) -> str:
        """The name of its folder; a colon would part two paths."""
        return f"{self.part}-{self.number}"

    def chance(self) -> Random:
        """The same for the same trial, always."""
        return Random(f"{self.seed}:{self.name}")


@dataclass
class Outcome:
    """The outcome of a trial: its case, its counts, each promise of Hakoiri that was not kept, and refusals."""

    case: str
    figures: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


class ImpossibleError(Exception):
    """This machine has not what a trial needs: it is left out, and not written down."""


class Measure(NamedTuple):
    """A figure of trials in words: all of them are added, or the `most`, or the `middle` one above 0, is told."""

    words: str
    most: bool = False
    middle: bool = False


#: Measures of several parts.
TWICE, REQUESTS = {"twice": Measure("made twice")}, {"requests": Measure("requests")}
WAITED = {"waited": Measure("seconds another client waited", most=True)}


class Part(ABC):
    """A kind of mayhem.

    `usual` is how many trials make a campaign, `short` has the numbers of those that go into CI. A case is made of as
    many names, joined by `` / ``, as there are `headings`.
    """

    name: ClassVar[str]
    text: ClassVar[str]
    headings: ClassVar[tuple[str, ...]]
    measures: ClassVar[Mapping[str, Measure]]
    crossed: ClassVar[str] = ""
    usual: ClassVar[int]
    short: ClassVar[Sequence[int]]

    def __init__(self, place: Path) -> None:
        self.place = place

    @abstractmethod
    def run(self, trial: Trial) -> Outcome:
        """Do it below the trial's folder; whatever it starts for this trial alone is ended on return."""

    def case_of(self, number: int) -> str:
        """The case of a trial, where its number says that before it is done; else empty."""
        return ""

    def close(self) -> None:  # noqa: B027  (most share nothing that has to be ended)
        """End what trials share."""


def pair_of(number: int, firsts: Iterable[str], seconds: Iterable[str]) -> str:
    """The case of a trial number where every pair of names is a case."""
    first, second = [*firsts], [*seconds]
    return f"{first[number % len(first)]} / {second[number // len(first) % len(second)]}"


class TrialBooks(Books):
    """The results file: a trial that is in it is not done again."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "part", "number", "seed")
        #: Where the files of trials are kept in which a promise was not.
        self.kept = path.with_suffix(".kept")
