"""A layer made range by range, and the bitmaps of ranges, against sets."""

from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Event, Thread

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hakoiri.errors import DamagedError, PayloadError
from hakoiri.keys.layout import U32, U64, U128, U256, Key, Keys, Layout, ints
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.blocks import Block, Coded, code_keys, decode, join_blocks
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.ledger.manifest import seal
from hakoiri.storage.names import block_key
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.kernels import flow_of, list_bits, set_within
from hakoiri.worker.layers.partition import Partition, partition_by, scatter
from hakoiri.worker.layers.ranges import (
    Bitmap,
    MergeInput,
    RangeExpansion,
    RangeInput,
    RangeSource,
    code_found,
    merge_range,
)
from tests.support.keys import any_keys, every_layout, lanes_by_the_book, layouts
from tests.support.seeds import usual
from tests.support.toy import Steps

PUZZLE = Klotski()
DEPTH = 9


def keys_in(coded: Coded, number: int, layout: Layout) -> list[Key]:
    """The keys of blocks of layer `number`."""
    return [key for block in coded.blocks(number) for key in ints(decode(block, layout))]


def bits_of(bitmap: Bitmap) -> list[Key]:
    """The keys of a bitmap, one by one."""
    if bitmap.words is None:
        return []
    bits = np.unpackbits(bitmap.words.view(np.uint8), bitorder="little")
    return [bitmap.base + place for place in np.flatnonzero(bits).tolist()]


@pytest.mark.parametrize(
    ("layout", "base"), [(U32, 0), (U32, U32.greatest - 1023), (U64, 64), (U64, U64.greatest - 1023)]
)
def test_a_part_of_a_bitmap_has_the_keys_between_its_bounds(layout: Layout, base: Key) -> None:
    rng = Random(base)
    keys = [rng.randrange(base, base + 640) for _ in range(200)]
    bitmap = Bitmap(base, 10)
    assert not len(set_within(bitmap.fill(), layout.pack(keys), base))
    assert bitmap.nbytes == 80
    bounds = sorted({0, layout.greatest + 1, *(rng.randrange(max(0, base - 90), base + 700) for _ in range(40))})
    for low, high in [*pairwise(bounds), (0, layout.greatest + 1), (base + 64, base + 64), (base + 70, base + 75)]:
        assert bits_of(bitmap.between(low, high)) == sorted({key for key in keys if low <= key < high})
    assert bits_of(bitmap) == sorted(set(keys))


