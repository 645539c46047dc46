"""`verify` of a census: against the puzzle's own list of configurations and against searches by the reference rules.

Its components must be closed and connected, in order, and their distances those of searches of their own.
"""

import numpy as np

from coordinator.graphs.census import Counted, census_digest
from coordinator.graphs.diameter import sorted_pairs
from coordinator.session.job import Verifier
from puzzles.keys.layout import Keys, ints, key_at, layout_of
from puzzles.keys.order import equal_rows, lower_bounds
from storage.ledger.manifest import ComponentRecord, Progress
from storage.results.census import read_labels, read_pairs, recorded_components
from worker.graphs.searches import Graph, all_eccentricities, farthest_pairs, label_components, sweep

#: Configurations looked at, and components whose distances are searched anew, without `full`.
SAMPLE_OF_CENSUS, SAMPLE_OF_COMPONENTS = 2_000, 64
#: Configurations whose successors are Python integers at the same time.
_KEYS_AT_ONCE = 1 << 12
#: A configuration's label, place in a graph, and what searches of it take; a move as the target of both its ends.
_BYTES_BESIDE_KEYS, _BYTES_OF_MOVE = 40, 8
#: Faults of one kind that are reported of the configurations looked at together.
_MOST_FAULTS = 100


class CensusVerifier(Verifier):
    """A census against the puzzle's own list of configurations and against searches of its own."""

    def check(self) -> None:
        if self._store.state.depth < 0:
            return
        self._found = Counted.of(self._store.state)
        self._require_memory()
        keys = self._store.layer(0)
        self._check_keys(keys)
        if self._found.components is None:
            return
        labels = read_labels(self._store, len(keys))
        self._check_labels(keys, labels)
        records = recorded_components(self._store)
        self._check_records(keys, labels, records)
        places = {0, *self._places(len(records), SAMPLE_OF_COMPONENTS, 0).tolist()}
        chosen = [component for place, component in enumerate(sorted(records)) if place in places]
        for number, component in enumerate(chosen):
            self._check_distances(keys[labels == component], records[component])
            self._observer.progress(Progress(number + 1, len(chosen), "components derived again"))
        if self._store.state.status == "complete" and self._store.state.digest != census_digest(self._store):
            self._report.damage("the digest of the run is not that of its census")

    def _require_memory(self) -> None:
        """`OverBudgetError` unless all keys, those of a component, and its graph fit the memory."""
        count, moves = self._found.configurations, 2 * (self._found.edges or 0)
        needed = count * (3 * self._store.layout.bytes + _BYTES_BESIDE_KEYS) + moves * _BYTES_OF_MOVE
        self._context.budget.require(f"verifying the census of {count:,} configurations", needed)

    def _check_keys(self, keys: Keys) -> None:
        listed, same = 0, True
        for block in self._puzzle.configurations():
            self._control.check()
            same = same and np.array_equal(keys[listed : listed + len(block)], block)
            listed += len(block)
        if not same or listed != len(keys):
            self._report.fault(f"the {len(keys)} stored configurations are not the {listed} of the puzzle")

    def _check_labels(self, keys: Keys, labels: np.ndarray) -> None:
        """No move leads out of its component."""
        places = self._places(len(keys), SAMPLE_OF_CENSUS, 0)
        for begin in range(0, len(places), _KEYS_AT_ONCE):
            self._control.check()
            chosen = places[begin : begin + _KEYS_AT_ONCE]
            successors, counts = self._successors(keys[chosen])
            self._report.count("configurations", len(chosen))
            self._report.count("successors", len(successors))
            there = np.minimum(lower_bounds(keys, successors), len(keys) - 1)
            sources = np.repeat(chosen, counts)
            astray = ~equal_rows(keys[there], successors) | (labels[there] != labels[sources])
            for place in np.flatnonzero(astray)[:_MOST_FAULTS]:
                key, other = key_at(keys, sources[place]), key_at(successors, place)
                self._report.damage(f"{key:#x} leads to {other:#x}, which is not in its component")

    def _successors(self, keys: Keys) -> tuple[Keys, np.ndarray]:
        """By the reference rules: those of each key in turn, distinct, in order, without itself; how many each has."""
        rows = [sorted(found - {key}) for key, found in zip(ints(keys), self._successors_of(keys), strict=True)]
        return layout_of(keys).pack([other for row in rows for other in row]), np.array([len(row) for row in rows])

    def _check_records(self, keys: Keys, labels: np.ndarray, records: dict[int, ComponentRecord]) -> None:
        complete, components = self._store.state.status == "complete", self._found.components
        sizes = np.bincount(labels)
        if len(sizes) != components or (complete and len(records) != components):
            self._report.damage(f"{len(sizes)} labels, {len(records)} records, {components} components")
        firsts = np.unique(labels, return_index=True)[1]
        if sorted(range(len(sizes)), key=lambda component: (-sizes[component], firsts[component])) != list(
            range(len(sizes))
        ):
            self._report.damage("the components are not in order of their sizes and least keys")
        for component, record in records.items():
            if record.size != sizes[component] or record.representative != key_at(keys, firsts[component]):
                self._report.damage(f"component {component}: its record is not that of its configurations")

    def _check_distances(self, members: Keys, record: ComponentRecord) -> None:
        """One component against the reference rules: closed, connected, its distances and pairs if it was measured.

        In a large component without `full` only the eccentricities of the periphery are searched anew.
        """
        self._control.check()
        self._report.count("components")
        what = f"component {record.component}"
        graph = self._graph_of(members)
        if graph is None or label_components(graph).any():
            self._report.damage(f"{what} is not one connected component")
            return
        if record.diameter is None:
            return
        stored = read_pairs(self._store, record.component)
        pairs = np.stack([lower_bounds(members, stored[:, side]) for side in (0, 1)], axis=1)
        if self._full or len(members) <= self._context.tuning.searched_alone_from:
            found = all_eccentricities(graph)
            centre = int(np.count_nonzero(found == found.min()))
            outermost = np.flatnonzero(found == found.max()).astype(np.int32)
            derived: tuple[int | None, ...] = (int(found.max()), int(found.min()), centre, len(outermost))
        else:
            self._report.sampled = True
            outermost = np.unique(pairs).astype(np.int32)
            derived = (int(sweep(graph, outermost)[0].min()), record.radius, record.centre, len(outermost))
        if derived != (record.diameter, record.radius, record.centre, record.periphery):
            self._report.damage(f"{what}: diameter, radius, centre, periphery are {derived}, its record says {record}")
        expected = sorted_pairs(farthest_pairs(graph, outermost))
        if record.pair_count != len(pairs) or not np.array_equal(expected, pairs):
            self._report.damage(f"{what}: its {len(pairs)} diametral pairs are not the {len(expected)} found anew")

    def _graph_of(self, members: Keys) -> Graph | None:
        """The graph of the reference rules: no kernel had a hand in its edges. ``None`` if one leads out of it."""
        targets, counts = [np.empty(0, dtype=np.int32)], [np.zeros(1, dtype=np.int64)]
        for begin in range(0, len(members), _KEYS_AT_ONCE):
            self._control.check()
            successors, rows = self._successors(members[begin : begin + _KEYS_AT_ONCE])
            places = np.minimum(lower_bounds(members, successors), len(members) - 1)
            if not equal_rows(members[places], successors).all():
                return None
            targets.append(places.astype(np.int32))
            counts.append(rows)
        return Graph(np.cumsum(np.concatenate(counts)), np.concatenate(targets))
