"""Where a search is, so that it goes on there after a kill: named arrays in one file, replaced as a whole.

The file is numpy's .npz, without pickles; each array has the CRC-32 of the zip format, and a file that cannot be read
or whose checksum differs is broken.
"""

import os
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from storage.errors import DamagedError, StorageError

SUFFIX = ".npz"
_UNFINISHED = ".part"


def write_checkpoint(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Put `arrays` in the place of what was there; durable on return, and at no moment half there."""
    part = path.with_suffix(_UNFINISHED)
    try:
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, **dict(arrays))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise StorageError(f"{path} cannot be written: {error.strerror or error}; the one before is kept") from error


def read_checkpoint(path: Path) -> dict[str, NDArray[Any]] | None:
    """The arrays, or ``None`` where there is no such file. Raises `DamagedError`."""
    try:
        with np.load(path, allow_pickle=False) as found:
            return dict(found)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DamagedError(f"{path} is damaged: {error}; move it away") from error


def remove_checkpoint(path: Path) -> None:
    """See that there is none."""
    path.unlink(missing_ok=True)
