"""What lies in Redis between the halves of layer steps: counted, renewed, and taken away when nobody needs it.

Nothing of it is needed for good: pieces can be made again, blocks of layers are in the store.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import redis
from numpy.typing import NDArray

from coordinator.session.tuning import Tuning
from storage.layers.coded import Coded
from storage.ledger.manifest import Depth
from worker.tasks import Array
from worker.transport.connection import get_bytes
from worker.transport.pieces import LENGTH, Lot, Origin, names_of, read_catalogue, stretches

_Value = TypeVar("_Value")


class Patiently(Protocol):
    """Makes a call to Redis, again and again while Redis is away."""

    def __call__(self, call: Callable[[], _Value]) -> _Value:
        """What the call gives."""


class Answer(NamedTuple):
    """What a worker says of half of a layer step: its numbers, and where the blocks of each piece lie that it left.

    It is `lost` where something that the request refers to is not in Redis any more.
    """

    number: int
    numbers: Array
    lots: Mapping[int, Lot]
    lost: bool = False


#: Fewer bytes say nothing of how fast they come.
_TELLING = 1 << 18
#: Commands in one round trip.
_AT_ONCE = 1_000
#: The stage of what the coordinator itself puts there; those of tasks begin with 1.
_OWN_STAGE = 0


class Lying:
    """The pieces of a session by name, with their bytes. `patiently` makes a call again once Redis is back."""

    def __init__(self, connection: redis.Redis, session: str, tuning: Tuning, patiently: Patiently) -> None:
        self._redis, self._session, self._keep = connection, session, tuning.keep
        self._patiently = patiently
        self._most = tuning.shuffle_bytes
        self._sizes: dict[str, int] = {}
        self._put = 0
        self._renewed = time.monotonic()
        self.bytes = 0
        #: The fewest seconds that a byte took (others may have kept it waiting), and all bytes that workers have left.
        self.pace, self.left = 0.0, 0

    def share(self) -> int:
        """How many bytes may lie there."""
        memory = self._patiently(lambda: self._redis.info("memory"))
        most = int(memory.get("maxmemory", 0))
        if not most:
            return self._most
        return max(0, (most - int(memory["used_memory"]) + self.bytes) // 2)

    def put(self, number: int, coded: Coded) -> Lot:
        """Leave blocks of layer `number` there, for workers."""
        self._put += 1
        origin = Origin(self._session, _OWN_STAGE, self._put, 0)
        self._patiently(lambda: self._redis.set(origin.name(0), coded.data, ex=self._keep))
        self._add(origin.name(0), len(coded.data))
        return origin.lot(0, number, coded)

    def _add(self, name: str, size: int) -> None:
        self.bytes += size - self._sizes.get(name, 0)
        self._sizes[name] = size

    def answer(self, number: int, origin: Origin, layer: Depth, result: list[Array] | None) -> Answer:
        """What an attempt at a request of some number says; ``None`` if something was lost."""
        if result is None:
            return Answer(number, np.empty(0), {}, lost=True)
        lots = {piece: origin.lot(piece, layer, coded) for piece, coded in read_catalogue(result[1:])}
        for piece, lot in lots.items():
            size = int(lot.places[:, LENGTH].sum())
            self._add(origin.name(piece), size)
            self.left += size
        return Answer(number, result[0], lots)

    def get(self, name: str) -> bytes | None:
        """A piece, if it is still there."""
        began = time.monotonic()
        value = self._patiently(lambda: get_bytes(self._redis, name))
        if value is not None and len(value) > _TELLING:
            self.pace = min(self.pace or math.inf, (time.monotonic() - began) / len(value))
        return value

    def has(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Block by block, whether it lies there as far as is known."""
        there = [name in self._sizes for name in names_of(self._session, places)]
        return np.repeat(np.array(there, dtype=np.bool_), np.diff([*stretches(places), len(places)]))

    def names(self, lot: Lot) -> list[str]:
        """The pieces that some blocks lie in."""
        return names_of(self._session, lot.places)

    def drop(self, names: Iterable[str]) -> None:
        """Take pieces away."""
        known = [name for name in names if name in self._sizes]
        for name in known:
            self._forget(name)
        for some in _batches(known):
            self._patiently(partial(self._redis.unlink, *some))

    def retain(self, names: Iterable[str]) -> None:
        """Take everything away but these pieces."""
        kept = set(names)
        self.drop([name for name in self._sizes if name not in kept])

    def renew(self) -> None:
        """Let everything live on, if that is due."""
        if time.monotonic() > self._renewed + self._keep / 4:
            self.look()

    def look(self) -> None:
        """Let everything live on, and forget what is gone."""
        for some in _batches(list(self._sizes)):
            for name, there in zip(some, self._patiently(partial(self._expire, some)), strict=True):
                if not there:
                    self._forget(name)
        self._renewed = time.monotonic()

    def close(self) -> None:
        """Take everything away, if Redis is there."""
        for some in _batches(list(self._sizes)):
            self._redis.unlink(*some)

    def _forget(self, name: str) -> None:
        self.bytes -= self._sizes.pop(name, 0)

    def _expire(self, names: list[str]) -> list[Any]:
        pipeline = self._redis.pipeline(transaction=False)
        for name in names:
            pipeline.expire(name, self._keep)
        return pipeline.execute()


def _batches(names: list[str]) -> Iterator[list[str]]:
    return (names[begin : begin + _AT_ONCE] for begin in range(0, len(names), _AT_ONCE))
