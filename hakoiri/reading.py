"""Reads configurations and texts that a user gives, or the files that they name."""

import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from hakoiri.puzzles.errors import ConfigurationError, PuzzleError

#: Begins a comment in a board's file; '#' is a wall.
COMMENT = ";"
STDIN = "-"
_MOST_BYTES, _MOST_BYTES_OF_TEXT = 100_000, 100_000_000


def read_board(text: str) -> str:
    """Return the text of a configuration, or the content of the named file: UTF-8, its rows joined by ``/``.

    A file may be a pipe, and ``-`` is stdin. Blank lines and comments, which begin with ``;``, are left out.
    """
    if not _is_file(text):
        rows = text.split("/")
        is_board = len(rows) > 1 and len({len(row) for row in rows}) == 1
        return text if is_board else _no_file(text)
    found = _text_of_file(text, _MOST_BYTES, "holds no board")
    rows = [line.strip() for line in found.splitlines()]
    rows = [row for row in rows if row and not row.startswith(COMMENT)]
    if not rows:
        raise ConfigurationError(f"{'stdin' if text == STDIN else f'the file {text}'} holds no board")
    return "/".join(rows)


def read_text(text: str) -> str:
    """Return a text (deals, a sequence of moves), or the unchanged content of the named file."""
    if _is_file(text):
        return _text_of_file(text, _MOST_BYTES_OF_TEXT, "has more than 100 MB")
    return _no_file(text)


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


def _text_of_file(name: str, most: int, too_large: str) -> str:
    """Return the text of a UTF-8 file; `ConfigurationError` in one line if it cannot be read."""
    named = "stdin" if name == STDIN else f"the file {name}"
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


def _is_file(text: str) -> bool:
    """Return whether a text names stdin, a file, or a pipe (including the shell's ``<(...)``)."""
    return text == STDIN or (_exists(text) and not Path(text).is_dir())


def _exists(text: str) -> bool:
    """Return whether a text names an existing file or directory."""
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # Too long or too odd for the name of a file.
        return False
