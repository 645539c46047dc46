"""The plan of a study: puzzle and sizes, deals by seed, search strategy, and cap."""

from dataclasses import dataclass

from hakoiri.coordinator.deals.dealing import has_sizes
from hakoiri.puzzles.capabilities import Convention, Dealt, SearchOrder
from hakoiri.puzzles.errors import Hint, PuzzleError, require_within
from hakoiri.puzzles.keys.seeds import MOST_SEED
from hakoiri.puzzles.registry import names_of, puzzle_class
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.deals.solving import MOST_POSITIONS

#: Increase them when deals or searches, or shortening, give other figures than before.
_VERSION, _SHORTENING_VERSION = 2, 3
DEALS, CAP = 1_000, 10_000_000


@dataclass(frozen=True)
class StudyPlan:
    """Everything that determines the result of a deal: the seed, the search, and the most positions."""

    seed: int = 1
    strategy: SearchOrder = "bfs"
    cap: int = CAP
    shorten: bool = False
    study_version: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "study_version", self.study_version or self._version)

    @property
    def _version(self) -> int:
        return _SHORTENING_VERSION if self.shorten else _VERSION

    def check(self, kind: type[Dealt]) -> None:
        """Raise `PuzzleError` for an invalid study."""
        if self.strategy not in kind.orders:
            known = "|".join(kind.orders)
            raise PuzzleError(f"unknown strategy {self.strategy!r}", Hint("give", "strategy", known))
        if self.shorten and not (kind.shortens and self.strategy == "dfs"):
            text = "shortening applies to depth-first solutions of superpuzz only"
            raise PuzzleError(text, Hint("give", "strategy", "dfs") if kind.shortens else Hint("leave out", "shorten"))
        require_within("seed", self.seed, 0, MOST_SEED)
        if not 0 < self.cap <= MOST_POSITIONS:
            raise PuzzleError(
                f"cap {self.cap} is not in 1..{MOST_POSITIONS}", Hint("give", "cap", f"1..{MOST_POSITIONS}")
            )
        if self.study_version != self._version:
            raise PuzzleError(f"the run was made by version {self.study_version} of studies, expected {self._version}")


@dataclass(frozen=True)
class Study:
    """A study: its plan, and its limits, the first `deals` of the seed for each of `sizes`."""

    puzzle: Dealt
    plan: StudyPlan
    sizes: tuple[int, ...]
    deals: int

    @classmethod
    def of(cls, store: RunStore, puzzle: Dealt) -> "Study":
        limits, plan = store.limits(), store.plan(StudyPlan)
        plan.check(type(puzzle))
        for size in limits["sizes"]:
            puzzle.sizes().check(str(size))
        return cls(puzzle, plan, tuple(limits["sizes"]), int(limits["deals"]))

    @property
    def conventions(self) -> tuple[Convention, ...]:
        return tuple(self.puzzle.goal_names)

    def named(self, size: int) -> str:
        """Return the name of a size, ``columns=4``, which is also that of the table with its deals."""
        return f"{self.puzzle.size_option}={size}"


def dealt_class(name: str, digest: str = "") -> type[Dealt]:
    """Return the class of a puzzle with deals; `PuzzleError` for another."""
    found = puzzle_class(name, digest)
    if not issubclass(found, Dealt) or not has_sizes(found):
        known = names_of(has_sizes)
        raise PuzzleError(f"{name!r} cannot be studied; puzzles that can: {known}")
    return found
