"""The puzzles by name, and the small description from which any process builds the same puzzle."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from puzzles.errors import PuzzleError

if TYPE_CHECKING:
    from puzzles.contract import Puzzle


def _klotski() -> "type[Puzzle]":
    from puzzles.klotski import Klotski

    return Klotski


#: Each entry imports its puzzle only when it is asked for: numba costs a third of a second to import.
PUZZLES: dict[str, "Callable[[], type[Puzzle]]"] = {"klotski": _klotski}


@dataclass(frozen=True)
class PuzzleSpec:
    """Which puzzle, with which options: what a manifest pins and a worker is told. Data only, never code."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    start: str | None = None
    merge_mirrors: bool = False

    def as_dict(self) -> dict[str, Any]:
        """For msgpack."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "PuzzleSpec":
        """The inverse of `as_dict`; ``TypeError`` or ``KeyError`` for other fields."""
        return cls(fields["name"], dict(fields["options"]), fields["start"], bool(fields["merge_mirrors"]))

    def build(self) -> "Puzzle":
        """The puzzle. Raises `PuzzleError` for an unknown name or option, `ConfigurationError` for a bad start."""
        if self.name not in PUZZLES:
            raise PuzzleError(f"there is no puzzle {self.name!r}; known puzzles: {', '.join(sorted(PUZZLES))}")
        puzzle = PUZZLES[self.name]()(self.options, self.start)
        if not self.merge_mirrors:
            return puzzle
        if not puzzle.has_mirrors:
            raise PuzzleError(f"{self.name} has no mirror images to merge; leave out --merge-mirrors")
        from puzzles.symmetry import MergedMirrors

        return MergedMirrors(puzzle)
