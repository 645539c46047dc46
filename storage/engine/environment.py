"""LMDB's environment of one run: opened carefully, and its errors said in Hakoiri's words.

One writer, one huge sparse map that is never resized, `sync` on, `writemap` off (it kills by SIGBUS on a full disk).
An environment must not be open twice in one process, nor cross a fork; both are refused here.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import lmdb

from storage.engine.pages import forget_mapping
from storage.errors import DamagedError, DiskFullError, NotWritableError, StorageError
from storage.names import DATA_FILE, DATABASES, MAP_BYTES

#: Network file systems, on which LMDB's locks and memory map are unsafe.
_NETWORK = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "fuse.sshfs",
    "lustre",
    "ceph",
    "glusterfs",
    "fuse.glusterfs",
    "afs",
}
#: Kept free beyond what a commit needs, so that the state of an interrupted run can still be written.
RESERVE_BYTES = 1 << 20

_open_here: set[tuple[int, Path]] = set()


class Environment:
    """An open environment and its databases; `close` it, from the process that opened it.

    Opens the databases that are there, with `new` makes them all. Unless `durable`, a transaction does not wait for
    the disk.
    """

    def __init__(self, directory: Path, writable: bool, durable: bool = True, new: bool = False) -> None:
        self.directory = directory.resolve()
        self._identity = (os.getpid(), self.directory)
        if self._identity in _open_here:
            raise StorageError(f"run {directory.name} is already open in this process; close it there first")
        with translated(directory):
            self._lmdb = _open(self.directory, writable, durable)
        _open_here.add(self._identity)
        try:
            self.databases: dict[bytes, Any] = {}
            for name in DATABASES:
                with translated(directory), suppress(lmdb.NotFoundError):
                    self.databases[name] = self._lmdb.open_db(name, create=new)
        except StorageError:
            self.close()
            raise

    def require(self, *names: bytes) -> None:
        """`DamagedError` that names a database which is not there."""
        for name in names:
            if name not in self.databases:
                raise damaged(self.directory, f"it has no {name.decode()}")

    @contextmanager
    def transaction(self, write: bool = False) -> "Iterator[lmdb.Transaction[memoryview]]":
        """A transaction; durable on disk when a writing one has left without an error."""
        if os.getpid() != self._identity[0]:
            raise StorageError(f"run {self.directory.name} was opened before a fork; open it again in this process")
        with translated(self.directory), self._lmdb.begin(None, None, write, True) as transaction:
            yield transaction

    def forget_pages(self) -> None:
        """Let go of the pages of the file that reading has mapped: they count as memory of this process."""
        forget_mapping(self.directory / DATA_FILE)

    def close(self) -> None:
        """Close; harmless when already closed, and in a child that inherited this by a fork."""
        _open_here.discard(self._identity)
        self._lmdb.close()


def _open(directory: Path, writable: bool, durable: bool) -> lmdb.Environment:
    options: dict[str, Any] = {"map_size": MAP_BYTES, "max_dbs": len(DATABASES), "writemap": False, "sync": durable}
    if writable:
        environment = lmdb.open(str(directory), **options)
        # Readers that were killed would keep old pages from being used again, and the file would grow.
        environment.reader_check()
        return environment
    try:
        return lmdb.open(str(directory), readonly=True, create=False, **options)
    except lmdb.ReadonlyError:
        # A read-only medium has no room for a reader's lock, and no writer either.
        return lmdb.open(str(directory), readonly=True, create=False, lock=False, **options)


@contextmanager
def translated(directory: Path) -> Iterator[None]:
    """LMDB's and the system's errors as Hakoiri's, naming the run and the next step."""
    run = directory.name
    try:
        yield
    except (lmdb.MapFullError, lmdb.DiskError) as error:
        raise disk_full(directory) from error
    except (lmdb.ReadonlyError, PermissionError) as error:
        raise not_writable(directory.parent) from error
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise disk_full(directory) from error
        if error.errno in (errno.EROFS, errno.ENOTDIR, errno.ENOENT, errno.EACCES, errno.EPERM):
            raise not_writable(directory.parent) from error
        raise StorageError(f"run {run}: {error}") from error
    except lmdb.Error as error:
        if any(os.strerror(code) in str(error) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)):
            # EIO is LMDB's word for a write that came out short. Reads go by the memory map and never give it.
            raise disk_full(directory) from error
        if os.strerror(errno.EAGAIN) in str(error):
            raise StorageError(f"run {run} is being opened by another process; try again") from error
        raise damaged(directory, str(error)) from error


def disk_full(directory: Path) -> DiskFullError:
    """The error for a write that found no room."""
    there = next(parent for parent in (directory, *directory.resolve().parents) if parent.exists())
    free = shutil.disk_usage(there).free >> 20
    return DiskFullError(
        f"the disk under {directory.parent} is full ({free} MiB free); "
        f"free some space, then 'hakoiri resume {directory.name}': all committed layers are safe"
    )


def not_writable(data: Path) -> NotWritableError:
    """The error for a data directory that refuses us."""
    return NotWritableError(f"the data directory {data} is not writable; name another with --data or HAKOIRI_DATA")


def damaged(directory: Path, what: str) -> DamagedError:
    """The error for a data file that LMDB cannot read."""
    return DamagedError(
        f"the data file of run {directory.name} is damaged ({what}); "
        f"restore it from a copy, or 'hakoiri delete {directory.name}' and run it again"
    )


def refuse_network_file_system(directory: Path) -> None:
    """Raise `NotWritableError` if `directory` lies on a network file system, where LMDB is unsafe."""
    import psutil

    resolved = directory.resolve()
    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    for parent in (resolved, *resolved.parents):
        if parent in mounts:
            if mounts[parent].lower() in _NETWORK:
                raise NotWritableError(
                    f"{directory} lies on a network file system ({mounts[parent]}), where LMDB loses data; "
                    "name a local directory with --data or HAKOIRI_DATA"
                )
            return


def require_free(directory: Path, needed: int) -> None:
    """Raise `DiskFullError` unless `needed` bytes and the reserve are free where the run lies."""
    if shutil.disk_usage(directory).free < needed + RESERVE_BYTES:
        raise disk_full(directory)


def require_writable(data: Path) -> None:
    """Make the data directory if it is not there; raise `NotWritableError` if nothing can be written to it."""
    with translated(data / "-"):
        data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data):
            pass
