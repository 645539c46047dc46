"""The two halves of a layer step between workers: coded blocks in, coded blocks out, keys only in between.

`spread` expands some of U(N) and makes a piece for each key range; `gather` makes a range of U(N+1) of all pieces of
that range, and may expand it at once, as `spread` would. Both take away known keys: `spread` those at hand, to send
less, `gather` all of them. Where keys are dense, both work in bitmaps, without sorting.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys, Layout, key_at, layout_of
from hakoiri.puzzles.keys.order import merge_sorted, slice_between
from hakoiri.storage.layers.bitmap import WORD_BITS
from hakoiri.storage.layers.blocks import Coded, code_keys, has_bits, join_coded
from hakoiri.storage.layers.digest import lanes_of
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.layers.flow import flow_of, total_flow
from hakoiri.worker.layers.kernels import (
    Window,
    is_dense,
    list_bits,
    merge,
    set_within,
    split,
    take_off,
)
from hakoiri.worker.layers.partition import Partition, scatter
from hakoiri.worker.layers.parts import (
    Held,
    Parts,
    blocks_in,
    code_window,
    greatest_of,
    keys_of,
    known_in,
    marked,
    part_of,
    within,
)

Arrays = Sequence[NDArray[Any]]


class Made(NamedTuple):
    """What a half makes: some numbers, some keys of the layer that it made, and blocks by the number of their piece.

    `windows` are the keys of pieces that were in a bitmap; nobody changes these any more.
    """

    numbers: NDArray[np.uint64]
    sample: Keys
    pieces: dict[int, Coded]
    windows: dict[int, Window]


#: Keys expanded at a time, so that their successors stay in the second-level cache.
_BATCH = 1 << 14
#: A bitmap of all successors of a chunk has at most so many bits for each of them, and in all.
_SPARSEST, _MOST_BITS = 256, 1 << 30
#: So many keys of a range that was made are told of.
_SAMPLED = 1 << 10
#: So many keys show where the successors of all lie; those may reach this part of the span further at either end.
_PROBE, _MARGIN = 1 << 12, 32


def spread(puzzle: Puzzle, arrays: Arrays, lots: Sequence[Parts]) -> Made:
    """A piece of U(N+1) for each of its key ranges, less the known keys, from some of U(N). Range r is piece r + 1.

    `arrays`: [how many keys to pass over, how many to expand, number of U(N+1)], [its partition]; `lots`: blocks of
    U(N), and two lots of known keys. The numbers: 0, the flow of the moves (`worker.layers.flow`).
    """
    (skipped, count, number), cuts = arrays[0].tolist(), arrays[1]
    current, *known = lots
    keys = keys_of(blocks_in(current), puzzle.layout)[skipped : skipped + count]
    if len(keys) != count:
        raise PayloadError(f"{count} keys announced, {len(keys)} found")
    met = chain([keys], *(known_in(lot, puzzle.layout) for lot in known))
    pieces, windows, flow = _expanded(puzzle, number, keys, met, cuts)
    return Made(np.array([0, flow], dtype=np.uint64), puzzle.layout.empty(0), pieces, windows)


def gather(puzzle: Puzzle, arrays: Arrays, lots: Sequence[Parts]) -> Made:
    """Piece 0: a range of U(N+1), of all pieces of that range; the others: what it leads to, if that is asked for.

    `arrays`: [number of U(N+1), whether it is final], [least and greatest key], [the partition of U(N+2), or nothing];
    `lots`: the pieces, the known keys that U(N+1) may lead back to, other known ones. The numbers: how many keys; where
    they are final how many goals, the lanes of the digest; whether they were expanded, and the flow of their moves.
    Range r of U(N+2) is piece r + 1.
    """
    (number, final), bounds, cuts = arrays[0].tolist(), arrays[1], arrays[2]
    keys, met = _merged(puzzle.layout, lots, key_at(bounds, 0), key_at(bounds, 1))
    summary = [len(keys), 0, 0, 0, int(len(cuts) > 0), 0]
    if final and len(keys):
        summary[1:4] = [int(np.count_nonzero(puzzle.is_goal(keys))), *lanes_of(keys)]
    made = {0: code_keys(number, keys)} if len(keys) else {}
    windows = {0: met[0]} if met and isinstance(met[0], tuple) else {}
    if len(cuts):
        pieces, others, summary[-1] = _expanded(puzzle, number + 1, keys, met, cuts)
        made, windows = made | pieces, windows | others
    return Made(np.array(summary, dtype=np.uint64), keys[:: -(-len(keys) // _SAMPLED) or 1].copy(), made, windows)


def _expanded(
    puzzle: Puzzle, number: int, keys: Keys, met: Iterable[Keys | Window], cuts: NDArray[np.int64]
) -> tuple[dict[int, Coded], dict[int, Window], int]:
    """A piece of layer `number` for each range that some keys lead to, in order, less those that were met.

    And some of the pieces as bitmaps; and the flow of all moves.
    """
    if not len(keys):
        return {}, {}, 0
    flows: list[int] = []

    def expand(batch: Keys) -> Keys:
        expansion = puzzle.expand(batch)
        flows.append(flow_of(puzzle, batch, expansion))
        return expansion.successors

    step = -(-len(keys) // _PROBE)
    window = _window(puzzle.expand(keys[::step]).successors, step)
    batches = map(expand, split(keys, _BATCH))
    partition = Partition.of_numbers(cuts)
    if window is None:
        known = [list_bits(each[1], each[0], puzzle.layout) if isinstance(each, tuple) else each for each in met]
        return dict(sorted(_sorted_pieces(number, batches, known, partition).items())), {}, total_flow(flows) or 0
    base, words = window
    outside = [beyond for batch in batches if len(beyond := set_within(words, batch, base))]
    take_off(window, met)
    pieces, windows = _dense_pieces(number, window, puzzle.layout, partition)
    # A known key that is sent all the same does no harm: whoever gathers takes it away.
    for place, coded in _sorted_pieces(number, outside, [keys], partition).items():
        pieces[place] = join_coded([pieces[place], coded]) if place in pieces else coded
        windows.pop(place, None)
    return dict(sorted(pieces.items())), windows, total_flow(flows) or 0


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


def _dense_pieces(
    number: int, window: Window, layout: Layout, partition: Partition
) -> tuple[dict[int, Coded], dict[int, Window]]:
    pieces, windows = {}, {}
    for place in range(partition.ranges):
        base, words = part_of(window, *partition.bounds(place, layout))
        coded = code_window(number, (base, words), layout)
        if len(coded.firsts):
            pieces[place + 1] = coded
            if has_bits(coded.data):
                windows[place + 1] = base, words.copy()
    return pieces, windows


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


def _merged(layout: Layout, lots: Sequence[Parts], low: Key, last: Key) -> tuple[Keys, list[Keys | Window]]:
    """The distinct keys from `low` to `last` of the first lot, in any order, that are in none of the others.

    And what they may lead back to: themselves, and the second lot.
    """
    pieces, nearby, further = lots
    least = max(low, min((part.first for part in pieces), default=low))
    if layout.words == 1 and last == layout.greatest:
        # The last range ends nowhere; its keys may be dense all the same.
        last = max(greatest_of(pieces, layout), default=last)
    if least > last:
        return layout.empty(0), []
    if layout.words == 1 and last - least < _MOST_BITS and is_dense(last - least, sum(part.size for part in pieces)):
        found, older = marked(layout, pieces, least, last), [part.window for part in nearby if isinstance(part, Held)]
        if blocks := blocks_in(nearby):
            older.append(marked(layout, blocks, least, last))
        take_off(found, older)
        take_off(found, known_in(further, layout))
        return list_bits(found[1], found[0], layout), [found, *older]
    # Neither the pieces nor the known keys end where the range does.
    parts, near, far = ([within(known, low, last + 1, layout) for known in known_in(lot, layout)] for lot in lots)
    keys = merge(parts or [layout.empty(0)], _fewer(_runs([*near, *far]), sum(map(len, parts))))
    return keys, [keys, *near]


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
