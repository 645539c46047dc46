"""Forgeries in the main Redis, and a data Redis that is no Redis: they cost at most their data, within bounds."""

import resource
import zlib
from collections.abc import Callable
from typing import Any, cast

import pytest
import redis
from rq.exceptions import NoSuchJobError

from hakoiri.coordinator.executors import worker_pool
from hakoiri.coordinator.executors.opening import open_context
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.worker.errors import DataRedisLostError, PayloadError
from hakoiri.worker.transport import data_redis_pool, values
from hakoiri.worker.transport.connection import connect, get_bytes, get_popped
from hakoiri.worker.transport.data_redis_pool import (
    DATA_NETWORKS,
    DataRedisPool,
    data_redis_number,
    open_data_redis,
    require_networks,
)
from hakoiri.worker.transport.messages import MsgpackSerializer
from hakoiri.worker.transport.names import QUEUE, WORKERS, worker_key
from hakoiri.worker.transport.rq_worker import TaskJob
from tests.support.commands import wait_until
from tests.support.hostile_redis import HostileRedis, Told
from tests.support.runs import Notes
from tests.support.servers import RedisServer
from tests.system.conftest import StartWorkers

MEGABYTE = 1 << 20
Call = Callable[[redis.Redis], object]


def data_pools_of(url: str) -> DataRedisPool:
    """Those of a process whose Redis says that a host has a data Redis at a URL, and shows it."""
    return DataRedisPool(cast(redis.Redis, Told(url)))


# A forged data Redis


def get(connection: redis.Redis) -> object:
    return get_bytes(connection, "x")


def pop(connection: redis.Redis) -> object:
    return get_popped(connection, "x", 0.1)


def expire(connection: redis.Redis) -> object:
    with connection.pipeline(transaction=False) as pipeline:
        pipeline.expire("x", 9)
        return pipeline.execute()


#: What it says to a call, by what is wrong with that.
SAYINGS: dict[str, tuple[Call, bytes]] = {
    "terabytes": (get, b"$1000000000000\r\n"),
    "a value that nobody asked for": (get, b"$100000000\r\n" + bytes(MEGABYTE)),
    "many small ones": (expire, b"*100000000\r\n" + b":1\r\n" * MEGABYTE),
    "a negative length": (get, b"$-7\r\n"),
    "a length that is no number": (get, b"$abc\r\n"),
    "nested": (get, b"*1\r\n" * 30_000),
    "a line without an end": (get, b"+" + b"x" * MEGABYTE),
    "messages of a later protocol": (get, b">3\r\n+MOVING\r\n:1\r\n+203.0.113.1:22\r\n" * 1_000),
    "a map with a list for a key": (get, b"%1\r\n*0\r\n*0\r\n"),
    "a number of many digits": (get, b":" + b"9" * 9_000 + b"\r\n"),
    "another type": (get, b":5\r\n"),
    "another list": (pop, b"*1\r\n$1\r\nx\r\n"),
    "a wrong redirection": (get, b"-MOVED\r\n"),
    "a replica": (expire, b"-READONLY You can't write against a read only replica.\r\n"),
    "no words": (get, b"\r\n"),
}


@pytest.mark.parametrize("wrong", SAYINGS)
def test_whatever_a_data_redis_says_is_lost(wrong: str) -> None:
    """And nothing else: no other exception, no memory, no time."""
    call, saying = SAYINGS[wrong]
    with HostileRedis(lambda _: saying) as hostile:
        there, before = data_pools_of(hostile.url), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for words in ("does not answer", "did not answer a moment ago"):
            with (
                pytest.raises(DataRedisLostError, match=words),
                there.reach(data_redis_number(hostile.url)) as connection,
            ):
                call(connection)
        assert hostile.callers == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000, "memory is taken, in kB"