@pytest.mark.parametrize("sums_flow", [False, True])
@pytest.mark.parametrize("most_bytes", [0, 1 << 30])
@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("bitmap", [None, (5_056, 40), (0, 200)], ids=["none", "some", "all"])
def test_what_a_range_leads_to_is_in_its_bitmap_or_by_range(
    bitmap: tuple[Key, int] | None, stays: bool, most_bytes: int, sums_flow: bool
) -> None:
    offsets = (2, 64, 901)
    puzzle, keys = Steps(U32, offsets), list(range(0, 11_000, 7))
    partition = partition_by(U32.pack(keys), 7)
    batches, known = [U32.pack(keys[:900]), U32.pack(keys[900:])], list(range(5_100, 5_700, 3))
    put = list[tuple[int, Coded]]()
    expand = RangeExpansion(puzzle, DEPTH, partition.table, lambda *each: put.append(each), [], most_bytes, sums_flow)
    mine = bitmap and Bitmap(*bitmap)
    size, scattered, ends, flow, _ = expand(RangeSource(3, batches, mine, stays, [U32.pack(known)]))
    assert size == len(keys)
    assert flow == (flow_of(puzzle, U32.pack(keys), puzzle.expand(U32.pack(keys))) if sums_flow else None)
    for number, (begin, end) in enumerate(pairwise([0, *ends.tolist()])):
        low, high = partition.bounds(number)
        assert all(low <= key < high for key in scattered[begin:end].tolist())
    marked = set(bits_of(mine)) if mine else set()
    coded = dict[int, set[Key]]()
    for number, blocks in put:
        coded.setdefault(number, set()).update(keys_in(blocks, DEPTH, U32))
    expected = {key + offset for key in keys for offset in offsets}
    if mine and not stays:
        assert mine.words is None
        within = {key for key in expected if mine.base <= key < mine.base + 64 * mine.length} - set(known)
        assert within <= coded[3]
        assert keys_in(put[-1][1], DEPTH, U32) == sorted(within)
        marked, coded[3] = within, coded[3] - within
    if most_bytes:
        assert not any(coded.values())
    else:
        assert not len(scattered)
    for number, found in coded.items():
        low, high = partition.bounds(number)
        assert all(low <= key < high for key in found)
    others = set(scattered.tolist()).union(*coded.values())
    gone = set(known) if mine and not stays else set()
    assert marked | others | (gone & expected) == expected
    assert not marked & others


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("filled", [False, True])
@usual(2, "span", [0, 1 << 8, 1 << 30])
def test_a_range_is_merged_of_whatever_was_found(keep: bool, filled: bool, span: int, all_keys: Keys) -> None:
    rng = np.random.default_rng(8)
    crowd = all_keys[20_000:40_000]
    raw = [rng.choice(crowd, 800) for _ in range(2)]
    spilled = [np.unique(rng.choice(crowd, 700)) for _ in range(3)]
    known = [np.unique(rng.choice(all_keys, 9_000)) for _ in range(2)]
    within = np.unique(rng.choice(crowd, 900))
    dots, base = rng.choice(crowd, 600), int(crowd[10_000]) // 64 * 64

    def found() -> RangeInput:
        bitmap, left = Bitmap(base, 1 + span // 64) if span else None, dots.copy()
        if bitmap and filled:
            left = set_within(bitmap.fill(), left, bitmap.base)
        blocks = [block for keys in spilled for block in code_keys(DEPTH, keys).blocks(DEPTH)]
        return RangeInput([part.copy() for part in (*raw, left)], blocks, bitmap)

    everything = set(np.concatenate([*raw, *spilled, dots]).tolist())
    expected = sorted(everything - set(np.concatenate(known).tolist()))
    summary, coded, keys = merge_range(PUZZLE, DEPTH, MergeInput(found(), known, keep))
    assert keys_in(coded, DEPTH, U32) == expected
    goals = sum(key >> 28 == 10 for key in expected)
    assert summary.tolist() == [len(expected), goals, 0, *lanes_by_the_book(expected, PUZZLE.layout)]
    assert keys.tolist() == (expected if keep else [])
    assert keys.dtype == np.uint32
    _, coded, _ = merge_range(PUZZLE, DEPTH, MergeInput(found(), known, keep, [within]))
    assert keys_in(coded, DEPTH, U32) == sorted(set(expected) & set(within.tolist()))
    held = found()._replace(blocks=[])
    whole = keys_in(code_found(U32, DEPTH, held), DEPTH, U32)
    assert whole == sorted(set(np.concatenate([*raw, dots]).tolist()))
    assert held.bitmap is None or held.bitmap.words is None


def test_a_range_in_which_nothing_was_found_is_empty() -> None:
    for found in (RangeInput([], [], None), RangeInput([], [], Bitmap(64, 5))):
        summary, coded, keys = merge_range(PUZZLE, DEPTH, MergeInput(found, [], True))
        assert (summary.tolist(), len(coded.firsts), len(keys)) == ([0, 0, 0, 0, 0], 0, 0)


# The key space cut into ranges: every key falls into the one range whose bounds hold it, whatever was sampled


@st.composite
def samples(draw: st.DrawFn) -> tuple[Layout, list[Key]]:
    """A layout and sorted keys of it, with duplicates: crowded somewhere, or lying anywhere."""
    layout = draw(layouts)
    base = draw(any_keys(layout))
    near = st.integers(0, 1 << draw(st.integers(0, layout.bits))).map(
        lambda offset: min(base + offset, layout.greatest)
    )
    keys = draw(st.sampled_from([near, any_keys(layout)]))
    return layout, sorted(draw(st.lists(keys, min_size=1, max_size=60)))


def near_bounds(partition: Partition) -> list[Key]:
    bounds = [bound for number in range(partition.ranges) for bound in partition.bounds(number)]
    found = {bound + step for bound in bounds for step in (-1, 0, 1)}
    return [key for key in found if 0 <= key <= partition.layout.greatest]


@pytest.mark.ci_slow
@given(samples(), st.integers(1, 40), st.data())
@example((U32, [0, 2**32 - 1]), 4_096, None)
@example((U64, [2**64 - 1]), 3, None)
@example((U64, [2**64 - 9_000, 2**64 - 1]), 40, None)
@example((U64, [2**63 - 1, 2**63]), 2, None)
@example((U128, [2**64 - 1, 2**64]), 2, None)
@example((U128, [2**128 - 5, 2**128 - 1]), 5, None)
@example((U128, [1, 5, 9]), 3, None)
@example((U256, [1 << 30, 1 << 31]), 3, None)
@example((U256, [1 << 90, 1 << 91]), 3, None)
@example((U256, [0, 2**256 - 1]), 40, None)
@example((U256, [2**255, 2**255 + 2**80]), 8, None)
def test_every_key_falls_into_the_range_that_holds_it(
    drawn: tuple[Layout, list[Key]], ranges: int, data: st.DataObject | None
) -> None:
    layout, sample = drawn
    partition = partition_by(layout.pack(sample), ranges)
    bounds = [partition.bounds(number) for number in range(partition.ranges)]
    assert 1 <= partition.ranges <= ranges
    assert (bounds[0][0], bounds[-1][1]) == (0, layout.greatest + 1)
    assert all(one[1] == other[0] and one[0] < one[1] for one, other in pairwise([*bounds, (layout.greatest + 1, 0)]))
    keys = [*sample, *near_bounds(partition), *(sample[0] ^ 1 << bit for bit in range(0, layout.bits, 9))]
    if data is not None:
        keys += data.draw(st.lists(any_keys(layout), max_size=60))
        keys = data.draw(st.permutations(keys))
    given_keys = layout.pack(keys)
    scattered, ends = scatter(given_keys, partition.table)
    assert ints(given_keys) == keys
    assert layout.holds(scattered)
    assert len(ends) == partition.ranges
    assert sorted(ints(scattered)) == sorted(keys)
    for (low, high), (begin, end) in zip(bounds, pairwise([0, *ends.tolist()]), strict=True):
        assert all(low <= key < high for key in ints(scattered[begin:end]))


@given(samples(), st.integers(1, 8), st.integers(2, 8))
def test_a_range_is_cut_between_its_bounds(drawn: tuple[Layout, list[Key]], ranges: int, pieces: int) -> None:
    """As hosts cut theirs: by the keys that they have of it."""
    layout, sample = drawn
    before = partition_by(layout.pack(sample), ranges)
    cuts, keys = {*before.cuts}, sorted({*sample})
    for low, high in map(before.bounds, range(before.ranges)):
        mine = [key for key in keys if low <= key < high]
        found = partition_by(layout.pack(mine), pieces).cuts
        assert len(found) < pieces
        assert all(low < cut < high for cut in found)
        assert not cuts & {*found}
        cuts |= {*found}
        # Words of bitmaps are not divided, so pieces of keys far apart are as even as 64 keys allow.
        sizes = [sum(begin <= key < end for key in mine) for begin, end in pairwise([low, *found, high])]
        assert max(sizes) <= -(-len(mine) // pieces) + 64
    after = Partition(layout, tuple(sorted(cuts)))
    assert Partition.unpack(after.packed, layout) == after
    _, ends = scatter(layout.pack(keys), after.table)
    bounds = [after.bounds(number) for number in range(after.ranges)]
    assert np.diff([0, *ends]).tolist() == [sum(low <= key < high for key in keys) for low, high in bounds]


@pytest.mark.parametrize(
    "packed", [b"\0" * 4, b"\0\0\0\5" * 2, b"\0\0\0\5\0\0\0\4", b"abc", [5], None, b"\0\0\0\5" * 4_096]
)
def test_what_cuts_no_keys_is_refused(packed: object) -> None:
    with pytest.raises(PayloadError):
        Partition.unpack(packed, U32)  # type: ignore[arg-type]


@every_layout
@pytest.mark.parametrize("spread", [1, 3, 1_000, "all"])
def test_ranges_hold_about_equally_many_keys(spread: int | str, layout: Layout) -> None:
    step = layout.greatest // 20_001 if spread == "all" else int(spread)
    base = 0 if spread == "all" else layout.greatest // 5
    keys = [base + number * step for number in range(20_000)]
    partition = partition_by(layout.pack(keys[::10]), 16)
    assert partition.ranges == 16
    _, ends = scatter(layout.pack(keys), partition.table)
    sizes = np.diff([0, *ends.tolist()])
    assert sizes.min() > 20_000 // 16 * 0.8
    assert sizes.max() < 20_000 // 16 * 1.2


@every_layout
def test_keys_that_crowd_in_few_places_are_cut_there(layout: Layout) -> None:
    crowds = [layout.greatest // 7, layout.greatest // 2, layout.greatest - 5_000]
    keys = [crowd + number for crowd in crowds for number in range(4_000)]
    partition = partition_by(layout.pack(keys[::10]), 24)
    _, ends = scatter(layout.pack(keys), partition.table)
    assert partition.ranges == 24
    assert np.diff([0, *ends.tolist()]).max() < 12_000 // 24 * 1.2


@every_layout
def test_one_key_is_one_range(layout: Layout) -> None:
    for key in (0, 1, layout.greatest):
        partition = partition_by(layout.pack([key] * 5), 9)
        assert partition.ranges == 1
        assert partition.bounds(0) == (0, layout.greatest + 1)


# The ranges of a layer in the making: what was put in comes out, from memory or from disk, whole or in pieces


DEPTH_OF_LAYER = 5


def found_in(found: RangeInput, layout: Layout) -> list[Key]:
    """All keys that were found, in order, once each."""
    bits = (
        [list_bits(found.bitmap.words, found.bitmap.base, layout)]
        if found.bitmap and found.bitmap.words is not None
        else []
    )
    parts = [*found.parts, *(decode(block, layout) for block in found.blocks), *bits]
    return sorted({key for part in parts for key in ints(part)})


def filled(run: Path, layout: Layout, most_coded: int, bits: str = "") -> tuple[Exchange, list[Key], Spill]:
    """Keys put in raw, coded and, if they are to be, in bitmaps of ranges or of all; all of them; and the files."""
    rng, spill = Random(3), Spill(run, layout, DEPTH_OF_LAYER)
    keys = sorted({rng.randrange(min(layout.greatest, 1 << 16)) for _ in range(3_000)})
    partition = partition_by(layout.pack(keys), 9)
    exchange = Exchange(partition, DEPTH_OF_LAYER, spill, most_coded)
    if bits:
        assert exchange.plan_bitmaps(layout.pack(keys), 10 * len(keys), 1 << 22, 3 if bits == "whole" else 400, 2.0)
        assert bool(exchange.whole) == (bits == "whole")
        for number, bitmap in enumerate(exchange.whole or exchange.bitmaps):
            assert bitmap is not None
            if number % 2 == 0:
                set_within(bitmap.fill(), layout.pack(keys[number:]), bitmap.base)
    exchange.add(*scatter(layout.pack(rng.sample(keys, len(keys))), partition.table))
    for _ in range(3):
        some = layout.pack(sorted(rng.sample(keys, 900)))
        for number, (low, high) in enumerate(exchange.bounds):
            exchange.put(
                number, code_keys(DEPTH_OF_LAYER, layout.pack([key for key in ints(some) if low <= key < high]))
            )
    return exchange, keys, spill


@every_layout
@pytest.mark.parametrize("most_coded", [0, 500, 1 << 30])
def test_what_was_put_in_comes_out(most_coded: int, layout: Layout, tmp_path: Path) -> None:
    exchange, keys, spill = filled(tmp_path, layout, most_coded)
    assert (spill.stored_bytes > 0) == (most_coded < 1 << 30)
    for number, (low, high) in enumerate(exchange.bounds):
        mine = [key for key in keys if low <= key < high]
        assert not exchange.has_bitmap(number)
        assert exchange.keys_in(number) >= len(mine)
        cuts = exchange.cut_again(number, 3)
        assert cuts == sorted(set(cuts))
        assert all(low < cut < high for cut in cuts)
        for begin, end in pairwise([low, *cuts, high]):
            assert found_in(exchange.between(number, begin, end), layout) == [key for key in mine if begin <= key < end]
        assert found_in(exchange.take(number), layout) == mine
        assert exchange.keys_in(number) == spill.keys_in(number)
    assert exchange.held_bytes == 0


def test_a_sound_checksum_over_wrong_keys_is_no_excuse(tmp_path: Path) -> None:
    spill, name = Spill(tmp_path, U32, DEPTH_OF_LAYER), block_key(DEPTH_OF_LAYER, 1, 4)
    # Differences of 0.
    value = seal((3).to_bytes(4, "big") + b"\0\0", name)
    spill.append(0, join_blocks([Block(DEPTH_OF_LAYER, 1, 3, value)], U32))
    exchange = Exchange(Partition(U32, (9,)), DEPTH_OF_LAYER, spill, 0)
    for read in (lambda: exchange.between(0, 0, 9), lambda: [*exchange.drain(0)]):
        with pytest.raises(DamagedError, match=r"spill file 5-0 of run .* is damaged"):
            read()


@pytest.mark.parametrize("bits", ["ranges", "whole"])
def test_bitmaps_are_part_of_their_ranges(bits: str, tmp_path: Path) -> None:
    exchange, keys, _ = filled(tmp_path, U32, 1 << 30, bits)
    for number, (low, high) in enumerate(exchange.bounds):
        assert exchange.has_bitmap(number)
        found = exchange.take(number)
        assert found_in(found, U32) == [key for key in keys if low <= key < high]
        if bits == "ranges":
            assert not exchange.has_bitmap(number)


@pytest.mark.parametrize("bits", ["ranges", "whole"])
def test_what_is_held_is_taken_once(bits: str, tmp_path: Path) -> None:
    exchange, keys, _ = filled(tmp_path, U32, 1 << 30, bits)
    parts: dict[int, Keys] = {number: np.concatenate(found.parts) for number, found in exchange.take_held(False)}
    assert sorted(key for part in parts.values() for key in ints(part)) == keys
    assert exchange.held_bytes == 0
    held = {number: found_in(found, U32) for number, found in exchange.take_held(True)}
    assert all(held.values())
    assert set(held) == ({0, 2, 4, 6, 8} if bits == "ranges" else set(range(9)))
    if bits == "whole":
        assert not [*exchange.take_held(True)]


def test_who_waits_for_another_host_takes_blocks_in_meanwhile(tmp_path: Path) -> None:
    """Else two hosts would wait for each other."""
    came, arrived = Event(), list[int]()

    def send(number: int, coded: Coded) -> None:
        assert came.wait(120.0)
        arrived.append(number)

    keys = code_keys(DEPTH_OF_LAYER, U32.pack([5_000]))
    exchange = Exchange(
        Partition(U32, (4_096,)), DEPTH_OF_LAYER, Spill(tmp_path, U32, DEPTH_OF_LAYER), 1 << 20, {0}, send
    )
    sender = Thread(target=exchange.put, args=(0, code_keys(DEPTH_OF_LAYER, U32.pack([7]))), daemon=True)
    sender.start()
    taker = Thread(target=exchange.put, args=(1, keys), daemon=True)
    taker.start()
    taker.join(60.0)
    assert not taker.is_alive()
    came.set()
    sender.join(120.0)
    assert (arrived, found_in(exchange.take(1), U32)) == ([0], [5_000])


@given(samples(), st.integers(1, 40))
def test_a_partition_survives_its_record(drawn: tuple[Layout, list[Key]], ranges: int) -> None:
    layout, sample = drawn
    partition = partition_by(layout.pack(sample), ranges)
    again = Partition.unpack(partition.packed, layout)
    assert again == partition
    assert again.table.tolist() == partition.table.tolist()
