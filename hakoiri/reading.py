"""Reads configurations and texts that a user gives, or the files that they name.

Loads the puzzle files that the user has named: to create runs, to open them, and for a service at its start.
"""

import re
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from pathlib import Path

from hakoiri.coordinator.errors import MismatchError
from hakoiri.errors import ConfigurationError, PuzzleError, StorageError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user.files import configured_files, find_again, load, load_file
from hakoiri.storage.ledger.ledger import Ledger

#: Begins a comment in a board's file; '#' is a wall.
COMMENT = ";"
#: The marks of levels of Sokoban, where a blank is floor.
_SOKOBAN = "#@+$*. -_"
STDIN = "-"
_MOST_BYTES, _MOST_BYTES_OF_TEXT = 100_000, 100_000_000


def read_board(text: str, several: Callable[[str], bool] | None = None) -> str:
    """Return the text of a configuration, or the content of the named file: UTF-8, its rows joined by ``/``.

    A file may be a pipe, and ``-`` is stdin. Left out are blank lines, comments, which begin with ``;``, and a title or
    size before the board. Blanks in levels of Sokoban are floor, ``-``. The lines of a file for which `several` returns
    true are returned as they are.
    """
    if (found := _content(text, _MOST_BYTES_OF_TEXT if several else _MOST_BYTES, "holds no board")) is None:
        rows = text.split("/")
        is_board = len(rows) > 1 and len({len(row) for row in rows}) == 1
        return text if is_board else _no_file(text)
    if several is not None and several(found):
        return found
    named = _named(text)
    if len(found) > _MOST_BYTES:
        raise ConfigurationError(f"{named} holds no board")
    blocks = [_rows_of(block) for block in re.split(r"\n\s*\n", found.replace("\r\n", "\n"))]
    boards = [rows for rows in blocks if len(rows) > 1]
    if len(boards) > 1:
        raise ConfigurationError(f"{named} has {len(boards)} boards: which? give one of them alone")
    if boards:
        blocks = [rows for rows in blocks if len(rows) > 1 or not rows or not _is_title(rows[0], boards[0])]
    rows = [row for block in blocks for row in block]
    if not rows:
        raise ConfigurationError(f"{named} holds no board")
    return "/".join(rows[1:] if _is_title(rows[0], rows[1:]) else rows)


def _rows_of(block: str) -> list[str]:
    """Return the rows of a block of lines."""
    lines = [line.rstrip() for line in block.split("\n") if not line.lstrip().startswith(COMMENT)]
    levels = [line for line in lines if "#" in line and not line.strip(_SOKOBAN)]
    if any(" " in line for line in levels):
        width = max(map(len, levels))
        # Outside it is a wall.
        inner = ((line, line.lstrip().replace(" ", "-")) for line in levels)
        return [
            (len(line) - len(marks)) * "#" + marks.ljust(width - len(line) + len(marks), "#") for line, marks in inner
        ]
    return [row for line in lines if (row := line.strip())]


def _is_title(line: str, rows: list[str]) -> bool:
    """Return whether a line beside a board is a title, of another length than its rows, or its size."""
    if len(rows) < 2 or len({len(row) for row in rows}) > 1 or len(line.split()) == len(rows[0].split()) > 1:
        return False
    sizes = sorted((len(rows), len(rows[0])))
    # A single number is part of a board of Nakuron.
    return (" " in line and len(line) != len(rows[0])) or sorted(map(int, re.findall(r"\d+", line))) == sizes


def read_text(text: str) -> str:
    """Return a text (deals, a sequence of moves), or the unchanged content of the named file."""
    if (found := _content(text, _MOST_BYTES_OF_TEXT, "has more than 100 MB")) is None:
        return _no_file(text)
    if not found.strip():
        raise ConfigurationError(f"{_named(text)} is empty")
    return found


def parse_options(texts: Iterable[str]) -> dict[str, str]:
    """Return ``["metric=unit"]`` as a mapping."""
    options: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise PuzzleError(f"option {text!r} is malformed; expected NAME=VALUE, such as metric=straight")
        if name in options:
            raise PuzzleError(f"option {name}= is given twice, as {options[name]} and {value}")
        options[name] = value
    return options


def _no_file(text: str) -> str:
    """Return a text that names no file; `ConfigurationError` if it looks like the name of one."""
    if text.lower().endswith(".txt"):
        raise ConfigurationError(f"there is no file {text}")
    if _exists(text):
        raise ConfigurationError(f"{text} is a directory; expected a file")
    return text


def _named(name: str) -> str:
    return "stdin" if name == STDIN else f"the file {name}"


def _content(name: str, most: int, too_large: str) -> str | None:
    """Return the text of stdin or a UTF-8 file, perhaps a pipe (the shell's ``<(...)``); ``None`` if it names none.

    Raises `ConfigurationError` in one line if it cannot be read.
    """
    if name != STDIN and (not _exists(name) or Path(name).is_dir()):
        return None
    named = _named(name)
    try:
        with nullcontext(sys.stdin.buffer) if name == STDIN else Path(name).open("rb") as file:
            raw = file.read(most + 1)
        found = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{named} is not UTF-8 text: byte {error.start + 1} is invalid") from None
    except OSError as error:
        raise ConfigurationError(f"{named} cannot be read: {error.strerror}") from error
    if len(raw) > most:
        raise ConfigurationError(f"{named} {too_large}")
    return found


def _exists(text: str) -> bool:
    """Return whether a text names an existing file or directory."""
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # Too long or too odd for the name of a file.
        return False


def admit(directory: Path, word: str | None = None) -> None:
    """Load the puzzle file of a run, if it needs one: that of ``word`` (FILE.py:NAME), else as `find_again`.

    Raises `MismatchError` if the run has another puzzle than `word`, or if its file is missing or was not named. A
    damaged run is ignored; opening it reports the damage.
    """
    manifest = None
    with suppress(StorageError), Ledger(directory) as ledger:
        manifest = ledger.manifest
    if manifest is None:
        return
    name, digest = manifest.puzzle.get("name", ""), manifest.puzzle.get("digest", "")
    if not digest:
        if word is not None:
            raise MismatchError(f"run {directory.name} is of the built-in puzzle {name}, not of {word}")
        return
    try:
        find_again(name, digest, word)
    except PuzzleError as error:
        raise MismatchError(f"run {directory.name} cannot be opened: {error}", *error.hints) from error


def admitted(words: Iterable[str]) -> dict[str, PuzzleSpec]:
    """Load the puzzles of a service: the files that the environment names, and those of ``FILE.py:NAME`` words.

    Returns the puzzles of the words by name. Raises `PuzzleError` if a file is not a puzzle.
    """
    for path in configured_files():
        load_file(path)
    found = (PuzzleSpec(name, digest=digest) for name, digest in map(load, words))
    return {spec.name: spec for spec in found}
