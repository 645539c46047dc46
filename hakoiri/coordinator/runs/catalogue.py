"""Runs by name: the data directory, lookup, status, cancelling, deleting, and pruning.

Failed runs are pruned, and runs that do the same as a complete one. This module imports neither puzzles nor the search.
"""

import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

import platformdirs

from hakoiri import errors
from hakoiri.coordinator.errors import BadNameError, RunError, UnknownRunError
from hakoiri.errors import DamagedError, GoneError, Hint, NameTakenError, RunHeldError, StorageError, did_you_mean
from hakoiri.storage import names
from hakoiri.storage.engine.environment import translated
from hakoiri.storage.engine.files import Given
from hakoiri.storage.ledger import lock
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import holder_of
from hakoiri.storage.ledger.manifest import ENDED, Manifest, State, Status, per_second
from hakoiri.storage.names import (
    CERTIFICATE_BEGINS,
    HOLDER_FILE,
    QUEUED_FILE,
    by_age,
    certificate_file,
    questions_folder,
    run_directories,
    title_of,
)

LAST = "last"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_LOOK_SECONDS = 0.05


#: Opens the ledger of a run for a block, as `Ledger` does; it may be closed afterwards.
Opening = Callable[..., AbstractContextManager[Ledger]]
#: The status of a run whose files cannot be read, and of one written in another version's format.
DAMAGED, ANOTHER_FORMAT = "damaged", "another format"
#: All statuses of runs.
STATUSES: tuple[str, ...] = (*get_args(Status), DAMAGED, ANOTHER_FORMAT)


@dataclass(frozen=True)
class RunStatus:
    """The status of a run.

    `fault` is the reason if the run cannot be read; `holder` is the process that drives it now. `awaited` means that it
    is queued for a coordinator; `served` means that one runs. `made_as` is its original name if it was copied or
    renamed. `keepers` are the hosts that keep its layers. `title` is what people call it.
    """

    run: str
    manifest: Manifest | None
    state: State
    holder: dict[str, Any] | None
    awaited: bool
    served: bool = True
    fault: StorageError | None = None
    made_as: str = ""
    keepers: Sequence[str] = ()
    title: str = ""

    @property
    def status(self) -> str:
        """The state's status, corrected if its driver was killed; ``damaged`` or ``another format``."""
        if self.fault:
            return ANOTHER_FORMAT if isinstance(self.fault, errors.FormatError) else DAMAGED
        left = self.state.status == "running" or (self.state.status == "queued" and not self.awaited)
        return "interrupted" if left and self.holder is None else self.state.status

    @property
    def rate_unit(self) -> str:
        """The unit of the rate: ``configurations/s``."""
        return per_second(self.state.progress)

    @property
    def rate(self) -> float:
        """Configurations, or the run's own unit of work, per second of computing, over all sessions."""
        progress = self.state.progress
        work = progress.done if progress.work is None else progress.work
        return work / self.state.seconds if self.state.seconds else 0.0


def data_directory(given: str | os.PathLike[str] | None = None) -> Path:
    """Return the directory of the runs: `given`, else HAKOIRI_DATA, else the user data folder. May not exist."""
    return Path(given or os.environ.get("HAKOIRI_DATA") or platformdirs.user_data_dir("hakoiri")).expanduser()


def new_run_name(data: Path, puzzle: str) -> str:
    """Return a free name: six random hexadecimal digits, so that a short prefix is unique, then the puzzle."""
    while True:
        name = f"{secrets.token_hex(3)}-{puzzle}"
        if not (data / name).exists():
            return name


def free_name(data: Path, name: str) -> str:
    """Return a name chosen by the user if it is valid and free; else raise `BadNameError` or `NameTakenError`."""
    if _NAME.fullmatch(name) is None or name == LAST:
        raise BadNameError(f"{name!r} is not a valid run name; use up to 64 letters, digits, - and _, and not {LAST!r}")
    if (data / name).exists():
        raise NameTakenError(name)
    return name


def find_run(data: Path, name: str) -> Path:
    """Return the directory of a run given by its name, a unique prefix, or ``last``.

    ``last`` is the run created last, except those derived from another run (`base_of`).
    """
    runs = run_directories(data)
    if not runs:
        raise UnknownRunError(f"there are no runs in {data}", Hint("run", "klotski"), Hint("change", "data"))
    if name == LAST:
        newest_first = sorted(runs, key=by_age, reverse=True)
        return next((run for run in newest_first if not base_of(run)), newest_first[0])
    found = [run for run in runs if run.name == name] or [run for run in runs if run.name.startswith(name)]
    if not found or not name:
        near = did_you_mean(name, [*(run.name for run in runs), LAST])
        raise UnknownRunError(f"there is no run {name!r} in {data}{near}", Hint("runs"))
    if len(found) > 1:
        raise UnknownRunError(f"{name!r} is ambiguous: {', '.join(run.name for run in found)}; type more of the name")
    return found[0]


