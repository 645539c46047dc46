"""Files that are written whole or not at all, and outlive a power cut: everything but a data file and its lock."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hakoiri.storage.errors import NotWritableError, StorageError


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """A path to write to, of the same folder and ending: when the block ends without an error that is `target`.

    Durable then; else what stood there stands. Raises `NotWritableError`, which names `target`.
    """
    place = target.resolve()
    part = place.with_name(f".{os.getpid()}-{place.name}")
    with naming(target):
        try:
            yield part
            flush(part)
            part.replace(place)
            flush(place.parent)
        finally:
            with suppress(OSError):
                part.unlink()


def write_file(target: Path, text: str) -> None:
    """Put `text` in the place of what `target` holds, as `replaced` does."""
    with replaced(target) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def naming(target: Path) -> Iterator[None]:
    """The system's errors as a `NotWritableError` that names `target`."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise NotWritableError(f"cannot write {target}: {error.strerror or error}; name another file") from error


def require_place(target: Path) -> None:
    """`NotWritableError` where a file clearly cannot be written, before the work that would fill it."""
    why = "it is a directory" if target.is_dir() else "its directory is not there"
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise NotWritableError(f"cannot write {target}: {why}; name another file")


def flush(path: Path) -> None:
    """Let a file, or the names in a folder, outlive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
