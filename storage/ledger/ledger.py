"""The books of one run: its manifest, its state, its small records, and the commits that make all of it durable.

Written by the one process that holds the run's lock, read by any number at any time, with no other service alive.
Imports neither numpy nor numba, so that `runs` and `status` answer at once.
"""

import errno
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

from hakoiri.puzzles.errors import Step
from hakoiri.storage.engine.environment import Environment, create_environment, require_free
from hakoiri.storage.engine.files import flush
from hakoiri.storage.engine.translation import translated
from hakoiri.storage.errors import DamagedError, DiskFullError, FormatError, NameTakenError, PoisonedError, StorageError
from hakoiri.storage.ledger.lock import making, remove_abandoned
from hakoiri.storage.ledger.manifest import ENDED, Depth, LayerRecord, Manifest, State, all_fields, typed_fields
from hakoiri.storage.ledger.records import pack_record, unpack_record
from hakoiri.storage.names import (
    CANCEL_KEY,
    CREATED_FILE,
    DATABASES,
    FORMAT_VERSION,
    HOSTS_KEY,
    LAYERS,
    LIMITS_KEY,
    MANIFEST_KEY,
    META,
    PARTIAL_KEY,
    QUEUED_FILE,
    STATE_KEY,
    creating,
    number_key,
    run_of,
)

#: LMDB rewrites the tree pages above what a commit touches; this much more than the payload must be free.
_WRITE_OVERHEAD = 1.25
_Made = TypeVar("_Made")


