"""Garbage where arrays and messages are expected: it is refused or asked for again, and the run comes out right."""

import pickle
from typing import Any

import msgpack

from hakoiri.storage.ledger.manifest import seal
from tests.support.commands import FinishedRuns, Hakoiri, Running
from tests.support.servers import RedisServer, comes_out_right, held_run
from tests.system.conftest import StartWorkers


class Evil:
    """Pickled, it fails the test where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('unpickled')",)


def test_garbage_in_place_of_chunks_is_sent_again(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    running = held_run(hakoiri, redis_server)
    garbage = [b"", bytes(100), seal(msgpack.packb(5)), seal(msgpack.packb([["r", "<i8", [1], b""]]))]
    for key, value in zip(redis_server.client.keys("hakoiri:*:in:*"), garbage, strict=True):
        redis_server.client.set(key, value, keepttl=True)
    with workers(redis_server.url, 1):
        comes_out_right(running, finished)


def event(about: Any = "1.0", **changes: Any) -> bytes:
    return bytes(msgpack.packb({"kind": "done", "token": about, "attempt": 1, "worker": "w"} | changes))


GARBAGE = {
    "empty": b"",
    "bytes": b"\xc1garbage",
    "pickled": pickle.dumps(Evil()),
    "a number": msgpack.packb(5),
    "fields too few": msgpack.packb({"kind": "done"}),
    "fields too many": event(trap="spring"),
    "no token": event("x"),
    "no number": event("1.x"),
    "token of another type": event(7),
    "attempt of another type": event(kind="started", attempt=[]),
    "worker of another type": event(kind="started", worker={}),
    "attempt unknown": event(attempt=2**63),
    "kind unknown": event(kind="trap"),
    "kind of another type": event(kind=["done"]),
    "detail of another type": event(kind="missing", detail=5),
    "huge worker": event(kind="missing", worker="w" * 100_000),
}


def send_news(hakoiri: Hakoiri, server: RedisServer, messages: list[bytes]) -> Running:
    """A held run whose coordinator hears `messages`."""
    running = held_run(hakoiri, server)
    client: Any = server.client
    (key, *_) = client.keys("hakoiri:*:in:*")
    client.lpush(f"hakoiri:{key.decode().split(':')[1]}:events", *messages)
    return running


def test_garbage_among_the_news_stops_no_run(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    running = send_news(hakoiri, redis_server, list(GARBAGE.values()))
    with workers(redis_server.url, 1):
        comes_out_right(running, finished)
