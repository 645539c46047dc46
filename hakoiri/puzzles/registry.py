"""The puzzles by name, and the small description from which any process builds the same puzzle."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakoiri.errors import Hint, PuzzleError, did_you_mean
from hakoiri.puzzles.user.files import is_own, known, load

if TYPE_CHECKING:
    from hakoiri.puzzles.contract import Puzzle


#: Name on the command line -> module and class. Imported only when asked for: numba costs a third of a second.
PUZZLES: dict[str, tuple[str, str]] = {
    "burnt-pancakes": ("hakoiri.puzzles.permutation.pancakes", "BurntPancakes"),
    "cube2": ("hakoiri.puzzles.twisty.cube2", "Cube2"),
    "gap": ("hakoiri.puzzles.solitaires.solitaire", "Gap"),
    "hanoi": ("hakoiri.puzzles.hanoi", "Hanoi"),
    "klotski": ("hakoiri.puzzles.sliding_blocks.klotski", "Klotski"),
    "magic-star": ("hakoiri.puzzles.stars.magic_star", "MagicStar"),
    "nakuron": ("hakoiri.puzzles.nakuron.puzzle", "Nakuron"),
    "pancakes": ("hakoiri.puzzles.permutation.pancakes", "Pancakes"),
    "peg-solitaire": ("hakoiri.puzzles.peg_solitaire", "PegSolitaire"),
    "pyraminx": ("hakoiri.puzzles.twisty.pyraminx", "Pyraminx"),
    "sliding": ("hakoiri.puzzles.sliding_blocks.sliding", "Sliding"),
    "superpuzz": ("hakoiri.puzzles.solitaires.solitaire", "Superpuzz"),
    "tiles": ("hakoiri.puzzles.permutation.tiles", "Tiles"),
    "topspin": ("hakoiri.puzzles.permutation.topspin", "TopSpin"),
}


def puzzle_class(name: str, digest: str = "") -> "type[Puzzle]":
    """The class of a puzzle of `PUZZLES`, or a user puzzle whose file this process has loaded. Loads no file.

    Raises `PuzzleError` for any other name.
    """
    if digest:
        return known(name, digest)
    if name not in PUZZLES:
        raise PuzzleError(
            f"there is no puzzle {name!r}{did_you_mean(name, PUZZLES)}; known puzzles: {', '.join(PUZZLES)}; "
            "write a puzzle of your own as FILE.py:NAME"
        )
    module, attribute = PUZZLES[name]
    found: type[Puzzle] = getattr(import_module(module), attribute)
    return found


def names_of(wanted: "Callable[[type[Puzzle]], bool]") -> str:
    """The built-in puzzles whose class is `wanted`, for messages: ``gap and superpuzz``."""
    return " and ".join(name for name in PUZZLES if wanted(puzzle_class(name)))


@dataclass(frozen=True)
class PuzzleSpec:
    """A puzzle with its options, as a manifest pins it and a worker receives it. Data only, never code.

    `digest` is that of the file of a user puzzle (`puzzles.user.files`), else empty; `definition` the text of one
    (`puzzles.definitions`), whose file has the `name`.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    start: str | None = None
    merge_mirrors: bool = False
    digest: str = ""
    definition: str = ""
    #: True for the puzzle of a stored run: its goal was remarked on when it was typed.
    quiet: bool = field(default=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        # Without an empty definition: runs of before have none.
        left_out = {"quiet"} if self.definition else {"quiet", "definition"}
        return {name: value for name, value in asdict(self).items() if name not in left_out}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "PuzzleSpec":
        """The inverse of `as_dict`; ``TypeError`` or ``KeyError`` for other fields."""
        return cls(
            fields["name"], dict(fields["options"]), fields["start"], bool(fields["merge_mirrors"]),
            fields.get("digest", ""), fields.get("definition", ""), quiet=True,
        )  # fmt: skip

    def kind(self) -> "type[Puzzle]":
        """Return the class of the puzzle: `puzzle_class`, or that of the definition."""
        if not self.definition:
            return puzzle_class(self.name, self.digest)
        from hakoiri.puzzles.definitions.puzzle import definition_class

        return definition_class(self.name, self.definition)

    def build(self) -> "Puzzle":
        """The puzzle. Raises `PuzzleError` for an unknown name or option, `ConfigurationError` for a bad start."""
        kind = self.kind()
        if "goal" in self.options and "goal" not in kind.options:
            from hakoiri.puzzles.goals import with_goal

            kind = with_goal(kind)
        puzzle = kind(self.options, self.start)
        if not self.quiet and (goal := self.options.get("goal", "").strip()):
            puzzle.remark_on(goal)
        if not self.merge_mirrors:
            return puzzle
        if not puzzle.has_mirrors:
            which = " that keep such a goal" if "goal" in self.options else ""
            raise PuzzleError(f"{self.name} has no mirror images to merge{which}", Hint("leave out", "merge_mirrors"))
        from hakoiri.puzzles.quotient import MergedMirrors

        return MergedMirrors(puzzle)


#: The endings of files with definitions.
DEFINITIONS = (".tws", ".def", ".ksolve", ".json", ".g", ".gap")


def with_own_file(spec: PuzzleSpec) -> PuzzleSpec:
    """Return `spec` as the user wrote it, ready to be built; if it names a user puzzle, its file is executed now.

    If it names a file with a definition, that is read. IMPORTANT: never for a spec that came by Redis, or out of a run.
    """
    if spec.digest or spec.definition:
        return spec
    if spec.name.lower().endswith(DEFINITIONS):
        from hakoiri.puzzles.definitions.formats import read_definition

        return replace(spec, name=Path(spec.name).name, definition=read_definition(spec.name).text())
    if not is_own(spec.name):
        return spec
    name, digest = load(spec.name)
    return replace(spec, name=name, digest=digest)