def create_run(
    data: Path, manifest: Manifest, queued: bool, figures: Mapping[str, Any] | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Path:  # fmt: skip
    """The directory of a new run, wholly there and durable on return. `StorageError` if it cannot be written, or has
    been made meanwhile.

    `queued` leaves the mark by which a coordinator takes the run up by itself; `figures` are those of the first state,
    `limits` as for `Ledger.limits`.
    """
    # A name of its own each time: what another process makes now is not in the way.
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
    """Give a run its name, unless another has got that meanwhile."""
    try:
        building.rename(final)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        raise NameTakenError(final.name) from error


def begin_books(
    directory: Path, manifest: Manifest, state: State, limits: Mapping[str, Any], durable: bool = True
) -> None:
    """Make the data file of a run that nobody has driven yet, in an empty directory."""
    records = {MANIFEST_KEY: manifest.as_dict(), STATE_KEY: state.as_dict(), LIMITS_KEY: dict(limits)}
    create_environment(directory, durable)
    with closing(Environment(directory, writable=True, durable=durable)) as environment:
        environment.write([(META, name, pack_record(fields, META + name)) for name, fields in records.items()])


class Ledger:
    """An open run without its layers. Open it `writable` only while holding its `storage.ledger.lock.RunLock`.

    Not `durable`: commits do not wait for the disk, for what nobody reads after this process.

    Attributes: `directory`, `manifest`, and `state` as of the last commit by this process, or as found on opening.
    A run is called what its directory is called; `made_as` is the name that it was made by, which a copy has kept.
    """

    def __init__(self, directory: Path, writable: bool = False, durable: bool = True) -> None:
        self.directory = directory
        self._environment = Environment(directory, writable, durable)
        self._pending: list[tuple[bytes, bytes, bytes]] = []
        self._pending_bytes = 0
        self._erasures: list[tuple[bytes, bytes]] = []
        self._poisoned: StorageError | None = None
        try:
            made = self._read_manifest()
            self.made_as, self.manifest = made.run, replace(made, run=run_of(directory))
            self.state = self.read_state()
            self._state_record = self.read(META, STATE_KEY) or b""
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close; what was not committed is gone."""
        self._environment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading

    def read_state(self) -> State:
        """The state as of the last commit of whatever process."""
        return self._read("state", self.read_record(META, STATE_KEY, "state"), State.from_dict)

    def plan(self, kind: type[_Made]) -> _Made:
        """The plan of its manifest as the dataclass that its kind of run has for it; `DamagedError` if it is none."""
        return self._read("plan", dict(self.manifest.plan), lambda plan: kind(**all_fields(kind, plan)))

    def limits(self) -> dict[str, Any]:
        """How far the run is to go, in the words of its kind: what a user may extend, and no part of its identity."""
        return self.read_record(META, LIMITS_KEY, "limits")

    def layer_record(self, depth: Depth) -> LayerRecord:
        """What is known of layer `depth` without reading its keys."""
        fields = self.read_record(LAYERS, number_key(depth), f"record of layer {depth}")
        return self._read(
            f"record of layer {depth}", fields, lambda found: LayerRecord(**typed_fields(LayerRecord, found))
        )

    def layer_records(self) -> list[LayerRecord]:
        """The records of all layers that `state` counts, by depth."""
        return [self.layer_record(depth) for depth in range(self.state.depth + 1)]

    def read_partial(self) -> dict[str, Any] | None:
        """How far the layer after the last is, if an earlier session left it half done; fields of its maker's."""
        if self.read(META, PARTIAL_KEY) is None:
            return None
        return self.read_record(META, PARTIAL_KEY, "record of the layer under way")

    def cancel_requested(self) -> bool:
        """Whether somebody asked the driver of this run to stop for good."""
        return self.read(META, CANCEL_KEY) is not None

    def read(self, database: bytes, name: bytes) -> bytes | None:
        """Return the value of an entry, or ``None`` if there is none."""
        return self._environment.get(database, name)

    def names(self, database: bytes, prefix: bytes = b"") -> list[bytes]:
        """The names that begin with `prefix` of a database's entries, in order."""
        return self._environment.names(database, prefix)

    # Writing

    @property
    def poisoned(self) -> bool:
        """Whether a write failed, so that none is possible any more."""
        return self._poisoned is not None

    @property
    def staged_bytes(self) -> int:
        return self._pending_bytes

    @property
    def staged(self) -> bool:
        return bool(self._pending)

    def stage_record(self, database: bytes, name: bytes, fields: dict[str, Any]) -> None:
        """Keep a record for the next `commit`."""
        self.stage(database, name, pack_record(fields, database + name))

    def stage_limits(self, limits: Mapping[str, Any]) -> None:
        """Keep other limits for the next `commit`."""
        self.stage_record(META, LIMITS_KEY, dict(limits))

    def stage(self, database: bytes, name: bytes, value: bytes) -> None:
        """Keep an entry for the next `commit`."""
        self._pending.append((database, name, value))
        self._pending_bytes += len(name) + len(value)

    def commit(self, state: State) -> None:
        """Make all that is staged, and `state`, durable at once.

        Raises `DiskFullError` before anything is written where room is short, and `TakenOverError` where another
        process has committed since. After any failure but the first the store is poisoned: it refuses to write until it
        is opened again, and on disk the last commit stands.
        """
        self._refuse_if_poisoned()
        require_free(self.directory, int(self._pending_bytes * _WRITE_OVERHEAD))
        state = replace(state, updated=time.time())
        try:
            deleted = [(database, name) for database, prefix in self._erasures for name in self.names(database, prefix)]
            if state.status in ENDED:
                # IMPORTANT: in the same commit, so that a kill in between can neither lose nor repeat the wish.
                deleted.append((META, CANCEL_KEY))
            record = pack_record(state.as_dict(), META + STATE_KEY)
            known = (META, STATE_KEY, self._state_record)
            self._environment.write([*self._pending, (META, STATE_KEY, record)], deleted, known)
        except StorageError as error:
            self._poisoned = error
            raise
        self.discard_staged()
        self.state, self._state_record = state, record

    def discard_staged(self) -> None:
        self._pending.clear()
        self._erasures.clear()
        self._pending_bytes = 0

    def erase(self, database: bytes, prefix: bytes = b"") -> None:
        """With the next commit, before anything staged is written: delete the entries that begin with `prefix`."""
        self._refuse_if_poisoned()
        self._erasures.append((database, prefix))

    def erase_results(self) -> None:
        """With the next commit: delete all but what a new run has, and a request to cancel."""
        kept = (MANIFEST_KEY, LIMITS_KEY, STATE_KEY, CANCEL_KEY)
        for database in DATABASES:
            for name in self.names(database) if database == META else [b""]:
                if name not in kept:
                    self.erase(database, name)

    def request_cancel(self) -> None:
        """Ask the driver to stop for good. Safe beside a driver in another process; its last commit clears the wish."""
        self._environment.write([(META, CANCEL_KEY, b"1")])

    # Inside

    def _refuse_if_poisoned(self) -> None:
        if (error := self._poisoned) is not None:
            raise PoisonedError(f"an earlier write failed ({error}); open the run again to go on", *error.steps)

    def keepers(self) -> list[str]:
        """The hosts that keep layers of the run."""
        kept = self.read(META, HOSTS_KEY) is not None
        return [*self.read_record(META, HOSTS_KEY, "record of its hosts")["hosts"]] if kept else []

    def read_record(self, database: bytes, name: bytes, what: str) -> dict[str, Any]:
        """One record; `DamagedError` that names `what` if it is missing or broken."""
        value = self.read(database, name)
        if value is None:
            raise self._damaged(f"its {what} is missing")
        try:
            return unpack_record(value, what, database + name)
        except DamagedError as error:
            raise self._damaged(str(error)) from error

    def _read(self, what: str, fields: dict[str, Any], made: Callable[[dict[str, Any]], _Made]) -> _Made:
        """What is made of a record; `DamagedError` where its fields are not what it is made of."""
        try:
            return made(fields)
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(f"its {what} is malformed: {error}") from error

    def _read_manifest(self) -> Manifest:
        fields = self.read_record(META, MANIFEST_KEY, "manifest")
        if fields.get("format") != FORMAT_VERSION:
            raise FormatError(
                f"run {self.directory.name} has storage format {fields.get('format')}, this program reads "
                f"{FORMAT_VERSION}; use the version of Hakoiri that made it"
            )
        return self._read("manifest", fields, Manifest.from_dict)

    def _damaged(self, what: str) -> DamagedError:
        run = self.directory.name
        return DamagedError(f"run {run}: {what}", Step("verify", run), Step("repair", run))
