"""What a part of the campaign is, and the books that are kept of its trials: a line of JSON for each that is over."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple


@dataclass(frozen=True)
class Trial:
    """What is tried: the number settles the case, and with the seed all that chance decides in it."""

    part: str
    number: int
    seed: int

    @property
    def name(self) -> str:
        """As ``--only`` takes it."""
        return f"{self.part}:{self.number}"

    def chance(self) -> Random:
        """The same for the same trial, always."""
        return Random(f"{self.seed}:{self.name}")


@dataclass
class Outcome:
    """What came of a trial: its case, what was counted, and each promise of Hakoiri that was not kept."""

    case: str
    figures: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


class ImpossibleError(Exception):
    """This machine has not what a trial needs: it is left out, and not written down."""


class Measure(NamedTuple):
    """A figure of trials in words: all of them are added, or it says how bad one was and the `most` is told."""

    words: str
    most: bool = False


class Part(ABC):
    """A kind of mayhem.

    `usual` is how many trials make a campaign, `short` has the numbers of those that go into CI. A case is made of as
    many names, joined by `` / ``, as there are `headings`.
    """

    name: ClassVar[str]
    text: ClassVar[str]
    headings: ClassVar[tuple[str, ...]]
    measures: ClassVar[Mapping[str, Measure]]
    usual: ClassVar[int]
    short: ClassVar[Sequence[int]]

    def __init__(self, place: Path) -> None:
        self.place = place

    @abstractmethod
    def run(self, trial: Trial) -> Outcome:
        """Do it below the folder of the trial's name; whatever it starts for this trial alone is ended on return."""

    def close(self) -> None:  # noqa: B027  (most share nothing that has to be ended)
        """End what trials share."""


class Books:
    """The results file: what is in it is not done again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Where the files of trials are kept in which a promise was not.
        self.kept = path.with_suffix(".kept")
        if path.exists():
            # A kill may have cut off the last one.
            content = path.read_bytes()
            os.truncate(path, content.rfind(b"\n") + 1)
        self._done = {(row["part"], row["number"], row["seed"]) for row in self.rows()}

    def rows(self) -> Iterator[dict[str, Any]]:
        """All lines."""
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                yield json.loads(line)

    def has(self, trial: Trial) -> bool:
        """Whether it is over."""
        return (trial.part, trial.number, trial.seed) in self._done

    def add(self, trial: Trial, outcome: Outcome, seconds: float) -> dict[str, Any]:
        """Write a line."""
        row = asdict(trial) | asdict(outcome) | {"seconds": round(seconds, 2)}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row)}\n")
        return row
