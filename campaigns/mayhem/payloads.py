"""Fuzzed payloads, thousands at a time, to all that reads bytes from Redis: refused by name, or read as they are."""

import random
import zlib
from collections.abc import Callable
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, cast
from unittest.mock import patch

import msgpack
import numpy as np
import redis
from rq.exceptions import DeserializationError, NoSuchJobError

from campaigns.mayhem.asker import Asker
from campaigns.mayhem.mutation import EDGES, mutated
from campaigns.mayhem.records import read_records
from campaigns.mayhem.trials import Measure, Outcome, Part, Trial
from hakoiri.errors import HakoiriError, TaskError
from hakoiri.keys.layout import LAYOUTS, ints
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.blocks import HEADER_BYTES, Block, code_keys, decode
from hakoiri.storage.ledger.manifest import seal
from hakoiri.storage.names import block_key
from hakoiri.worker.hosts.requests import HostMerged, HostRequest
from hakoiri.worker.rq_worker import TaskJob
from hakoiri.worker.transport import payload
from hakoiri.worker.transport.connection import HostBeat, without_password
from hakoiri.worker.transport.data_redis import open_data_redis
from hakoiri.worker.transport.payload import (
    Event,
    MsgpackSerializer,
    TaskRequest,
    pack_arrays,
    packed,
    unpack_arrays,
    unpacked,
)

_AT_ONCE, _MOST_SECONDS = 5_000, 120.0
_CRC_BYTES = 4


def _sealed(raw: bytes, chance: random.Random) -> bytes:
    """A mutation behind a checksum that fits, as anybody could compute it, or behind that of the original."""
    return mutated(raw, chance) if chance.random() < 0.3 else seal(mutated(raw[_CRC_BYTES:], chance))


def _arrays(chance: random.Random) -> None:
    keys = np.unique(np.array([chance.getrandbits(31) for _ in range(chance.randint(1, 60))], dtype=np.uint32))
    numbers = np.array([chance.getrandbits(40) for _ in range(chance.randint(0, 9))], dtype=np.int64)
    unpack_arrays(_sealed(pack_arrays([keys, numbers]), chance))


def _answers(chance: random.Random) -> None:
    """Read the answer of a host about its part of a layer."""
    fields = asdict(HostMerged(5, 1, "0" * 32, 300, 0, 700, 0.5, 0.9, [2, 3]))
    if chance.random() < 0.5:
        fields[chance.choice(sorted(fields))] = chance.choice((None, -1, 2**63, 1.5, b"\xff", "x" * 99, [], {}, True))
    (answer,) = packed(fields)
    unpacked([answer if chance.random() < 0.5 else _changed(answer, chance)], HostMerged)


def _requests(chance: random.Random) -> None:
    """Read a request to a host that no coordinator sent."""
    fields = HostRequest(
        {"layout": "u32"}, ["den-1", "den-2"], 1, [0, 7], bytes([0, 0, 0, 9, 0, 0, 0, 40]), [0, 1, 0], 4
    )
    request, *_ = arrays = fields.arrays(np.array([3, 9], dtype=np.uint32))
    if chance.random() < 0.5:
        arrays[0] = _changed(request, chance)
    else:
        _harm(arrays, chance)
    HostRequest.read(fields.shared, arrays, "s").cuts.table.sum()


def _changed(array: np.ndarray[Any, Any], chance: random.Random) -> np.ndarray[Any, Any]:
    return np.frombuffer(mutated(array.tobytes(), chance), dtype=np.uint8)


def _events(chance: random.Random) -> None:
    event = Event("missing", "3.4", 2, "den-1", "too little memory").pack()
    if chance.random() < 0.5:
        fields = msgpack.unpackb(event)
        values: tuple[Any, ...] = (None, -1, 2**64 - 1, 1.5, b"\xff", "x" * 99, [], {}, [[["a"]]], True)
        fields[chance.choice(sorted(fields))] = chance.choice(values)
        event = msgpack.packb(fields)
    Event.unpack(event if chance.random() < 0.5 else mutated(event, chance))


def _blocks(chance: random.Random) -> None:
    layout = LAYOUTS[chance.choice(("u32", "u64", "u128", "u256"))]
    bits = chance.choice((8, layout.bytes * 8 - 1))
    keys = layout.pack(sorted({chance.getrandbits(bits) for _ in range(chance.randint(1, 60))}))
    coded = code_keys(7, keys)
    first, size = ints(coded.firsts)[0], int(coded.counts[0])
    value = bytes(coded.data[: int(coded.lengths[0])])
    if chance.random() < 0.3:
        value = mutated(value, chance)
    else:
        rest = value[_CRC_BYTES:HEADER_BYTES] + mutated(value[HEADER_BYTES:] or b"\0", chance)
        name = block_key(7, first, layout.bytes)
        value = zlib.crc32(rest, zlib.crc32(name)).to_bytes(_CRC_BYTES, "big") + rest
    found = ints(decode(Block(7, first, size, value), layout))
    assert len(found) == size, "another number of keys"
    assert all(one < other for one, other in pairwise(found)), "keys that do not increase"


def _beats(chance: random.Random) -> None:
    """Read the heartbeat of a host, which gives the address of its data Redis."""
    said = str(HostBeat("17-a", 4, "redis://:secret@10.0.0.1:6379/0")).encode()
    beat = HostBeat.read(mutated(said, chance).decode(errors="replace"))
    if beat is None:
        raise TaskError("this is no beat of a host")
    # Without its colon it cannot be recognised.
    assert ":secret" not in without_password(beat.url), "a password is told"
    open_data_redis(beat.url).close()


