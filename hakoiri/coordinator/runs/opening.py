"""Opens what a run is driven or read by: threads of this process, RQ workers anywhere, and hosts that keep layers."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hakoiri.coordinator.session.resources import DEFAULT, NEVER, Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, SilentObserver, ThreadExecutor
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user.files import loaded_from
from hakoiri.storage.layers.store import HostedEntries, RunStore
from hakoiri.worker.machine import REDIS, usable_cores

if TYPE_CHECKING:
    from hakoiri.coordinator.hosts.run_hosts import RunHosts


@contextmanager
def open_context(
    puzzle: Puzzle, spec: PuzzleSpec, resources: Resources, control: Control, observer: Observer, by_hosts: bool = False
) -> Iterator[ComputeContext]:
    """The executor that `resources` ask for, with the worker processes that they ask for, while the block runs.

    With `by_hosts` hosts that keep ranges may take part.
    """
    budget = resources.budget()
    threads = (resources.workers if resources.redis is None else None) or len(usable_cores())
    with closing(ThreadExecutor(puzzle, threads, control)) as local:
        shares = budget.shares(puzzle, threads)
        if resources.redis is None:
            yield ComputeContext(puzzle, local, local, budget, shares, control, observer)
            return
        # Others need no starts. Here, because rq takes a tenth of a second to import.
        spec = replace(spec, starts="")
        from hakoiri.coordinator.executors.remote import RemoteExecutor
        from hakoiri.worker.supervisor import supervised
        from hakoiri.worker.transport.connection import connect

        tuning = replace(resources.tuning, deadline=resources.deadline or resources.tuning.deadline)
        connection = connect(resources.redis)
        remote = RemoteExecutor(
            resources.redis, connection, puzzle, spec, control, observer, shares.in_flight_bytes, tuning,
            resources.audit or 0.0,
        )  # fmt: skip
        # The only puzzle file that the run's own workers load.
        files = [loaded_from(spec.name, spec.digest)] if spec.digest else []
        with closing(remote), supervised(resources.redis, resources.workers or 0, observer.note, files) as names:
            remote.expect(names)
            hosts = None
            if by_hosts and resources.hosts != -1:
                from hakoiri.coordinator.hosts.hosts import HostPool

                hosts = HostPool(
                    resources.redis, connection, puzzle, spec, control, observer, tuning,
                    resources.hosts, resources.memory or 0, resources.copies or 1,
                )  # fmt: skip
            executor = local if budget.farm == NEVER else remote
            yield ComputeContext(puzzle, executor, local, budget, shares, control, observer, hosts, resources.redis)


def open_store(directory: Path, redis: str | None = None) -> RunStore:
    """A run to be read; layers that hosts keep over the Redis of the URL `redis`, else of HAKOIRI_REDIS.

    Raises storage errors; `ElsewhereError` when a layer is read whose hosts cannot be reached.
    """
    store = RunStore(directory)
    url = redis_of_hosts(store, redis)

    @cache
    def elsewhere() -> HostedEntries:
        # Here, because rq takes a tenth of a second to import.
        from hakoiri.coordinator.hosts.run_hosts import HostedBlocks

        return HostedBlocks(open_run_hosts(store, url or "", Control(), SilentObserver()), store.layout)

    if url:
        store.elsewhere = elsewhere
    return store


def redis_of_hosts(store: RunStore, redis: str | None) -> str | None:
    """Return the URL at which the hosts of a run are asked, `redis` or HAKOIRI_REDIS; ``None`` if it has no hosts."""
    url = redis or os.environ.get(REDIS)
    return url if url and store.keepers() else None


def open_run_hosts(store: RunStore, redis: str, control: Control, observer: Observer) -> "RunHosts":
    """The hosts that keep the run of `store`, over the Redis of a URL."""
    from hakoiri.coordinator.hosts.hosts import HostPool
    from hakoiri.coordinator.hosts.run_hosts import RunHosts
    from hakoiri.worker.transport.connection import connect

    spec = replace(PuzzleSpec.from_dict(store.manifest.puzzle), starts="")
    pool = HostPool(redis, connect(redis), spec.build(), spec, control, observer, DEFAULT)
    return RunHosts.of(store, pool)
