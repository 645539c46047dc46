"""The two halves of a layer step between workers: coded blocks in, coded blocks out, keys only in between.

`spread` expands some of U(N) and makes a piece for each key range; `gather` makes a range of U(N+1) of all pieces of
that range, and may expand it at once, as `spread` would. Both take away known keys: `spread` those at hand, to send
less, `gather` all of them. Where keys are dense, both work in bitmaps, without sorting.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puzzles.contract import Puzzle
from puzzles.keys.layout import Key, Keys, Layout, key_at, layout_of
from puzzles.keys.order import merge_sorted, slice_between
from storage.layers.bitmap import Words
from storage.layers.coded import Block, Coded, code_bits, code_keys, decode, join_coded
from storage.layers.digest import lanes_of
from worker.errors import PayloadError
from worker.layers.kernels import DENSE_SPAN, WORD_BITS, clear_within, count_bits, list_bits, merge, set_within, split
from worker.layers.partition import Partition, scatter

Arrays = Sequence[NDArray[Any]]
#: What a half makes: some numbers, and blocks by the number of their piece.
Made = tuple[NDArray[np.uint64], dict[int, Coded]]
#: Keys expanded at a time, so that their successors stay in the second-level cache.
_BATCH = 1 << 14
#: A bitmap of all successors of a chunk has at most so many bits for each of them, and in all.
_SPARSEST, _MOST_BITS = 256, 1 << 30
#: So many keys show where the successors of all lie; those may reach this part of the span further at either end.
_PROBE, _MARGIN = 1 << 12, 32


def spread(puzzle: Puzzle, arrays: Arrays, lots: list[list[Block]]) -> Made:
    """A piece of U(N+1) for each of its key ranges, less the known keys, from some of U(N).

    `arrays`: [how many keys to pass over, how many to expand, number of U(N+1)], [its partition]; `lots`: blocks of
    U(N), and of known keys.
    """
    (skipped, count, number), cuts = arrays[0].tolist(), arrays[1]
    current, known = lots
    keys = _keys(current, puzzle.layout)[skipped : skipped + count]
    if len(keys) != count:
        raise PayloadError(f"{count} keys announced, {len(keys)} found")
    return np.empty(0, dtype=np.uint64), _expanded(puzzle, number, keys, known, cuts)


def gather(puzzle: Puzzle, arrays: Arrays, lots: list[list[Block]]) -> Made:
    """Piece 0: a range of U(N+1), of all pieces of that range; the others: what it leads to, if that is asked for.

    `arrays`: [number of U(N+1), whether it is final, how many of the known blocks it may lead back to], [least and
    greatest key], [the partition of U(N+2), or nothing]; `lots`: the pieces, and blocks of known keys. The numbers: how
    many keys; where they are final how many goals, the lanes of the digest; whether they were expanded. Range r of
    U(N+2) is piece r + 1.
    """
    (number, final, nearby), bounds, cuts = arrays[0].tolist(), arrays[1], arrays[2]
    pieces, known = lots
    keys = _merged(puzzle.layout, pieces, known, key_at(bounds, 0), key_at(bounds, 1))
    summary = [len(keys), 0, 0, 0, int(len(cuts) > 0)]
    if final and len(keys):
        summary[1:4] = [int(np.count_nonzero(puzzle.is_goal(keys))), *lanes_of(keys)]
    made = {0: code_keys(number, keys)} if len(keys) else {}
    if len(cuts):
        further = _expanded(puzzle, number + 1, keys, known[:nearby], cuts)
        made |= {place + 1: coded for place, coded in further.items()}
    return np.array(summary, dtype=np.uint64), made


def _expanded(puzzle: Puzzle, number: int, keys: Keys, known: list[Block], cuts: NDArray[np.int64]) -> dict[int, Coded]:
    """A piece of layer `number` for each range that some keys lead to, less these and the `known` ones."""
    if not len(keys):
        return {}
    step = -(-len(keys) // _PROBE)
    window = _window(puzzle.expand(keys[::step]).successors, step)
    batches = (puzzle.expand(batch).successors for batch in split(keys, _BATCH))
    return _by_range(number, batches, window, keys, known, Partition.of_numbers(cuts))


def _keys(blocks: list[Block], layout: Layout) -> Keys:
    keys, begin = layout.empty(sum(min(block.size, len(block.value)) for block in blocks)), 0
    for block in blocks:
        keys[begin : begin + block.size] = decode(block, layout)
        begin += block.size
    return keys


def _by_range(
    number: int, batches: Iterable[Keys], window: tuple[Key, Words] | None, keys: Keys, known: list[Block],
    partition: Partition,
) -> dict[int, Coded]:  # fmt: skip
    """The successors in some batches less `keys` and the `known` ones, coded by range: in the window by its bitmap."""
    layout = layout_of(keys)
    if window is None:
        return _sorted_pieces(number, batches, [keys, _keys(known, layout)], partition)
    base, words = window
    outside = [set_within(words, batch, base) for batch in batches]
    clear_within(words, keys, base)
    for block in known:
        clear_within(words, decode(block, layout), base)
    pieces = _dense_pieces(number, words, base, layout, partition)
    # A known key that is sent all the same does no harm: whoever gathers takes it away.
    for place, coded in _sorted_pieces(number, outside, [keys], partition).items():
        pieces[place] = join_coded([pieces[place], coded], layout) if place in pieces else coded
    return pieces


def fits_bitmap(sample: Keys, count: int) -> bool:
    """Whether `count` keys that lie where those of a sample do are spread in a bitmap: then they need not be sorted."""
    return _room(sample, count) is not None


def _room(sample: Keys, count: int) -> tuple[Key, int] | None:
    """The first key and the bits of a bitmap for `count` keys about where some are; ``None`` if that is too large."""
    if sample.ndim > 1 or not len(sample):
        return None
    least, most = int(sample.min()), int(sample.max())
    margin = (most - least) // _MARGIN
    base = max(0, least - margin)
    bits = most + margin - base + 1
    return (base, bits) if bits <= min(_MOST_BITS, _SPARSEST * count) else None


def _window(keys: Keys, step: int) -> tuple[Key, Words] | None:
    """The first key and the words of a bitmap for `step` times as many keys as these, about where these are."""
    room = _room(keys, len(keys) * step)
    return room and (room[0], np.zeros(room[1] // WORD_BITS + 1, dtype=np.uint64))


def _dense_pieces(number: int, words: Words, base: Key, layout: Layout, partition: Partition) -> dict[int, Coded]:
    pieces = {}
    for place in range(partition.ranges):
        low, high = partition.bounds(place, layout)
        begin, end = (min(max(bound - base, 0), len(words) * WORD_BITS) for bound in (low, high))
        count = count_bits(words[begin // WORD_BITS : -(-end // WORD_BITS)])
        if count:
            coded = code_bits(number, words, base, begin, end, count, layout)
            if len(coded.firsts):
                pieces[place] = coded
    return pieces


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
            pieces[place] = code_keys(number, keys)
    return pieces


def _merged(layout: Layout, pieces: list[Block], known: list[Block], low: Key, last: Key) -> Keys:
    """The distinct keys from `low` to `last` of some blocks, in any order, that are none of the known ones."""
    least = max(low, min((block.first for block in pieces), default=low))
    if least > last:
        return layout.empty(0)
    if layout.words == 1 and last - least < min(_MOST_BITS, DENSE_SPAN * sum(block.size for block in pieces)):
        return _merged_in_bitmap(layout, pieces, known, least, last)
    # Neither the pieces nor the known blocks end where the range does.
    parts, olds = ([slice_between(decode(block, layout), low, last + 1) for block in lot] for lot in (pieces, known))
    return merge(parts or [layout.empty(0)], _fewer(_runs(olds), sum(map(len, parts))))


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


def _merged_in_bitmap(layout: Layout, pieces: list[Block], known: list[Block], least: Key, last: Key) -> Keys:
    words = np.zeros((last - least) // WORD_BITS + 1, dtype=np.uint64)
    for block in pieces:
        set_within(words, decode(block, layout), least)
    for block in known:
        clear_within(words, decode(block, layout), least)
    # The last word reaches beyond the range.
    words[-1] &= np.uint64((1 << (last - least) % WORD_BITS + 1) - 1)
    return list_bits(words, least, layout)
