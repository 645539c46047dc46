"""One driver per run: an advisory lock that the kernel releases whenever and however its process ends."""

import fcntl
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import IO, Any

from hakoiri.errors import DamagedError, Hint, RunHeldError
from hakoiri.storage.engine.environment import gone, taken_over, translated
from hakoiri.storage.engine.files import Given, flush, remove_parts
from hakoiri.storage.ledger.manifest import local_time
from hakoiri.storage.names import (
    HOLDER_FILE,
    SERVED_BY_THREADS_FILE,
    SERVED_FILE,
    deleted_directories,
    restored_directories,
    runs_being_made,
)

#: `holder_of` holds the lock for an instant; a driver that meets it then tries again this often.
_TRIES, _PAUSE_SECONDS = 20, 0.01
_TRIES_OF_SERVED = 3
_MOST_SAID = 10_000
#: A directory is locked right after it is made: a younger one may not be locked yet.
_YOUNG_SECONDS = 60


#: The open lock files that this process holds, by run: with another user's `rm` a second process could lock the run.
_held: dict[Path, IO[bytes]] = {}


def _let_go() -> None:
    """Close the lock files in a forked process, which would else hold the locks after its parent has ended."""
    for file in _held.values():
        file.close()
    _held.clear()


os.register_at_fork(after_in_child=_let_go)


class RunLock:
    """The right to write to a run, held from construction until `release`. `RunHeldError` names the present holder.

    A holder that `drives` the run looks for requests to cancel it; others end soon.
    """

    def __init__(self, directory: Path, drives: bool = True) -> None:
        with translated(directory):
            # Unbuffered: a buffered file cannot be closed on a full disk.
            holder = Given(directory).descriptor(HOLDER_FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            self._file = open(holder, "ab+", buffering=0)  # noqa: SIM115  (closed by release)
        if not locked(self._file):
            who = describe_holder(_said_by(self._file))
            self._file.close()
            hints = Hint("wait", directory.name), Hint("cancel", directory.name)
            raise RunHeldError(f"run {directory.name} is held by {who}", *hints)
        if not _is_of(self._file, directory):
            # The run was deleted before the lock was acquired.
            self._file.close()
            raise gone(directory)
        self._directory = directory
        _held[directory] = self._file
        with suppress(OSError):  # On a full disk the lock holds, without the holder's name.
            self._file.truncate(0)
            # Only the command's name, not its arguments: a Redis URL may hold a password.
            program = Path(sys.argv[0])
            name = program.parent.name if program.name == "__main__.py" else program.name
            command = " ".join([name, *sys.argv[1:2]])
            described = {"pid": os.getpid(), "host": socket.gethostname(), "command": command, "since": local_time()}
            described["drives"] = drives
            self._file.write(json.dumps(described).encode())

    def release(self) -> None:
        _held.pop(self._directory, None)
        with suppress(OSError):
            self._file.truncate(0)
        self._file.close()

    def __enter__(self) -> "RunLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def locked(file: IO[Any], tries: int = _TRIES) -> bool:
    """Try to lock a file, up to `tries` times; return whether it is locked by this process."""
    for _ in range(tries):
        if _try_lock(file.fileno()):
            return True
        time.sleep(_PAUSE_SECONDS)
    return False


def require_held(directory: Path) -> None:
    """Raise `TakenOverError` if the lock file of a run that this process drives was removed: another may drive it."""
    if directory in _held and not _is_of(_held[directory], directory):
        raise taken_over(directory)


def _is_of(file: IO[bytes], directory: Path) -> bool:
    """Return whether an open lock file is still the lock file of the run in `directory`."""
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), (directory / HOLDER_FILE).lstat())
    return False


def holder_of(directory: Path, name: str = HOLDER_FILE) -> dict[str, Any] | None:
    """Return the process that holds the lock of a run, or the lock `name` in a directory; ``None`` if it is free.

    It has ``pid, host, command, since``, and ``drives`` (`RunLock`).
    """
    with suppress(FileNotFoundError, DamagedError), Given(directory).open(name, "r", "utf-8") as file:
        return None if _try_lock(file.fileno(), fcntl.LOCK_SH) else _said_by(file)
    return None


def was_left(directory: Path) -> bool:
    """Return whether the last process that drove the run ended without releasing its lock."""
    with suppress(FileNotFoundError, DamagedError), Given(directory).open(HOLDER_FILE, "r") as file:
        return _try_lock(file.fileno(), fcntl.LOCK_SH) and bool(_said_by(file))
    return False


