"""Bytes that keys, records, payloads and messages become: round trips, and no damage that passes unseen."""

from itertools import pairwise
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hakoiri.errors import DamagedError, Hint, PayloadError
from hakoiri.keys.layout import BATCHES, LAYOUTS, U32, U64, U128, U256, U512, U2048, Key, Keys, Layout, ints, layout_of
from hakoiri.storage.layers import blocks as blocks_module
from hakoiri.storage.layers.blocks import (
    ROOM_BYTES,
    Block,
    Coded,
    code_keys,
    decode,
    join_blocks,
    lanes_of,
    sum_words,
)
from hakoiri.storage.layers.codec import (
    MOST_WORD_BYTES,
    decode_block,
    encode_bits,
    encode_block,
    list_coded,
    longest_varint,
    set_coded,
)
from hakoiri.storage.ledger.manifest import Manifest, pack_record, seal, unpack_record, unseal
from hakoiri.storage.names import block_key
from hakoiri.worker.transport import payload
from hakoiri.worker.transport.payload import Event, MsgpackSerializer, TaskRequest, pack_arrays, unpack_arrays
from tests.support.keys import every_layout, increasing_keys, layouts

PAYLOAD_DTYPES = ("|u1", "<u2", "<u4", "<u8", "<i4", "<i8")
every_batch = pytest.mark.parametrize("layout", BATCHES.values(), ids=BATCHES)


def batch(layout: Layout, *keys: Key) -> Keys:
    return layout.pack(keys)


@st.composite
def key_batches(draw: st.DrawFn) -> Keys:
    """Strictly increasing keys of any layout."""
    layout: Layout = draw(layouts)
    keys: list[Key] = draw(increasing_keys(layout, min_size=1))
    return layout.pack(keys)


def flipped(raw: bytes, bit: int) -> bytes:
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def varint(difference: int) -> bytes:
    """Seven bits a byte, the lowest first; every byte but the last has its highest bit set."""
    groups = [difference >> place & 127 for place in range(0, max(1, difference.bit_length()), 7)]
    return bytes([*(group | 128 for group in groups[:-1]), groups[-1]])


