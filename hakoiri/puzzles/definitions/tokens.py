"""The tokens of a file with a definition: each is taken once, and errors name the line.

What a file is read from is bounded: a regular file of at most `MOST_BYTES`, in UTF-8, UTF-16 with its mark, or Latin-1.
"""

import codecs
import re
from collections.abc import Iterator
from pathlib import Path

from hakoiri.errors import PuzzleError
from hakoiri.owned import read_named

MOST_BYTES = 1_000_000
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
#: Characters of a word that an error shows, and digits of a number.
_SHOWN, _MOST_DIGITS = 30, 4


def read_file(path: Path) -> str:
    """Return the text of a file; `PuzzleError` if it cannot be read."""
    try:
        raw = read_named(path, MOST_BYTES + 1)
    except FileNotFoundError:
        raise PuzzleError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise PuzzleError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(raw) > MOST_BYTES:
        raise PuzzleError(f"{path} has more than {MOST_BYTES:,} bytes")
    marked = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), "")
    try:
        text = raw.decode(marked or "utf-8")
    except UnicodeDecodeError as error:
        if marked:
            raise PuzzleError(f"{path} is not {marked} text: byte {error.start + 1} is invalid") from None
        text = raw.decode("latin-1")
    return text


class Tokens:
    """The tokens of a text. `line` is that of the token taken last, `ahead` the next token, empty at the end.

    The pattern `token` matches blanks and comments by its group ``skip``.
    """

    def __init__(self, text: str, file: str, token: re.Pattern[str]) -> None:
        self.file, self.line = file, 1
        self._found = self._read(text, token)
        self.ahead, self._next_line = next(self._found)

    def _read(self, text: str, token: re.Pattern[str]) -> Iterator[tuple[str, int]]:
        line, at = 1, 0
        while at < len(text):
            found = token.match(text, at)
            if not found:
                raise self.wrong(f"{text[at : at + 1]!r} does not belong there", line)
            if found.lastgroup != "skip":
                yield found[0], line
            line, at = line + found[0].count("\n"), found.end()
        yield "", line

    def take(self) -> str:
        """Return the next token, and go on to the one after it."""
        taken, self.line = self.ahead, self._next_line
        if taken:
            self.ahead, self._next_line = next(self._found)
        return taken

    def accept(self, token: str) -> bool:
        """Take the next token if it is this one; return whether it was."""
        return self.ahead == token and bool(self.take())

    def expect(self, *tokens: str) -> str:
        """Take one of these tokens; `PuzzleError` for another."""
        if self.ahead not in tokens:
            names = " or ".join(map(repr, tokens))
            raise self.wrong(f"{shown(self.ahead)} where {names} is expected", self._next_line)
        return self.take()

    def row(self) -> list[str]:
        """Take the tokens of the next line that has some; empty at the end."""
        while self.accept("\n"):
            pass
        words = list[str]()
        while self.ahead not in ("", "\n"):
            words.append(self.take())
        return words

    def number(self, word: str) -> int:
        """Return a number of few digits; `PuzzleError` for anything else."""
        if not (word.isascii() and word.isdecimal() and len(word) <= _MOST_DIGITS):
            raise self.wrong(f"{shown(word)} is not a number of at most {_MOST_DIGITS} digits")
        return int(word)

    def wrong(self, what: str, line: int | None = None) -> PuzzleError:
        """Return an error that names the line, by default that of the token taken last."""
        return PuzzleError(f"{self.file}, line {line or self.line}: {what}")


def shown(word: str) -> str:
    """Return a word as an error quotes it."""
    if not word:
        return "the end of the file"
    return repr(word if len(word) <= _SHOWN else f"{word[:_SHOWN]}...")
