"""Where the cards of a field are, as one key: of each card its place among the cells that earlier cards have left.

The field has four rows of n cells, each of the four suits n - 1 cards, and four cells are blank. Card i, of 4 (n - 1),
has 4 n - i cells to choose from, so its field is just wide enough for 4 n - i - 1. Fields lie side by side from the
most significant bit of the key down, but none lies across two words of 64 bits: 13 columns take exactly 256 bits.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from puzzles.errors import ConfigurationError
from puzzles.keys.layout import U256, Key, Layout, narrowest
from puzzles.solitaires.cards import SUITS

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORD_BITS = 64


@dataclass(frozen=True)
class Placing:
    """The packing for `columns` cells a row.

    For each card `words` and `shifts` say where its field lies in the key, `masks` what fits into it.
    """

    columns: int
    layout: Layout
    words: NDArray[np.int64]
    shifts: NDArray[np.int64]
    masks: NDArray[np.uint64]

    @property
    def cells(self) -> int:
        """How many cells the field has."""
        return SUITS * self.columns

    @property
    def cards(self) -> int:
        """How many cards lie on it."""
        return SUITS * (self.columns - 1)

    def pack(self, places: "Sequence[int]") -> Key:
        """The key of the cells of all cards."""
        left, words = list(range(self.cells)), [0] * self.layout.words
        for card, place in enumerate(places):
            words[self.words[card]] |= left.index(place) << int(self.shifts[card])
            left.remove(place)
        key = 0
        for word in words:
            key = key << _WORD_BITS | word
        return key

    def unpack(self, key: Key) -> list[int]:
        """The cell of each card; `ConfigurationError` for a key that no cells have."""
        left, places = list(range(self.cells)), []
        for card in range(self.cards):
            shift = (self.layout.words - 1 - int(self.words[card])) * _WORD_BITS + int(self.shifts[card])
            choice = key >> shift & int(self.masks[card])
            if choice >= len(left):
                raise ConfigurationError(f"{key:#x} puts card {card} on cell {choice} of the {len(left)} that are left")
            places.append(left.pop(choice))
        if self.pack(places) != key:
            raise ConfigurationError(f"{key:#x} has bits that belong to no card")
        return places


@cache
def placing(columns: int) -> Placing:
    """The packing for 2 to 13 columns."""
    words, offsets, word, used = [], [], 0, 0
    widths = [(SUITS * columns - card - 1).bit_length() for card in range(SUITS * (columns - 1))]
    for width in widths:
        if used + width > _WORD_BITS:
            word, used = word + 1, 0
        used += width
        words.append(word)
        offsets.append(used)
    layout = narrowest(_WORD_BITS * word + used)
    bits = min(layout.bits, _WORD_BITS)
    lead = layout.words - word - 1
    masks = np.array([(1 << width) - 1 for width in widths], dtype=np.uint64)
    return Placing(columns, layout, np.array(words) + lead, bits - np.array(offsets), masks)


#: More columns than these do not fit the widest key.
MOST_COLUMNS = 13
assert placing(MOST_COLUMNS).layout == U256  # noqa: S101
