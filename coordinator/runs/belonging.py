"""Runs that belong to a finished one: they pin its name and digest, are found from it, and are deleted with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hakoiri.coordinator.errors import MismatchError
from hakoiri.puzzles.errors import PuzzleError, Step
from hakoiri.storage.layers.store import RunStore


@dataclass(frozen=True)
class Belonging:
    """The plan of a run that belongs to another: the other's name and digest, and a component of it."""

    base: str
    base_digest: str
    component: int = 0


def plan_for(run: RunStore) -> dict[str, Any]:
    """What the plan of a run says that belongs to a finished `run`."""
    return {"base": run.manifest.run, "base_digest": run.state.digest}


def require_base(plan: Mapping[str, Any], *others: str) -> None:
    """`PuzzleError` unless a plan names a run so, and has the `others` besides."""
    base = plan.get("base")
    if set(plan) != {"base", "base_digest", *others} or not isinstance(base, str) or Path(base).name != base:
        raise PuzzleError(f"such a run belongs to another, which is named in base and base_digest, not {plan}")


def open_base(store: RunStore) -> RunStore:
    """The run that `store` belongs to, as it was then; `MismatchError` if it is not there any more."""
    plan, directory = store.plan(Belonging), store.directory.parent
    base = RunStore(directory / Path(plan.base).name)
    if base.state.digest != plan.base_digest or base.state.status != "complete":
        base.close()
        run = store.directory.name
        raise MismatchError(f"run {run} belongs to another run {plan.base} than is there now", Step("delete", run))
    return base
