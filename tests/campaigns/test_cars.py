"""Rush Hour with cars of one cell: all boards of a size by Hakoiri, and by a search in plain Python."""

from collections import deque
from contextlib import closing
from itertools import combinations
from math import comb
from pathlib import Path

import pytest

from campaigns.tables.entries import read_parts
from campaigns.tables.figures import axes, cars, drawn
from hakoiri.api import census
from hakoiri.keys.layout import ints

_SIZE = 3


def moves_of(board: str) -> list[str]:
    """The boards one move away, cells in reading order: ``r`` moves along its row, ``c`` along its column."""
    hole, found = board.index("."), []
    row, column = divmod(hole, _SIZE)
    for down, right, kind in ((0, 1, "r"), (0, -1, "r"), (1, 0, "c"), (-1, 0, "c")):
        there = (row + down) * _SIZE + column + right
        if 0 <= row + down < _SIZE and 0 <= column + right < _SIZE and board[there] == kind:
            cells = list(board)
            cells[hole], cells[there] = kind, "."
            found.append("".join(cells))
    return found


def boards(along_rows: int) -> list[str]:
    cells = range(_SIZE * _SIZE)
    return [
        "".join("." if cell == hole else "r" if cell in rows else "c" for cell in cells)
        for hole in cells for rows in combinations([cell for cell in cells if cell != hole], along_rows)
    ]  # fmt: skip


def distances(starts: list[str]) -> dict[str, int]:
    found = dict.fromkeys(starts, 0)
    queue = deque(starts)
    while queue:
        board = queue.popleft()
        for other in moves_of(board):
            if other not in found:
                found[other] = found[board] + 1
                queue.append(other)
    return found


@pytest.mark.filterwarnings("ignore:.*pieces of one shape are the same")
@pytest.mark.parametrize("along_rows", [1, 4, 7])
def test_the_hardest_boards_are_those_of_a_search_in_plain_python(along_rows: int, tmp_path: Path) -> None:
    start = cars(_SIZE)
    options = {"axis": axes(_SIZE, along_rows), "goal": "r**/***/***".replace("r", start[0])}
    run = census("sliding", options, start=start, diameters="none", data=tmp_path)
    with closing(run):
        total, hardest = sum(run.layer_sizes), run.hardest()
        found = {drawn(run.puzzle.render(key), along_rows).replace("/", "") for key in ints(hardest.configurations)}
    known = distances([board for board in boards(along_rows) if board[0] == "r"])
    most = max(known.values())
    assert (hardest.distance, found) == (most, {board for board in known if known[board] == most})
    assert (total, hardest.dead) == (9 * comb(8, along_rows), 9 * comb(8, along_rows) - len(known))


def test_all_mixes_are_entries() -> None:
    names = [entry.name for entry in read_parts()["cars"].entries]
    assert names == [f"{size}x{size}, {rows} along rows" for size in (4, 5) for rows in range(1, size * size - 1)]
