"""Who lives: a worker says so every second, and is taken for dead after five without a word.

RQ's own registry is no help here: a worker that does not fork sends no heartbeat in mid-job, and its entry outlives it
by minutes.
"""

import os
import threading
from contextlib import suppress

import redis

from worker.names import WORKERS, worker_key

BEAT_SECONDS, ALIVE_SECONDS = 1.0, 5


def start_heartbeat(worker: str, connection: redis.Redis, parent: int | None) -> None:
    """A thread that tells Redis that `worker` lives, and ends the process when its parent is gone."""
    pause = threading.Event()

    def beat() -> None:
        while parent is None or os.getppid() == parent:
            with suppress(redis.RedisError):  # Redis is away; the work loop waits for it too.
                pipeline = connection.pipeline(transaction=False)
                pipeline.sadd(WORKERS, worker)
                pipeline.set(worker_key(worker), b"1", ex=ALIVE_SECONDS)
                pipeline.execute()
            pause.wait(BEAT_SECONDS)
        os._exit(1)

    threading.Thread(target=beat, name="heartbeat", daemon=True).start()


def living_workers(connection: redis.Redis) -> set[str]:
    """The names of all workers that live; the dead are struck off."""
    known = sorted(_text(name) for name in connection.smembers(WORKERS))
    beats = connection.mget([worker_key(name) for name in known]) if known else []
    living = {name for name, beat in zip(known, beats, strict=True) if beat is not None}
    if dead := set(known) - living:
        connection.srem(WORKERS, *dead)
    return living


def _text(name: bytes | str) -> str:
    return name.decode() if isinstance(name, bytes) else name
