"""Copies of other hosts' ranges, and ranges that move between hosts: coded blocks, sent and stored as they are.

send    own blocks of some ranges and layers -> messages -> the receiver's copies, a store beside that of its part
settle  copies of ranges that are own now -> the part's store
split   blocks that reach across a new cut -> one block on either side, in both stores
"""

import shutil
import sys
import threading
import zlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from hakoiri.errors import PayloadError
from hakoiri.keys.layout import ints
from hakoiri.keys.order import lower_bounds
from hakoiri.storage.engine.environment import translated
from hakoiri.storage.engine.files import flush
from hakoiri.storage.layers.blocks import (
    NOTHING,
    Block,
    Coded,
    add_lanes,
    code_keys,
    count_of,
    digest_text,
    is_sound,
    join_blocks,
    join_coded,
    lanes_in,
    lanes_of,
)
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import begin_books
from hakoiri.storage.ledger.manifest import Depth, LayerRecord, Manifest, State
from hakoiri.storage.names import BLOCKS, LAYERS, META, OWN_RANGES_KEY, block_key, number_key, split_block_key
from hakoiri.worker.hosts.requests import HostRequest, HostSent
from hakoiri.worker.hosts.wire import PATIENCE_SECONDS, Inbox, Mail, Outbox
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.transport.data_redis import DataRedisPool
from hakoiri.worker.transport.payload import Array

COPIES_FOLDER, _HALF = "copies", "making"
#: Blocks read at a time.
_AT_ONCE = 8


def begin_part(directory: Path, manifest: Manifest) -> None:
    """Make the store of a part of a run, whole or not at all."""
    half = directory.parent / _HALF
    shutil.rmtree(half, ignore_errors=True)
    with translated(directory):
        half.mkdir()
        begin_books(half, manifest, State(), {})
        half.rename(directory)
        flush(directory.parent)


@dataclass(frozen=True)
class OwnRanges:
    """The digest of the own ranges of a part, and the cuts, which none of its blocks, own or copied, reaches across."""

    digest: str
    partition: bytes = b""

    @classmethod
    def of(cls, own: RunStore) -> "OwnRanges | None":
        """Return the record of a part; ``None`` if an earlier version has made the part."""
        return own.read_if_any(cls, META, OWN_RANGES_KEY, "record of its ranges")

    def stage(self, own: RunStore) -> None:
        own.stage_record(META, OWN_RANGES_KEY, asdict(self))


