"""The results of a run as one plain mapping: the JSON of `run`, and the source of its table."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hakoiri.coordinator.session.work_log import expander_rows
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import LayerRecord, Manifest, State

#: Letters of a plan's value in lists of runs.
_MOST_SHOWN = 200

if TYPE_CHECKING:
    from hakoiri.coordinator.session.job import Job
    from hakoiri.coordinator.session.resources import Budget


def summarise(job: "Job", budget: "Budget") -> dict[str, Any]:
    """Return the figures, identity and progress of a run; ``None`` for what its kind does not have.

    Raises `OverBudgetError` if an answer needs more memory than `budget` allows.
    """
    manifest, state = job.store.manifest, job.store.state
    own = {"status": state.status, "reason": state.reason, "digest": state.digest, "sessions": state.session}
    stored = sum(record.stored_bytes for record in job.store.layer_records())
    if job.store.kept.first:
        stored = state.stored_bytes
    figures = {"edges": None, "components": None} | job.figures.of(state).as_dict()
    return identity(manifest) | standing(state) | own | {"stored_bytes": stored} | figures | job.summary(budget)


def identity(manifest: Manifest) -> dict[str, Any]:
    """Return what the run was begun with."""
    spec = PuzzleSpec.from_dict(manifest.puzzle)
    return {
        "run": manifest.run,
        "puzzle": spec.name,
        "parameters": dict(spec.options),
        "kind": manifest.kind,
        # If the board is larger than keys can be, the start is in the plan.
        "start": spec.start if manifest.plan.get("board") is None else None,
        **({"starts": spec.starts[:_MOST_SHOWN] + "…" * (len(spec.starts) > _MOST_SHOWN)} if spec.starts else {}),
        "merge_mirrors": spec.merge_mirrors,
        "until_goal": False,
        # Values too long to be read, such as a large board, are left out.
        **{name: value for name, value in manifest.plan.items() if len(str(value)) <= _MOST_SHOWN},
        "created": manifest.created,
    }


def standing(state: State) -> dict[str, Any]:
    """Return the progress of a run for lists, from its ledger alone, without importing its kind."""
    left = state.progress.seconds_left
    return {
        "configurations": None,
        "depth": None,
        "goal_depth": None,
        **state.figures,
        "progress": asdict(state.progress),
        "seconds_left": None if left is None else [round(bound, 1) for bound in left],
        "compiling": round(state.compiling, 3),
        "seconds": round(state.seconds, 3),
    }


def layer_row(record: LayerRecord) -> dict[str, Any]:
    """Return the row of a layer in `layers`."""
    names = ("depth", "size", "digest", "goals", "stored_bytes", "session")
    represented = {"represented": record.represented or None}
    return {name: getattr(record, name) for name in names} | represented | {"expanded_by": expander_rows(record.work)}
