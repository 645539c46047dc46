"""Foreign records of a run: manifest, state and layers with any fields, behind checksums that fit."""

import json
import random
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest.mock import patch

import msgpack

from hakoiri.coordinator.runs.catalogue import listed_status
from hakoiri.coordinator.runs.create import make_run, open_job
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.rows.runs import status_row
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import pack_record, unpack_record
from hakoiri.storage.names import LAYERS, LIMITS_KEY, MANIFEST_KEY, META, STATE_KEY, number_key

#: Values that a field may have instead of its own.
_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2**31, 2**63 - 1, -(2**63), 1.5, float("nan"), float("inf"), "", "x" * 300, "\x1b[2J", "..",
    "/etc/passwd", "klotski", "complete", "running", b"", b"\xff", [], {}, [[]], [1, "2"], {"a": {}}, {1: 2},
)  # fmt: skip
#: The manifest comes up most often: nothing is known of a run before it is read.
_RECORDS = ((META, MANIFEST_KEY), (META, MANIFEST_KEY), (META, STATE_KEY), (META, LIMITS_KEY), (LAYERS, number_key(0)))


def read_records(chance: random.Random) -> None:
    """Look at a run as `runs`, `status` and every question do, some of whose fields are others."""
    directory, records = _run()
    changed = dict(records)
    for _ in range(chance.randint(1, 3)):
        place = chance.choice(_RECORDS)
        fields = unpack_record(changed[place], "record", b"".join(place))
        changed[place] = pack_record(_other(fields, chance), b"".join(place))
    stored = Ledger.read

    def read(self: Ledger, database: bytes, name: bytes) -> bytes | None:
        return changed[database, name] if (database, name) in changed else stored(self, database, name)

    with patch.object(Ledger, "read", read):
        found = listed_status(directory)
        if found is not None:
            json.dumps(status_row(found))
        with RunStore(directory) as store:
            open_job(store, Resources())
            store.layer_record(0)


def _other(value: Any, chance: random.Random) -> Any:
    """The same with another value somewhere: at the top, or further in."""
    keys = list(value) if isinstance(value, Mapping) else list(range(len(value)))
    if not keys:
        return {"more": chance.choice(_VALUES)} if isinstance(value, Mapping) else [chance.choice(_VALUES)]
    other: Any = dict(value) if isinstance(value, Mapping) else list(value)
    key = chance.choice(keys)
    match chance.randrange(5):
        case 0:
            del other[key]
        case 1 if isinstance(other, dict):
            other[chance.choice(("more", "digest", "mode", 7))] = chance.choice(_VALUES)
        case 2 | 3 if isinstance(value[key], list | dict):
            other[key] = _other(value[key], chance)
        case _:
            other[key] = chance.choice(_VALUES)
    return msgpack.unpackb(msgpack.packb(other), strict_map_key=False)


@cache
def _run() -> tuple[Path, dict[tuple[bytes, bytes], bytes]]:
    """A finished run, and its records."""
    directory = make_run(Path(mkdtemp()), PuzzleSpec("tiles", {"columns": "2"}), "explore", {}, Resources())
    drive(directory, Resources(), Control(), SilentObserver())
    with Ledger(directory) as ledger:
        return directory, {place: ledger.read(*place) or b"" for place in _RECORDS}
