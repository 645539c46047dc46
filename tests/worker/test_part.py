"""Layers made by hosts in this process, over a real Redis: those of a plain search, in much memory and in little."""

import math
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, nullcontext
from dataclasses import asdict, replace
from functools import partial
from itertools import count, product
from pathlib import Path
from queue import Empty, SimpleQueue
from random import Random
from threading import Barrier, Event, Thread
from time import time
from typing import Any

import msgpack
import numpy as np
import pytest
import redis

from hakoiri.errors import DamagedError, DiskFullError, NotWritableError, PayloadError, TaskError
from hakoiri.keys.layout import LAYOUTS, Key, Keys, Layout, ints
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.engine.environment import Environment
from hakoiri.storage.layers.blocks import Block, Coded, code_keys, count_of, decode
from hakoiri.storage.ledger.manifest import Manifest
from hakoiri.storage.names import DATA_FILE, FORMAT_VERSION
from hakoiri.worker.hosts import part
from hakoiri.worker.hosts.host import Host
from hakoiri.worker.hosts.requests import HostExpanded, HostMerged, HostRequest
from hakoiri.worker.hosts.wire import DEFAULT, WAITING, HostTuning, Inbox, Link, Outbox, pack_message, unpack_message
from hakoiri.worker.layers.partition import partition_by
from hakoiri.worker.layers.step import RangeStep
from hakoiri.worker.transport.connection import inbox_key
from hakoiri.worker.transport.data_redis import DataRedisPool
from hakoiri.worker.transport.payload import Array, pack_arrays, packed, unpacked
from tests.support.commands import PATIENCE_SECONDS, wait_until
from tests.support.keys import every_layout
from tests.support.servers import RedisServer
from tests.support.toy_runs import EMBEDDINGS, expected, spied

NAMES = ["a", "b", "c"]
USUAL = {("u64", "spread"), ("u256", "clumped")}


def searches() -> Iterator[Any]:
    """The usual ones directed with much memory and undirected with little, or the other way round; the rest is slow."""
    for number, (layout, keys) in enumerate(EMBEDDINGS):
        for least, directed in product((24_000_000, 600), ("no", "yes")):
            chosen = (layout, keys) in USUAL and (least == 600) == ((directed == "no") == bool(number % 2))
            yield pytest.param(layout, keys, least, directed, marks=() if chosen else pytest.mark.slow)