def interrupt_holder(directory: Path, name: str = HOLDER_FILE) -> None:
    """Send SIGINT to the process that holds the lock `name` in a directory, as the lock file names the process.

    IMPORTANT: anybody may have written the process id. The signal goes only to a process of this user that has the lock
    file open, and through a pidfd, so that it reaches the process that was checked.
    """
    # Only Linux has pidfds and ``/proc``.
    with suppress(OSError, DamagedError, AttributeError), Given(directory).open(name, "r", "utf-8") as file:
        number = _said_by(file).get("pid")
        if type(number) is not int or not 1 < number < 1 << 31 or _try_lock(file.fileno(), fcntl.LOCK_SH):
            return
        process = os.pidfd_open(number)
        try:
            folder = Path("/proc", str(number))
            for held in (folder / "fd").iterdir() if folder.stat().st_uid == os.geteuid() else ():
                with suppress(FileNotFoundError):
                    if os.path.samestat(held.stat(), os.fstat(file.fileno())):
                        signal.pidfd_send_signal(process, signal.SIGINT)
                        break
        finally:
            os.close(process)


def describe_holder(holder: dict[str, Any]) -> str:
    """Return a text such as ``process 4711 on host den (hakoiri, since 2026-11-21 10:00:00+01:00)``."""
    return (
        f"process {holder.get('pid', '?')} on host {holder.get('host', '?')} "
        f"({holder.get('command', '?')}, since {holder.get('since', '?')})"
    )


@contextmanager
def serving(data: Path, by_threads: bool = False) -> Iterator[None]:
    """Within the block, `is_served` is true for this data directory. Several coordinators may serve it."""
    with ExitStack() as opened:
        for name in (SERVED_FILE, SERVED_BY_THREADS_FILE)[: 1 + by_threads]:
            with translated(data / name):
                file = opened.enter_context(Given(data).open(name, "a"))
            fcntl.flock(file, fcntl.LOCK_SH)
        yield


def is_served(data: Path, by_threads: bool = False) -> bool:
    """Return whether a coordinator takes the queued runs of a data directory; with `by_threads`, one without Redis."""
    name = SERVED_BY_THREADS_FILE if by_threads else SERVED_FILE
    with suppress(FileNotFoundError, DamagedError), Given(data).open(name, "r") as file:
        # A probe holds the lock briefly, a coordinator permanently.
        return not locked(file, _TRIES_OF_SERVED)
    return False


@contextmanager
def making(building: Path) -> Iterator[None]:
    """Within the block, `abandoned` skips this directory, in which something is being made."""
    place = os.open(building, os.O_RDONLY)
    try:
        fcntl.flock(place, fcntl.LOCK_EX)
        yield
    finally:
        os.close(place)


def abandoned(buildings: Iterable[Path], young: float = _YOUNG_SECONDS) -> Iterator[Path]:
    """Yield the directories that a kill within `making` has left behind, each locked while it is yielded.

    Those that are younger than `young` seconds may not be locked yet, and are passed over.
    """
    for left in buildings:
        with suppress(OSError):  # It was removed, or belongs to another user.
            if time.time() - left.lstat().st_mtime < young:
                continue
            place = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if _try_lock(place):
                    yield left
            finally:
                os.close(place)


def remove_abandoned(data: Path) -> None:
    """Remove the remains of killed processes in a data directory: runs half made or half deleted, and parts of files.

    Runs of a killed `restore` of which all files were right are moved to their names. Only for commands that make,
    delete or drive runs: commands that only read leave the directory unchanged.
    """
    # They were locked under another name.
    for left in abandoned(restored_directories(data), young=0):
        move_restored(left)
    for left in chain(abandoned(runs_being_made(data)), deleted_directories(data)):
        Given(data).remove_folder(left.name)
    remove_parts(data)


def move_restored(place: Path) -> list[str]:
    """Move the runs in a directory, all of them whole, to their names; return the names that others have taken."""
    taken = []
    for name in Given(place.parent).names(place.name):
        try:
            (place / name).rename(place.parent / name)
        except OSError:
            taken.append(name)
    flush(place.parent)
    Given(place.parent).remove_folder(place.name)
    return taken


def _try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _said_by(file: IO[Any]) -> dict[str, Any]:
    """Return the holder as described in an open lock file; empty if the text is not valid."""
    try:
        file.seek(0)
        holder = json.loads(file.read(_MOST_SAID))
    except (OSError, ValueError, RecursionError):
        return {}
    return holder if isinstance(holder, dict) else {}
