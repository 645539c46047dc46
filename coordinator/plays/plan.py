"""What an optimisation is to do, what it finds, and how wide a beam can be in the time that is left."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hakoiri.coordinator.errors import OverBudgetError
from hakoiri.puzzles.capabilities import Scored
from hakoiri.puzzles.errors import PuzzleError, Step, require_within
from hakoiri.puzzles.keys.seeds import MOST_SEED
from hakoiri.puzzles.registry import PuzzleSpec, names_of, puzzle_class

#: The strategy that every scored puzzle has; games are those that it names.
BEAM = "beam"
#: What a point lost costs, in points.
PRICE = 0.5
#: How long an optimisation goes on where nothing else is said.
SECONDS = 300.0
#: The first round of a beam is narrow: a play at once, and what a layer takes.
FIRST_WIDTH = 8
#: Moves for each board of a layer: some lead to boards met before. Used before a round has shown it.
_MOVES_PER_BOARD = 1.3
#: The part of the time that is planned with: the last layers must not be missed.
_PLANNED = 0.92


@dataclass(frozen=True)
class OptimisePlan:
    """How a board is searched. `width` is that of every beam, or ``None``: fitted to the time.

    `price` is what a lost point costs a board of a beam, `rising` says that it rises (`coordinator.plays.beam.Beam`).

    `board` is a text where the puzzle plays boards without a key, else ``None``: the start of the run's puzzle.
    """

    strategy: str = BEAM
    seed: int = 1
    width: int | None = None
    board: str | None = None
    price: float = PRICE
    rising: bool = False

    def check(self, puzzle: Scored) -> None:
        require_within("seed", self.seed, 0, MOST_SEED)
        if self.width is not None:
            require_within("width", self.width, 1, MOST_SEED)
        strategies = (*puzzle.games, BEAM)
        if self.strategy not in strategies:
            raise PuzzleError(f"there is no strategy {self.strategy!r}", Step("give", "strategy", "|".join(strategies)))
        if self.width is not None and self.strategy != BEAM:
            raise PuzzleError("only beams have a width", Step("leave out", "width"), Step("leave out", "strategy"))
        if self.price < 0:
            raise PuzzleError(f"a price of {self.price} is below 0", Step("give", "price", "0.5"))
        if (self.price, self.rising) != (PRICE, False) and self.strategy != BEAM:
            raise PuzzleError("only beams have a price", Step("leave out", "price"), Step("leave out", "strategy"))
        puzzle.arena(self.board)


def optimised(
    spec: PuzzleSpec, strategy: str, seed: int, width: int | None, price: float = PRICE, rising: bool = False
) -> tuple[PuzzleSpec, dict[str, Any]]:
    """The puzzle of an optimisation and its plan; a board that has no key goes into the plan."""
    kind = puzzle_class(spec.name, spec.digest)
    if not issubclass(kind, Scored):
        known = names_of(lambda kind: issubclass(kind, Scored))
        raise PuzzleError(f"{spec.name} has no plays to score; {known} has")
    board = None
    if kind.large_boards and spec.start is not None:
        board, spec = kind.tidy_board(spec.start), PuzzleSpec(spec.name, spec.options, digest=spec.digest)
    plan = asdict(OptimisePlan(strategy, seed, width, board, price, rising))
    # The usual value is not part of a run's name.
    usual = {"price": PRICE, "rising": False}
    return spec, {name: value for name, value in plan.items() if name not in usual or usual[name] != value}


@dataclass(frozen=True)
class Best:
    """A play: its score and its moves (`Scored.spell`), how many, the round that found it, after how many seconds."""

    score: int
    sequence: str
    moves: int
    round: int
    seconds: float

    @property
    def rank(self) -> tuple[int, int, int]:
        """Better plays have a higher one: score, then fewer moves; of equal ones the first."""
        return self.score, -self.moves, -self.round


NO_PLAY = Best(0, "", 0, 0, 0.0)


@dataclass(frozen=True)
class Round:
    """A beam that came to its end, or some games: its width, result, moves tried and seconds of all rounds.

    The number of games is that of the first, and their width is how many they are. `profile` says how much was taken
    off the reserve after each hundredth of its layers.
    """

    number: int
    width: int
    score: int
    layers: int
    tried: int
    seconds: float
    profile: list[int]

    def row(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "number"}

    @classmethod
    def of(cls, number: int, row: Mapping[str, Any]) -> "Round":
        """The inverse of `row`; ``TypeError`` for others."""
        return cls(number, **row)

    def layers_left(self, taken: int) -> float:
        """How many layers it had still to go when so much was taken."""
        passed = sum(each < taken for each in self.profile)
        return max(1.0, self.layers * (1 - passed / max(1, len(self.profile))))


def fitted_width(before: Round, taken: int, seconds: float, rate: float, most: int) -> int:
    """The width at which a beam that has taken so much ends in `seconds`, at `rate` moves a second."""
    layers = before.layers_left(taken)
    return max(1, min(most, int(_PLANNED * max(0.0, seconds) * rate / (layers * _MOVES_PER_BOARD))))


def require_width(width: int, most: int, memory: int) -> None:
    """Raise `OverBudgetError` for a width that does not fit."""
    if width > most:
        raise OverBudgetError(
            f"a beam of width {width:,} does not fit {memory >> 20:,} MB of memory",
            Step("raise", "memory"),
            Step("give", "width", f"{most}"),
        )
