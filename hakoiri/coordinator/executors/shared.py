"""The arrays that all chunks of a map have in common, in Redis in pieces: a graph of gigabytes is sent once."""

from collections.abc import Iterator
from itertools import chain
from operator import is_

import numpy as np
import redis

from hakoiri.worker.plain import Array, Arrays
from hakoiri.worker.transport.names import shared_key
from hakoiri.worker.transport.payload import pack_arrays

#: Bytes of an array in a piece, about; a value of Redis has 512 MB at most.
_PIECE = 1 << 25


class Shared:
    """Arrays that workers fetch once and keep until others replace them. They must not change meanwhile.

    Methods may raise Redis's errors, and be called again.
    """

    def __init__(self, connection: redis.Redis, session: str, keep: int) -> None:
        self._redis, self._session, self._keep = connection, session, keep
        self.arrays: Arrays = ()
        #: Counts how often it became other arrays.
        self.number = -1

    def become(self, arrays: Arrays) -> None:
        """Share these arrays from now on; they are sent with the next chunk."""
        if len(arrays) == len(self.arrays) and all(map(is_, arrays, self.arrays)):
            return
        self.take_back()
        self.arrays, self.number = arrays, self.number + 1

    @property
    def pieces(self) -> list[int]:
        """In how many pieces each array is."""
        return [len(range(0, max(1, array.nbytes), _PIECE)) for array in self.arrays]

    def send(self) -> None:
        """Put all pieces into Redis that are not there."""
        for name, part in self._named():
            if not self._redis.expire(name, self._keep):
                self._redis.set(name, pack_arrays([part]), ex=self._keep)

    def renew(self) -> None:
        """Have what is in Redis live on for as long as at first."""
        with self._redis.pipeline(transaction=False) as pipeline:
            for name, _ in self._named():
                pipeline.expire(name, self._keep)
            pipeline.execute()

    def take_back(self) -> None:
        """Remove them from Redis."""
        if self.arrays:
            self._redis.unlink(*(name for name, _ in self._named()))

    def _named(self) -> Iterator[tuple[str, Array]]:
        parts = (np.array_split(array, count) for array, count in zip(self.arrays, self.pieces, strict=True))
        for place, part in enumerate(chain.from_iterable(parts)):
            yield shared_key(self._session, self.number, place), part
