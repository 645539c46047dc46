"""One worker process, ``python -m hakoiri.worker.main``, started by `worker.supervisor`.

Its environment holds all its settings: HAKOIRI_REDIS the Redis URL; for a host that keeps ranges, HAKOIRI_STORE the
directory, HAKOIRI_THREADS the number of threads, HAKOIRI_DATA_REDIS the URL of its data Redis, if any. The worker runs
only the puzzle files named by HAKOIRI_PUZZLE_FILES at its start. With HAKOIRI_UNTIL, a time of `time.monotonic`, it
ends with `OUT_OF_TIME` shortly before. It ends with `os.EX_TEMPFAIL` if a worker started later may succeed.
"""

import ctypes
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import redis
from rq.worker import DequeueStrategy, WorkerStatus

from hakoiri.compiling import telling
from hakoiri.errors import HakoiriError, RedisRefusedError, RedisUnavailableError
from hakoiri.logs import log, set_up
from hakoiri.puzzles.user.files import configured_files, load_file
from hakoiri.worker.hosts.host import STORE, THREADS, Host
from hakoiri.worker.machine import REDIS, SUPERVISOR, worker_name
from hakoiri.worker.rq_worker import SHOWN_SECONDS, TaskWorker
from hakoiri.worker.supervisor import OUT_OF_TIME, UNTIL
from hakoiri.worker.tasks import TASKS
from hakoiri.worker.transport.connection import (
    DRAINING,
    HOSTS,
    connect,
    is_away,
    require_own_name,
    require_own_names,
    start_heartbeat,
)
from hakoiri.worker.transport.data_redis import DATA_REDIS, own_data_redis

_RETRY_SECONDS = 0.2
#: Redis may be back later, or accept the password again.
_AWAY = (RedisUnavailableError, RedisRefusedError)
#: Options of mallopt(3): the size from which arrays are mapped, and the free memory that is kept.
_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -3, -1


def main() -> None:
    """Work until asked to stop, waiting while Redis is away; end with the supervisor. Exits the process on errors."""
    set_up()
    try:
        _work()
    except (redis.RedisError, HakoiriError, ValueError) as error:
        lost = isinstance(error, redis.RedisError) and is_away(error)
        if not (lost or isinstance(error, (*_AWAY, redis.OutOfMemoryError))):
            log(f"worker process {os.getpid()}: {error}", level=logging.ERROR)
            sys.exit(1)
        log(f"worker process {os.getpid()} lost Redis: {error}", level=logging.WARNING)
        sys.exit(os.EX_TEMPFAIL)


def _compiling(worker: str, count: int) -> None:
    """Log that a worker compiles, once."""
    if not count:
        log(f"{worker}: compiling kernels, once: takes some seconds")


def _work() -> None:
    _keep_memory()
    url = os.environ[REDIS]
    parent = int(os.environ[SUPERVISOR]) if SUPERVISOR in os.environ else None
    for path in configured_files():
        load_file(path)
    connection = _connected(url, parent)
    # Before the worker announces itself.
    require_own_names(connection, url)
    store = os.environ.get(STORE, "")
    host = Host(Path(store), int(os.environ[THREADS])) if store else None
    until = float(os.environ.get(UNTIL, "inf"))
    worker = TaskWorker(host.name if host else worker_name(os.getpid()), connection, host, until)
    if host is None:
        # IMPORTANT: before the first request, or an answer might come from code that was edited after its digest.
        for task in TASKS.values():
            _ = task.work
        end_heartbeat = start_heartbeat(worker.name, connect(url), parent)
        now_and_then, seconds = worker.print_done, 1
    else:
        _announce_host(host, worker, url, parent)
        now_and_then, seconds = host.remove_deleted, 600
    for work, pause in ((now_and_then, seconds), (worker.show, SHOWN_SECONDS // 4)):
        threading.Thread(target=_repeat, args=(work, pause), daemon=True).start()
    # Errors of a task are reported to the coordinator. RQ would print tracebacks of lost connections, and warn that
    # slow jobs seem abandoned.
    logging.getLogger("rq").setLevel(logging.CRITICAL)
    # Alternates between its own queue and the common one, so that no run blocks others.
    with telling(partial(_compiling, worker.name)):
        worker.work(logging_level="CRITICAL", dequeue_strategy=DequeueStrategy.ROUND_ROBIN)
    if host is None:
        worker.print_done()
        # A host that ends is waited for.
        end_heartbeat()
    if worker.seconds_left <= 0:
        sys.exit(OUT_OF_TIME)


def _connected(url: str, parent: int | None) -> redis.Redis:
    """Return a connection, once Redis answers; exit the process when its parent has ended."""
    while parent is None or os.getppid() == parent:
        try:
            return connect(url)
        except _AWAY:
            time.sleep(_RETRY_SECONDS)
    sys.exit(1)


def _announce_host(host: Host, worker: TaskWorker, url: str, parent: int | None) -> None:
    """Send heartbeats of a host that keeps ranges, which may be given ranges from now on."""
    set_up(host=host.name)
    data_redis, beats = own_data_redis(os.environ.get(DATA_REDIS, "")), connect(url)
    require_own_name(beats, host.name, host.place)
    with suppress(redis.RedisError):
        beats.srem(DRAINING, host.name)
    start_heartbeat(worker.name, beats, parent, partial(_beat, host, worker, data_redis), HOSTS, host.place)


def _beat(host: Host, worker: TaskWorker, data_redis: Callable[[], str]) -> str:
    return host.beat(data_redis(), worker.get_state() != WorkerStatus.BUSY)


def _repeat(work: Callable[[], None], seconds: float) -> None:
    """Call a function now, and every `seconds`.

    IMPORTANT: not in the heartbeat, which a full pipe or a slow disk would hold up.
    """
    while True:
        work()
        time.sleep(seconds)


def _keep_memory() -> None:
    """Keep memory from chunk to chunk: glibc would return large arrays to the system, and fetch them again by pages.

    A worker takes 31.8 ns for a configuration of the 3x4 tiles instead of 38.7.
    """
    with suppress(AttributeError):  # A C library other than glibc.
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, 1 << 25)
        mallopt(_M_TRIM_THRESHOLD, 1 << 28)


if __name__ == "__main__":
    main()
