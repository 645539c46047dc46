"""Runs derived from a finished run: they pin its name and digest, are found from it, and are deleted with it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hakoiri.coordinator.errors import MismatchError
from hakoiri.coordinator.executors.opening import open_store
from hakoiri.coordinator.runs.create import make_run, name_of_plan
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.coordinator.session.resources import Resources
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Hint, PuzzleError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import DATA_FILE


@dataclass(frozen=True)
class Belonging:
    """The plan of a derived run: the name and digest of its base run, and a component of it."""

    base: str
    base_digest: str
    component: int = 0


class Derived:
    """The run of some kind derived from a finished `run` of a puzzle, whether it exists yet or not.

    `spec` is the puzzle if its options differ from those of the run.
    """

    def __init__(self, run: RunStore, puzzle: Puzzle, kind: str, spec: PuzzleSpec | None = None, **plan: Any) -> None:
        # If the run was collected from its hosts, its derived runs need no hosts either.
        hosted = run.keepers() and kind_of(kind).by_hosts(puzzle)
        self._settings = {
            name: value for name, value in run.manifest.settings.items() if hosted or name not in ("hosts", "copies")
        }
        self._kind, self._plan = kind, plan_for(run) | plan
        self._spec, self._puzzle = spec or PuzzleSpec.from_dict(run.manifest.puzzle), puzzle
        self.directory = run.directory.parent / name_of_plan(self._spec, puzzle, kind, self._plan)

    def make(self, resources: Resources, queued: bool = False, **limits: Any) -> Path:
        """Create the run if it does not exist; return its directory. `RunHeldError` if a process drives it.

        It inherits the base run's settings for workers and memory.
        """
        # Without hosts there are no copies.
        settings = {name: value for name, value in self._settings.items() if resources.hosts != -1 or name != "copies"}
        resources = resources.over(settings)
        return make_run(self.directory.parent, self._spec, self._kind, self._plan, resources, queued, limits)

    @contextmanager
    def opened(self) -> Iterator[RunStore | None]:
        """Yield the run, open for reading, or ``None`` if it does not exist yet."""
        with RunStore(self.directory) if (self.directory / DATA_FILE).exists() else nullcontext() as store:
            if store is not None:
                store.are_keys = self._puzzle.are_keys
            yield store


def plan_for(run: RunStore) -> dict[str, Any]:
    """Return the part of a plan that names a finished `run` as the base."""
    return {"base": run.manifest.run, "base_digest": run.state.digest}


def require_base(plan: Mapping[str, Any], *others: str) -> None:
    """Raise `PuzzleError` unless the plan names a base run and has exactly the `others` besides."""
    base = plan.get("base")
    if set(plan) != {"base", "base_digest", *others} or not isinstance(base, str) or Path(base).name != base:
        raise PuzzleError(f"the plan {plan} lacks base and base_digest, which name the run that this one belongs to")


def open_base(store: RunStore, redis: str | None) -> RunStore:
    """Open the base run of `store`; `MismatchError` if it is gone or another one.

    `redis` is as for `open_store`.
    """
    plan, directory = store.plan(Belonging), store.directory.parent
    base = open_store(directory / Path(plan.base).name, redis)
    if base.state.digest != plan.base_digest or base.state.status != "complete":
        base.close()
        run = store.directory.name
        raise MismatchError(f"run {run} belongs to an earlier run called {plan.base}", Hint("delete", run))
    base.are_keys = store.are_keys
    return base
