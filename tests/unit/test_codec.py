"""Bytes that keys, records, payloads and messages become: round trips, and no damage that passes unseen."""

from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from puzzles.keys import LAYOUTS, Keys, layout_of
from storage.blocks import decode_entry, encode_layer
from storage.codec import decode_block, encode_block
from storage.errors import DamagedError
from storage.layout import block_key, split_block_key
from storage.manifest import Manifest, known_fields
from storage.records import pack_record, seal, unpack_record, unseal
from worker.errors import PayloadError
from worker.messages import MsgpackSerializer, News, Order
from worker.payload import pack_arrays, unpack_arrays

U32, U64 = np.dtype(np.uint32), np.dtype(np.uint64)
DTYPES = (U32, U64)
PAYLOAD_DTYPES = ("<u2", "<u4", "<u8", "<i4", "<i8")


@st.composite
def key_batches(draw: st.DrawFn) -> Keys:
    """Strictly increasing keys of either layout, crowded and spread out, the least and the greatest among them."""
    dtype = draw(st.sampled_from(DTYPES))
    most = int(np.iinfo(dtype).max)
    edges = st.sampled_from([0, 1, 127, 128, 129, most >> 1, most - 128, most - 1, most])
    keys = draw(st.sets(edges | st.integers(0, 400) | st.integers(0, most), min_size=1, max_size=80))
    return np.array(sorted(keys), dtype=dtype)


def flipped(raw: bytes, bit: int) -> bytes:
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def decoded_by_the_book(data: bytes, first: int, count: int, most: int) -> list[int] | None:
    """What the format's description makes of `data`, in plain Python."""
    keys, rest = [first], data
    for _ in range(count - 1):
        length = next((place + 1 for place, byte in enumerate(rest[:10]) if byte < 128), None)
        if length is None:
            return None
        difference = sum((byte & 127) << 7 * place for place, byte in enumerate(rest[:length]))
        rest = rest[length:]
        keys.append(keys[-1] + difference)
        if difference == 0 or keys[-1] > most:
            return None
    return None if rest or count < 1 else keys


@given(key_batches(), st.integers(0, 120))
@example(np.array([0, 2**64 - 1], dtype=np.uint64), 9)
@example(np.array([0, 2**64 - 1], dtype=np.uint64), 10)
@example(np.array([0, 1, 2**64 - 1], dtype=np.uint64), 10)
def test_blocks_chained_by_any_room_hold_every_key(keys: Keys, room: int) -> None:
    begin, blocks = 0, []
    while begin < len(keys):
        end, data = encode_block(keys, begin, np.empty(room, dtype=np.uint8))
        assert end > begin
        assert len(data) <= room
        assert end == len(keys) or len(data) + 10 > room
        block = decode_block(data, int(keys[begin]), end - begin, keys.dtype)
        assert block is not None
        assert block.dtype == keys.dtype
        blocks.append(block)
        begin = end
    assert np.concatenate(blocks).tolist() == keys.tolist()


@given(key_batches())
def test_a_byte_too_few_or_too_many_is_noticed(keys: Keys) -> None:
    _, data = encode_block(keys, 0, np.empty(1_000, dtype=np.uint8))
    first, count = int(keys[0]), len(keys)
    assert decode_block(data, first, count, keys.dtype) is not None
    assert decode_block(data + b"\1", first, count, keys.dtype) is None
    assert decode_block(data, first, count + 1, keys.dtype) is None
    assert count == 1 or decode_block(data[:-1], first, count, keys.dtype) is None
    assert count == 1 or decode_block(data, first, count - 1, keys.dtype) is None


TEN_BYTES = st.lists(st.sampled_from([0, 1, 2, 127, 128, 129, 255]), max_size=40).map(bytes)


@given(TEN_BYTES | st.binary(max_size=60), st.sampled_from(DTYPES), st.integers(0, 1), st.integers(-1, 45))
@example(b"\xff\xff\xff\xff\x0f", U32, 0, 2)
@example(b"\x80\x80\x80\x80\x10", U32, 0, 2)
@example(b"\xff" * 9 + b"\x01", U64, 0, 2)
@example(b"\xff" * 9 + b"\x01", U64, 1, 2)
@example(b"\x80" * 9 + b"\x02", U64, 0, 2)
@example(b"\x81" + b"\x80" * 8 + b"\x02", U64, 0, 2)
@example(b"\x80" * 10 + b"\x01", U64, 0, 2)
def test_arbitrary_bytes_decode_to_what_the_format_says_or_to_nothing(
    data: bytes, dtype: np.dtype[Any], first: int, count: int
) -> None:
    found = decode_block(data, first, count, dtype)
    expected = decoded_by_the_book(data, first, count, int(np.iinfo(dtype).max))
    assert (None if found is None else found.tolist()) == expected
    assert found is None or found.dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_long_layer_survives_its_blocks(dtype: np.dtype[Any]) -> None:
    most = int(np.iinfo(dtype).max)
    spread = np.random.default_rng(1).integers(0, most, 200_000, dtype=dtype, endpoint=True)
    keys = np.unique(np.append(spread, np.array([0, most], dtype=dtype)))
    entries = list(encode_layer(3, keys))
    names = [name for name, _ in entries]
    assert len(entries) > 5
    assert names == sorted(set(names))
    assert all(split_block_key(name)[0] == 3 for name in names)
    assert max(len(value) for _, value in entries) <= 16 * 4096 - 16
    assert min(len(value) for _, value in entries[:-1]) > 16 * 4096 - 40
    decoded = [decode_entry(name, memoryview(value), dtype) for name, value in entries]
    assert [int(block[0]) for block in decoded] == [split_block_key(name)[1] for name in names]
    assert (np.concatenate(decoded) == keys).all()


