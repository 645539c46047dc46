"""Run-length boards, as collections of Sokoban write them: ``4#|#@2-#|4#`` is ``####/#@--#/####``.

A number stands before the mark that it repeats, and rows are joined by ``|``. A text without ``|`` has no runs: a digit
in it is a mark like any other.
"""

import re

from hakoiri.puzzles.errors import ConfigurationError

_ROW_END = "|"
_RUN = re.compile(r"([1-9][0-9]{0,2})?([^0-9])")


def expand_runs(text: str, blank: str = "") -> str:
    """Return a board with its runs written out and its rows joined by ``/``; a text without ``|`` as it is.

    If `blank` is given, short rows are filled with it. `ConfigurationError` names a row that is malformed.
    """
    if _ROW_END not in text:
        return text
    if "/" in text:
        raise ConfigurationError(f"the rows of {text!r} are joined by both '/' and '|'; with '|', numbers repeat marks")
    rows = [_expanded(number, row) for number, row in enumerate(text.split(_ROW_END), 1)]
    width = max(map(len, rows))
    return "/".join(row.ljust(width, blank) if blank else row for row in rows)


def _expanded(number: int, row: str) -> str:
    runs = _RUN.findall(row)
    if "".join(map("".join, runs)) != row:
        raise ConfigurationError(
            f"row {number} {row!r} is malformed: with '|' between rows, a number from 1 to 999 stands before the mark "
            "that it repeats, and no mark is a digit"
        )
    return "".join(mark * int(count or 1) for count, mark in runs)