#: Errors of a run that stay; others, such as too many open files, say nothing about it.
_UNREADABLE = (GoneError, DamagedError, errors.FormatError, errors.NotWritableError)


def base_of(directory: Path) -> str:
    """Return the name of the base run of a derived run; empty for any other run and for an unreadable one."""
    with suppress(*_UNREADABLE), Ledger(directory) as ledger:
        return str(ledger.manifest.plan.get("base", ""))
    return ""


def belonging_to(directory: Path) -> list[Path]:
    """Return the runs derived from a run, which are deleted with it."""
    others = (run for run in run_directories(directory.parent) if run != directory)
    return [run for run in others if base_of(run) == directory.name]


def list_runs(data: Path) -> list[RunStatus]:
    """Return the status of every run in a data directory, the oldest first, damaged ones included."""
    asked_once = cache(lock.is_served)
    directories = sorted(run_directories(data), key=by_age)
    found = (listed_status(directory, asked_once) for directory in directories)
    return [status for status in found if status is not None]


def listed_status(
    directory: Path, served: Callable[[Path], bool] = lock.is_served, opening: Opening = Ledger
) -> RunStatus | None:
    """Return the status of a run, damaged or not; ``None`` if the run is gone."""
    try:
        return status_of(directory, served, opening)
    except GoneError:
        return None
    except StorageError as error:
        holder, title = lock.holder_of(directory), title_of(directory)
        return RunStatus(directory.name, None, State(), holder, False, fault=error, title=title)


def runs_like(data: Path, manifest: Manifest) -> list[tuple[Manifest, State]]:
    """Return the readable runs of the same puzzle, the oldest first."""
    known = ((status.manifest, status.state) for status in list_runs(data) if status.manifest)
    return [(other, state) for other, state in known if other.puzzle["name"] == manifest.puzzle["name"]]


def last_twin(data: Path, manifest: Manifest, *statuses: Status) -> str | None:
    """Return the name of the last run with one of these statuses that does the same as `manifest`, if there is one."""
    twins = (
        other.run
        for other, state in reversed(runs_like(data, manifest))
        if state.status in statuses and other.identity == manifest.identity
    )
    return next(twins, None)


def status_of(directory: Path, served: Callable[[Path], bool] = lock.is_served, opening: Opening = Ledger) -> RunStatus:
    """Return the status of a run; `served` tells whether a coordinator serves a data directory.

    `DamagedError` if its file cannot be read. `opening` opens its ledger, which this process may have open already.
    """
    found = _look_at(directory, served, opening)
    # A driver may have begun between the two reads: now it holds the run, or has written how it ended.
    return _look_at(directory, served, opening) if found.awaited and found.status == "interrupted" else found


def _look_at(directory: Path, served: Callable[[Path], bool], opening: Opening) -> RunStatus:
    # IMPORTANT: read the holder before the state. A driver that ends in between has then written its last state.
    holder, awaited = lock.holder_of(directory), (directory / QUEUED_FILE).exists()
    taken = not awaited or holder is not None or served(directory.parent)
    with opening(directory) as store:
        other = store.made_as if store.made_as != store.manifest.run else ""
        found = store.manifest, store.state, holder, awaited, taken
        return RunStatus(directory.name, *found, made_as=other, keepers=store.keepers(), title=title_of(directory))


def cancel_run(directory: Path, opening: Opening = Ledger, patience: float = 10.0, insists: bool = True) -> Status:
    """Cancel a run, keeping its layers; wait for its driver to leave. Return the status that it then has.

    A driver that has been told and is still there after `patience` seconds is an error only if this `insists`.
    """
    complete = RunError(f"run {directory.name} is complete already", Hint("status", directory.name))
    until, run_lock, told = time.monotonic() + patience, None, False
    while run_lock is None:
        try:
            run_lock = lock.RunLock(directory, drives=False)
        except RunHeldError:
            holder = lock.holder_of(directory) or {}
            if not told and holder.get("drives", True):
                with opening(directory, writable=True) as store:
                    if store.state.status == "complete":
                        raise complete from None
                    store.request_cancel()
                    told = True
            if time.monotonic() > until:
                if not told:
                    raise
                if not insists:
                    with opening(directory) as store:
                        return store.state.status
                who = lock.describe_holder(holder)
                raise RunError(
                    f"run {directory.name} is still held by {who}, who was told to stop", Hint("status", directory.name)
                ) from None
            time.sleep(_LOOK_SECONDS)
    with run_lock, opening(directory, writable=True) as store:
        if not told and store.state.status == "complete":
            raise complete
        # The driver's last commit clears the request. Somebody may have queued the run again since.
        if not told or store.cancel_requested():
            ended = store.state.status in ENDED
            store.commit(store.state if ended else store.state.become("cancelled", "cancelled on request"))
            Given(directory).unlink(QUEUED_FILE)
        return store.state.status


