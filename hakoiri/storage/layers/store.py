"""The store of one run: its ledger, its layers of keys, and their readers; and scratch stores.

A question that needs a search of its own gets a scratch store: a folder in the run's directory, or among the temporary
files if that is not writable. It is removed with the question. The next question to the same run removes the folders of
killed processes.
"""

import os
import sys
import tempfile
import time
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import DamagedError, DiskFullError, ElsewhereError, Hint, NotKeptError, StorageError
from hakoiri.keys.layout import LAYOUTS, Key, Keys, Mask, ints, key_at
from hakoiri.keys.order import difference, lower_bounds, members, slice_between
from hakoiri.storage.engine.environment import require_free, taken_over, translated
from hakoiri.storage.engine.files import Given, allocate
from hakoiri.storage.layers.blocks import Block, Coded, code_keys, count_of, decode, digest_text, lanes_of
from hakoiri.storage.layers.depths import DepthTable, Kept, code_of
from hakoiri.storage.layers.table_file import TableLedger
from hakoiri.storage.ledger.ledger import begin_books
from hakoiri.storage.ledger.lock import RunLock, holder_of
from hakoiri.storage.ledger.manifest import Depth, LayerRecord, State
from hakoiri.storage.names import (
    BLOCKS,
    HOLDER_FILE,
    LABELS,
    LAYERS,
    SCRATCH_PREFIX,
    block_key,
    number_key,
    split_block_key,
)

#: What most runs keep.
_ALL = Kept()
#: Most blocks read in one transaction: a long transaction keeps old pages from being used again.
_BATCH = 8


class Entries(Protocol):
    """Sorted entries: those of LMDB (`storage.engine.environment.Environment`), or the blocks of layers at hosts."""

    def get(self, database: bytes, name: bytes) -> bytes | None: ...
    def names(self, database: bytes, prefix: bytes = b"") -> list[bytes]: ...
    def entries(self, database: bytes, begin: bytes, most: int) -> list[tuple[bytes, bytes]]: ...
    def name_around(self, database: bytes, wanted: bytes, prefix: bytes) -> bytes | None: ...
    def name_after(self, database: bytes, name: bytes, prefix: bytes) -> bytes | None: ...


class HostedEntries(Entries, Protocol):
    """The blocks of layers at hosts."""

    def members(self, depth: Depth, keys: Keys) -> Mask: ...


