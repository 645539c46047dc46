"""Runs that find the eccentricities of a component of a finished run, by bounds until all or the greatest are known."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hakoiri.coordinator.graphs.building import MOST_VERTICES
from hakoiri.coordinator.graphs.eccentricities import EccentricitySolver, histogram, open_intervals
from hakoiri.coordinator.graphs.verify_bounds import EccentricityVerifier, opened_solver
from hakoiri.coordinator.runs.belonging import Belonging, Derived, require_base
from hakoiri.coordinator.session.job import Job, Request, Table
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import PuzzleError, require_within
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import Figures, Progress, State
from hakoiri.storage.ledger.records import pack_record
from hakoiri.storage.names import BEAM, COMPONENTS, PAIRS
from hakoiri.storage.results.census import (
    Diameter,
    component_figures,
    read_diameter,
    read_pairs,
    recorded_components,
    stage_component,
)
from hakoiri.storage.results.rows import read_arrays, stage_arrays
from hakoiri.worker.graphs.bounds import Aim
from hakoiri.worker.warm import load_graph_kernels, load_search_kernels

KIND = "eccentricities"
#: The interval between commits in seconds, unless they take more than this part of the time.
_KEEP_SECONDS, _KEEP_PART = 15.0, 0.1
#: The most open intervals in a state, and rows of a table.
_MOST_INTERVALS, _MOST_ROWS = 1_000, 20


@dataclass(frozen=True)
class EccentricityFigures(Figures):
    """The proved facts about a component of `configurations` vertices.

    `settled` is the number of known eccentricities; `diameter` and `radius` are intervals. `open` counts the unknown
    eccentricities by interval, the widest first.
    """

    configurations: int = 0
    settled: int = 0
    diameter: list[int] | None = None
    radius: list[int] | None = None
    open: list[dict[str, int]] | None = None


def known_of(derived: Derived, component: int, every: bool) -> Diameter | None:
    """Return the result of a component's run of eccentricities, of `every` one, or ``None`` if it has none yet."""
    with derived.opened() as store:
        record = recorded_components(store).get(component) if store else None
        if store is None or record is None or (every and record.radius is None):
            return None
        if record.radius is None:
            return read_diameter(store, component)
        arrays = read_arrays(store)
        return Diameter(record, read_pairs(store, component), arrays["central"], histogram(arrays["lower"]))


class EccentricityJob(Job):
    """The eccentricities of a component of another run. Limit `every`: of each configuration, else the greatest."""

    named_by_plan = True
    row_noun = "eccentricities"
    kernels = (load_search_kernels, load_graph_kernels)
    figures = EccentricityFigures
    check_class = EccentricityVerifier

    @classmethod
    def parse_request(  # type: ignore[override]
        cls, spec: PuzzleSpec, *, base: str, base_digest: str, component: int = 0, every: bool = True
    ) -> Request:
        """Return the requested run; `base` names a finished run of this puzzle, `base_digest` its digest."""
        require_within("component", component, 0, MOST_VERTICES)
        plan = {"base": base, "base_digest": base_digest, "component": component}
        return Request(spec, plan, {"every": every})

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        require_base(plan, "component")
        puzzle = spec.build()
        if not puzzle.undirected:
            raise PuzzleError(f"{puzzle.name} is directed, so it has no eccentricities")
        return puzzle

    @classmethod
    def merge_limits(cls, limits: Mapping[str, Any], state: State, waiting: Mapping[str, Any]) -> dict[str, Any]:
        return {"every": bool(limits.get("every") or waiting.get("every"))}

    @property
    def _component(self) -> int:
        return self.store.plan(Belonging).component

    @property
    def _aim(self) -> Aim:
        return Aim.ALL if self.store.limits().get("every") else Aim.DIAMETER

    def is_done(self) -> bool:
        known = recorded_components(self.store).get(self._component)
        return known is not None and (known.radius is not None or self._aim is Aim.DIAMETER)

    def work(self, session: Session) -> None:
        session.tell(Progress(unit="eccentricities", headline="expanding moves"))
        solver, aim = opened_solver(session.context, self.store), self._aim
        solver.go_on(read_arrays(self.store))
        kept, wait = time.monotonic(), _KEEP_SECONDS

        def report() -> None:
            nonlocal kept, wait
            session.tell(solver.progress(aim))
            if (begun := time.monotonic()) - kept >= wait:
                self._keep(session, solver)
                kept = time.monotonic()
                wait = max(_KEEP_SECONDS, (kept - begun) / _KEEP_PART)
            session.control.check()

        try:
            solver.settle(aim, report)
            found = solver.found(self._component, aim)
        except BaseException:
            if not self.store.poisoned:
                self._keep(session, solver)
            raise
        self._finish(session, solver, found)

    def _keep(self, session: Session, solver: EccentricitySolver) -> None:
        stage_arrays(self.store, solver.arrays())
        session.commit(replace(self.store.state, figures=_figures(solver).as_dict()))

    def _finish(self, session: Session, solver: EccentricitySolver, found: Diameter) -> None:
        arrays, digest = solver.arrays(), b""
        if found.central is not None:
            arrays["central"], digest = found.central, arrays["lower"].astype("<i4").tobytes()
        stage_component(self.store, found)
        stage_arrays(self.store, arrays)
        session.tell(solver.progress(self._aim))
        whole = hashlib.sha256(pack_record(found.record.as_dict()) + digest).hexdigest()
        figures = _figures(solver).as_dict()
        session.commit(replace(self.store.state.become("complete"), digest=whole, figures=figures))

    def repair(self, session: Session) -> None:
        """Erase everything proved, so that it is proved again."""
        session.observer.note("computing the eccentricities again")
        for database in (BEAM, COMPONENTS, PAIRS):
            self.store.erase(database)
        self.store.commit(replace(self.store.state, digest="", figures=EccentricityFigures().as_dict()))

    def summary(self, budget: Budget) -> dict[str, Any]:
        known = recorded_components(self.store).get(self._component)
        return {} if known is None else {"found": component_figures(known)}

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        found = summary.get("found", {})
        return {
            "eccentricities of": f"{summary['base']}, component {summary['component']}",
            "configurations": summary["configurations"],
            "known exactly": summary["settled"],
            **{name: found.get(name) for name in ("diameter", "radius", "centre", "periphery", "pairs")},
        }

    def tables(self) -> list[Table]:
        """Return the number of configurations per eccentricity, or per open interval."""
        if rows := EccentricityFigures.of(self.store.state).open:
            return [_table("open", rows, "Eccentricities that are open, the widest intervals first")]
        if self.store.state.status != "complete" or self._aim is not Aim.ALL:
            return []
        found = histogram(read_arrays(self.store)["lower"])
        rows = [{"eccentricity": value, "configurations": count} for value, count in found.items()]
        return [_table("eccentricities", rows, "Configurations of each eccentricity")]

    def questions(self) -> list[str]:
        return ["diameter"]


def _table(name: str, rows: list[dict[str, int]], title: str) -> Table:
    more = len(rows) - _MOST_ROWS
    return Table(name, rows[:_MOST_ROWS], title, f"{more:,} rows more" if more > 0 else "")


def _figures(solver: EccentricitySolver) -> EccentricityFigures:
    lower, upper = solver.bounds()
    rows = [{"lower": one, "upper": other, "count": count} for one, other, count in open_intervals(lower, upper)]
    return EccentricityFigures(
        len(lower),
        int(np.count_nonzero(lower == upper)),
        [int(lower.max()), int(upper.max())],
        [int(lower.min()), int(upper.min())],
        rows[:_MOST_INTERVALS],
    )
