"""The census of a whole space: every configuration, its component, and each component's exact distances.

The components are found by expanding every configuration once, in chunks, and uniting the ends of each move, not by
a search per component: in memory, or where the moves do not fit there, by passes (`coordinator.spaces.joining`). Each
step is committed; what is on disk is not computed again.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coordinator.errors import OverBudgetError
from coordinator.graphs.building import build_graph
from coordinator.graphs.diameter import Kind, by_orbits, kinds_among
from coordinator.graphs.eccentricities import LEAST_BYTES
from coordinator.graphs.measuring import Ordered, in_order, measured
from coordinator.layers.search import Reached
from coordinator.session.session import Session
from coordinator.spaces.joining import Joining, require_passes
from coordinator.spaces.listing import Listing
from coordinator.spaces.slabs import NOWHERE, Sizes, Slabs, component_sizes, first_places
from coordinator.spaces.wanted import ALL, DIAMETERS, wanted_of
from coordinator.steps.inspection import compare_rules
from coordinator.steps.window import StoredLayer
from puzzles.keys.layout import Key, Keys, ints, key_at
from puzzles.keys.order import equal_rows
from storage.layers.digest import chain
from storage.layers.spill import Spill
from storage.layers.store import RunStore
from storage.ledger.manifest import ComponentRecord, Progress
from storage.ledger.records import pack_record
from storage.names import META, PARTIAL_KEY, SIZES_KEY
from storage.results.census import (
    SLAB,
    read_labels,
    read_pairs,
    read_slab,
    recorded_components,
    stage_component,
    stage_labels,
)
from worker.graphs.searches import Graph, label_components


@dataclass(frozen=True)
class Counted(Reached):
    """What a census has found: the moves between configurations, the components, and how many have their records.

    Of a directed puzzle they are weak components, which have no distances.

    `start_component` is the one that holds the puzzle's start. ``None`` is not known yet.
    """

    edges: int | None = None
    components: int | None = None
    components_done: int = 0
    start_component: int | None = None


class Census:
    """A census of the whole space, on an open run, from its last commit on."""

    def __init__(self, session: Session) -> None:
        self._session, self._store, self._context = session, session.store, session.context
        self._state = self._store.state
        self._found = Counted.of(self._state)

    def run(self) -> None:
        """Count until every component is measured. Commits as it goes; raises as `explore` does."""
        if self._state.depth < 0:
            self._list()
        sample = StoredLayer(self._store, 0, self._store.layer_record(0).size).sample()
        compare_rules(self._session.puzzle, sample)
        try:
            for record, pairs in self._measured(self._graph(sample)):
                self._add(record, pairs)
        finally:
            self._state = self._session.commit_staged(self._state)
        self._state = replace(self._state, status="complete", digest=census_digest(self._store))
        self._session.tell(Progress(self._found.configurations, headline=f"{self._found.components:,} components"))
        self._commit(exhausted=True)

    def _commit(self, **found: Any) -> None:
        """Make durable what is staged, and what is found."""
        self._found = replace(self._found, **found)
        self._state = self._session.commit(replace(self._state, figures=self._found.as_dict()))

    def _list(self) -> None:
        listing = Listing(self._session)
        self._require_way(max(listing.size, self._session.puzzle.total or 0))
        for record in listing.run():
            if record is None:
                self._commit()
                self._require_way(listing.size)
            else:
                self._state = replace(self._state, depth=0)
                self._commit(configurations=record.size)

    def _require_way(self, least: int) -> None:
        """`UnanswerableError` where no memory that is allowed, and no pass, serves for so many configurations."""
        if self._bytes_of(least, 0) > self._context.budget.memory:
            require_passes(self._store.layout, least)

    # Components

    @property
    def _ways(self) -> int:
        """How often a move is seen."""
        return 2 if self._session.puzzle.undirected else 1

    def _graph(self, sample: Keys) -> tuple[Keys, Graph] | None:
        """All configurations and their graph, if it fits in memory; in any case they are labelled then."""
        moves = len(self._session.puzzle.expand(sample).successors) / max(1, len(sample))
        found = None
        with suppress(OverBudgetError):
            self._context.budget.require("the graph", self._bytes_of(self._found.configurations, moves))
            keys = self._store.layer(0)
            found = keys, build_graph(self._context, keys, control=self._session.control)
        self._session.control.check()
        if self._found.components is None:
            if found is None:
                self._join()
            else:
                self._label(*found)
        return found

    def _bytes_of(self, configurations: int, moves: float) -> int:
        """The memory of a graph while it is built, where each configuration has so many moves."""
        return int(configurations * (2 * (self._store.layout.bytes + 2 + 4 * moves) + 8))

    def _label(self, keys: Keys, graph: Graph) -> None:
        labels, puzzle = label_components(graph).astype(np.uint32), self._session.puzzle
        stage_labels(self._store, labels)
        # Passes of a session with less memory may have been under way.
        for name in (PARTIAL_KEY, SIZES_KEY):
            self._store.erase(META, name)
        start = labels[equal_rows(keys, puzzle.keys([puzzle.start]))]
        self._commit(
            edges=len(graph.targets) // self._ways,
            components=int(labels.max()) + 1 if len(labels) else 0,
            start_component=int(start[0]) if len(start) else None,
        )
        Spill(self._store.directory, self._store.layout, 0).clear()

    def _join(self) -> None:
        joining, puzzle = Joining(self._session), self._session.puzzle
        components = joining.run()
        place = joining.slabs.places_of(puzzle.keys([puzzle.start]))
        start = None if place[0] == NOWHERE else int(joining.slabs.labels_at(place)[0])
        self._state = self._store.state
        self._commit(edges=joining.moves // self._ways, components=components, start_component=start)
        joining.finish()

    # Distances

    def _measured(self, graph: tuple[Keys, Graph] | None) -> Iterator[tuple[ComponentRecord, Keys]]:
        """The records of all components that have none yet, and the diametral pairs of those that are wanted."""
        slabs = Slabs(self._store)
        sizes = component_sizes(slabs)
        wanted = wanted_of(self._store.manifest.plan.get(DIAMETERS, ALL), sizes)
        if not self._session.puzzle.undirected:
            # Not all configurations of a component lead to each other: there are no distances.
            wanted = range(0)
        missing = set(range(len(sizes))) - set(recorded_components(self._store))
        if not missing.issubset(wanted):
            yield from self._unmeasured(slabs, sizes, missing - set(wanted))
        mine = sorted(missing.intersection(wanted))
        if graph is None or self._large(sizes, mine):
            graph = None
            yield from self._by_groups(slabs, sizes, mine)
        elif mine:
            ordered = in_order(*graph, read_labels(self._store, self._found.configurations))
            yield from measured(self._context, self._session.control, ordered, mine)

    def measured_alone(self, component: int) -> tuple[ComponentRecord, Keys]:
        """The record of a component, and its diametral pairs: also of one that the census has left out."""
        slabs = Slabs(self._store)
        return next(self._by_groups(slabs, component_sizes(slabs), [component]))

    @property
    def _moves(self) -> float:
        """How many moves a configuration has, on the average."""
        return 2 * (self._found.edges or 0) / max(1, self._found.configurations)

    def _large(self, sizes: Sizes, components: list[int]) -> list[int]:
        """Those of some components that hardly fit the memory to be measured, though their graph may."""
        each = self._store.layout.bytes + LEAST_BYTES + 2 * (8 + 4 * self._moves)
        least = max(self._context.tuning.searched_alone_from, self._context.budget.memory / each)
        return [component for component in components if sizes[component] > least]

    def _by_groups(self, slabs: Slabs, sizes: Sizes, mine: list[int]) -> Iterator[tuple[ComponentRecord, Keys]]:
        """Some components where not all moves fit in memory."""
        needed = sizes * self._bytes_of(1, self._moves)
        large = self._large(sizes, mine)
        yield from self._in_memory(slabs, needed, mine[len(large) :])
        for component in large:
            parts = (keys for keys, _ in slabs.parts([component], self._session.control))
            if kinds := kinds_among(self._session.puzzle, parts):
                yield self._by_orbits(component, int(sizes[component]), kinds)
            else:
                what = f"component {component} of {sizes[component]:,} configurations"
                self._context.budget.require(what, int(needed[component]) * 3 // 4)
                yield from self._in_memory(slabs, needed, [component])

    def _in_memory(self, slabs: Slabs, needed: Sizes, mine: list[int]) -> Iterator[tuple[ComponentRecord, Keys]]:
        """Some components, of which as many as fit are in memory at a time; `needed` are the bytes of each."""
        # Some components have more moves than others: only `build_graph` knows the bytes of one alone.
        for ordered in self._groups(slabs, needed, mine, self._context.budget.memory * 3 // 4):
            chosen = [component for component in mine if component in ordered.components]
            yield from measured(self._context, self._session.control, ordered, chosen)

    def _by_orbits(self, component: int, size: int, kinds: dict[Key, Kind]) -> tuple[ComponentRecord, Keys]:
        """A component by layered searches from configurations of each kind, which does not need its graph."""
        session = self._session
        found = by_orbits(self._context, self._store, kinds, session.control, session.observer, from_start=False)
        record = ComponentRecord(
            component, size, found.diameter, found.radius, found.centre, found.periphery, found.pair_count,
            min(kind.first for kind in kinds.values()),
        )  # fmt: skip
        pairs = sorted((min(ints(pair)), max(ints(pair))) for pair in found.pairs)
        return record, np.stack([session.puzzle.keys(list(side)) for side in zip(*pairs, strict=True)], axis=1)

    def _unmeasured(self, slabs: Slabs, sizes: Sizes, components: set[int]) -> Iterator[tuple[ComponentRecord, Keys]]:
        """Records without distances."""
        numbers = sorted(components)
        least = slabs.keys_at(first_places(slabs)[numbers])
        for place, number in enumerate(numbers):
            nothing = dict.fromkeys(("diameter", "radius", "centre", "periphery", "pair_count"))
            record = ComponentRecord(number, int(sizes[number]), **nothing, representative=key_at(least, place))
            yield record, np.stack([least[:0], least[:0]], axis=1)

    def _groups(self, slabs: Slabs, needed: Sizes, missing: list[int], most: int) -> Iterator[Ordered]:
        """The missing components in groups that fit in memory, each read in one pass; others may lie between them.

        `needed` are the bytes of each component, `most` those of a group.
        """
        begin = 0
        while missing := [component for component in missing if component >= begin]:
            begin = missing[0]
            together = np.cumsum(needed[begin : missing[-1] + 1])
            end = begin + max(1, int(np.searchsorted(together, most, "right")))
            keys, labels = slabs.members(range(begin, end), self._session.control)
            graph = build_graph(self._context, keys, control=self._session.control)
            yield in_order(keys, graph, labels, begin)
            begin = end

    def _add(self, record: ComponentRecord, pairs: Keys) -> None:
        stage_component(self._store, record, pairs)
        found = self._found = replace(self._found, components_done=self._found.components_done + 1)
        self._state = replace(self._state, figures=found.as_dict())
        self._session.tell(Progress(found.components_done, found.components, "components", work=found.configurations))
        if self._session.commit_is_due:
            self._commit()


def census_digest(store: RunStore) -> str:
    """The digest of a finished census: of all keys, their labels, every component's record and pairs."""
    keys = store.layer_record(0)
    labels = (read_slab(store, slab).astype(">u4").tobytes() for slab in range(-(-keys.size // SLAB)))
    components = (
        part
        for component, record in recorded_components(store).items()
        for part in (pack_record(record.as_dict()), store.layout.big_endian(read_pairs(store, component)))
    )
    return chain([keys.digest, labels, *components])
