"""Run-length boards, as collections of Sokoban write them: ``4#|#@2-#|4#`` is ``####/#@--#/####``.

A number stands before the mark that it repeats, and rows are joined by ``|``. A text without ``|`` has no runs: a digit
in it is a mark like any other.
"""

import re

from hakoiri.puzzles.errors import ConfigurationError

_ROW_END = "|"
#: The most marks of a board, short rows filled: a text of some kilobytes could have gigabytes of them.
_MOST_MARKS = 1 << 16
_RUN = re.compile(r"([1-9][0-9]{0,2})?([^0-9])")


def expand_runs(text: str, blank: str = "") -> str:
    """Return a board with its runs written out and its rows joined by ``/``; a text without ``|`` as it is.

    If `blank` is given, short rows are filled with it. `ConfigurationError` names a row that is malformed, or says that
    the board would be too large.
    """
    if _ROW_END not in text:
        return text
    if "/" in text:
        raise ConfigurationError(f"the rows of {text!r} are joined by both '/' and '|'; with '|', numbers repeat marks")
    rows = [_runs_of(number, row) for number, row in enumerate(text.split(_ROW_END), 1)]
    width = max(sum(count for count, _ in row) for row in rows)
    if width * len(rows) > _MOST_MARKS:
        raise ConfigurationError(f"the board has {len(rows):,} rows of {width:,} marks, above {_MOST_MARKS:,} marks")
    lines = ("".join(mark * count for count, mark in row) for row in rows)
    return "/".join(line.ljust(width, blank) if blank else line for line in lines)


def _runs_of(number: int, row: str) -> list[tuple[int, str]]:
    runs = _RUN.findall(row)
    if "".join(map("".join, runs)) != row:
        raise ConfigurationError(
            f"row {number} {row!r} is malformed: with '|' between rows, a number from 1 to 999 stands before the mark "
            "that it repeats, and no mark is a digit"
        )
    return [(int(count or 1), mark) for count, mark in runs]
