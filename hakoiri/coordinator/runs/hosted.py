"""Runs that hosts keep: copied to the coordinator's disk, or moved off one host."""

import time
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from hakoiri.coordinator.errors import ContradictionError, RunError
from hakoiri.coordinator.hosts.hosts import HostRefusedError
from hakoiri.coordinator.hosts.moving import RangeMover
from hakoiri.coordinator.hosts.run_hosts import HostedBlocks, RunHosts
from hakoiri.coordinator.runs.catalogue import base_of
from hakoiri.coordinator.runs.opening import open_run_hosts
from hakoiri.coordinator.session.resources import Tuning
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.errors import ElsewhereError, FormatError, GoneError, Hint, RunHeldError, WorkerError
from hakoiri.storage.engine.environment import refuse_network_file_system
from hakoiri.storage.layers.blocks import NOTHING, add_lanes, digest_text, join_blocks, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import LayerRecord, Progress
from hakoiri.storage.names import BLOCKS, HOSTS_KEY, LEAVING_KEY, META, ROUND_KEY, number_key, run_directories
from hakoiri.storage.results import read_slab, stage_labels
from hakoiri.worker.census.slabs import slabs_in
from hakoiri.worker.transport.connection import DRAINING, connect, living_hosts, redis_errors


def collect_run(directory: Path, redis: str, control: Control, observer: Observer) -> int:
    """Copy the layers that hosts keep to the run's own store, check each by its digest, and return their number.

    Then the hosts delete their parts. If stopped, the next call continues with the next layer. Raises `StopRun`,
    `RunError` if no host keeps layers, `ContradictionError` if a layer has another digest than when it was made,
    Redis and storage errors.
    """
    with RunLock(directory), RunStore(directory, writable=True) as store:
        if not store.keepers():
            if store.read(META, LEAVING_KEY) is not None:
                _take_leave(store, open_run_hosts(store, redis, control, observer), observer)
                return 0
            raise RunError(f"no host keeps layers of run {directory.name}", Hint("status", directory.name))
        refuse_network_file_system(directory)
        run_hosts = open_run_hosts(store, redis, control, observer)
        if not run_hosts.range_map.settled:
            RangeMover(store, run_hosts, observer.note).settle()
        kept = HostedBlocks(run_hosts, store.layout, waits=True)
        store.elsewhere = lambda: kept
        tuning = run_hosts.pool.tuning
        # If hosts have all labels of a census; if they have begun, they are made again here.
        labelled = store.state.figures.get("components") is not None and store.layer_record(0).hosted
        for number in range(slabs_in(store.layer_record(0).size) if labelled else 0):
            stage_labels(store, read_slab(store, number), number)
            if store.staged_bytes > tuning.host_staged:
                store.commit(store.state)
            control.check()
        away = [record for record in store.layer_records() if record.hosted]
        for number, record in enumerate(away):
            control.check()
            observer.progress(Progress(number, len(away), "layers collected"))
            _copy_layer(store, record, control, tuning)
        _record_home(store, run_hosts)
        _take_leave(store, run_hosts, observer)
        return len(away)


def _copy_layer(store: RunStore, record: LayerRecord, control: Control, tuning: Tuning) -> None:
    depth, at_once = record.depth, tuning.host_blocks
    # Left by an attempt that was interrupted.
    store.erase(BLOCKS, number_key(depth))
    firsts, stored, index, lanes = store.first_keys(depth), 0, 0, NOTHING
    for begin in range(0, len(firsts), at_once):
        blocks = store.coded(depth, firsts[begin : begin + at_once])
        for block in blocks:
            lanes = add_lanes(lanes, lanes_of(store.decode(block)))
        more, index = store.stage_blocks(depth, join_blocks(blocks, store.layout), index)
        stored += more
        if store.staged_bytes > tuning.host_staged:
            store.commit(store.state)
        control.check()
    if digest_text(lanes) != record.digest:
        raise ContradictionError(f"layer {depth} from its hosts has another digest than when they made it")
    store.stage_layer(replace(record, stored_bytes=stored, index=index, hosted=False))
    # Blocks that were split since the layer was made take more.
    store.commit(replace(store.state, stored_bytes=store.state.stored_bytes + stored - record.stored_bytes))


def _is_home(store: RunStore) -> bool:
    return store.state.depth >= 0 and not any(record.hosted for record in store.layer_records())


def _record_home(store: RunStore, run_hosts: RunHosts) -> None:
    """Commit that no host keeps layers of the run, and which hosts are still to delete their parts."""
    store.stage_record(META, LEAVING_KEY, asdict(run_hosts.range_map))
    store.erase(META, HOSTS_KEY)
    store.erase(META, ROUND_KEY)
    store.commit(store.state)


def _take_leave(store: RunStore, run_hosts: RunHosts, observer: Observer) -> None:
    """Have hosts delete their parts of a run whose layers are all here; note hosts outside the run that have not."""
    pool, range_map, run = run_hosts.pool, run_hosts.range_map, store.directory.name
    pool.insist("taking leave", partial(run_hosts.let_go, range_map.hosts))
    remaining = dict.fromkeys({*range_map.left} - pool.living().keys(), "is away")
    # A host that stood still while the run was dealt out has been left out, and may have taken its part since.
    for host in sorted(pool.living().keys() - {*range_map.hosts}):
        try:
            pool.insist("taking leave", partial(run_hosts.let_go, [host], waits=False))
        except ElsewhereError:
            remaining |= {host: "is away"} if host in range_map.left else {}
        except HostRefusedError as refused:
            remaining |= {host: f"refuses ({refused.detail})"} if host in range_map.left else {}
    for host, why in sorted(remaining.items()):
        observer.note(f"host {host} {why}: remove run-{run}-* from its directory, if it is there")
    store.erase(META, LEAVING_KEY)
    store.commit(store.state)


_PAUSE_SECONDS = 0.5


def runs_kept_by(data: Path, host: str) -> list[Path]:
    """Return the runs of which a host has layers, derived runs last, because their ranges follow."""
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
        connection.sadd(DRAINING, host)


def _leave_out_again(host: str, url: str) -> None:
    """Mark a host as one that is to leave, if Redis has lost the mark or the host was started again."""
    with suppress(WorkerError), redis_errors(url), closing(connect(url)) as connection:
        connection.sadd(DRAINING, host)


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
            _leave_out_again(host, redis)
            time.sleep(_PAUSE_SECONDS)


def _drain(store: RunStore, host: str, redis: str, control: Control, observer: Observer) -> None:
    run_hosts = open_run_hosts(store, redis, control, observer)
    moving = RangeMover(store, run_hosts, observer.note)
    living, status = run_hosts.pool.living().keys(), store.state.status
    if _is_home(store):
        _record_home(store, run_hosts)
        if away := sorted({*run_hosts.range_map.hosts} - living):
            run = store.directory.name
            observer.note(f"{', '.join(away)} do not answer; once they do, collect run {run} to delete their parts")
        else:
            _take_leave(store, run_hosts, observer)
        return
    if away := sorted({*run_hosts.range_map.hosts} - {host} - living):
        raise run_hosts.away(away)
    if host not in run_hosts.range_map.hosts:
        observer.note(f"finishing the move of ranges of run {store.directory.name}")
        moving.settle()
        moving.let_go([host])
    elif host in living:
        moving.settle()
        moving.drain(host, run_hosts.pool.changes(run_hosts.range_map.hosts)[1])
    elif host in run_hosts.range_map.dispensable():
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
