"""Creates runs: whole and durable, or not at all."""

import errno
import shutil
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from hakoiri.storage.engine.disk import require_free
from hakoiri.storage.engine.environment import Environment, create_environment
from hakoiri.storage.engine.files import flush
from hakoiri.storage.engine.translation import translated
from hakoiri.storage.errors import DiskFullError, NameTakenError
from hakoiri.storage.ledger.lock import making, remove_abandoned
from hakoiri.storage.ledger.manifest import Manifest, State
from hakoiri.storage.ledger.records import pack_record
from hakoiri.storage.names import CREATED_FILE, LIMITS_KEY, MANIFEST_KEY, META, QUEUED_FILE, STATE_KEY, creating


def create_run(
    data: Path, manifest: Manifest, queued: bool, figures: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Path:  # fmt: skip
    """Create a run, and return its directory, whole and durable.

    With `queued`, mark it to be driven by a coordinator. `figures` are those of its first state, `limits` as for
    `Ledger.limits`. Raises `StorageError` if it cannot be written, `NameTakenError` if a run of this name exists.
    """
    # A directory of its own, so that two processes that create the same run do not meet before the rename.
    final, building = data / manifest.run, creating(data, manifest.run)
    with translated(final):
        remove_abandoned(data)
        building.mkdir(parents=True)
    try:
        with making(building):
            require_free(building, 0)
            begin_books(building, manifest, State(figures=figures or {}), limits or {})
            with translated(final):
                (building / CREATED_FILE).write_text(str(time.time_ns()), encoding="ascii")
                if queued:
                    (building / QUEUED_FILE).touch()
                for entry in (*building.iterdir(), building):
                    flush(entry)
                _rename(building, final)
                flush(data)
    except DiskFullError as error:
        what, _, advice = str(error).partition(", all committed layers are safe; ")
        raise DiskFullError(f"{what}; {advice} and try again") from error
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return final


def _rename(building: Path, final: Path) -> None:
    """Rename a new run into place; `NameTakenError` if another run has got the name meanwhile."""
    try:
        building.rename(final)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        raise NameTakenError(final.name) from error


def begin_books(
    directory: Path, manifest: Manifest, state: State, limits: Mapping[str, Any], durable: bool = True
) -> None:
    """Create the data file of a new run in an empty directory."""
    records = {MANIFEST_KEY: manifest.as_dict(), STATE_KEY: state.as_dict(), LIMITS_KEY: dict(limits)}
    create_environment(directory, durable)
    with closing(Environment(directory, writable=True, durable=durable)) as environment:
        environment.write([(META, name, pack_record(fields, META + name)) for name, fields in records.items()])
