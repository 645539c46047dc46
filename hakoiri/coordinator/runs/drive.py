"""Sessions of a run: each drives it from its last commit, and leaves a state that says how the session ended.

`drive_apart` drives a run in a process of its own, so that a puzzle that ends its process ends nothing else.
"""

import json
import logging
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hakoiri import errors
from hakoiri.compiling import telling
from hakoiri.coordinator.errors import ContradictionError, StoppedError, StopRun, UntrustedError
from hakoiri.coordinator.runs.catalogue import data_directory
from hakoiri.coordinator.runs.create import open_job
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.job import Job
from hakoiri.coordinator.session.resources import LEAST_MEMORY, Resources
from hakoiri.coordinator.session.session import Control, Observer, Session, SilentObserver
from hakoiri.errors import Hint, PuzzleError, StorageError, TaskError, WorkerError
from hakoiri.memory import available_memory
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user.files import FILES, configured_files, load_file, loaded_files
from hakoiri.storage.engine.environment import refuse_network_file_system
from hakoiri.storage.engine.files import Given
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock, holder_of
from hakoiri.storage.ledger.manifest import ENDED, Progress, State, Status
from hakoiri.storage.names import QUEUED_FILE, queued_runs
from hakoiri.worker.machine import REDIS, SUPERVISOR, end_with, how_ended, start_child


def drive(
    directory: Path, resources: Resources, control: Control, observer: Observer, repair: bool = False,
    awaited: bool = False,
) -> State:  # fmt: skip
    """Drive a run until it ends or `control` stops it; resume whatever is there. Return its last state.

    With `awaited` the run is driven only if it is still queued and has not been cancelled. Raises `RunHeldError` if
    another process drives it, or has taken it from the queue. Raises `MismatchError` if the puzzle differs from the one
    it was begun with, and `DamagedError` for damaged layers (unless `repair`, which computes them again first).
    Storage, Redis, budget and puzzle errors leave the run interrupted or failed, with the reason and all committed
    layers.
    """
    with RunLock(directory), RunStore(directory, writable=True) as store:
        try:
            if awaited and not (directory / QUEUED_FILE).exists():
                raise errors.RunHeldError(f"run {directory.name} is not queued any more")
            if not (awaited and store.state.status in ENDED) and (store.state.status != "complete" or repair):
                job = open_job(store, resources)
                if not awaited:
                    # What a user has requested wrongly leaves the run as it was.
                    job.require_hosts(job.puzzle, store.manifest.plan, resources.over(store.manifest.settings))
                if not repair and job.is_done():
                    store.commit(store.state.become("complete"))
                    return store.state
                refuse_network_file_system(directory)
                if awaited:
                    control.others_wait = partial(_others_wait, directory)
                with control.watching(store.cancel_requested):
                    _session(job, resources.over(store.manifest.settings), control, observer, repair)
        finally:
            if store.state.status in ENDED:
                Given(directory).unlink(QUEUED_FILE)
        return store.state


def _others_wait(directory: Path) -> bool:
    """Return whether other runs than this are queued, and driven by no process."""
    return any(holder_of(run) is None for run in queued_runs(directory.parent) if run != directory)


def drive_to_end(
    directory: Path, resources: Resources, control: Control, observer: Observer, repair: bool = False
) -> None:
    """Drive a run, as `drive` does, until it is complete; `StoppedError` if it stops before."""
    again = Hint("resume", directory.name, "" if data_directory() == directory.parent else str(directory.parent))
    try:
        state = drive(directory, resources, control, observer, repair)
    except errors.HakoiriError as error:
        if errors.outcome_of(type(error)).resumes:
            error.hints = (*(hint for hint in error.hints if hint.do != again.do), again)
        raise
    if state.status != "complete":
        raise StoppedError(directory.name, state.status, state.reason, *state.hints, again)


def _session(job: Job, resources: Resources, control: Control, observer: Observer, repair: bool) -> None:
    """Run one session, and commit how it has ended if the disk allows."""
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
        hosted = job.require_hosts(job.puzzle, store.manifest.plan, resources)
        if hosted and resources.redis is None and not store.keepers():
            raise WorkerError("hosts need a Redis", Hint("change", "redis"), Hint("give", "hosts", "none"))
        asked, resources = resources, job.limit_resources(resources, observer)
        with (
            telling(partial(_compiling, job, control, observer)),
            open_context(job.puzzle, spec, resources, control, observer, job.hosts_may_keep) as context,
        ):
            session = Session(store, context)
            _note_unused(asked, session)
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


def _note_unused(asked: Resources, session: Session) -> None:
    """Note settings for chunks of other processes, if this process makes all chunks."""
    if session.context.farm.helpers is None:
        for name, value in (("deadline", asked.deadline), ("audit", asked.audit)):
            if value:
                session.observer.note(f"{name} has no effect: only this process makes chunks", Hint("leave out", name))


