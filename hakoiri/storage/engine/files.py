"""Atomic and durable writing of files: of all but a data file and its lock."""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hakoiri.storage.errors import NotWritableError, StorageError

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


def flush(path: Path) -> None:
    """Make a file, or the names in a folder, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