def test_a_data_redis_that_drips_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes in time, and the value never does; the time grows with what is there."""
    monkeypatch.setattr(data_redis_pool, "_ANSWER_SECONDS", 0.0)
    monkeypatch.setattr(values, "_LEAST_PACE", 1e9)
    with HostileRedis(lambda _: b"$3\r\nabc\r\n") as hostile:
        there = data_pools_of(hostile.url)
        with (
            pytest.raises(DataRedisLostError, match="does not answer"),
            there.reach(data_redis_number(hostile.url), 3) as connection,
        ):
            connection.get("x")


def test_what_was_asked_for_is_given() -> None:
    value = bytes(3 * MEGABYTE)
    with (
        HostileRedis(lambda _: b"$%d\r\n%b\r\n" % (len(value), value)) as friendly,
        data_pools_of(friendly.url).reach(data_redis_number(friendly.url), len(value)) as connection,
    ):
        assert get(connection) == value


# Addresses


def reached(main: Told, url: str) -> bool:
    """Return whether this process would connect to a data Redis."""
    try:
        return bool(DataRedisPool(cast(redis.Redis, main))._open(data_redis_number(url)))
    except DataRedisLostError:
        return False


HERE, THERE = "redis://:secret@127.0.0.1:6380/0", "redis://:secret@203.0.113.7:6380/0"


@pytest.mark.parametrize(
    ("url", "seen", "host", "goes"),
    [
        (HERE, ("127.0.0.1:4711",), "127.0.0.1", True),
        (HERE, ("/run/redis.sock:0",), "127.0.0.1", True),
        (THERE, ("203.0.113.7:4711",), "203.0.113.1", True),
        ("redis://[2001:db8::7]:6380", ("[2001:db8::7]:4711",), "203.0.113.1", True),
        # Beside the one Redis, by the address at which we reach that.
        (THERE, ("127.0.0.1:4711",), "203.0.113.7", True),
        # Nobody shows it.
        (THERE, (), "127.0.0.1", False),
        (THERE, ("203.0.113.8:4711",), "127.0.0.1", False),
        # One who sits beside the one Redis names us, and a third one.
        (HERE, ("127.0.0.1:4711",), "203.0.113.1", False),
        (HERE, ("203.0.113.8:4711",), "127.0.0.1", False),
        (THERE, ("127.0.0.1:4711",), "127.0.0.1", False),
        # A name may be another address's in a moment.
        ("redis://localhost:6380/0", ("127.0.0.1:4711",), "127.0.0.1", False),
    ],
)
def test_only_a_data_redis_that_its_host_shows_is_connected_to(
    url: str, seen: tuple[str, ...], host: str, goes: bool
) -> None:
    assert reached(Told(url, seen=seen, host=host), url) == goes


def test_another_data_redis_of_a_host_is_not_shown_by_that(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else who writes the port of another service into the beat of an honest host."""
    main = Told(THERE, seen=("203.0.113.7:4711",), host="203.0.113.1")
    forged = THERE.replace("6380", "22")
    main.urls = [forged]
    assert not reached(main, forged)
    for allowed, goes in (("203.0.113.0/24", True), ("203.0.113.7", True), ("10.0.0.0/8, x.example", False)):
        monkeypatch.setenv(DATA_NETWORKS, allowed)
        require_networks(allowed)
        assert reached(main, forged) == goes
    named = "redis://x.example:6380/0"
    main.urls = [named]
    assert reached(main, named)


@pytest.mark.parametrize("allowed", ["10.0.0.0/99", "http://x", "300.1.1.1", "a b$"])
def test_networks_that_are_none_are_refused(allowed: str) -> None:
    with pytest.raises(ValueError, match=r"host|appear"):
        require_networks(allowed)


@pytest.mark.parametrize(
    "url",
    [
        "redis://:a%0d%0aGET%20/%20HTTP/1.0@127.0.0.1:80/0", "redis://:a%20b@127.0.0.1:80/0",
        "redis://x%00:b@127.0.0.1:80/0", "redis://:b@127.0.0.1:80/zero", "redis://:b@127.0.0.1:80/0?protocol=3",
        f"redis://:{'b' * 2_000}@127.0.0.1:80/0", "unix:///run/redis.sock",
    ],
)  # fmt: skip
def test_an_address_with_lines_of_its_own_is_refused(url: str) -> None:
    with pytest.raises(PayloadError, match="the URL of a data Redis is malformed"):
        open_data_redis(url)


