"""What lies in depots between the halves of layer steps: counted, renewed, and taken away when nobody needs it.

Nothing of it is needed for good: pieces can be made again, blocks of layers are in the store.
"""

import math
import operator
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import redis
from numpy.typing import NDArray

from hakoiri.coordinator.executors.plane import Plane
from hakoiri.coordinator.session.tuning import Tuning
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.storage.layers.blocks import Coded
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.errors import DepotLostError, PayloadError
from hakoiri.worker.layers.windows import STAGES
from hakoiri.worker.tasks import Array
from hakoiri.worker.transport.connection import get_bytes
from hakoiri.worker.transport.depots import MAIN
from hakoiri.worker.transport.lots import (
    BLOCKS,
    CHUNK,
    LENGTH,
    PIECES,
    STAGE,
    Lot,
    Origin,
    ValueName,
    names_of,
    stretches,
)
from hakoiri.worker.transport.pieces import read_answer


class Pieces(NamedTuple):
    """Blocks of pieces, and the key range that each lies in, in increasing order."""

    lot: Lot
    ranges: NDArray[np.int64]


class Left(NamedTuple):
    """What a worker says of half of a layer step: its numbers, some keys that it made; where what it left lies."""

    numbers: Array
    sample: Keys
    blocks: Lot
    pieces: Pieces


#: The number of a request, and ``None`` where something that it refers to is not in Redis any more.
Answer = tuple[int, Left | None]
#: Fewer bytes say nothing of how fast they come.
_TELLING = 1 << 18
#: Commands in one round trip.
_AT_ONCE = 1_000
#: The stage of what the coordinator itself puts there; those of tasks begin with 1.
_OWN_STAGE = 0


