"""Verification of a run: its layers are read, compared with their records, and derived again.

This module checks what all kinds of run share: checksums, digests, order and disjointness of layers. Each kind checks
the rest (`coordinator.session.job.Job.verify`).
"""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hakoiri.coordinator.layers.verify import SAMPLE_PER_LAYER
from hakoiri.coordinator.runs.create import open_job
from hakoiri.coordinator.runs.opening import open_context, open_run_hosts, open_store, redis_of_hosts
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer
from hakoiri.errors import DamagedError, ElsewhereError, Hint, NotKeptError, RunHeldError
from hakoiri.loading import loaded
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.audit import Audited, LayersAudit, Sample, duplicate_fault
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, Progress
from hakoiri.worker.layers.kernels import merge

if TYPE_CHECKING:
    from hakoiri.coordinator.hosts.run_hosts import RunHosts

#: The most bytes of keys of layers at home that are sent to hosts, which check that their own layers have none of them.
_MOST_SENT = 1 << 26


def verify_directory(
    directory: Path, full: bool, resources: Resources, control: Control, observer: Observer, seed: int | None = None
) -> Report:
    """Verify a run; report damage that prevents its opening as the fault.

    Raises `RunHeldError` if another process drops layers meanwhile that were to be compared.
    """
    try:
        with open_store(directory, resources.redis) as store:
            report = None
            try:
                report = verify_run(store, full, resources, control, observer, seed)
            except DamagedError as error:
                report = Report(faults=[str(error)], hints=error.hints)
            except (KeyError, NotKeptError):
                if not _went_on(store):
                    raise
            if report is None or (not report.ok and _went_on(store)):
                name = directory.name
                raise RunHeldError(
                    f"run {name} went on while it was verified; verify it when it rests", Hint("wait", name)
                )
            return report
    except DamagedError as error:
        return Report(faults=[str(error)], hints=error.hints)


def _went_on(store: RunStore) -> bool:
    """Return whether another process may have dropped layers of an open run."""
    return "keep" in store.manifest.plan and store.read_state() != store.state


def verify_run(
    store: RunStore, full: bool, resources: Resources, control: Control, observer: Observer, seed: int | None = None
) -> Report:
    """Return the report of an open run; with `full` on every configuration, else on a sample.

    `seed` chooses the sample, by default at random. Damage is reported, not raised, as far as the store can be read.
    What `resources` leave open is taken from the settings of the run.
    """
    report, job = Report(state=store.state), open_job(store, resources)
    if seed is not None:
        report.seed = seed
    depths, spec = range(store.kept.first, store.state.depth + 1), PuzzleSpec.from_dict(store.manifest.puzzle)
    with open_context(job.puzzle, spec, resources.over(store.manifest.settings), control, observer) as context:
        run_hosts = _living_hosts(store, context)
        home = [depth for depth in depths if run_hosts is None or not _is_hosted(store, depth)]
        # A host does not prove its own work.
        read = list(depths) if full else home
        audit = _audit(store, read, context, report.seed)
        if read:
            report.count("layers", len(read))
        for fault in audit.faults:
            report.damage(fault)
        if not report.ok:
            return report
        if len(audit.duplicate):
            report.fault(duplicate_fault(store, audit.duplicate))
        audited = audit.audited
        try:
            audited = (_check_at_hosts(store, run_hosts, home, full, context, report) if run_hosts else {}) | audited
        except ElsewhereError:
            if run_hosts is None or not run_hosts.range_map.copies:
                raise
            # A host has left since: the copies of its layers are read.
            return verify_run(store, full, resources, control, observer, report.seed)
        if report.cause == "damage":
            return report
        try:
            job.verify(loaded(job.verifier)(store, context, full, report, audited))
        except DamagedError as error:
            report.damage(str(error))
    return report


def _living_hosts(store: RunStore, context: ComputeContext) -> "RunHosts | None":
    """Return the hosts of a run if all of them live; ``None`` otherwise, and while ranges move."""
    url = redis_of_hosts(store, context.redis)
    run_hosts = open_run_hosts(store, url, context.control, context.observer) if url else None
    if run_hosts is None or not run_hosts.range_map.settled:
        return None
    return run_hosts if {*run_hosts.range_map.hosts} <= run_hosts.pool.living().keys() else None


def _is_hosted(store: RunStore, depth: Depth) -> bool:
    with suppress(DamagedError):
        return store.layer_record(depth).hosted
    return False


def _audit(store: RunStore, depths: list[Depth], context: ComputeContext, seed: int) -> LayersAudit:
    """Read these layers and compare them with their records and each other."""
    audit = LayersAudit(store, depths, context.puzzle.tally, Sample(seed, SAMPLE_PER_LAYER))
    ranges = audit.ranges(context.shares.layer_bytes // store.layout.bytes, context.local.workers)
    for done, _ in enumerate(context.local.each("check", audit.check, ranges), 1):
        context.tell(Progress(done, len(ranges), "key ranges checked"))
    audit.finish()
    return audit


def _check_at_hosts(
    store: RunStore, run_hosts: "RunHosts", home: list[Depth], full: bool, context: ComputeContext, report: Report
) -> dict[Depth, Audited]:  # fmt: skip
    """Have hosts check the layers that they keep, against those at `home` too; return the results by layer."""
    # Here, because rq takes a tenth of a second to import.
    from hakoiri.coordinator.hosts.run_hosts import check_hosted

    others = [store.layout.empty(0)]
    if full:
        # All layers have been compared here.
        pass
    elif sum(store.layer_record(depth).size for depth in home) * store.layout.bytes <= _MOST_SENT:
        others += map(store.layer, home)
    else:
        audit = _audit(store, list(range(store.state.depth + 1)), context, report.seed)
        if len(audit.duplicate):
            report.fault(duplicate_fault(store, audit.duplicate))
    faults, audited = check_hosted(store, run_hosts, merge(others, []), Sample(report.seed, SAMPLE_PER_LAYER), context)
    if audited and not full:
        report.count("layers", len(audited))
        report.believed = f"layers {min(audited)} to {max(audited)} as their hosts say"
    for fault in faults:
        report.damage(fault)
    return audited
