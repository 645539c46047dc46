"""Which workers are alive: each says so every second, and is taken for dead after five seconds of silence.

RQ's own registry is no help here: a worker that does not fork sends no heartbeat in mid-job, and its entry outlives it
by minutes.
"""

import os
import socket
import threading
from contextlib import suppress

import redis

from worker.transport.names import WORKERS, worker_key

BEAT_SECONDS, ALIVE_SECONDS = 1.0, 5


def worker_name(process: int) -> str:
    """The name of the worker that is this process of this machine."""
    return f"{socket.gethostname()}-{process}"


def start_heartbeat(worker: str, connection: redis.Redis, parent: int | None) -> None:
    """Say in Redis that `worker` lives, now and from a thread; the thread ends this process when its parent is gone.

    IMPORTANT: the first beat is out before this returns, so that no chunk is begun by a worker that seems dead.
    """
    pause = threading.Event()

    def beat() -> None:
        with suppress(redis.RedisError):  # Redis is away; the work loop waits for it too.
            pipeline = connection.pipeline(transaction=False)
            pipeline.sadd(WORKERS, worker)
            pipeline.set(worker_key(worker), b"1", ex=ALIVE_SECONDS)
            pipeline.execute()

    def go_on_beating() -> None:
        while parent is None or os.getppid() == parent:
            pause.wait(BEAT_SECONDS)
            beat()
        os._exit(1)

    beat()
    threading.Thread(target=go_on_beating, name="heartbeat", daemon=True).start()


def forget_worker(worker: str, connection: redis.Redis) -> None:
    """Declare a worker dead at once, as its parent has seen it end."""
    with suppress(redis.RedisError):
        connection.delete(worker_key(worker))


def living_workers(connection: redis.Redis) -> set[str]:
    """The names of all living workers; the dead ones are forgotten."""
    known = sorted(_text(name) for name in connection.smembers(WORKERS))
    beats = connection.mget([worker_key(name) for name in known]) if known else []
    living = {name for name, beat in zip(known, beats, strict=True) if beat is not None}
    if dead := set(known) - living:
        connection.srem(WORKERS, *dead)
    return living


def _text(name: bytes | str) -> str:
    return name.decode() if isinstance(name, bytes) else name
