"""Garbage where arrays and messages are expected: it is refused or asked for again, and the run comes out right."""

import pickle
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgpack
import numpy as np
import pytest

from hakoiri.coordinator.runs.catalogue import delete_run
from hakoiri.errors import HakoiriError, PayloadError
from hakoiri.guests.deals.searching import SolveResult
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import MOST_UNTYPED, pack_record, seal, unpack_record
from hakoiri.storage.names import MANIFEST_KEY, META, STATE_KEY
from hakoiri.web.settings import Settings
from hakoiri.worker.hosts.requests import HostExpanded, HostRequest
from hakoiri.worker.layers.step import Partial
from hakoiri.worker.transport.payload import Event, MsgpackSerializer, unpack_arrays, unpacked
from tests.support.commands import FinishedRuns, Hakoiri, Running
from tests.support.servers import RedisServer, comes_out_right, held_run
from tests.support.web import TOKEN, client_of
from tests.system.conftest import StartWorkers


class Evil:
    """Pickled, it fails the test where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('unpickled')",)


@pytest.mark.ci_slow
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


@pytest.mark.ci_slow
def test_garbage_among_the_news_stops_no_run(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    running = send_news(hakoiri, redis_server, list(GARBAGE.values()))
    with workers(redis_server.url, 1):
        comes_out_right(running, finished)


# Msgpack that others may have written takes no memory beyond its bytes, and hides no other run


#: An array of empty maps, of one byte each; they would take 72 times as much memory.
_COUNT = 5_000_000
_HOSTILE = b"\xdd" + _COUNT.to_bytes(4, "big") + b"\x80" * _COUNT
_IN_A_MAP = b"\x81\xa4plan" + _HOSTILE
_AS_ARRAY = np.frombuffer(_IN_A_MAP, dtype=np.uint8)
READERS: dict[str, Callable[[], object]] = {
    "payload": lambda: unpack_arrays(seal(_HOSTILE)),
    "request": lambda: unpacked([_AS_ARRAY], HostRequest, MOST_UNTYPED),
    "answer": lambda: unpacked([_AS_ARRAY], HostExpanded),
    "result": lambda: unpacked([_AS_ARRAY], SolveResult),
    "event": lambda: Event.unpack(_IN_A_MAP),
    "job": lambda: MsgpackSerializer.loads(_IN_A_MAP),
    "record": lambda: unpack_record(seal(_IN_A_MAP), "record"),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_is_not_read_takes_no_memory(read: Callable[[], object]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises((HakoiriError, ValueError)) as refused:
            read()
        assert tracemalloc.get_traced_memory()[1] < 3 * _COUNT
    finally:
        tracemalloc.stop()
    assert len(str(refused.value)) < 300
    assert "\n" not in str(refused.value)


def nested(levels: int) -> dict[str, Any]:
    """A map within a map, and so on."""
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"in": found}
    return found


@pytest.mark.parametrize(("record", "field"), [(MANIFEST_KEY, "plan"), (STATE_KEY, "figures")])
def test_a_deep_record_of_a_run_hides_no_other_run(record: bytes, field: str, hakoiri: Hakoiri) -> None:
    sound, deep = (hakoiri.ask("enqueue", "pancakes", "-o", f"n={n}")["run"] for n in (3, 4))
    with Ledger(hakoiri.data / deep, writable=True) as ledger:
        fields = ledger.read_record(META, record, "record") | {field: nested(500)}
        ledger._environment.write([(META, record, pack_record(fields, META + record))])
    assert [(row["run"], row["status"]) for row in hakoiri.ask("runs")["runs"]] == [
        (sound, "queued"),
        (deep, "damaged"),
    ]
    refused = hakoiri.here("status", deep, check=False)
    assert (refused.code, refused.stdout, refused.error.count("\n")) == (1, "", 0)
    assert f"run {deep}: {record.decode()} is malformed" in refused.error
    with client_of(Settings(hakoiri.data, token=TOKEN)) as client:
        rows = client.get("/api/runs", headers={"Authorization": f"Bearer {TOKEN}"}).json()["runs"]
    assert {row["run"]: row["status"] for row in rows} == {sound: "queued", deep: "damaged"}
    assert hakoiri.ask("delete", deep, "--yes") == {"runs": [deep], "status": "deleted"}
    assert hakoiri.ask("status", sound)["status"] == "queued"


@pytest.mark.parametrize(
    "entries",
    [
        None, 5, [5], [[]], {"k": 1}, [["p", "u32", [1], pickle.dumps(Evil())]],
        [["r", "|O", [1], pickle.dumps(Evil())]], [["r", ["<i8"], [1], bytes(8)]], [["r", "<i8", [2], bytes(8)]],
        [["r", "<i8", [2**64 - 1], b""]], [["r", "<i8", "trap", bytes(8)]], [["k", "u32", [2**62], bytes(8)]],
        [["k", "u32", [-1], bytes(8)]], [["k", "u32", [], bytes(8)]], [["k", "u32", [3], b"\xff" * 40]],
    ],
)  # fmt: skip
def test_a_hostile_payload_is_refused_as_one(entries: Any) -> None:
    """Its checksum is right: anybody can compute one."""
    with pytest.raises(PayloadError):
        unpack_arrays(seal(msgpack.packb(entries)))


def test_runs_that_belong_to_each_other_are_deleted(hakoiri: Hakoiri) -> None:
    one, other = (hakoiri.ask("enqueue", "pancakes", "-o", f"n={n}")["run"] for n in (3, 4))
    for run, base in ((one, other), (other, one)):
        with Ledger(hakoiri.data / run, writable=True) as ledger:
            manifest = replace(ledger.manifest, plan={"base": base})
            ledger.stage_record(META, MANIFEST_KEY, manifest.as_dict())
            ledger.commit(ledger.state)
    assert sorted(delete_run(hakoiri.data / one)) == sorted([one, other])
    assert list(hakoiri.data.iterdir()) == []


def test_a_partial_record_of_another_kind_is_passed_over(hakoiri: Hakoiri) -> None:
    """One of an earlier version, or of other work: its layer is begun anew."""
    run = hakoiri.ask("enqueue", "pancakes", "-o", "n=3")["run"]
    for fields in ({"last": "0x0"}, {"depth": "1", "partition": b""}, nested(300)):
        with Ledger(hakoiri.data / run, writable=True) as ledger:
            ledger.stage(META, b"partial", pack_record(fields, META + b"partial"))
            ledger.commit(ledger.state)
            assert ledger.has_partial
            assert ledger.read_partial(Partial) is None


@pytest.mark.parametrize("value", [{"a": 1, "b": [1.5, None, "x"]}, [], -5, 2**64 - 1, "é", b"\0" * 300])
def test_what_msgpack_writes_is_read(value: object) -> None:
    assert MsgpackSerializer.loads(msgpack.packb(value)) == value
