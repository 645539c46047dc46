"""What an optimisation is of, where it lies, and how wide a beam can be in the time that is left."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coordinator.errors import OverBudgetError
from puzzles.errors import PuzzleError
from puzzles.nakuron.board import Board
from storage.results.checkpoint import SUFFIX as CHECKPOINT_SUFFIX
from storage.results.findings import SUFFIX

FOLDER = "optimised"
PUZZLE = "nakuron"
BEAM = "beam"
STRATEGIES = ("cycle", "random", "greedy", "two-step", BEAM)
#: The first round of a beam is narrow: a play at once, and what a layer takes.
FIRST_WIDTH = 8
#: Tilts for each board of a layer: some are boards met before. Used before a round has shown it.
_TILTS_PER_BOARD = 1.3
#: The part of the time that is planned with: the last layers must not be missed.
_PLANNED = 0.92


@dataclass(frozen=True)
class Plan:
    """A board and how it is searched. `width` is that of every beam, or ``None``: fitted to the time."""

    board: Board
    strategy: str
    seed: int = 1
    width: int | None = None

    def check(self) -> None:
        """Raise `PuzzleError` for what there is not."""
        if self.strategy not in STRATEGIES:
            raise PuzzleError(f"--strategy {self.strategy}: allowed are {'|'.join(STRATEGIES)}")
        if self.width is not None and self.strategy != BEAM:
            raise PuzzleError(f"--width is for beams: leave it out, or --strategy {self.strategy}")

    @property
    def digest(self) -> str:
        """That of the board."""
        return hashlib.sha256(self.board.text().encode()).hexdigest()

    def about(self) -> dict[str, str]:
        """What a file of findings belongs to."""
        width = "fitted" if self.width is None else str(self.width)
        search = {"strategy": self.strategy, "seed": str(self.seed), "width": width}
        return {"optimised": PUZZLE, "board": self.digest} | search

    def file(self, data: Path) -> Path:
        """Where its findings lie."""
        width = "" if self.width is None else f"-w{self.width}"
        return data / FOLDER / f"{PUZZLE}-{self.digest[:12]}-{self.strategy}-{self.seed}{width}{SUFFIX}"

    def checkpoint(self, data: Path) -> Path:
        """Where the beam under way lies."""
        return self.file(data).with_suffix(CHECKPOINT_SUFFIX)


@dataclass(frozen=True)
class Limits:
    """When to stop: after `seconds` of this call, but not without a play, or when so many `rounds` are done in all."""

    seconds: float | None = None
    rounds: int | None = None


@dataclass(frozen=True)
class Best:
    """A play: its score and sequence, the round that found it, and after how many seconds of all calls."""

    score: int
    sequence: str
    round: int
    seconds: float

    @property
    def rank(self) -> tuple[int, int, int]:
        """Better plays have a higher one: score, then fewer moves; of equal ones the first."""
        return self.score, -len(self.sequence), -self.round


@dataclass(frozen=True)
class Outcome:
    """All that was found: the best play, how many rounds and tilts it took, in how many seconds of all calls."""

    best: Best
    rounds: int
    tilts: int
    seconds: float


@dataclass(frozen=True)
class Round:
    """A beam that came to its end: its width, result and costs.

    `profile` says how many balls had dropped after each hundredth of its layers.
    """

    number: int
    width: int
    score: int
    layers: int
    tilts: int
    seconds: float
    profile: list[int]

    def figures(self) -> dict[str, Any]:
        """For a row of findings."""
        return {name: value for name, value in vars(self).items() if name != "number"}

    @classmethod
    def of(cls, number: int, figures: Mapping[str, Any]) -> "Round":
        """The inverse of `figures`; ``TypeError`` for others."""
        return cls(number, **figures)

    def layers_left(self, dropped: int) -> float:
        """How many layers it had still to go when so many balls had dropped."""
        passed = sum(each < dropped for each in self.profile)
        return max(1.0, self.layers * (1 - passed / max(1, len(self.profile))))


def fitted_width(before: Round, dropped: int, seconds: float, rate: float, most: int) -> int:
    """The width at which a beam that has dropped so many balls ends in `seconds`, at `rate` tilts a second."""
    layers = before.layers_left(dropped)
    return max(1, min(most, int(_PLANNED * max(0.0, seconds) * rate / (layers * _TILTS_PER_BOARD))))


def most_width(size_of_field: int, memory: int, held: int) -> int:
    """The widest beam that fits the memory."""
    return max(1, memory // (held * size_of_field))


def require_width(width: int, most: int, memory: int) -> None:
    """Raise `OverBudgetError` for a width that does not fit."""
    if width > most:
        raise OverBudgetError(
            f"a beam of width {width:,} does not fit --memory {memory >> 20:,}MB: raise it, or ask for --width {most}"
        )
