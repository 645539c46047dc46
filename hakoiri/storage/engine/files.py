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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath
from typing import IO, Any

from hakoiri.errors import DamagedError, NotWritableError, StorageError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_inside(directory: Path, name: str, mode: str, encoding: str | None = None) -> IO[Any]:
    """Open the file `name`, perhaps in a subfolder of `directory`. Raises `DamagedError` if it is not a plain file."""
    return open(directory / name, mode, encoding=encoding, opener=lambda _, flags: descriptor(directory, name, flags))


def descriptor(directory: Path, name: str, flags: int) -> int:
    """Return a descriptor of a file as `open_inside` opens it; `flags` as for `os.open`."""
    with _folder(directory, PurePath(name).parent) as folder:
        last = PurePath(name).name
        with suppress(FileNotFoundError):
            _require_file(os.stat(last, dir_fd=folder, follow_symlinks=False), directory, name, flags)
        # Truncated only after the second check, which is of the file that was opened.
        found = os.open(last, flags & ~os.O_TRUNC | _SAFE, 0o666, dir_fd=folder)
    try:
        _require_file(os.fstat(found), directory, name, flags)
        if flags & os.O_TRUNC:
            os.ftruncate(found, 0)
    except BaseException:
        os.close(found)
        raise
    return found


def require_files(directory: Path, *names: str) -> None:
    """Raise `DamagedError` if one of these exists and is not a file that may be written."""
    for name in names:
        with suppress(FileNotFoundError):
            _require_file((directory / name).lstat(), directory, name, os.O_RDWR)


def names_inside(directory: Path, folder: str) -> list[str]:
    """Return the names in a folder of `directory`; empty if it does not exist."""
    try:
        with _folder(directory, PurePath(folder)) as found:
            return os.listdir(found)  # noqa: PTH208  (by its descriptor)
    except FileNotFoundError:
        return []


def remove_inside(directory: Path, name: str) -> None:
    """Remove a file or a link, if it exists. Raises `DamagedError` for a folder."""
    try:
        with suppress(FileNotFoundError), _folder(directory, PurePath(name).parent) as folder:
            os.unlink(PurePath(name).name, dir_fd=folder)
    except IsADirectoryError:
        raise _strange(directory, name, "file") from None


def make_folder(directory: Path, name: str) -> None:
    """Make a folder in `directory`, if it does not exist. Raises `DamagedError` if the name is not that of a folder."""
    with suppress(FileExistsError):
        (directory / name).mkdir()
    with _folder(directory, PurePath(name)):
        pass


def remove_folder(directory: Path, name: str) -> None:
    """Remove a folder of `directory` with its contents, as far as possible; links are not followed."""
    # Opening a pipe would block.
    if is_folder(directory / name):
        shutil.rmtree(directory / name, ignore_errors=True)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder, and not a link to one."""
    return path.is_dir() and not path.is_symlink()


@contextmanager
def _folder(directory: Path, inner: PurePath) -> Iterator[int]:
    found = os.open(directory, _FOLDER)
    try:
        for part in inner.parts:
            if not stat.S_ISDIR(os.stat(part, dir_fd=found, follow_symlinks=False).st_mode):
                raise _strange(directory, str(inner), "folder")
            next_one = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=found)
            os.close(found)
            found = next_one
        yield found
    finally:
        os.close(found)


def _require_file(found: os.stat_result, directory: Path, name: str, flags: int) -> None:
    written = flags & os.O_ACCMODE != os.O_RDONLY
    if not stat.S_ISREG(found.st_mode) or (written and found.st_nlink > 1):
        raise _strange(directory, name, "file")


def _strange(directory: Path, name: str, what: str) -> DamagedError:
    kind = f"is not a plain {what} of its own"
    return DamagedError(f"run {directory.name}: {name!r} in its directory {kind}; remove it")


#: The bytes that are written at a time where the system cannot allocate them.
_ALLOCATED = 1 << 20
#: Prefix of the name of a file under construction, which its writer keeps locked.
_PART_PREFIX = ".hakoiri-"
_YOUNG_SECONDS = 60


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
