"""Symmetries of sliding blocks: tables of the image of each kind of piece at each cell.

``[kind, first cell]`` is `MOST_CELLS` times the kind of the image, plus its first cell.
"""

import numpy as np

from hakoiri.puzzles.sliding_blocks.boards import MOST_CELLS, Cell
from hakoiri.puzzles.sliding_blocks.numbering import Words
from hakoiri.puzzles.sliding_blocks.pieces import NO_KIND, PieceSet
from hakoiri.puzzles.sliding_blocks.shapes import Shape


def reflections(pieces: PieceSet) -> list[Words]:
    """Return the reflections that the board has: left to right, upside down, and both."""
    tables = (images_by(pieces, *flips) for flips in ((True, False), (False, True), (True, True)))
    return [table for table in tables if table is not None]


def exchanges(pieces: PieceSet) -> list[Words]:
    """Each kind of pieces and the next one that differs in nothing but its letters trade places."""
    found = []
    alike: dict[tuple[Shape, str, int], int] = {}
    for number, kind in enumerate(pieces.kinds[:-1]):
        other = alike.get(mark := (kind.shape, kind.axis, kind.total))
        alike[mark] = number
        if other is not None:
            symbols = np.arange(len(pieces.kinds))
            symbols[[number, other]] = other, number
            found.append((symbols[:, None] * MOST_CELLS + np.arange(MOST_CELLS)).astype(np.uint64))
    return found


def images_by(pieces: PieceSet, across: bool, down: bool) -> Words | None:
    """Return images of pieces reflected left to right if `across`, upside down if `down`; ``None`` if asymmetric."""

    def mirrored(cell: Cell) -> Cell:
        row, column = divmod(cell, pieces.columns)
        row, column = pieces.rows - 1 - row if down else row, pieces.columns - 1 - column if across else column
        return row * pieces.columns + column

    if frozenset(map(mirrored, pieces.walls)) != pieces.walls:
        return None
    images = np.zeros((len(pieces.kinds), MOST_CELLS), dtype=np.uint64)
    for number, kind in enumerate(pieces.kinds):
        for cells in kind.places.values():
            there = frozenset(map(mirrored, cells))
            image = number if number == pieces.blank else pieces.kind_of(there, kind.letters[:1])
            if image == NO_KIND or pieces.kinds[image].total != kind.total:
                return None
            images[number, min(pieces.bits(cells))] = image * MOST_CELLS + min(pieces.bits(there))
    return images
