"""Whether two answers to one request are the same: what a worker says, and what an audit finds."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hakoiri.worker.deals import solving
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.tasks import Arrays

#: Where the answer to ``subtrees`` has the seconds that it took.
_SUBTREE_SECONDS = 4


def same_answer(task: str, theirs: Arrays, ours: Arrays) -> bool:
    """Whether two answers to one request of a task differ in nothing but the time that they took."""
    try:
        theirs, ours = (_UNTIMED.get(task, list)(answer) for answer in (theirs, ours))
    except (PayloadError, IndexError, TypeError, ValueError):
        return False
    return same_arrays(theirs, ours)


def same_arrays(these: Arrays, those: Arrays) -> bool:
    """Whether they have the same types, shapes and elements."""
    pairs = zip(these, those, strict=False)
    return len(these) == len(those) and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


def _untimed_tally(answer: Arrays) -> Arrays:
    tally = answer[0].copy()
    tally[_SUBTREE_SECONDS] = 0
    return [tally, *answer[1:]]


def _untimed_solution(answer: Arrays) -> Arrays:
    return solving.answer(replace(solving.answered(answer), seconds=0.0))


_UNTIMED: dict[str, Callable[[Arrays], Sequence[np.ndarray]]] = {
    "subtrees": _untimed_tally,
    "solve": _untimed_solution,
}
