"""Left-right mirror images of the pieces of a sliding board, as a table for the kernels."""

import numpy as np

from puzzles.sliding_blocks.boards import MOST_CELLS, Cell
from puzzles.sliding_blocks.pieces import NO_KIND, Pieces
from puzzles.sliding_blocks.tables import Words


def mirror_images(pieces: Pieces) -> Words | None:
    """``[kind, first cell]``: `MOST_CELLS` times the kind of a mirrored piece, plus its first cell.

    ``None`` if walls or pieces are not symmetric.
    """

    def mirrored(cell: Cell) -> Cell:
        row, column = divmod(cell, pieces.columns)
        return row * pieces.columns + pieces.columns - 1 - column

    if frozenset(map(mirrored, pieces.walls)) != pieces.walls:
        return None
    images = np.zeros((len(pieces.kinds), MOST_CELLS), dtype=np.uint64)
    for number, kind in enumerate(pieces.kinds):
        for cells in kind.places.values():
            there = frozenset(map(mirrored, cells))
            image = number if number == pieces.blank else pieces.kind_of(there)
            if image == NO_KIND or pieces.kinds[image].total != kind.total:
                return None
            images[number, min(cells)] = image * MOST_CELLS + min(there)
    return images
