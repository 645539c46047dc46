"""Boards as text: rows joined by ``/``, a letter per piece, ``.`` for an empty cell, ``#`` for a wall.

Pieces have the letters of the start as it was typed. On input any letter may name any piece; equal letters are one
piece. In goals ``*`` stands for a cell that may hold anything.

A board of 5x5 to 8x8 cells may be one line, as the collections of Rush Hour write it: `OPEN` cells, `BLOCKED` ones; in
one with ``.`` both marks are letters. Rows joined by ``|`` have runs, as in collections of Sokoban: a number stands
before the mark that it repeats, so ``4#|#@2-#|4#`` is ``####/#@--#/####``. Without ``|`` a digit is a mark like others.

``-`` and ``_`` are empty cells, too, and so is ``0`` on a board without others. Blanks or commas between all cells, a
printed frame and the brackets of lists do not count (`plain_rows`). One row may be longer by the letter of the exit,
which is nowhere else.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from hakoiri.errors import ConfigurationError
from hakoiri.puzzles.texts import EXIT, marks_in, plain_rows, rows_in

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
    rows = []
    for number, row in enumerate(text.removesuffix(_ROW_END).split(_ROW_END), 1):
        runs = _RUN.findall(row)
        if "".join(map("".join, runs)) != row:
            raise ConfigurationError(
                f"row {number} {row!r} is malformed: with '|' between rows, a number from 1 to 999 stands before the "
                "mark that it repeats, and no mark is a digit"
            )
        rows.append([(int(count or 1), mark) for count, mark in runs])
    width = max(sum(count for count, _ in row) for row in rows)
    if width * len(rows) > _MOST_MARKS:
        raise ConfigurationError(f"the board has {len(rows):,} rows of {width:,} marks, above {_MOST_MARKS:,} marks")
    lines = ("".join(mark * count for count, mark in row) for row in rows)
    return "/".join(line.ljust(width, blank) if blank else line for line in lines)


EMPTY = "."
WALL = "#"
ANYTHING = "*"
#: In a board without another mark for an empty cell: an empty cell, and a wall.
OPEN, BLOCKED = "o", "x"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

#: Marks of empty cells.
_EMPTIES = EMPTY + "-_"
#: The piece that leaves a board of Rush Hour: the first of these that lies in a row; the last one only in the exit row.
_CARS = "XxA"

#: The first letter that is a digit.
_DIGIT = LETTERS.index("0")

#: A cell is row * columns + column.
Cell = int
Cells = frozenset[Cell]

#: A set of cells is one number of 64 bits in kernels. Walls count where
#: the free cells of rows keep these apart (`tables.number_cells`).
MOST_CELLS = 64
#: Rows and columns of a board of one line, by its length. A smaller one might be a single row.
_SQUARES = {side * side: side for side in (5, 6, 7, 8)}
#: The end of an error about a single row that is malformed: it may have been meant as a board of one line.
_ROWS = "; rows are joined by '/', and only a square board of 5 x 5 to 8 x 8 cells may be one line"


class Piece(NamedTuple):
    """A rectangle of `height` x `width` cells whose top left cell is (`row`, `column`), counted from 0."""

    row: int
    column: int
    height: int
    width: int


def parse_rectangles(text: str, rows: int, columns: int) -> dict[str, Piece]:
    """The pieces of a board by their letters, in reading order.

    Raises `ConfigurationError` that names the row of a wrong length or character, or the piece that is no rectangle.
    """
    text = expand_runs(_unspaced(text))
    marks = marks_in(rows_in(text, rows, columns), LETTERS + EMPTY, f"a letter or '{EMPTY}'")
    cells: dict[str, list[tuple[int, int]]] = {}
    for cell, (*_, letter) in enumerate(marks):
        if letter != EMPTY:
            cells.setdefault(letter, []).append(divmod(cell, columns))
    found = {}
    for letter, places in cells.items():
        downs, rights = zip(*places, strict=True)
        top, left = min(downs), min(rights)
        found[letter] = piece = Piece(top, left, max(downs) - top + 1, max(rights) - left + 1)
        if piece.height * piece.width != len(places):
            where = ", ".join(f"row {row + 1} column {column + 1}" for row, column in places)
            raise ConfigurationError(f"piece {letter} is not a rectangle: its cells are {where}")
    return found


def _unspaced(text: str, is_part: bool = False) -> str:
    """Return a board in rows, or one line, with `EMPTY` for each empty cell, unless it `is_part` of one.

    `ConfigurationError` if empty cells are written in two ways.
    """
    text = plain_rows(text)
    rows = [re.split(r"[\s,]+", row.strip(" ,")) for row in text.split("/")]
    used = [mark for mark in _EMPTIES if mark in text]
    if len(used) > 1:
        raise ConfigurationError(f"empty cells are written both as {used[0]!r} and as {used[1]!r}; write '{EMPTY}'")
    if all(len(words) > 1 and max(map(len, words)) == 1 for words in rows):
        found = "/".join(map("".join, rows))
        # Or a blank may be an empty cell.
        text = found if used or "0" in found or OPEN in found or is_part else text
    if re.search(r"[\s,]", text):
        return text
    if used or is_part or "|" in text:
        return re.sub("[_-]", EMPTY, text)
    lengths, cells = {*map(len, text.split("/"))}, len(text.replace("/", ""))
    # Rows of one length: in a board without another mark for an empty cell nothing could move.
    if OPEN in text and len(lengths) == 1 and (cells in _SQUARES if lengths == {cells} else "0" not in text):
        return text.replace(OPEN, EMPTY).replace(BLOCKED, WALL)
    return text.replace("0", EMPTY)


def _without_exit(text: str) -> tuple[str, tuple[int, bool] | None]:
    """Return a board in rows without the letter of its exit, and where that is (`ParsedBoard.exit`)."""
    rows = text.split("/")
    wide = min(map(len, rows))
    longer = [number for number, row in enumerate(rows) if len(row) > wide]
    if len(rows) < 3 or len(longer) != 1 or len(row := rows[longer[0]]) != wide + 1:
        return text, None
    ends = [
        right for right in (False, True) if (mark := row[-right]) == EXIT or (mark in LETTERS and text.count(mark) == 1)
    ]
    if len(ends) != 1:
        return text, None
    rows[longer[0]] = row[:-1] if ends[0] else row[1:]
    return "/".join(rows), (longer[0], ends[0])


class ParsedBoard(NamedTuple):
    """The content of a board's text: its pieces, each in reading order of its first cell, and other marks.

    `exit` is the row of the exit, from 0, and whether it is at the right end. `cars` are the letters of the pieces that
    leave a board of Rush Hour at the right end of their row, the first that there is; empty on other boards.
    """

    rows: int
    columns: int
    pieces: dict[str, Cells]
    walls: Cells
    blanks: Cells
    anything: Cells
    exit: tuple[int, bool] | None = None
    cars: str = ""


def parse_board(text: str, with_anything: bool = False) -> ParsedBoard:
    """A board of up to `MOST_CELLS` besides its walls, with pieces of any shape; ``*`` is allowed only `with_anything`.

    Raises `ConfigurationError` that names the row of a wrong length or character, or the piece that is not connected.
    """
    # A board of one line, or of runs, in rows; any other as it is.
    unfolded = plain = _unspaced(text, with_anything)
    one_line = "/" not in plain and "|" not in plain and len(plain) in _SQUARES
    if one_line:
        side = _SQUARES[len(plain)]
        if EMPTY in plain and plain.count(BLOCKED) == 1:
            raise ConfigurationError(f"{BLOCKED!r} is a piece in a board that has '{EMPTY}'; write '{WALL}' for a wall")
        unfolded = "/".join(plain[begin : begin + side] for begin in range(0, len(plain), side))
    # A row of so few cells needs no digits as letters.
    elif "/" not in plain and "|" not in plain and len(plain) < _DIGIT and any(map(str.isdecimal, plain)):
        raise ConfigurationError(
            f"{text!r} may be one row or have runs; join rows by '|' if numbers repeat marks, else leave out digits"
        )
    unfolded, exit_at = expand_runs(unfolded), None
    if not with_anything:
        unfolded, exit_at = _without_exit(unfolded)
    rows, columns = unfolded.count("/") + 1, len(unfolded.partition("/")[0])
    if not columns:
        raise ConfigurationError(f"row 1 of the board is empty: {text!r}")
    marks: dict[str, list[Cell]] = {mark: [] for mark in (WALL, EMPTY, ANYTHING) if with_anything or mark != ANYTHING}
    pieces: dict[str, list[Cell]] = {}
    known = "a letter or one of '" + "', '".join(marks) + "'"
    for cell, (*_, letter) in enumerate(marks_in(rows_in(unfolded, rows, columns), {*LETTERS, *marks}, known)):
        (marks[letter] if letter in marks else pieces.setdefault(letter, [])).append(cell)
    if (free := rows * columns - len(marks[WALL])) > MOST_CELLS and not with_anything:
        raise ConfigurationError(
            f"the board has {rows} x {columns} cells, {free} of them not walls, above the limit of {MOST_CELLS} cells"
        )
    for letter, cells in pieces.items():
        places = {divmod(cell, columns) for cell in cells}
        reached = [divmod(cells[0], columns)]
        for row, column in reached:
            beside = {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}
            reached += (beside & places).difference(reached)
        if len(reached) < len(cells):
            where = ", ".join(f"row {row + 1} column {column + 1}" for row, column in sorted(places))
            raise ConfigurationError(
                f"piece {letter} is not connected: its cells are {where}{_ROWS if rows == 1 else ''}"
            )
    wall, empty, anything = (frozenset(marks.get(mark, ())) for mark in (WALL, EMPTY, ANYTHING))
    cars = _CARS if one_line or (OPEN in text and OPEN not in plain) else _CARS[:-1]
    cars = cars if rows == columns and rows in _SQUARES.values() else ""
    return ParsedBoard(
        rows, columns, {letter: frozenset(cells) for letter, cells in pieces.items()}, wall, empty, anything, exit_at,
        cars,
    )  # fmt: skip


def images_of(text: str) -> list[str]:
    """Return the images of a board, of rows, by the symmetries of its rectangle, the board itself first.

    Their pieces are lettered in reading order.
    """
    rows = text.split("/")
    turned = [rows, ["".join(column) for column in zip(*rows, strict=True)]] if len(rows) == len(rows[0]) else [rows]
    flipped = [each[::step] for each in turned for step in (1, -1)]
    texts = ["/".join(row[::step] for row in each) for each in flipped for step in (1, -1)]
    named = ["".join(mark for mark in dict.fromkeys(text) if mark in LETTERS) for text in texts]
    return [
        text.translate(str.maketrans(marks, LETTERS[: len(marks)])) for text, marks in zip(texts, named, strict=True)
    ]


def least_image(text: str, goal: str) -> str:
    """Return the least image of a board by the symmetries that keep its goal: one text for each symmetry class."""
    goals = images_of(goal)
    return min(image for image, other in zip(images_of(text), goals, strict=True) if other == goals[0])


def describe_steps(path: list[tuple[int, int]]) -> str:
    """A way over (row, column) places in words: ``"down"``, ``"right 2"``, ``"down, left"``."""
    names = {(1, 0): "down", (-1, 0): "up", (0, 1): "right", (0, -1): "left"}
    steps: list[tuple[str, int]] = []
    for (row, column), (next_row, next_column) in pairwise(path):
        name = names[next_row - row, next_column - column]
        if steps and steps[-1][0] == name:
            steps[-1] = (name, steps[-1][1] + 1)
        else:
            steps.append((name, 1))
    return ", ".join(name if count == 1 else f"{name} {count}" for name, count in steps)
