"""Requests of a coordinator to hosts, and their answers: a msgpack map in an array, then arrays of keys."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import msgpack
import numpy as np

from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.layout import LAYOUTS
from hakoiri.storage.layers.digest import digest_text, lanes_in
from hakoiri.storage.ledger.manifest import Depth, all_fields
from hakoiri.worker.errors import PayloadError, TaskError
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.tasks import Array, Arrays

_Answer = TypeVar("_Answer")
#: What may be asked, by name: take layers; expand for a round, keep it, go back to one, merge; say where to cut ranges,
#: send blocks to other hosts, receive theirs, put ranges where they belong; list and give blocks, find keys, check
#: layers; let go. For a whole space: list it, join it, hand
#: what leads elsewhere to other hosts, answer the edges to their trees, number components, give their labels.
HOST_TASKS = (
    "host-take", "host-expand", "host-keep", "host-back", "host-merge", "host-cut", "host-send", "host-receive",
    "host-settle", "host-index", "host-give", "host-find", "host-check", "host-leave",
    "host-list", "host-join", "host-hand", "host-edges", "host-number", "host-labels",
)  # fmt: skip
#: The towers of Hanoi have 2^20 layers; whoever drops layers goes through as many.
_MOST_DEPTH = 1 << 21
#: Keys of a layer that a host is asked to choose, and what they are chosen by.
_MOST_SAMPLE, _MOST_SEED = 1 << 16, 1 << 32


@dataclass(frozen=True)
class HostRequest:
    """One request to one host about a run.

    `manifest` is that of the run, `hosts` are those that keep it, `me` is the number of the receiver. `data_redis` has
    the number of each host's data Redis. `owners` has the number of the host of each range of `partition`. `copies` has
    that of the host with its copy, or -1; it is empty without copies. `depth` is the layer that is to be made, or read,
    in the `attempt`-th attempt; `memory` what the host may take, in bytes, 0 if it may choose. `round` counts the
    rounds in which it has been expanded before. A round takes about `round_seconds`, and what is merged is committed
    every `commit_seconds`. Blocks of the layers from `first` to `depth` are sent to the hosts in `targets`, one for
    each range, or -1. Where these layers are checked, `sample` keys of each are chosen by `seed`. Ranges are to be cut
    in `pieces`; blocks may still reach into those in `fresh`, which were cut off the ranges before them. If it is
    `dry`, blocks are only counted as though they had moved. If it is `ahead`, a host that has merged the layer expands
    a round for the next one in the same attempt. Layers of goal distances of a directed puzzle lie within the run of
    the manifest `base`, which has the same ranges. Each range of a whole space but the last has so many `slabs`.
    `beginning` is a random text, another one each time that a layer's first round, or the joining of a space, is begun.
    """

    manifest: dict[str, Any]
    hosts: list[str]
    me: int
    data_redis: list[int]
    partition: bytes
    owners: list[int]
    depth: Depth
    attempt: int = 0
    memory: int = 0
    round: int = 0
    round_seconds: float = 0.0
    commit_seconds: float = 0.0
    #: For a round to keep or merge: the number of messages that each host has sent to this one in this attempt.
    expected: list[int] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)
    first: Depth = 0
    targets: list[int] = field(default_factory=list)
    seed: int = 0
    sample: int = 0
    base: dict[str, Any] = field(default_factory=dict)
    ahead: bool = False
    pieces: list[int] = field(default_factory=list)
    fresh: list[int] = field(default_factory=list)
    dry: bool = False
    slabs: int = 0
    beginning: str = ""

    @cached_property
    def cuts(self) -> Partition:
        """The ranges; `PayloadError` for bytes that cut no keys."""
        return _unpacked(self.partition, self.manifest["layout"])

    @cached_property
    def mine(self) -> frozenset[int]:
        """The ranges of the host that is asked."""
        return frozenset(number for number, owner in enumerate(self.owners) if owner == self.me)

    @cached_property
    def own_digest(self) -> str:
        """The digest of the keys that the receiver keeps, however they are cut into ranges."""
        bounds = [self.cuts.bounds(number) for number in sorted(self.mine)]
        ends = Counter(end for each in bounds for end in each)
        return hashlib.sha256(repr(sorted(end for end, times in ends.items() if times == 1)).encode()).hexdigest()

    @cached_property
    def others_in_turn(self) -> list[int]:
        """The ranges of others, one of each host after the other, beginning with that after the one that is asked.

        If all began with the first, its link would have to carry everything.
        """
        places, hosts = Counter[int](), len(self.hosts)
        order = list[tuple[int, int, int]]()
        for number, owner in enumerate(self.owners):
            order.append((places[owner], (owner - self.me) % hosts, number))
            places[owner] += 1
        return [number for _, distance, number in sorted(order) if distance]

    @cached_property
    def copied(self) -> frozenset[int]:
        """The ranges of which it has a copy."""
        return frozenset(number for number, host in enumerate(self.copies) if host == self.me)

    def lost(self, text: str) -> TaskError:
        """Return the error of a receiver that lacks what it is asked for; it says how the run goes on without."""
        if self.copies:
            return TaskError(f"{text}; other hosts have copies", Hint("drain", self.hosts[self.me]))
        return TaskError(f"{text}; restore the newest copy of its directory, or of the run, or start a new run")

    def arrays(self, *keys: Array) -> list[Array]:
        """Return the request as a chunk for `worker.transport`, followed by batches of keys."""
        # Not `asdict`, which copies 2,048 numbers one by one for 64 hosts: 1.3 ms for each request.
        return [as_array({each.name: getattr(self, each.name) for each in fields(self)}), *keys]

    @classmethod
    def of(cls, chunk: Arrays) -> "HostRequest":
        """The inverse, without the keys; `PayloadError` for anything else."""
        try:
            found = cls(**all_fields(cls, of_array(chunk[0])))
            ranges = found.cuts.ranges
        except (TypeError, KeyError, LookupError) as error:
            raise PayloadError(f"a request is not readable: {error}") from error
        lists = (found.data_redis, found.owners, found.expected, found.copies, found.targets, found.pieces, found.fresh)
        if not all(type(each) is int for values in lists for each in values):
            raise PayloadError("a request is not readable: its lists have entries that are not numbers")
        hosts = len(found.hosts)
        if not 0 <= found.me < hosts == len(found.data_redis) or not all(0 <= owner < hosts for owner in found.owners):
            raise PayloadError("a request is not readable: its addressee is not among its hosts")
        if not all(-1 <= each < hosts for each in (*found.copies, *found.targets)):
            raise PayloadError("a request is not readable: it names a host that is not among its hosts")
        of_ranges = (found.copies, found.targets, found.pieces)
        if {ranges} != {len(found.owners), *(len(each) for each in of_ranges if each)}:
            raise PayloadError("a request is not readable: its ranges do not match its hosts")
        if (
            not 0 <= found.first <= _MOST_DEPTH >= found.depth >= 0
            or min(found.memory, found.round, found.slabs, *found.expected, *found.pieces, 0) < 0
            or not all(0 < number < ranges for number in found.fresh)
            or not (0 <= found.sample <= _MOST_SAMPLE and 0 <= found.seed < _MOST_SEED)
        ):
            raise PayloadError("a request is not readable: one of its numbers is out of bounds")
        return found


@dataclass(frozen=True)
class HostExpanded:
    """The figures of a host after a round, for all rounds so far: `size` keys expanded in `seconds` by `threads`.

    `sent` counts its messages to each host in this attempt; `bytes` are those of all messages, and `given` the keys in
    them by range. `flow` is that of all moves. `finished` is true if all its keys are expanded. `round` is the number
    of rounds, or 0 if the host cannot go back to the requested one. `within` is the digest of its part of the base run.
    """

    size: int
    flow: int
    seconds: float
    threads: int
    sent: list[int]
    bytes: int
    finished: bool
    round: int
    given: list[int]
    within: str = ""

    def __post_init__(self) -> None:
        if self.within and digest_text(lanes_in(self.within)) != self.within:
            raise ValueError(f"{self.within!r} is not a digest")


@dataclass(frozen=True)
class HostSent:
    """The answer of a host that has sent blocks: the number of its messages to each host."""

    sent: list[int]


@dataclass(frozen=True)
class HostChecked:
    """The answer to `host-check`: whether it is finished, its faults, and the depths of layers that have any."""

    finished: bool
    faults: list[str]
    broken: list[int]


@dataclass(frozen=True)
class HostPassed:
    """The figures of a host's part of a whole space in a pass, and whether that is `finished`.

    `done` of its configurations are, by `threads`, for `seconds` of this request. Once all are listed `size`, `digest`,
    `goals` and `stored` bytes are those of the part. `moves` and `balance` are sums over its moves so far
    (`worker.graphs.forests.balance`). A `stray` move leads to no configuration. `sent` counts its messages to each
    host, of `bytes` in all; `received` the bytes of those of others, and `spilled` those of its files. `beginning` is
    that of its joining.
    """

    finished: bool
    done: int
    threads: int
    seconds: float = 0.0
    size: int = 0
    digest: str = ""
    goals: int = 0
    stored: int = 0
    moves: int = 0
    balance: int = 0
    stray: bool = False
    sent: list[int] = field(default_factory=list)
    bytes: int = 0
    received: int = 0
    spilled: int = 0
    beginning: str = ""

    def __post_init__(self) -> None:
        if self.digest and digest_text(lanes_in(self.digest)) != self.digest:
            raise ValueError(f"{self.digest!r} is not a digest")


@dataclass(frozen=True)
class HostMerged:
    """The figures of a host's committed part of a layer.

    `spilled` counts bytes of spill files, `received` bytes of messages. Merging took `seconds`, of which the host
    `waited` some for messages. `taken` counts the keys in messages by range. `sizes` has the size of each own range, in
    order; it is empty if an earlier attempt merged some.
    """

    size: int
    goals: int
    digest: str
    stored: int
    spilled: int
    received: int
    waited: float
    seconds: float
    taken: list[int]
    sizes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        if digest_text(lanes_in(self.digest)) != self.digest:
            raise ValueError(f"{self.digest!r} is not a digest")
        if self.sizes and (sum(self.sizes) != self.size or min(self.sizes) < 0):
            raise ValueError("its ranges do not match its part of the layer")


@lru_cache(maxsize=4)
def _unpacked(packed: bytes, layout: str) -> Partition:
    """Return the partition of a run, which all its requests share and which takes a while to unpack."""
    return Partition.unpack(packed, LAYOUTS[layout])


def as_array(fields: dict[str, Any]) -> Array:
    """Return a map as an array."""
    return np.frombuffer(msgpack.packb(fields, use_bin_type=True), dtype=np.uint8)


def of_array(array: Array) -> dict[str, Any]:
    """The inverse; `PayloadError` for anything else."""
    try:
        fields = msgpack.unpackb(array.tobytes(), raw=False)
    except ValueError as error:
        raise PayloadError(f"a map of a request or an answer is not readable: {error}") from error
    if not isinstance(fields, dict):
        raise PayloadError("a map of a request or an answer is not readable")
    return fields


def read_answer(kind: type[_Answer], array: Array) -> _Answer:
    """Read an answer that is a map; `PayloadError` for anything else."""
    try:
        return kind(**all_fields(kind, of_array(array)))
    except (TypeError, ValueError) as error:
        raise PayloadError(f"the answer of a host is not readable: {error}") from error