@pytest.fixture
def hosts(directed: str, tmp_path: Path) -> Iterator[tuple[list[Host], DataRedisPool]]:
    """Three hosts of two threads, and the one Redis in which their messages lie.

    Sending is taken to be fast, or so slow that hosts send as soon as their ranges allow.
    """
    tuning = HostTuning(slow=-1.0 if directed == "yes" else 2.0, slow_seconds=-1.0, most_sending=math.inf)
    with ExitStack() as stack:
        server = stack.enter_context(RedisServer(tmp_path / "redis"))
        found = [stack.enter_context(closing(Host(tmp_path / name, 2, tuning))) for name in NAMES]
        yield found, DataRedisPool(server.client)


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "least", "directed"), list(searches()))
def test_the_layers_are_those_of_a_plain_search(
    layout: str, keys: str, least: int, directed: str, hosts: tuple[list[Host], DataRedisPool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
    monkeypatch.setattr(part, "LEAST_BYTES", least)
    monkeypatch.setattr(part, "PARTS", 1_000)
    sends = spied(monkeypatch, (RangeStep, "send_away"))
    spec = PuzzleSpec("toy", {"layout": layout, "keys": keys, "directed": directed, "size": "400"})
    puzzle, right = spec.build(), expected(layout, keys, directed, "400")
    everything = puzzle.layout.pack(sorted(key for layer in right.layers for key in layer))
    partition = partition_by(everything, 7)
    manifest = Manifest(FORMAT_VERSION, "run", "", spec.as_dict(), 1, layout, "explore").as_dict()
    owners = [number % len(NAMES) for number in range(partition.ranges)]
    request = HostRequest(
        manifest, NAMES, 0, [0] * len(NAMES), partition.packed, owners, 1, memory=1, round_seconds=60.0
    )

    def ask(task: str, number: int, *arrays: Array, **changes: Any) -> list[Array]:
        mine = replace(request, me=number, **changes)
        return hosts[0][number].perform(task, puzzle, "session", mine.shared, mine.arrays(*arrays), hosts[1])

    everybody, spilled, sent = range(len(NAMES)), 0, 0
    for number in everybody:
        ask("host-take", number, puzzle.layout.pack(right.layers[0]))
    for depth, layer in enumerate([*right.layers[1:], []], 1):
        told = [unpacked(ask("host-expand", n, depth=depth, attempt=depth), HostExpanded) for n in everybody]
        assert sum(answer.size for answer in told) == len(right.layers[depth - 1])
        merged = []
        for number in everybody:
            waits = [answer.sent[number] for answer in told]
            answer = ask("host-merge", number, depth=depth, attempt=depth, round=1, expected=waits)
            merged.append(unpacked(answer, HostMerged))
        assert sum(answer.size for answer in merged) == len(layer)
        found: list[Key] = []
        for number in everybody:
            firsts, _ = ask("host-index", number, depth=depth)
            # Who asks may have every other block already.
            for wanted in filter(len, (firsts[::2], firsts[1::2])):
                lengths, data = ask("host-give", number, wanted, depth=depth)
                for first, value in zip(ints(wanted), np.split(data, np.cumsum(lengths)[:-1]), strict=True):
                    block = Block(depth, first, count_of(value.tobytes()), value.tobytes())
                    found += ints(decode(block, puzzle.layout))
        assert sorted(found) == layer
        spilled += sum(answer.spilled for answer in merged)
        sent += sum(answer.bytes for answer in told)
    # Where all keys lie close together there is one range, and dense ones fit in a bitmap.
    assert (sent > 0) == (partition.ranges > 1)
    early = directed == "yes" and sent
    assert sends.total() > len(NAMES) * len(right.layers) if early else sends.total() <= 3 * len(right.layers)
    assert spilled > 0 if keys == "spread" and least == 600 else keys != "spread" or not spilled


# Messages between hosts: what goes into an outbox comes out of the inboxes, once, and nothing else is believed


DEPTH, HOSTS, RANGES = 7, 3, 10
OWNERS = [number % HOSTS for number in range(RANGES)]


def some_blocks(layout: Layout, seed: int, count: int = 40) -> list[tuple[int, Coded]]:
    """Blocks of ranges that are not host 0's."""
    rng, found = Random(seed), []
    for _ in range(count):
        number = rng.choice([each for each in range(RANGES) if OWNERS[each]])
        keys = sorted({rng.randrange(layout.greatest) for _ in range(rng.randrange(1, 300))})
        found.append((number, code_keys(DEPTH, layout.pack(keys))))
    return found


def _all_of(post: SimpleQueue[bytes]) -> list[bytes]:
    """All messages of a queue, which stay there."""
    messages = [post.get() for _ in range(post.qsize())]
    for message in messages:
        post.put(message)
    return messages


def keys_of(parts: list[tuple[int, Coded]], layout: Layout) -> dict[int, list[Key]]:
    """The keys of each range, in the order in which they came."""
    found = defaultdict[int, list[Key]](list)
    for number, coded in parts:
        for block in coded.blocks(DEPTH):
            found[number] += ints(decode(block, layout))
    return {number: sorted(keys) for number, keys in found.items()}


@pytest.mark.parametrize(("me", "order"), [(0, [1, 2]), (1, [2, 0]), (2, [0, 1])])
def test_each_host_begins_to_send_with_the_one_after_it(me: int, order: list[int]) -> None:
    """If all began with the first, its link would carry what all of them send, and then that of the second."""
    layout, sent = LAYOUTS["u64"], list[int]()
    outbox = Outbox(lambda owner, _: sent.append(owner), OWNERS.__getitem__, HOSTS, me)
    for owner in sorted(order):
        outbox.put(OWNERS.index(owner), code_keys(DEPTH, layout.pack([1, 2, 3])))
    outbox.flush()
    assert sent == order


@pytest.mark.parametrize("compresses", [False, True])
@every_layout
def test_what_goes_in_comes_out_at_its_host(layout: Layout, compresses: bool) -> None:
    posts = [SimpleQueue[bytes]() for _ in range(HOSTS)]

    def send(owner: int, message: bytes) -> None:
        # What is sent again after a lost answer comes twice.
        posts[owner].put(message)
        posts[owner].put(message)

    def receive(owner: int) -> bytes | None:
        try:
            return posts[owner].get(timeout=0.01)
        except Empty:
            return None

    def take_into(mine: list[tuple[int, Coded]]) -> Callable[[int, Coded], None]:
        return lambda number, coded: mine.append((number, coded))

    outbox = Outbox(send, OWNERS.__getitem__, HOSTS, 0, compresses, HostTuning(message=1_500))
    blocks = some_blocks(layout, 1)
    for number, coded in blocks:
        outbox.put(number, coded)
    outbox.flush()
    sent = outbox.sent
    assert 2 * outbox.sent_bytes == sum(len(message) for post in posts for message in _all_of(post))
    assert sent[0] == 0 < min(sent[1:])
    assert max(sent) > 1
    got = list[tuple[int, Coded]]()
    for owner in range(HOSTS):
        mine = list[tuple[int, Coded]]()
        inbox = Inbox(partial(receive, owner), take_into(mine))
        inbox.await_all([sent[owner], 0, 0], 60.0)
        inbox.close()
        assert {OWNERS[number] for number, _ in mine} <= {owner}
        got += mine
    assert keys_of(got, layout) == keys_of(blocks, layout)


def test_an_outbox_tells_that_it_could_not_send() -> None:
    layout = LAYOUTS["u64"]

    def send(owner: int, message: bytes) -> None:
        raise PayloadError("the wire is cut")

    outbox = Outbox(send, OWNERS.__getitem__, HOSTS, 0)
    for number, coded in some_blocks(layout, 2):
        outbox.put(number, coded)
    with pytest.raises(PayloadError, match="the wire is cut"):
        outbox.flush()


def test_an_outbox_that_is_given_up_lets_all_go_who_wait_for_room() -> None:
    """Another thread has failed, of whatever, while the link was slow."""
    layout, goes_on, waiting = LAYOUTS["u64"], Event(), Barrier(4)

    def send(owner: int, message: bytes) -> None:
        assert goes_on.wait(60.0)

    outbox = Outbox(send, OWNERS.__getitem__, HOSTS, 0, tuning=HostTuning(1, 0))
    ((number, coded),) = some_blocks(layout, 4, 1)
    told = SimpleQueue[str]()

    def put() -> None:
        waiting.wait(60.0)
        with pytest.raises(PayloadError) as raised:
            while True:
                outbox.put(number, coded)
        told.put(str(raised.value))

    threads = [Thread(target=put, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    waiting.wait(60.0)
    wait_until(outbox._queue.full, what="no room")
    outbox.give_up()
    goes_on.set()
    for thread in threads:
        thread.join(60.0)
    assert [told.get_nowait() for _ in threads] == ["this attempt is given up"] * 3


def test_an_inbox_tells_what_does_not_come_and_what_goes_wrong() -> None:
    inbox = Inbox(lambda: None, lambda *_: None)
    with pytest.raises(PayloadError, match="2 messages of other hosts have not arrived"):
        inbox.await_all([0, 2, 0], 0.05)
    inbox.close()
    messages = [b"no message"] * 3
    inbox = Inbox(lambda: messages.pop() if messages else None, lambda *_: None)
    with pytest.raises(PayloadError, match="not readable"):
        inbox.await_all([0, 1, 0], 60.0)
    inbox.close()
    inbox._thread.join(60.0)
    assert (messages, inbox._thread.is_alive()) == ([], False)


def test_a_closed_inbox_takes_in_nothing_more_and_drops_what_comes() -> None:
    """Not even what it is about to take in."""
    layout, begun, goes_on, taken = LAYOUTS["u64"], Event(), Event(), list[int]()
    messages = [pack_message(1, number, some_blocks(layout, 3, 2)) for number in range(3)]

    def receive() -> bytes | None:
        begun.set()
        assert goes_on.wait(60.0)
        return messages.pop() if messages else None

    inbox = Inbox(receive, lambda number, _: taken.append(number))
    assert begun.wait(60.0)
    inbox.close()
    goes_on.set()
    inbox._thread.join(60.0)
    assert (taken, messages, inbox._thread.is_alive()) == ([], [], False)


def test_to_close_an_inbox_waits_for_what_it_is_taking_in() -> None:
    layout, begun, goes_on = LAYOUTS["u64"], Event(), Event()
    message = pack_message(1, 0, some_blocks(layout, 3, 1))

    def put(number: int, coded: Coded) -> None:
        begun.set()
        assert goes_on.wait(60.0)

    inbox = Inbox(lambda: None if begun.is_set() else message, put)
    assert begun.wait(60.0)
    closing = Thread(target=inbox.close, daemon=True)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    goes_on.set()
    closing.join(60.0)
    assert not closing.is_alive()


def test_a_slow_link_is_one_that_a_round_waits_for_and_stays_slow_while_it_is_busy() -> None:
    fast, slow = Link(), Link(is_slow=True)
    # 1 Gbit/s: 100 million bytes take a second.
    assert fast.after(10.0, waited=1.0, busy=5.0, sent=5 * 10**8, threads=8, tuning=DEFAULT) == fast
    assert fast.after(10.0, waited=3.0, busy=3.0, sent=3 * 10**8, threads=8, tuning=DEFAULT) == Link(True, True, True)
    assert slow.after(10.0, waited=0.0, busy=3.0, sent=3 * 10**8, threads=8, tuning=DEFAULT) == Link(True, True, True)
    assert slow.after(10.0, waited=0.5, busy=0.5, sent=5 * 10**7, threads=8, tuning=DEFAULT) == fast
    # One thread finds less in the time than it takes to compress it.
    assert slow.after(10.0, waited=3.0, busy=3.0, sent=3 * 10**8, threads=1, tuning=DEFAULT) == Link(True, False, True)
    # It takes longer to send the same again than to wait.
    assert fast.after(10.0, waited=8.0, busy=8.0, sent=8 * 10**8, threads=8, tuning=DEFAULT) == Link(True, True, False)
    assert fast.after(0.1, waited=0.05, busy=0.05, sent=5 * 10**6, threads=8, tuning=DEFAULT) == fast


def test_compressed_messages_have_fewer_bytes() -> None:
    rng, layout = np.random.default_rng(1), LAYOUTS["u64"]
    blocks = [(0, code_keys(DEPTH, np.cumsum(rng.integers(1, 20, 100_000)).astype(np.uint64)))]
    plain, compressed = pack_message(1, 5, blocks), pack_message(1, 5, blocks, True)
    assert len(compressed) < 0.7 * len(plain)
    assert keys_of(unpack_message(compressed)[2], layout) == keys_of(blocks, layout)


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_message_is_refused(seed: int) -> None:
    layout, rng = LAYOUTS["u32"], Random(seed)
    message = bytearray(pack_message(1, 5, some_blocks(layout, seed, 5), seed % 2 == 0))
    message[rng.randrange(len(message))] ^= 1 << rng.randrange(8)
    with pytest.raises(PayloadError):
        unpack_message(bytes(message))


@pytest.mark.parametrize("fills", [False, True])
def test_an_outbox_that_is_given_up_leaves_no_thread(fills: bool) -> None:
    """Nor where as many messages wait as can, of which it sends none but those under way."""
    goes_on, sent = Event(), list[int]()

    def send(owner: int, message: bytes) -> None:
        sent.append(owner)
        assert goes_on.wait(PATIENCE_SECONDS)

    outbox = Outbox(send, OWNERS.__getitem__, HOSTS, 0, tuning=HostTuning(message=1, small_message=0))
    blocks = some_blocks(LAYOUTS["u64"], 4)
    for number, coded in blocks[: HOSTS + WAITING if fills else 1]:
        outbox.put(number, coded)
    threads = list(outbox._threads)
    outbox.give_up()
    goes_on.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()
    assert len(threads) == (HOSTS if fills else 1) >= len(sent)


def test_an_outbox_sends_to_several_hosts_at_once() -> None:
    together = Barrier(HOSTS - 1)

    def send(_: int, __: bytes) -> None:
        together.wait(PATIENCE_SECONDS)

    outbox = Outbox(send, OWNERS.__getitem__, HOSTS, 0, tuning=HostTuning(small_message=0))
    assert outbox.is_idle
    for number, coded in some_blocks(LAYOUTS["u64"], 5):
        outbox.put(number, coded)
    outbox.flush()
    assert outbox.sent == [0, 1, 1]
    assert outbox.is_idle


MANIFEST = {"run": "a", "layout": "u32"}
REQUEST = HostRequest(MANIFEST, ["x", "y"], 1, [0, 5], b"\0\0\0\3", [0, 1], 4, 2, 10**9, 6, 12.0, 2.0, expected=[3, 4])


def test_a_request_is_read_as_it_was_written() -> None:
    assert HostRequest.read(REQUEST.shared, REQUEST.arrays(), "s") == replace(REQUEST, session="s")


@pytest.mark.parametrize(
    "changes",
    [
        {"me": -1}, {"me": "0"}, {"hosts": "x"}, {"data_redis": [0, "5"]}, {"owners": [0.5, 1]},
        {"partition": None}, {"manifest": []}, {"expected": [True, "x"]}, {"owners": [-1, 0]}, {"partition": [0]},
        {"depth": -1}, {"depth": 1 << 31}, {"memory": -1}, {"memory": "1"}, {"copies": [0, True]}, {"targets": [-2, 0]},
        {"first": -1}, {"first": 1 << 31}, {"expected": [3, -1]}, {"round": -1},
        {"round_seconds": "1"}, {"commit_seconds": float("nan")},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_request_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(PayloadError):
        HostRequest.read(REQUEST.shared, packed(msgpack.unpackb(REQUEST.arrays()[0].tobytes()) | changes), "s")


@pytest.mark.parametrize("name", ["../../etc", "/etc", "a/../../b", "..", "", "x" * 500, "\0", "e\u0301"])
def test_a_run_lies_within_the_directory_of_its_host_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    with closing(Host(tmp_path / "host", 1)) as host:
        directory = host._directory_of({"run": name})
    assert directory.parent == tmp_path / "host"
    assert re.fullmatch(r"run-[\w-]{0,40}-[0-9a-f]{12}", directory.name, re.ASCII)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host of one thread."""
    with closing(Host(tmp_path / "host", 1)) as found:
        yield found


def asked(
    host: Host, task: str, *keys: Keys, main: str | redis.Redis = "redis://127.0.0.1:1/0", **changes: Any
) -> list[Array]:
    """Its answer to a request for layer 1 of a small run, all of which it keeps, with some fields changed."""
    spec = PuzzleSpec("pancakes", {"n": "4"})
    manifest = Manifest(FORMAT_VERSION, "a", "", spec.as_dict(), 1, "u32", "explore").as_dict()
    request = replace(HostRequest(manifest, ["x"], 0, [0], b"", [0], 1), **changes)
    data_pool = DataRedisPool(redis.Redis.from_url(main) if isinstance(main, str) else main)
    return host.perform(task, spec.build(), "s", request.shared, request.arrays(*keys), data_pool)


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"partition": b"\0" * 4, "owners": [0, 0]}, []), ({"partition": b"\0" * 3}, []),
        ({"partition": b"\0\0\0\5" * 2, "owners": [0] * 3}, []),
        ({}, [3, 2, 1]), ({}, [1, 1]),
    ],
    ids=str,
)  # fmt: skip
def test_ranges_and_keys_that_cannot_be_kept_are_refused(changes: dict[str, Any], keys: list[int], host: Host) -> None:
    with pytest.raises(PayloadError, match="not readable"):
        asked(host, "host-take", np.array(keys or [0], dtype=np.uint32), **changes)
    with pytest.raises(PayloadError, match="not readable"):
        asked(host, "host-take", np.zeros(1, dtype=np.uint64))
    asked(host, "host-take", np.array([0], dtype=np.uint32))


def test_a_manifest_with_other_keys_than_its_puzzle_is_refused_each_time(host: Host) -> None:
    puzzle = PuzzleSpec("pancakes", {"n": "4"}).as_dict()
    manifest = Manifest(FORMAT_VERSION, "a", "", puzzle, 1, "u128", "explore").as_dict()
    for _ in range(2):
        with pytest.raises(TaskError, match="different key layouts"):
            asked(host, "host-take", np.array([0], dtype=np.uint32), manifest=manifest)


def test_errors_of_a_host_name_the_run_as_its_user_does(tmp_path: Path) -> None:
    with closing(Host(tmp_path, 1)) as host:
        asked(host, "host-take", np.array([0], dtype=np.uint32))
    (part,) = tmp_path.glob("run-*")
    (part / DATA_FILE).write_bytes(b"?" * 9_000)
    with closing(Host(tmp_path, 1)) as host, pytest.raises(DamagedError) as raised:
        asked(host, "host-index", depth=0)
    assert "the data file of run a is damaged" in str(raised.value)
    assert part.name not in str((raised.value, raised.value.hints))


def test_a_part_that_is_deleted_can_be_renamed_back_for_a_day(host: Host, tmp_path: Path) -> None:
    store, keys = tmp_path / "host", np.array([0], dtype=np.uint32)
    asked(host, "host-take", keys)
    (before,) = store.glob("run-*")
    asked(host, "host-leave")
    asked(host, "host-leave")
    (deleted,) = store.glob("deleted-*")
    assert not before.exists()
    host.remove_deleted()
    deleted.rename(before)
    assert asked(host, "host-index", depth=0)[0].tolist() == [0]
    for _ in range(2):
        asked(host, "host-take", keys)
        asked(host, "host-leave")
    old, young = store.glob("deleted-*")
    os.utime(old, (0, time() - 86_401))
    host.remove_deleted()
    assert list(store.glob("deleted-*")) == [young]


def test_blocks_that_are_not_awaited_or_not_whole_are_no_copies(host: Host, tmp_path: Path) -> None:
    two = {"partition": b"\0\0\0\x0c", "owners": [0, 0], "targets": [0, -1], "first": 0, "depth": 0}
    low, high = (code_keys(0, np.array(keys, dtype=np.uint32)) for keys in ([3, 5], [14, 15]))
    damaged = low._replace(data=memoryview(bytes([*low.data[:-1], low.data[-1] ^ 1])))
    refused = {
        "unexpected blocks": [(1, high), (2, low), (-1, low)],
        "outside range 0": [(0, high)],
        "damaged": [(0, damaged)],
    }
    with RedisServer(tmp_path / "redis") as server:
        keys = np.array([0], dtype=np.uint32)
        asked(host, "host-take", keys, main=server.client, **two | {"depth": 1, "targets": []})
        attempts = count()
        for reason, parts in [*refused.items(), ("", [(0, low)])]:
            for each in parts:
                attempt = next(attempts)
                server.client.rpush(inbox_key("s", "x", 0, attempt), pack_message(0, 0, [each]))
                asked(host, "host-send", main=server.client, attempt=attempt, **two)
                with pytest.raises(PayloadError, match=reason) if reason else nullcontext():
                    asked(host, "host-receive", main=server.client, attempt=attempt, expected=[1], **two)
                with pytest.raises(PayloadError, match="was restarted"):
                    asked(host, "host-receive", main=server.client, attempt=attempt, expected=[1], **two)
        own, copied = asked(host, "host-index", main=server.client, **two)
    assert (own.tolist(), copied.tolist()) == ([0], [3])


def test_garbage_in_an_inbox_is_refused_at_once_and_the_layer_made_again(host: Host, tmp_path: Path) -> None:
    with RedisServer(tmp_path / "redis") as server:
        asked(host, "host-take", np.array([0], dtype=np.uint32), main=server.client)
        for attempt, each in enumerate([b"", b"garbage", pack_arrays([np.arange(3)])[:-1]]):
            server.client.rpush(inbox_key("s", "x", 1, attempt), each)
            asked(host, "host-expand", main=server.client, attempt=attempt)
            with pytest.raises(PayloadError, match="readable"):
                asked(host, "host-merge", main=server.client, attempt=attempt, round=1, expected=[1])
        asked(host, "host-expand", main=server.client, attempt=9)
        (figures,) = asked(host, "host-merge", main=server.client, attempt=9, round=1, expected=[0])
    assert unpacked([figures], HostMerged).size == 3


def test_a_host_goes_on_after_a_disk_was_full(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = np.array([0], dtype=np.uint32)
    with monkeypatch.context() as full, pytest.raises(DiskFullError):
        full.setattr(Environment, "write", partial(_fail, Environment.write))
        asked(host, "host-take", keys)
    asked(host, "host-take", keys)
    with monkeypatch.context() as full, pytest.raises(DiskFullError):
        full.setattr(Environment, "write", partial(_fail, Environment.write))
        asked(host, "host-take", keys)
    asked(host, "host-take", keys)
    firsts, _ = asked(host, "host-index", depth=0)
    assert firsts.tolist() == keys[:1].tolist()


def _fail(*_: object, **__: object) -> None:
    raise DiskFullError("the disk is full")


def test_a_directory_that_cannot_be_one_of_a_host_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for directory in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/hakoiri")):
        with pytest.raises(NotWritableError):
            Host(directory, 1)


def test_a_host_keeps_its_name(tmp_path: Path) -> None:
    names = set()
    for _ in range(2):
        with closing(Host(tmp_path / "host", 1)) as host:
            names.add(host.name)
    assert len(names) == 1
    (tmp_path / "host" / "host").write_text("two words\n", encoding="utf-8")
    with pytest.raises(TaskError, match="does not hold a host name"):
        Host(tmp_path / "host", 1)


def test_answers_are_read_as_they_were_written() -> None:
    expanded = HostExpanded(5, (1 << 64) - 1, 0.5, 2, [0, 3], 900, True, 1, [4, 0])
    for answer in (expanded, HostMerged(5, 1, "0" * 32, 9, 7, 8, 0.0, 0.5, [0, 6])):
        assert unpacked(packed(answer), type(answer)) == answer


@pytest.mark.parametrize(
    "changes", [{"size": "5"}, {"size": None}, {"flow": "0x5"}, {"sent": 7}, {"bytes": True}, {"finished": 1}]
)
def test_what_is_no_answer_is_refused(changes: dict[str, object]) -> None:
    answer = asdict(HostExpanded(5, 6, 0.5, 2, [0, 3], 900, False, 1, [4, 0]))
    with pytest.raises(PayloadError, match="a message is not readable"):
        unpacked(packed(answer | changes), HostExpanded)


def test_a_digest_that_is_none_is_refused() -> None:
    merged = asdict(HostMerged(5, 1, "0" * 32, 9, 7, 8, 0.0, 0.5, [0, 6]))
    for digest in ("x" * 32, "", "0" * 15):
        with pytest.raises(PayloadError, match="a message is not readable"):
            unpacked(packed(merged | {"digest": digest}), HostMerged)


def test_what_is_no_map_is_refused() -> None:
    for raw in (b"", b"\xc1", b"\x01", b"\x81\xa1a"):
        with pytest.raises(PayloadError):
            unpacked([np.frombuffer(raw, dtype=np.uint8)], HostMerged)
