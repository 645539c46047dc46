"""The ledger of one run: its manifest, state and small records, and the commits that make all of it durable.

A run is created whole and durable, or not at all. One process at a time, the holder of the run's lock, writes it; any
number of processes read it, without any service. This module imports neither numpy nor numba, so that `runs` and
`status` start quickly.

`CommitThread` commits in a thread of its own, so that a merge with many threads does not wait for the disk. A host
takes 1.46 ns a configuration to stage and commit the merged ranges of the 3x4 tiles, 0.83 of them in LMDB. Eight
threads merge them in 0.69 ns.
"""

import errno
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from msgspec import Raw

from hakoiri.errors import DamagedError, DiskFullError, FormatError, Hint, NameTakenError, PoisonedError, StorageError
from hakoiri.storage import names
from hakoiri.storage.engine.environment import Environment, create_environment, disk_full, require_free, translated
from hakoiri.storage.engine.files import Given, flush
from hakoiri.storage.ledger.lock import making, remove_abandoned
from hakoiri.storage.ledger.manifest import (
    ENDED,
    Depth,
    LayerRecord,
    Manifest,
    State,
    pack_record,
    read_msgpack,
    typed,
    unpack_as,
    unpack_record,
)
from hakoiri.storage.names import CANCEL_KEY, LIMITS_KEY, MANIFEST_KEY, META, PARTIAL_KEY, STATE_KEY, creating, run_of

#: LMDB rewrites the tree pages above every page that a commit changes: the free room needed, as a factor of the
#: payload.
_WRITE_OVERHEAD = 1.25
_Made = TypeVar("_Made")


@dataclass(frozen=True)
class _Hosts:
    """The part of the record of a run's hosts that says which they are (`coordinator.hosts.range_map`)."""

    hosts: list[str]
    settled: bool = True
    left: list[str] = field(default_factory=list)


