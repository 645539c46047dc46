"""Proof instead of trust: what a run has stored is derived again, by the theory and not by the search.

Here is what all runs have in common: checksums, digests, order and disjointness of their layers. The rest is each
kind's own (`coordinator.session.job.Job.verify`).
"""

from pathlib import Path

from coordinator.executors.opening import open_context
from coordinator.runs.create import open_job
from coordinator.session.job import Check, Report
from coordinator.session.resources import Resources
from coordinator.session.session import Control, Observer
from puzzles.registry import PuzzleSpec
from storage.errors import DamagedError
from storage.layers.audit import check_disjoint, check_layer
from storage.layers.store import RunStore
from storage.ledger.manifest import Progress


def verify_directory(directory: Path, full: bool, resources: Resources, control: Control, observer: Observer) -> Report:
    """`verify_run` for a run that may be damaged beyond opening: then that is the fault."""
    try:
        with RunStore(directory) as store:
            return verify_run(store, full, resources, control, observer)
    except DamagedError as error:
        return Report(faults=[str(error)], steps=error.steps)


def verify_run(store: RunStore, full: bool, resources: Resources, control: Control, observer: Observer) -> Report:
    """Everything that can be found wrong with a run; `full` looks at every configuration instead of a sample.

    Damage is reported, not raised, as far as the store can be read at all. Where `resources` say nothing, what the run
    was made with counts.
    """
    report, job = Report(state=store.state), open_job(store)
    depths = range(store.state.depth + 1)
    for depth in depths:
        report.count("layers")
        for fault in check_layer(store, depth):
            report.damage(fault)
        control.check()
        observer.progress(Progress(depth + 1, len(depths), "layers checked"))
    if not report.ok:
        return report
    resources = resources.here().over(store.manifest.settings)
    spec = PuzzleSpec.from_dict(store.manifest.puzzle)
    with open_context(job.puzzle, spec, resources, control, observer) as context:
        for fault in check_disjoint(store, list(depths), context.shares.layer_bytes // store.layout.bytes):
            report.fault(fault)
        try:
            job.verify(Check(full, report, context, control, observer))
        except DamagedError as error:
            report.damage(str(error))
    return report
