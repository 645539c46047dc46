"""The census of a whole space: every configuration, its component, and each component's exact distances.

The components are found by expanding every configuration once, in chunks, and uniting the ends of each move, not by
a search per component (`coordinator.spaces.joining`). Then each is measured: its moves are looked at once more, so that
no process ever holds those of more than a chunk, or one component. Each step is committed; what is on disk is not
computed again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hakoiri.coordinator.graphs.diameter import by_orbits, has_kinds_alone, kinds_among
from hakoiri.coordinator.graphs.eccentricities import LEAST_BYTES, bytes_of_pair
from hakoiri.coordinator.graphs.measuring import in_order, measured, part_name
from hakoiri.coordinator.layers.search import Reached
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.spaces.joining import Joining, require_places
from hakoiri.coordinator.spaces.listing import Listing
from hakoiri.coordinator.spaces.slabs import NOWHERE, Sizes, Slabs, component_sizes, first_places
from hakoiri.coordinator.spaces.wanted import ALL, DIAMETERS, NONE, wanted_of
from hakoiri.coordinator.steps.inspection import compare_rules
from hakoiri.coordinator.steps.window import StoredLayer
from hakoiri.puzzles.keys.layout import Keys, key_at
from hakoiri.storage.layers.digest import chain
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress
from hakoiri.storage.ledger.records import pack_record
from hakoiri.storage.results.census import (
    SLAB,
    read_pairs,
    read_slab,
    recorded_components,
    stage_component,
)

#: A configuration's label, and its place among those of its component.
_ORDER_BYTES = 12
#: Ends of diametral pairs times configurations: up to here all pairs are listed, in seconds; beyond it some are kept.
_MOST_STEPS = 2_500_000_000


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
        if self._wanted != NONE:
            self._find_components()
        self._state = replace(self._state, status="complete", digest=census_digest(self._store))
        self._commit(exhausted=True)

    @property
    def _wanted(self) -> str:
        """Which components are measured, as the plan has it."""
        return str(self._store.manifest.plan.get(DIAMETERS, ALL))

    def _find_components(self) -> None:
        if self._found.components is None:
            self._join()
        try:
            for record, pairs in self._measured():
                self._add(record, pairs)
        finally:
            self._state = self._session.commit_staged(self._state)
        self._session.tell(Progress(self._found.configurations, headline=f"{self._found.components:,} components"))

    def _commit(self, **found: Any) -> None:
        """Make durable what is staged, and what is found."""
        self._found = replace(self._found, **found)
        self._state = self._session.commit(replace(self._state, figures=self._found.as_dict()))

    def _list(self) -> None:
        listing = Listing(self._session)
        require_places(max(listing.size, self._session.puzzle.total or 0))
        for record in listing.run():
            if record is None:
                self._commit()
                require_places(listing.size)
            else:
                self._state = replace(self._state, depth=0)
                self._commit(configurations=record.size)

    # Components

    def _join(self) -> None:
        joining, puzzle = Joining(self._session), self._session.puzzle
        components = joining.run()
        place = joining.slabs.places_of(puzzle.keys([puzzle.start]))
        start = None if place[0] == NOWHERE else int(joining.slabs.labels_at(place)[0])
        self._state = self._store.state
        # A move that can be taken back is seen twice.
        self._commit(edges=joining.moves // (1 + puzzle.undirected), components=components, start_component=start)
        joining.finish()

    # Distances

    def _measured(self) -> Iterator[tuple[ComponentRecord, Keys]]:
        """The records of all components that have none yet, and the diametral pairs of those that are wanted."""
        slabs = Slabs(self._store)
        sizes = component_sizes(slabs)
        wanted = wanted_of(self._wanted, sizes)
        if not self._session.puzzle.undirected:
            # Not all configurations of a component lead to each other: there are no distances.
            wanted = range(0)
        missing = set(range(len(sizes))) - set(recorded_components(self._store))
        if not missing.issubset(wanted):
            yield from self._unmeasured(slabs, sizes, missing - set(wanted))
        yield from self._in_groups(slabs, sizes, sorted(missing.intersection(wanted)))

    def measured_alone(self, component: int) -> tuple[ComponentRecord, Keys]:
        """The record of a component, and its diametral pairs: also of one that the census has left out."""
        slabs = Slabs(self._store)
        return next(self._in_groups(slabs, component_sizes(slabs), [component]))

    @property
    def _moves(self) -> float:
        """How many moves a configuration has, on the average."""
        return 2 * (self._found.edges or 0) / max(1, self._found.configurations)

    @property
    def _key_bytes(self) -> int:
        """The memory that a configuration takes among others by components, while they are put in order."""
        return 2 * self._store.layout.bytes + _ORDER_BYTES

    @property
    def _graph_bytes(self) -> float:
        """The memory that a configuration of a graph takes while that is built."""
        return 2 * (self._store.layout.bytes + 2 + 4 * self._moves) + 8

    def _bytes_of(self, size: int) -> float:
        """The memory that it takes at the least to measure a component of this size; its graph alone needs less."""
        return size * (self._store.layout.bytes + LEAST_BYTES + 2 * (8 + 4 * self._moves))

    def _lists_pairs(self, size: int, ends: int, pairs: int) -> bool:
        """Whether so many diametral pairs are listed, by a search from each end: where that fits and takes seconds."""
        needed = self._bytes_of(size) + pairs * bytes_of_pair(self._store.layout)
        return size * ends <= _MOST_STEPS and needed <= self._context.budget.memory

    def _large(self, sizes: Sizes, components: list[int]) -> list[int]:
        """Those of some components that may not be measured by their graphs: not in memory, or not in seconds."""
        numbers, least = [int(size) for size in sizes[components]], self._context.tuning.searched_alone_from
        if has_kinds_alone(self._session.puzzle):
            fits = [self._lists_pairs(size, size, size * size // 2) for size in numbers]
        else:
            fits = [self._bytes_of(size) <= self._context.budget.memory for size in numbers]
        each = zip(components, numbers, fits, strict=True)
        return [component for component, size, fitting in each if size > least and not fitting]

    def _in_groups(self, slabs: Slabs, sizes: Sizes, mine: list[int]) -> Iterator[tuple[ComponentRecord, Keys]]:
        """Some components, the largest of them last where their graphs may not do."""
        large = self._large(sizes, mine)
        yield from self._in_memory(slabs, sizes, mine[len(large) :])
        for component in large:
            name = part_name(component, size := int(sizes[component]))
            self._session.tell(Progress(unit="", headline=f"measuring {name}"))
            if self._session.commit_is_due:
                self._commit()
            if (found := self._by_kinds(slabs, component, size)) is not None:
                yield found
            else:
                # Some components have more moves than others: only `build_graph` knows the bytes of one alone.
                self._context.budget.require(name, int(size * self._graph_bytes) * 3 // 4)
                yield from self._in_memory(slabs, sizes, [component])

    def _in_memory(self, slabs: Slabs, sizes: Sizes, mine: list[int]) -> Iterator[tuple[ComponentRecord, Keys]]:
        """Some components, the keys of as many as fit in memory at a time beside the graph of one."""
        while mine:
            begin = mine[0]
            graph = int(sizes[begin] * self._graph_bytes)
            together = np.cumsum(sizes[begin : mine[-1] + 1] * self._key_bytes)
            room = self._context.budget.memory * 3 // 4 - graph
            end = begin + max(1, int(np.searchsorted(together, room, "right")))
            keys, labels = slabs.members(range(begin, end), self._session.control)
            chosen = [component for component in mine if component < end]
            yield from measured(self._context, in_order(keys, labels, begin), chosen)
            mine = mine[len(chosen) :]

    def _by_kinds(self, slabs: Slabs, component: int, size: int) -> tuple[ComponentRecord, Keys] | None:
        """A component by layered searches from each kind, without its graph; ``None`` if all its pairs are listed."""
        session = self._session
        parts = (keys for keys, _ in slabs.parts([component], session.control))
        if not (kinds := kinds_among(session.puzzle, parts)):
            return None
        found = by_orbits(self._context.part(part_name(component, size)), self._store, kinds, from_start=False)
        if self._lists_pairs(size, found.periphery, found.pair_count):
            return None
        return found.record(component, size, min(kind.first for kind in kinds.values())), found.pairs

    def _unmeasured(self, slabs: Slabs, sizes: Sizes, components: set[int]) -> Iterator[tuple[ComponentRecord, Keys]]:
        """Records without distances."""
        numbers = sorted(components)
        least = slabs.keys_at(first_places(slabs)[numbers])
        for place, number in enumerate(numbers):
            nothing = dict.fromkeys(("diameter", "radius", "centre", "periphery", "pair_count"))
            record = ComponentRecord(number, int(sizes[number]), **nothing, representative=key_at(least, place))
            yield record, np.stack([least[:0], least[:0]], axis=1)

    def _add(self, record: ComponentRecord, pairs: Keys) -> None:
        stage_component(self._store, record, pairs)
        found = self._found = replace(self._found, components_done=self._found.components_done + 1)
        self._state = replace(self._state, figures=found.as_dict())
        self._session.tell(Progress(found.components_done, found.components, "components", work=found.configurations))
        if self._session.commit_is_due:
            self._commit()


def census_digest(store: RunStore) -> str:
    """The digest of a finished census: of all keys, their labels if it has any, each component's record and pairs."""
    keys = store.layer_record(0)
    slabs = 0 if Counted.of(store.state).components is None else -(-keys.size // SLAB)
    labels = (read_slab(store, slab).astype(">u4").tobytes() for slab in range(slabs))
    components = (
        part
        for component, record in recorded_components(store).items()
        for part in (pack_record(record.as_dict()), store.layout.big_endian(read_pairs(store, component)))
    )
    return chain([keys.digest, labels, *components])