class Ledger:
    """An open run without its layers. Open it `writable` only while holding its `storage.ledger.lock.RunLock`.

    Unless `durable`, commits do not wait for the disk: for runs that end with this process. Attributes: `directory`,
    `manifest`, and `state` as of the last commit by this process, or as found on opening. The name of a run is that of
    its directory. `made_as` is the name under which it was made, which copies keep.
    """

    def __init__(self, directory: Path, writable: bool = False, durable: bool = True) -> None:
        self.directory = directory
        self._environment = Environment(directory, writable, durable)
        self._pending: list[tuple[bytes, bytes, bytes]] = []
        self._pending_bytes = 0
        self._erasures: list[tuple[bytes, bytes]] = []
        self._poisoned: StorageError | None = None
        try:
            fields = self.read_record(META, MANIFEST_KEY, "manifest")
            if fields.get("format") != names.FORMAT_VERSION:
                raise FormatError(
                    f"run {self.directory.name} has storage format {fields.get('format')}, expected "
                    f"{names.FORMAT_VERSION}; use the version of Hakoiri that made it"
                )
            with self.fitting("manifest"):
                made = Manifest.from_dict(fields)
            self.made_as, self.manifest = made.run, replace(made, run=run_of(directory))
            self.state = self.read_state()
            self._state_record = self.read(META, STATE_KEY) or b""
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close, and drop everything staged and not committed."""
        self._environment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read_state(self) -> State:
        """Return the state of the last commit by any process."""
        with self.fitting("state"):
            return State.from_dict(self.read_record(META, STATE_KEY, "state"))

    def plan(self, kind: type[_Made]) -> _Made:
        """Return the plan in the manifest as the dataclass `kind`; `DamagedError` if the fields do not fit."""
        with self.fitting("plan"):
            # IMPORTANT: what a later version plans must not be passed over.
            if unknown := self.manifest.plan.keys() - kind.__dataclass_fields__.keys():  # type: ignore[attr-defined]
                raise ValueError(f"{', '.join(unknown)} is not known")
            return typed(self.manifest.plan, kind)

    def limits(self) -> dict[str, Any]:
        """Return the limits of the run, which a user may extend; their fields depend on its kind."""
        return self.read_record(META, LIMITS_KEY, "limits")

    def layer_record(self, depth: Depth) -> LayerRecord:
        """Return the record of layer `depth`, without reading its keys."""
        return self._layer_record(depth, self.read(names.LAYERS, names.number_key(depth)))

    def layer_records(self) -> list[LayerRecord]:
        """Return the records of all committed layers, by depth."""
        count = self.state.depth + 1
        # One snapshot for all: a snapshot for each record takes four times as long. A damaged state may have any depth.
        values = dict(self._environment.entries(names.LAYERS, names.number_key(0), min(count, 1 << 32)))
        return [self._layer_record(depth, values.get(names.number_key(depth))) for depth in range(count)]

    def _layer_record(self, depth: Depth, value: bytes | None) -> LayerRecord:
        name, what = names.number_key(depth), f"record of layer {depth}"
        found = self._unpacked(partial(unpack_as, LayerRecord), value, names.LAYERS, name, what)
        if found.depth != depth:
            raise self.damaged(f"the record of layer {depth} is of layer {found.depth}")
        return found

    @property
    def has_partial(self) -> bool:
        """True if an earlier session left a layer unfinished."""
        return self.read(META, PARTIAL_KEY) is not None

    def read_partial(self, kind: type[_Made]) -> _Made | None:
        """Return the record of an unfinished layer of an earlier session; ``None`` without one of this `kind`."""
        if self.has_partial:
            raw = self.read_as(Raw, META, PARTIAL_KEY, "record of the layer under way")
            with suppress(ValueError):  # An earlier version may have made it, or a session with other work.
                return read_msgpack(memoryview(raw), kind)
        return None

    def cancel_requested(self) -> bool:
        """Return whether a cancellation of the run was requested."""
        return self.read(META, CANCEL_KEY) is not None

    def read(self, database: bytes, name: bytes) -> bytes | None:
        """Return the value of an entry, or ``None`` if it is missing."""
        return self._environment.get(database, name)

    def names(self, database: bytes, prefix: bytes = b"") -> list[bytes]:
        """Return the names of a database's entries that begin with `prefix`, in order."""
        return self._environment.names(database, prefix)

    @property
    def poisoned(self) -> bool:
        """True if an earlier write has failed, so that no further one is possible."""
        return self._poisoned is not None

    @property
    def staged_bytes(self) -> int:
        return self._pending_bytes

    @property
    def staged(self) -> bool:
        return bool(self._pending or self._erasures)

    def stage_record(self, database: bytes, name: bytes, fields: dict[str, Any]) -> None:
        """Stage a record for the next `commit`."""
        self.stage(database, name, pack_record(fields, database + name))

    def stage_limits(self, limits: Mapping[str, Any]) -> None:
        """Stage new limits for the next `commit`."""
        self.stage_record(META, LIMITS_KEY, dict(limits))

    def stage(self, database: bytes, name: bytes, value: bytes) -> None:
        """Stage an entry for the next `commit`."""
        self._pending.append((database, name, value))
        self._pending_bytes += len(name) + len(value)

    def commit(self, state: State) -> None:
        """Make everything staged, and `state`, durable in one transaction.

        Raises `DiskFullError` before anything is written if room is short, `TakenOverError` if another process has
        committed since. After any failure but the first the store is poisoned: it refuses writes until it is opened
        again. The last commit stands on disk. Once the run is complete, free pages of its file go back to the disk.
        """
        self._begin_commit(state, lambda *entries: partial(self._environment.write, *entries))()
        if state.status == "complete":
            with suppress(StorageError):
                self._environment.release()

    def commit_in(self, pool: Executor, state: State) -> "Future[None]":
        """Do as `commit`, in a thread of `pool`; return its end.

        Until then no other commit may begin. What is staged meanwhile is for the next one.
        """
        return pool.submit(self._begin_commit(state, self._environment.begin_write))

    def _begin_commit(self, state: State, writing: Callable[..., Callable[[], None]]) -> Callable[[], None]:
        """Take all that is staged; return a function that commits it by what `writing` returns for these entries."""
        self._refuse_if_poisoned()
        require_free(self.directory, int(self._pending_bytes * _WRITE_OVERHEAD))
        state = replace(state, updated=time.time())
        try:
            deleted = [(database, name) for database, prefix in self._erasures for name in self.names(database, prefix)]
            if state.status in ENDED:
                # IMPORTANT: in the same commit, so that a kill in between can neither lose nor repeat the request.
                deleted.append((META, CANCEL_KEY))
            record = pack_record(state.as_dict(), META + STATE_KEY)
            known = (META, STATE_KEY, self._state_record)
            write = writing([*self._pending, (META, STATE_KEY, record)], deleted, known)
        except StorageError as error:
            self._poisoned = error
            raise
        self.discard_staged()

        def commit() -> None:
            try:
                write()
            except StorageError as error:
                self._poisoned = error
                raise
            self.state, self._state_record = state, record

        return commit

    def discard_staged(self) -> None:
        self._pending.clear()
        self._erasures.clear()
        self._pending_bytes = 0

    def erase(self, database: bytes, prefix: bytes = b"") -> None:
        """Stage the deletion of all entries that begin with `prefix`; the next commit deletes before it writes."""
        self._refuse_if_poisoned()
        self._erasures.append((database, prefix))

    def erase_results(self) -> None:
        """Stage the deletion of everything except the records of a new run and a request to cancel."""
        kept = (MANIFEST_KEY, LIMITS_KEY, STATE_KEY, CANCEL_KEY)
        for database in names.DATABASES:
            for name in self.names(database) if database == META else [b""]:
                if name not in kept:
                    self.erase(database, name)

    def request_cancel(self) -> None:
        """Ask the driver, which may be another process, to cancel the run. Its last commit clears the request."""
        self._environment.write([(META, CANCEL_KEY, b"1")])

    def _refuse_if_poisoned(self) -> None:
        if (error := self._poisoned) is not None:
            raise PoisonedError(f"an earlier write failed ({error}); open the run again to go on", *error.hints)

    def keepers(self, leaving: bool = False) -> list[str]:
        """Return the hosts that keep layers of the run; if `leaving`, also those whose ranges have moved away."""
        if (found := self.read_if_any(_Hosts, META, names.HOSTS_KEY, "record of its hosts")) is None:
            return []
        return found.hosts if found.settled or not leaving else [*found.hosts, *found.left]

    def read_as(self, kind: type[_Made], database: bytes, name: bytes, what: str) -> _Made:
        """Return one record; a `DamagedError` names `what` if it is missing, damaged, or not a `kind`."""
        return self._read(partial(unpack_as, kind), database, name, what)

    def read_if_any(self, kind: type[_Made], database: bytes, name: bytes, what: str) -> _Made | None:
        """Return one record; ``None`` if it is missing. Raises as `read_as`."""
        return None if self.read(database, name) is None else self.read_as(kind, database, name, what)

    def read_record(self, database: bytes, name: bytes, what: str) -> dict[str, Any]:
        """Return the fields of one record; a `DamagedError` names `what` if it is missing or damaged."""
        return self._read(unpack_record, database, name, what)

    def _read(self, unpack: Callable[[bytes, str, bytes], _Made], database: bytes, name: bytes, what: str) -> _Made:
        return self._unpacked(unpack, self.read(database, name), database, name, what)

    def _unpacked(
        self, unpack: Callable[[bytes, str, bytes], _Made], value: bytes | None, database: bytes, name: bytes, what: str
    ) -> _Made:
        if value is None:
            raise self.damaged(f"its {what} is missing")
        try:
            return unpack(value, what, database + name)
        except DamagedError as error:
            raise self.damaged(str(error)) from error

    @contextmanager
    def fitting(self, what: str) -> Iterator[None]:
        """Raise `DamagedError` if the block finds that the fields of a record do not fit."""
        try:
            yield
        except (KeyError, TypeError, ValueError) as error:
            raise self.damaged(f"its {what} is malformed: {error}") from error

    def damaged(self, what: str) -> DamagedError:
        """Return the error for a part of the run that is damaged."""
        run = self.directory.name
        return DamagedError(f"run {run}: {what}", Hint("verify", run), Hint("repair", run))


