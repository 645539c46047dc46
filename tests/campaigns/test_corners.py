"""The hardest starts from corner to corner: a plain search, the published row, and Hakoiri on each start."""

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from campaigns.corners import PAGE, PUBLISHED, SOURCE, known, options_of, page, picture_of
from hakoiri import explore

Piece = frozenset[tuple[int, int]]
ROWS = known()
STEPS = ((0, 1), (0, -1), (1, 0), (-1, 0))


def moved(piece: Piece, step: tuple[int, int]) -> Piece:
    return frozenset((row + step[0], column + step[1]) for row, column in piece)


def shape_of(piece: Piece) -> Piece:
    return moved(piece, (-min(row for row, _ in piece), -min(column for _, column in piece)))


def is_connected(cells: Piece) -> bool:
    met = found = {min(cells)}
    while found:
        found = {cell for step in STEPS for cell in moved(frozenset(found), step)} & cells - met
        met = met | found
    return met == cells


def placements(cells: list[tuple[int, int]]) -> Iterator[frozenset[Piece]]:
    """All partitions of some of the cells into connected pieces."""
    if not cells:
        yield frozenset()
        return
    first, *rest = cells
    yield from placements(rest)
    for bits in range(1 << len(rest)):
        piece = frozenset([first, *(cell for at, cell in enumerate(rest) if bits >> at & 1)])
        if is_connected(piece):
            for others in placements([cell for cell in rest if cell not in piece]):
                yield others | {piece}


def successors(board: Piece, pieces: frozenset[Piece], marked: Piece) -> Iterator[tuple[frozenset[Piece], Piece]]:
    for piece in pieces:
        free = board - frozenset().union(*(pieces - {piece}))
        met = found = {piece}
        while found:
            found = {to for each in found for step in STEPS if (to := moved(each, step)) <= free} - met
            met = met | found
        for to in met - {piece}:
            yield pieces - {piece} | {to}, to if piece == marked else marked


@cache
def plain_rows(rows: int, columns: int) -> dict[int, tuple[int, int, int, int, int]]:
    """For each number of pieces: moves of the hardest start, sets, those with a start, ends, placements met."""
    cells = [(row, column) for row in range(rows) for column in range(columns)]
    board, first, last = frozenset(cells), cells[0], cells[-1]
    ends = defaultdict(list)
    for pieces in placements(cells):
        for marked in pieces:
            shape = shape_of(marked)
            end = moved(
                shape, (rows - 1 - max(row for row, _ in shape), columns - 1 - max(column for _, column in shape))
            )
            if marked == end and last in marked and first in shape and frozenset().union(*pieces) < board:
                shapes = sorted(tuple(sorted(shape_of(piece))) for piece in pieces)
                ends[tuple(shapes), shape].append((pieces, marked))
    found: dict[int, tuple[int, int, int, int, int]] = {}
    for (kinds, _), last_ones in ends.items():
        met, layer, moves, most = set(last_ones), last_ones, 0, -1
        while layer:
            if any(first in marked and marked == shape_of(marked) for _, marked in layer):
                most = moves
            layer = [each for each in {to for one in layer for to in successors(board, *one)} if each not in met]
            met |= set(layer)
            moves += 1
        before = found.get(len(kinds), (-1, 0, 0, 0, 0))
        sums = (before[1] + 1, before[2] + (most >= 0), before[3] + len(last_ones), before[4] + len(met))
        found[len(kinds)] = (max(before[0], most), *sums)
    return found


def figures_of(row: dict[str, str]) -> tuple[int, ...]:
    return tuple(int(row[column]) for column in ("moves", "sets", "with_start", "ends", "met"))


def test_a_plain_search_knows_small_boards() -> None:
    """By hand: on 2x2 with three single cells, A goes round in five moves, as the others give way."""
    assert plain_rows(2, 2) == {1: (1, 5, 5, 5, 10), 2: (2, 5, 1, 9, 20), 3: (5, 1, 1, 3, 12)}


@pytest.mark.ci_slow
def test_rows_are_those_of_a_plain_search() -> None:
    assert plain_rows(3, 3) == {pieces: figures_of(row) for (size, pieces), row in ROWS.items() if size == "3x3"}


@pytest.mark.ci_slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++")
def test_the_program_makes_the_rows(tmp_path: Path) -> None:
    """And, on a board that no row is of, what a plain search finds; a board on its side has the same figures."""
    subprocess.run(["g++", "-O2", "-std=c++17", "-o", tmp_path / "corners", SOURCE], check=True)

    def asked(*words: str) -> tuple[int, ...]:
        found = subprocess.check_output([tmp_path / "corners", *words], text=True).split()
        return int(found[1]), *map(int, found[3:])

    assert all(asked("3", "4", str(pieces)) == figures_of(ROWS["3x4", pieces]) for pieces in range(1, 12))
    assert all(asked("4", "3", str(pieces)) == figures_of(ROWS["3x4", pieces]) for pieces in range(1, 12))
    assert {pieces: asked("2", "4", str(pieces)) for pieces in range(1, 8)} == plain_rows(2, 4)


def test_the_rows_are_as_published() -> None:
    for size, moves in PUBLISHED.items():
        assert [int(ROWS[size, pieces]["moves"]) for pieces in range(1, len(moves) + 1)] == list(moves)


@pytest.mark.parametrize(("size", "pieces"), [("3x4", 8), ("4x4", 9), ("4x5", 17)])
def test_a_start_is_so_many_moves_from_its_goal(size: str, pieces: int, tmp_path: Path) -> None:
    row = ROWS[size, pieces]
    options = options_of(row["start"])
    with explore("sliding", options, start=row["start"], until_goal=True, data=tmp_path) as run:
        assert run.depth == int(row["moves"])


def test_the_page_is_made_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == "\n".join(page(ROWS))
    for size in {size for size, _ in ROWS}:
        drawn = picture_of([row for (where, _), row in ROWS.items() if where == size])
        assert PAGE.with_name(f"corners-{size}.svg").read_text(encoding="utf-8") == drawn