# Jobs, registries, heartbeats


def test_a_bomb_in_a_job_is_passed_over(redis_server: RedisServer) -> None:
    """3 MB that would be 3 GB, and a value that is large already: none is inflated, or fetched."""
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(16 * MEGABYTE)) for _ in range(16)) + packer.flush()
    assert len(bomb) < MEGABYTE
    client = connect(redis_server.url)
    for data in (bomb, bomb * 12, zlib.compress(bytes(2 * MEGABYTE)), b"", b"plain"):
        client.hset("rq:job:bomb", "data", data)
        job = TaskJob("bomb", connection=client, serializer=MsgpackSerializer)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(NoSuchJobError):
            job.refresh()
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000, "kB"


def test_forged_registries_of_rq_end_no_worker(redis_server: RedisServer, workers: StartWorkers) -> None:
    """Entries of a kind that RQ's maintenance falls over; names of workers that live already; its channel."""
    client = redis_server.client
    client.set("rq:job:forged", "a string")
    for registry in ("wip", "finished", "failed", "deferred", "scheduled", "canceled"):
        forged: dict[Any, float] = {b"\xff\xfe": 1, "forged:x": 1, "forged": 1, "a:b:c": 1}
        client.zadd(f"rq:{registry}:{QUEUE}", forged)
    client.rpush(f"rq:queue:{QUEUE}:intermediate", b"\xff", "forged", "a b")
    client.sadd("rq:workers", b"\xff", "rq:worker:x")
    client.set("rq:worker:x", "a string")
    client.sadd("rq:groups", b"\xff", "x")
    client.set("rq:group:x", "a string")
    with workers(redis_server.url, 1) as team:
        first = team.pids()
        with open_context(
            Klotski(), PuzzleSpec("klotski"), Resources(redis=redis_server.url), Control(), Notes()
        ) as context:
            start = Klotski().keys([Klotski().start])
            assert len(list(context.executor.map("neighbours", [[start]] * 3))) == 3
        assert team.pids() == first


def test_a_forged_heartbeat_stalls_no_run(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that says that it lives, and answers nothing, is waited for once."""
    monkeypatch.setattr(worker_pool, "_SILENCE_SECONDS", 0.3)
    redis_server.client.sadd(WORKERS, "forged-1")
    redis_server.client.set(worker_key("forged-1"), b"")
    puzzle, notes = Klotski(), Notes()
    resources = Resources(redis=redis_server.url)
    with open_context(puzzle, PuzzleSpec("klotski"), resources, Control(), notes) as context:
        start = puzzle.keys([puzzle.start])
        for _ in range(3):
            assert len(list(context.executor.map("neighbours", [[start]] * 20))) == 20
        assert context.executor.workers == 1
    (said,) = notes.texts
    assert said == "no worker answers, so this process works alone"


def test_a_worker_that_answers_after_a_silence_is_counted_on(
    redis_server: RedisServer, workers: StartWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "_SILENCE_SECONDS", 0.2)
    redis_server.client.sadd(WORKERS, "forged-1")
    redis_server.client.set(worker_key("forged-1"), b"")
    puzzle, resources = Klotski(), Resources(redis=redis_server.url)
    start = puzzle.keys([puzzle.start])
    with open_context(puzzle, PuzzleSpec("klotski"), resources, Control(), Notes()) as context:
        list(context.executor.map("neighbours", [[start]] * 5))
        with workers(redis_server.url, 1):

            def by_worker() -> bool:
                list(context.executor.map("neighbours", [[start]] * 5))
                return any(context.executor.work_log.as_dict()["hosts"])

            wait_until(by_worker)
