"""Positions as numbers by a chain of stabilisers, and the choice of the numbering of a definition."""

from functools import lru_cache

import numpy as np

from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import U128, Keys, narrowest
from hakoiri.memory import claim
from hakoiri.puzzles.definitions.action import Action, positions_at_least
from hakoiri.puzzles.definitions.chain import Chain
from hakoiri.puzzles.definitions.coordinates import TooLargeError
from hakoiri.puzzles.definitions.definition import Definition, Move
from hakoiri.puzzles.definitions.kernels import Levels, expand_levels
from hakoiri.puzzles.definitions.mixed import WIDE, Listed, Mixed
from hakoiri.puzzles.definitions.numbering import PositionKeys, Table
from hakoiri.puzzles.definitions.packed import Packed

#: Numbers in a table of a level: more would take minutes.
_MOST_OF_LEVEL = 2_000_000


class Chained(PositionKeys):
    """The places in the orbits of a complete chain, as a mixed number: the first level is the outermost."""

    version = 2

    def __init__(self, action: Action, chain: Chain) -> None:
        self._action, self._levels, self.varying = action, chain.levels, action.varying
        self.size = self.numbers = self.total = size = chain.order
        self.layout = narrowest((size - 1).bit_length())
        self.sizes, levels = [len(each.members) for each in self._levels], self._levels
        claim("the table of a chain", sum(each.there.nbytes + each.back.nbytes for each in levels))
        self._tables = Levels(
            np.array([each.point for each in levels]), np.array(self.sizes), np.cumsum([0, *self.sizes]),
            np.array([each.place for each in levels]), np.concatenate([each.there for each in levels]),
            np.concatenate([each.back for each in levels]), action.rows,
        )  # fmt: skip

    def expand(self, keys: Keys) -> Keys:
        room = self.layout.empty(len(keys) * len(self._action.rows))
        expand_levels(keys, self._tables, room)
        return room

    def unpack(self, keys: Keys) -> tuple[Table, Table]:
        number, elements = (
            keys.astype(np.int64),
            np.tile(np.arange(self._action.degree, dtype=np.int32), (len(keys), 1)),
        )
        for level in reversed(self._levels):
            number, place = np.divmod(number, len(level.members))
            elements = np.take_along_axis(level.there[place], elements, axis=1)
        return self._action.position(elements)

    def pack(self, pieces: Table, twists: Table) -> Keys:
        elements, number = self._action.elements(pieces, twists), np.zeros(len(pieces), dtype=np.int64)
        for level in self._levels:
            place = level.place[elements[:, level.point]]
            if (place < 0).any():
                break
            elements, number = (
                np.take_along_axis(level.back[place], elements, axis=1),
                number * len(level.members) + place,
            )
        if (elements != np.arange(self._action.degree)).any():
            raise ConfigurationError("this position cannot be reached: no moves lead to it")
        return number.astype(self.layout.dtype)


@lru_cache(maxsize=2)
def numbered(text: str, moves: tuple[Move, ...]) -> PositionKeys:
    """Return the numbering of the definition of a text by some moves; `PuzzleError` if none is possible."""
    definition = Definition.read(text)
    action = Action(definition, moves)
    try:
        mixed = Mixed(definition, moves)
    except TooLargeError:
        return _chained(action) or Packed(definition, moves)
    if positions_at_least(action, mixed.parts) == mixed.size:
        mixed.total = mixed.size
        mixed.numbers = mixed.size if mixed.layout is not U128 else None
        return mixed
    if mixed.size < WIDE and (found := _chained(action)):
        return found
    try:
        solved = mixed.pack(np.array([definition.pieces]), np.array([definition.twists]))
        return mixed if mixed.layout is U128 else Listed(mixed, solved)
    except TooLargeError:
        return mixed


def _chained(action: Action) -> Chained | None:
    """Return the numbering by a chain, if all pieces are distinct and there are below 2^63 positions."""
    if not action.distinct or action.largest * action.degree > _MOST_OF_LEVEL:
        return None
    chain = Chain(action.rows, action.points, enough=WIDE)
    return Chained(action, chain) if chain.order < WIDE and chain.complete() else None
