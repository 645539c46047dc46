"""Small records in LMDB; a run's manifest, which is never changed, and its state, rewritten with every commit.

The CRC covers the record's place (the names of its database and entry) and the map. A record is broken if it differs.
A right CRC proves nothing about who wrote the map: `read_msgpack` reads it, as it reads all msgpack of others.
"""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cache
from hashlib import sha256
from typing import Annotated, Any, Literal, NotRequired, Self, TypedDict, TypeVar

import msgspec

from hakoiri.errors import DamagedError, Hint, StorageError, visible

_CRC_BYTES = 4
#: What data compressed by zstd begins with.
_ZSTD = b"\x28\xb5\x2f\xfd"
#: The most bytes of a value with a type, and without one: there an empty map takes one byte, and 72 in memory.
MOST_BYTES, MOST_UNTYPED = 1 << 24, 1 << 22
#: The most levels of maps and lists in a record without a type: what prints a record recurses.
_MOST_LEVELS = 12
#: The most letters of an error, which may quote what was read.
_MOST_SAID = 200
Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
#: The pattern of a digest of lanes as text (`storage.layers.blocks`).
DIGEST = "[0-9a-f]{32}"
Digest = Annotated[str, msgspec.Meta(pattern=rf"\A{DIGEST}\Z")]
#: A finite number.
Real = Annotated[float, msgspec.Meta(gt=-(2.0**64), lt=2.0**64)]
#: Chunks, configurations, seconds, bytes sent and received.
Expanded = tuple[Count, Count, Real, Count, Count]
_Read = TypeVar("_Read")
_decoder: Callable[[Any], msgspec.msgpack.Decoder[Any]] = cache(msgspec.msgpack.Decoder)


def read_msgpack(raw: bytes | memoryview, kind: type[_Read], most: int = MOST_BYTES) -> _Read:
    """Return the `kind` in msgpack of others, which may be anything; ``ValueError`` in one line unless it fits.

    Memory is taken only for what fits the type. Unknown fields of a dataclass are passed over.
    """
    if len(raw) > most:
        raise ValueError(f"{len(raw):,} bytes, above the limit of {most:,}")
    with _in_one_line():
        found: _Read = _decoder(kind).decode(raw)
        return found


def decompressed(raw: bytes | memoryview, most: int = MOST_BYTES) -> bytes:
    """Return what zlib, or zstd with its size, has compressed; ``ValueError`` unless it is at most so many bytes.

    No more memory is taken than that.
    """
    if bytes(raw[:4]) == _ZSTD:
        import zstandard

        try:
            size = zstandard.frame_content_size(raw)
            found = zstandard.decompress(raw) if 0 <= size <= most else b""
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
    else:
        try:
            inflate = zlib.decompressobj()
            found = inflate.decompress(raw, most + 1)
        except zlib.error as error:
            raise ValueError(str(error)) from None
        size = len(found) if inflate.eof or len(found) > most else -1
    if not 0 <= size <= most:
        raise ValueError("its end is missing" if size < 0 else f"above the limit of {most:,} bytes when decompressed")
    return found


def typed(fields: Mapping[str, Any], kind: type[_Read]) -> _Read:
    """Return the `kind` with these plain values for fields, as `read_msgpack` does."""
    with _in_one_line():
        return msgspec.convert(fields, kind)


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise ValueError(visible(str(error)).partition("\n")[0][:_MOST_SAID]) from None


def pack_record(fields: dict[str, Any], place: bytes = b"") -> bytes:
    """Return the bytes of a record, sealed for its `place`, so that no other record can pass for it."""
    # Commands that only read do without it.
    import msgpack

    payload = msgpack.packb(fields, use_bin_type=True)
    if len(payload) > MOST_BYTES:
        raise StorageError(f"a record of {len(payload):,} bytes is above the limit of {MOST_BYTES:,}")
    return seal(payload, place)


