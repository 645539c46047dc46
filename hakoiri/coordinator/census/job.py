"""The kind of run for censuses, and their verification.

Verification compares the configurations with the puzzle's list, derives their moves, and searches components again:
they must be closed, connected and in order, and have the same distances. Keys and labels are read slab by slab; only
some moves at a time and the components that are searched again are in memory.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.census import census
from hakoiri.coordinator.census.census import ALL, BY, DIAMETERS, JOINS, LAYERS, MOST, NONE, CensusFigures, check_wanted
from hakoiri.coordinator.census.joining import LABEL_BYTES, components_by_layers, ranked, unlabelled
from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.graphs.distances import DistancePolicy, Way, in_order
from hakoiri.coordinator.graphs.symmetry import by_symmetry, by_symmetry_in_graph, kinds_among
from hakoiri.coordinator.layers.job import layer_summary
from hakoiri.coordinator.session.check import MOST_FAULTS, Check
from hakoiri.coordinator.session.job import Job, Table
from hakoiri.coordinator.session.kind import CensusKind
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import Hint, PuzzleError
from hakoiri.keys.layout import Key, Keys, ints, key_at
from hakoiri.keys.order import equal_rows, lower_bounds
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage import results
from hakoiri.storage.layers.audit import check_layer
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress
from hakoiri.storage.names import BLOCKS, COMPONENTS, LABELS, META, NUMBERS_KEY, PAIRS, PARTIAL_KEY, ROWS
from hakoiri.storage.results import SLAB, read_component, read_pairs, read_profile, recorded_components
from hakoiri.worker.census.slabs import NOWHERE, Slabs, component_sizes, first_places
from hakoiri.worker.graphs import searches
from hakoiri.worker.graphs.searches import Graph, Vertices, eccentricities_of, farthest_pairs, label_components
from hakoiri.worker.layers.kernels import merge

#: Configurations checked, and components whose distances are searched again, without `full`.
SAMPLE_OF_CENSUS, SAMPLE_OF_COMPONENTS = 2_000, 64
#: Bytes of a configuration: label, place in a graph, and searches; and of a move, stored at both its ends.
_BYTES_BESIDE_KEYS, _BYTES_OF_MOVE = 40, 8
#: Components are also searched by layers if there are no more of them: each takes some milliseconds.
_MOST_SEARCHED = 20_000


class CensusVerifier(Check):
    """Verifies a census against the puzzle's own list of configurations and against new searches."""

    def check(self) -> None:
        if self.store.state.depth < 0:
            return
        self._found, self._slabs = CensusFigures.of(self.store.state), Slabs(self.store)
        self._policy = DistancePolicy(self.store, self.puzzle, self.context.budget, self._found.moves)
        self._check_keys()
        if self._found.components is not None:
            self._check_labels()
            fits = LABEL_BYTES * self._slabs.size <= self.context.budget.memory
            if self.full and self.puzzle.undirected and fits and self._found.components <= _MOST_SEARCHED:
                self._check_by_layers()
            records = recorded_components(self.store)
            self._check_records(records)
            places = {0, *self.sample(len(records), SAMPLE_OF_COMPONENTS, 0).tolist()}
            chosen = [record for place, (_, record) in enumerate(sorted(records.items())) if place in places]
            for number, (record, members) in enumerate(self._with_members(chosen)):
                self._check_distances(members, record)
                self.context.tell(Progress(number + 1, len(chosen), "components derived again"))
        if self.store.state.status == "complete" and self.store.state.digest != census.census_digest(self.store):
            self.report.damage("the digest of the run does not match its census")

    def _check_keys(self) -> None:
        """Compare the stored configurations with the puzzle's list."""
        listed, same, size = 0, True, self._slabs.size
        for block in self.puzzle.configurations():
            if same and len(block):
                same = np.array_equal(self.store.slice(0, key_at(block, 0), key_at(block, -1) + 1), block)
            listed += len(block)
            self.context.tell(Progress(listed, size, headline="listing configurations"))
        if not same or listed != size:
            self.report.fault(f"the run has {size} configurations, expected the {listed} of the puzzle")

    def _looked_at(self) -> Iterator[Keys]:
        """Yield the configurations whose moves are derived again."""
        size = self._slabs.size
        places = np.arange(0) if self.full else self.sample(size, SAMPLE_OF_CENSUS, 0)
        for slab in range(len(self._slabs)):
            mine = places[places // SLAB == slab] % SLAB
            if self.full or len(mine):
                keys = self._slabs.keys(slab)
                yield keys if self.full else keys[mine]
            self.context.tell(Progress(min((slab + 1) * SLAB, size), size, headline="expanding moves"))

    def _check_labels(self) -> None:
        """Check that no move leads out of its component."""
        count = self._slabs.size if self.full else min(self._slabs.size, SAMPLE_OF_CENSUS)
        for keys, successors, counts in self._in_batches(self._looked_at(), count):
            owners = np.repeat(np.arange(len(keys)), counts)
            astray = self._labels_of(successors) != self._labels_of(keys)[owners]
            for place in np.flatnonzero(astray)[:MOST_FAULTS]:
                key, other = key_at(keys, owners[place]), key_at(successors, place)
                self.report.damage(f"{key:#x} leads to {other:#x}, which is not in its component")

    def _check_by_layers(self) -> None:
        """Find all components again by searches, layer by layer, and compare labels and profiles."""
        labels, profiles = unlabelled(self.context, self._slabs.size), list[results.Profile]()
        try:
            for _ in components_by_layers(self.context, self.store, self._slabs, labels, profiles):
                self.context.tell(Progress(len(profiles), self._found.components, "components searched by layers"))
        except ContradictionError as error:
            self.report.fault(str(error))
            return
        labels, profiles = ranked(labels, profiles)
        for slab in range(len(self._slabs)):
            if not np.array_equal(self._slabs.labels(slab), labels[slab * SLAB :][:SLAB]):
                self.report.damage(f"the components in slab {slab} are not those that searches by layers find")
                return
        for number, profile in enumerate(profiles):
            if (stored := read_profile(self.store, number)) is not None and stored != profile:
                self.report.damage(f"component {number}: its layers are not those of a search from its least key")

    def _labels_of(self, keys: Keys) -> NDArray[np.int64]:
        """Return the component of each key; -1 for one that is not a configuration."""
        distinct = merge([keys], [])
        places = self._slabs.places_of(distinct)
        labels = np.full(len(distinct), -1)
        labels[places != NOWHERE] = self._slabs.labels_at(places[places != NOWHERE])
        found: NDArray[np.int64] = labels[lower_bounds(distinct, keys)]
        return found

    def _check_records(self, records: dict[int, ComponentRecord]) -> None:
        complete, components = self.store.state.status == "complete", self._found.components
        sizes, places = component_sizes(self._slabs), first_places(self._slabs)
        if len(sizes) != components or (complete and len(records) != components):
            self.report.damage(f"{len(sizes)} labels, {len(records)} records, {components} components")
        if (np.lexsort((places, -sizes)) != np.arange(len(sizes))).any():
            self.report.damage("the components are not in order of their sizes and least keys")
        known = [record for _, record in sorted(records.items()) if record.component < len(sizes)]
        least = self._slabs.keys_at(places[[record.component for record in known]])
        for number, record in enumerate(known):
            if record.size != sizes[record.component] or record.representative != key_at(least, number):
                self.report.damage(f"component {record.component}: its record does not match its configurations")

    def _with_members(self, records: list[ComponentRecord]) -> Iterator[tuple[ComponentRecord, Keys]]:
        """Yield components with their configurations, as many in each pass as fit in memory."""
        waiting: list[ComponentRecord] = []
        for record in records:
            if not self.full and self._way(record) is Way.SYMMETRY:
                self._check_by_kinds(record)
                continue
            if waiting and self._bytes_of([*waiting, record]) > self.context.budget.memory:
                yield from self._gathered(waiting)
                waiting = []
            waiting.append(record)
        if waiting:
            yield from self._gathered(waiting)

    def _way(self, record: ComponentRecord) -> Way:
        fits = self._bytes_of([record]) <= self.context.budget.memory
        return self._policy.way_to_verify(record, self.full, fits)

    def _check_by_kinds(self, record: ComponentRecord) -> None:
        """Check a component measured by kinds by the same searches, not by the reference rules."""
        self.report.sampled = True
        if record.diameter is None:
            return
        self.report.count("components")
        if not (kinds := self._policy.kinds(record.component, self.control)):
            self.report.damage(f"component {record.component}: some of its pairs are missing")
            return
        self._check_by_symmetry(record, by_symmetry(self.context, self.store, record.component, kinds))

    def _gathered(self, records: list[ComponentRecord]) -> Iterator[tuple[ComponentRecord, Keys]]:
        what = f"verifying components of {sum(record.size for record in records):,} configurations"
        self.context.budget.require(what, self._bytes_of(records))
        ordered = in_order(*self._slabs.members([record.component for record in records], self.control))
        for place, record in enumerate(records):
            yield record, ordered.part(range(place, place + 1))[0]

    def _bytes_of(self, records: list[ComponentRecord]) -> int:
        """Return the memory of the keys of components, and of the largest one's graph during searches."""
        most = max((record.size for record in records), default=0)
        members = sum(record.size for record in records) * (2 * self.store.layout.bytes + _BYTES_BESIDE_KEYS // 2)
        return int(
            members + most * (self.store.layout.bytes + _BYTES_BESIDE_KEYS // 2 + self._found.moves * _BYTES_OF_MOVE)
        )

    def _check_distances(self, members: Keys, record: ComponentRecord) -> None:
        """Check a component by the reference rules: closed, connected, and its distances and pairs.

        In a large component without `full` only the eccentricities of the periphery are searched again.
        """
        self.report.count("components")
        what = f"component {record.component}"
        graph = self._graph_of(members)
        if graph is None or label_components(graph).any():
            self.report.damage(f"{what} is not connected")
            return
        if record.diameter is None:
            return
        way = self._way(record)
        if way is Way.SYMMETRY and (kinds := kinds_among(self.puzzle, [members])):
            self.report.sampled = True
            found = by_symmetry_in_graph(self.context, graph, members, record.component, kinds)
            self._check_by_symmetry(record, found)
            return
        stored = read_pairs(self.store, record.component)
        listed = record.pair_count == len(stored)
        pairs = np.stack([lower_bounds(members, stored[:, side]) for side in (0, 1)], axis=1)
        if way is not Way.ENDS:
            away = self._eccentricities_of(graph, np.arange(len(members), dtype=np.int32))
            centre = int(np.count_nonzero(away == away.min()))
            outermost = np.flatnonzero(away == away.max()).astype(np.int32)
            derived: tuple[int | None, ...] = (int(away.max()), int(away.min()), centre, len(outermost))
        else:
            self.report.sampled = True
            outermost = np.unique(pairs).astype(np.int32)
            many = len(outermost) if listed else record.periphery
            derived = (int(self._eccentricities_of(graph, outermost).min()), record.radius, record.centre, many)
        if derived != (record.diameter, record.radius, record.centre, record.periphery):
            self.report.damage(f"{what}: diameter, radius, centre, periphery are {derived}, but {record} in its record")
        expected = farthest_pairs(graph, outermost)
        if listed or self.puzzle.orbits(members[:1]) is None:
            right = record.pair_count == len(pairs) and np.array_equal(expected, pairs)
        else:
            # Only some are kept.
            right = not self.full or record.pair_count == len(expected)
            right = right and {*map(tuple, pairs.tolist())} <= {*map(tuple, expected.tolist())}
        if not right:
            self.report.damage(f"{what}: its {len(pairs)} diametral pairs differ from the {len(expected)} of a search")

    def _check_by_symmetry(self, record: ComponentRecord, found: results.Diameter) -> None:
        """Compare a record and its stored pairs with distances from one configuration per kind."""
        what = f"component {record.component}"
        if found.record != record:
            self.report.damage(f"{what}: searches find {found.record}, but its record has {record}")
        pairs = read_pairs(self.store, record.component)
        right = len(pairs) in (len(found.pairs), record.pair_count)
        if not (right and _as_set(found.pairs) <= _as_set(pairs)):
            self.report.damage(f"{what}: its {len(pairs)} diametral pairs differ from those of a search")

    def _eccentricities_of(self, graph: Graph, vertices: Vertices) -> searches.Distances:
        """Return eccentricities by a search from each: here if few, else on the executor."""
        steps, most = len(graph.offsets) + len(graph.targets), self.context.tuning.steps_at_once
        if len(vertices) * steps <= most:
            return eccentricities_of(graph, vertices)[0]
        farm, parts = self.context.farm, np.array_split(vertices, math.ceil(len(vertices) * steps / most))
        found = dict(farm.map(farm.plan_of(None, rules=False), "searches", ([part] for part in parts), graph))
        return np.concatenate([found[number][0] for number in range(len(parts))])

    def _graph_of(self, members: Keys) -> Graph | None:
        """Return the graph by the reference rules, without kernels. ``None`` if an edge leads out of it."""
        starts, ends = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=np.int32)]
        for keys, successors, counts in self._derived_by_chunks([members], len(members)):
            places = np.minimum(lower_bounds(members, successors), len(members) - 1)
            if not equal_rows(members[places], successors).all():
                return None
            owners = np.repeat(lower_bounds(members, keys), counts)
            apart = places != owners
            starts.append(owners[apart].astype(np.int32))
            ends.append(places[apart].astype(np.int32))
        sources, targets = np.concatenate(starts), np.concatenate(ends)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=len(members)))])
        return Graph(offsets.astype(np.int64), targets[np.lexsort((targets, sources))])


