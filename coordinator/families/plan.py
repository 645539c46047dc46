"""What a study of boards is to do: which boards, how far from which goal, and whether to count diametral pairs."""

from dataclasses import dataclass

from hakoiri.puzzles.capabilities import Family
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.families.mixes import Boards, Mix, goal_of
from hakoiri.puzzles.registry import PuzzleSpec, names_of
from hakoiri.worker.graphs.family import Asked

#: Increase it when a study finds other figures than before.
_VERSION = 1


@dataclass(frozen=True)
class BoardsPlan:
    """The boards (`puzzles.families.mixes`), a goal ``2x2@4,2`` or none, and whether diametral pairs are counted."""

    size: str
    pieces: str
    empty: str
    goal: str = ""
    pairs: bool = False
    boards_version: int = _VERSION

    def mixes(self) -> list[Mix]:
        """Every mix; `PuzzleError` for a plan that makes no sense."""
        if self.boards_version != _VERSION:
            raise PuzzleError(
                f"this is version {_VERSION} of studies of boards, the run was made by {self.boards_version}"
            )
        mixes = self.boards.mixes()
        if self.goal:
            goal_of(self.boards.size, mixes[0], self.goal)
        return mixes

    @property
    def boards(self) -> Boards:
        return Boards.parse(self.size, self.pieces, self.empty)

    def asked(self, mix: Mix, component: int | None = None) -> Asked:
        """What the workers are asked of a mix, or of one component of it."""
        goal = goal_of(self.boards.size, mix, self.goal) if self.goal else ""
        return Asked(mix.board, goal, self.pairs, component)


def family_of(spec: PuzzleSpec) -> Family:
    """The puzzle; `PuzzleError` for one whose start is no board."""
    puzzle = spec.build()
    if not isinstance(puzzle, Family):
        raise PuzzleError(f"{spec.name} is no family; {names_of(lambda kind: issubclass(kind, Family))} is")
    return puzzle
