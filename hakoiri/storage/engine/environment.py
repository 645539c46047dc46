"""The LMDB environment of one run, and the errors of LMDB and the system translated to Hakoiri's.

There is one writer and one huge sparse map that is never resized. `sync` is on; `writemap` is off, because it kills by
SIGBUS on a full disk. Only a writer opens LMDB's environment, which must not be open twice in one process, nor cross a
fork; readers read the data file alone. A writer beside readers in its own process, and use after a fork, are refused.
LMDB maps its lock file for writing in any case, so the file is filled before LMDB opens it.
"""

import errno
import os
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import islice, takewhile
from pathlib import Path
from typing import TypeVar

import lmdb

from hakoiri import errors
from hakoiri.errors import AddressSpaceError, DamagedError, Hint, NotWritableError, StorageError, TakenOverError
from hakoiri.storage.engine.files import Given, allocate
from hakoiri.storage.engine.pages import DataFile, PageError, Snapshot
from hakoiri.storage.names import DATA_FILE, DATABASES, LOCK_FILE, MAP_BYTES, run_of

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Codes of what this process lacks for the moment: they say nothing about the run.
_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOLCK)


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
    if failed or code in _NO_ROOM:
        return disk_full(directory, perhaps_broken=failed)
    is_missing = code == errno.ENOENT
    no_folder = is_missing and not directory.parent.is_dir()
    if no_folder or code in (errno.EROFS, errno.ENOTDIR, errno.EACCES, errno.EPERM):
        text = f"the data directory {directory.parent} is not writable"
        return NotWritableError(text, Hint("change", "data"))
    if is_missing:
        return damaged(directory, "a file of it is missing") if directory.exists() else gone(directory)
    if code == errno.ENOMEM:
        return MemoryError(f"run {run}: {error}")
    text, hints = f"run {run}: {error}", list[Hint]()
    if isinstance(error, lmdb.MapFullError):
        text = f"the data file of run {run} has reached its limit of {MAP_BYTES >> 30:,} GiB; start it anew"
        hints.append(Hint("give", "keep", "depths"))
    elif isinstance(error, lmdb.Error) and code == errno.EAGAIN:
        text = f"run {run} is being opened by another process; try again"
    elif not isinstance(error, OSError | lmdb.ReadersFullError) and code not in _PASSING:
        return damaged(directory, str(error))
    return StorageError(text, *hints)


def disk_full(directory: Path, perhaps_broken: bool = False, is_run: bool = True) -> errors.DiskFullError:
    """Return the error for a write that found no room, or, with `perhaps_broken`, that failed for an unknown reason.

    Unless `directory` is that of a run (`is_run`), there is nothing to resume.
    """
    state, advice = ("full or broken", " or look at the system's log") if perhaps_broken else ("full", "")
    text = f"the disk under {directory.parent} is {state} ({_free_bytes(directory) >> 20} MiB free)"
    if is_run:
        text = f"{text}; all committed layers are safe; free some space{advice}"
        found = errors.DiskFullError(text, Hint("resume", directory.name))
    else:
        found = errors.DiskFullError(f"{text}; free some space{advice} and try again")
    found.perhaps_broken = perhaps_broken
    return found


def taken_over(directory: Path) -> TakenOverError:
    """Return the error for a run that another process has driven since."""
    return TakenOverError(
        f"run {directory.name} was taken over by another process while this one was stopped; this "
        "process no longer writes to it",
        Hint("status", directory.name),
    )


def gone(directory: Path) -> errors.GoneError:
    """Return the error for a run that was deleted after it was found."""
    return errors.GoneError(f"run {directory.name} does not exist any more; it was deleted")


def damaged(directory: Path, what: str) -> DamagedError:
    """Return the error for a data file that LMDB cannot read."""
    return DamagedError(
        f"the data file of run {directory.name} is damaged ({what}); restore it from an archive, or make it again",
        Hint("delete", directory.name),
    )


#: The size of LMDB's lock file for its usual 126 readers: 64 bytes each, and twice that for its header.
_LOCK_BYTES = 128 * 64
#: A reader tries again if a writer has committed during its read.
_TRIES = 1000
#: LMDB reads every value that it deletes or replaces, and the kernel maps 64 KiB around each: the environment is opened
#: anew after so many. Small values share their pages.
_MOST_REPLACED, _SMALL_BYTES = 128, 4096

