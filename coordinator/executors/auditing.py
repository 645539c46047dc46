"""Audit: a share of the chunks that workers made is made again here, by a choice that nobody can foresee.

Tasks are pure functions, so a worker that gives another answer is wrong: by its memory, its disk, or on purpose. It is
left out. Its answer is replaced by the one made here, and where it has answered before, what follows from that is made
again, too (`UntrustedError`).
"""

import secrets
from collections.abc import Sequence

from hakoiri.coordinator.errors import UntrustedError
from hakoiri.coordinator.executors.lying import Lying
from hakoiri.coordinator.session.places import Places
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.answers import same_answer, same_arrays
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.tasks import SHUFFLES, Array
from hakoiri.worker.transport.lots import BLOCKS, PIECES, Origin, ValueName
from hakoiri.worker.transport.pieces import read_answer

_chance = secrets.SystemRandom()


class Auditor:
    """Makes a `share` of all chunks again; what it finds is noted in `places`."""

    def __init__(self, share: float, places: Places, lying: Lying) -> None:
        self.share, self._places, self._lying = share, places, lying

    def picks(self) -> bool:
        """Whether the next chunk is made again."""
        return _chance.random() < self.share

    def agrees(self, task: str, theirs: tuple[Origin, Sequence[Array]], ours: tuple[Origin, Sequence[Array]]) -> bool:
        """Whether two attempts at one chunk have the same answer, and left the same; those of the second are removed.

        `PayloadError` where it cannot be told, because what the first attempt left is gone.
        """
        self._places.audited += 1
        if task not in SHUFFLES:
            return same_answer(task, theirs[1], ours[1])
        # All but the data Redis that it lies in.
        answers = [[*answer[:1], *answer[2:]] for _, answer in (theirs, ours)]
        if not same_arrays(*answers) or not self._same_values(theirs, ours):
            return False
        keys = [ours[0].key(value) for value in (BLOCKS, PIECES)]
        self._lying.plane.call(read_answer(ours[1]).depot, lambda there: there.unlink(*keys))
        return True

    def _same_values(self, *attempts: tuple[Origin, Sequence[Array]]) -> bool:
        for value in (BLOCKS, PIECES):
            left = [self._lying.get(ValueName(read_answer(said).depot, origin.key(value))) for origin, said in attempts]
            theirs, ours = (bytes(each or b"") for each in left)
            if ours and not theirs:
                raise PayloadError("what is to be compared is gone from Redis")
            if theirs != ours:
                return False
        return True

    def note_answer(self, worker: str, layer: Depth) -> None:
        """A worker's answer counts, which has to do with a layer and those after it."""
        if self.share:
            self._places.first_layers.setdefault(worker, layer)

    def leave_out(self, worker: str) -> None:
        """Note that a worker was wrong; `UntrustedError` where answers of it count already."""
        self._places.untrusted.append(worker)
        since = self._places.first_layers.pop(worker, None)
        if since is not None:
            raise UntrustedError(f"worker {worker} gave wrong answers, and had answered before", since)
