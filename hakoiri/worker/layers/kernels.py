"""Kernels on the keys of one chunk or range: sort, drop duplicates, subtract known keys, sum flows, compare with rules.

The *flow* of an undirected space shows whether a configuration or a move was left out. Each configuration adds its
successors, and subtracts itself once per move. If every move can be taken back, each configuration is a successor as
often as it has moves, so the sum is 0. A key left out of the records of hosts is still a successor. About one of 2**32
random errors goes unseen. The sum takes 0.3 to 0.8 ns a configuration if moves are paired, and 11 to 63 ns if equal
moves must be counted once (2 cores of an AMD EPYC, tiles to topspin). Where a kernel for bitmaps sums it (`BitKernel`),
blocks take the place of configurations: a move within a block that is left out goes unseen.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from hakoiri.compiling import jit, popcount
from hakoiri.keys.layout import Counts, Key, Keys, Layout, ints, layout_of
from hakoiri.keys.order import equal, put, slice_between, sort_few, sort_keys, subtract
from hakoiri.keys.splitmix import STEP, mix
from hakoiri.puzzles.conformance.pool import disagreement
from hakoiri.puzzles.contract import Expansion, Puzzle, spread_of
from hakoiri.storage.layers.codec import WORD_BITS, Words, list_words
from hakoiri.worker.transport.payload import Array, Arrays

#: A bitmap, and the key of its first bit.
Window = tuple[Key, Words]

#: A bitmap replaces sorting if the keys of a range are dense: fewer than this many numbers per key, duplicates counted.
#: Measured: docs/reports/measurements.md.
DENSE_SPAN = 64


@jit
def _unique(keys: Keys) -> int:
    """Move the distinct keys of a sorted array to its front; return their number. Branch-free: 1 ns a key, not 3."""
    if len(keys) == 0:
        return 0
    last = 0
    for index in range(1, len(keys)):
        new = not equal(keys, index, keys, last)
        put(keys, last + 1, keys, index)
        last += new
    return last + 1


@jit
def _clear_bits(words: Words, keys: Keys, first: np.uint64) -> None:
    for index in range(len(keys)):
        offset = np.uint64(keys[index]) - first
        words[offset >> np.uint64(6)] &= ~(np.uint64(1) << (offset & np.uint64(63)))


@jit
def _set_within(words: Words, keys: Keys, base: np.uint64, others: Keys) -> int:
    beyond = 0
    span = np.uint64(len(words)) << np.uint64(6)
    for index in range(len(keys)):
        offset = np.uint64(keys[index]) - base
        if offset < span:
            words[offset >> np.uint64(6)] |= np.uint64(1) << (offset & np.uint64(63))
        else:
            others[beyond] = keys[index]
            beyond += 1
    return beyond


@jit
def _count_bits(words: Words) -> int:
    total = np.uint64(0)
    for index in range(len(words)):
        total += popcount(words[index])
    return int(total)


@jit
def fill_of(words: Words) -> tuple[int, int]:
    """Return the number of words with any bits set, and the number of bits set."""
    filled = np.uint64(0)
    total = np.uint64(0)
    for index in range(len(words)):
        filled += np.uint64(words[index] != np.uint64(0))
        total += popcount(words[index])
    return int(filled), int(total)


@jit
def _simple_edges(sources: Keys, successors: Keys, counts: Counts) -> int:
    """Sort each source's successors, and drop duplicates and loops, in place; update `counts`; return the new total."""
    begin = 0
    total = 0
    held = successors[:1].copy()
    for source in range(len(sources)):
        end = begin + counts[source]
        sort_few(successors, begin, end, held)
        first = total
        for index in range(begin, end):
            if equal(successors, index, sources, source):
                continue
            if total == first or not equal(successors, total - 1, successors, index):
                put(successors, total, successors, index)
                total += 1
        counts[source] = total - first
        begin = end
    return total


def merge(parts: Sequence[Keys], known: Iterable[Keys]) -> Keys:
    """Return the distinct keys of some batches that are in none of the sorted batches `known`, strictly increasing.

    `parts` may be in any order; there must be at least one. Dense keys (`DENSE_SPAN`) are collected in a bitmap, others
    sorted; the result is the same.
    """
    parts = [part for part in parts if len(part)] or [parts[0][:0]]
    count = sum(len(part) for part in parts)
    if count and parts[0].ndim == 1:
        least, most = min(int(part.min()) for part in parts), max(int(part.max()) for part in parts)
        if is_dense(most - least, count):
            return _merge_dense(parts, known, least, most)
    keys = sort_keys(np.concatenate(parts) if len(parts) > 1 else parts[0].copy())
    keys = keys[: _unique(keys)]
    for others in known:
        keys = subtract(keys, others)
    return keys


def is_dense(span: int, count: int) -> bool:
    """Return whether `count` keys, duplicates counted, within `span` numbers are merged in a bitmap, not sorted."""
    return span < DENSE_SPAN * count


