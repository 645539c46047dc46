"""The two halves of a layer step by threads of one process: what the chunks lead to, and a range merged of that."""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Keys, Layout
from hakoiri.storage.layers.blocks import Packed, unpack_blocks
from hakoiri.storage.layers.coded import Coded, code_keys
from hakoiri.storage.layers.digest import lanes_of
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.flow import flow_of, total_flow
from hakoiri.worker.layers.kernels import Window, difference, list_bits, merge, set_within, split, take_off
from hakoiri.worker.layers.marks import Marks
from hakoiri.worker.layers.partition import scatter

#: So many successors at most are marked at a time, so that they stay in the second-level cache.
_BATCH = 1 << 17


class Found(NamedTuple):
    """Successors in a key range, in no order and with duplicates: keys, blocks, and marked ones."""

    parts: list[Keys]
    packed: list[Packed]
    marked: Callable[[], Window] | None


class Work(NamedTuple):
    """What was found in a range, sorted batches of known keys to be taken off, and whether to keep what is left.

    Nothing is left but what is in some sorted batches, too, if these are given.
    """

    found: Found
    known: Iterable[Keys]
    keep: bool
    within: Iterable[Keys] | None = None


class Merged(NamedTuple):
    """[How many keys, how many goals, the two lanes of the digest] of a range, its blocks, and its keys if kept."""

    summary: NDArray[np.uint64]
    coded: Coded
    keys: Keys


def expand_chunk(
    puzzle: Puzzle, marks: Marks | None, table: NDArray[np.int64], summed: bool, batches: Iterable[Keys]
) -> tuple[Keys, NDArray[np.int64], int]:
    """Expand some keys; the successors that are not marked, by key range, and where each range ends.

    And the flow of all their moves, if it is to be `summed`.
    """
    flows: list[int] = []

    def expand(keys: Keys) -> Keys:
        expansion = puzzle.expand(keys)
        if summed:
            flows.append(flow_of(puzzle, keys, expansion))
        return expansion.successors

    if marks is None:
        return *scatter(expand(np.concatenate([*batches])), table), total_flow(flows)
    left, size = [puzzle.layout.empty(0)], max(1, _BATCH // puzzle.most_successors)
    for batch in chain.from_iterable(split(keys, size) for keys in batches):
        beyond = marks.mark(expand(batch))
        if len(beyond):
            left.append(beyond)
    return *scatter(np.concatenate(left), table), total_flow(flows)


def merge_range(puzzle: Puzzle, depth: Depth, work: Work) -> Merged:
    """A range of layer `depth`."""
    keys = _less(work.found, work.known, puzzle.layout)
    if work.within is not None and len(keys):
        keys = difference(keys, merge([keys], work.within))
    goals = int(np.count_nonzero(puzzle.is_goal(keys))) if len(keys) else 0
    summary = np.array([len(keys), goals, *lanes_of(keys)], dtype=np.uint64)
    return Merged(summary, code_keys(depth, keys), _own(keys if work.keep else keys[:0]))


def code_range(layout: Layout, depth: Depth, work: Work) -> Coded:
    """What was found in a range and is not known, sorted, without duplicates, as blocks of layer `depth`."""
    return code_keys(depth, _less(work.found, work.known, layout))


def _less(found: Found, known: Iterable[Keys], layout: Layout) -> Keys:
    """The distinct keys of what was found that none of the known batches holds, strictly increasing."""
    parts = [*found.parts, *(unpack_blocks(packed) for packed in found.packed)]
    if found.marked is None:
        return merge(parts or [layout.empty(0)], known)
    base, words = found.marked()
    beyond = [set_within(words, part, base) for part in parts]
    if any(map(len, beyond)):
        return merge([list_bits(words, base, layout), *beyond], known)
    take_off((base, words), known)
    return list_bits(words, base, layout)


def _own(keys: Keys) -> Keys:
    """`keys` without the larger array that they may be a part of."""
    return keys if keys.base is None else keys.copy()