class Copies(RunStore):
    """The blocks of other hosts' ranges in the directory of a part; it has no layers. Any thread may `take_in`."""

    def __init__(self, own: RunStore, most_staged: int) -> None:
        directory = own.directory / COPIES_FOLDER
        if not directory.exists():
            begin_part(directory, own.manifest)
        super().__init__(directory, writable=True)
        self.are_keys, self.checked_to = own.are_keys, sys.maxsize
        self._most_staged, self._lock = most_staged, threading.Lock()

    def take_in(self, depth: Depth, coded: Coded) -> None:
        """Keep blocks of a layer; `PayloadError` if one of them is damaged."""
        if not all(is_sound(block, self.layout) for block in coded.blocks(depth)):
            raise PayloadError(f"a message of another host has damaged blocks of layer {depth}")
        with self._lock:
            self.stage_blocks(depth, coded)
            if self.staged_bytes > self._most_staged:
                self.commit(self.state)

    def finish(self) -> None:
        """Make all additions and erasures durable."""
        with self._lock:
            self.commit(self.state)

    def settle(self, own: RunStore, request: HostRequest) -> list[Array]:
        """Put blocks of own ranges into the part's store, and copies here, for layers `first` to `depth`; durable.

        Other blocks are dropped. If the request is `dry`, blocks are only counted; blocks that reach beyond their
        ranges are split in any case. Return, as uint64, [size, two lanes of the digest] of each layer of the part,
        and for each range [sum of the checksums of the names of its own blocks, of its copies]. Raises `DamagedError`.
        """
        self.split(own, request)
        # Only the host that made the copies has checked them.
        own.checked_to = max(own.checked_to, request.depth)
        # No digest until the end: a restored coordinator may believe ranges settled while they still move.
        OwnRanges("", request.partition).stage(own)
        mine, copied = request.mine, request.copied
        records, stale = list[LayerRecord](), list[bytes]()
        sums = np.zeros((len(request.owners), 2), dtype=np.uint64)

        for depth in range(request.first, request.depth + 1):
            layer, here = _OwnLayer(own, depth), self.names(BLOCKS, number_key(depth))
            going = [name for name in layer.names if request.range_of_block(name) not in mine]
            # An attempt that was broken off may have moved some blocks.
            coming = [name for name in here if request.range_of_block(name) in mine and name not in layer.names]
            for name in (*coming, *going):
                if name in layer.names:
                    value = layer.remove(name)
                    if request.range_of_block(name) in copied:
                        self.stage(BLOCKS, name, value)
                else:
                    layer.add(name, self.read(BLOCKS, name) or b"")
                if own.staged_bytes + self.staged_bytes > self._most_staged:
                    layer.stage()
                    self._commit_settled(own, depth - 1, stale, request.dry)
            stale += [name for name in here if request.range_of_block(name) not in copied]
            layer.stage()
            records.append(layer.record)
            copies = (name for name in {*here, *going} if request.range_of_block(name) in copied)
            for place, names in enumerate((layer.names, copies)):
                for name in names:
                    sums[request.range_of_block(name), place] += zlib.crc32(name)
        OwnRanges(request.own_digest if request.settled else "", request.partition).stage(own)
        self._commit_settled(own, request.depth, stale, request.dry)
        return [np.array([[record.size, *lanes_in(record.digest)] for record in records], dtype=np.uint64), sums]

    def _commit_settled(self, own: RunStore, depth: Depth, stale: list[bytes], dry: bool) -> None:
        """Make moved blocks durable in both stores, then erase the `stale` ones here; or discard all of it if `dry`."""
        if dry:
            own.discard_staged()
            self.discard_staged()
            return
        # IMPORTANT: in this order, so that every block is in at least one store at any moment.
        self.finish()
        own.commit(replace(own.state, depth=max(own.state.depth, depth)))
        for name in stale:
            self.erase(BLOCKS, name)
        self.finish()
        stale.clear()

    def split(self, own: RunStore, request: HostRequest) -> None:
        """Split blocks that reach beyond their ranges, own ones and copies; durable.

        IMPORTANT: compare with the cuts recorded here, or a host restored to before a cut would keep foreign keys.
        """
        known = OwnRanges.of(own)
        if known and request.partition == known.partition:
            return
        before = {*Partition.unpack(known.partition if known else b"", own.layout).cuts}
        new = [number for number, cut in enumerate(request.cuts.cuts, 1) if cut not in before]

        def commit() -> None:
            own.commit(own.state)
            self.finish()

        for depth in range(max(own.state.depth, request.depth) + 1 if new else 0):
            layer, is_split = _OwnLayer(own, depth), False
            for name, coded in _parted(own, depth, request, new):
                is_split = True
                layer.remove(name)
                for block in coded.blocks(depth):
                    layer.add(block_key(depth, block.first, own.layout.bytes), bytes(block.value))
            if is_split:
                layer.stage()
            for _, coded in _parted(self, depth, request, new):
                self.stage_blocks(depth, coded)
            if own.staged_bytes + self.staged_bytes > self._most_staged:
                commit()
        commit()
        if known:
            # IMPORTANT: record the cuts after the split blocks, or a kill would leave whole blocks under the new cuts.
            replace(known, partition=request.partition).stage(own)
            commit()


def _parted(store: RunStore, depth: Depth, request: HostRequest, new: list[int]) -> Iterator[tuple[bytes, Coded]]:
    """Yield the names of the blocks of a layer that reach into `new` ranges, and the blocks that replace each."""
    cuts, firsts, layout = request.cuts, store.first_keys(depth), store.layout
    for number in new:
        place = bisect_left(firsts, cuts.cuts[number - 1]) - 1
        # Only the last block before the cut may reach beyond it, and only if it begins in the range before the cut.
        if place >= 0 and cuts.range_of(firsts[place]) == number - 1:
            (block,) = store.coded(depth, firsts[place : place + 1])
            keys = store.decode(block, raw=True)
            ends = lower_bounds(keys, layout.pack(cuts.cuts[each - 1] for each in new))
            parts = [code_keys(depth, part) for part in np.split(keys, ends) if len(part)]
            if len(parts) > 1:
                yield block_key(depth, block.first, layout.bytes), join_coded(parts)


