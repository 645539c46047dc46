"""The two halves of a layer step between workers: coded blocks in, coded blocks out, keys only in between.

`spread` expands some of U(N) and makes a piece for each key range; `gather` makes a range of U(N+1) of all pieces of
that range, and may expand it at once, as `spread` would. Both take away known keys: `spread` those at hand, to send
less, `gather` all of them. Where keys are dense, both work in bitmaps, without sorting.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puzzles.contract import Puzzle
from puzzles.keys.layout import Key, Keys, Layout, key_at, layout_of
from puzzles.keys.order import merge_sorted, slice_between
from storage.layers.bitmap import WORD_BITS
from storage.layers.coded import Block, Coded, code_bits, code_keys, decode, has_bits, join_coded, set_decoded
from storage.layers.digest import lanes_of
from worker.errors import PayloadError
from worker.layers.kernels import DENSE_SPAN, Window, clip, fill_of, list_bits, merge, set_within, split, take_off
from worker.layers.partition import Partition, scatter

Arrays = Sequence[NDArray[Any]]


class Made(NamedTuple):
    """What a half makes: some numbers, some keys of the layer that it made, and blocks by the number of their piece."""

    numbers: NDArray[np.uint64]
    sample: Keys
    pieces: dict[int, Coded]


#: Keys expanded at a time, so that their successors stay in the second-level cache.
_BATCH = 1 << 14
#: A bitmap of all successors of a chunk has at most so many bits for each of them, and in all.
_SPARSEST, _MOST_BITS = 256, 1 << 30
#: From so many keys in a word on, words are left as they are.
_CROWDED = 3
#: So many keys of a range that was made are told of.
_SAMPLED = 1 << 10
#: So many keys show where the successors of all lie; those may reach this part of the span further at either end.
_PROBE, _MARGIN = 1 << 12, 32


def spread(puzzle: Puzzle, arrays: Arrays, lots: list[list[Block]]) -> Made:
    """A piece of U(N+1) for each of its key ranges, less the known keys, from some of U(N). Range r is piece r + 1.

    `arrays`: [how many keys to pass over, how many to expand, number of U(N+1)], [its partition]; `lots`: blocks of
    U(N), and of known keys.
    """
    (skipped, count, number), cuts = arrays[0].tolist(), arrays[1]
    current, known = lots
    keys = _keys(current, puzzle.layout)[skipped : skipped + count]
    if len(keys) != count:
        raise PayloadError(f"{count} keys announced, {len(keys)} found")
    met = chain([keys], (decode(block, puzzle.layout) for block in known))
    return Made(np.empty(0, dtype=np.uint64), puzzle.layout.empty(0), _expanded(puzzle, number, keys, met, cuts))


def gather(puzzle: Puzzle, arrays: Arrays, lots: list[list[Block]]) -> Made:
    """Piece 0: a range of U(N+1), of all pieces of that range; the others: what it leads to, if that is asked for.

    `arrays`: [number of U(N+1), whether it is final, how many of the known blocks it may lead back to], [least and
    greatest key], [the partition of U(N+2), or nothing]; `lots`: the pieces, and blocks of known keys. The numbers: how
    many keys; where they are final how many goals, the lanes of the digest; whether they were expanded. Range r of
    U(N+2) is piece r + 1.
    """
    (number, final, nearby), bounds, cuts = arrays[0].tolist(), arrays[1], arrays[2]
    pieces, known = lots
    keys, met = _merged(puzzle.layout, pieces, known, nearby, key_at(bounds, 0), key_at(bounds, 1))
    summary = [len(keys), 0, 0, 0, int(len(cuts) > 0)]
    if final and len(keys):
        summary[1:4] = [int(np.count_nonzero(puzzle.is_goal(keys))), *lanes_of(keys)]
    made = {0: code_keys(number, keys)} if len(keys) else {}
    if len(cuts):
        made |= _expanded(puzzle, number + 1, keys, met, cuts)
    return Made(np.array(summary, dtype=np.uint64), keys[:: -(-len(keys) // _SAMPLED) or 1].copy(), made)


def _expanded(
    puzzle: Puzzle, number: int, keys: Keys, met: Iterable[Keys | Window], cuts: NDArray[np.int64]
) -> dict[int, Coded]:
    """A piece of layer `number` for each range that some keys lead to, in order, less those that were met."""
    if not len(keys):
        return {}
    step = -(-len(keys) // _PROBE)
    window = _window(puzzle.expand(keys[::step]).successors, step)
    batches = (puzzle.expand(batch).successors for batch in split(keys, _BATCH))
    partition = Partition.of_numbers(cuts)
    if window is None:
        known = [list_bits(each[1], each[0], puzzle.layout) if isinstance(each, tuple) else each for each in met]
        return dict(sorted(_sorted_pieces(number, batches, known, partition).items()))
    base, words = window
    outside = [beyond for batch in batches if len(beyond := set_within(words, batch, base))]
    take_off(window, met)
    pieces = _dense_pieces(number, window, puzzle.layout, partition)
    # A known key that is sent all the same does no harm: whoever gathers takes it away.
    for place, coded in _sorted_pieces(number, outside, [keys], partition).items():
        pieces[place] = join_coded([pieces[place], coded]) if place in pieces else coded
    return dict(sorted(pieces.items()))


def _keys(blocks: list[Block], layout: Layout) -> Keys:
    keys, begin = layout.empty(sum(min(block.size, len(block.value)) for block in blocks)), 0
    for block in blocks:
        keys[begin : begin + block.size] = decode(block, layout)
        begin += block.size
    return keys


def fits_bitmap(sample: Keys, count: int) -> bool:
    """Whether `count` keys that lie where those of a sample do are spread in a bitmap: then they need not be sorted."""
    return _room(sample, count) is not None


def _room(sample: Keys, count: int) -> tuple[Key, int] | None:
    """The first key and the bits of a bitmap for `count` keys about where some are; ``None`` if that is too large."""
    if sample.ndim > 1 or not len(sample):
        return None
    least, most = int(sample.min()), int(sample.max())
    margin = (most - least) // _MARGIN
    base = max(0, least - margin) // WORD_BITS * WORD_BITS
    bits = most + margin - base + 1
    return (base, bits) if bits <= min(_MOST_BITS, _SPARSEST * count) else None


def _window(keys: Keys, step: int) -> Window | None:
    """The first key and the words of a bitmap for `step` times as many keys as these, about where these are."""
    room = _room(keys, len(keys) * step)
    return room and (room[0], np.zeros(room[1] // WORD_BITS + 1, dtype=np.uint64))


def _dense_pieces(number: int, window: Window, layout: Layout, partition: Partition) -> dict[int, Coded]:
    pieces = {}
    for place in range(partition.ranges):
        base, words = _part(window, *partition.bounds(place, layout))
        filled, count = fill_of(words)
        if not count:
            continue
        if count >= _CROWDED * filled:
            pieces[place + 1] = code_bits(number, words, base, filled, layout)
        else:
            pieces[place + 1] = code_keys(number, list_bits(words, base, layout))
    return pieces


def _part(window: Window, low: Key, high: Key) -> Window:
    """The keys of a window with low <= key < high, as a window: a view, or a copy where they do not fill its words."""
    base, words = window
    low, high = (min(max(bound, base), base + len(words) * WORD_BITS) for bound in (low, high))
    begin = (low - base) // WORD_BITS
    part = base + begin * WORD_BITS, words[begin : -((base - high) // WORD_BITS)]
    if low % WORD_BITS or high % WORD_BITS:
        part = part[0], part[1].copy()
        clip(part, low, high)
    return part


def _sorted_pieces(number: int, batches: Iterable[Keys], known: list[Keys], partition: Partition) -> dict[int, Coded]:
    parts: dict[int, list[Keys]] = {}
    for keys in batches:
        ordered, ends = scatter(keys, partition.table)
        for place, part in enumerate(np.split(ordered, ends[:-1])):
            if len(part):
                parts.setdefault(place, []).append(part)
    pieces = {}
    for place, found in parts.items():
        low, high = partition.bounds(place, layout_of(known[0]))
        keys = merge(found, [slice_between(others, low, high) for others in known])
        if len(keys):
            pieces[place + 1] = code_keys(number, keys)
    return pieces


def _merged(
    layout: Layout, pieces: list[Block], known: list[Block], nearby: int, low: Key, last: Key
) -> tuple[Keys, list[Keys | Window]]:
    """The distinct keys from `low` to `last` of some blocks, in any order, that are none of the known ones.

    And what they may lead back to: themselves, and `nearby` of the known blocks.
    """
    least = max(low, min((block.first for block in pieces), default=low))
    if layout.words == 1 and last == layout.greatest:
        # The last range ends nowhere; its keys may be dense all the same.
        last = max((key_at(decode(block, layout), -1) for block in _ends(pieces)), default=last)
    if least > last:
        return layout.empty(0), []
    if layout.words == 1 and last - least < min(_MOST_BITS, DENSE_SPAN * sum(block.size for block in pieces)):
        found, older = (_marked(layout, blocks, least, last) for blocks in (pieces, known[:nearby]))
        take_off(found, [older])
        take_off(found, (decode(block, layout) for block in known[nearby:]))
        return list_bits(found[1], found[0], layout), [found, older]
    # Neither the pieces nor the known blocks end where the range does.
    parts, olds = ([slice_between(decode(block, layout), low, last + 1) for block in lot] for lot in (pieces, known))
    keys = merge(parts or [layout.empty(0)], _fewer(_runs(olds), sum(map(len, parts))))
    return keys, [keys, *olds[:nearby]]


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


def _marked(layout: Layout, blocks: list[Block], least: Key, last: Key) -> Window:
    """The keys from `least` to `last` of some blocks."""
    base = least // WORD_BITS * WORD_BITS
    words = np.zeros((last - base) // WORD_BITS + 1, dtype=np.uint64)
    for block in blocks:
        if has_bits(block.value):
            set_decoded(block, words, base, layout)
        else:
            set_within(words, decode(block, layout), base)
    clip((base, words), least, last + 1)
    return base, words


def _runs(batches: list[Keys]) -> list[Keys]:
    """Increasing batches, put together as far as one goes on where another ends: the fewer, the fewer walks through."""
    runs: list[list[Keys]] = []
    for keys in batches:
        if len(keys) and runs and key_at(keys, 0) > key_at(runs[-1][-1], -1):
            runs[-1].append(keys)
        elif len(keys):
            runs.append([keys])
    return [np.concatenate(run) for run in runs]


def _fewer(runs: list[Keys], count: int) -> list[Keys]:
    """Runs merged as long as that takes fewer steps than walking through `count` keys once more."""
    runs = sorted(runs, key=len)
    while len(runs) > 1 and len(runs[0]) + len(runs[1]) < count:
        runs = sorted([merge_sorted(runs[:2]), *runs[2:]], key=len)
    return runs
