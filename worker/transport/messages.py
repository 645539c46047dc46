"""What coordinator and workers tell each other besides arrays: an order for a chunk, and news of it. Under 1 kB."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import msgpack

from worker.errors import PayloadError

NewsKind = Literal["started", "done", "missing", "failed", "refused"]


@dataclass(frozen=True)
class Order:
    """One attempt at one chunk. `puzzle` is a `PuzzleSpec` as a map, `stage` names the shared arrays (-1: none)."""

    session: str
    token: str
    attempt: int
    stage: int
    puzzle: dict[str, Any]
    puzzle_version: int

    def as_dict(self) -> dict[str, Any]:
        """The keyword arguments of the RQ job."""
        return asdict(self)


@dataclass(frozen=True)
class News:
    """What became of an attempt: `detail` says why for ``failed`` and ``refused``."""

    kind: NewsKind
    token: str
    attempt: int
    worker: str
    detail: str = ""

    def pack(self) -> bytes:
        """For a Redis list."""
        raw: bytes = msgpack.packb(asdict(self), use_bin_type=True)
        return raw

    @classmethod
    def unpack(cls, raw: bytes) -> "News":
        """The inverse of `pack`; `PayloadError` for anything else."""
        try:
            news = cls(**msgpack.unpackb(raw, raw=False))
        except (ValueError, TypeError) as error:
            raise PayloadError(f"a message in Redis is not readable: {error}") from error
        texts = (news.kind, news.token, news.worker, news.detail)
        if not all(isinstance(text, str) for text in texts) or type(news.attempt) is not int:
            raise PayloadError("a message in Redis is not readable: its fields are of other types")
        if news.kind not in get_args(NewsKind):
            raise PayloadError(f"a message in Redis is not readable: unknown kind {news.kind!r}")
        return news


class MsgpackSerializer:
    """RQ's serializer. IMPORTANT: pass it everywhere; RQ's default is pickle, which runs code from Redis."""

    @staticmethod
    def dumps(value: Any) -> bytes:
        """msgpack bytes."""
        raw: bytes = msgpack.packb(value, use_bin_type=True)
        return raw

    @staticmethod
    def loads(raw: bytes) -> Any:
        """The value again."""
        return msgpack.unpackb(raw, raw=False)
