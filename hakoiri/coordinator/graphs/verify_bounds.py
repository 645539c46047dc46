"""Verification of eccentricities by searches from a sample of the configurations, or from all."""

import numpy as np

from hakoiri.coordinator.graphs.building import build_graph
from hakoiri.coordinator.graphs.distances import component_keys
from hakoiri.coordinator.graphs.eccentricities import EccentricitySolver
from hakoiri.coordinator.runs.belonging import Belonging, open_base
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.keys.layout import key_at
from hakoiri.puzzles.keys.order import lower_bounds
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import ComponentRecord
from hakoiri.storage.results.census import read_pairs, recorded_components
from hakoiri.storage.results.rows import read_arrays
from hakoiri.worker.graphs.lanes import LANES
from hakoiri.worker.graphs.searches import Distances, Vertices


def opened_solver(context: ComputeContext, store: RunStore) -> EccentricitySolver:
    """Return a solver for the component of a run of eccentricities, with nothing proved."""
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
        """Compare the record with the bounds, and the pairs of the sample with the record."""
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
