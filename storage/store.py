"""The store of one run: its manifest, its state, its layers of keys.

Written by the one process that holds the run's lock, read by any number at any time, with no other service alive.
What belongs together (a layer's blocks, its record, the state that counts it) becomes visible by one commit.
"""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from puzzles.keys import LAYOUTS, Key, Keys, Mask
from storage.blocks import decode_entry, encode_layer
from storage.digest import digest_text, lanes_of
from storage.environment import Environment, require_free, translated
from storage.errors import DamagedError, FormatError, PoisonedError, StorageError
from storage.layout import (
    BLOCKS,
    CANCEL_KEY,
    CREATED_FILE,
    FORMAT_VERSION,
    LAYERS,
    MANIFEST_KEY,
    META,
    STATE_KEY,
    block_key,
    creating,
    number_key,
    split_block_key,
)
from storage.manifest import Depth, LayerRecord, Manifest, State, known_fields
from storage.records import pack_record, unpack_record

#: LMDB rewrites the tree pages above what a commit touches; this much more than the payload must be free.
_WRITE_OVERHEAD = 1.25


def create_run(data: Path, manifest: Manifest, state: State) -> Path:
    """The directory of a new run, wholly there and durable on return. `StorageError` if it cannot be written."""
    final, building = data / manifest.run, creating(data, manifest.run)
    with translated(final):
        building.mkdir(parents=True)
    try:
        require_free(building, 0)
        environment = Environment(building, writable=True)
        try:
            with environment.transaction(write=True) as transaction:
                meta = environment.databases[META]
                transaction.put(MANIFEST_KEY, pack_record(manifest.as_dict()), db=meta)
                transaction.put(STATE_KEY, pack_record(state.as_dict()), db=meta)
        finally:
            environment.close()
        with translated(final):
            (building / CREATED_FILE).write_text(str(time.time_ns()), encoding="ascii")
            os.rename(building, final)
    except StorageError:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return final


