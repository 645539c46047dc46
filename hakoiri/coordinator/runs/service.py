"""The coordinator as a service: takes queued runs, by priority and then the oldest first, and drives each to its end.

It drives several at a time, each in a process of its own, so a run of a second does not wait for one of hours. Each
gets half of the memory that is left when it begins, the last one all of it. A run that ends, by whatever reason, frees
its place and its memory at once.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import redis

from hakoiri.coordinator.runs.create import pinned_spec
from hakoiri.coordinator.runs.drive import DiedError, drive, drive_apart
from hakoiri.coordinator.session.resources import LEAST_MEMORY, Resources
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.errors import GoneError, Hint, RunHeldError, StorageError, TakenOverError, WorkerError, counted
from hakoiri.storage.engine.files import Given
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock, holder_of, remove_abandoned, serving, was_left
from hakoiri.storage.ledger.manifest import ENDED
from hakoiri.storage.names import QUEUED_FILE, by_age, queued_runs
from hakoiri.worker.transport.connection import WAKE, redis_errors

#: The interval at which the data directory is polled with a connection that wakes us, and without one; a signal is seen
#: as late.
_LOOK_SECONDS = 0.25
_LOOK_UNWOKEN_SECONDS = 0.1
#: The delay before a run is looked at again that another process drives, or whose own was killed.
_AGAIN_SECONDS = 1.0
#: The delay before a run interrupted by an error (full disk, Redis unreachable) is tried again.
_RETRY_SECONDS = 30.0
#: In place of a status: another coordinator drives the run, or it was deleted; its own process died amid the work.
HELD = "held"
_DIED = "died"
#: Its own process died before it began.
_STILLBORN = "stillborn"


class _Driven(NamedTuple):
    """A run in hand: the future of its status, and its part of the memory in bytes, if it has one."""

    end: Future[str]
    memory: int


class RunEnd(NamedTuple):
    """A run that a coordinator has released, and its status at that time."""

    run: str
    status: str


def serve(
    data: Path, resources: Resources, connection: redis.Redis | None, control: Control,
    observed: Callable[[str], Observer], report: Callable[..., None], burst: bool = False, runs: int = 1,
) -> list[RunEnd]:  # fmt: skip
    """Drive queued runs, up to `runs` at a time; return how each ended.

    It ends when `control` is interrupted, or with `burst` when none is left. One whose process died is tried again.
    A run that this process leaves unfinished stays queued, so the next coordinator takes it. Several coordinators may
    share a data directory: a run's lock lets only one of them drive it. `observed` makes an observer for a run, and
    `report` is told its name, a text and hints.
    Without a `connection` nothing wakes the coordinator, so it polls more often.
    """
    ends: list[RunEnd] = []
    not_before: dict[Path, float] = {}
    died = dict[Path, str]()
    memory = resources.budget().memory if runs > 1 else 0
    begin = partial(_drive_one, control=control, report=report, apart=runs > 1)
    in_hand = dict[Path, _Driven]()
    pool = ThreadPoolExecutor(runs, "run")
    with serving(data, by_threads=connection is None), pool as threads, _interrupted_by_errors(control):
        remove_abandoned(data)
        while not control.interrupted:
            now, queued = time.monotonic(), queued_runs(data)
            not_before = {run: not_before[run] for run in queued if run in not_before}
            died = {run: how for run, how in died.items() if run in queued}
            waiting = [run for run in queued if not_before.get(run, now) <= now and run not in in_hand]
            room = runs - len(in_hand)
            # The order is read from the runs.
            for directory in sorted(waiting, key=_by_turn)[:room] if room else ():
                given = resources
                if runs > 1:
                    left = memory - sum(driven.memory for driven in in_hand.values())
                    given = replace(resources, memory=_share(left, runs - len(in_hand), directory))
                stillborn = died.get(directory) == _STILLBORN
                drive_it = partial(begin, directory, given, observer=observed(directory.name), again=stillborn)
                end = threads.submit(drive_it) if runs > 1 else _done(drive_it)
                in_hand[directory] = _Driven(end, given.memory or 0)
            for directory in [run for run, driven in in_hand.items() if driven.end.done()]:
                status = in_hand.pop(directory).end.result()
                # What has ended the process of a run may be over, and twice in a row sets the run aside.
                pause = _AGAIN_SECONDS if status in (HELD, _DIED, _STILLBORN) else _RETRY_SECONDS
                # Only a user queues an ended run again, and expects it to start at once.
                not_before[directory] = time.monotonic() + (0 if status in ENDED else pause)
                died.pop(directory, None)
                if status in (_DIED, _STILLBORN):
                    died[directory] = status
                elif status != HELD:
                    ends.append(RunEnd(directory.name, status))
            if in_hand:
                wait([driven.end for driven in in_hand.values()], _LOOK_UNWOKEN_SECONDS, FIRST_COMPLETED)
            elif not waiting:
                if burst and not died:
                    break
                _await_more(connection, resources.redis or "")
    last = [RunEnd(run.name, driven.end.result()) for run, driven in in_hand.items()]
    return ends + [end for end in last if end.status not in (HELD, _DIED, _STILLBORN)]


@contextmanager
def _interrupted_by_errors(control: Control) -> Iterator[None]:
    """Interrupt the runs in hand if the coordinator fails, which would wait for them otherwise."""
    try:
        yield
    except BaseException:
        control.interrupt("the coordinator failed")
        raise


def _done(work: Callable[[], str]) -> Future[str]:
    """Return the result of `work`, done in this thread."""
    future = Future[str]()
    future.set_result(work())
    return future


def _by_turn(directory: Path) -> tuple[int, tuple[int, int, str]]:
    """Sort key for queued runs: the highest priority first, then the oldest."""
    return -_setting(directory, "priority", 0), by_age(directory)


def _share(left: int, places: int, directory: Path) -> int:
    """Return the memory of the run that is begun first of so many, which have the bytes `left` together.

    It is half of them, or all for the last run, but no more than the run was given when it was queued.
    """
    most = left - (places - 1) * LEAST_MEMORY
    share = most if places == 1 else min(left // 2, most)
    return max(LEAST_MEMORY, min(share, _setting(directory, "memory", share)))


def _setting(directory: Path, name: str, usual: int) -> int:
    """Return a number that a run was queued with."""
    with suppress(StorageError), Ledger(directory) as ledger:
        return ledger.manifest.setting(name, usual)
    return usual


def _await_more(connection: redis.Redis | None, url: str) -> None:
    """Wait a moment for another queued run."""
    try:
        with redis_errors(url):
            if connection is None:
                time.sleep(_LOOK_UNWOKEN_SECONDS)
            else:
                connection.brpop([WAKE], timeout=_LOOK_SECONDS)
    except WorkerError:
        time.sleep(_LOOK_SECONDS)  # Redis is away: look at the data directory alone.


def wake(connection: redis.Redis, url: str) -> None:
    """Wake an idle coordinator."""
    with redis_errors(url):
        connection.lpush(WAKE, b"1")
        connection.ltrim(WAKE, 0, 0)


def _drive_one(
    directory: Path, resources: Resources, control: Control, observer: Observer, report: Callable[..., None],
    apart: bool = False, again: bool = False,
) -> str:  # fmt: skip
    """Drive one run, `apart` in a process of its own; `again` if its last one died before it began.

    Return its status, `HELD`, `_DIED`, `_STILLBORN`, or ``"error"``.
    """
    if holder_of(directory) is not None:
        return HELD
    report(directory.name, "started")
    again, session = again or _died_idle(directory), 0
    try:
        with Ledger(directory) as ledger:
            own, session = pinned_spec(ledger.manifest).digest, ledger.state.session
        # IMPORTANT: what has ended its process may end the next one, and a user's puzzle may end any.
        if own or again or apart:
            state = drive_apart(directory, resources, control)
        else:
            state = drive(directory, resources, control, observer, awaited=True)
    except (RunHeldError, GoneError):
        return HELD
    except DiedError as error:
        report(directory.name, str(error))
        stillborn = _is_stillborn(directory, session)
        if again and (stillborn or _died_idle(directory)):
            return _set_aside(directory, str(error), report)
        return _STILLBORN if stillborn else _DIED if was_left(directory) else "error"
    except Exception as error:  # One run's trouble, of whatever kind, must not keep the others waiting.
        report(directory.name, str(error), *getattr(error, "hints", ()))
        return HELD if isinstance(error, TakenOverError) else "error"
    if state.status not in ("complete", "cancelled"):
        report(directory.name, state.reason, *state.hints)
    done = counted(state.progress.done, state.progress.unit)
    report(directory.name, f"{state.status}, {done}, {state.seconds:.1f} s")
    return state.status


def _is_stillborn(directory: Path, session: int) -> bool:
    """Return whether the last process of a run, begun after `session` of its sessions, ended before its own began."""
    with suppress(StorageError), Ledger(directory) as ledger:
        return ledger.state.session == session and not was_left(directory)
    return False


def _died_idle(directory: Path) -> bool:
    """Return whether the last process that drove a run ended without releasing it, and committed no work."""
    with suppress(StorageError), Ledger(directory) as ledger:
        return was_left(directory) and (ledger.state.idle or ledger.state.status != "running")
    return False


def _set_aside(directory: Path, reason: str, report: Callable[..., None]) -> str:
    """Commit a run as failed after two processes in a row died before they committed work; return ``failed``."""
    hint = Hint("resume", directory.name)
    report(directory.name, "set aside, because the process before did not end in good order either", hint)
    # IMPORTANT: first, so that no run waits behind it even if this process dies of the commit.
    Given(directory).unlink(QUEUED_FILE)
    with suppress(StorageError), RunLock(directory), Ledger(directory, writable=True) as ledger:
        ledger.commit(ledger.state.become("failed", f"{reason}, twice in a row", (hint,)))
    return "failed"
