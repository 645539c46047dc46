"""Numbers on points as one key: five bits per point, 0 for none, point 0 first.

A word of 64 bits holds twelve whole fields, so that keys sort as their numbers do, point by point.
Up to 12 points take a u64, up to 24 a u128, up to 30 a u256 (whose first words are 0).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.errors import ConfigurationError
from hakoiri.puzzles.keys.fields import Field, Fields
from hakoiri.puzzles.keys.layout import Key, Keys, Layout, narrowest

#: Rows of numbers by point, shape (placings, points), uint8; 0 where no number stands.
Placings = NDArray[np.uint8]

_BITS, _MASK, _PER_WORD, _WORD_BITS = 5, 31, 12, 64
#: As many points as five bits have numbers for, with 0 for none; an even number, for stars.
MOST_POINTS = 30


@dataclass(frozen=True)
class Numbering:
    """The packing for a figure of `points` points."""

    points: int

    @cached_property
    def layout(self) -> Layout:
        """The narrowest keys that hold it."""
        return narrowest(-(-self.points // _PER_WORD) * _WORD_BITS)

    @cached_property
    def fields(self) -> Fields:
        """A field for each point, whose number is at most that of the points."""
        return Fields.of(self.layout, (Field(place, _BITS, self.points + 1) for place in self._places))

    def pack(self, placings: Placings) -> Keys:
        layout = self.layout
        words = np.zeros((len(placings), layout.words), dtype=np.uint64)
        for point in range(self.points):
            words[:, self._word(point)] |= placings[:, point].astype(np.uint64) << np.uint64(_shift(point))
        return words[:, 0].copy() if layout.words == 1 else words

    def unpack(self, keys: Keys) -> Placings:
        words = keys.reshape(len(keys), self.layout.words)
        placings = np.empty((len(keys), self.points), dtype=np.uint8)
        for point in range(self.points):
            placings[:, point] = (words[:, self._word(point)] >> np.uint64(_shift(point))) & np.uint64(_MASK)
        return placings

    def key_of(self, numbers: list[int]) -> Key:
        key = 0
        for point, number in enumerate(numbers):
            key |= number << self._places[point]
        return key

    def numbers_of(self, key: Key) -> list[int]:
        """The inverse of `key_of`; `ConfigurationError` for a key with other bits."""
        numbers = [key >> place & _MASK for place in self._places]
        if self.key_of(numbers) != key:
            raise ConfigurationError(f"{key:#x} has bits above those of its points")
        return numbers

    def _word(self, point: int) -> int:
        used = -(-self.points // _PER_WORD)
        return self.layout.words - used + point // _PER_WORD

    @cached_property
    def _places(self) -> list[int]:
        """By point, the lowest bit of its field in the key."""
        lasts = (self.layout.words - 1 - self._word(point) for point in range(self.points))
        return [_WORD_BITS * last + _shift(point) for point, last in enumerate(lasts)]


def _shift(point: int) -> int:
    return _BITS * (_PER_WORD - 1 - point % _PER_WORD)
