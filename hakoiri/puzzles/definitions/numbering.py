"""Numberings of the positions of a definition: how a key tells a position, and what moves make of keys.

`mixed.Mixed`      a mixed number of coordinates (`coordinates`): the fastest
`mixed.Listed`     the place among those of its numbers that are positions, where coordinates leave gaps
`chained.Chained`  a number by a chain of stabilisers, where coordinates leave gaps or are too large
`packed.Packed`    a digit for each choice of a piece or twist, where a number would be too large
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import Keys, Layout, Mask
from hakoiri.puzzles.contract import Matching
from hakoiri.puzzles.definitions.definition import Definition

#: A column for each place.
Table = NDArray[np.int64]


class PositionKeys(ABC):
    """The keys of positions, which are given by their pieces and twists, a column for each place."""

    layout: Layout
    version = 1
    #: There are at most so many positions.
    size: int
    #: Keys are 0 to `numbers` - 1 and all of these are positions; or ``None``. `total` is the number of positions.
    numbers: int | None = None
    total: int | None = None
    #: The pieces, and the twists, of these places are changed by moves.
    varying: tuple[set[int], set[int]]
    definition: Definition
    #: Maps from places to others whose pieces move alike, so that they are told by those.
    followers: Sequence[dict[int, int]] = ()
    #: The sizes of the digits of a mixed number, the outermost first.
    sizes: Sequence[int] = ()

    @abstractmethod
    def expand(self, keys: Keys) -> Keys:
        """Return the keys after each move, those of the first key first."""

    @abstractmethod
    def unpack(self, keys: Keys) -> tuple[Table, Table]:
        """Return for each key and place the piece there, and how often it is turned."""

    @abstractmethod
    def pack(self, pieces: Table, twists: Table) -> Keys:
        """Return the keys of positions; `ConfigurationError` if no moves lead to one."""

    def are_keys(self, keys: Keys) -> Mask:
        """Return for each key whether it may be a position, so that kernels may take it."""
        return np.asarray(keys <= self.layout.dtype.type(self.size - 1))

    def coset_sizes(self) -> list[int]:
        """Return the sizes of sets of numbers that every move leads to one set."""
        return [prod(self.sizes[outer:]) for outer in range(1, len(self.sizes))]

    def follow(self, pieces: Table) -> Table:
        """Set the pieces that others tell; return all."""
        for place, row in self._following(pieces):
            pieces[:, place] = row
        return pieces

    def check_followers(self, pieces: Table) -> None:
        """Raise `ConfigurationError` for pieces that others tell, and that are elsewhere."""
        if any((pieces[:, place] != row).any() for place, row in self._following(pieces)):
            raise ConfigurationError("this position cannot be reached: pieces that move together are apart")

    def _following(self, pieces: Table) -> Iterator[tuple[int, Table]]:
        solved = self.definition.pieces if self.followers else []
        for image in self.followers:
            told = np.zeros(max(solved) + 1, dtype=np.int64)
            for leader, place in image.items():
                told[solved[leader]] = solved[place]
            for leader, place in image.items():
                yield place, told[pieces[:, leader]]

    def match(self, pieces: Sequence[int | None], twists: Sequence[int | None]) -> Matching | None:
        """Return what matches positions with these pieces and twists, where ``None`` is anything."""

        def holds(keys: Keys) -> Mask:
            found = np.ones(len(keys), dtype=np.bool_)
            for rows, asked in zip(self.unpack(keys), (pieces, twists), strict=True):
                for place, wanted in enumerate(asked):
                    if wanted is not None:
                        found &= rows[:, place] == wanted
            return found

        return holds