def _as_set(pairs: Keys) -> set[tuple[Key, Key]]:
    """Return pairs of keys, shape (pairs, 2) or for wide keys (pairs, 2, words), as Python integers."""
    keys = ints(pairs.reshape(-1, *pairs.shape[2:]))
    return set(zip(keys[::2], keys[1::2], strict=True))


_LARGEST_SHOWN = 6


class CensusJob(Job):
    """A census of all configurations of a puzzle."""

    has_graph = True
    figures = CensusFigures
    parameters = CensusKind
    verifier = f"{__name__}:CensusVerifier"
    facts = ("configurations", "moves between them: edges", "components", "start in component: start_component")

    @classmethod
    def by_hosts(cls, puzzle: Puzzle, plan: Mapping[str, Any]) -> bool:
        return True

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        kind = spec.kind()
        check_wanted(plan.get(DIAMETERS, ALL))
        if plan.get(BY, JOINS) not in (JOINS, LAYERS):
            raise PuzzleError(f"by {plan[BY]!r} is not {JOINS} or {LAYERS}")
        if plan.keys() - {DIAMETERS, BY, MOST}:
            raise PuzzleError("a census counts every configuration, so it has no goal", Hint("leave out", "until_goal"))
        if spec.start is not None and not kind.start_is_board:
            raise PuzzleError("a census counts every configuration, so it has no start", Hint("leave out", "start"))
        if spec.start is None and kind.start_is_board:
            raise PuzzleError(f"a census of {kind.name} needs a board", Hint("give", "start", "BOARD"))
        puzzle = spec.build()
        if not puzzle.lists_all:
            raise PuzzleError(CensusKind.misfit.format(puzzle.name), *CensusKind.instead)
        if plan.get(BY) == LAYERS and not puzzle.undirected:
            text = f"{puzzle.name} is directed: a search does not find its components"
            raise PuzzleError(text, Hint("leave out", BY))
        measured = DIAMETERS if plan.get(DIAMETERS, NONE) != NONE else MOST
        if not puzzle.undirected and measured in plan:
            # A census stores distances between all configurations of a component; here some do not exist.
            raise PuzzleError(
                f"{puzzle.name} is directed, so its components have no diameters", Hint("leave out", measured)
            )
        if plan.get(DIAMETERS) == NONE and MOST in plan:
            raise PuzzleError("most measures components, diameters=none measures none", Hint("leave out", MOST))
        return puzzle

    def work(self, session: Session) -> None:
        census.Census(session).run()

    def repair(self, session: Session) -> None:
        """Erase everything but sound configurations, so that `work` counts again, which is quick."""
        store = session.store
        sound = store.state.depth >= 0 and not list(check_layer(store, 0))
        session.observer.note("counting the components again" if sound else "counting everything again")
        for database in (*([] if sound else [BLOCKS]), LABELS, COMPONENTS, PAIRS, ROWS):
            store.erase(database)
        for name in (PARTIAL_KEY, NUMBERS_KEY):
            store.erase(META, name)
        found = CensusFigures(CensusFigures.of(store.state).configurations if sound else 0)
        state = replace(store.state, digest="", figures=found.as_dict())
        store.commit(state if sound else replace(state, depth=-1))

    def summary(self, budget: Budget) -> dict[str, Any]:
        return layer_summary(self.store.layer_records())

    def tables(self) -> list[Table]:
        """Return the largest components, once all are measured."""
        count = CensusFigures.of(self.store.state).components
        if self.store.state.status != "complete" or count is None:
            return []
        shown = [read_component(self.store, number) for number in range(min(count, _LARGEST_SHOWN))]
        rest = f"{count - len(shown):,} smaller ones" if count > len(shown) else ""
        return [Table("components", [results.component_figures(record) for record in shown], "", rest, "components")]

    def questions(self) -> list[str]:
        if self.store.manifest.plan.get(DIAMETERS) == NONE:
            return ["hardest"]
        if not self.puzzle.undirected:
            return ["strong components"]
        return ["components" if {DIAMETERS, MOST} & self.store.manifest.plan.keys() else "diameter"]