class RunStore:
    """An open run. Open it `writable` only while holding its `storage.lock.RunLock`.

    Attributes: `manifest`, `state` (that of the last commit by this process, or as found on opening).
    """

    def __init__(self, directory: Path, writable: bool = False) -> None:
        self.directory = directory
        self._environment = Environment(directory, writable)
        self._databases = self._environment.databases
        self._pending: list[tuple[bytes, bytes, bytes]] = []
        self._pending_bytes = 0
        self._poisoned = ""
        try:
            self.manifest = _read_manifest(self._record(META, MANIFEST_KEY, "manifest"), directory)
            self.state = self.read_state()
        except BaseException:
            self.close()
            raise
        self.dtype = LAYOUTS[self.manifest.layout]

    def close(self) -> None:
        """Close; what was not committed is gone."""
        self._environment.close()

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading

    def read_state(self) -> State:
        """The state as of the last commit of whatever process."""
        return State(**known_fields(State, self._record(META, STATE_KEY, "state")))

    def layer_record(self, depth: Depth) -> LayerRecord:
        """What is known of layer `depth` without reading its keys."""
        fields = self._record(LAYERS, number_key(depth), f"record of layer {depth}")
        return LayerRecord(**known_fields(LayerRecord, fields))

    def layer_records(self) -> list[LayerRecord]:
        """The records of all committed layers, by depth."""
        return [self.layer_record(depth) for depth in range(self.read_state().depth + 1)]

    def layer(self, depth: Depth) -> Keys:
        """The keys of a layer, strictly increasing. `DamagedError` if a block or their number is wrong."""
        size = self.layer_record(depth).size
        blocks = list(self.blocks(depth))
        keys = np.concatenate(blocks) if blocks else np.empty(0, dtype=self.dtype)
        if len(keys) != size:
            raise self._damaged(f"layer {depth} has {len(keys)} configurations on disk, its record says {size}")
        return keys

    def blocks(self, depth: Depth) -> Iterator[Keys]:
        """The keys of a layer block by block."""
        for name, value in self._entries(BLOCKS, number_key(depth)):
            yield self._decode(name, value)

    def contains(self, depth: Depth, keys: Keys) -> Mask:
        """One truth value per key: is it in the layer? Decodes at most one block per key."""
        found = np.zeros(len(keys), dtype=np.bool_)
        for index, key in enumerate(keys.tolist()):
            block = self._block_around(depth, key)
            if block is not None:
                place = int(np.searchsorted(block, block.dtype.type(key)))
                found[index] = place < len(block) and block[place] == key
        return found

    def find(self, key: Key) -> Depth | None:
        """The depth of the layer that holds `key`, or ``None``. Decodes at most one block per layer."""
        wanted = np.array([key], dtype=self.dtype)
        return next((depth for depth in range(self.state.depth + 1) if self.contains(depth, wanted)[0]), None)

    def cancel_requested(self) -> bool:
        """Whether somebody asked the driver of this run to stop for good."""
        with self._environment.transaction() as transaction:
            return transaction.get(CANCEL_KEY, db=self._databases[META]) is not None

    # Writing

    @property
    def poisoned(self) -> bool:
        """Whether a write failed, so that none is possible any more."""
        return bool(self._poisoned)

    @property
    def staged(self) -> bool:
        """Whether something waits for the next commit."""
        return bool(self._pending)

    def put_layer(self, depth: Depth, keys: Keys, goals: int) -> LayerRecord:
        """Stage a layer; it is on disk after the next `commit`. `keys` must be strictly increasing."""
        stored = 0
        for name, value in encode_layer(depth, keys):
            self.stage(BLOCKS, name, value)
            stored += len(name) + len(value)
        digest = digest_text(lanes_of(keys))
        record = LayerRecord(depth, len(keys), digest, goals, stored, self.state.session)
        self.stage(LAYERS, number_key(depth), pack_record(record.as_dict()))
        return record

    def stage(self, database: bytes, name: bytes, value: bytes) -> None:
        """Keep an entry for the next `commit`."""
        self._pending.append((database, name, value))
        self._pending_bytes += len(name) + len(value)

    def erase(self, database: bytes, prefix: bytes = b"") -> None:
        """Delete all entries of a database whose names begin with `prefix`, durably."""
        names = [name for name in self.names(database) if name.startswith(prefix)]
        with self._environment.transaction(write=True) as transaction:
            for name in names:
                transaction.delete(name, db=self._databases[database])

    def commit(self, state: State) -> None:
        """Make all that is staged, and `state`, durable at once.

        Raises `DiskFullError` before anything is written where room is short. After any other failure the store is
        poisoned: it refuses to write until it is opened again, and on disk the last commit stands.
        """
        self._refuse_if_poisoned()
        require_free(self.directory, int(self._pending_bytes * _WRITE_OVERHEAD))
        state = replace(state, updated=time.time())
        try:
            with self._environment.transaction(write=True) as transaction:
                for database, name, value in self._pending:
                    transaction.put(name, value, db=self._databases[database])
                transaction.put(STATE_KEY, pack_record(state.as_dict()), db=self._databases[META])
        except StorageError as error:
            self._poisoned = str(error)
            raise
        self._pending.clear()
        self._pending_bytes = 0
        self.state = state

    def discard_staged(self) -> None:
        """Forget what is staged."""
        self._pending.clear()
        self._pending_bytes = 0

    def set_cancel_request(self, wanted: bool) -> None:
        """Ask the driver to stop for good, or take that back. Safe beside a driver in another process."""
        with self._environment.transaction(write=True) as transaction:
            if wanted:
                transaction.put(CANCEL_KEY, b"1", db=self._databases[META])
            else:
                transaction.delete(CANCEL_KEY, db=self._databases[META])

    def read(self, database: bytes, name: bytes) -> bytes | None:
        """One raw entry."""
        with self._environment.transaction() as transaction:
            value = transaction.get(name, db=self._databases[database])
            return None if value is None else bytes(value)

    def names(self, database: bytes) -> list[bytes]:
        """The names of all entries of a database, in order."""
        return [name for name, _ in self._entries(database, b"")]

    # Inside

    def _refuse_if_poisoned(self) -> None:
        if self._poisoned:
            raise PoisonedError(f"an earlier write failed ({self._poisoned}); open the run again to go on")

    def _record(self, database: bytes, name: bytes, what: str) -> dict[str, object]:
        value = self.read(database, name)
        if value is None:
            raise self._damaged(f"its {what} is missing")
        try:
            return unpack_record(value, what)
        except DamagedError as error:
            raise self._damaged(str(error)) from error

    def _entries(self, database: bytes, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._environment.transaction() as transaction:
            cursor = transaction.cursor(db=self._databases[database])
            more = cursor.set_range(prefix)
            while more and bytes(cursor.key()).startswith(prefix):
                yield bytes(cursor.key()), bytes(cursor.value())
                more = cursor.next()

    def _block_around(self, depth: Depth, key: Key) -> Keys | None:
        """The block of layer `depth` with the greatest first key that is not above `key`."""
        wanted = block_key(depth, key, self.dtype.itemsize)
        with self._environment.transaction() as transaction:
            cursor = transaction.cursor(db=self._databases[BLOCKS])
            found = cursor.set_range(wanted)
            if not found or bytes(cursor.key()) != wanted:
                found = cursor.prev() if found else cursor.last()
            if not found or split_block_key(bytes(cursor.key()))[0] != depth:
                return None
            return self._decode(bytes(cursor.key()), bytes(cursor.value()))

    def _decode(self, name: bytes, value: bytes) -> Keys:
        try:
            return decode_entry(name, memoryview(value), self.dtype)
        except DamagedError as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> DamagedError:
        run = self.directory.name
        return DamagedError(f"run {run}: {what}; 'hakoiri verify {run}' lists all faults, 'resume --repair' mends layers")


def _read_manifest(fields: dict[str, object], directory: Path) -> Manifest:
    if fields.get("format") != FORMAT_VERSION:
        raise FormatError(
            f"run {directory.name} has storage format {fields.get('format')}, this program reads {FORMAT_VERSION}; "
            "use the version of Hakoiri that made it"
        )
    return Manifest(**known_fields(Manifest, fields))
