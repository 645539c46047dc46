"""A puzzle as a user may have it, whose whole space is counted in plain Python."""

from collections.abc import Iterator

import numpy as np

from hakoiri import U32, Puzzle
from hakoiri.keys.layout import Keys

RINGS, SIZE = 12, 60


class Rings(Puzzle):
    """Rings of 60 configurations each, which no move connects."""

    name = "rings"
    layout = U32
    most_successors = 2
    undirected = True

    def usual_start(self) -> int:
        return 0

    def configurations(self) -> Iterator[Keys]:
        yield np.arange(RINGS * SIZE, dtype=np.uint32)

    def successors(self, key: int) -> list[int]:
        ring, place = divmod(key, SIZE)
        return [ring * SIZE + (place + step) % SIZE for step in (-1, 1)]
