"""The puzzles by name, and the small description from which any process builds the same puzzle."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hakoiri import guest_table
from hakoiri.errors import ConfigurationError, Hint, PuzzleError, did_you_mean, remark
from hakoiri.loading import loaded
from hakoiri.memory import one_puzzle
from hakoiri.puzzles.user.files import is_own, known, load

if TYPE_CHECKING:
    from hakoiri.puzzles.contract import Puzzle


#: Name on the command line -> class, as text. Imported only when asked for: numba costs a third of a second.
_OF_NO_GUEST = {
    "burnt-pancakes": "hakoiri.puzzles.permutation.pancakes:BurntPancakes",
    "cube2": "hakoiri.puzzles.twisty.cube2:Cube2",
    "hanoi": "hakoiri.puzzles.hanoi:Hanoi",
    "klotski": "hakoiri.puzzles.sliding_blocks.klotski:Klotski",
    "pancakes": "hakoiri.puzzles.permutation.pancakes:Pancakes",
    "peg-solitaire": "hakoiri.puzzles.peg_solitaire:PegSolitaire",
    "pyraminx": "hakoiri.puzzles.twisty.pyraminx:Pyraminx",
    "tiles": "hakoiri.puzzles.permutation.tiles:Tiles",
    "topspin": "hakoiri.puzzles.permutation.topspin:TopSpin",
}
PUZZLES = dict(sorted((_OF_NO_GUEST | guest_table.PUZZLES).items()))


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
    found: type[Puzzle] = loaded(PUZZLES[name])
    return found


def names_of(wanted: "Callable[[type[Puzzle]], bool]") -> str:
    """The built-in puzzles whose class is `wanted`, for messages: ``gap and superpuzz``."""
    return " and ".join(name for name in PUZZLES if wanted(puzzle_class(name)))


#: Fields of `PuzzleSpec` that are left out where they are empty.
_LATER = ("definition", "starts")


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
    #: Several starts, one in a line (`puzzles.starts`); `start` is then the first of them.
    starts: str = ""
    #: True for the puzzle of a stored run: its goal was remarked on when it was typed.
    quiet: bool = field(default=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        # Without the empty fields that runs of before do not have.
        return {
            name: value for name, value in asdict(self).items() if name != "quiet" and (value or name not in _LATER)
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "PuzzleSpec":
        """The inverse of `as_dict`; ``TypeError`` or ``KeyError`` for other fields."""
        return cls(
            fields["name"], dict(fields["options"]), fields["start"], bool(fields["merge_mirrors"]),
            fields.get("digest", ""), **{name: fields.get(name, "") for name in _LATER}, quiet=True,
        )  # fmt: skip

    def kind(self) -> "type[Puzzle]":
        """Return the class of the puzzle: `puzzle_class`, or that of the definition."""
        if not self.definition:
            return puzzle_class(self.name, self.digest)
        found: type[Puzzle] = loaded("hakoiri.puzzles.definitions.puzzle:definition_class")(self.name, self.definition)
        return found

    def build(self) -> "Puzzle":
        """Return the puzzle.

        Raises `PuzzleError` for an unknown name or option, `ConfigurationError` for a bad start, and `OverBudgetError`
        before its tables take more memory than is allowed (`hakoiri.memory.limited_tables`).
        """
        with one_puzzle():
            puzzle = self._of_starts() if self.starts else self._plain(self.start)
        goal = self.options.get("goal", "").strip()
        if not self.quiet and goal:
            puzzle.remark_on(goal)
        for note in () if self.quiet or goal else puzzle.start_notes:
            remark(note)
        if not self.merge_mirrors:
            return puzzle
        if self.starts or not puzzle.has_mirrors:
            which = (
                " that keep such a goal" if "goal" in self.options else " with several starts" if self.starts else ""
            )
            raise PuzzleError(f"{self.name} has no mirror images to merge{which}", Hint("leave out", "merge_mirrors"))
        from hakoiri.puzzles.quotient import MergedMirrors

        return MergedMirrors(puzzle)

    def _plain(self, start: str | None) -> "Puzzle":
        kind = self.kind()
        if "goal" in self.options and "goal" not in kind.options:
            from hakoiri.puzzles.goals import with_goal

            kind = with_goal(kind)
        return kind(self.options, start)

    def _of_starts(self) -> "Puzzle":
        """Return the puzzle with all starts; its `start` is the first one, unless that is a pattern."""
        from hakoiri.puzzles.starts import MARKS, Starts, each_start

        usual = None if self.kind().start_is_board else self._plain(None)

        def first(text: str) -> "Puzzle":
            try:
                return self._plain(text)
            except ConfigurationError:
                if usual is None or not MARKS & {*text}:
                    raise
                return usual

        found = (each for *_, each in each_start(self.starts, first))
        puzzle = (next(found, usual) if self.start is None else None) or self._plain(self.start)
        puzzle.several_starts = Starts(puzzle, self.starts)
        if puzzle.total != puzzle.numbers:
            # What one start reaches.
            puzzle.total = None
        return puzzle

    def are_starts(self, text: str) -> bool:
        """Return whether a text is several starts, one in a line, or a pattern: not one start or its rows."""
        from hakoiri.puzzles.contract import Puzzle
        from hakoiri.puzzles.starts import MARKS, each_start

        lines = [line for _, line, _ in each_start(text, str)]
        are_boards = sum("/" in line or "0x" in line.lower() for line in lines) > 1
        # Boards may also be the rows of a larger one.
        if self.kind().start_is_board:
            return are_boards
        try:
            self._plain(text)
        except PuzzleError:
            if are_boards or len(lines) < 2:
                lists = self.kind().configurations is not Puzzle.configurations
                return are_boards or (lists and bool(MARKS & {*text}))
            return "/" not in self._plain(None).start_text()
        return False


#: The endings of files with definitions.
DEFINITIONS = (".tws", ".def", ".ksolve", ".json", ".g", ".gap")


def with_own_file(spec: PuzzleSpec) -> PuzzleSpec:
    """Return `spec` as the user wrote it, ready to be built; if it names a user puzzle, its file is executed now.

    If it names a file with a definition, that is read. IMPORTANT: never for a spec that came by Redis, or out of a run.
    """
    if spec.digest or spec.definition:
        return spec
    if spec.name.lower().endswith(DEFINITIONS):
        read = loaded("hakoiri.puzzles.definitions.formats:read_definition")
        return replace(spec, name=Path(spec.name).name, definition=read(spec.name).text())
    if not is_own(spec.name):
        return spec
    name, digest = load(spec.name)
    return replace(spec, name=name, digest=digest)
