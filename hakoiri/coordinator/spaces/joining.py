"""The components of a space that is joined here: the passes of `worker.spaces.joining` in a session of its run."""

from collections.abc import Iterable
from functools import partial

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.spaces.faults import report_wrong_moves
from hakoiri.coordinator.spaces.growing import grown_ranges
from hakoiri.puzzles.errors import Hint
from hakoiri.storage.layers.readers import StoredLayer
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.names import META, NUMBERS_KEY, PARTIAL_KEY
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.spaces.joining import Joining, JoinProgress, StrayMoveError
from hakoiri.worker.spaces.ranges import SlabRanges, slabs_of_range
from hakoiri.worker.spaces.slabs import Slabs, ranks_of
from hakoiri.worker.spaces.tree_union import TreeUnion

#: Places of configurations have 32 bits.
_MOST = (1 << 32) - 1


def require_places(size: int) -> None:
    """Raise `UnanswerableError` if there are more configurations than places."""
    if size > _MOST:
        raise UnanswerableError(
            f"the space has {size:,} configurations or more, above the limit of {_MOST:,} for components",
            Hint("leave out", "whole"),
        )


class HomeJoining:
    """Makes the labels of layer 0, staged and committed. Nothing may be staged in the store when it begins."""

    def __init__(self, session: Session, all_slabs: Slabs) -> None:
        self._session, self._store = session, session.store
        context, puzzle, size = session.context, session.puzzle, self._store.layer_record(0).size
        require_places(size)
        done = self._store.read_partial(JoinProgress)
        slabs = slabs_of_range(puzzle, size, context.shares, context.shares.workers, context.tuning.most_range)
        slabs = slabs if done is None else done.range_slabs
        partition = Partition(puzzle.layout, tuple(all_slabs.firsts[slabs::slabs]))
        self._ranges = SlabRanges(StoredLayer(self._store, 0, size), partition, slabs, 0)
        self._joining = Joining(
            self._store, self._ranges, partition, done, slabs, context.local, context.shares,
            lambda: session.commit(self._store.state), context.tuning.checkpoint,
        )  # fmt: skip

    def label(self) -> tuple[int, int]:
        """Return the numbers of moves, which in an undirected puzzle count twice, and of components.

        Label 0 is the largest component, ties go to the one with the least key. The caller commits the staged labels
        and the deletion of the partial record, and removes the spill files then.
        """
        joining = self._joining
        self._follow("expanding moves", joining.grow(partial(grown_ranges, self._session.context, self._ranges)))
        if self._session.puzzle.undirected and joining.done.balance:
            report_wrong_moves(self._session)
        if not joining.done.roots:
            self._unite()
        # A root is all that its component has here.
        self._follow("numbering components", joining.number(ranks_of(joining.sizes.astype(np.int64))))
        for name in (PARTIAL_KEY, NUMBERS_KEY):
            self._store.erase(META, name)
        return joining.done.moves, joining.done.roots

    def _unite(self) -> None:
        """Join the trees of all ranges."""
        joining = self._joining
        union = TreeUnion(joining.numbers, self._store.directory, self._session.context.shares.free // 2)
        try:
            self._follow("joining configurations", joining.join(union))
        except StrayMoveError:
            report_wrong_moves(self._session)
        joining.keep_roots(union)

    def _follow(self, headline: str, work: Iterable[int]) -> None:
        """Do the work of a pass, and report the configurations that are done."""
        for done in work:
            disk = self._store.state.stored_bytes + self._joining.spill.stored_bytes
            self._session.tell(Progress(done, self._joining.size, headline=headline, disk=disk))
            self._session.control.check()