def _work(job: Job, session: Session) -> None:
    """Work until nothing is left; if a worker proves faulty, recompute its results without it."""
    while True:
        try:
            return job.work(session)
        except UntrustedError as error:
            session.store.discard_staged()
            job.distrust(session, error)


#: The mean seconds of compiling a kernel, on one idle core.
_KERNEL_SECONDS = 0.6


def _compiling(job: Job, control: Control, observer: Observer, count: int) -> None:
    """Report progress before each kernel is compiled, with a note before the first."""
    control.check()
    if not count:
        seconds = math.ceil(_KERNEL_SECONDS * job.kernels)
        observer.note(f"compiling about {job.kernels} kernels for {job.puzzle.name}, once, about {seconds} s")
    left = _KERNEL_SECONDS * max(job.kernels - count, 0)
    total = max(count + 1, job.kernels)
    observer.progress(Progress(count, total, "kernels", "compiling, once", (left, left)))


def _leave(store: RunStore, status: Status, error: Exception) -> None:
    """Commit how a session ended; if that fails, the released lock shows that the run was interrupted."""
    if store.poisoned:
        return
    store.discard_staged()
    with suppress(StorageError):
        reason, hints = str(error) or type(error).__name__, getattr(error, "hints", ())
        store.commit(store.state.become(status, reason, hints))


_LOOK_SECONDS = 0.5
#: How long the process may take to commit when it is to stop; a call into C cannot be interrupted.
_GRACE_SECONDS = 30.0
#: Exit code: the run is driven by another process, or is deleted.
_HELD = 75


class DiedError(TaskError):
    """The process of a run ended by itself before its work was done."""


def drive_apart(directory: Path, resources: Resources, control: Control) -> State:
    """Drive a queued run in a child process until it ends, is cancelled or `control` is interrupted.

    Returns its last state. The process is killed if it does not stop within 30 seconds. Raises `DiedError` if the
    process ended amid the work, `TaskError` if it was killed, and `RunHeldError` if another process drives the run.
    """
    files = ":".join(map(str, dict.fromkeys([*configured_files(), *loaded_files()])))
    environment = os.environ | {FILES: files, REDIS: resources.redis or ""}
    settings = json.dumps({name: getattr(resources, name) for name in ("workers", "memory")})
    more: dict[str, Any] = {"env": environment, "stdin": subprocess.DEVNULL, "start_new_session": True}
    with start_child(__name__, str(directory), settings, **more) as child:
        stop_by = 0.0
        while child.poll() is None:
            cancelled = False
            # The child polls only between chunks, and one may never end.
            if not stop_by:
                with suppress(FileNotFoundError, StorageError), Ledger(directory) as ledger:
                    cancelled = ledger.cancel_requested()
            if not stop_by and (control.interrupted or cancelled):
                child.send_signal(signal.SIGTERM)
                stop_by = time.monotonic() + _GRACE_SECONDS
            elif stop_by and time.monotonic() > stop_by:
                child.kill()
            with suppress(subprocess.TimeoutExpired):
                child.wait(_LOOK_SECONDS)
    if child.returncode == _HELD:
        hints = Hint("wait", directory.name), Hint("cancel", directory.name)
        raise errors.RunHeldError(f"run {directory.name} is held by another process", *hints)
    with Ledger(directory) as ledger:
        state = ledger.state
    died = child.returncode < 0 and not stop_by and state.status not in ENDED
    if state.status == "running" or died:
        text = f"the process of the run ended {how_ended(child.returncode)} before its work was done"
        raise TaskError(text) if stop_by else DiedError(text)
    return state


class _Log(SilentObserver):
    def __init__(self, run: str) -> None:
        self._run = run

    def note(self, text: str, *hints: Hint) -> None:
        from hakoiri.logs import log

        log(text, self._run)


def main(directory: str, settings: str) -> None:
    """Drive a queued run for the process that started this one."""
    from hakoiri.logs import log, set_up

    end_with(int(os.environ[SUPERVISOR]))
    set_up()
    control = Control()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda received, _: control.interrupt(f"stopped by {signal.Signals(received).name}"))
    fields: dict[str, Any] = json.loads(settings)
    run = Path(directory).name
    try:
        for path in configured_files():
            load_file(path)
        resources = Resources(redis=os.environ[REDIS] or None, **fields)
        drive(Path(directory), resources, control, _Log(run), awaited=True)
    except (errors.RunHeldError, errors.GoneError):
        sys.exit(_HELD)
    except (errors.HakoiriError, MemoryError) as error:
        with Ledger(Path(directory)) as ledger:
            told = ledger.state.reason
        if str(error) not in told:
            log(str(error), run, logging.ERROR)
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