def test_an_empty_layer_has_no_blocks() -> None:
    assert list(encode_layer(0, np.empty(0, dtype=U32))) == []


@given(key_batches(), st.data())
def test_a_damaged_or_misplaced_block_is_named(keys: Keys, data: st.DataObject) -> None:
    ((name, value),) = encode_layer(7, keys)
    bit = data.draw(st.integers(0, 8 * len(value) - 1))
    other = block_key(data.draw(st.integers(0, 9).filter(lambda depth: depth != 7)), int(keys[0]), keys.itemsize)
    with pytest.raises(DamagedError, match=rf"layer 7, block {int(keys[0]):#x} is damaged"):
        decode_entry(name, memoryview(flipped(value, bit)), keys.dtype)
    with pytest.raises(DamagedError, match="is damaged"):
        decode_entry(other, memoryview(value), keys.dtype)
    with pytest.raises(DamagedError, match="is damaged"):
        decode_entry(name, memoryview(value)[: data.draw(st.integers(0, len(value) - 1))], keys.dtype)


def test_a_sound_checksum_over_wrong_keys_is_no_excuse() -> None:
    name = block_key(2, 5, 4)
    with pytest.raises(DamagedError, match=r"layer 2, block 0x5 .*increasing"):
        decode_entry(name, memoryview(seal((2).to_bytes(4, "big") + b"\0", name)), U32)


@given(st.binary(max_size=40), st.binary(max_size=12))
def test_seals_hold_against_every_single_bit(payload: bytes, context: bytes) -> None:
    raw = seal(payload, context)
    assert bytes(unseal(raw, "it", context)) == payload
    for bit in range(8 * len(raw)):
        with pytest.raises(DamagedError, match="it is damaged"):
            unseal(flipped(raw, bit), "it", context)
    for bit in range(8 * len(context)):
        with pytest.raises(DamagedError, match="it is damaged"):
            unseal(raw, "it", flipped(context, bit))
    for length in range(4):
        with pytest.raises(DamagedError, match="it is damaged"):
            unseal(raw[:length], "it", context)


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=9)
)


@given(st.dictionaries(st.text(max_size=9), SCALARS | st.lists(SCALARS, max_size=3), max_size=6))
def test_records_survive(fields: dict[str, Any]) -> None:
    assert unpack_record(pack_record(fields), "it") == fields


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\x81\xa1", b"\x81\x01", msgpack.packb([1]), msgpack.packb(None)])
def test_a_sealed_thing_that_is_no_record_is_damage(payload: bytes) -> None:
    with pytest.raises(DamagedError, match="the state"):
        unpack_record(seal(payload), "the state")


def test_fields_of_a_later_version_are_passed_over() -> None:
    manifest = Manifest(1, "run", "now", {"name": "klotski"}, 1, "u32", "explore", False)
    later = manifest.as_dict() | {"colour": "red"}
    assert Manifest(**known_fields(Manifest, later)) == manifest


@st.composite
def number_arrays(draw: st.DrawFn) -> np.ndarray:
    dtype = np.dtype(draw(st.sampled_from(PAYLOAD_DTYPES)))
    shape = draw(st.sampled_from([(0,), (1,), (5,), (40,), (0, 2), (3, 2), (2, 0), (2, 3, 1)]))
    return draw(arrays.arrays(dtype, shape))


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and (one == other).all()


@given(st.lists(number_arrays() | key_batches(), max_size=4))
def test_payloads_survive_and_can_be_written_to(given_arrays: list[np.ndarray]) -> None:
    found = unpack_arrays(pack_arrays(given_arrays))
    assert len(found) == len(given_arrays)
    assert all(same(one, other) for one, other in zip(found, given_arrays, strict=True))
    assert all(array.flags.writeable and array.flags.c_contiguous for array in found)


