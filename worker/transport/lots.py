"""Which coded blocks lie in Redis, and where: named by numbers alone.

An attempt leaves two values, string keys in a depot: the blocks of the layer that it made (`BLOCKS`), and those of the
pieces that it expanded, range after range (`PIECES`). Their names say which attempt at which chunk left them, so that
a late or doubled attempt never mixes with the one that counts; they expire unless they are renewed. Where blocks lie in
them, and what their first keys are, the coordinator knows and says in requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.keys.layout import Keys, Layout
from hakoiri.storage.layers.blocks import Coded
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.transport.names import value_key

#: The values that an attempt may leave.
BLOCKS, PIECES = 0, 1
#: The columns of `Lot.places`.
DEPOT, STAGE, CHUNK, ATTEMPT, VALUE, BEGIN, LENGTH, NUMBER, COLUMNS = range(9)


class Lot(NamedTuple):
    """Coded blocks that lie in Redis: where (a row of `places` each), their first keys, how many keys they have.

    A place is the depot, stage, chunk, attempt and number of a value, the block's first byte there and its length, and
    the number of the layer that the block is made for.
    """

    places: NDArray[np.int64]
    firsts: Keys
    counts: NDArray[np.int64]

    @classmethod
    def empty(cls, layout: Layout) -> "Lot":
        """No blocks."""
        return cls(np.empty((0, COLUMNS), dtype=np.int64), layout.empty(0), np.empty(0, dtype=np.int64))

    def take(self, chosen: "slice | NDArray[np.bool_] | NDArray[np.int64]") -> "Lot":
        """Some of the blocks."""
        return Lot(self.places[chosen], self.firsts[chosen], self.counts[chosen])


def join_lots(lots: Sequence[Lot]) -> Lot:
    """The blocks of at least one lot, in turn."""
    places, firsts, counts = (np.concatenate(column) for column in zip(*lots, strict=True))
    return Lot(places, firsts, counts)


class ValueName(NamedTuple):
    """A value: the depot that it lies in, and its key there."""

    depot: int
    key: str


@dataclass(frozen=True)
class Origin:
    """One attempt at one chunk of a stage: who left some values."""

    session: str
    stage: int
    chunk: int
    attempt: int

    @classmethod
    def of(cls, session: str, token: str, attempt: int) -> "Origin":
        """From a request; `PayloadError` unless its token is two numbers."""
        numbers = token.split(".")
        if len(numbers) != 2 or not all(number.isdecimal() and len(number) < 19 for number in numbers):
            raise PayloadError(f"token {token[:40]!r} is not a stage and a chunk")
        return cls(session, int(numbers[0]), int(numbers[1]), attempt)

    def key(self, value: int) -> str:
        """The Redis key of a value."""
        return value_key(self.session, self.stage, self.chunk, self.attempt, value)

    def lot(self, depot: int, value: int, number: int, coded: Coded) -> Lot:
        """Where the blocks of a value lie, which are those of layer `number`."""
        places = np.empty((len(coded.firsts), COLUMNS), dtype=np.int64)
        places[:, :BEGIN] = depot, self.stage, self.chunk, self.attempt, value
        places[:, BEGIN] = np.cumsum(coded.lengths) - coded.lengths
        places[:, LENGTH], places[:, NUMBER] = coded.lengths, number
        return Lot(places, coded.firsts, coded.counts)


def names_of(session: str, places: NDArray[np.int64]) -> list[ValueName]:
    """The values in which some blocks lie, one for each stretch of them (`stretches`)."""
    return [ValueName(depot, value_key(session, *row)) for depot, *row in places[stretches(places), :BEGIN].tolist()]


def stretches(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """At which rows another stretch of one value begins."""
    same = (places[1:, :BEGIN] == places[:-1, :BEGIN]).all(axis=1)
    follows = places[1:, BEGIN] == places[:-1, BEGIN] + places[:-1, LENGTH]
    return np.flatnonzero(np.concatenate([np.ones(min(1, len(places)), dtype=np.bool_), ~(same & follows)]))
