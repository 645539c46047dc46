"""Requests of a coordinator to hosts, and their answers: a msgpack map in an array, then arrays of keys."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import zip_longest
from typing import Annotated, Any

from msgspec import Meta

from hakoiri.errors import Hint, PayloadError, TaskError
from hakoiri.keys.layout import LAYOUTS
from hakoiri.storage.ledger.manifest import DIGEST, MOST_UNTYPED, Count, Depth, Digest, Real, typed
from hakoiri.storage.names import split_block_key
from hakoiri.worker.layers.partition import Partition, read_partition
from hakoiri.worker.transport.payload import Array, Arrays, packed, unpacked

#: The fields that all hosts are sent alike, when they change: as the shared arrays of a stage. The number of these
#: arrays is the epoch of the map of ranges.
_SHARED = ("manifest", "hosts", "data_redis", "partition", "owners", "copies", "base", "memory")
#: The number of a host, or -1.
_Place = Annotated[int, Meta(ge=-1)]
#: The towers of Hanoi have 2^20 layers; a request to drop layers loops over all of them.
_DepthThere = Annotated[int, Meta(ge=0, le=1 << 21)]
_DigestIfAny = Annotated[str, Meta(pattern=rf"\A({DIGEST})?\Z")]


@dataclass(frozen=True)
class HostRequest:
    """One request to one host about a run, in the `attempt`-th attempt of a session.

    The `hosts` keep the run with this `manifest`; `me` is the number of the receiver. `data_redis` has the number
    of each host's data Redis. `owners` has the number of the host of each range of `partition`. `copies` has the
    number of the host with the range's copy, or -1; it is empty without copies. `depth` is the layer to make or to
    read; `memory` is the host's limit in bytes, 0 if it may choose. `round` counts the rounds in which the layer
    was expanded before. A round takes about `round_seconds`, and merged ranges are committed every
    `commit_seconds`. Blocks of the layers from `first` to `depth` are sent to the hosts in `targets`, one for each
    range, or -1. A check of these layers chooses `sample` keys of each by `seed`. `pieces` has the number of pieces
    to cut each range into. A `dry` request only counts blocks as though they had moved; with `settled` all layers
    have moved. With `ahead`, a host that has merged the layer expands a round of the next one in the same attempt.
    `base` is the manifest of the run that goal distances of a directed puzzle belong to; it has the same ranges.
    Each range of a whole space except the last has `slabs` slabs. `beginning` is a random text, drawn whenever a
    layer's first round begins.
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
    session: str = ""

    @property
    def attempted(self) -> tuple[str, Depth, int]:
        """The joint work that it belongs to: the session, the layer, and the attempt at it."""
        return self.session, self.depth, self.attempt

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
        """The ranges that the receiver owns."""
        return frozenset(number for number, owner in enumerate(self.owners) if owner == self.me)

    @cached_property
    def own_digest(self) -> str:
        """The digest of the keys that the receiver keeps, however they are cut into ranges."""
        ends = 0, *self.cuts.cuts, self.cuts.layout.greatest + 1
        # An end between two own ranges occurs twice and is left out.
        times = Counter(ends[end] for number in self.mine for end in (number, number + 1))
        return hashlib.sha256(repr(sorted(end for end in times if times[end] == 1)).encode()).hexdigest()

    @cached_property
    def others_in_turn(self) -> list[int]:
        """The ranges of other hosts: one of each host in turn, beginning with the host after the receiver.

        If all began with the first, its link would have to carry everything.
        """
        owned: list[list[int]] = [[] for _ in self.hosts]
        for number, owner in enumerate(self.owners):
            owned[(owner - self.me) % len(owned)].append(number)
        return [number for turn in zip_longest(*owned[1:]) for number in turn if number is not None]

    @cached_property
    def copied(self) -> frozenset[int]:
        """The ranges of which the receiver has a copy."""
        return frozenset(number for number, host in enumerate(self.copies) if host == self.me)

    def missing(self, text: str) -> TaskError:
        """Return the error for a receiver that lacks the requested layers, with the next step for the user."""
        if self.copies:
            return TaskError(f"{text}; other hosts have copies", Hint("drain", self.hosts[self.me]))
        return TaskError(f"{text}; restore the newest copy of its directory, or of the run, or start a new run")

    @property
    def shared(self) -> list[Array]:
        """The part that all hosts are sent alike, as the shared arrays of a stage."""
        return packed({name: getattr(self, name) for name in _SHARED})

    def arrays(self, *keys: Array) -> list[Array]:
        """Return the rest as a chunk for `worker.transport`, followed by arrays of the task."""
        return [
            *packed({each.name: getattr(self, each.name) for each in fields(self) if each.name not in _SHARED}),
            *keys,
        ]

    @classmethod
    def read(cls, shared: Arrays, chunk: Arrays, session: str) -> "HostRequest":
        """Return the request of a session from both; `PayloadError` for anything else."""
        parts = (unpacked(arrays, dict[str, Any], MOST_UNTYPED) for arrays in (shared, chunk))
        try:
            return typed({name: value for part in parts for name, value in part.items()} | {"session": session}, cls)
        except ValueError as error:
            raise PayloadError(f"a request is not readable: {error}") from error


@dataclass(frozen=True)
class HostExpanded:
    """The figures of a host after a round, for all rounds so far: `size` keys expanded in `seconds` by `threads`.

    `sent` counts its messages to each host in this attempt; `bytes` is their total size, and `given` counts their keys
    by range. `flow` is the flow of all moves. `finished` is true if all its keys are expanded. `round` is the number of
    rounds, or 0 if the host cannot go back to the requested one. `within` is the digest of its part of the base run.
    """

    size: int
    flow: int | None
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
    """The answer to `host-check`: whether the check is finished, its faults, and the depths of layers with faults."""

    finished: bool
    faults: list[str]
    broken: list[int]


@dataclass(frozen=True)
class HostPassed:
    """The figures of a host's part of a whole space in a pass, and whether the pass is `finished`.

    `done` counts the configurations done; this request took `seconds` with `threads`. Once all are listed, `size`,
    `digest`, `goals`, `represented` and `stored` bytes describe the part. `moves` and `balance` are sums over its moves
    so far (`worker.census.forests.balance`). `stray` is true if a move leads to no configuration. `sent` counts its
    messages to each host, `bytes` is their total size; `received` is the size of messages from other hosts, `spilled`
    the size of its spill files. `beginning` identifies its joining.
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
    represented: int = 0


@dataclass(frozen=True)
class HostMerged:
    """The figures of a host's committed part of a layer.

    `spilled` counts bytes of spill files, `received` bytes of messages. Merging took `seconds`, of which
    `waited` were spent waiting for messages. `taken` counts the keys in messages by range. `sizes` has the size of each
    own range, in order; it is empty if an earlier attempt merged some ranges.
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
    represented: Count = 0

    def __post_init__(self) -> None:
        if self.sizes and sum(self.sizes) != self.size:
            raise ValueError("its ranges do not match its part of the layer")
