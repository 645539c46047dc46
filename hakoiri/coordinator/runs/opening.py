"""Opens what a run is driven or read by: threads of this process, RQ workers anywhere, and hosts that keep layers."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from psutil import Process

from hakoiri.coordinator.session.farm import Farm
from hakoiri.coordinator.session.resources import DEFAULT, NEVER, Budget, Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, SilentObserver, ThreadExecutor
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user.files import loaded_from
from hakoiri.storage.layers.store import HostedEntries, RunStore
from hakoiri.worker.machine import CHILD_BYTES, CHUNK_BYTES, REDIS, usable_cores

if TYPE_CHECKING:
    from hakoiri.coordinator.hosts.run_hosts import RunHosts


@contextmanager
def open_context(
    puzzle: Puzzle, spec: PuzzleSpec, resources: Resources, control: Control, observer: Observer, by_hosts: bool = False
) -> Iterator[ComputeContext]:
    """Yield the context of a session: threads, children or RQ workers, and hosts, as `resources` allow.

    With `by_hosts` hosts that keep ranges may take part.
    """
    budget = resources.budget()
    threads = (resources.workers if resources.redis is None else None) or len(usable_cores())
    children = 0 if resources.redis is not None else _children(puzzle, budget, threads)
    resident = children * CHILD_BYTES + Process().memory_info().rss if children else None
    # Others need no starts.
    spec, shares = replace(spec, starts=""), budget.shares(puzzle, threads, resident)
    with closing(ThreadExecutor(puzzle, threads, control)) as local:
        farm = Farm(puzzle, local, None, budget, shares, observer.note)
        context = ComputeContext(puzzle, farm, local, budget, shares, control, observer)
        if resources.redis is not None:
            with _over_redis(context, spec, resources, resources.redis, by_hosts) as helped:
                yield helped
        elif children:
            from hakoiri.coordinator.executors.processes import process_executor

            audit = resources.audit or 0.0
            with closing(process_executor(puzzle, spec, control, observer, budget, shares, audit, children)) as own:
                yield replace(context, farm=farm.helped_by(own))
        else:
            yield context


@contextmanager
def _over_redis(
    context: ComputeContext, spec: PuzzleSpec, resources: Resources, url: str, by_hosts: bool
) -> Iterator[ComputeContext]:
    """Yield the context with the RQ workers of a Redis, and with `by_hosts` with its hosts."""
    # Here, because rq takes a tenth of a second to import.
    from hakoiri.coordinator.executors.remote import remote_executor
    from hakoiri.coordinator.executors.worker_pool import await_redis
    from hakoiri.worker.supervisor import supervised

    puzzle, budget, control, observer = context.puzzle, context.budget, context.control, context.observer
    connection = await_redis(url, budget.tuning.patience, control, observer)
    # The only puzzle file that the run's own workers load.
    files = [loaded_from(spec.name, spec.digest)] if spec.digest else []
    with ExitStack() as opened:
        names = opened.enter_context(supervised(url, resources.workers or 0, observer.note, files))
        remote = remote_executor(
            url, connection, puzzle, spec, control, observer, context.shares.in_flight_bytes, budget.tuning,
            resources.audit or 0.0, names,
        )  # fmt: skip
        opened.enter_context(closing(remote))
        hosts, farm = None, context.farm
        if by_hosts and resources.hosts != -1:
            from hakoiri.coordinator.hosts.hosts import HostPool

            hosts = HostPool(
                url, connection, puzzle, spec, control, observer, budget.tuning,
                resources.hosts, resources.memory or 0, resources.copies or 1,
            )  # fmt: skip
        if budget.farm != NEVER and not puzzle.remembers:
            farm = farm.helped_by(remote)
        elif budget.farm != NEVER and remote.living:
            farm.work_log.here = REMEMBERS
            observer.note(f"layers are expanded here: {REMEMBERS}")
        yield replace(context, farm=farm, hosts=hosts, redis=url)


def _children(puzzle: Puzzle, budget: Budget, threads: int) -> int:
    """Return how many children of this process may take chunks: one for each thread, within half of the memory."""
    if puzzle.has_kernel or puzzle.remembers or threads == 1 or budget.farm == NEVER:
        return 0
    return min(threads, budget.memory // 2 // (CHILD_BYTES + CHUNK_BYTES))


#: Why a puzzle that `remembers` is not sent.
REMEMBERS = "each worker would have to walk from the start to what the rules remember here"


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
