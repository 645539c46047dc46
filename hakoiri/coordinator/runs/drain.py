"""Move the ranges of a host to other hosts, so that no run needs it any more."""

import time
from contextlib import suppress
from pathlib import Path

from hakoiri.coordinator.errors import RunError
from hakoiri.coordinator.executors.opening import open_keepers
from hakoiri.coordinator.runs.catalogue import base_of
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.coordinator.steps.moving import RangeMover
from hakoiri.puzzles.errors import Hint
from hakoiri.storage.errors import FormatError, GoneError, RunHeldError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import run_directories
from hakoiri.worker.transport.connection import connect, drain_host, living_hosts, redis_errors

_PAUSE_SECONDS = 0.5


def runs_kept_by(data: Path, host: str) -> list[Path]:
    """Return the runs of which a host has layers; those that belong to others last, for their ranges follow."""
    return sorted((run for run in run_directories(data) if _is_needed(run, host)), key=lambda run: bool(base_of(run)))


def leave_out(host: str, redis: str, kept: list[Path]) -> None:
    """Let no run begin with a host that is to leave, and those under way do without it from their next layer on.

    `RunError` for one that neither lives nor keeps any run; Redis errors.
    """
    with redis_errors(redis):
        connection = connect(redis)
        if not kept and host not in (living := living_hosts(connection)):
            known = f"the living hosts are {', '.join(sorted(living))}" if living else "no host lives"
            hints = () if living else (Hint("host", "DIR"),)
            raise RunError(f"unknown host {host}: it keeps no run and is not running; {known}", *hints)
        drain_host(connection, host)


def drain_run(directory: Path, host: str, redis: str, control: Control, observer: Observer) -> None:
    """Return when a host that has been left out keeps nothing of a run.

    A run that is being made sees to it between two layers, or passes. Raises `StopRun`, `RunError` where the host is
    away and others have no copies, Redis and storage errors.
    """
    told = False
    while _is_needed(directory, host):
        control.check()
        try:
            with RunLock(directory), RunStore(directory, writable=True) as store:
                # It may have left meanwhile.
                if host in store.keepers(leaving=True):
                    _drain(store, host, redis, control, observer)
        except RunHeldError:
            if not told:
                observer.note(f"run {directory.name} is in progress; its ranges move as soon as it allows")
                told = True
            time.sleep(_PAUSE_SECONDS)


def _drain(store: RunStore, host: str, redis: str, control: Control, observer: Observer) -> None:
    keepers = open_keepers(store, redis, control, observer)
    moving = RangeMover(store, keepers, observer.note)
    living, status = keepers.pool.living().keys(), store.state.status
    if away := sorted({*keepers.range_map.hosts} - {host} - living):
        raise keepers.away(away)
    if host not in keepers.range_map.hosts:
        observer.note(f"finishing the move of ranges of run {store.directory.name}")
        moving.settle()
        moving.let_go([host])
    elif host in living:
        moving.settle()
        moving.drain(host, keepers.pool.changes(keepers.range_map.hosts)[1])
    elif host in keepers.range_map.dispensable():
        moving.take_over(host)
        moving.settle()
    else:
        text = f"host {host} does not answer, and no other host has copies of its ranges of run {store.directory.name}"
        raise RunError(text, Hint("host", "DIR"))
    store.commit(store.state)
    if store.state.status != status:
        observer.note(f"run {store.directory.name}: {store.state.reason}", *store.state.hints)


def _is_needed(directory: Path, host: str) -> bool:
    """Return whether a run needs a host; one that was deleted meanwhile, or is of another version, needs none."""
    with suppress(GoneError, FormatError), Ledger(directory) as ledger:
        return host in ledger.keepers(leaving=True)
    return False
