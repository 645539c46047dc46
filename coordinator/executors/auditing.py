"""Audit: a share of the chunks that workers made is made again here, by a choice that nobody can foresee.

Tasks are pure functions, so a worker that gives another answer is wrong: by its memory, its disk, or on purpose. It is
left out. Its answer is replaced by the one made here, and where it has answered before, what follows from that is made
again, too (`UntrustedError`).
"""

import secrets
from collections.abc import Sequence

from hakoiri.coordinator.errors import UntrustedError
from hakoiri.coordinator.session.places import Places
from hakoiri.worker.answers import same_answer
from hakoiri.worker.tasks import Array

_chance = secrets.SystemRandom()


class Auditor:
    """Makes a `share` of all chunks again; what it finds is noted in `places`."""

    def __init__(self, share: float, places: Places) -> None:
        self._share, self._places = share, places

    def picks(self) -> bool:
        """Whether the next chunk is made again."""
        return _chance.random() < self._share

    def agrees(self, task: str, theirs: Sequence[Array], ours: Sequence[Array]) -> bool:
        """Whether two attempts at one chunk have the same answer."""
        self._places.audited += 1
        return same_answer(task, theirs, ours)

    def note_answer(self, worker: str) -> None:
        """A worker's answer counts."""
        if self._share:
            self._places.answered.add(worker)

    def leave_out(self, worker: str) -> None:
        """Note that a worker was wrong; `UntrustedError` where answers of it count already."""
        self._places.untrusted.append(worker)
        if worker in self._places.answered:
            self._places.answered.remove(worker)
            raise UntrustedError(f"worker {worker} gave wrong answers, and had answered before")
