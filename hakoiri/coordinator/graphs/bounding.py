"""Runs that find the eccentricities of a component of a finished run, and their verification.

Searches narrow the bounds until all eccentricities are known, or the greatest. Verification searches from a sample of
the configurations, or from all.
"""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hakoiri.coordinator.graphs.building import build_graph
from hakoiri.coordinator.graphs.distances import component_keys
from hakoiri.coordinator.graphs.eccentricities import EccentricitySolver, histogram, open_intervals
from hakoiri.coordinator.runs.create import Belonging, Derived, open_base, require_base
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Job, Table
from hakoiri.coordinator.session.kind import EccentricitiesKind
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import ComputeContext, Session
from hakoiri.errors import PuzzleError, require_within
from hakoiri.keys.layout import key_at
from hakoiri.keys.order import lower_bounds
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage import results
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import ComponentRecord, Figures, Progress, State, pack_record
from hakoiri.storage.names import BEAM, COMPONENTS, PAIRS
from hakoiri.storage.results import Diameter, read_arrays, read_pairs, recorded_components, stage_arrays
from hakoiri.worker.graphs.bounds import Aim
from hakoiri.worker.graphs.lanes import LANES
from hakoiri.worker.graphs.searches import MOST_VERTICES, Distances, Vertices


def opened_solver(context: ComputeContext, store: RunStore) -> EccentricitySolver:
    """Return a new solver, with no bounds proved yet, for the component of an eccentricity run."""
    with open_base(store, context.redis) as base:
        keys = component_keys(context, base, store.plan(Belonging).component)
    return EccentricitySolver(context, keys, build_graph(context, keys))


class EccentricityVerifier(Check):
    """Verifies the eccentricities of a component by searches from some of its configurations."""

    def check(self) -> None:
        if not (arrays := read_arrays(self.store)):
            return
        self._solver = opened_solver(self.context, self.store)
        keys, component = self._solver.keys, self.store.plan(Belonging).component
        lower, upper = arrays["lower"].astype(np.int32), arrays["upper"].astype(np.int32)
        if len(lower) != len(keys):
            self.report.damage(f"{len(lower)} eccentricities have bounds, expected {len(keys)}")
            return
        places = self.sample(len(lower), LANES, component).astype(np.int32)
        self.report.count("eccentricities", len(places))
        for place, value in zip(places.tolist(), self._solver.exact(places).tolist(), strict=True):
            if not lower[place] <= value <= upper[place]:
                known = f"between {lower[place]} and {upper[place]}"
                self.report.damage(f"the eccentricity of {key_at(keys, place):#x} is {value}, but {known} in the run")
        if (record := recorded_components(self.store).get(component)) is not None:
            self._check_record(record, places, lower, upper)

    def _check_record(self, record: ComponentRecord, places: Vertices, lower: Distances, upper: Distances) -> None:
        diameter, radius = int(lower.max()), int(lower.min())
        expected = {"size": len(lower), "diameter": diameter if upper.max() == diameter else None}
        if record.radius is not None:
            expected |= {"radius": radius if (lower == upper).all() else None}
            expected |= {"centre": int((lower == radius).sum()), "periphery": int((lower == diameter).sum())}
        for name, value in expected.items():
            if getattr(record, name) != value:
                self.report.damage(
                    f"the record has {name} {getattr(record, name)}, but its eccentricities give {value}"
                )
        pairs = read_pairs(self.store, record.component)
        if not self.report.ok:
            return
        stored = lower_bounds(self._solver.keys, pairs.reshape(-1, *pairs.shape[2:])).reshape(-1, 2)
        outer = np.unique(np.append(places[lower[places] == diameter], stored[:1, 0])).astype(np.int32)
        found, mine = self._solver.pairs_from(outer, diameter), stored[np.isin(stored, outer).any(axis=1)]
        self.report.count("configurations with all their pairs", len(outer))
        if record.pair_count is None:
            found = found[(found == stored[0]).all(axis=1)]
        elif record.pair_count != len(stored):
            self.report.damage(f"{len(stored)} pairs are stored, but {record.pair_count} in the record")
        if not np.array_equal(found, mine):
            self.report.damage(f"{len(mine)} diametral pairs are stored, but searches find {len(found)}")


KIND = "eccentricities"


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
        arrays = read_arrays(store) if record.radius is not None else {}
        counts = histogram(arrays["lower"]) if arrays else None
        return Diameter(record, read_pairs(store, component), arrays.get("central"), counts)


class EccentricityJob(Job):
    """The eccentricities of a component of another run. Limit `every`: of each configuration, else the greatest."""

    named_by_plan = True
    row_noun = "eccentricities"
    figures = EccentricityFigures
    parameters = EccentricitiesKind
    verifier = f"{__name__}:EccentricityVerifier"
    facts = (
        "eccentricities of: {base}, component {component}", "configurations", "known exactly: settled",
        *(f"{name}: {{found[{name}]:,}}" for name in ("diameter", "radius", "centre", "periphery", "pairs")),
    )  # fmt: skip

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        require_base(plan, "component")
        require_within("component", plan["component"], 0, MOST_VERTICES)
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
        solver, aim, tuning = opened_solver(session.context, self.store), self._aim, session.context.tuning
        solver.go_on(read_arrays(self.store))
        kept, wait = time.monotonic(), tuning.bounds_commit

        def report() -> None:
            nonlocal kept, wait
            session.tell(solver.progress(aim))
            if (begun := time.monotonic()) - kept >= wait:
                self._keep(session, solver)
                kept = time.monotonic()
                wait = max(tuning.bounds_commit, (kept - begun) / tuning.bounds_commit_part)
            session.control.check()

        try:
            solver.settle(aim, report)
            found = solver.found(self._component, aim)
        except BaseException:
            if not self.store.poisoned:
                self._keep(session, solver)
            raise
        arrays, digest = solver.arrays(), b""
        if found.central is not None:
            arrays["central"], digest = found.central, arrays["lower"].astype("<i4").tobytes()
        results.stage_component(self.store, found)
        stage_arrays(self.store, arrays)
        session.tell(solver.progress(aim))
        whole = hashlib.sha256(pack_record(found.record.as_dict()) + digest).hexdigest()
        figures = _figures(solver, session).as_dict()
        session.commit(replace(self.store.state.become("complete"), digest=whole, figures=figures))

    def _keep(self, session: Session, solver: EccentricitySolver) -> None:
        stage_arrays(self.store, solver.arrays())
        session.commit(replace(self.store.state, figures=_figures(solver, session).as_dict()))

    def repair(self, session: Session) -> None:
        """Erase everything proved, so that it is proved again."""
        session.observer.note("computing the eccentricities again")
        for database in (BEAM, COMPONENTS, PAIRS):
            self.store.erase(database)
        self.store.commit(replace(self.store.state, digest="", figures=EccentricityFigures().as_dict()))

    def summary(self, budget: Budget) -> dict[str, Any]:
        known = recorded_components(self.store).get(self._component)
        return {} if known is None else {"found": results.component_figures(known)}

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
    more = len(rows) - 20
    return Table(name, rows[:20], title, f"{more:,} rows more" if more > 0 else "")


def _figures(solver: EccentricitySolver, session: Session) -> EccentricityFigures:
    lower, upper = solver.bounds()
    rows = [{"lower": one, "upper": other, "count": count} for one, other, count in open_intervals(lower, upper)]
    diameter, radius = ([int(end(lower)), int(end(upper))] for end in (np.max, np.min))
    known, most = int(np.count_nonzero(lower == upper)), session.context.tuning.most_intervals
    return EccentricityFigures(len(lower), known, diameter, radius, rows[:most])