def _harm(arrays: list[Any], chance: random.Random) -> None:
    """One of them is gone, there twice, another one, of other numbers, shorter, of another shape, or changed."""
    place = chance.randrange(len(arrays))
    array = arrays[place]
    match chance.randrange(7):
        case 0:
            del arrays[place]
        case 1:
            arrays.insert(place, array)
        case 2:
            arrays[place] = chance.choice(arrays)
        case 3:
            arrays[place] = array.astype(chance.choice(("u1", "u2", "u4", "u8", "i4", "i8")))
        case 4:
            arrays[place] = array[: chance.randrange(len(array) + 1)]
        case 5:
            arrays[place] = array.reshape(-1, 1)
        case _ if array.size:
            arrays[place] = array.copy()
            number = chance.choice((*EDGES, chance.getrandbits(10), chance.getrandbits(31)))
            arrays[place].flat[chance.randrange(array.size)] = np.array(number).astype(array.dtype)


def _jobs(chance: random.Random) -> None:
    """Read a job as RQ does, and the request in it as a worker does."""
    request = TaskRequest("feed", "1.0", 1, -1, 60, PuzzleSpec("klotski").as_dict(), {}).as_dict()
    if chance.random() < 0.5:
        request[chance.choice(sorted(request))] = chance.choice((None, -1, 2**63, b"\xff", "x" * 99, [], {"a": []}))
    data = MsgpackSerializer.dumps(["neighbours", None, [], request])
    data = zlib.compress(data if chance.random() < 0.5 else mutated(data, chance))
    fields: dict[str, bytes] = {"data": data, "timeout": b"60", "status": b"queued", "meta": b"", "created_at": b"now"}
    name = chance.choice(sorted(fields))
    fields[name] = mutated(fields[name] or b"-", chance)
    job = TaskJob("feed-1-0-1", connection=cast(redis.Redis, _Held(fields)), serializer=MsgpackSerializer)
    job.refresh()
    named = job.func_name
    try:
        TaskRequest(**job.kwargs)
    except TypeError as error:
        raise TaskError(f"{named}: {error}") from error


class _Held:
    """The hash of one job, as a connection gives it."""

    def __init__(self, fields: dict[str, bytes]) -> None:
        self._fields = fields

    def hget(self, key: str, name: str) -> bytes | None:
        return self._fields.get(name)

    def hgetall(self, key: str) -> dict[bytes, bytes]:
        return {name.encode(): value for name, value in self._fields.items()}


def _other_order(chance: random.Random) -> None:
    """As a machine of the other byte order has them in memory, and as it reads what this one sends."""
    dtype = np.dtype(chance.choice(("<u2", "<u4", "<u8", "<i4", "<i8")))
    numbers = np.array([chance.getrandbits(15) for _ in range(chance.randint(2, 30))], dtype=dtype)
    numbers[0] = numbers.max()  # Keys that increase are coded by arithmetic, which knows no order of bytes.
    other = numbers.astype(dtype.newbyteorder(">"))
    assert pack_arrays([other]) == pack_arrays([numbers]), "other bytes"
    sent = seal(msgpack.packb([["r", dtype.str, [len(numbers)], other.tobytes()]]))
    with patch.dict(payload._DTYPES, {dtype.str: dtype.newbyteorder(">")}):
        (swapped,) = unpack_arrays(sent)
    (found,) = unpack_arrays(pack_arrays([other]))
    for each in (found, swapped):
        assert each.dtype.isnative and each.tolist() == numbers.tolist(), "other numbers"


READERS: dict[str, Callable[[random.Random], None]] = {
    "arrays of a chunk": _arrays,
    "answers of hosts": _answers,
    "events": _events,
    "coded blocks": _blocks,
    "jobs": _jobs,
    "what hosts say of themselves": _beats,
    "requests to hosts": _requests,
    "arrays of the other byte order": _other_order,
    "records of a run": read_records,
}


def _read_all(asked: tuple[str, int]) -> tuple[dict[str, float], str]:
    """Read some thousand payloads of a kind; return counts, and the first fault or an empty text."""
    kind, seed = asked
    chance, figures = random.Random(seed), {"payloads": 0.0, "refused": 0.0, "read": 0.0}
    for number in range(_AT_ONCE):
        figures["payloads"] += 1
        try:
            READERS[kind](chance)
            figures["read"] += 1
        except (HakoiriError, NoSuchJobError, DeserializationError, redis.RedisError):
            figures["refused"] += 1
        except Exception as error:
            return figures, f"payload {number}: {type(error).__name__}: {error}"
    return figures, ""


class Payloads(Part):
    """A trial is some thousand payloads of one kind."""

    name, usual, short = "payloads", 330, range(len(READERS))
    headings = ("what reads them",)
    measures: ClassVar = {
        "payloads": Measure("payloads"),
        "refused": Measure("refused by name"),
        "read": Measure("read as what they are"),
    }
    text = """\
Values that Hakoiri reads from Redis, changed: bits and bytes flipped, parts cut off or doubled, noise, fields of other
types; most of them behind a valid checksum, which anybody can compute. Each reader must refuse a value with an error of
Hakoiri's, or read what it says; a coded block has as many increasing keys as it states. Any other exception, a signal
or a hang is a fault.

*Records of a run* have wrong fields, as a run of unknown origin may have: the run must be listed, and refused or read.
*Arrays of the other byte order* must become the same bytes when sent, and the same numbers when read."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._asker = Asker(_read_all, _MOST_SECONDS)

    def run(self, trial: Trial) -> Outcome:
        kind = list(READERS)[trial.number % len(READERS)]
        answer = self._asker.ask((kind, trial.chance().getrandbits(32)))
        if isinstance(answer, str):
            return Outcome(kind, faults=[answer])
        figures, fault = answer
        return Outcome(kind, figures, [fault] if fault else [])

    def close(self) -> None:
        self._asker.close()