def unpack_as(kind: type[_Read], raw: bytes, what: str, place: bytes = b"", most: int = MOST_BYTES) -> _Read:
    """Return a record as a `kind`; a `DamagedError` names `what` if the bytes or the place differ, or it is not one."""
    payload = unseal(raw, what, place)
    try:
        return read_msgpack(payload, kind, most)
    except ValueError as error:
        raise DamagedError(f"{what} is malformed: {error}") from error


def unpack_record(raw: bytes, what: str, place: bytes = b"") -> dict[str, Any]:
    """Return the fields of a record, which are of the kinds that JSON has; raises as `unpack_as` does."""
    fields = unpack_as(dict[str, Any], raw, what, place, MOST_UNTYPED)
    if not _is_plain(fields, _MOST_LEVELS):
        raise DamagedError(f"{what} is malformed: it has bytes, numbers as names, or over {_MOST_LEVELS} levels")
    return fields


def _is_plain(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        return levels > 0 and all(isinstance(name, str) and _is_plain(part, levels - 1) for name, part in value.items())
    if isinstance(value, list):
        return levels > 0 and all(_is_plain(part, levels - 1) for part in value)
    return value is None or isinstance(value, bool | int | float | str)


def seal(payload: bytes | memoryview, context: bytes = b"") -> bytes:
    """Return `payload` behind the CRC of `context` and itself; the context binds the bytes to their place."""
    return zlib.crc32(payload, zlib.crc32(context)).to_bytes(_CRC_BYTES, "big") + payload


def unseal(raw: bytes | memoryview, what: str, context: bytes = b"") -> memoryview:
    """Return the payload behind a CRC; a `DamagedError` names `what` if the CRC differs."""
    view = memoryview(raw)
    payload = view[_CRC_BYTES:]
    expected, found = int.from_bytes(view[:_CRC_BYTES], "big"), zlib.crc32(payload, zlib.crc32(context))
    if len(view) < _CRC_BYTES or expected != found:
        raise DamagedError(f"{what} is damaged: expected checksum {expected:08x}, found {found:08x}")
    return payload


Depth = Annotated[int, msgspec.Meta(ge=-1, le=(1 << 31) - 1)]
Status = Literal["queued", "running", "complete", "interrupted", "cancelled", "failed"]
_MSGPACK_BITS = 64
#: The kinds of run that have another name in manifests on disk, and the inverse.
_IN_RECORDS = {"census": "whole"}
_NOW = {there: kind for kind, there in _IN_RECORDS.items()}
#: The states in which a run is not resumed automatically.
ENDED: tuple[Status, ...] = ("complete", "cancelled", "failed")


def local_time() -> str:
    """Return the current time with this machine's time zone: ``2026-11-21 10:00:00+01:00``."""
    return datetime.now().astimezone().isoformat(" ", "seconds")


@dataclass(frozen=True)
class _PinnedPuzzle:
    """The fields of the puzzle in every manifest."""

    name: str
    options: Mapping[str, str]
    start: str | None
    merge_mirrors: bool
    digest: str = ""
    definition: str = ""
    starts: str = ""


@dataclass(frozen=True)
class Manifest:
    """The identity of a run. A resume with another identity is refused.

    `puzzle` is a `puzzles.registry.PuzzleSpec` as a map, `layout` a name in `hakoiri.keys.layout.LAYOUTS`, `created` a
    local time. `kind` is a kind of run (`coordinator.runs.kinds`), `plan` its further parameters, defined by the kind.
    `settings` are ways of working (chunk, memory) that a resume may change.

    IMPORTANT: its record keeps the names of version 0.1, `mode` for `kind` and ``whole`` for ``census``: hosts find
    their parts of a run by a digest of it.
    """

    format: int
    run: str
    created: str
    puzzle: Mapping[str, Any]
    puzzle_version: int
    layout: str
    kind: str
    plan: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def setting(self, name: str, usual: int = 0) -> int:
        """Return a setting that is a number, or the `usual` value if it is not set."""
        found = self.settings.get(name)
        return found if isinstance(found, int) else usual

    @property
    def identity(self) -> str:
        """The SHA-256 of all that determines the results of the run: what leaves it carries this.

        Covers the puzzle with options, start or starts, mirrors and definition, its version and layout, the kind, and
        the plan with its limits; not the name, the time or the settings.
        """
        # Earlier versions wrote neither of two fields. The first of several starts is that of the order they came in.
        left_out = "start" if self.puzzle.get("starts") else "starts"
        puzzle = {name: self.puzzle[name] for name in self.puzzle if name != left_out}
        puzzle |= {"definition": self.puzzle.get("definition", "")}
        fields = [puzzle, self.puzzle_version, self.layout, self.kind, self.plan]
        return sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        fields = vars(self) | {"kind": _IN_RECORDS.get(self.kind, self.kind)}
        return {"mode" if name == "kind" else name: value for name, value in fields.items()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Manifest":
        """The inverse of `as_dict`; ``KeyError`` or ``ValueError`` for fields that are not those of a manifest."""
        kind = fields["mode"]
        found = typed(fields | {"kind": _NOW.get(kind, kind)}, cls)
        typed(found.puzzle, _PinnedPuzzle)
        return found


@dataclass(frozen=True)
class Progress:
    """The progress of a run in words and numbers that do not depend on its kind.

    `done` of `total` (``None``: unknown) items called `unit` are done. `headline` names the present step.
    `seconds_left` is a lower and an upper bound. `work` and `work_unit` are counted for the run's rate if that is not
    `done`. `disk` is the number of bytes that the run takes now. `step_left` is the time left for the step in
    `headline`, `most_left` an upper bound for the run, both in seconds at the observed rate.
    """

    done: int = 0
    total: int | None = None
    unit: str = "configurations"
    headline: str = ""
    seconds_left: tuple[Real, Real] | None = None
    work: int | None = None
    work_unit: str = "configurations"
    disk: int | None = None
    step_left: Real | None = None
    most_left: Real | None = None


def per_second(progress: Progress) -> str:
    """Return the unit of the run's rate, e.g. ``configurations/s``; ``deals/s`` if the unit is ``deals tried``."""
    unit = progress.unit if progress.work is None else progress.work_unit
    return f"{unit.partition(' ')[0]}/s"


@dataclass(frozen=True)
class _SharedFigures:
    """The figures that several kinds of run have, and lists of runs show."""

    configurations: Count | None = None
    depth: Depth | None = None
    goal_depth: Depth | None = None


class _HostWork(TypedDict):
    workers: Count
    chunks: dict[str, Count]


class _Audit(TypedDict):
    chunks: Count
    untrusted: list[str]
    answered: NotRequired[list[str]]
    first_layers: NotRequired[dict[str, Any]]


class WorkCounts(TypedDict, total=False):
    """The fields of `coordinator.session.work_log`."""

    layers: dict[str, tuple[Count, Count]]
    hosts: dict[str, _HostWork]
    expanders: dict[str, Expanded]
    layer: dict[str, Expanded]
    repeated: Count
    here: str
    kept: dict[str, dict[str, int | Real]]
    slowest: Real
    mean: Real
    worst: dict[str, int | Real | str]
    audit: _Audit


@dataclass(frozen=True)
class State:
    """The state of a run as of its last commit; the same for every kind of run.

    `reason` says why it stopped, `hints` what may help. `depth` is that of the last committed layer, -1 before the
    first. `seconds` is the time of all sessions together without `compiling`, the seconds in which this
    process compiled kernels; `updated` is a Unix time, `stored_bytes` the size of all
    committed layers on disk. `figures` are those of the run's kind, by the names that users see (`Figures`). `work_log`
    says where the work was done (`coordinator.session.work_log`). An `idle` session has not committed any work yet.
    """

    status: Status = "queued"
    reason: str = ""
    hints: tuple[Hint, ...] = ()
    session: Count = 0
    depth: Depth = -1
    stored_bytes: Count = 0
    digest: str = ""
    seconds: Real = 0.0
    compiling: Real = 0.0
    updated: Real = 0.0
    progress: Progress = field(default_factory=Progress)
    figures: Mapping[str, Any] = field(default_factory=dict)
    work_log: WorkCounts = field(default_factory=WorkCounts)
    idle: bool = False

    @property
    def configurations(self) -> int:
        """The figure of this name, 0 without it."""
        return self.figures.get("configurations") or 0

    def become(self, status: Status, reason: str = "", hints: tuple[Hint, ...] = ()) -> "State":
        """Return the state with another status."""
        return replace(self, status=status, reason=reason, hints=hints)

    def as_dict(self) -> dict[str, Any]:
        return vars(self) | {"progress": dict(vars(self.progress))}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "State":
        """The inverse of `as_dict`; ``TypeError`` or ``ValueError`` for fields that are not those of a state."""
        # Version 0.1 called them steps and places.
        hints = Hint.read(fields.get("hints", fields.get("steps", ())))
        work_log = fields.get("work_log", fields.get("places", {}))
        typed(fields.get("figures", {}), _SharedFigures)
        return typed(fields | {"hints": hints, "work_log": work_log}, cls)


class Figures:
    """The base of the dataclasses that hold the results of one kind of run."""

    @classmethod
    def of(cls, state: State) -> Self:
        """Return the figures of a state; a missing field has its default. Raises `DamagedError` for malformed ones.

        The metadata of a field whose name was another in earlier versions holds that name (`formerly`).
        """
        earlier = {entry.metadata.get("formerly"): entry.name for entry in fields(cls)}  # type: ignore[arg-type]
        try:
            return typed({earlier.get(name, name): value for name, value in state.figures.items()}, cls)
        except ValueError as error:
            raise DamagedError(f"the figures of the run are malformed: {error}") from error

    def as_dict(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True)
class LayerRecord:
    """The record of one committed layer: its numbers of configurations and goals, its digest, its bytes on disk.

    `index` is the CRC-32 of the names of all its blocks, so that a lost block is not taken for absence. `session` is
    the number of the session, counted from the run's first, that committed the layer. `net_flow` is the flow of all
    moves from the layer before it (`worker.layers.kernels`), if it was summed. The blocks of a `hosted` layer are at
    hosts; its `index` has no meaning. `work` says who expanded the layer before it (`coordinator.session.work_log`);
    it is empty if threads of one process did. Its keys, if they are classes, stand for `represented` configurations;
    0 is unknown.
    """

    depth: Depth
    size: Count
    digest: Digest
    goals: Count
    stored_bytes: Count
    index: Count
    session: Count
    net_flow: int | None = None
    hosted: bool = False
    work: Mapping[str, Expanded] = field(default_factory=dict)
    represented: Count = 0

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class ComponentRecord:
    """The record of one component of a whole space, numbered by size, the largest first, ties by least key.

    Distances are in moves; ``None`` is unknown. A component that was left out has none of them. A large one outside a
    census has only its diameter, which is found without measuring every configuration. `centre` and `periphery` count
    the configurations whose eccentricity is the radius and the diameter; `representative` is the least key.
    """

    component: int
    size: int
    diameter: int | None
    radius: int | None
    centre: int | None
    periphery: int | None
    pair_count: int | None
    representative: int

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for msgpack; a key of more than 64 bits, which msgpack cannot hold, as hexadecimal text."""
        wide = self.representative >> _MSGPACK_BITS
        return vars(self) | ({"representative": hex(self.representative)} if wide else {})

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ComponentRecord":
        """The inverse of `as_dict`; ``ValueError`` for other fields."""
        key = fields.get("representative")
        return typed({**fields, "representative": int(key, 16) if isinstance(key, str) else key}, cls)
