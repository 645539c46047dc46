"""Audit: a share of the chunks that workers made is made again here, chosen unpredictably.

Tasks are pure functions, so a worker that gives another answer is wrong: by its memory, its disk, or on purpose. It is
left out. Its answer is replaced by the one made here, and where it has answered before, what follows from that is made
again, too (`UntrustedError`).
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hakoiri.coordinator.errors import UntrustedError
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.worker.deals.solving import SolveResult
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.plain import Array, Arrays, packed, unpacked

_chance = secrets.SystemRandom()
#: Where the answers to ``subtrees`` and ``expand`` have the time that they took.
_SUBTREE_SECONDS, _EXPAND_SECONDS = 4, 2


class Auditor:
    """Makes a `share` of all chunks again; what it finds is noted in `work_log`."""

    def __init__(self, share: float, work_log: WorkLog) -> None:
        self._share, self._work_log = share, work_log

    def picks(self) -> bool:
        """Return whether to compute the next chunk again, at random."""
        return _chance.random() < self._share

    def agrees(self, task: str, theirs: Sequence[Array], ours: Sequence[Array]) -> bool:
        """Return whether two attempts at one chunk have the same answer; count the audit."""
        self._work_log.audited += 1
        return same_answer(task, theirs, ours)

    def note_answer(self, worker: str) -> None:
        """A worker's answer counts."""
        if self._share:
            self._work_log.answered.add(worker)

    def leave_out(self, worker: str) -> None:
        """Note that a worker was wrong; `UntrustedError` where answers of it count already."""
        self._work_log.untrusted.append(worker)
        if worker in self._work_log.answered:
            self._work_log.answered.remove(worker)
            raise UntrustedError(f"worker {worker} gave wrong answers, and the run has used some of its answers")


def same_answer(task: str, theirs: Arrays, ours: Arrays) -> bool:
    """Return whether two answers to a request of a task are equal, but for the time that they took."""
    try:
        theirs, ours = (_UNTIMED.get(task, list)(answer) for answer in (theirs, ours))
    except (PayloadError, IndexError, TypeError, ValueError):
        return False
    return same_arrays(theirs, ours)


def same_arrays(these: Arrays, those: Arrays) -> bool:
    """Return whether two answers have equal arrays: types, shapes and elements."""
    pairs = zip(these, those, strict=False)
    return len(these) == len(those) and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def _untimed_tally(answer: Arrays) -> Arrays:
    tally = answer[0].copy()
    tally[_SUBTREE_SECONDS] = 0
    return [tally, *answer[1:]]


_UNTIMED: dict[str, Callable[[Arrays], Sequence[np.ndarray]]] = {
    "expand": lambda answer: [answer[0][:_EXPAND_SECONDS], *answer[1:]],
    "subtrees": _untimed_tally,
    "solve": lambda answer: packed(replace(unpacked(answer, SolveResult), seconds=0.0)),
}
