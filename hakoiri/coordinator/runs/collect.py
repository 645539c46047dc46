"""Copies a run from the hosts that keep layers of it to the coordinator's disk."""

from dataclasses import replace
from pathlib import Path

from hakoiri.coordinator.errors import ContradictionError, RunError
from hakoiri.coordinator.executors.keepers import Keepers
from hakoiri.coordinator.executors.kept import KeptBlocks
from hakoiri.coordinator.executors.opening import open_keepers
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.coordinator.steps.moving import RangeMover
from hakoiri.puzzles.errors import Hint
from hakoiri.storage.engine.disk import refuse_network_file_system
from hakoiri.storage.layers.blocks import join_blocks
from hakoiri.storage.layers.digest import NOTHING, add_lanes, digest_text, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import LayerRecord, Progress
from hakoiri.storage.names import BLOCKS, HOSTS_KEY, META, ROUND_KEY, number_key
from hakoiri.storage.results.census import read_slab, stage_labels
from hakoiri.worker.spaces.ranges import slabs_in

#: Blocks that are fetched at a time, and bytes that wait for a commit: some megabytes.
_AT_ONCE, _STAGED_BYTES = 128, 32_000_000


def collect_run(directory: Path, redis: str, control: Control, observer: Observer) -> int:
    """Copy the layers that hosts keep to the run's own store, check each by its digest, and return their number.

    Then the hosts delete their parts. If stopped, the next call continues with the next layer. Raises `StopRun`,
    `RunError` if no host keeps layers, `ContradictionError` if a layer has another digest than when it was made,
    Redis and storage errors.
    """
    with RunLock(directory), RunStore(directory, writable=True) as store:
        if not store.keepers():
            raise RunError(f"no host keeps layers of run {directory.name}", Hint("status", directory.name))
        refuse_network_file_system(directory)
        keepers = open_keepers(store, redis, control, observer)
        if not keepers.range_map.settled:
            RangeMover(store, keepers, observer.note).settle()
        kept = KeptBlocks(keepers, store.layout, waits=True)
        store.elsewhere = lambda: kept
        _copy_labels(store, control)
        away = [record for record in store.layer_records() if record.hosted]
        for number, record in enumerate(away):
            control.check()
            observer.progress(Progress(number, len(away), "layers collected"))
            _copy_layer(store, record, control)
        for host in _forget(store, keepers):
            left = f"host {host} is away: remove run-{directory.name}-* from its directory, if it is there"
            observer.note(left)
        return len(away)


def _copy_labels(store: RunStore, control: Control) -> None:
    """Copy the labels of a census, if hosts have all of them; if they have begun, they are made again here."""
    if store.state.figures.get("components") is not None and store.layer_record(0).hosted:
        for number in range(slabs_in(store.layer_record(0).size)):
            stage_labels(store, read_slab(store, number), number)
            if store.staged_bytes > _STAGED_BYTES:
                store.commit(store.state)
            control.check()


def _copy_layer(store: RunStore, record: LayerRecord, control: Control) -> None:
    depth = record.depth
    # Left by an attempt that was interrupted.
    store.erase(BLOCKS, number_key(depth))
    firsts, stored, index, lanes = store.first_keys(depth), 0, 0, NOTHING
    for begin in range(0, len(firsts), _AT_ONCE):
        blocks = store.coded(depth, firsts[begin : begin + _AT_ONCE])
        for block in blocks:
            lanes = add_lanes(lanes, lanes_of(store.decode(block)))
        more, index = store.stage_blocks(depth, join_blocks(blocks, store.layout), index)
        stored += more
        if store.staged_bytes > _STAGED_BYTES:
            store.commit(store.state)
        control.check()
    if digest_text(lanes) != record.digest:
        raise ContradictionError(f"layer {depth} from its hosts has another digest than when they made it")
    store.stage_layer(replace(record, stored_bytes=stored, index=index, hosted=False))
    # Blocks that were split since the layer was made take more.
    store.commit(replace(store.state, stored_bytes=store.state.stored_bytes + stored - record.stored_bytes))


def _forget(store: RunStore, keepers: Keepers) -> list[str]:
    """Have all hosts delete what they have of the run; return those that have left it and are away."""
    pool, range_map = keepers.pool, keepers.range_map

    def leave() -> None:
        # One that stood still while the run was dealt out has been left out, and may have taken its part since.
        keepers.let_go([*range_map.hosts, *sorted(set(pool.living()) - set(range_map.hosts))])

    # IMPORTANT: before it is forgotten who they are, or what they keep would stay there for ever.
    pool.insist("taking leave", leave)
    away = sorted({*range_map.left} - pool.living().keys())
    store.erase(META, HOSTS_KEY)
    store.erase(META, ROUND_KEY)
    store.commit(store.state)
    return away
