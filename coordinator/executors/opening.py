"""Opens the executor that resources ask for: threads of this process, or RQ with workers elsewhere."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from coordinator.executors.threads import ThreadExecutor
from coordinator.session.control import Control, Observer, SilentObserver
from coordinator.session.resources import Ways
from coordinator.session.session import Workshop
from puzzles.contract import Puzzle
from puzzles.registry import PuzzleSpec
from puzzles.user.files import configured_files, known


@contextmanager
def open_workshop(
    puzzle: Puzzle, spec: PuzzleSpec, ways: Ways, control: Control, observer: Observer
) -> Iterator[Workshop]:
    """The executor that `ways` ask for, with the worker processes that belong to it, while the block runs."""
    budget = ways.budget()
    threads = cores() if ways.redis is not None else ways.workers or cores()
    with closing(ThreadExecutor(puzzle, threads, control)) as home:
        shares = budget.shares(puzzle, threads)
        if ways.redis is None:
            yield Workshop(puzzle, home, home, budget, shares)
            return
        # Here, because rq takes a tenth of a second to import.
        from coordinator.executors.remote import FarmExecutor
        from worker.transport.connection import connect
        from worker.transport.supervisor import supervised

        connection = connect(ways.redis)
        farm = FarmExecutor(ways.redis, connection, puzzle, spec, control, observer, shares.free // 4, ways.deadline)
        with closing(farm), supervised(ways.redis, ways.workers or 0, observer.note, _own_files(spec)):
            yield Workshop(puzzle, farm, home, budget, shares)


def _own_files(spec: PuzzleSpec) -> list[Path]:
    """The puzzle files that a run's own workers load."""
    return [known(spec.name, spec.digest).path, *configured_files()] if spec.digest else []


@contextmanager
def query_workshop(puzzle: Puzzle) -> Iterator[Workshop]:
    """Threads of this process, for questions that need some computing."""
    with open_workshop(puzzle, PuzzleSpec(puzzle.name), Ways(), Control(), SilentObserver()) as workshop:
        yield workshop


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
