"""Msgpack that others may have written takes no memory beyond its bytes, and hides no other run."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hakoiri.errors import HakoiriError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import MOST_UNTYPED, pack_record, seal, unpack_record
from hakoiri.storage.names import MANIFEST_KEY, META, STATE_KEY
from hakoiri.web.settings import Settings
from hakoiri.worker.hosts.requests import HostExpanded, HostRequest
from hakoiri.worker.studies.deals import SolveResult
from hakoiri.worker.transport.payload import Event, MsgpackSerializer, unpack_arrays, unpacked
from tests.support.commands import Hakoiri
from tests.support.web import TOKEN, client_of

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