class _OwnLayer:
    """A layer of the part in `store` whose blocks change: their `names`, and the `record` that counts them."""

    def __init__(self, store: RunStore, depth: Depth) -> None:
        self._store, self.names = store, {*store.names(BLOCKS, number_key(depth))}
        known = store.read(LAYERS, number_key(depth)) is not None
        self.record = store.layer_record(depth) if known else LayerRecord(depth, 0, digest_text(NOTHING), 0, 0, 0, 0)

    def add(self, name: bytes, value: bytes) -> None:
        self._count(name, value, 1)
        self.names.add(name)
        self._store.stage(BLOCKS, name, value)

    def remove(self, name: bytes) -> bytes:
        """Stage the removal of a block; return its bytes."""
        value = self._store.read(BLOCKS, name) or b""
        self._count(name, value, -1)
        self.names.discard(name)
        self._store.erase(BLOCKS, name)
        return value

    def stage(self) -> None:
        self.record = replace(self.record, index=zlib.crc32(b"".join(sorted(self.names))))
        self._store.stage_layer(self.record)

    def _count(self, name: bytes, value: bytes, sign: int) -> None:
        keys, record = self._store.decode(Block(*split_block_key(name), count_of(value), value)), self.record
        one, two = (sign * lane for lane in lanes_of(keys))
        self.record = replace(
            record, size=record.size + sign * len(keys),
            digest=digest_text(add_lanes(lanes_in(record.digest), (one, two))),
            stored_bytes=record.stored_bytes + sign * (len(name) + len(value)),
        )  # fmt: skip


class Transfer:
    """The exchange of blocks with other hosts, in both directions, in one attempt."""

    def __init__(
        self, own: RunStore, copies: Copies, data_pool: DataRedisPool, request: HostRequest, compresses: bool
    ) -> None:
        self._own, self._copies, self._request = own, copies, request
        for depth in range(request.first, request.depth + 1):
            # Stale copies may have other cuts.
            for name in copies.names(BLOCKS, number_key(depth)):
                if request.targets[request.range_of_block(name)] == request.me:
                    copies.erase(BLOCKS, name)
        mail, targets = Mail(data_pool, request), request.targets
        hosts, me = len(request.hosts), request.me
        self._outbox = Outbox(mail.send, lambda number: targets[number % len(targets)], hosts, me, compresses)
        self._inbox = Inbox(mail.receive, self._take_in)

    def is_asked(self, request: HostRequest) -> bool:
        """Return whether a request continues this attempt."""
        return self._request.attempted == request.attempted

    def send(self) -> HostSent:
        """Send own blocks; return when all messages are sent."""
        request, own = self._request, self._own
        leaving = sorted(number for number in request.mine if request.targets[number] not in (-1, request.me))
        for depth in range(request.first, request.depth + 1):
            firsts = own.first_keys(depth)
            for number in leaving:
                first, end = (bisect_left(firsts, key) for key in request.cuts.bounds(number))
                for begin in range(first, end, _AT_ONCE):
                    blocks = own.coded(depth, firsts[begin : min(begin + _AT_ONCE, end)])
                    # A message may have blocks of several layers.
                    place = (depth - request.first) * len(request.targets) + number
                    self._outbox.put(place, join_blocks(blocks, own.layout))
        self._outbox.flush()
        return HostSent(self._outbox.sent)

    def finish(self, expected: list[int]) -> None:
        """Wait until the expected number of messages of each host is durable."""
        self._inbox.await_all(expected, PATIENCE_SECONDS)
        self._inbox.close()
        self._copies.finish()

    def close(self) -> None:
        """Accept and send no more messages."""
        self._inbox.close()
        self._outbox.give_up()

    def _take_in(self, number: int, coded: Coded) -> None:
        request = self._request
        layer, number = divmod(number, len(request.targets))
        if not 0 <= layer <= request.depth - request.first or request.targets[number] != request.me:
            raise PayloadError(f"a message of another host has unexpected blocks of range {number}")
        low, high = request.cuts.bounds(number)
        if not all(low <= first < high for first in ints(coded.firsts)):
            raise PayloadError(f"a message of another host has blocks outside range {number}")
        self._copies.take_in(request.first + layer, coded)