class RunStore(TableLedger):
    """An open run. Open it `writable` only while holding its lock; `layout` is that of its keys.

    `database` in some methods is BLOCKS, the layers by depth, or CLOSED, the segments of a directed search by number.
    `elsewhere` returns the blocks of layers that hosts keep; it is called when such a layer is read. Callers that can
    reach the hosts set it; without it such a layer is an `ElsewhereError`. A layer that the run has dropped
    (`storage.layers.depths`) is a `NotKeptError`. `are_keys` is that of the run's puzzle, and set by callers that give
    keys to its kernels. For a run that keeps depths, `expand` returns the successors of keys, and `start` is its start.
    Layers up to `checked_to` are checked when they are read; others were made, and checked, by this process.
    """

    def __init__(self, directory: Path, writable: bool = False, durable: bool = True) -> None:
        super().__init__(directory, writable, durable)
        if self.manifest.layout not in LAYOUTS:
            self.close()
            raise self.damaged(f"its manifest is malformed: unknown layout {self.manifest.layout!r}")
        self.layout = LAYOUTS[self.manifest.layout]
        self._indexed: set[Depth] = set()
        self._away: dict[Depth, bool] = {}
        self.elsewhere: Callable[[], HostedEntries] | None = None
        self.are_keys: Callable[[Keys], Mask] | None = None
        self.expand: Callable[[Keys], Keys] | None = None
        self.are_starts: Callable[[Keys], Mask] | None = None
        self.checked_to = self.state.depth + 1 if writable else sys.maxsize

    def close(self) -> None:
        """Close, and drop everything staged and not committed."""
        # It may refer to this store.
        self.elsewhere = None
        super().close()

    def layer(self, depth: Depth) -> Keys:
        """Return the keys of a layer, strictly increasing. `DamagedError` if a block or the number of keys is wrong."""
        size = self.layer_record(depth).size
        blocks = list(self.blocks(depth))
        keys = np.concatenate(blocks) if blocks else self.layout.empty(0)
        if len(keys) != size:
            raise self._lost(
                depth, f"layer {depth} has {len(keys)} configurations on disk, expected {size} as in its record"
            )
        return keys

    def blocks(self, number: Depth, begin: Key = 0, database: bytes = BLOCKS, raw: bool = False) -> Iterator[Keys]:
        """Yield the keys of a layer block by block, from the block that may hold `begin` on.

        The keys of `raw` blocks are not checked by `are_keys`: the caller checks several layers together, which is
        faster, or only compares them.
        """
        if begin > self.layout.greatest:
            return
        prefix = number_key(number)
        name, most = self._name_around(database, number, begin), 1
        while name is not None:
            entries = self._entries(database, number).entries(database, name, most)
            mine = [(found, value) for found, value in entries if found.startswith(prefix)]
            # The least name that is greater.
            name = mine[-1][0] + b"\0" if len(mine) == most else None
            most = min(2 * most, _BATCH)
            for found, value in mine:
                yield self.decode(_block(found, value), raw)

    def coded(self, number: Depth, firsts: Sequence[Key], database: bytes = BLOCKS) -> list[Block]:
        """Return the blocks of a layer that begin with `firsts`, which are neighbours; any thread may `decode` them."""
        names = [block_key(number, first, self.layout.bytes) for first in firsts]
        entries = self._entries(database, number).entries(database, names[0], len(names)) if names else []
        if [name for name, _ in entries] != names:
            raise self.damaged(f"layer {number} changed while it was read")
        return [_block(*entry) for entry in entries]

    def decode(self, block: Block, raw: bool = False) -> Keys:
        """Return the keys of a block; `DamagedError` if it is damaged, or a key is not a configuration."""
        try:
            keys = decode(block, self.layout)
        except DamagedError as error:
            raise self.damaged(str(error)) from error
        is_given = block.number <= self.checked_to or self._away.get(block.number)
        return self.checked(keys, f"layer {block.number}") if is_given and not raw else keys

    def checked(self, keys: Keys, where: str) -> Keys:
        """Return some keys; `DamagedError`, naming `where` they are, if kernels may not take one (`are_keys`)."""
        if self.are_keys is not None and not (right := self.are_keys(keys)).all():
            wrong, puzzle = key_at(keys, int(right.argmin())), self.manifest.puzzle.get("name")
            raise self.damaged(f"{where} has {wrong:#x}, which is not a configuration of {puzzle}")
        return keys

    def slice(self, number: Depth, low: Key, high: Key, database: bytes = BLOCKS, raw: bool = False) -> Keys:
        """Return the keys of a layer with low <= key < high. Decodes the blocks that may hold them; see `blocks`."""
        found = []
        for block in self.blocks(number, low, database, raw=raw):
            found.append(slice_between(block, low, high))
            if key_at(block, -1) >= high - 1:
                break
        return np.concatenate(found) if found else self.layout.empty(0)

    def first_keys(self, number: Depth, database: bytes = BLOCKS) -> list[Key]:
        """Return the first key of each block of a layer."""
        names = self._entries(database, number).names(database, number_key(number))
        return [split_block_key(name)[1] for name in names]

    def contains(self, depth: Depth, keys: Keys) -> Mask:
        """Return for each of `keys`, which increase, whether the layer contains it. Decodes each block at most once."""
        if 0 <= depth < self.kept.first:
            there: Mask = self.depths_of(keys) == depth
            return there
        found = self.contains_near(depth, keys)
        # Otherwise it may have been dropped meanwhile.
        return found if depth >= self.kept.first else self.contains(depth, keys)

    def contains_near(self, depth: Depth, keys: Keys) -> Mask:
        """Return `contains` for keys that are at `depth`, at the depth before it or after it, or not in the run.

        The table of depths has depths modulo 3 only.
        """
        if not 0 <= depth <= self.state.depth:
            return np.zeros(len(keys), dtype=np.bool_)
        if depth < self.kept.first and self.kept.table:
            found: Mask = DepthTable(self).codes(keys) == code_of(depth)
            return found
        self.require_whole(depth)
        found = self.members(depth, keys)
        return found if depth >= self.kept.first else self.contains_near(depth, keys)

    @property
    def kept(self) -> Kept:
        """The layers whose keys this run keeps. Another process may drop some at any time."""
        return Kept.of(self) if "keep" in self.manifest.plan else _ALL

    def members(self, number: Depth, keys: Keys, database: bytes = BLOCKS) -> Mask:
        """Return `contains` for a layer or segment that is known to be whole."""
        away = database == BLOCKS and self._is_away(number)
        # If sending the keys takes less than fetching the blocks.
        if away and self.elsewhere is not None and keys.nbytes <= self.layer_record(number).stored_bytes:
            return self.elsewhere().members(number, keys)
        found, entries = np.zeros(len(keys), dtype=np.bool_), self._entries(database, number)
        begin = 0
        while begin < len(keys):
            name = self._name_around(database, number, key_at(keys, begin))
            value = None if name is None else entries.get(database, name)
            if name is None or value is None:
                return found
            block, end = self.decode(_block(name, value), raw=True), len(keys)
            # This block decides all keys before the next block, also those beyond its own last key.
            if key_at(keys, -1) > key_at(block, -1):
                following = entries.name_after(database, name, number_key(number))
                if following is not None:
                    first = self.layout.pack([split_block_key(following)[1]])
                    end = begin + max(1, int(lower_bounds(keys[begin:], first)[0]))
            found[begin:end] = members(block, keys[begin:end])
            begin = end
        return found

    def slab(self, number: int) -> bytes | None:
        """Return the entry of a slab of labels (`storage.results`)."""
        name = number_key(number)
        return self.read(LABELS, name) or self._entries(LABELS, 0).get(LABELS, name)

    def find(self, key: Key) -> Depth | None:
        """Return the depth of the layer that holds `key`, or ``None``."""
        depth = int(self.depths_of(self.layout.pack([key]))[0])
        return None if depth < 0 else depth

    def depths_of(self, keys: Keys, around: Depth | None = None) -> NDArray[np.int64]:
        """Return the depth of each of `keys`, which increase; -1 for those in no layer.

        If `around` is given, none is more than one move nearer to the start than this depth, or farther. Decodes each
        block at most once. Where only depths are kept, walks from each key to the start, which reads a block of the
        table for each successor on the way.
        """
        depths, kept, last = np.full(len(keys), -1, dtype=np.int64), self.kept, self.state.depth
        first, last = (kept.first, last) if around is None else (max(0, around - 1), min(last, around + 1))
        for depth in range(first, last + 1):
            left = np.flatnonzero(depths < 0)
            if not len(left):
                break
            depths[left[self.contains_near(depth, keys[left])]] = depth
        if kept.first and around is None:
            left = np.flatnonzero(depths < 0)
            depths[left] = [self._walked(keys[place : place + 1]) for place in left.tolist()]
        # Otherwise some may have been dropped meanwhile, and the table has depths modulo 3.
        return depths if around is not None or self.kept == kept else self.depths_of(keys)

    def _walked(self, key: Keys) -> Depth:
        """Return the length of a way to the start by the table of depths; -1 if it lacks the key."""
        if self.expand is None or self.are_starts is None or not self.kept.table:
            raise self._dropped(0)
        table, depth = DepthTable(self), 0
        code, first = int(table.codes(key)[0]), key
        while code and not self.are_starts(key)[0]:
            near = self.expand(key)
            nearer = np.flatnonzero(table.codes(near) == code_of(code + 1))
            # Another process may have entered deeper layers since.
            if not len(nearer) or depth > self.read_state().depth:
                raise self.damaged(f"its table of depths has no way from {key_at(first, 0):#x} to the start")
            key, code, depth = near[nearer[:1]], code_of(code + 1), depth + 1
        return depth if code else -1

    def put_layer(
        self, depth: Depth, keys: Keys, goals: int, flow: int | None = None, represented: int = 0
    ) -> LayerRecord:
        """Stage a layer; it is on disk after the next `commit`. `keys` must be strictly increasing."""
        stored, index = self.stage_blocks(depth, code_keys(depth, keys))
        digest, session = digest_text(lanes_of(keys)), self.state.session
        record = LayerRecord(depth, len(keys), digest, goals, stored, index, session, flow, represented=represented)
        self.stage_layer(record)
        return record

    def stage_blocks(self, number: Depth, coded: Coded, index: int = 0, database: bytes = BLOCKS) -> tuple[int, int]:
        """Stage some blocks of a layer, in increasing order; return their bytes, and `index` with their names added."""
        stored, key_bytes = 0, self.layout.bytes
        for first, value in zip(ints(coded.firsts), coded.values(), strict=True):
            name = block_key(number, first, key_bytes)
            self.stage(database, name, bytes(value))
            stored += len(name) + len(value)
            index = zlib.crc32(name, index)
        return stored, index

    def stage_layer(self, record: LayerRecord) -> None:
        """Stage the record of a layer whose blocks are staged or committed."""
        self.stage_record(LAYERS, number_key(record.depth), record.as_dict())
        self._indexed.discard(record.depth)
        self._away.pop(record.depth, None)

    def require_whole(self, depth: Depth) -> None:
        """Raise `DamagedError` unless the blocks of a layer are exactly those of its record. Checked once per layer.

        Each host checks its own part of a layer that hosts keep.
        """
        if depth not in self._indexed:
            if not self._is_away(depth):
                self.require_names(depth, self.layer_record(depth).index, f"layer {depth}")
            self._indexed.add(depth)

    def require_home(self) -> None:
        """Raise `ElsewhereError` if hosts keep layers of the run."""
        if hosts := self.keepers():
            run = self.directory.name
            text = f"layers of run {run} are kept by {', '.join(hosts)}: set HAKOIRI_REDIS to ask them"
            raise ElsewhereError(text, Hint("collect", run))

    def _entries(self, database: bytes, number: Depth) -> Entries:
        """Return the entries that hold a layer, or labels of it: of LMDB, or of hosts."""
        if database == BLOCKS and number < self.kept.first:
            raise self._dropped(number)
        if database not in (BLOCKS, LABELS) or not self._is_away(number):
            return self._environment
        if self.elsewhere is None:
            self.require_home()
            # The layers were collected meanwhile.
            return self._environment
        return self.elsewhere()

    def _is_away(self, depth: Depth) -> bool:
        """Return whether hosts keep a layer."""
        if depth not in self._away and self.read(LAYERS, number_key(depth)) is not None:
            self._away[depth] = self.layer_record(depth).hosted
        return self._away.get(depth, False)

    def require_names(self, number: Depth, index: int, what: str, database: bytes = BLOCKS) -> None:
        """Raise `DamagedError`, naming `what`, unless the CRC-32 of the names of its blocks is `index`."""
        found = 0
        for name in self.names(database, number_key(number)):
            found = zlib.crc32(name, found)
        if found != index:
            text = f"{what} is damaged: its blocks do not match its record"
            raise self._lost(number, text) if database == BLOCKS else self.damaged(text)

    def require_kept(self) -> None:
        """Raise `NotKeptError` if the run has dropped layers."""
        if self.kept.first:
            raise self._dropped(0)

    def _lost(self, depth: Depth, text: str) -> StorageError:
        """Return the error for a layer without all its blocks: damage, unless the run has dropped it."""
        return self._dropped(depth) if depth < self.kept.first else self.damaged(text)

    def _dropped(self, depth: Depth) -> StorageError:
        """Return the error for a layer that is not kept."""
        run = self.directory.name
        if self.checked_to < sys.maxsize and self.state.depth < self.kept.first:
            # This process drives the run.
            return taken_over(self.directory)
        text = f"run {run} stores no configurations of layer {depth}, only from layer {self.kept.first} on"
        return NotKeptError(text, Hint("run without", "keep"))

    def _name_around(self, database: bytes, number: Depth, key: Key) -> bytes | None:
        """Return the name of a layer's block with the greatest first key not above `key`, else of its first block."""
        wanted = block_key(number, key, self.layout.bytes)
        return self._entries(database, number).name_around(database, wanted, number_key(number))


