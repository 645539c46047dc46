"""What a study is to do: which puzzle and sizes, which deals of which seed, how each is searched, and up to where."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from puzzles.capabilities import Convention, Dealt, SearchOrder
from puzzles.errors import PuzzleError
from puzzles.registry import PuzzleSpec, names_of, puzzle_class
from storage.results.findings import SUFFIX
from worker.deals.solving import MOST_POSITIONS

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
    strategy: SearchOrder = "bfs"
    cap: int = CAP
    shorten: bool = False
    #: Of the file of a user's puzzle.
    digest: str = ""

    def __post_init__(self) -> None:
        """`PuzzleError` for a study that makes no sense."""
        kind = self.kind
        for size in self.sizes:
            kind.sizes().check(str(size))
        if self.strategy not in kind.orders:
            raise PuzzleError(f"--strategy {self.strategy}: allowed are {'|'.join(kind.orders)}")
        if self.shorten and not (kind.shortens and self.strategy == "dfs"):
            raise PuzzleError("--shorten is for 'superpuzz --strategy dfs': no other solutions have anything to spare")
        if not 0 < self.cap <= MOST_POSITIONS:
            raise PuzzleError(f"--cap {self.cap}: allowed are 1..{MOST_POSITIONS}")

    @property
    def kind(self) -> type[Dealt]:
        """The class of the puzzle."""
        return dealt_class(self.puzzle, self.digest)

    @property
    def size_option(self) -> str:
        """What a size is: columns, or ranks."""
        return self.kind.size_option

    @property
    def conventions(self) -> tuple[Convention, ...]:
        """By which goals deals are told apart."""
        return tuple(self.kind.goal_names)

    def spec(self, size: int) -> PuzzleSpec:
        """The puzzle of a size."""
        return PuzzleSpec(self.puzzle, {self.size_option: str(size)}, digest=self.digest)

    def build(self, size: int) -> Dealt:
        """The same, built."""
        puzzle = self.spec(size).build()
        assert isinstance(puzzle, Dealt)  # noqa: S101
        return puzzle

    def named(self, size: int) -> str:
        """What a size is called: ``columns=4``."""
        return f"{self.size_option}={size}"

    def about(self) -> dict[str, str]:
        """All that decides what is found of a deal: what a file of findings belongs to."""
        return {
            "puzzle": self.puzzle,
            "digest": self.digest,
            "puzzle version": str(self.kind.version),
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
        name = (
            f"{self.puzzle.replace(':', '-')}-{self.strategy}{shortened}-seed{self.seed}-cap{self.cap}-{digest}{SUFFIX}"
        )
        return data / _FOLDER / name


def dealt_class(name: str, digest: str = "") -> type[Dealt]:
    """The class of a puzzle with deals; `PuzzleError` for another."""
    found = puzzle_class(name, digest)
    if not issubclass(found, Dealt):
        known = names_of(lambda kind: issubclass(kind, Dealt))
        raise PuzzleError(f"there is no study of {name!r}; there are studies of {known}")
    return found
