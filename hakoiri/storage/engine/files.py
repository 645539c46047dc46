"""Files of a run: opened without following links, and written atomically and durably.

Every name is looked up from the descriptor of the directory that the user named, one folder after another. A file must
be regular, and a file to be written must have no other name: otherwise an archive could have any file of the user
overwritten.
"""

import fcntl
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import IO, Any

from hakoiri.errors import DamagedError, NotWritableError, StorageError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: Prefix of the name of a file under construction, which its writer keeps locked.
_PART_PREFIX = ".hakoiri-"
_YOUNG_SECONDS = 60


class Given:
    """A directory that the user named, whatever others have put into it: runs, questions, archives.

    A name may lead into subfolders. Raises `DamagedError` for a link, a pipe, a folder in place of a file, a file in
    place of a folder, and a name that leads out.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def open(self, name: str, mode: str, encoding: str | None = None) -> IO[Any]:
        """Open a file."""
        return open(
            self.directory / name, mode, encoding=encoding, opener=lambda _, flags: self.descriptor(name, flags)
        )

    def descriptor(self, name: str, flags: int) -> int:
        """Return a descriptor of a file as `open` opens it; `flags` as for `os.open`."""
        with self._folder(PurePath(name).parent) as folder:
            last = PurePath(name).name
            with suppress(FileNotFoundError):
                self._require_file(os.stat(last, dir_fd=folder, follow_symlinks=False), name, flags)
            # Truncated only after the second check, which is of the file that was opened.
            found = os.open(last, flags & ~os.O_TRUNC | _SAFE, 0o666, dir_fd=folder)
        try:
            self._require_file(os.fstat(found), name, flags)
            if flags & os.O_TRUNC:
                os.ftruncate(found, 0)
        except BaseException:
            os.close(found)
            raise
        return found

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of a file; `DamagedError` if there are more than `most`."""
        with self.open(name, "rb") as file:
            if len(found := file.read(most + 1)) > most:
                raise DamagedError(f"{self.directory / name} has more than {most:,} bytes; remove it")
            return bytes(found)

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Make or replace a file, and make its folders; durable. After an error, it is as it was."""
        inner = PurePath(name)
        with self._folder(inner.parent, make=True) as folder:
            part = f"{_PART_PREFIX}{secrets.token_hex(3)}-{inner.name}"
            with open(part, "xb", opener=lambda part, flags: os.open(part, flags, 0o666, dir_fd=folder)) as file:
                try:
                    with suppress(OSError):
                        fcntl.flock(file, fcntl.LOCK_EX)
                    remove_parts(self.directory / inner.parent)
                    file.writelines(chunks)
                    file.flush()
                    os.fsync(file.fileno())
                    os.rename(part, inner.name, src_dir_fd=folder, dst_dir_fd=folder)
                    os.fsync(folder)
                except IsADirectoryError:
                    raise self._strange(name, "file") from None
                finally:
                    with suppress(OSError):
                        os.unlink(part, dir_fd=folder)

    def require_files(self, *names: str) -> None:
        """Raise `DamagedError` if one of these exists and is not a file that may be written."""
        for name in names:
            with suppress(FileNotFoundError), self._folder(PurePath(name).parent) as folder:
                found = os.stat(PurePath(name).name, dir_fd=folder, follow_symlinks=False)
                self._require_file(found, name, os.O_RDWR)

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder; empty if it does not exist."""
        try:
            with self._folder(PurePath(folder)) as found:
                return os.listdir(found)  # noqa: PTH208  (by its descriptor)
        except FileNotFoundError:
            return []

    def unlink(self, name: str) -> None:
        """Remove a file or a link, if it exists."""
        try:
            with suppress(FileNotFoundError), self._folder(PurePath(name).parent) as folder:
                os.unlink(PurePath(name).name, dir_fd=folder)
        except IsADirectoryError:
            raise self._strange(name, "file") from None

    def make_folder(self, name: str) -> None:
        """Make a folder, and those on the way to it, if they do not exist; durable."""
        with self._folder(PurePath(name), make=True):
            pass

    def flush(self, folder: str) -> None:
        """Make the names in a folder durable, if it exists."""
        with suppress(FileNotFoundError), self._folder(PurePath(folder)) as found:
            os.fsync(found)

    def remove_folder(self, name: str) -> None:
        """Remove a folder with its contents, as far as possible; no effect on anything else of this name."""
        inner = PurePath(name)
        # Opened first: to open a pipe would block.
        with suppress(FileNotFoundError, DamagedError), self._folder(inner), self._folder(inner.parent) as parent:
            shutil.rmtree(inner.name, ignore_errors=True, dir_fd=parent)

    @contextmanager
    def _folder(self, inner: PurePath, make: bool = False) -> Iterator[int]:
        found = os.open(self.directory, _FOLDER)
        try:
            for part in inner.parts:
                with suppress(FileExistsError):
                    if make:
                        os.mkdir(part, dir_fd=found)
                        os.fsync(found)
                is_folder = stat.S_ISDIR(os.stat(part, dir_fd=found, follow_symlinks=False).st_mode)
                if not is_folder or part == ".." or inner.is_absolute():
                    raise self._strange(str(inner), "folder")
                next_one = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=found)
                os.close(found)
                found = next_one
            yield found
        finally:
            os.close(found)

    def _require_file(self, found: os.stat_result, name: str, flags: int) -> None:
        written = flags & os.O_ACCMODE != os.O_RDONLY
        if not stat.S_ISREG(found.st_mode):
            raise self._strange(name, "file")
        if written and found.st_nlink > 1:
            raise DamagedError(f"{name!r} in {self.directory} is the same file as another; put a copy in its place")

    def _strange(self, name: str, what: str) -> DamagedError:
        return DamagedError(f"{name!r} in {self.directory} is not a plain {what} of its own; remove it")


