"""The messages between coordinator and workers besides arrays: requests for chunks, and events. Under 1 kB each."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import msgpack

from hakoiri.puzzles.errors import Hint
from hakoiri.storage.ledger.records import MOST_UNTYPED, read_msgpack, typed
from hakoiri.worker.errors import PayloadError

EventKind = Literal["started", "done", "missing", "failed", "refused"]


@dataclass(frozen=True)
class TaskRequest:
    """One attempt at one chunk, which `token` names.

    `shared` names the arrays shared with other chunks, each of which comes in so many `pieces`. `keep` is the lifetime
    of the answer in Redis, in seconds, `puzzle` a `PuzzleSpec` as a map, `program` the digests of the code that must
    answer (`worker.program`).
    """

    session: str
    token: str
    attempt: int
    shared: int
    keep: int
    puzzle: dict[str, Any]
    program: dict[str, str]
    pieces: list[int] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Event:
    """The outcome of an attempt: `detail` says why it brought no result, `hints` what may help."""

    kind: EventKind
    token: str
    attempt: int
    worker: str
    detail: str = ""
    hints: tuple[Hint, ...] = ()

    def pack(self) -> bytes:
        raw: bytes = msgpack.packb(asdict(self), use_bin_type=True)
        return raw

    @classmethod
    def unpack(cls, raw: bytes) -> "Event":
        """The inverse of `pack`; `PayloadError` for anything else."""
        try:
            fields = read_msgpack(raw, dict[str, Any], MOST_UNTYPED)
            return typed(fields | {"hints": Hint.read(fields.get("hints", ()))}, cls)
        except (ValueError, TypeError) as error:
            raise PayloadError(f"a message in Redis is not readable: {error}") from error


class MsgpackSerializer:
    """RQ's serializer. IMPORTANT: pass it everywhere; RQ's default is pickle, which runs code from Redis."""

    @staticmethod
    def dumps(value: Any) -> bytes:
        raw: bytes = msgpack.packb(value, use_bin_type=True)
        return raw

    @staticmethod
    def loads(raw: bytes) -> Any:
        return read_msgpack(raw, object, MOST_UNTYPED)
