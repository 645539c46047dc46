"""A server with its processes: those that answer, and the coordinator that drives queued runs beside them."""

import os
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import uvicorn

from hakoiri.web.connection import Connection
from hakoiri.web.settings import SERVER, Settings
from hakoiri.worker.parent import end

_APPLICATION = "hakoiri.web.app:create"
#: The pause before a coordinator that died is started again, at first and at most.
_RESTART_SECONDS, _MOST_RESTART_SECONDS = 0.5, 30.0
#: The seconds that a stopped coordinator may take to commit.
_GRACE_SECONDS = 60.0
_MOST_AT_ONCE = 1_000
#: The limit of open files: connections, and files of runs.
_OPEN_FILES = 4_096
#: The options of uvicorn.
OPTIONS: dict[str, Any] = {
    "http": Connection, "ws": "none", "log_config": None, "access_log": False, "server_header": False,
    "proxy_headers": False, "limit_concurrency": _MOST_AT_ONCE, "timeout_keep_alive": 15,
    "timeout_graceful_shutdown": 3,
}  # fmt: skip


def serve(settings: Settings, host: socket.socket, driver: list[str], note: Callable[[str], None]) -> None:
    """Answer on a bound socket until a signal arrives.

    `driver` is the command that drives queued runs meanwhile, or empty.
    """
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(allowed, min(_OPEN_FILES, most)), most))
    os.environ.update(settings.to_environment() | {SERVER: str(os.getpid())})
    config = uvicorn.Config(_APPLICATION, factory=True, workers=settings.processes, **OPTIONS)
    with _driving(settings, driver, note) if driver else nullcontext():
        if settings.processes == 1:
            uvicorn.Server(config).run([host])
        else:
            from uvicorn.supervisors import Multiprocess

            Multiprocess(config, sockets=[host]).run()


@contextmanager
def _driving(settings: Settings, driver: list[str], note: Callable[[str], None]) -> Iterator[None]:
    """Run a coordinator for the data directory during the block; restart it if it dies."""
    keeper = _Keeper(settings, driver, note)
    thread = threading.Thread(target=keeper.run, name="coordinator")
    thread.start()
    try:
        yield
    finally:
        keeper.stop()
        thread.join()


class _Keeper:
    def __init__(self, settings: Settings, driver: list[str], note: Callable[[str], None]) -> None:
        self._line = [sys.executable, "-P", "-m", "hakoiri", *driver]
        self._environment = settings.for_children()
        if settings.redis:
            self._environment["HAKOIRI_REDIS"] = settings.redis
        self._note, self._stopping = note, threading.Event()

    def run(self) -> None:
        """Keep the coordinator alive until `stop`."""
        pause = _RESTART_SECONDS
        while not self._stopping.is_set():
            begun = time.monotonic()
            # A group of its own: Ctrl-C on the terminal reaches only the server, which ends the coordinator.
            process = subprocess.Popen(
                self._line, env=self._environment, stdin=subprocess.DEVNULL, stdout=sys.stderr, process_group=0
            )
            while process.poll() is None and not self._stopping.wait(0.1):
                pass
            if self._stopping.is_set():
                end(process, _GRACE_SECONDS)
                return
            pause = _RESTART_SECONDS if time.monotonic() - begun > _MOST_RESTART_SECONDS else min(2 * pause, 30.0)
            self._note(f"the coordinator ended with code {process.returncode}; another one starts in {pause:.0f} s")
            self._stopping.wait(pause)

    def stop(self) -> None:
        """End the coordinator."""
        self._stopping.set()
