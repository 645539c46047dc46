"""A session of a run: drives it from its last commit, and leaves a state that says how the session ended."""

import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from hakoiri.coordinator.errors import ContradictionError, RunError, StopRun, UntrustedError
from hakoiri.coordinator.executors.opening import open_context
from hakoiri.coordinator.runs.create import open_job
from hakoiri.coordinator.session.job import Job
from hakoiri.coordinator.session.resources import LEAST_MEMORY, Resources
from hakoiri.coordinator.session.session import Control, Observer, Session
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Hint, PuzzleError
from hakoiri.puzzles.jit import prepare
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.engine.disk import refuse_network_file_system
from hakoiri.storage.engine.inside import remove_inside
from hakoiri.storage.errors import StorageError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import ENDED, Progress, State, Status
from hakoiri.storage.names import QUEUED_FILE
from hakoiri.worker.errors import TaskError
from hakoiri.worker.machine import available_memory
from hakoiri.worker.warm import compiling


def drive(
    directory: Path,
    resources: Resources,
    control: Control,
    observer: Observer,
    repair: bool = False,
    awaited: bool = False,
) -> State:
    """Drive a run until it ends or `control` stops it; resume whatever is there. Return its last state.

    With `awaited` the run is driven only if it is still queued: it may have been cancelled since. Raises `RunHeldError`
    if another process drives it, `MismatchError` if the puzzle differs from the one it was begun with, and
    `DamagedError` for damaged layers (unless `repair`, which computes them again first). Storage, Redis, budget and
    puzzle errors leave the run interrupted or failed, with the reason and all committed layers.
    """
    with RunLock(directory), RunStore(directory, writable=True) as store:
        try:
            gone = awaited and (store.state.status in ENDED or not (directory / QUEUED_FILE).exists())
            if not gone and (store.state.status != "complete" or repair):
                job = open_job(store)
                if not repair and job.is_done():
                    store.commit(store.state.become("complete"))
                    return store.state
                refuse_network_file_system(directory)
                with control.watching(store.cancel_requested):
                    _session(job, resources.over(store.manifest.settings), control, observer, repair)
        finally:
            if store.state.status in ENDED:
                remove_inside(directory, QUEUED_FILE)
        return store.state


def drive_to_end(
    directory: Path, resources: Resources, control: Control, observer: Observer, repair: bool = False
) -> None:
    """Drive a run, as `drive` does, until it is complete; `RunError` if it stops before."""
    state = drive(directory, resources, control, observer, repair)
    if state.status != "complete":
        hint = Hint("resume", directory.name, str(directory.parent))
        raise RunError(f"run {directory.name} is {state.status}: {state.reason}", hint)


def _session(job: Job, resources: Resources, control: Control, observer: Observer, repair: bool) -> None:
    """Run one session; however it ends, the state on disk says so, as far as the disk allows."""
    store, spec = job.store, PuzzleSpec.from_dict(job.store.manifest.puzzle)
    if repair:
        store.require_home()
    if store.state.status == "running":
        limit = min(available_memory() // 4, (resources.memory or sys.maxsize) // 2)
        observer.note(
            "the last session of this run ended without a reason; if the system ran out of memory, set a limit",
            Hint("give", "memory", f"{max(limit, LEAST_MEMORY) >> 20}MB"),
        )
    store.commit(replace(store.state.become("running"), session=store.state.session + 1, idle=True))
    try:
        # Compile every kernel before the clock of the run starts.
        load = partial(job.load_kernels, resources.redis is not None)
        prepare(load, lambda count: _compiling(job.puzzle, count, control, observer))
        _require_hosts(job, resources)
        resources = job.limit_resources(resources, observer)
        with open_context(job.puzzle, spec, resources, control, observer, job.by_hosts(job.puzzle)) as context:
            session = Session(store, context)
            if repair:
                job.repair(session)
            _work(job, session)
    except StopRun as stop:
        store.commit(store.state.become(stop.status, stop.reason))
    except (ContradictionError, PuzzleError, TaskError, UntrustedError) as error:
        _leave(store, "failed", error)
        raise
    except Exception as error:
        _leave(store, "interrupted", error)
        raise


def _require_hosts(job: Job, resources: Resources) -> None:
    """Raise `PuzzleError` if the requested hosts or copies are impossible."""
    copies = (resources.copies or 1) > 1
    if not copies and (resources.hosts is None or resources.hosts < 0):
        return
    if resources.hosts == -1:
        raise PuzzleError("copies need hosts", Hint("give", "copies", "1"))
    if not job.by_hosts(job.puzzle):
        raise PuzzleError(
            "hosts can keep explorations, censuses, and goal distances by backward moves, but not this run",
            Hint("leave out", "hosts"),
        )
    if resources.redis is None and not job.store.keepers():
        raise PuzzleError("hosts need a Redis", Hint("change", "redis"))


def _work(job: Job, session: Session) -> None:
    """Work until nothing is left; if a worker proves faulty, compute what it made again without it."""
    while True:
        try:
            return job.work(session)
        except UntrustedError as error:
            session.store.discard_staged()
            job.distrust(session, error)


def _compiling(puzzle: Puzzle, count: int, control: Control, observer: Observer) -> None:
    """Report progress before each kernel is compiled, with a note before the first."""
    control.check()
    if not count:
        observer.note(f"{compiling(puzzle)}: takes some seconds")
    observer.progress(Progress(count, unit="kernels", headline=compiling(puzzle)))


def _leave(store: RunStore, status: Status, error: Exception) -> None:
    """Commit how a session ended; if that fails, the released lock shows that the run was interrupted."""
    if store.poisoned:
        return
    store.discard_staged()
    with suppress(StorageError):
        reason, hints = str(error) or type(error).__name__, getattr(error, "hints", ())
        store.commit(store.state.become(status, reason, hints))
