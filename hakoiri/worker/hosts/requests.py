"""Requests of a coordinator to hosts, and their answers: a msgpack map in an array, then arrays of keys."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from msgspec import Meta

from hakoiri.errors import Hint, PayloadError, TaskError
from hakoiri.keys.layout import LAYOUTS
from hakoiri.storage.ledger.manifest import DIGEST, Count, Digest, Real
from hakoiri.storage.names import split_block_key
from hakoiri.worker.layers.partition import Partition, read_partition
from hakoiri.worker.transport.payload import Array, packed

#: The tasks of hosts, by name.
HOST_TASKS = (
    # Layers: take the first ones, expand for a round, keep the round, go back to a round, merge.
    "host-take", "host-expand", "host-keep", "host-back", "host-merge",
    # Ranges: propose cuts, send blocks to other hosts, receive blocks, put them where they belong.
    "host-cut", "host-send", "host-receive", "host-settle",
    # Reads: list blocks, return blocks, find keys, check layers. And: drop the part of a run.
    "host-index", "host-give", "host-find", "host-check", "host-leave",
    # A whole space: list it, join it, send moves to other hosts, return edges to their trees, number it, return labels.
    "host-list", "host-join", "host-hand", "host-edges", "host-number", "host-labels",
)  # fmt: skip
#: The number of a host, or -1.
_Place = Annotated[int, Meta(ge=-1)]
#: The towers of Hanoi have 2^20 layers; a request to drop layers loops over all of them.
_DepthThere = Annotated[int, Meta(ge=0, le=1 << 21)]
_DigestIfAny = Annotated[str, Meta(pattern=rf"\A({DIGEST})?\Z")]


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
    in `pieces`. If it is `dry`, blocks are only counted as though they had moved; once it is `settled`, all layers
    have. If it is `ahead`, a host that has merged the layer expands a round for the next one in the same attempt.
    Layers of goal distances of a directed puzzle lie within the run of the manifest `base`, which has the same ranges.
    Each range of a whole space but the last has so many `slabs`. `beginning` is a random text, another one each time
    that a layer's first round is begun.
    """

    manifest: dict[str, Any]
    hosts: list[str]
    me: Count
    data_redis: list[int]
    partition: bytes
    owners: list[Count]
    depth: _DepthThere
    attempt: int = 0
    memory: Count = 0
    round: Count = 0
    round_seconds: Real = 0.0
    commit_seconds: Real = 0.0
    #: For a round to keep or merge: the number of messages that each host has sent to this one in this attempt.
    expected: list[Count] = field(default_factory=list)
    copies: list[_Place] = field(default_factory=list)
    first: _DepthThere = 0
    targets: list[_Place] = field(default_factory=list)
    seed: Annotated[int, Meta(ge=0, lt=1 << 32)] = 0
    sample: Annotated[int, Meta(ge=0, le=1 << 16)] = 0
    base: dict[str, Any] = field(default_factory=dict)
    ahead: bool = False
    pieces: list[Count] = field(default_factory=list)
    dry: bool = False
    settled: bool = False
    slabs: Count = 0
    beginning: str = ""

    @cached_property
    def cuts(self) -> Partition:
        """The ranges; `PayloadError` for bytes that cut no keys."""
        if (layout := LAYOUTS.get(str(self.manifest.get("layout")))) is None:
            raise PayloadError("a request is not readable: its manifest has no layout")
        return read_partition(self.partition, layout)

    def range_of_block(self, name: bytes) -> int:
        """Return the range of a block, given its name."""
        return self.cuts.range_of(split_block_key(name)[1])

    @cached_property
    def mine(self) -> frozenset[int]:
        """The ranges of the host that is asked."""
        return frozenset(number for number, owner in enumerate(self.owners) if owner == self.me)

    @cached_property
    def own_digest(self) -> str:
        """The digest of the keys that the receiver keeps, however they are cut into ranges."""
        ends = 0, *self.cuts.cuts, self.cuts.layout.greatest + 1
        # Those between two own ranges are no ends of own keys.
        times = Counter(ends[end] for number in self.mine for end in (number, number + 1))
        return hashlib.sha256(repr(sorted(end for end in times if times[end] == 1)).encode()).hexdigest()

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

    def missing(self, text: str) -> TaskError:
        """Return the error of a receiver that lacks the requested layers, with the next step for the user."""
        if self.copies:
            return TaskError(f"{text}; other hosts have copies", Hint("drain", self.hosts[self.me]))
        return TaskError(f"{text}; restore the newest copy of its directory, or of the run, or start a new run")

    def arrays(self, *keys: Array) -> list[Array]:
        """Return the request as a chunk for `worker.transport`, followed by batches of keys."""
        return [*packed(self), *keys]


@dataclass(frozen=True)
class HostExpanded:
    """The figures of a host after a round, for all rounds so far: `size` keys expanded in `seconds` by `threads`.

    `sent` counts its messages to each host in this attempt; `bytes` are those of all messages, and `given` the keys in
    them by range. `flow` is that of all moves. `finished` is true if all its keys are expanded. `round` is the number
    of rounds, or 0 if the host cannot go back to the requested one. `within` is the digest of its part of the base run.
    """

    size: int
    flow: int
    seconds: Real
    threads: int
    sent: list[int]
    bytes: int
    finished: bool
    round: int
    given: list[Count]
    within: _DigestIfAny = ""


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
    (`worker.census.forests.balance`). A `stray` move leads to no configuration. `sent` counts its messages to each
    host, of `bytes` in all; `received` the bytes of those of others, and `spilled` those of its files. `beginning` is
    that of its joining.
    """

    finished: bool
    done: int
    threads: int
    seconds: Real = 0.0
    size: int = 0
    digest: _DigestIfAny = ""
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


@dataclass(frozen=True)
class HostMerged:
    """The figures of a host's committed part of a layer.

    `spilled` counts bytes of spill files, `received` bytes of messages. Merging took `seconds`, of which the host
    `waited` some for messages. `taken` counts the keys in messages by range. `sizes` has the size of each own range, in
    order; it is empty if an earlier attempt merged some.
    """

    size: int
    goals: int
    digest: Digest
    stored: int
    spilled: int
    received: int
    waited: Real
    seconds: Real
    taken: list[Count]
    sizes: list[Count] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.sizes and sum(self.sizes) != self.size:
            raise ValueError("its ranges do not match its part of the layer")
