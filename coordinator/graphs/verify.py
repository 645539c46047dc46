"""`verify` of a census: against the puzzle's own list of configurations and against searches by the plain rules.

Its components must be closed and connected, in order, and their distances those of searches of their own.
"""

import numpy as np

from coordinator.graphs.census import Counted, census_digest
from coordinator.graphs.eccentricity import sorted_pairs
from coordinator.layers.reference import reference_distances
from coordinator.session.tuning import DEFAULT
from coordinator.session.verifier import Verifier, sample_places
from puzzles.keys.layout import Key, Keys, ints, key_at, layout_of
from puzzles.keys.order import lower_bounds
from storage.ledger.manifest import ComponentRecord, Progress
from storage.results.census import read_labels, read_pairs, recorded_components
from worker.graphs.searches import Graph, all_eccentricities, farthest_pairs, sweep

#: Configurations looked at, and components whose distances are searched anew, without `full`.
SAMPLE_OF_CENSUS, SAMPLE_OF_COMPONENTS = 2_000, 64


class CensusVerifier(Verifier):
    """A census against the puzzle's own list of configurations and against searches of its own."""

    def check(self) -> None:
        if self._store.state.depth < 0:
            return
        keys = self._store.layer(0)
        listed = np.concatenate(list(self._puzzle.configurations()))
        if not np.array_equal(keys, listed):
            self._report.fault(f"the {len(keys)} stored configurations are not the {len(listed)} of the puzzle")
        self._found = Counted.of(self._store.state)
        if self._found.components is None:
            return
        labels = read_labels(self._store, len(keys))
        self._check_labels(keys, labels)
        records = recorded_components(self._store)
        self._check_records(keys, labels, records)
        chosen = sorted(records) if self._full else _sample_components(sorted(records))
        for number, component in enumerate(chosen):
            self._check_distances(keys[labels == component], records[component])
            self._observer.progress(Progress(number + 1, len(chosen), "components derived again"))
        if self._store.state.status == "complete" and self._store.state.digest != census_digest(self._store):
            self._report.fault("the digest of the run is not that of its census")

    def _check_labels(self, keys: Keys, labels: np.ndarray) -> None:
        component_of = dict(zip(ints(keys), labels.tolist(), strict=True))
        looked_at = keys if self._full else keys[sample_places(len(keys), SAMPLE_OF_CENSUS, 0)]
        for key in ints(looked_at):
            self._control.check()
            self._report.count("configurations")
            for other in self._puzzle.successors(key):
                self._report.count("successors")
                if component_of.get(other) != component_of[key]:
                    self._report.fault(f"{key:#x} leads to {other:#x}, which is not in its component")

    def _check_records(self, keys: Keys, labels: np.ndarray, records: dict[int, ComponentRecord]) -> None:
        complete, components = self._store.state.status == "complete", self._found.components
        sizes = np.bincount(labels)
        if len(sizes) != components or (complete and len(records) != components):
            self._report.fault(f"{len(sizes)} labels, {len(records)} records, {components} components")
        firsts = np.unique(labels, return_index=True)[1]
        if sorted(range(len(sizes)), key=lambda component: (-sizes[component], firsts[component])) != list(
            range(len(sizes))
        ):
            self._report.fault("the components are not in order of their sizes and least keys")
        for component, record in records.items():
            if record.size != sizes[component] or record.representative != key_at(keys, firsts[component]):
                self._report.fault(f"component {component}: its record is not that of its configurations")

    def _check_distances(self, members: Keys, record: ComponentRecord) -> None:
        """One component against the plain rules: closed, connected, its distances and pairs.

        In a large component without `full` only the eccentricities of the periphery are searched anew.
        """
        self._control.check()
        self._report.count("components")
        what = f"component {record.component}"
        around = {key: self._puzzle.successors(key) for key in ints(members)}
        if set(reference_distances(lambda key: around.get(key, ()), key_at(members, 0))) != set(around):
            self._report.fault(f"{what} is not one connected component")
            return
        graph = _graph_of(members, around)
        stored = read_pairs(self._store, record.component)
        pairs = np.stack([lower_bounds(members, stored[:, side]) for side in (0, 1)], axis=1)
        if self._full or len(members) <= DEFAULT.searched_alone_from:
            found = all_eccentricities(graph)
            centre = int(np.count_nonzero(found == found.min()))
            outermost = np.flatnonzero(found == found.max()).astype(np.int32)
            derived: tuple[int | None, ...] = (int(found.max()), int(found.min()), centre, len(outermost))
        else:
            outermost = np.unique(pairs).astype(np.int32)
            derived = (int(sweep(graph, outermost)[0].min()), record.radius, record.centre, len(outermost))
        if derived != (record.diameter, record.radius, record.centre, record.periphery):
            self._report.fault(f"{what}: diameter, radius, centre, periphery are {derived}, its record says {record}")
        expected = sorted_pairs(farthest_pairs(graph, outermost))
        if record.pair_count != len(pairs) or not np.array_equal(expected, pairs):
            self._report.fault(f"{what}: its {len(pairs)} diametral pairs are not the {len(expected)} found anew")


def _graph_of(members: Keys, around: dict[Key, list[Key]]) -> Graph:
    """The graph of plain rules: no kernel had a hand in its edges."""
    rows = [sorted({other for other in others if other != key}) for key, others in around.items()]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = layout_of(members).pack([other for row in rows for other in row])
    return Graph(offsets, lower_bounds(members, flat).astype(np.int32))


def _sample_components(components: list[int]) -> list[int]:
    return sorted(
        {*components[:1], *(components[place] for place in sample_places(len(components), SAMPLE_OF_COMPONENTS, 0))}
    )
