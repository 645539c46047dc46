"""The configurations of a whole space as layer 0, written as the puzzle lists them: never all of them in memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import is_increasing, slice_between
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.digest import NOTHING, add_lanes, digest_text, lanes_of
from hakoiri.storage.ledger.manifest import LayerRecord, Progress
from hakoiri.storage.names import META, PARTIAL_KEY

#: Configurations coded together: a puzzle may list them in small blocks.
_TOGETHER = 1 << 19


@dataclass(frozen=True)
class _ListProgress:
    """The progress of the list on disk, stored in the partial record; `last` is the greatest key, in hexadecimal."""

    last: str = "-0x1"
    size: int = 0
    goals: int = 0
    lane_0: int = NOTHING[0]
    lane_1: int = NOTHING[1]
    stored: int = 0
    index: int = 0


class Listing:
    """Makes layer 0. Its partial record stays until the configurations are labelled."""

    def __init__(self, session: Session) -> None:
        self._session, self._store, self._puzzle = session, session.store, session.puzzle
        self._listed = _ListProgress(**(self._store.read_partial() or {}))

    @property
    def size(self) -> int:
        """The number of listed configurations."""
        return self._listed.size

    def run(self) -> Iterator[LayerRecord | None]:
        """Stage the configurations; yield ``None`` when a commit is due, and at the end the staged record.

        Raises `ContradictionError` if they are not listed in increasing order, or if the list is empty.
        """
        last = int(self._listed.last, 16)
        for keys in self._batches(last):
            self._session.control.check()
            if not is_increasing(keys) or key_at(keys, 0) <= last:
                raise ContradictionError(f"{self._puzzle.name} does not list its configurations in increasing order")
            last = key_at(keys, -1)
            self._stage(keys)
            self._session.tell(Progress(self._listed.size, headline="listing configurations"))
            if self._store.staged_bytes > self._session.context.shares.staged_bytes:
                yield None
        done = self._listed
        if not done.size:
            raise ContradictionError(f"{self._puzzle.name} lists no configurations")
        digest = digest_text((done.lane_0, done.lane_1))
        record = LayerRecord(0, done.size, digest, done.goals, done.stored, done.index, self._store.state.session)
        self._store.stage_layer(record)
        yield record

    def _batches(self, last: Key) -> Iterator[Keys]:
        """Yield the keys beyond `last`, about `_TOGETHER` at a time."""
        waiting: list[Keys] = []
        for block in self._puzzle.configurations():
            beyond = block
            if last >= 0 and len(block) and key_at(block, 0) <= last:
                beyond = slice_between(block, last + 1, self._puzzle.layout.greatest + 1)
            if len(beyond):
                waiting.append(beyond)
            if sum(map(len, waiting)) >= _TOGETHER:
                yield np.concatenate(waiting)
                waiting = []
        if waiting:
            yield np.concatenate(waiting)

    def _stage(self, keys: Keys) -> None:
        old = self._listed
        stored, index = self._store.stage_blocks(0, code_keys(0, keys), old.index)
        lane_0, lane_1 = add_lanes((old.lane_0, old.lane_1), lanes_of(keys))
        goals = int(np.count_nonzero(self._puzzle.is_goal(keys)))
        self._listed = _ListProgress(
            hex(key_at(keys, -1)), old.size + len(keys), old.goals + goals, lane_0, lane_1, old.stored + stored, index
        )
        # IMPORTANT: with each batch, because an interruption commits what is staged.
        self._store.stage_record(META, PARTIAL_KEY, vars(self._listed))
