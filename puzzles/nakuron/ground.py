"""The parts of a Nakuron board that never move, as bit planes for the kernels, and fields in and out of text."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puzzles.nakuron.board import WALL, Board
from puzzles.nakuron.kernels import MOST_SIDE, PLANES, SIDES, WORDS, Words, turn_in

Cells = NDArray[np.uint8]


class Ground(NamedTuple):
    """The walls and holes of a board, all uint64; arrays by side are turned so that the side is up.

    `walls` (4, 256, 4): where walls are. `exits` (4, 256, 4): the cells from which a ball drops. `holes` (4, 3, n, 4),
    not turned: for each side the colour of the hole that each of these cells leads to. `bits` (1,): of the farthest way
    that a ball can roll.
    """

    walls: Words
    exits: Words
    holes: Words
    bits: Words


def ground_of(board: Board) -> Ground:
    """The ground of a board."""
    cells = _cells(board.rows)
    wall = cells == int(WALL)
    walls, exits = (np.zeros((SIDES, MOST_SIDE, WORDS), dtype=np.uint64) for _ in range(2))
    holes = np.zeros((SIDES, PLANES, board.size, WORDS), dtype=np.uint64)
    for side in range(SIDES):
        colours = _exit_colours(wall, board.frame[side], side)
        holes[side] = _planes(colours)
        _turn(wall, side, walls[side])
        _turn(colours > 0, side, exits[side])
    return Ground(walls, exits, holes, np.array([_farthest(wall).bit_length()], dtype=np.uint64))


def field_of(board: Board) -> Words:
    """The balls of a board as a field (3, n, 4)."""
    cells = _cells(board.rows)
    return _planes(np.where(cells == int(WALL), 0, cells).astype(np.uint8))


def rows_of(field: Words, board: Board) -> tuple[str, ...]:
    """The rows of a field on the walls of a board."""
    size = field.shape[1]
    bits = np.unpackbits(field.astype("<u8").view(np.uint8).reshape(PLANES, size, -1), axis=2, bitorder="little")
    cells = sum(bits[plane, :, :size] << plane for plane in range(PLANES))
    cells = np.where(_cells(board.rows) == int(WALL), int(WALL), cells)
    return tuple("".join(map(str, row)) for row in cells.tolist())


def _cells(rows: Sequence[str]) -> Cells:
    return np.array([[int(cell) for cell in row] for row in rows], dtype=np.uint8)


def _planes(cells: Cells) -> Words:
    """Cells (n, n) as planes (3, n, 4)."""
    size = len(cells)
    wide = np.zeros((PLANES, size, MOST_SIDE), dtype=np.uint8)
    for plane in range(PLANES):
        wide[plane, :, :size] = cells >> plane & 1
    return np.packbits(wide, axis=2, bitorder="little").view("<u8").astype(np.uint64)


def _turn(mask: NDArray[np.bool_], side: int, turned: Words) -> None:
    turn_in(_planes(mask.astype(np.uint8))[:1], side, turned.reshape(1, MOST_SIDE, WORDS))


def _exit_colours(wall: NDArray[np.bool_], frame: str, side: int) -> Cells:
    """For each cell from which a ball drops when tilted to `side` the colour of the hole, else 0."""
    holes = np.array([0 if hole == WALL else int(hole) for hole in frame], dtype=np.uint8)
    # Seen from the side, a cell is open when no wall is between it and the frame.
    seen = {0: wall, 1: wall.T[::-1], 2: wall[::-1], 3: wall.T}[side]
    colours = ~np.logical_or.accumulate(seen, axis=0) * holes
    return {0: colours, 1: colours[::-1].T, 2: colours[::-1], 3: colours.T}[side]


def _farthest(wall: NDArray[np.bool_]) -> int:
    """The farthest that a ball can roll in any row or column: one less than the longest stretch without a wall."""
    lines = [*wall.tolist(), *wall.T.tolist()]
    stretches = ["".join("01"[cell] for cell in line).split("1") for line in lines]
    return max(0, max(len(stretch) for line in stretches for stretch in line) - 1)
