"""Reads definitions by the ending of the file: twsearch and ksolve, KPuzzle, GAP."""

from collections.abc import Callable, Mapping
from pathlib import Path

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.definitions.definition import Definition
from hakoiri.puzzles.definitions.gap import read_gap
from hakoiri.puzzles.definitions.kpuzzle import read_kpuzzle
from hakoiri.puzzles.definitions.tokens import read_file
from hakoiri.puzzles.definitions.twsearch import read_twsearch

#: Each takes the text, the name of the file for errors, and the name of the puzzle.
_READERS: Mapping[str, Callable[[str, str, str], Definition]] = {
    ".tws": read_twsearch, ".def": read_twsearch, ".ksolve": read_twsearch, ".json": read_kpuzzle, ".g": read_gap,
    ".gap": read_gap,
}  # fmt: skip


def read_definition(word: str) -> Definition:
    """Return the definition in a file; `PuzzleError` that names the line, or the part that is wrong."""
    return definition_of(read_file(Path(word)), word)


def definition_of(text: str, name: str) -> Definition:
    """Return the definition in the text of a file of that name; raises as `read_definition`."""
    path = Path(name)
    if (reader := _READERS.get(path.suffix.lower())) is None:
        raise PuzzleError(f"the file of a definition ends with {', '.join(_READERS)}, not {path.name!r}")
    found = reader(text.replace("\r\n", "\n").replace("\r", "\n"), path.name, path.stem)
    try:
        return found.checked()
    except PuzzleError as error:
        raise PuzzleError(f"{path.name}: {error}") from None