def _block(name: bytes, value: bytes) -> Block:
    """Return an entry of LMDB as a block."""
    return Block(*split_block_key(name), count_of(value), value)


#: The number of positions at which a sample is taken, and the number of keys at each.
_SAMPLE_PLACES, _SAMPLE_KEYS = 48, 192
_SAMPLED = _SAMPLE_PLACES * _SAMPLE_KEYS
#: The most keys in the sample of several layers.
_MOST_SAMPLED = 1 << 14
#: Blocks read at a time.
_AT_ONCE = 8


class Source(Protocol):
    """The keys from which a layer is made."""

    @property
    def size(self) -> int:
        """The number of keys."""

    def between(self, low: Key, high: Key) -> Iterable[Keys]:
        """Return the keys with low <= key < high, once, in increasing batches that any thread may decode."""

    def sample(self) -> Keys:
        """Return some thousand keys from the whole range, or all of them; each batch of them is sorted."""


class Layer(Source, Protocol):
    """A finished strictly increasing set of keys; its sample is sorted, and `between` returns its keys in order."""

    def chunks(self, begin: int, size: int) -> Iterator[Keys]:
        """Yield the keys from number `begin` on, `size` at a time or a little less."""

    def at_most(self, low: Key, high: Key) -> int:
        """Return an estimate of the number of keys that `between` returns: never much too low."""

    def exclude_from(self, keys: Keys) -> Keys:
        """Return the keys that are not in the layer; `keys` strictly increase."""


