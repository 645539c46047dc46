"""Runs that nobody needs: failed ones, and those that do the same as another that is complete."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hakoiri.coordinator.runs.catalogue import RunStatus, belonging_to, does_same, list_runs
from hakoiri.storage.ledger.lock import holder_of

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
    return next((other for other in kept if does_same(other.manifest, status.manifest)), None)