class CommitThread:
    """Commits what `store` has staged, one commit at a time, while more is staged. Leaving waits for the last one.

    A commit of `least` bytes is worthwhile: it takes half a millisecond beside what it writes.
    Raises as `Ledger.commit` does: when the next commit begins, or on leaving.
    """

    def __init__(self, store: Ledger, least: int = 4_000_000) -> None:
        self._store, self._least, self._pool = store, least, ThreadPoolExecutor(1, thread_name_prefix="commit")
        self._running: Future[None] | None = None
        self._then: Callable[[], None] = lambda: None

    @property
    def is_worthwhile(self) -> bool:
        """Return whether enough is staged for a commit, and none is running."""
        return self._store.staged_bytes > self._least and (self._running is None or self._running.done())

    def begin(self, then: Callable[[], None]) -> None:
        """Begin to commit all that is staged, after the last commit. Once it is durable, call `then` in this thread."""
        self._finish()
        self._running, self._then = self._store.commit_in(self._pool, self._store.state), then

    def __enter__(self) -> "CommitThread":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._pool.shutdown()
        if error is None:
            self._finish()

    def _finish(self) -> None:
        if self._running is not None:
            self._running.result()
            self._then()
        self._running = None


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
        data.mkdir(parents=True, exist_ok=True)
        building.mkdir()
    try:
        with making(building):
            require_free(building, 0)
            begin_books(building, manifest, State(figures=figures or {}), limits or {})
            with translated(final):
                (building / names.CREATED_FILE).write_text(str(names.next_age(data)), encoding="ascii")
                if queued:
                    (building / names.QUEUED_FILE).touch()
                for entry in (*building.iterdir(), building):
                    flush(entry)
                try:
                    building.rename(final)
                except OSError as error:
                    # Another run may have got the name meanwhile.
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                        raise
                    raise NameTakenError(final.name) from error
                flush(data)
    except DiskFullError as error:
        raise disk_full(final, error.perhaps_broken, is_run=False) from error
    finally:
        Given(data).remove_folder(building.name)
    return final


def begin_books(
    directory: Path, manifest: Manifest, state: State, limits: Mapping[str, Any], durable: bool = True
) -> None:
    """Create the data file of a new run in an empty directory."""
    records = {MANIFEST_KEY: manifest.as_dict(), STATE_KEY: state.as_dict(), LIMITS_KEY: dict(limits)}
    create_environment(directory, durable)
    with closing(Environment(directory, writable=True, durable=durable)) as environment:
        environment.write([(META, name, pack_record(fields, META + name)) for name, fields in records.items()])
