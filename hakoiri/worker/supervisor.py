"""N worker processes on this machine, kept alive: one that dies, by whatever signal, is replaced.

If workers keep ending by themselves as soon as they have begun, the pauses between restarts grow.
"""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from hakoiri.errors import WorkerError
from hakoiri.memory import limit_for_children
from hakoiri.puzzles.user.files import files_variable
from hakoiri.worker.machine import ONE_THREAD, REDIS, SUPERVISOR, pin, worker_name
from hakoiri.worker.transport.connection import connect, forget_worker, require_own_names
from hakoiri.worker.transport.data_redis import DATA_REDIS, DataRedis

#: Pauses grow after this many workers in succession that could not work at all.
_MOST_EARLY, _LONGEST_PAUSE_SECONDS = 5, 60.0
#: Seconds that a worker asked to stop may continue its chunk; if it is killed, another worker does the chunk.
_GRACE_SECONDS = 5.0

#: The environment variable with a worker's deadline, and its exit code once it is too late for another chunk.
UNTIL, OUT_OF_TIME = "HAKOIRI_UNTIL", 3


class Supervisor:
    """Keeps workers alive: `start` starts `count` of them, `run` replaces those that die, `stop` ends them.

    `files` hold the user puzzles that the workers know besides the built-in ones. A host receives messages at the URL
    `data_redis`, if given; if that is `server`, it is kept alive, too. Each worker is pinned to one of `cores`, if
    given. Their environment has the variables `more`. All of it is over by `until` (`time.monotonic`).

    A worker is a new interpreter: a fork would save 0.4 s of processor time and 50 MB, and is not safe beside threads,
    which a user's file may have started.
    """

    #: Between two looks at the workers; before one that died is replaced; one that ends within this could not work.
    poll_seconds, restart_seconds, early_seconds = 0.1, 0.5, 5.0

    def __init__(
        self, url: str, count: int, note: Callable[[str], None], files: Sequence[Path] = (), data_redis: str = "",
        server: DataRedis | None = None, cores: Sequence[int] = (), more: Mapping[str, str] | None = None,
        until: float = math.inf,
    ) -> None:  # fmt: skip
        # URLs are passed in the environment: arguments are visible to every user of the machine.
        settings = {REDIS: url, DATA_REDIS: data_redis, SUPERVISOR: str(os.getpid())}
        files_named = files_variable(files) if files else {}
        self._environment = {
            **ONE_THREAD, **os.environ, **limit_for_children(), **settings, **files_named, **(more or {})
        }  # fmt: skip
        self._cores = cores
        self._url, self._connection = url, connect(url)
        self._note = note
        self._stopping, self._until = False, until
        self._server = server
        #: The number of workers that died and were replaced.
        self.replaced = 0
        self._count, self._workers = count, list["subprocess.Popen[bytes]"]()
        #: By place: when its worker began (`time.monotonic`), how many in succession ended early, and, for a place
        #: whose worker ended, when the next one begins.
        self._began, self._early, self._again = dict[int, float](), dict[int, int](), dict[int, float]()
        self._gave_reason = False

    def start(self) -> None:
        """Start all workers, unless `request_stop` comes first."""
        while len(self._workers) < self._count and not self._stopping:
            self._workers.append(self._start_in(len(self._workers)))

    def names(self) -> set[str]:
        """Return the names of the workers whose processes live."""
        return {worker_name(worker.pid) for worker in self._workers if worker.poll() is None}

    def run(self) -> None:
        """Replace workers that die, until `request_stop` or until it is late; then end them all."""
        try:
            # Until just enough time is left to end them, or no worker takes another chunk.
            while not self._stopping and time.monotonic() <= self._until - _GRACE_SECONDS:
                if all(worker.poll() == OUT_OF_TIME for worker in self._workers):
                    break
                for place, worker in enumerate(self._workers):
                    if worker.poll() in (None, OUT_OF_TIME) or self._stopping:
                        continue
                    if place not in self._again:
                        self._again[place] = time.monotonic() + self._report_ended(place)
                    if time.monotonic() >= self._again[place]:
                        self._replace(place)
                if self._server is not None and not self._server.lives:
                    try:
                        self._server.revive()
                    except WorkerError as error:
                        self._note(f"{error}; trying again")
                        time.sleep(self.restart_seconds)
                    else:
                        self._note("the data Redis ended; an empty one replaces it")
                time.sleep(self.poll_seconds)
        finally:
            self.stop()

    def _report_ended(self, place: int) -> float:
        """Report that a worker has ended; return the seconds until another takes its place."""
        dead = self._workers[place]
        code = dead.wait()
        forget_worker(worker_name(dead.pid), self._connection)
        early = code >= 0 and code != os.EX_TEMPFAIL and time.monotonic() - self._began[place] < self.early_seconds
        self._early[place] = self._early.get(place, 0) + 1 if early else 0
        self._gave_reason &= early
        if (excess := self._early[place] - _MOST_EARLY) < 0:
            self._note(f"worker process {dead.pid} {_fate(code)}; starting another")
        elif not self._gave_reason:
            self._gave_reason, reason = True, "see what they have said"
            try:
                require_own_names(self._connection, self._url)
            except WorkerError as error:
                reason = str(error)
            text = f"{_MOST_EARLY} worker processes in a row ended right after they started"
            self._note(f"{text}: {reason}; trying again after growing pauses")
        return min(self.restart_seconds * 2.0 ** max(0, excess), _LONGEST_PAUSE_SECONDS)

    def _replace(self, place: int) -> None:
        try:
            self._workers[place] = self._start_in(place)
        except OSError as error:
            self._note(f"cannot start a worker ({error}); trying again")
            self._again[place] = time.monotonic() + self.restart_seconds
        else:
            self.replaced += 1
            del self._again[place]

    def request_stop(self) -> None:
        """Make `run` return; safe in a signal handler."""
        self._stopping = True

    def stop(self) -> None:
        """Ask every worker to finish its chunk and end; kill those that do not."""
        for worker in self._workers:
            worker.terminate()
        deadline = time.monotonic() + _GRACE_SECONDS
        for worker in self._workers:
            try:
                worker.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
                # So that no coordinator waits for its heartbeat to expire.
                forget_worker(worker_name(worker.pid), self._connection)

    def _start_in(self, place: int) -> "subprocess.Popen[bytes]":
        started = self.start_worker()
        self._began[place] = time.monotonic()
        if self._cores:
            pin(started.pid, self._cores[place])
        return started

    def start_worker(self) -> "subprocess.Popen[bytes]":
        """Start the process of a worker."""
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "hakoiri.worker.main"], env=self._environment, stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            # Ctrl-C on the terminal is for the supervisor, which lets them finish their chunks.
            process_group=0,
        )  # fmt: skip


@contextmanager
def supervised(
    url: str, count: int, note: Callable[[str], None], files: Sequence[Path] = ()
) -> Iterator[Callable[[], set[str]]]:
    """Keep `count` workers alive while the block runs; yield their `Supervisor.names`."""
    if not count:
        yield set
        return
    supervisor = Supervisor(url, count, note, files)
    supervisor.start()

    keeper = threading.Thread(target=supervisor.run, name="supervisor")
    keeper.start()
    try:
        yield supervisor.names
    finally:
        supervisor.request_stop()
        keeper.join()


def _fate(code: int) -> str:
    return f"was killed by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"ended with code {code}"
