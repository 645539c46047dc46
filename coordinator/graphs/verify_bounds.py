"""`verify` of eccentricities: searches from a sample of the configurations, or from all, and what follows from them."""

import numpy as np

from hakoiri.coordinator.graphs.eccentricities import EccentricitySolver
from hakoiri.coordinator.session.check import Check
from hakoiri.puzzles.keys.layout import key_at
from hakoiri.puzzles.keys.order import lower_bounds
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import ComponentRecord
from hakoiri.storage.results.census import read_pairs, recorded_components
from hakoiri.storage.results.rows import read_arrays
from hakoiri.worker.graphs.lanes import LANES
from hakoiri.worker.graphs.searches import Distances, Vertices


def check_bounds(store: RunStore, component: int, solver: EccentricitySolver, check: Check) -> None:
    """Report what of a component's eccentricities is not as searches from some of its configurations say."""
    arrays, report = read_arrays(store), check.report
    if not arrays:
        return
    lower, upper = arrays["lower"].astype(np.int32), arrays["upper"].astype(np.int32)
    if len(lower) != len(solver.keys):
        report.damage(f"there are bounds of {len(lower)} eccentricities for {len(solver.keys)} configurations")
        return
    places = check.sample(len(lower), LANES, component).astype(np.int32)
    exact = solver.exact(places)
    report.count("eccentricities", len(places))
    for place, value in zip(places.tolist(), exact.tolist(), strict=True):
        if not lower[place] <= value <= upper[place]:
            known = f"between {lower[place]} and {upper[place]}"
            report.damage(f"the eccentricity of {key_at(solver.keys, place):#x} is {value}, not {known}")
    if (record := recorded_components(store).get(component)) is not None:
        _check_record(store, record, solver, places, lower, upper, check)


def _check_record(
    store: RunStore, record: ComponentRecord, solver: EccentricitySolver, places: Vertices, lower: Distances,
    upper: Distances, check: Check,
) -> None:  # fmt: skip
    """The record against the bounds, and the pairs of those that were looked at against the record."""
    diameter, radius = int(lower.max()), int(lower.min())
    expected: dict[str, int | None] = {"size": len(lower), "diameter": diameter if upper.max() == diameter else None}
    if record.radius is not None:
        expected |= {"radius": radius if (lower == upper).all() else None}
        expected |= {"centre": int((lower == radius).sum()), "periphery": int((lower == diameter).sum())}
    for name, value in expected.items():
        if getattr(record, name) != value:
            check.report.damage(f"the record has {name} {getattr(record, name)}, its eccentricities say {value}")
    pairs = read_pairs(store, record.component)
    if not check.report.ok:
        return
    stored = lower_bounds(solver.keys, pairs.reshape(-1, *pairs.shape[2:])).reshape(-1, 2)
    outer = np.unique(np.append(places[lower[places] == diameter], stored[:1, 0])).astype(np.int32)
    found, mine = solver.pairs_from(outer, diameter), stored[np.isin(stored, outer).any(axis=1)]
    check.report.count("configurations with all their pairs", len(outer))
    if record.pair_count is None:
        found = found[(found == stored[0]).all(axis=1)]
    elif record.pair_count != len(stored):
        check.report.damage(f"there are {len(stored)} pairs, the record has {record.pair_count}")
    if not np.array_equal(found, mine):
        check.report.damage(f"{len(mine)} diametral pairs are stored where searches find {len(found)}")