def most_bytes(layout: Layout) -> int:
    """A number's bytes: as many as the words of a kernel take in."""
    return max(10, -(-layout.bits // 7))


def decoded_by_the_book(data: bytes, first: Key, count: int, layout: Layout) -> list[Key] | None:
    """Decode `data` by the description of the format, in plain Python."""
    keys, rest = [first], data
    for _ in range(count - 1):
        length = next((place + 1 for place, byte in enumerate(rest[: most_bytes(layout)]) if byte < 128), None)
        if length is None:
            return None
        difference = sum((byte & 127) << 7 * place for place, byte in enumerate(rest[:length]))
        rest = rest[length:]
        keys.append(keys[-1] + difference)
        if difference == 0 or keys[-1] > layout.greatest:
            return None
    return None if rest or count < 1 else keys


@given(key_batches(), st.integers(0, 140))
@example(batch(U64, 0, 2**64 - 1), 9)
@example(batch(U64, 0, 2**64 - 1), 10)
@example(batch(U64, 0, 1, 2**64 - 1), 10)
@example(batch(U128, 0, 2**128 - 1), 18)
@example(batch(U128, 0, 2**128 - 1), 19)
@example(batch(U256, 0, 1, 2**256 - 1), 37)
@example(batch(U256, 2**255, 2**256 - 2, 2**256 - 1), 38)
@example(batch(U512, 0, 2**70, 2**70 + 1, 2**511, 2**512 - 1), 74)
@example(batch(U2048, 0, 1, 2**64, 2**2047, 2**2048 - 1), 293)
def test_blocks_chained_by_any_room_hold_every_key(keys: Keys, room: int) -> None:
    begin, blocks, layout = 0, [], layout_of(keys)
    longest = longest_varint(layout)
    while begin < len(keys):
        end, _, data = encode_block(keys, begin, np.empty(room, dtype=np.uint8), layout)
        assert end > begin
        assert len(data) <= room
        assert end == len(keys) or len(data) + longest > room
        assert data.tobytes() == b"".join(varint(after - before) for before, after in pairwise(ints(keys[begin:end])))
        block = decode_block(data, ints(keys[begin : begin + 1])[0], end - begin, layout)
        assert block is not None
        assert layout.holds(block)
        blocks.append(block)
        begin = end
    assert ints(np.concatenate(blocks)) == ints(keys)


@every_layout
def test_differences_of_every_size_survive(layout: Layout) -> None:
    edges = [edge for bits in range(layout.bits) for edge in ((1 << bits) - 1, 1 << bits, (1 << bits) + 1)]
    for difference in [edge for edge in edges if 0 < edge <= layout.greatest]:
        for first in {0, layout.greatest - difference, (layout.greatest - difference) // 3}:
            keys = layout.pack([first, first + difference])
            *_, data = encode_block(keys, 0, np.empty(longest_varint(layout), dtype=np.uint8), layout)
            assert data.tobytes() == varint(difference)
            found = decode_block(data, first, 2, layout)
            assert found is not None
            assert ints(found) == [first, first + difference]
            # One more than there is room for above the first key.
            beyond = varint(layout.greatest - first + 1)
            assert decode_block(beyond, first, 2, layout) is None


@given(key_batches())
def test_a_byte_too_few_or_too_many_is_noticed(keys: Keys) -> None:
    layout = layout_of(keys)
    *_, data = encode_block(keys, 0, np.empty(4_000, dtype=np.uint8), layout)
    first, count, raw = ints(keys[:1])[0], len(keys), data.tobytes()
    assert decode_block(raw, first, count, layout) is not None
    assert decode_block(raw + b"\1", first, count, layout) is None
    assert decode_block(raw, first, count + 1, layout) is None
    assert count == 1 or decode_block(raw[:-1], first, count, layout) is None
    assert count == 1 or decode_block(raw, first, count - 1, layout) is None
    assert decode_block(raw, layout.greatest + 1, count, layout) is None


@pytest.mark.ci_slow
@given(key_batches(), st.data())
def test_damaged_bytes_give_other_increasing_keys_or_nothing(keys: Keys, data: st.DataObject) -> None:
    layout = layout_of(keys)
    *_, differences = encode_block(keys, 0, np.empty(4_000, dtype=np.uint8), layout)
    raw, first = differences.tobytes(), ints(keys[:1])[0]
    for _ in range(4):
        if raw:
            raw = flipped(raw, data.draw(st.integers(0, 8 * len(raw) - 1)))
        found = decode_block(raw, first, len(keys), layout)
        assert (None if found is None else ints(found)) == decoded_by_the_book(raw, first, len(keys), layout)
        assert found is None or all(before < after for before, after in pairwise(ints(found)))


MANY_BYTES = st.lists(st.sampled_from([0, 1, 2, 3, 4, 15, 16, 127, 128, 129, 255]), max_size=80).map(bytes)


@given(MANY_BYTES | st.binary(max_size=60), layouts, st.sampled_from([0, 1, 2, 3]), st.integers(-1, 45))
@example(b"\xff\xff\xff\xff\x0f", U32, 0, 2)
@example(b"\x80\x80\x80\x80\x10", U32, 0, 2)
@example(b"\xff" * 9 + b"\x01", U64, 0, 2)
@example(b"\xff" * 9 + b"\x01", U64, 1, 2)
@example(b"\x80" * 9 + b"\x02", U64, 0, 2)
@example(b"\x81" + b"\x80" * 8 + b"\x02", U64, 0, 2)
@example(b"\x80" * 10 + b"\x01", U64, 0, 2)
@example(b"\xff" * 18 + b"\x03", U128, 0, 2)
@example(b"\xff" * 18 + b"\x03", U128, 1, 2)
@example(b"\x80" * 18 + b"\x04", U128, 0, 2)
@example(b"\x81" + b"\x80" * 18 + b"\x00", U128, 0, 2)
@example(b"\x81" + b"\x80" * 17 + b"\x00", U128, 0, 2)
@example(b"\xff" * 36 + b"\x0f", U256, 0, 2)
@example(b"\xff" * 36 + b"\x0f", U256, 1, 2)
@example(b"\x80" * 36 + b"\x10", U256, 0, 2)
@example(b"\x81" + b"\x80" * 36 + b"\x00", U256, 0, 2)
def test_arbitrary_bytes_decode_to_what_the_format_says_or_to_nothing(
    data: bytes, layout: Layout, where: int, count: int
) -> None:
    first = [0, 1, layout.greatest // 2, layout.greatest - 300][where]
    found = decode_block(data, first, count, layout)
    assert (None if found is None else ints(found)) == decoded_by_the_book(data, first, count, layout)
    assert found is None or layout.holds(found)


@every_layout
def test_a_long_layer_survives_its_blocks(layout: Layout) -> None:
    words = np.random.default_rng(1).integers(0, 2**64, (200_000 // layout.words, layout.words), dtype=np.uint64)
    if layout.words == 1:
        keys = np.unique((words[:, 0] >> np.uint64(64 - layout.bits)).astype(layout.dtype))
    else:
        keys = words[np.lexsort(words.T[::-1])]
    keys = np.concatenate([layout.pack([0]), keys, layout.pack([layout.greatest])])
    coded = code_keys(3, keys)
    values = list(coded.values())
    assert len(values) > 5
    assert ints(coded.firsts) == sorted(set(ints(coded.firsts)))
    assert max(map(len, values)) <= 16 * 4096 - 16
    assert min(map(len, values[:-1])) > 16 * 4096 - 30 - longest_varint(layout)
    decoded = [decode(block, layout) for block in coded.blocks(3)]
    assert [ints(block[:1])[0] for block in decoded] == ints(coded.firsts)
    assert (np.concatenate(decoded) == keys).all()


@st.composite
def bitmaps(draw: st.DrawFn) -> Any:
    """Some words, few of which hold any keys."""
    words = np.zeros(draw(st.sampled_from([1, 3, 300, 20_000])), dtype=np.uint64)
    places = draw(st.lists(st.integers(0, len(words) - 1), max_size=9))
    words[places] = [draw(st.integers(1, 2**64 - 1)) for _ in places]
    return words


@given(bitmaps(), st.integers(MOST_WORD_BYTES, 60))
def test_bits_chained_by_any_room_hold_every_key(words: Any, room: int) -> None:
    bits = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    found, end = [], len(words) * 64
    begin, count, used = encode_bits(words, 0, end, np.empty(0, dtype=np.uint8))
    assert (begin, count, used) == (int(bits[0]) if len(bits) else end, 0, 0)
    while begin < end:
        raw = np.empty(room, dtype=np.uint8)
        following, count, used = encode_bits(words, begin, end, raw)
        data = raw[:used].tobytes()
        keys = list_coded(data, begin // 64 * 64, U64.empty(count))
        assert keys is not None and keys[0] == begin
        assert list_coded(data, 0, U64.empty(count + 1)) is list_coded(data, 0, U64.empty(count - 1)) is None
        assert list_coded(data[:-1], 0, U64.empty(count)) is None
        again, first = np.zeros(len(words), dtype=np.uint64), begin // 64
        assert set_coded(data, again[first:]) == count
        assert np.flatnonzero(np.unpackbits(again.view(np.uint8), bitorder="little")).tolist() == ints(keys)
        assert set_coded(data, again[first : int(keys[-1]) // 64]) == set_coded(data[:-1], again[first:]) == -1
        found += ints(keys)
        begin = following
    assert found == bits.tolist()


@pytest.mark.parametrize("layout", [U32, U64], ids=str)
@pytest.mark.parametrize("room", [70, 1_000, ROOM_BYTES])
@pytest.mark.parametrize("per_mille", [0, 1, 40, 500, 1_000])
def test_a_bitmap_is_summed_and_coded_as_its_keys_are(
    layout: Layout, room: int, per_mille: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks end at every byte of a line, and between lines; differences take one byte and more, in turn."""
    monkeypatch.setattr(blocks_module, "ROOM_BYTES", room)
    bits = np.random.default_rng(per_mille).integers(0, 1_000, 64 * 1_500) < per_mille
    bits[20_000:50_000] = False
    words, base = np.packbits(bits, bitorder="little").view(np.uint64), 1 << 20
    keys = (np.flatnonzero(bits) + base).astype(layout.dtype)
    assert sum_words(words, base, layout) == (lanes_of(keys), None)
    if len(keys):
        lanes, found = sum_words(words, base, layout, 3, len(keys))
        assert lanes == lanes_of(keys) and found is not None
        for one, other in zip(found, code_keys(3, keys), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()


@given(st.binary(max_size=40))
@example(b"\0" + b"\xff" * 9 + b"\x7f\x01\x01")
def test_arbitrary_bytes_are_some_bits_or_none(data: bytes) -> None:
    found = [list_coded(data, 64, U64.empty(count)) for count in range(8 * len(data) + 1)]
    assert sum(keys is not None for keys in found) <= 1
    words = np.zeros(1_000, dtype=np.uint64)
    count = set_coded(data, words)
    keys = next((keys for keys in found if keys is not None and len(keys) == max(count, 0)), None)
    assert count == -1 or keys is not None


@every_layout
def test_an_empty_layer_has_no_blocks(layout: Layout) -> None:
    for coded in (code_keys(0, layout.empty(0)), join_blocks([], layout), Coded.empty(layout)):
        assert list(coded.blocks(0)) == []
        assert layout.holds(coded.firsts)
        assert len(coded.firsts) == len(coded.data) == 0


@given(key_batches())
def test_blocks_joined_again_are_what_they_were(keys: Keys) -> None:
    layout = layout_of(keys)
    coded = code_keys(9, keys)
    assert int(coded.counts.sum()) == len(keys)
    joined = join_blocks(list(coded.blocks(9)), layout)
    assert [ints(decode(block, layout)) for block in joined.blocks(9)] == [ints(keys)]
    assert bytes(joined.data) == bytes(coded.data)


@pytest.mark.ci_slow
@given(key_batches(), st.data())
def test_a_damaged_or_misplaced_block_is_named(keys: Keys, data: st.DataObject) -> None:
    layout, first = layout_of(keys), ints(keys[:1])[0]
    (block,) = code_keys(7, keys).blocks(7)
    value = bytes(block.value)
    bit = data.draw(st.integers(0, 8 * len(value) - 1))
    depth = data.draw(st.integers(0, 9).filter(lambda depth: depth != 7))
    with pytest.raises(DamagedError, match=rf"layer 7, block {first:#x} is damaged"):
        decode(block._replace(value=flipped(value, bit)), layout)
    for wrong in (
        block._replace(number=depth),
        block._replace(value=value[: data.draw(st.integers(0, len(value) - 1))]),
        block._replace(size=block.size + data.draw(st.sampled_from([-1, 1]))),
    ):
        with pytest.raises(DamagedError, match="is damaged"):
            decode(wrong, layout)


@given(key_batches(), st.data())
def test_a_sound_checksum_does_not_make_wrong_bytes_keys(keys: Keys, data: st.DataObject) -> None:
    """Whoever makes a block makes its checksum: its bytes are what the format says, or refused."""
    layout, first = layout_of(keys), ints(keys[:1])[0]
    (block,) = code_keys(7, keys).blocks(7)
    count = block.size + data.draw(st.sampled_from([-1, 0, 1]))
    raw = bytes(block.value)[8:]
    if raw:
        raw = data.draw(st.sampled_from([raw, raw[:-1], flipped(raw, data.draw(st.integers(0, 8 * len(raw) - 1)))]))
    value = seal(count.to_bytes(4, "big") + raw, block_key(7, first, layout.bytes))
    expected = decoded_by_the_book(raw, first, count, layout)
    if expected is None:
        with pytest.raises(DamagedError, match=f"its bytes are not {count} increasing keys"):
            decode(Block(7, first, count, value), layout)
    else:
        assert ints(decode(Block(7, first, count, value), layout)) == expected


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


@pytest.mark.ci_slow
@given(st.dictionaries(st.text(max_size=9), SCALARS | st.lists(SCALARS, max_size=3), max_size=6))
def test_records_survive(fields: dict[str, Any]) -> None:
    assert unpack_record(pack_record(fields), "it") == fields


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\x81\xa1", b"\x81\x01", msgpack.packb([1]), msgpack.packb(None)])
def test_a_sealed_thing_that_is_no_record_is_damage(payload: bytes) -> None:
    with pytest.raises(DamagedError, match="the state"):
        unpack_record(seal(payload), "the state")


def test_fields_of_a_later_version_are_passed_over() -> None:
    spec: dict[str, Any] = {"name": "klotski", "options": {}, "start": None, "merge_mirrors": False}
    manifest = Manifest(1, "run", "now", spec, 1, "u32", "census")
    assert manifest.as_dict()["mode"] == "whole"
    assert Manifest.from_dict(manifest.as_dict() | {"colour": "red"}) == manifest


@st.composite
def number_arrays(draw: st.DrawFn) -> np.ndarray:
    dtype = np.dtype(draw(st.sampled_from(PAYLOAD_DTYPES)))
    shape = draw(st.sampled_from([(0,), (1,), (5,), (40,), (0, 2), (3, 2), (3, 4), (0, 4), (2, 0), (2, 3, 1)]))
    return draw(arrays.arrays(dtype, shape))


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and (one == other).all()


@given(st.lists(number_arrays() | key_batches(), max_size=4))
def test_payloads_survive_and_can_be_written_to(given_arrays: list[np.ndarray]) -> None:
    found = unpack_arrays(pack_arrays(given_arrays))
    assert len(found) == len(given_arrays)
    assert all(same(one, other) for one, other in zip(found, given_arrays, strict=True))
    assert all(array.flags.writeable and array.flags.c_contiguous for array in found)


@pytest.mark.ci_slow
def test_payloads_take_views() -> None:
    table = np.arange(24, dtype=np.uint32).reshape(6, 4)
    views = [table[:, 1], table[::2], table.T, table.astype(">u4")[:, 0], table[0, ::-1]]
    assert all((one == other).all() for one, other in zip(unpack_arrays(pack_arrays(views)), views, strict=True))


@every_batch
def test_sorted_keys_travel_small(layout: Layout) -> None:
    keys = layout.pack(range(0, 1_000_000, 100))
    assert len(pack_arrays([keys])) < 1.1 * len(keys)


@every_batch
def test_unsorted_keys_travel_too(layout: Layout) -> None:
    for keys in ([3, 3, 5], [layout.greatest, 0, 1], [], [7]):
        (found,) = unpack_arrays(pack_arrays([layout.pack(keys)]))
        assert layout.holds(found)
        assert ints(found) == keys


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
    st.sampled_from([*LAYOUTS, *PAYLOAD_DTYPES, "O", ">f8"]) | JUNK,
    st.lists(st.integers(-2, 9) | st.sampled_from([2**32, 2**63, 2**64 - 1]), max_size=3) | JUNK,
    st.binary(max_size=20) | JUNK,
)


@pytest.mark.ci_slow
@given(st.lists(ODD_ENTRIES | JUNK, max_size=2) | JUNK)
@example([["k", "u32", [], b"\0\0\0\1"]])
@example([["r", "<u4", [2**63], b""]])
@example([["k", "u32", [2**64 - 1], b"\0\0\0\1"]])
@example([["k", "u64", [1], b"\1"]])
@example([["k", "u128", [2], b"\1" * 16]])
@example([["k", "u256", [1, 4], b"\1" * 32]])
@example([["k", "u256", [1], b"\1" * 31]])
def test_sealed_junk_is_refused_or_is_arrays(junk: Any) -> None:
    try:
        found = unpack_arrays(seal(msgpack.packb(junk)))
    except PayloadError as refusal:
        assert "payload in Redis" in str(refusal)
    else:
        assert all(isinstance(array, np.ndarray) and array.dtype.kind in "iu" for array in found)


NEWS = st.builds(
    Event,
    st.sampled_from(["started", "done", "missing", "failed", "refused"]),
    st.text(max_size=12),
    st.integers(0, 2**31),
    st.text(max_size=12),
    st.text(max_size=40),
    st.just((Hint("worker with", "jugs.py:Jugs"), Hint("worker"))) | st.just(()),
)


@given(NEWS)
def test_news_survives(event: Event) -> None:
    assert Event.unpack(event.pack()) == event


@given(st.binary(max_size=30) | (JUNK | st.dictionaries(st.text(max_size=4), JUNK, max_size=4)).map(msgpack.packb))
@example(b"")
@example(msgpack.packb({"kind": "done", "token": "1"}))
@example(msgpack.packb({1: "done"}, strict_types=True))
@example(Event("done", "1", 1, "w").pack() + b"\0")
def test_junk_is_no_news(raw: bytes) -> None:
    with pytest.raises(PayloadError, match="message in Redis"):
        Event.unpack(raw)


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "gossip"},
        {"kind": 3},
        {"token": None},
        {"attempt": "1"},
        {"worker": [1]},
        {"detail": 5},
        {"hints": 7},
        {"hints": [[]]},
    ],
    ids=str,
)
def test_news_of_the_wrong_kind_or_types_is_refused(wrong: dict[str, Any]) -> None:
    fields = {"kind": "done", "token": "1", "attempt": 1, "worker": "w", "detail": ""} | wrong
    with pytest.raises(PayloadError, match="message in Redis"):
        Event.unpack(msgpack.packb(fields))


@given(st.text(max_size=9), st.text(max_size=9), st.integers(0, 99), st.integers(-1, 99))
def test_orders_survive_the_serializer_that_knows_no_code(session: str, token: str, attempt: int, stage: int) -> None:
    order = TaskRequest(
        session,
        token,
        attempt,
        stage,
        900,
        {"name": "klotski", "options": {"metric": "unit"}, "start": None},
        {"tasks": "0"},
    )
    assert TaskRequest(**MsgpackSerializer.loads(MsgpackSerializer.dumps(order.as_dict()))) == order


def test_the_serializer_refuses_objects() -> None:
    with pytest.raises(TypeError):
        MsgpackSerializer.dumps(object())


@pytest.mark.parametrize("name", ["<u2", "<u4", "<u8", "<i4", "<i8"])
def test_a_machine_of_the_other_byte_order_sends_the_same_and_reads_its_own(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its memory is an array of the other byte order here; its input is one whose byte order is swapped on the way."""
    ours = np.array([7, 3, 258], dtype=name)
    theirs = ours.astype(ours.dtype.newbyteorder(">"))
    assert pack_arrays([theirs]) == pack_arrays([ours])
    monkeypatch.setitem(payload._DTYPES, name, theirs.dtype)
    (read,) = unpack_arrays(seal(msgpack.packb([["r", name, [3], theirs.tobytes()]])))
    assert (read.dtype.isnative, read.tolist()) == (True, [7, 3, 258])


@every_layout
def test_a_block_has_at_least_its_first_key_and_at_most_a_key_for_each_byte_more(layout: Layout) -> None:
    greatest = decode_block(b"", layout.greatest, 1, layout)
    assert greatest is not None
    assert ints(greatest) == [layout.greatest]
    assert decode_block(b"", layout.greatest + 1, 1, layout) is None
    for count in (-1, 0, 2):
        assert decode_block(b"", 0, count, layout) is None
