"""How many searches of deals fit the memory side by side."""

from dataclasses import replace

import psutil

from coordinator.errors import OverBudgetError
from coordinator.executors.opening import cores
from coordinator.session.resources import Resources
from coordinator.session.session import Observer
from puzzles.capabilities import Dealt
from puzzles.errors import Step
from worker.tasks import SOLVERS

#: A deal may take minutes; workers that die are found out by their silence.
_DEADLINE_SECONDS = 900.0


def fitted(puzzle: Dealt, cap: int, resources: Resources, observer: Observer) -> Resources:
    """`resources` with no more threads than memory allows, should all searches reach the cap.

    Raises `OverBudgetError` where memory does not allow a single one. Workers elsewhere have their own memory.
    """
    if resources.redis is not None:
        return replace(resources, deadline=resources.deadline or _DEADLINE_SECONDS)
    memory = resources.memory if resources.memory is not None else psutil.virtual_memory().available // 2
    wanted, needed = resources.workers or cores(), SOLVERS[puzzle.solver].bytes_of_search(puzzle, cap)
    if resources.memory is not None and needed > memory:
        raise OverBudgetError(
            f"a search of {cap:,} positions may take {needed >> 20:,} MB, {memory >> 20:,} MB are allowed",
            Step("lower", "cap"),
        )
    threads = max(1, min(wanted, memory // needed))
    if threads < wanted:
        observer.note(
            f"{threads} of {wanted} threads: each may need {needed >> 20:,} MB for {cap:,} positions",
            Step("lower", "cap"),
            Step("raise", "memory"),
        )
    return replace(resources, workers=threads)
