"""Reads configurations and texts that a user gives, or the files that they name.

Loads the puzzle files that the user has named: to create runs, to open them, and for a service at its start.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from pathlib import Path

from hakoiri.coordinator.errors import MismatchError
from hakoiri.errors import ConfigurationError, PuzzleError, StorageError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.texts import board_in
from hakoiri.puzzles.user.files import configured_files, find_again, load, load_file
from hakoiri.storage.ledger.ledger import Ledger

STDIN = "-"
#: The name of a file: a dot and a suffix, in capitals a known one. Tiles in a row may look like that.
_FILE = re.compile(r"(?!.*\.\.).*[^.|\n]\.([a-z][a-z0-9]{1,7}|(?i:txt|skb|xsb|sok|csv|json))")
_TILES = re.compile(r"(?!.*(.).*\1)(?=.*1)[0-9a-f.]+")
_MOST_BYTES, _MOST_BYTES_OF_TEXT = 100_000, 100_000_000


def read_board(text: str | os.PathLike[str], several: Callable[[str], bool] | None = None) -> str:
    """Return the text of a configuration, or the content of the named file: UTF-8, its rows joined by ``/``.

    A file may be a pipe, and ``-`` is stdin; its lines are read by `board_in`. The lines of a file for which `several`
    returns true are returned as they are.
    """
    is_path, text = not isinstance(text, str), os.fspath(text)
    if (found := _content(text, _MOST_BYTES_OF_TEXT if several else _MOST_BYTES, "holds no board")) is None:
        if is_path and not _exists(text):
            raise ConfigurationError(f"there is no file {text}")
        return _no_file(text)
    if several is not None and several(found):
        return found
    named = _named(text)
    try:
        if len(found) > _MOST_BYTES or not (board := board_in(found)):
            raise ConfigurationError(f"{named} holds no board")
    except ConfigurationError as error:
        raise error if str(error).startswith(named) else ConfigurationError(f"{named}: {error}") from None
    return board


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
    """Return a text that names no file; `ConfigurationError` if it looks like the name of one.

    Rows of one length and tiles in a row are no file, unless they have a suffix and what is before the last ``/`` is a
    folder.
    """
    folder, slash, name = text.rpartition("/")
    is_board = len({len(row) for row in text.split("/")}) == 1 if slash else _TILES.fullmatch(text)
    if text.strip("./") and not (slash and is_board) and _exists(text):
        raise ConfigurationError(f"{text} is a directory; expected a file")
    if (bool(folder.strip("./")) and _exists(folder)) + bool(_FILE.fullmatch(name)) + (not is_board) > 1:
        raise ConfigurationError(f"there is no file {text}")
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
