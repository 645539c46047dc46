"""Scratch stores: temporary layers of a question, on disk because memory may not hold them.

They are in a folder in the run's directory, or among the temporary files if that is not writable, and are removed with
the question. The next question to the same run removes those of killed processes.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.storage.engine.disk import require_free
from hakoiri.storage.engine.inside import is_folder
from hakoiri.storage.engine.translation import translated
from hakoiri.storage.errors import DiskFullError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.creating import begin_books
from hakoiri.storage.ledger.lock import RunLock, holder_of
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import SCRATCH_PREFIX

#: A folder is locked within this time after it is made.
_YOUNG_SECONDS = 60


@contextmanager
def scratch_folder(run: Path) -> Iterator[Path]:
    """Yield an empty folder for this process alone. A `DiskFullError` says that the run itself is unchanged."""
    _remove_abandoned(run)
    beside = run if os.access(run, os.W_OK) else None
    try:
        with translated(run):
            made = tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX, dir=beside)
        with made as folder, RunLock(Path(folder)):
            yield Path(folder)
    except DiskFullError as error:
        raise DiskFullError(
            f"the disk under {beside or tempfile.gettempdir()} is too full for the layers that this question needs; "
            f"free some space and ask again; run {run.name} is unchanged"
        ) from error


@contextmanager
def scratch_store(run: RunStore) -> Iterator[RunStore]:
    """Yield an empty store for keys of the run's layout, open for writing; its writes do not wait for the disk."""
    with scratch_folder(run.directory) as folder:
        begin_books(folder, replace(run.manifest, run=folder.name), State(), {}, durable=False)
        with RunStore(folder, writable=True, durable=False) as store:
            yield store


def file_array(run: Path, dtype: type[np.generic], count: int) -> NDArray[Any]:
    """Return an array of zeroes in a file without a name, which goes with it: the system may take its memory back."""
    size = max(1, np.dtype(dtype).itemsize * count)
    require_free(run, size)
    with translated(run), tempfile.TemporaryFile(dir=run) as file:
        # IMPORTANT: a write to a page without room on the disk would be a signal.
        os.posix_fallocate(file.fileno(), 0, size)
        return np.asarray(np.memmap(file, dtype, "r+", shape=(count,)))


def _remove_abandoned(run: Path) -> None:
    for folder in filter(is_folder, run.glob(f"{SCRATCH_PREFIX}*")):
        try:
            old = time.time() - folder.stat().st_mtime > _YOUNG_SECONDS
        except FileNotFoundError:  # Its question was answered meanwhile.
            continue
        if old and holder_of(folder) is None:
            shutil.rmtree(folder, ignore_errors=True)
