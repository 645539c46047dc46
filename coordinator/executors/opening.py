"""Opens the executor that resources ask for: threads of this process, or RQ workers anywhere."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from hakoiri.coordinator.executors.threads import ThreadExecutor
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user.files import known
from hakoiri.worker.machine import usable_cores


@contextmanager
def open_context(
    puzzle: Puzzle, spec: PuzzleSpec, resources: Resources, control: Control, observer: Observer
) -> Iterator[ComputeContext]:
    """The executor that `resources` ask for, with the worker processes that they ask for, while the block runs."""
    budget = resources.budget()
    threads = (resources.workers if resources.redis is None else None) or len(usable_cores())
    with closing(ThreadExecutor(puzzle, threads, control)) as local:
        shares = budget.shares(puzzle, threads)
        if resources.redis is None:
            yield ComputeContext(puzzle, local, local, budget, shares, control, observer)
            return
        # Here, because rq takes a tenth of a second to import.
        from hakoiri.coordinator.executors.remote import RemoteExecutor
        from hakoiri.worker.transport.connection import connect
        from hakoiri.worker.transport.supervisor import supervised

        tuning = replace(resources.tuning, deadline=resources.deadline or resources.tuning.deadline)
        connection = connect(resources.redis)
        remote = RemoteExecutor(
            resources.redis,
            connection,
            puzzle,
            spec,
            control,
            observer,
            shares.in_flight_bytes,
            tuning,
            resources.audit or 0.0,
        )
        # The only puzzle file that the run's own workers load.
        files = [known(spec.name, spec.digest).path] if spec.digest else []
        with closing(remote), supervised(resources.redis, resources.workers or 0, observer.note, files) as names:
            remote.expect(names)
            hosts = None
            if resources.hosts is not None and resources.hosts >= 0:
                from hakoiri.coordinator.executors.hosts import HostPool

                memory, wanted = resources.memory or 0, resources.hosts or None
                hosts = HostPool(resources.redis, connection, puzzle, spec, control, observer, tuning, wanted, memory)
            yield ComputeContext(puzzle, remote, local, budget, shares, control, observer, hosts)
