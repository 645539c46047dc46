"""Moves among the keys of any layout, and the keys of blocks, one by one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.keys.layout import Key, Keys, Layout, ints
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.blocks import Coded, decode


class Steps(Klotski):
    """Each key leads to those a little off; the keys are those of any layout."""

    def __init__(self, layout: Layout, offsets: Sequence[int]) -> None:
        super().__init__()
        self.layout = layout
        self._offsets = offsets

    def expand(self, keys: Keys) -> Expansion:
        """In no order, with duplicates."""
        found = [(key + offset) % (self.layout.greatest + 1) for key in ints(keys) for offset in self._offsets]
        return Expansion(self.layout.pack(found), np.full(len(keys), len(self._offsets), dtype=np.uint16))

    def is_goal(self, keys: Keys) -> Any:
        """Every third."""
        return np.array([key % 3 == 0 for key in ints(keys)], dtype=np.bool_)


def keys_in(coded: Coded, number: int, layout: Layout) -> list[Key]:
    """The keys of blocks of layer `number`."""
    return [key for block in coded.blocks(number) for key in ints(decode(block, layout))]