#: Database, name and value.
Entry = tuple[bytes, bytes, bytes]
_Taken = TypeVar("_Taken")


class _Shared:
    """The state shared by all users of a data file in this process: LMDB's handle, or ``None`` for readers."""

    def __init__(self, handle: lmdb.Environment | None) -> None:
        self.handle, self.users = handle, 0


#: By process and data file, not by name: a run may be deleted and made anew while a reader still has the old file open.
_open_here: dict[tuple[int, Path, int], _Shared] = {}
_opening = threading.Lock()


def create_environment(directory: Path, durable: bool = True) -> None:
    """Create a data file with all databases, empty, in a directory."""
    with translated(directory), closing(_open(directory, durable)) as new, new.begin(write=True) as transaction:
        for database in DATABASES:
            new.open_db(database, transaction)


class Environment:
    """An open environment and its databases; `close` it in the process that opened it.

    LMDB writes it and `storage.engine.pages` reads it, so that damage is an error and never a signal. Unless `durable`,
    a write does not wait for the disk.
    """

    def __init__(self, directory: Path, writable: bool, durable: bool = True) -> None:
        self.directory = directory.resolve()
        self._writable, self._durable = writable, durable
        self._books_checked = False
        self._replaced, self._closed, self._least_pages = 0, False, 2
        with translated(directory), ExitStack() as opened:
            self._file = DataFile(Given(self.directory).descriptor(DATA_FILE, os.O_RDWR if writable else os.O_RDONLY))
            opened.callback(self._file.close)
            self._identity = (os.getpid(), self.directory, self._file.number)
            with _opening:
                shared = _open_here.get(self._identity)
                if shared is not None and (writable or shared.handle is not None):
                    raise StorageError(
                        f"run {self.directory.name} is already open in this process; close it there first"
                    )
                if shared is None:
                    handle = _open(self.directory, durable) if writable else None
                    shared = _open_here[self._identity] = _Shared(handle)
                shared.users += 1
                self._shared = shared
            opened.pop_all()
        self._open = True

    def get(self, database: bytes, name: bytes) -> bytes | None:
        return self._read(lambda snapshot: snapshot.get(snapshot.tree(database), name))

    def names(self, database: bytes, prefix: bytes = b"") -> list[bytes]:
        """Return the names that begin with `prefix`, in order."""
        return self._read(
            lambda snapshot: list(
                takewhile(lambda name: name.startswith(prefix), snapshot.names(snapshot.tree(database), prefix))
            )
        )

    def entries(self, database: bytes, begin: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """Return up to `most` names with their values, from the name `begin` on."""
        return self._read(lambda snapshot: list(islice(snapshot.entries(snapshot.tree(database), begin), most)))

    def name_around(self, database: bytes, wanted: bytes, prefix: bytes) -> bytes | None:
        """Return the greatest name with `prefix` that is not above `wanted`, else the least name with `prefix`."""

        def find(snapshot: Snapshot) -> bytes | None:
            tree = snapshot.tree(database)
            found = snapshot.last_name(tree.root, wanted)
            if found is None or not found.startswith(prefix):
                found = next(snapshot.names(tree, wanted), None)
            return found if found is not None and found.startswith(prefix) else None

        return self._read(find)

    def name_after(self, database: bytes, name: bytes, prefix: bytes) -> bytes | None:
        """Return the least name above `name` that begins with `prefix`, as `name` does."""
        found = self._read(lambda snapshot: next(snapshot.names(snapshot.tree(database), name + b"\0"), None))
        return found if found is not None and found.startswith(prefix) else None

    def write(
        self, puts: Sequence[Entry], deleted: Sequence[tuple[bytes, bytes]] = (), known: Entry | None = None
    ) -> None:
        """Delete entries (database, name), then put others (database, name, value); all or none, durable on return.

        Raises `TakenOverError` if the stored value of the entry `known`, one of those put, is not the given one, or if
        another file has replaced this one.
        """
        self.begin_write(puts, deleted, known)()
        if self._replaced > _MOST_REPLACED:
            # The write stands: a failure to open the environment again is an error of the next use.
            self._handle.close()
            self._replaced, self._closed = 0, True

    def begin_write(
        self, puts: Sequence[Entry], deleted: Sequence[tuple[bytes, bytes]] = (), known: Entry | None = None
    ) -> Callable[[], None]:
        """Make the checks of `write`; return a function that writes, in any thread.

        Until that has returned, this process may read, but begin no other write. Raises as `write` does.
        """
        with translated(self.directory):
            if (self.directory / DATA_FILE).stat().st_ino != self._file.number:
                raise taken_over(self.directory)
        self._replaced += len(deleted) + self._check_before_writing(puts, deleted)
        return lambda: self._write(puts, deleted, known)

    def _write(self, puts: Sequence[Entry], deleted: Sequence[tuple[bytes, bytes]], known: Entry | None) -> None:
        with translated(self.directory):
            # LMDB reads its map of the file, where pages that were cut off end this process by SIGBUS. What is cut off
            # during the transaction itself cannot be noticed.
            self._file.read(self._least_pages - 1, 1)
        with translated(self.directory), self._handle.begin(write=True) as transaction:
            databases = {database for database, *_ in (*puts, *deleted)}
            handles = {database: self._handle.open_db(database, transaction) for database in databases}
            # IMPORTANT: within the transaction: a process may be suspended at any moment, even without its lock.
            if known is not None and transaction.get(known[1], db=handles[known[0]]) != known[2]:
                raise taken_over(self.directory)
            for database, name in deleted:
                transaction.delete(name, db=handles[database])
            # IMPORTANT: once each: LMDB leaves a large value that is put again the pages of a larger one.
            for (database, name), value in {(database, name): value for database, name, value in puts}.items():
                transaction.put(name, value, db=handles[database])
        self._least_pages = self._file.pages

    def release(self) -> None:
        """Give free pages back to the disk; the file keeps its length. Readers of older states read again.

        The last two commits stand whatever happens: if the disk loses the last one, the run goes on from the other.
        """
        self._read(lambda snapshot: snapshot.transaction)
        # IMPORTANT: within a transaction, so that no other process uses a free page meanwhile.
        with translated(self.directory), self._handle.begin(write=True):
            self._file.free(self._file.newest().free_pages(since=1))

    @property
    def _handle(self) -> lmdb.Environment:
        if self._shared.handle is None:
            raise lmdb.ReadonlyError("opened for reading")
        return self._shared.handle

    def close(self) -> None:
        """Close; no effect if already closed, or in a child that inherited this by a fork."""
        if not self._open:
            return
        self._open = False
        with _opening:
            self._shared.users -= 1
            if not self._shared.users:
                _open_here.pop(self._identity, None)
                if self._shared.handle is not None:
                    self._shared.handle.close()
        self._file.close()

    def _read(self, take: Callable[[Snapshot], _Taken]) -> _Taken:
        """Return what `take` finds in the last committed state; it may be called again."""
        if os.getpid() != self._identity[0]:
            raise StorageError(f"run {self.directory.name} was opened before a fork; open it again in this process")
        with translated(self.directory):
            return self._read_own(take) if self._writable else self._read_beside(take)

    def _read_own(self, take: Callable[[Snapshot], _Taken]) -> _Taken:
        with _opening:
            # Several threads may read.
            if self._closed:
                self._shared.handle = _open(self.directory, self._durable)
                self._closed = False
        # LMDB reads the meta pages in its map when a transaction begins.
        self._file.read(1, 1)
        with self._handle.begin() as transaction:
            if (snapshot := self._file.snapshot(transaction.id())) is None:
                raise PageError("no meta page holds its last transaction")
            return take(snapshot)

    def _read_beside(self, take: Callable[[Snapshot], _Taken]) -> _Taken:
        """Read beside a writer in another process; read again if it has committed meanwhile.

        Pages of a state are not overwritten before the next state is committed. IMPORTANT: LMDB's own locks are not
        used. They identify processes by number, and containers that share a volume often have the same few numbers.
        """
        for _ in range(_TRIES):
            snapshot = self._file.newest()
            try:
                found = take(snapshot)
            except PageError:
                if self._file.newest() is snapshot:
                    raise
                continue
            if self._file.newest() is snapshot:
                return found
        raise StorageError(f"run {self.directory.name} changed too often while it was read; try again")

    def _check_before_writing(self, puts: Sequence[Entry], deleted: Sequence[tuple[bytes, bytes]]) -> int:
        """Check all pages that LMDB will rely on; return the number of large values that will be replaced.

        A put reads the path to one leaf, a deletion also the neighbours of that leaf.
        """

        def look(snapshot: Snapshot) -> int:
            if not self._books_checked:
                snapshot.check_books()
            trees = {database: snapshot.tree(database) for database, *_ in (*puts, *deleted)}
            for database in {database for database, _ in deleted}:
                deque(snapshot.names(trees[database]), maxlen=0)
            for database, name in deleted:
                snapshot.get(trees[database], name)
            there = [len(snapshot.get(trees[database], name) or b"") for database, name, _ in puts]
            return sum(length > _SMALL_BYTES for length in there)

        replaced = self._read(look)
        self._books_checked = True
        return replaced


def _open(directory: Path, durable: bool) -> lmdb.Environment:
    # LMDB opens files by name, follows links, and creates missing files.
    Given(directory).require_files(DATA_FILE, LOCK_FILE)
    _fill_lock_file(directory)
    try:
        # As bytes, because a name need not be text.
        environment = lmdb.open(
            os.fsencode(directory), map_size=MAP_BYTES, max_dbs=len(DATABASES), sync=durable, create=False
        )  # fmt: skip
    except lmdb.MemoryError as error:
        raise AddressSpaceError(
            f"no run can be opened: LMDB reserves {MAP_BYTES >> 30:,} GB of address space (not memory), above the "
            "limit of this process; lift it with 'ulimit -v unlimited'"
        ) from error
    # Without this, readers killed by an earlier version would keep old pages from being used again.
    environment.reader_check()
    return environment


def _fill_lock_file(directory: Path) -> None:
    """Allocate all blocks of LMDB's lock file; ``OSError`` if the disk has no room for them.

    LMDB makes the file by ``ftruncate`` and maps it: on a full disk, access to a hole in it is SIGBUS. LMDB takes a
    file of zeroes for a new one, and writes its header once no other process has it open.

    IMPORTANT: not while this process has the environment open: closing any descriptor of a file releases its locks.
    """
    lock_file = Given(directory).descriptor(LOCK_FILE, os.O_RDWR | os.O_CREAT)
    written = os.fstat(lock_file).st_blocks
    try:
        allocate(lock_file, _LOCK_BYTES)
    except OSError:
        # Blocks that LMDB has written exist; the space beyond its first page has room for more than 60 readers.
        if not written:
            os.truncate(lock_file, 0)
            raise
    finally:
        os.close(lock_file)


#: Network file systems, on which LMDB's locks and memory map are unsafe.
_NETWORK = {
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "lustre", "ceph", "glusterfs", "fuse.glusterfs", "afs",
    "gpfs", "beegfs", "dvs", "wekafs",
}  # fmt: skip
#: Free bytes required beyond a commit, so that the state of an interrupted run can still be written.
RESERVE_BYTES = 1 << 20


def refuse_network_file_system(directory: Path) -> None:
    """Raise `NotWritableError` if `directory` is on a network file system, where LMDB is unsafe."""
    import psutil

    resolved = directory.resolve()
    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    for parent in (resolved, *resolved.parents):
        if parent in mounts:
            if mounts[parent].lower() in _NETWORK:
                text = f"{directory} lies on a network file system ({mounts[parent]}), where LMDB loses data"
                raise NotWritableError(text, Hint("change", "data"))
            return


def require_free(directory: Path, needed: int, is_run: bool = True) -> None:
    """Raise `DiskFullError` unless `needed` bytes and the reserve are free on the disk of a run, or of another name."""
    if _free_bytes(directory) < needed + RESERVE_BYTES:
        raise disk_full(directory, is_run=is_run)


def _free_bytes(directory: Path) -> int:
    there = next(parent for parent in (directory, *directory.resolve().parents) if parent.exists())
    return shutil.disk_usage(there).free


def require_writable(data: Path) -> None:
    """Make the data directory if it does not exist; raise `NotWritableError` if it cannot be written."""
    with translated(data / "-"):
        data.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=data):
            pass
