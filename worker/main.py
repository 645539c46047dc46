"""One worker process: ``python -m worker.main``, started by `worker.transport.supervisor`.

Its environment says all that it may do: HAKOIRI_REDIS holds the Redis URL, HAKOIRI_DATA_REDIS that of the data Redis,
if any, and the only puzzle files that it ever runs are those named by HAKOIRI_PUZZLE_FILES when it starts. It ends with
`os.EX_TEMPFAIL` where another worker may do better in a while.
"""

import logging
import os
import sys
import time

import redis

from puzzles.errors import PuzzleError
from puzzles.user.files import configured_files, load_file
from worker.errors import RedisUnavailableError, WorkerError
from worker.transport.connection import connect, require_own_names, start_heartbeat, worker_name
from worker.transport.depots import DATA_REDIS, OwnDepot
from worker.transport.rq_worker import TaskWorker

_RETRY_SECONDS = 0.2


def main() -> None:
    """Work until asked to stop, waiting while Redis is away; end with the supervisor."""
    url = os.environ["HAKOIRI_REDIS"]
    parent = int(os.environ["HAKOIRI_SUPERVISOR"]) if "HAKOIRI_SUPERVISOR" in os.environ else None
    for path in configured_files():
        load_file(path)
    connection = _connect_patiently(url, parent)
    # Before anybody expects anything of it.
    require_own_names(connection, url)
    worker = TaskWorker(worker_name(os.getpid()), connection)
    start_heartbeat(worker.name, connect(url), parent, OwnDepot(os.environ.get(DATA_REDIS, "")))
    # What goes wrong in a task is reported to the coordinator; RQ would print tracebacks of lost connections, and that
    # it takes slow jobs for abandoned.
    logging.getLogger("rq").setLevel(logging.CRITICAL)
    worker.work(logging_level="CRITICAL")


def _connect_patiently(url: str, parent: int | None) -> redis.Redis:
    while parent is None or os.getppid() == parent:
        try:
            return connect(url)
        except RedisUnavailableError:
            time.sleep(_RETRY_SECONDS)
    sys.exit(1)


if __name__ == "__main__":
    try:
        main()
    except (redis.ConnectionError, redis.TimeoutError, redis.OutOfMemoryError, RedisUnavailableError) as error:
        print(f"worker process {os.getpid()} lost Redis: {error}", file=sys.stderr)
        sys.exit(os.EX_TEMPFAIL)
    except (redis.RedisError, PuzzleError, WorkerError, ValueError) as error:
        sys.exit(f"worker process {os.getpid()}: {error}")