class Lying:
    """The values of a session by depot and key, with their bytes."""

    def __init__(self, plane: Plane, session: str, tuning: Tuning) -> None:
        self.plane, self._session, self._keep = plane, session, tuning.keep
        self._held: dict[int, dict[str, int]] = {}
        self._bytes: dict[int, int] = {}
        self._put = 0
        #: By stage, who did its chunks.
        self._makers = dict[int, dict[int, str]]()
        self._renewed = time.monotonic()
        #: The fewest seconds that a byte took (others may have kept it waiting), and all bytes that workers have left.
        self.pace, self.left = 0.0, 0

    def share(self) -> int:
        """How many bytes may lie there in all."""
        self.plane.measure(lambda depot: self._bytes.get(depot, 0))
        return sum(self.plane.shares.values())

    @property
    def filled(self) -> int:
        """How many bytes lie there in all, or would, if every depot were as full as the fullest is."""
        shares = self.plane.shares
        fullest = max((self._bytes.get(depot, 0) / max(1, share) for depot, share in shares.items()), default=0.0)
        return max(sum(self._bytes.values()), int(fullest * sum(shares.values())))

    def put(self, number: int, coded: Coded) -> Lot:
        """Leave blocks of layer `number` there, for workers: where there is most room, else in the one Redis.

        None is given to a data Redis that was left out once: what many requests refer to would be lost again.
        """
        self._put += 1
        origin, keep = Origin(self._session, _OWN_STAGE, self._put, 0), self._keep
        shares = self.plane.shares
        steady = [depot for depot in shares if not self.plane.is_frail(depot)]
        for depot in [*sorted(steady, key=lambda depot: self._bytes.get(depot, 0) - shares[depot]), MAIN]:
            if self.plane.call(depot, lambda there: there.set(origin.key(BLOCKS), coded.data, ex=keep)):
                break
        self._add(ValueName(depot, origin.key(BLOCKS)), len(coded.data))
        return origin.lot(depot, BLOCKS, number, coded)

    def _add(self, name: ValueName, size: int) -> None:
        held = self._held.setdefault(name.depot, {})
        self._bytes[name.depot] = self._bytes.get(name.depot, 0) + size - held.get(name.key, 0)
        held[name.key] = size

    def answer(self, number: int, origin: Origin, layer: Depth, result: list[Array] | None) -> Answer:
        """What an attempt at a request of some number says; ``None`` if something was lost."""
        try:
            said = read_answer(result) if result is not None else None
        except PayloadError as error:
            raise PayloadError(
                f"what a worker says of request {number} of layer {layer} is not readable: {error}"
            ) from None
        if said is None or self.plane.is_out(said.depot):
            return number, None
        own = int(np.searchsorted(said.pieces, 1))
        parts = enumerate((said.blocks.between(0, own), said.blocks.between(own, len(said.pieces))))
        blocks, pieces = (origin.lot(said.depot, value, layer, coded) for value, coded in parts)
        for value, lot in ((BLOCKS, blocks), (PIECES, pieces)):
            if size := int(lot.places[:, LENGTH].sum()):
                self._add(ValueName(said.depot, origin.key(value)), size)
                self.left += size
        return number, Left(said.numbers, said.sample, blocks, Pieces(pieces, said.pieces[own:] - 1))

    def note_maker(self, origin: Origin, worker: str) -> None:
        """A worker has left something, and may have it at hand for some stages more; what is older nobody has."""
        self._makers.setdefault(origin.stage, {})[origin.chunk] = worker
        for stage in [stage for stage in self._makers if stage < origin.stage - STAGES]:
            del self._makers[stage]

    def maker(self, lot: Lot) -> str:
        """The worker that has left most bytes of some blocks; nothing if nobody knows."""
        left = Counter[str]()
        for stage, chunk, length in lot.places[:, [STAGE, CHUNK, LENGTH]].tolist():
            left[self._makers.get(stage, {}).get(chunk, "")] += length
        return max(left, key=left.__getitem__, default="")

    def get(self, name: ValueName) -> bytes | memoryview | None:
        """A value, if it is still there."""
        began = time.monotonic()
        size = self._held.get(name.depot, {}).get(name.key, 0)
        value = self.plane.call(name.depot, lambda depot: get_bytes(depot, name.key), size)
        if value is not None and len(value) > _TELLING:
            self.pace = min(self.pace or math.inf, (time.monotonic() - began) / len(value))
        return value

    def has(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Block by block, whether it lies there as far as is known."""
        self._forget_lost()
        there = [self._knows(name) for name in names_of(self._session, places)]
        return np.repeat(np.array(there, dtype=np.bool_), np.diff([*stretches(places), len(places)]))

    def lacks(self, lot: Lot) -> bool:
        """Whether anything of some blocks is lost, as far as is known."""
        return not self.has(lot.places).all()

    def names(self, lot: Lot) -> list[ValueName]:
        """The values that some blocks lie in."""
        return names_of(self._session, lot.places)

    def drop(self, names: Iterable[ValueName]) -> None:
        """Take values away."""
        known: dict[int, list[str]] = {}
        for name in filter(self._knows, names):
            self._forget(name)
            known.setdefault(name.depot, []).append(name.key)
        for depot, keys in known.items():
            for some in _batches(keys):
                self.plane.call(depot, partial(_unlink, some))

    def retain(self, names: Iterable[ValueName]) -> None:
        """Take everything away but these values."""
        kept = set(names)
        self.drop([name for name in self._all() if name not in kept])

    def renew(self) -> None:
        """Let everything live on, if that is due."""
        if time.monotonic() > self._renewed + self._keep / 4:
            self.look()

    def look(self) -> None:
        """Let everything live on, and forget what is gone."""
        self._forget_lost()
        for depot, held in list(self._held.items()):
            for some in _batches(list(held)):
                there = self.plane.call(depot, partial(_expire, some, self._keep)) or [False] * len(some)
                for key in compress(some, map(operator.not_, there)):
                    self._forget(ValueName(depot, key))
        self._renewed = time.monotonic()

    def close(self) -> None:
        """Take everything away, where Redis is there."""
        for depot, held in self._held.items():
            with suppress(redis.RedisError, DepotLostError):
                if not self.plane.is_out(depot):
                    with self.plane.depots.reach(depot) as connection:
                        for some in _batches(list(held)):
                            _unlink(some, connection)
        self.plane.close()

    def _all(self) -> Iterator[ValueName]:
        return (ValueName(depot, key) for depot, held in self._held.items() for key in held)

    def _knows(self, name: ValueName) -> bool:
        return name.key in self._held.get(name.depot, ())

    def _forget(self, name: ValueName) -> None:
        self._bytes[name.depot] -= self._held[name.depot].pop(name.key, 0)

    def _forget_lost(self) -> None:
        for depot in self.plane.left_out():
            self._held.pop(depot, None)
            self._bytes.pop(depot, None)


def _unlink(keys: list[str], depot: redis.Redis) -> None:
    depot.unlink(*keys)


def _expire(keys: list[str], keep: int, depot: redis.Redis) -> list[Any]:
    pipeline = depot.pipeline(transaction=False)
    for key in keys:
        pipeline.expire(key, keep)
    return pipeline.execute()


def _batches(names: list[str]) -> Iterator[list[str]]:
    return (names[begin : begin + _AT_ONCE] for begin in range(0, len(names), _AT_ONCE))