def _merge_dense(parts: Sequence[Keys], known: Iterable[Keys], least: int, most: int) -> Keys:
    words = np.zeros((most - least) // WORD_BITS + 1, dtype=np.uint64)
    for part in parts:
        set_within(words, part, least)
    take_off((least, words), known)
    return list_bits(words, least, layout_of(parts[0]))


def set_within(words: Words, keys: Keys, base: Key) -> Keys:
    """Set the bits of the keys within a bitmap from `base` on; return the others, as an array of their own.

    One pass does both: a mask of the others, made afterwards, takes 8 ns a key more. Pages of the array to which no key
    is written cost nothing.
    """
    others = np.empty_like(keys)
    # Keys below the base wrap around.
    return others[: _set_within(words, keys, np.uint64(base), others)].copy()


def take_off(window: Window, known: Iterable[Keys]) -> None:
    """Clear the bits of some increasing keys in a window; keys outside it are ignored."""
    base, words = window
    for others in known:
        _clear_bits(words, slice_between(others, base, base + len(words) * WORD_BITS), np.uint64(base))


def clip(window: Window, low: Key, high: Key) -> None:
    """Clear the bits of keys below `low`, and from `high` on, in the first and the last word."""
    base, words = window
    if len(words):
        words[0] &= ~np.uint64((1 << min(max(low - base, 0), WORD_BITS)) - 1)
        words[-1] &= np.uint64((1 << min(high - base - (len(words) - 1) * WORD_BITS, WORD_BITS)) - 1)


def list_bits(words: Words, base: Key, layout: Layout, count: int | None = None) -> Keys:
    """Return the keys of a bitmap, whose first bit is `base`; so many if that is known."""
    keys = layout.empty(_count_bits(words) if count is None else count)
    list_words(words, np.uint64(base), keys)
    return keys


def simple_edges(sources: Keys, successors: Keys, counts: Counts) -> tuple[Keys, Counts]:
    """Return the edges of a simple graph: per source its distinct successors except itself. Overwrites the inputs."""
    total = _simple_edges(sources, successors, counts)
    return successors[:total], counts


def split(keys: Keys, size: int) -> list[Keys]:
    """Return `keys` in consecutive chunks of `size`; the last may be smaller."""
    return [keys[begin : begin + size] for begin in range(0, len(keys), size)]


#: Keys expanded at a time by a search in memory.
EXPANDED_AT_ONCE = 1 << 16


def parts_after(puzzle: Puzzle, layers: Sequence[Keys], size: int) -> Iterator[Keys]:
    """Yield the layer after the last of `layers`, expanded `size` keys at a time; parts may have keys in common."""
    # A move of an undirected puzzle leads back no farther than to the layer before.
    known = layers[-2:] if puzzle.undirected else layers
    for block in split(layers[-1], size):
        yield merge([puzzle.expand(block).successors], known).copy()


def layers_after(puzzle: Puzzle, first: Keys) -> Iterator[Keys]:
    """Yield `first` and each layer after it, to the last; they stay in memory."""
    layers = [first]
    while len(layers[-1]):
        yield layers[-1]
        layers.append(merge([*parts_after(puzzle, layers, EXPANDED_AT_ONCE)], []))


def layers_within(puzzle: Puzzle, first: Keys, cap: int) -> tuple[list[Keys], bool]:
    """Return the layers from `first` on, and whether they are all, or end at `cap` configurations."""
    layers, positions = list[Keys](), 0
    for layer in layers_after(puzzle, first):
        layers.append(layer)
        positions += len(layer)
        if positions >= cap:
            return layers, False
    return layers, True


def plain_layers(puzzle: Puzzle, start: Key) -> Iterator[dict[Key, int]]:
    """Yield the layers from `start` by `Puzzle.successors` alone: each key with the number of shortest ways to it.

    The slow reference.
    """
    layer, seen = {start: 1}, {start}
    while layer:
        yield layer
        following = dict[Key, int]()
        for key, number in layer.items():
            for after in {*puzzle.successors(key)} - seen:
                following[after] = following.get(after, 0) + number
        seen |= following.keys()
        layer = following


@jit
def _mixed(keys: Keys, index: int) -> np.uint64:
    if keys.ndim == 1:
        return mix(np.uint64(keys[index]))
    mixed, last = np.uint64(0), keys.shape[1] - 1
    for word in range(last):
        mixed = (mixed + keys[index, word]) * np.uint64(STEP)
    return mix(mixed + keys[index, last])


@jit
def _flow(keys: Keys, successors: Keys, counts: Counts) -> np.uint64:
    total = np.uint64(0)
    for index in range(len(successors)):
        total += _mixed(successors, index)
    for index in range(len(keys)):
        total -= _mixed(keys, index) * np.uint64(counts[index])
    return total


def flow_of(puzzle: Puzzle, keys: Keys, expansion: Expansion) -> int:
    """Return the flow of some configurations and their moves, modulo 2**64; 0 if moves cannot be taken back."""
    if not puzzle.undirected:
        return 0
    successors, counts = expansion
    if not puzzle.paired:
        successors, counts = simple_edges(keys, successors.copy(), counts.copy())
    if (spread := spread_of(puzzle)) and spread.flows:
        keys, successors = (each // spread.block + 1 for each in (keys, successors))
    return int(_flow(keys, successors, counts))


def total_flow(flows: Iterable[int | None]) -> int | None:
    """Return the flow of several parts of a space together; ``None`` if that of one is unknown."""
    total = 0
    for flow in flows:
        if flow is None:
            return None
        total += flow
    return total % (1 << 64)


def derive(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> list[Array]:
    """[keys] -> [the distinct successors of each in turn by the reference rules, how many each has, unlike places].

    At unlike places the kernel, if there is one, gives others.
    """
    (keys,) = chunk
    plain = [sorted(set(puzzle.successors(key))) for key in ints(keys)]
    counts = np.array([len(successors) for successors in plain], dtype=np.int64)
    successors = puzzle.layout.pack([key for found in plain for key in found])
    unlike, end = list[int](), 0
    if puzzle.has_kernel:
        made, numbers = puzzle.expand(keys)
        for place, (key, number) in enumerate(zip(ints(keys), numbers.tolist(), strict=True)):
            begin, end = end, end + number
            if disagreement(puzzle, key, made[begin:end], plain[place]):
                unlike.append(place)
    return [successors, counts, np.array(unlike, dtype=np.int64)]
