"""One worker process: ``python -m worker.main``, its Redis URL from HAKOIRI_REDIS. Started by `worker.supervisor`."""

import os

from worker.connection import connect
from worker.presence import start_heartbeat
from worker.rq_worker import TaskWorker


def main() -> None:
    """Work until told to stop."""
    url = os.environ["HAKOIRI_REDIS"]
    parent = os.environ.get("HAKOIRI_SUPERVISOR")
    worker = TaskWorker(connect(url))
    start_heartbeat(worker.name, connect(url), int(parent) if parent else None)
    worker.work(logging_level="WARNING")


if __name__ == "__main__":
    main()
