"""What a study is to do: which puzzle and sizes, which deals of which seed, how each is searched, and up to where."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from coordinator.solitaires.study_table import Convention
from puzzles.errors import PuzzleError
from puzzles.options import Number
from puzzles.registry import PuzzleSpec, puzzle_class
from puzzles.solitaires.cards import SUITS, Card, random_deal
from puzzles.solitaires.solitaire import Solitaire
from storage.results.findings import SUFFIX
from worker.solitaires.solving import MOST_POSITIONS, Strategy, Until

#: What a study of each puzzle looks for: when a search may end, and by which goals deals are told apart.
STUDIED: dict[str, tuple[Until, tuple[Convention, ...]]] = {
    "superpuzz": ("both", ("first", "fixed")),
    "gap": ("exhausted", ("first",)),
}
#: Increase it when deals, searches or shortening give other figures than before.
_VERSION = 1
_FOLDER = "studies"
DEALS, CAP = 1_000, 10_000_000
#: Seeds below this share no deal with another, as long as there are fewer deals than this (`puzzles.solitaires.cards`).
MOST_SEEDS = 1 << 32


@dataclass(frozen=True)
class Plan:
    """Which deals to search, and how: the first `deals` of `seed`, for each of `sizes` (columns or ranks)."""

    puzzle: str
    sizes: tuple[int, ...]
    deals: int = DEALS
    seed: int = 1
    strategy: Strategy = "bfs"
    cap: int = CAP
    shorten: bool = False

    def __post_init__(self) -> None:
        """`PuzzleError` for a study that makes no sense."""
        if self.puzzle not in STUDIED:
            known = " and ".join(STUDIED)
            raise PuzzleError(f"there is no study of {self.puzzle!r}; there are studies of {known}")
        for size in self.sizes:
            _solitaire(self.puzzle).options[self.size_option].check(str(size))
        if self.shorten and (self.puzzle, self.strategy) != ("superpuzz", "dfs"):
            raise PuzzleError("--shorten is for 'superpuzz --strategy dfs': no other solutions have anything to spare")
        if not 0 < self.cap <= MOST_POSITIONS:
            raise PuzzleError(f"--cap {self.cap}: allowed are 1..{MOST_POSITIONS}")

    @property
    def size_option(self) -> str:
        """What a size is: columns, or ranks."""
        return _solitaire(self.puzzle).size_option

    @property
    def conventions(self) -> tuple[Convention, ...]:
        """By which goals deals are told apart."""
        return STUDIED[self.puzzle][1]

    def spec(self, size: int) -> PuzzleSpec:
        """The puzzle of a size."""
        return PuzzleSpec(self.puzzle, {self.size_option: str(size)})

    def build(self, size: int) -> Solitaire:
        """The same, built."""
        puzzle = self.spec(size).build()
        assert isinstance(puzzle, Solitaire)  # noqa: S101
        return puzzle

    def deal(self, puzzle: Solitaire, number: int) -> list[Card]:
        """A deal of the plan, of the size of `puzzle`: its cards in reading order."""
        return random_deal(SUITS * puzzle.columns, self.seed, number)

    def kind(self, size: int) -> str:
        """What a size is called: ``columns=4``."""
        return f"{self.size_option}={size}"

    def about(self) -> dict[str, str]:
        """All that decides what is found of a deal: what a file of findings belongs to."""
        return {
            "puzzle": self.puzzle,
            "puzzle version": str(_solitaire(self.puzzle).version),
            "study version": str(_VERSION),
            "seed": str(self.seed),
            "strategy": self.strategy,
            "cap": str(self.cap),
            "shortened": "yes" if self.shorten else "no",
        }

    def file(self, data: Path) -> Path:
        """Where the findings lie. Sizes and the number of deals are no part of the name: more of them extend it."""
        digest = hashlib.sha256(repr(sorted(self.about().items())).encode()).hexdigest()[:8]
        shortened = "-shortened" if self.shorten else ""
        name = f"{self.puzzle}-{self.strategy}{shortened}-seed{self.seed}-cap{self.cap}-{digest}{SUFFIX}"
        return data / _FOLDER / name


def sizes_allowed(puzzle: str) -> Number:
    """The sizes that a puzzle of `STUDIED` has."""
    solitaire = _solitaire(puzzle)
    allowed = solitaire.options[solitaire.size_option]
    assert isinstance(allowed, Number)  # noqa: S101
    return allowed


def _solitaire(name: str) -> type[Solitaire]:
    found = puzzle_class(name)
    assert issubclass(found, Solitaire)  # noqa: S101
    return found
