"""Proof instead of trust: what a run has stored is derived again, by the theory and not by the search.

Besides checksums, digests, order and disjointness, by the triangle inequality itself: a successor of a configuration
in U(N) lies in U(N-1), U(N) or U(N+1) and nowhere else, and each configuration of U(N) has a neighbour in U(N-1); of a
directed puzzle it lies in one of the layers up to U(N+1), and something in U(N-1) leads to each of U(N). Together with
a start that is alone in U(0) this makes every layer exactly what it claims to be. Successors come from the puzzle's
plain Python rules, not from the kernel that made the layers. A census is checked against the puzzle's own list of
configurations, its components for being closed and connected, its distances by searches of their own. A tree has its
own ways (`coordinator.trees.check`).
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from coordinator.graphs.census import SEARCHED_ALONE_FROM, census_digest
from coordinator.graphs.eccentricity import sorted_pairs
from coordinator.layers.reference import reference_distances
from coordinator.runs.create import pinned_puzzle
from coordinator.session.control import Control, Observer
from coordinator.session.report import Report
from coordinator.trees.check import TreeVerifier
from puzzles.capabilities import Placements
from puzzles.contract import Puzzle
from puzzles.keys.layout import Key, Keys, ints, key_at, layout_of
from puzzles.keys.order import lower_bounds, members
from storage.engine.probe import require_sound
from storage.errors import DamagedError
from storage.layers.audit import check_disjoint, check_layer
from storage.layers.digest import chain
from storage.layers.store import RunStore
from storage.ledger.manifest import ComponentRecord, Depth
from storage.results.census import read_labels, read_pairs, recorded_components
from worker.graphs.searches import Graph, all_eccentricities, farthest_pairs, sweep
from worker.layers.kernels import merge

#: Configurations looked at per layer, and per census, without `full`; drawn with a fixed seed.
SAMPLE_PER_LAYER, SAMPLE_OF_CENSUS = 64, 2_000
#: Components whose distances are searched anew without `full`.
SAMPLE_OF_COMPONENTS = 64
_SEED = 20_261_121
#: Configurations whose successors are looked up together: each lookup passes through the layers once.
_KEYS_AT_ONCE = 1 << 12


def verify_directory(directory: Path, full: bool, control: Control, observer: Observer) -> Report:
    """`verify_run` for a run that may be damaged beyond opening: then that is the fault."""
    try:
        require_sound(directory)
        with RunStore(directory) as store:
            return verify_run(store, full, control, observer)
    except DamagedError as error:
        return Report(faults=[str(error)])


def verify_run(store: RunStore, full: bool, control: Control, observer: Observer) -> Report:
    """Everything that can be found wrong with a run; `full` looks at every configuration instead of a sample.

    Damage is reported, not raised, as far as the store can be read at all.
    """
    report = Report()
    puzzle, _ = pinned_puzzle(store)
    depths = range(store.state.depth + 1)
    for depth in depths:
        report.count("layers")
        for fault in check_layer(store, depth):
            report.fault(fault)
        control.check()
        observer.phase("layers checked", depth + 1, len(depths))
    if not report.ok:
        return report
    for fault in check_disjoint(store, list(depths)):
        report.fault(fault)
    try:
        if isinstance(puzzle, Placements):
            TreeVerifier(store, puzzle, full, report, control, observer).check()
        else:
            kind = _Whole if store.manifest.mode == "whole" else _Layers
            kind(store, puzzle, full, report, control, observer).check()
    except DamagedError as error:
        report.fault(str(error))
    return report


class _Check:
    """One run, its puzzle, and where the findings go."""

    def __init__(
        self, store: RunStore, puzzle: Puzzle, full: bool, report: Report, control: Control, observer: Observer
    ) -> None:
        self._store, self._puzzle, self._full, self._report = store, puzzle, full, report
        self._control, self._observer = control, observer


class _Layers(_Check):
    """The layers of an exploration against the rules of the puzzle."""

    def check(self) -> None:
        deepest = self._store.state.depth
        if deepest >= 0 and ints(self._store.layer(0)) != [self._puzzle.start]:
            self._report.fault("layer 0 is not the start alone")
        for depth in range(deepest + 1):
            for keys in self._samples(depth):
                for begin in range(0, len(keys), _KEYS_AT_ONCE):
                    self._control.check()
                    self._look_around(depth, ints(keys[begin : begin + _KEYS_AT_ONCE]))
                if depth and not self._puzzle.undirected:
                    self._look_back(depth, keys)
            self._observer.phase("layers derived again", depth + 1, deepest + 1)
        self._check_state()

    def _samples(self, depth: Depth) -> Iterator[Keys]:
        """The keys of a layer that are looked at, batch by batch."""
        size = self._store.layer_record(depth).size
        if self._full:
            yield from self._store.blocks(depth)
            return
        places = _sample_places(size, False, SAMPLE_PER_LAYER, depth)
        begin, found = 0, []
        for block in self._store.blocks(depth):
            mine = places[(places >= begin) & (places < begin + len(block))] - begin
            begin += len(block)
            if len(mine):
                found.append(block[mine])
        if found:
            yield np.concatenate(found)

    def _look_around(self, depth: Depth, keys: list[Key]) -> None:
        """Every move from `keys` must end in a layer that the theory allows."""
        around = {key: set(self._puzzle.successors(key)) for key in keys}
        self._report.count("configurations", len(keys))
        self._report.count("successors", sum(map(len, around.values())))
        allowed, before = self._layers_near(depth, sorted(set().union(*around.values())))
        beyond = depth == self._store.state.depth and not self._store.state.exhausted
        for key, successors in around.items():
            if not beyond and (strays := successors - allowed):
                stray = min(strays)
                where = self._store.find(stray)
                place = "no layer" if where is None else f"layer {where}"
                self._report.fault(f"layer {depth}: {key:#x} leads to {stray:#x}, which is in {place}")
            if depth and self._puzzle.undirected and before.isdisjoint(successors):
                self._report.fault(f"layer {depth}: {key:#x} has no neighbour in layer {depth - 1}")

    def _layers_near(self, depth: Depth, found: list[Key]) -> tuple[set[Key], set[Key]]:
        """Which of the successors of layer `depth` lie in a layer where they may, and which in the layer before."""
        first = max(0, depth - 1) if self._puzzle.undirected else 0
        allowed: set[Key] = set()
        before: set[Key] = set()
        left = self._puzzle.keys(found)
        for other in range(min(depth + 1, self._store.state.depth), first - 1, -1):
            if not len(left):
                break
            near = self._store.contains(other, left)
            here = ints(left[near])
            allowed.update(here)
            before.update(here if other == depth - 1 else ())
            left = left[~near]
        return allowed, before

    def _look_back(self, depth: Depth, keys: Keys) -> None:
        """Of a directed puzzle: some configuration of the layer before must lead to each of `keys`."""
        for block in self._store.blocks(depth - 1):
            self._control.check()
            successors = merge([self._puzzle.expand(block).successors], [])
            keys = keys[~members(successors, keys)]
            if not len(keys):
                return
        self._report.fault(f"layer {depth}: nothing in layer {depth - 1} leads to {key_at(keys, 0):#x}")

    def _check_state(self) -> None:
        records = self._store.layer_records()
        state = self._store.state
        if (total := sum(record.size for record in records)) != state.configurations:
            self._report.fault(f"the state counts {state.configurations} configurations, the layers have {total}")
        for record in records:
            goals = sum(int(np.count_nonzero(self._puzzle.is_goal(keys))) for keys in self._store.blocks(record.depth))
            if goals != record.goals:
                self._report.fault(f"layer {record.depth} has {goals} goals, its record says {record.goals}")
        nearest = next((record.depth for record in records if record.goals), None)
        if nearest != state.goal_depth:
            self._report.fault(f"the nearest goal is in layer {nearest}, the state says {state.goal_depth}")
        if state.status == "complete" and state.digest != chain(record.digest for record in records):
            self._report.fault("the digest of the run is not that of its layers")


class _Whole(_Check):
    """A census against the puzzle's own list of configurations and against searches of its own."""

    def check(self) -> None:
        if self._store.state.depth < 0:
            return
        keys = self._store.layer(0)
        listed = np.concatenate(list(self._puzzle.configurations()))
        if not np.array_equal(keys, listed):
            self._report.fault(f"the {len(keys)} stored configurations are not the {len(listed)} of the puzzle")
        if self._store.state.components is None:
            return
        labels = read_labels(self._store)
        self._check_labels(keys, labels)
        records = recorded_components(self._store)
        self._check_records(keys, labels, records)
        chosen = sorted(records) if self._full else _sample_components(sorted(records))
        for number, component in enumerate(chosen):
            self._check_distances(keys[labels == component], records[component])
            self._observer.phase("components derived again", number + 1, len(chosen))
        if self._store.state.status == "complete" and self._store.state.digest != census_digest(self._store):
            self._report.fault("the digest of the run is not that of its census")

    def _check_labels(self, keys: Keys, labels: np.ndarray) -> None:
        component_of = dict(zip(ints(keys), labels.tolist(), strict=True))
        for key in _sample(keys, self._full, SAMPLE_OF_CENSUS, 0):
            self._control.check()
            self._report.count("configurations")
            for other in self._puzzle.successors(key):
                self._report.count("successors")
                if component_of.get(other) != component_of[key]:
                    self._report.fault(f"{key:#x} leads to {other:#x}, which is not in its component")

    def _check_records(self, keys: Keys, labels: np.ndarray, records: dict[int, ComponentRecord]) -> None:
        state = self._store.state
        sizes = np.bincount(labels)
        if len(sizes) != state.components or (state.status == "complete" and len(records) != state.components):
            self._report.fault(f"{len(sizes)} labels, {len(records)} records, {state.components} components")
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
        if self._full or len(members) <= SEARCHED_ALONE_FROM:
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


def _sample(keys: Keys, full: bool, size: int, salt: int) -> list[Key]:
    return ints(keys[_sample_places(len(keys), full, size, salt)])


def _sample_places(count: int, full: bool, size: int, salt: int) -> np.ndarray:
    """The places of the keys that are looked at, in order: with `full` all, else `size` of them, drawn with a seed."""
    if full or count <= size:
        return np.arange(count)
    return np.sort(np.random.default_rng([_SEED, salt]).choice(count, size, replace=False))


def _sample_components(components: list[int]) -> list[int]:
    if len(components) <= SAMPLE_OF_COMPONENTS:
        return components
    chosen = np.random.default_rng(_SEED).choice(len(components), SAMPLE_OF_COMPONENTS, replace=False)
    return sorted({0, *(components[index] for index in chosen)})
