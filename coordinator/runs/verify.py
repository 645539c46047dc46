"""Proof instead of trust: what a run has stored is derived again, by the theory and not by the search.

Here is what all runs have in common: checksums, digests, order and disjointness of their layers. The rest is each
kind's own (`coordinator.session.job.Job.verify`).
"""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hakoiri.coordinator.executors.opening import open_context, open_keepers, open_store, redis_of_hosts
from hakoiri.coordinator.layers.verify import SAMPLE_PER_LAYER, LayersVerifier
from hakoiri.coordinator.runs.create import open_job
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.errors import DamagedError, ElsewhereError
from hakoiri.storage.layers.audit import Audited, LayersAudit, Sample, duplicate_fault
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, Progress
from hakoiri.worker.layers.kernels import merge

if TYPE_CHECKING:
    from hakoiri.coordinator.executors.hosts import Keepers

#: Bytes of keys of layers that lie here that are sent to hosts, so that these see that theirs have none of them.
_MOST_SENT = 1 << 26


def verify_directory(
    directory: Path, full: bool, resources: Resources, control: Control, observer: Observer, seed: int | None = None
) -> Report:
    """`verify_run` for a run that may be damaged beyond opening: then that is the fault."""
    try:
        with open_store(directory, resources.redis) as store:
            return verify_run(store, full, resources, control, observer, seed)
    except DamagedError as error:
        return Report(faults=[str(error)], hints=error.hints)


def verify_run(
    store: RunStore, full: bool, resources: Resources, control: Control, observer: Observer, seed: int | None = None
) -> Report:
    """Everything that can be found wrong with a run; `full` looks at every configuration instead of a sample.

    The sample is that of `seed`, by default a random one.

    Damage is reported, not raised, as far as the store can be read at all. Where `resources` say nothing, what the run
    was made with counts.
    """
    report, job = Report(state=store.state), open_job(store)
    if seed is not None:
        report.seed = seed
    depths, spec = range(store.state.depth + 1), PuzzleSpec.from_dict(store.manifest.puzzle)
    with open_context(job.puzzle, spec, resources.over(store.manifest.settings), control, observer) as context:
        keepers = _living_keepers(store, context)
        home = [depth for depth in depths if keepers is None or not _is_hosted(store, depth)]
        audited = _check_here(store, home, context, report)
        if not report.ok:
            return report
        try:
            audited |= _check_at_hosts(store, keepers, home, context, report) if keepers else {}
        except ElsewhereError:
            if keepers is None or not keepers.dealt.copies:
                raise
            # A host is away since: the copies of what it keeps are read.
            return verify_run(store, full, resources, control, observer, report.seed)
        if report.cause == "damage":
            return report
        try:
            check = job.check_class(store, context, full, report, audited)
            if isinstance(check, LayersVerifier):
                check.keepers = keepers
            job.verify(check)
        except DamagedError as error:
            report.damage(str(error))
    return report


def _living_keepers(store: RunStore, context: ComputeContext) -> "Keepers | None":
    """Return the hosts of a run if all of them live, to check what they keep."""
    url = redis_of_hosts(store, context.redis)
    keepers = open_keepers(store, url, context.control, context.observer) if url else None
    return keepers if keepers and {*keepers.dealt.hosts} <= keepers.pool.living().keys() else None


def _is_hosted(store: RunStore, depth: Depth) -> bool:
    with suppress(DamagedError):
        return store.layer_record(depth).hosted
    return False


def _check_here(store: RunStore, depths: list[Depth], context: ComputeContext, report: Report) -> dict[Depth, Audited]:
    """Read these layers and report what is wrong; return them if nothing is."""
    audit = LayersAudit(store, depths, context.puzzle.is_goal, _sample(report))
    ranges = audit.ranges(context.shares.layer_bytes // store.layout.bytes, context.local.workers)
    for done, _ in enumerate(context.local.each("check", audit.check, ranges), 1):
        context.tell(Progress(done, len(ranges), "key ranges checked"))
    audit.finish()
    if depths:
        report.count("layers", len(depths))
    for fault in audit.faults:
        report.damage(fault)
    if not report.ok:
        return {}
    if len(audit.duplicate):
        report.fault(duplicate_fault(store, audit.duplicate))
    return audit.audited


def _check_at_hosts(
    store: RunStore, keepers: "Keepers", home: list[Depth], context: ComputeContext, report: Report
) -> Mapping[Depth, Audited]:  # fmt: skip
    """Have hosts check the layers that they keep, beside those at `home`; return their layers."""
    # Here, because rq takes a tenth of a second to import.
    from hakoiri.coordinator.layers.verify_kept import check_kept

    others = [store.layout.empty(0)]
    if sum(store.layer_record(depth).size for depth in home) * store.layout.bytes <= _MOST_SENT:
        others += map(store.layer, home)
    else:
        _check_here(store, list(range(store.state.depth + 1)), context, report)
    faults, audited = check_kept(store, keepers, merge(others, []), _sample(report), context)
    report.count("layers", len(audited))
    for fault in faults:
        report.damage(fault)
    return audited


def _sample(report: Report) -> Sample:
    return Sample(report.seed, SAMPLE_PER_LAYER)
