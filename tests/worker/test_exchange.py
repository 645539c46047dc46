"""The ranges of a layer in the making: what was put in comes out, from memory or from disk, whole or in pieces."""

from itertools import pairwise
from pathlib import Path
from random import Random
from threading import Event, Thread

import numpy as np
import pytest

from hakoiri.errors import DamagedError
from hakoiri.keys.layout import LAYOUTS, U32, Key, Keys, Layout, ints
from hakoiri.storage.layers.blocks import Block, Coded, code_keys, decode, join_blocks
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.ledger.manifest import seal
from hakoiri.storage.names import block_key
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.kernels import list_bits, set_within
from hakoiri.worker.layers.partition import Partition, partition_by, scatter
from hakoiri.worker.layers.ranges import RangeInput

DEPTH = 5


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
    rng, spill = Random(3), Spill(run, layout, DEPTH)
    keys = sorted({rng.randrange(min(layout.greatest, 1 << 16)) for _ in range(3_000)})
    partition = partition_by(layout.pack(keys), 9)
    exchange = Exchange(partition, DEPTH, spill, most_coded)
    if bits:
        assert exchange.plan_bitmaps(layout.pack(keys), 10 * len(keys), 1 << 22, 3 if bits == "whole" else 400)
        assert bool(exchange.whole) == (bits == "whole")
        for number, bitmap in enumerate(exchange.whole or exchange.bitmaps):
            assert bitmap is not None
            if number % 2 == 0:
                set_within(bitmap.fill(), layout.pack(keys[number:]), bitmap.base)
    exchange.add(*scatter(layout.pack(rng.sample(keys, len(keys))), partition.table))
    for _ in range(3):
        some = layout.pack(sorted(rng.sample(keys, 900)))
        for number, (low, high) in enumerate(exchange.bounds):
            exchange.put(number, code_keys(DEPTH, layout.pack([key for key in ints(some) if low <= key < high])))
    return exchange, keys, spill


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
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
    spill, name = Spill(tmp_path, U32, DEPTH), block_key(DEPTH, 1, 4)
    # Differences of 0.
    value = seal((3).to_bytes(4, "big") + b"\0\0", name)
    spill.append(0, join_blocks([Block(DEPTH, 1, 3, value)], U32))
    exchange = Exchange(Partition(U32, (9,)), DEPTH, spill, 0)
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
        assert came.wait(60.0)
        arrived.append(number)

    keys = code_keys(DEPTH, U32.pack([5_000]))
    exchange = Exchange(Partition(U32, (4_096,)), DEPTH, Spill(tmp_path, U32, DEPTH), 1 << 20, {0}, send)
    sender = Thread(target=exchange.put, args=(0, code_keys(DEPTH, U32.pack([7]))), daemon=True)
    sender.start()
    taker = Thread(target=exchange.put, args=(1, keys), daemon=True)
    taker.start()
    taker.join(10.0)
    assert not taker.is_alive()
    came.set()
    sender.join(60.0)
    assert (arrived, found_in(exchange.take(1), U32)) == ([0], [5_000])