def queue_again(directory: Path, opening: Opening = Ledger) -> None:
    """Queue a stopped run for a coordinator; `RunHeldError` if a process drives it already."""
    with lock.RunLock(directory), opening(directory, writable=True) as store:
        if store.state.status == "complete":
            raise RunError(f"run {directory.name} is complete already", Hint("verify", directory.name))
        store.commit(store.state.become("queued"))
        Given(directory).open(QUEUED_FILE, "a").close()


def keepers_of(directory: Path) -> list[str]:
    """Return the hosts that keep parts of a run; none if it cannot be read."""
    with suppress(*_UNREADABLE), Ledger(directory) as ledger:
        return ledger.keepers()
    return []


def delete_run(directory: Path) -> list[str]:
    """Delete a run with all its data and the runs derived from it; return their names, its own last.

    `RunHeldError`, and nothing is deleted, while a process drives one of them. A process that answers a long question
    about one of them is interrupted. Deletes runs that name each other as bases, too, and damaged ones.
    """
    found = [directory]
    for run in found:
        found.extend(other for other in belonging_to(run) if other not in found)
    with ExitStack() as held:
        # IMPORTANT: all locks before the first effect.
        for run in found:
            held.enter_context(lock.RunLock(run, drives=False))
        for run in reversed(found):
            with translated(run):
                # Renamed first: a kill in the middle leaves no half of a run behind under its name.
                run.rename(names.deleting(run.parent, run.name))
    for run in found:
        _delete_beside(run)
    lock.remove_abandoned(directory.parent)
    return [run.name for run in reversed(found)]


def _delete_beside(directory: Path) -> None:
    """Delete what belongs to a deleted run and is beside it: its certificate, and the questions put to it."""
    data, certificate, folder = Given(directory.parent), certificate_file(directory), questions_folder(directory.name)
    with suppress(OSError, DamagedError):
        # A file of the same name that the user put there is not deleted.
        with data.open(certificate.name, "rb") as file:
            is_ours = file.read(len(CERTIFICATE_BEGINS)) == CERTIFICATE_BEGINS
        if is_ours:
            data.unlink(certificate.name)
    with suppress(OSError, DamagedError):
        for question in data.names(folder):
            lock.interrupt_holder(data.directory, f"{folder}/{question}/{HOLDER_FILE}")
    data.remove_folder(folder)


#: A queued run is still wanted; an unreadable one may contain anything.
_PRUNED = ("complete", "interrupted", "cancelled", "failed")


class PrunableRun(NamedTuple):
    """A run to be deleted, the complete run that does the same and is kept, and the derived runs deleted with it.

    `kept` is empty if no complete run does the same.
    """

    found: RunStatus
    kept: str
    belonging: list[str]


def prunable_runs(data: Path) -> list[PrunableRun]:
    """Return the runs that failed, do the same as a later complete one, or are incomplete while another is complete.

    The same means same puzzle, options, start, goal and kind. Queued runs, runs held by a process or with a held
    derived run, and derived runs are left out.
    """
    found = [each for each in list_runs(data) if each.manifest and not each.manifest.plan.get("base")]
    kept: list[RunStatus] = []
    for status in reversed(found):
        if status.status == "complete" and _twin(status, kept) is None:
            kept.append(status)
    repeated = ((status, _twin(status, kept)) for status in found)
    return [
        PrunableRun(status, "" if twin is None else twin.run, [other.name for other in belonging])
        for status, twin in repeated
        if twin is not status and (status.status in _PRUNED if twin else status.status == "failed")
        for belonging in [belonging_to(data / status.run)]
        if all(holder_of(directory) is None for directory in [data / status.run, *belonging])
    ]


def _twin(status: RunStatus, kept: Iterable[RunStatus]) -> RunStatus | None:
    identity = status.manifest.identity if status.manifest else ""
    return next((other for other in kept if other.manifest and other.manifest.identity == identity), None)