#: The bytes that are written at a time where the system cannot allocate them.
_ALLOCATED = 1 << 20


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """Yield a path to write to, of the same folder and ending; if the block ends without an error, it becomes `target`.

    `target` is durable then, and unchanged after an error. Raises `NotWritableError`, which names `target`.
    """
    place = target.resolve()
    part = place.with_name(f"{_PART_PREFIX}{secrets.token_hex(3)}-{place.name}")
    with naming(target), open(part, "xb", buffering=0) as held:
        try:
            with suppress(OSError):  # Some file systems have no locks; remains of a killed writer then stay.
                fcntl.flock(held, fcntl.LOCK_EX)
            remove_parts(place.parent)
            yield part
            flush(part)
            part.replace(place)
            flush(place.parent)
        finally:
            with suppress(OSError):
                part.unlink()


def remove_parts(folder: Path) -> None:
    """Remove the files in a folder that processes killed within `replaced` have left behind."""
    for left in folder.glob(f"{_PART_PREFIX}*"):
        with suppress(OSError), open(os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A file made this moment may not be locked yet.
            found = os.fstat(file.fileno())
            if found.st_size or time.time() - found.st_mtime > _YOUNG_SECONDS:
                left.unlink()


def write_file(target: Path, text: str) -> None:
    """Replace the contents of `target` by `text`, as `replaced` does."""
    with replaced(target) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def naming(target: Path) -> Iterator[None]:
    """Translate the system's errors to a `NotWritableError` that names `target`."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise NotWritableError(f"cannot write {target}: {error.strerror or error}; choose another file") from error


def require_place(target: Path) -> None:
    """Raise `NotWritableError` if a file clearly cannot be written, before the work that would fill it."""
    why = "it is a directory" if target.is_dir() else "its directory does not exist"
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise NotWritableError(f"cannot write {target}: {why}; choose another file")


def allocate(descriptor: int, size: int) -> None:
    """Allocate a file's blocks up to `size`; what is in it stays. ``OSError`` without room. macOS has no such call."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    for begin in range(os.fstat(descriptor).st_size, size, _ALLOCATED):
        os.pwrite(descriptor, bytes(min(_ALLOCATED, size - begin)), begin)


def flush(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
