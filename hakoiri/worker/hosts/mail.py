"""The lists of messages by which hosts send each other blocks, each in the data Redis of its receiver."""

from time import monotonic, sleep
from typing import Any

import redis

from hakoiri.worker.errors import PayloadError
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.transport.data_redis_pool import DataRedisPool
from hakoiri.worker.transport.names import inbox_key

#: The seconds that a message may wait for room in a data Redis, and that a receiver waits for a message.
PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS, _LOOK_SECONDS = 0.05, 0.2
#: The seconds after which Redis drops messages that were not read.
_KEEP_SECONDS = 900


class Mail:
    """The lists of messages to the hosts of a request, in its attempt of a session."""

    def __init__(self, data_pool: DataRedisPool, request: HostRequest, session: str) -> None:
        self._data_pool, self._numbers, self._me = data_pool, request.data_redis, request.me
        self._names = [inbox_key(session, host, request.depth, request.attempt) for host in request.hosts]

    def send(self, owner: int, message: bytes) -> None:
        """Push a message to the data Redis of its receiver; wait while that is full."""
        until = monotonic() + PATIENCE_SECONDS
        while True:
            try:
                with self._data_pool.reach(self._numbers[owner]) as connection:
                    pipeline = connection.pipeline(transaction=False)
                    # If Redis refuses it, redis-py puts all of it into words, unless it is a view.
                    pipeline.rpush(self._names[owner], memoryview(message))
                    pipeline.expire(self._names[owner], _KEEP_SECONDS)
                    pipeline.execute()
                    return
            except redis.exceptions.OutOfMemoryError as error:
                if monotonic() > until:
                    raise PayloadError("the data Redis of another host is full and does not empty") from error
                sleep(_PAUSE_SECONDS)

    def receive(self) -> bytes | None:
        """Return the next message in the own data Redis; ``None`` if none comes within a moment."""
        with self._data_pool.reach(self._numbers[self._me]) as connection:
            found: Any = connection.blpop([self._names[self._me]], timeout=_LOOK_SECONDS)
            return bytes(found[1]) if found else None
