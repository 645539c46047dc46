"""One driver per run: an advisory lock that the kernel lets go when its process dies, however it dies."""

import fcntl
import json
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from hakoiri.puzzles.errors import Step
from hakoiri.storage.engine.translation import gone, taken_over, translated
from hakoiri.storage.errors import RunHeldError
from hakoiri.storage.ledger.manifest import local_time
from hakoiri.storage.names import HOLDER_FILE, SERVED_BY_THREADS_FILE, SERVED_FILE, runs_being_made

#: `holder_of` takes the lock for an instant; a driver that meets such an instant tries again this often.
_TRIES, _PAUSE_SECONDS = 20, 0.01
_TRIES_OF_SERVED = 3
#: Whoever makes something locks its directory as soon as that is there: a younger one may not be locked yet.
_YOUNG_SECONDS = 60


#: The lock files that this process holds, open, by run: whoever may remove one lets another process hold the run.
_held: dict[Path, IO[str]] = {}


class RunLock:
    """The right to write to a run, held from construction until `release`. Raises `RunHeldError`, naming the holder."""

    def __init__(self, directory: Path) -> None:
        with translated(directory):
            self._file = open(directory / HOLDER_FILE, "a+", encoding="utf-8")  # noqa: SIM115  (closed by release)
        for _ in range(_TRIES):
            if _try_lock(self._file.fileno()):
                break
            time.sleep(_PAUSE_SECONDS)
        else:
            who = describe_holder(_read_holder(directory))
            self._file.close()
            raise RunHeldError(f"run {directory.name} is held by {who}; wait for it", Step("cancel", directory.name))
        if not _is_of(self._file, directory):
            # The run was deleted before the lock was had.
            self._file.close()
            raise gone(directory)
        self._directory = directory
        _held[directory] = self._file
        with suppress(OSError):  # On a full disk the holder stays nameless, but holds.
            self._file.truncate(0)
            self._file.write(json.dumps(_myself()))
            self._file.flush()

    def release(self) -> None:
        _held.pop(self._directory, None)
        self._file.close()

    def __enter__(self) -> "RunLock":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def require_held(directory: Path) -> None:
    """Raise `TakenOverError` if the lock of a run that this process drives was removed, and another may drive it."""
    if directory in _held and not _is_of(_held[directory], directory):
        raise taken_over(directory)


def _is_of(file: IO[str], directory: Path) -> bool:
    """Whether an open lock file has its name still."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), (directory / HOLDER_FILE).stat())
    return False


def holder_of(directory: Path) -> dict[str, Any] | None:
    """Who drives the run now (``pid, host, command, since``), or ``None``."""
    try:
        with open(directory / HOLDER_FILE, encoding="utf-8") as file:
            return None if _try_lock(file.fileno(), fcntl.LOCK_SH) else _read_holder(directory)
    except FileNotFoundError:
        return None


def describe_holder(holder: dict[str, Any]) -> str:
    """E.g. ``process 4711 on host den (hakoiri, since 2026-11-21 10:00:00+01:00)``."""
    return (
        f"process {holder.get('pid', '?')} on host {holder.get('host', '?')} "
        f"({holder.get('command', '?')}, since {holder.get('since', '?')})"
    )


@contextmanager
def serving(data: Path, by_threads: bool = False) -> Iterator[None]:
    """While the block runs, `is_served` is true of this data directory. Several may serve it."""
    with ExitStack() as opened:
        for name in (SERVED_FILE, SERVED_BY_THREADS_FILE)[: 1 + by_threads]:
            with translated(data / name):
                file = opened.enter_context(open(data / name, "a", encoding="utf-8"))
            fcntl.flock(file, fcntl.LOCK_SH)
        yield


def is_served(data: Path, by_threads: bool = False) -> bool:
    """Return whether a coordinator takes the queued runs of a data directory; with `by_threads`, one without Redis."""
    try:
        with open(data / (SERVED_BY_THREADS_FILE if by_threads else SERVED_FILE), encoding="utf-8") as file:
            # Another who asks holds it for an instant, a coordinator always.
            for _ in range(_TRIES_OF_SERVED):
                if _try_lock(file.fileno()):
                    return False
                time.sleep(_PAUSE_SECONDS)
            return True
    except FileNotFoundError:
        return False


@contextmanager
def making(building: Path) -> Iterator[None]:
    """While the block runs, `abandoned` leaves this directory out, in which something is being made."""
    place = os.open(building, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def abandoned(buildings: Iterable[Path]) -> Iterator[Path]:
    """Those of some directories that kills in the midst of `making` have left behind, each locked in its turn."""
    for left in buildings:
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime < _YOUNG_SECONDS:
                continue
            place = os.open(left, os.O_RDONLY)
            try:
                if _try_lock(place):
                    yield left
            finally:
                os.close(place)


def remove_abandoned(data: Path) -> None:
    """Remove what kills in the midst of making runs have left behind."""
    for left in abandoned(runs_being_made(data)):
        shutil.rmtree(left, ignore_errors=True)


def _try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _myself() -> dict[str, Any]:
    # Of the arguments only the command's name: a Redis URL may hold a password.
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    command = " ".join([name, *sys.argv[1:2]])
    return {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": local_time()}


def _read_holder(directory: Path) -> dict[str, Any]:
    try:
        holder = json.loads((directory / HOLDER_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return holder if isinstance(holder, dict) else {}
