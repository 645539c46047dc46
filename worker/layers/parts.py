"""What a half of a layer step is given of a layer: coded blocks, or the bitmaps that this process has of them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hakoiri.puzzles.keys.layout import Key, Keys, Layout, key_at
from hakoiri.puzzles.keys.order import slice_between
from hakoiri.storage.layers.bitmap import WORD_BITS
from hakoiri.storage.layers.blocks import Block, Coded, code_bits, code_keys, decode, has_bits, set_decoded
from hakoiri.worker.layers.kernels import Window, clip, fill_of, list_bits, put_on, set_within


class Held(NamedTuple):
    """Blocks by their first key and how many keys they have, and a bitmap of these, perhaps of more of their layer."""

    first: Key
    size: int
    window: Window


#: From so many keys in a word on, words are left as they are.
_CROWDED = 3

#: Blocks as they were fetched, and as this process has them still.
Parts = Sequence[Block | Held]


def keys_of(blocks: list[Block], layout: Layout) -> Keys:
    """The keys of some blocks, in turn; `DamagedError` if a byte differs, as from all that decodes."""
    keys, begin = layout.empty(sum(min(block.size, len(block.value)) for block in blocks)), 0
    for block in blocks:
        keys[begin : begin + block.size] = decode(block, layout)
        begin += block.size
    return keys


def blocks_in(lot: Parts) -> list[Block]:
    """Those that were fetched."""
    return [part for part in lot if isinstance(part, Block)]


def known_in(lot: Parts, layout: Layout) -> Iterator[Keys | Window]:
    """The keys of each part."""
    return (part.window if isinstance(part, Held) else decode(part, layout) for part in lot)


def within(known: Keys | Window, low: Key, high: Key, layout: Layout) -> Keys:
    """The keys with low <= key < high."""
    if not isinstance(known, tuple):
        return slice_between(known, low, high)
    base, words = part_of(known, low, high)
    return list_bits(words, base, layout)


def greatest_of(lot: Parts, layout: Layout) -> Iterator[Key]:
    """Some keys, none of a lot being greater than all of them."""
    windows = (part.window for part in lot if isinstance(part, Held))
    yield from (base + len(words) * WORD_BITS - 1 for base, words in windows)
    yield from (key_at(decode(block, layout), -1) for block in _ends(blocks_in(lot)))


def _ends(blocks: list[Block]) -> list[Block]:
    """Some blocks, one of which holds the greatest key: all but those coded as bits after which their piece goes on.

    IMPORTANT: others may be of several batches, one after the other in one value, which says nothing of their order.
    """
    values = [memoryview(block.value).obj for block in blocks]
    goes_on = [
        has_bits(block.value) and value is after and block.first < following.first
        for (block, following), (value, after) in zip(pairwise(blocks), pairwise(values), strict=True)
    ]
    return [block for block, goes in zip(blocks, [*goes_on, False], strict=False) if not goes]


def marked(layout: Layout, lot: Parts, least: Key, last: Key) -> Window:
    """The keys from `least` to `last` of some blocks."""
    base = least // WORD_BITS * WORD_BITS
    words = np.zeros((last - base) // WORD_BITS + 1, dtype=np.uint64)
    for part in lot:
        if isinstance(part, Held):
            put_on((base, words), part.window)
        elif has_bits(part.value):
            set_decoded(part, words, base, layout)
        else:
            set_within(words, decode(part, layout), base)
    clip((base, words), least, last + 1)
    return base, words


def code_window(number: int, window: Window, layout: Layout) -> Coded:
    """The keys of a window as blocks of layer `number`: as bits where that takes about as many bytes, and less time."""
    base, words = window
    filled, count = fill_of(words)
    if count and count >= _CROWDED * filled:
        return code_bits(number, words, base, filled, layout)
    return code_keys(number, list_bits(words, base, layout))


def part_of(window: Window, low: Key, high: Key) -> Window:
    """The keys of a window with low <= key < high, as a window: a view, or a copy where they do not fill its words."""
    base, words = window
    low, high = (min(max(bound, base), base + len(words) * WORD_BITS) for bound in (low, high))
    begin = (low - base) // WORD_BITS
    part = base + begin * WORD_BITS, words[begin : -((base - high) // WORD_BITS)]
    if low % WORD_BITS or high % WORD_BITS:
        part = part[0], part[1].copy()
        clip(part, low, high)
    return part
