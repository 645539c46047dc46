"""Translation of LMDB's and the system's errors to Hakoiri's, which name the run and the next step."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb

from hakoiri.puzzles.errors import Hint
from hakoiri.storage.engine.page_format import PageError
from hakoiri.storage.errors import (
    DamagedError,
    DiskFullError,
    GoneError,
    NotWritableError,
    StorageError,
    TakenOverError,
)
from hakoiri.storage.names import run_of

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def translated(directory: Path) -> Iterator[None]:
    """Translate LMDB's and the system's errors to Hakoiri's, which name the run and the next step."""
    try:
        yield
    except StorageError:
        raise
    except (PageError, OSError, lmdb.Error) as error:
        raise _translation(error, directory) from error


def _translation(error: Exception, directory: Path) -> Exception:
    run = run_of(directory)
    code = error.errno if isinstance(error, OSError) else getattr(error, "code", None)
    # LMDB's code for a failed or short write. Reads go through the memory map and never raise it.
    failed = isinstance(error, lmdb.Error) and code == errno.EIO
    if failed or isinstance(error, lmdb.MapFullError) or code in _NO_ROOM:
        return disk_full(directory, perhaps_broken=failed)
    if code in (errno.EROFS, errno.ENOTDIR, errno.EACCES, errno.EPERM):
        return not_writable(directory.parent)
    if code == errno.ENOENT:
        return missing(directory)
    if code == errno.ENOMEM:
        return MemoryError(f"run {run}: {error}")
    if isinstance(error, lmdb.Error) and code == errno.EAGAIN:
        return StorageError(f"run {run} is being opened by another process; try again")
    return StorageError(f"run {run}: {error}") if isinstance(error, OSError) else damaged(directory, str(error))


def disk_full(directory: Path, perhaps_broken: bool = False) -> DiskFullError:
    """Return the error for a write that found no room, or, with `perhaps_broken`, that failed for an unknown reason."""
    state, advice = ("full or broken", " or look at the system's log") if perhaps_broken else ("full", "")
    there = next(parent for parent in (directory, *directory.resolve().parents) if parent.exists())
    free = shutil.disk_usage(there).free >> 20
    return DiskFullError(
        f"the disk under {directory.parent} is {state} ({free} MiB free); all committed layers are safe; "
        f"free some space{advice}",
        Hint("resume", directory.name),
    )


def not_writable(data: Path) -> NotWritableError:
    """Return the error for a data directory that this user may not write to."""
    return NotWritableError(f"the data directory {data} is not writable", Hint("change", "data"))


def missing(directory: Path) -> StorageError:
    """Return the error for a missing file of a run."""
    if not directory.parent.is_dir():
        return not_writable(directory.parent)
    return damaged(directory, "a file of it is missing") if directory.exists() else gone(directory)


def taken_over(directory: Path) -> TakenOverError:
    """Return the error for a run that another process has driven since."""
    return TakenOverError(
        f"run {directory.name} was taken over by another process while this one was stopped; this "
        "process no longer writes to it",
        Hint("status", directory.name),
    )


def gone(directory: Path) -> GoneError:
    """Return the error for a run that was deleted after it was found."""
    return GoneError(f"run {directory.name} does not exist any more; it was deleted")


def damaged(directory: Path, what: str) -> DamagedError:
    """Return the error for a data file that LMDB cannot read."""
    return DamagedError(
        f"the data file of run {directory.name} is damaged ({what}); restore it from a copy, or delete "
        "the run and make it again",
        Hint("delete", directory.name),
    )