def outside(keys: Keys, layers: Iterable[Layer]) -> Keys:
    """Return the keys that are in none of the layers; `keys` strictly increase."""
    for layer in layers:
        if not len(keys):
            break
        keys = layer.exclude_from(keys)
    return keys


def inside(keys: Keys, layers: Iterable[Layer]) -> Keys:
    """Return the keys that are in one of the layers; `keys` strictly increase."""
    return difference(keys, outside(keys, layers))


class HeldLayer:
    """A layer in memory, in pieces of increasing keys."""

    def __init__(self, pieces: list[Keys]) -> None:
        self._pieces = [piece for piece in pieces if len(piece)]
        self._bounds = [(key_at(piece, 0), key_at(piece, -1)) for piece in self._pieces]
        self.size = sum(len(piece) for piece in self._pieces)

    def chunks(self, begin: int, size: int) -> Iterator[Keys]:
        for piece in self._pieces:
            # Pieces are cut evenly, so that no chunk is much smaller than the others.
            rest = piece[begin:]
            begin = max(0, begin - len(piece))
            if len(rest):
                yield from np.array_split(rest, -(-len(rest) // size))

    def between(self, low: Key, high: Key) -> list[Keys]:
        found = list[Keys]()
        for piece, (first, last) in zip(self._pieces, self._bounds, strict=True):
            if low <= first and last < high:
                found.append(piece)
            elif first < high and last >= low and len(part := slice_between(piece, low, high)):
                found.append(part)
        return found

    def at_most(self, low: Key, high: Key) -> int:
        return sum(len(keys) for keys in self.between(low, high))

    def exclude_from(self, keys: Keys) -> Keys:
        for piece in self._pieces:
            keys = difference(keys, piece)
        return keys

    def sample(self) -> Keys:
        step = max(1, self.size // _SAMPLED)
        return np.concatenate([piece[::step] for piece in self._pieces])


class StoredLayer:
    """A layer, or a segment of older keys, on disk, read as needed."""

    def __init__(self, store: RunStore, number: int, size: int, database: bytes = BLOCKS) -> None:
        self._store, self._number, self._database, self.size = store, number, database, size
        # Segments of older keys are only subtracted.
        self._decode = partial(store.decode, raw=database != BLOCKS)
        #: The last block of a range, and a function that decodes it once: the next range often begins within it.
        self._recent: tuple[int, Callable[[], Keys]] = -1, partial(store.layout.empty, 0)

    def chunks(self, begin: int, size: int) -> Iterator[Keys]:
        parts, count, left = list[Keys](), 0, self.size - begin
        reads = (self._read(number, number + _AT_ONCE) for number in range(0, len(self._firsts), _AT_ONCE))
        for block in chain.from_iterable(reads):
            if begin >= block.size:
                begin -= block.size
                continue
            parts.append(self._decode(block)[begin:])
            begin, count, left = 0, count + len(parts[-1]), left - len(parts[-1])
            if count >= size:
                together = np.concatenate(parts)
                for first in range(0, count - size + 1, size):
                    yield together[first : first + size]
                parts = [together[count - count % size :]]
                count %= size
        if count:
            yield np.concatenate(parts)
        if left > 0:
            raise self._store.damaged(f"layer {self._number} has {left:,} configurations less than its record says")

    def _read(self, begin: int, end: int) -> list[Block]:
        return self._store.coded(self._number, self._firsts[begin:end], self._database)

    def between(self, low: Key, high: Key) -> Iterator[Keys]:
        begin, end = self._places(low, high)
        number, last = self._recent
        reads = [last] if begin == number < end else []
        reads += [partial(self._decode, block) for block in self._read(begin + len(reads), end)]
        if begin < end and end - 1 != number:
            reads[-1] = cache(reads[-1])
            self._recent = end - 1, reads[-1]
        found = (slice_between(read(), low, high) for read in reads)
        return (keys for keys in found if len(keys))

    def at_most(self, low: Key, high: Key) -> int:
        begin, end = self._places(low, high)
        return (end - begin) * self.size // max(1, len(self._firsts))

    def _places(self, low: Key, high: Key) -> tuple[int, int]:
        """Return the numbers of the blocks that may hold keys with low <= key < high, as begin and end."""
        begin = max(0, bisect_right(self._firsts, low) - 1)
        return begin, bisect_left(self._firsts, high) if low < high else begin

    @cached_property
    def _firsts(self) -> list[Key]:
        return self._store.first_keys(self._number, self._database)

    def exclude_from(self, keys: Keys) -> Keys:
        return keys[~self._store.members(self._number, keys, self._database)]

    def sample(self) -> Keys:
        found = []
        for place in range(0, len(self._firsts), max(1, len(self._firsts) // _SAMPLE_PLACES)):
            (block,) = map(self._decode, self._read(place, place + 1))
            found.append(block[:: max(1, len(block) // _SAMPLE_KEYS)])
        return np.concatenate(found)


class LayerUnion:
    """The keys of several disjoint stored layers. Attribute `size`: their number."""

    def __init__(self, layers: Sequence[StoredLayer]) -> None:
        self.layers = layers
        self.size = sum(layer.size for layer in layers)

    def between(self, low: Key, high: Key) -> Iterator[Keys]:
        """Return the keys with low <= key < high, increasing within each batch.

        They are read layer by layer on demand, by the calling thread: there may be many layers, and none is written to.
        """
        return chain.from_iterable(layer.between(low, high) for layer in self.layers)

    def sample(self) -> Keys:
        """Return some keys of each layer."""
        return self._sample

    @cached_property
    def _sample(self) -> Keys:
        found = np.concatenate([layer.sample() for layer in self.layers])
        return np.ascontiguousarray(found[:: -(-len(found) // _MOST_SAMPLED)])


def all_keys(layer: Layer) -> Keys:
    """Return the whole layer in one batch."""
    chunks = list(layer.chunks(0, max(1, layer.size)))
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


#: A folder is locked within this time after it is made.
_YOUNG_SECONDS = 60


@contextmanager
def scratch_folder(run: Path) -> Iterator[Path]:
    """Yield an empty folder for this process alone. A `DiskFullError` says that the run itself is unchanged."""
    for name in Given(run).names():
        # Its question may be answered meanwhile.
        with suppress(FileNotFoundError):
            old = name.startswith(SCRATCH_PREFIX) and time.time() - (run / name).lstat().st_mtime > _YOUNG_SECONDS
            if old and holder_of(run, f"{name}/{HOLDER_FILE}") is None:
                Given(run).remove_folder(name)
    beside = run if os.access(run, os.W_OK) else None
    try:
        with translated(run):
            made = tempfile.TemporaryDirectory(prefix=SCRATCH_PREFIX, dir=beside)
        with made as name, RunLock(Path(name)):
            yield Path(name)
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
        allocate(file.fileno(), size)
        return np.asarray(np.memmap(file, dtype, "r+", shape=(count,)))