def test_payloads_take_views() -> None:
    table = np.arange(24, dtype=np.uint32).reshape(6, 4)
    views = [table[:, 1], table[::2], table.T, table.astype(">u4")[:, 0], table[0, ::-1]]
    assert all((one == other).all() for one, other in zip(unpack_arrays(pack_arrays(views)), views, strict=True))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_sorted_keys_travel_small(dtype: np.dtype[Any]) -> None:
    keys = np.arange(0, 10_000_000, 100, dtype=dtype)
    assert len(pack_arrays([keys])) < 1.1 * len(keys)


def test_damaged_payloads_are_refused() -> None:
    keys = np.array([3, 5, 900], dtype=np.uint64)
    raw = pack_arrays([keys, np.array([[1, -2], [3, 4]], dtype=np.int32), np.empty(0, dtype=np.uint16)])
    for length in range(len(raw)):
        with pytest.raises(PayloadError):
            unpack_arrays(raw[:length])
    for bit in range(8 * len(raw)):
        with pytest.raises(PayloadError):
            unpack_arrays(flipped(raw, bit))
    with pytest.raises(PayloadError):
        unpack_arrays(raw + b"\0")


JUNK = st.recursive(SCALARS | st.binary(max_size=9), lambda inner: st.lists(inner, max_size=5), max_leaves=12)
ODD_ENTRIES = st.tuples(
    st.sampled_from(["k", "r", "x", b"k"]) | JUNK,
    st.sampled_from(["u32", "u64", *PAYLOAD_DTYPES, "O", ">f8"]) | JUNK,
    st.lists(st.integers(-2, 9) | st.sampled_from([2**32, 2**63, 2**64 - 1]), max_size=3) | JUNK,
    st.binary(max_size=20) | JUNK,
)


@given(st.lists(ODD_ENTRIES | JUNK, max_size=2) | JUNK)
@example([["k", "u32", [], b"\0\0\0\1"]])
@example([["r", "<u4", [2**63], b""]])
@example([["k", "u32", [2**64 - 1], b"\0\0\0\1"]])
@example([["k", "u64", [1], b"\1"]])
def test_sealed_junk_is_refused_or_is_arrays(junk: Any) -> None:
    try:
        found = unpack_arrays(seal(msgpack.packb(junk)))
    except PayloadError as refusal:
        assert "payload in Redis" in str(refusal)
    else:
        assert all(isinstance(array, np.ndarray) and array.dtype.kind in "iu" for array in found)


NEWS = st.builds(
    News,
    st.sampled_from(["started", "done", "missing", "failed", "refused"]),
    st.text(max_size=12),
    st.integers(0, 2**31),
    st.text(max_size=12),
    st.text(max_size=40),
)


@given(NEWS)
def test_news_survives(news: News) -> None:
    assert News.unpack(news.pack()) == news


@given(st.binary(max_size=30) | (JUNK | st.dictionaries(st.text(max_size=4), JUNK, max_size=4)).map(msgpack.packb))
@example(b"")
@example(msgpack.packb({"kind": "done", "token": "1"}))
@example(msgpack.packb({"kind": "done", "token": "1", "attempt": 1, "worker": "w", "colour": "red"}))
@example(msgpack.packb({1: "done"}, strict_types=True))
@example(News("done", "1", 1, "w").pack() + b"\0")
def test_junk_is_no_news(raw: bytes) -> None:
    with pytest.raises(PayloadError, match="message in Redis"):
        News.unpack(raw)


@pytest.mark.parametrize(
    "wrong",
    [{"kind": "gossip"}, {"kind": 3}, {"token": None}, {"attempt": "1"}, {"worker": [1]}, {"detail": 5}],
    ids=str,
)
def test_news_of_the_wrong_kind_or_types_is_refused(wrong: dict[str, Any]) -> None:
    fields = {"kind": "done", "token": "1", "attempt": 1, "worker": "w", "detail": ""} | wrong
    with pytest.raises(PayloadError, match="message in Redis"):
        News.unpack(msgpack.packb(fields))


@given(st.text(max_size=9), st.text(max_size=9), st.integers(0, 99), st.integers(-1, 99))
def test_orders_survive_the_serializer_that_knows_no_code(session: str, token: str, attempt: int, stage: int) -> None:
    order = Order(session, token, attempt, stage, {"name": "klotski", "options": {"metric": "unit"}, "start": None}, 1)
    assert Order(**MsgpackSerializer.loads(MsgpackSerializer.dumps(order.as_dict()))) == order


def test_the_serializer_refuses_objects() -> None:
    with pytest.raises(TypeError):
        MsgpackSerializer.dumps(object())


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_have_names(name: str) -> None:
    assert layout_of(LAYOUTS[name]) == name


def test_other_dtypes_are_no_keys() -> None:
    with pytest.raises(KeyError):
        layout_of(np.dtype(np.int64))
