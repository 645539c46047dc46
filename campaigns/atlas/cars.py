"""Rush Hour with cars of one cell: every board of a size with one hole, mix by mix."""

from collections.abc import Sequence

from campaigns.atlas.entries import Answer, Entry, Known, Part, Row
from hakoiri.puzzles.sliding_blocks.boards import EMPTY, LETTERS

#: By the number of rows and columns: the row whose left end a car along it is to reach.
_EXITS = {4: 2, 5: 1}
_ALONG_ROW, _ALONG_COLUMN = "r", "c"


def boards_of(size: int, along_rows: int) -> tuple[str, str]:
    """A square board with one hole, and the axes of its cars, the first ones along rows."""
    cars = LETTERS[: size * size - 1]
    cells = cars + EMPTY
    board = "/".join(cells[begin : begin + size] for begin in range(0, len(cells), size))
    groups = (f"{cars[:along_rows]}:row", f"{cars[along_rows:]}:column")
    return board, ",".join(group for group in groups if group[0] != ":")


def drawn(board: str, along_rows: int) -> str:
    """A board by what each car is bound to."""
    rows, columns = LETTERS[:along_rows], LETTERS[along_rows:]
    named = dict.fromkeys(rows, _ALONG_ROW) | dict.fromkeys(columns, _ALONG_COLUMN)
    return "".join(named.get(mark, mark) for mark in board)


def _mix(size: int, along_rows: int) -> Entry:
    name = f"{size}x{size}, {along_rows} along rows"
    board, axes = boards_of(size, along_rows)
    goal = "/".join(("A" if row == _EXITS[size] else "*") + "*" * (size - 1) for row in range(1, size + 1))
    what = ("sliding", "--from", board, "-o", f"axis={axes}", "--goal", goal, "--whole", "--diameters", "none")

    def rows(answers: Sequence[Answer]) -> list[Row]:
        run, hardest = answers
        found = {"configurations": run["configurations"], "moves": hardest["distance"], "count": hardest["count"]}
        first = drawn(hardest["configurations"][0], along_rows)
        return [{"row": name, "dead": hardest["dead"], "hardest": f"`{first}`"} | found]

    return Entry(name, (("run", *what), ("hardest", "last")), rows, name == "4x4, 7 along rows")


CARS = Part(
    "cars",
    "Rush Hour with cars of one cell",
    "All cells but one hold a car of one cell, *r* moving along its row or *c* along its column. The goal is that a "
    "car along row 1 of 5x5, or row 2 of 4x4, reaches the left end of the row. Tromp and Cilibrasi (*Limits of Rush "
    "Hour Logic Complexity*, arXiv cs/0502068; also called orimazes) give 199 moves as the most of 5x5, with this exit."
    f" For 6x6, with {36 * 2**35:,} boards, they give 732, which was not tried. Here are all mixes: together the "
    f"{16 * 2**15:,} boards of 4x4 and the {25 * 2**24:,} of 5x5, except those without a car along rows, or along "
    "columns.",
    {"configurations": "boards", "moves": "most moves", "count": "boards that need them", "hardest": "one of them",
     "dead": "boards without a solution"},
    tuple(_mix(size, along_rows) for size in _EXITS for along_rows in range(1, size * size - 1)),
    (
        Known(
            "moves", "Tromp and Cilibrasi, as quoted with a board at quomodocumque.wordpress.com, 18 February 2012",
            {"5x5, 11 along rows": 199},
        ),
        Known(
            "hardest", "tromp.github.io/oriscript4.html, the hardest of 4x4, without its number of moves",
            {"4x4, 7 along rows": "`rrrc/crcc/rc.c/ccrr`"},
        ),
    ),
)  # fmt: skip
