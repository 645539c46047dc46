"""The configurations of a whole space, or of some ranges of it, as the puzzle lists them: never all in memory."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import slice_between
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.digest import NOTHING, add_lanes, digest_text, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import LayerRecord
from hakoiri.storage.names import META, PARTIAL_KEY

#: Configurations coded together: a puzzle may list them in small blocks.
_TOGETHER = 1 << 19


def listed(puzzle: Puzzle, low: Key, high: Key) -> Iterator[Keys]:
    """Yield the configurations with low <= key < high, about `_TOGETHER` at a time."""
    waiting: list[Keys] = []
    for block in puzzle.configurations():
        inside = block
        if len(block) and (key_at(block, 0) < low or key_at(block, -1) >= high):
            inside = slice_between(block, low, high)
        if len(inside):
            waiting.append(inside)
        if sum(map(len, waiting)) >= _TOGETHER:
            yield np.concatenate(waiting)
            waiting = []
        if len(block) and key_at(block, 0) >= high:
            break
    if waiting:
        yield np.concatenate(waiting)


@dataclass(frozen=True)
class _ListProgress:
    """The progress of the list on disk, stored in the partial record; `last` is the greatest key, in hexadecimal."""

    last: str
    size: int = 0
    goals: int = 0
    lane_0: int = NOTHING[0]
    lane_1: int = NOTHING[1]
    stored: int = 0
    index: int = 0


class Listing:
    """Makes layer 0 in `store`. Its partial record stays until the configurations are labelled."""

    def __init__(self, store: RunStore, puzzle: Puzzle, most_staged: int) -> None:
        self._store, self._puzzle, self._most_staged = store, puzzle, most_staged
        self._listed = store.read_partial(_ListProgress) or _ListProgress("-0x1")

    @property
    def size(self) -> int:
        """The number of listed configurations."""
        return self._listed.size

    @property
    def following(self) -> Key:
        """The least key that is not listed yet."""
        return int(self._listed.last, 16) + 1

    def run(self, batches: Iterable[Keys]) -> Iterator[bool]:
        """Stage configurations from `following` on; yield whether a commit is due."""
        for keys in batches:
            self._stage(keys)
            yield self._store.staged_bytes > self._most_staged

    @property
    def record(self) -> LayerRecord:
        """The record of the layer as far as it is listed."""
        done, session = self._listed, self._store.state.session
        digest = digest_text((done.lane_0, done.lane_1))
        return LayerRecord(0, done.size, digest, done.goals, done.stored, done.index, session)

    def _stage(self, keys: Keys) -> None:
        old = self._listed
        stored, index = self._store.stage_blocks(0, code_keys(0, keys), old.index)
        lane_0, lane_1 = add_lanes((old.lane_0, old.lane_1), lanes_of(keys))
        goals = int(np.count_nonzero(self._puzzle.is_goal(keys)))
        self._listed = replace(
            old, last=hex(key_at(keys, -1)), size=old.size + len(keys), goals=old.goals + goals,
            lane_0=lane_0, lane_1=lane_1, stored=old.stored + stored, index=index,
        )  # fmt: skip
        # IMPORTANT: with each batch, because an interruption commits what is staged.
        self._store.stage_record(META, PARTIAL_KEY, vars(self._listed))
