"""The census of a whole space: every configuration, its component, and each component's exact distances.

The components are found by expanding every configuration once, in chunks, and uniting the ends of each move
(`worker.census.joining`), or, if asked for, by a search per component (`coordinator.census.joining`). Then each is
measured, which derives its moves once more. So a process holds the moves of at most one chunk or one component. Each
step is committed; what is on disk is not computed again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hakoiri.coordinator.census.joining import label_by_joins, label_by_layers, listed_in_order, require_places
from hakoiri.coordinator.graphs.distances import DistancePolicy, in_order, measure_each, part_name
from hakoiri.coordinator.layers.search import StoredFigures
from hakoiri.coordinator.session.inspection import compare_rules
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import Hint, PuzzleError
from hakoiri.keys.layout import key_at
from hakoiri.storage.layers.blocks import chain
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore, StoredLayer
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress, pack_record
from hakoiri.storage.results import SLAB, Diameter, read_pairs, read_slab, recorded_components, stage_component
from hakoiri.worker.census.slabs import NOWHERE, Sizes, Slabs, component_sizes, first_places, list_part

if TYPE_CHECKING:
    from hakoiri.coordinator.census.hosted import HostedSpace

#: Bytes of a configuration besides two copies of its key: its label and its place in its component.
_ORDER_BYTES = 12
#: The selection of components to measure: ``all``, ``largest=K``, ``below=N``; with ``none`` they are not even found.
DIAMETERS, MOST = "diameters", "most"
ALL, NONE = "all", "none"
#: How the components are found: by joining the ends of all moves, or by a search layer by layer in each.
BY = "by"
JOINS, LAYERS = "joins", "layers"


@dataclass(frozen=True)
class CensusPlan:
    """The way components are found, and those measured: the largest first, until these have `most` keys."""

    diameters: str = ALL
    by: str = JOINS
    most: int | None = None


@dataclass(frozen=True)
class CensusFigures(StoredFigures):
    """The figures of a census: moves between configurations, components, and components with a record.

    In a directed puzzle they are weak components, which have no distances. `start_component` is the one that contains
    the puzzle's start. ``None`` is not known yet.
    """

    edges: int | None = None
    components: int | None = None
    components_done: int = 0
    start_component: int | None = None

    @property
    def moves(self) -> float:
        """The mean number of moves per configuration."""
        return 2 * (self.edges or 0) / max(1, self.configurations)


class Census:
    """A census of the whole space, on an open run, from its last commit on."""

    def __init__(self, session: Session) -> None:
        self._session, self._store, self._context = session, session.store, session.context
        self._state = self._store.state
        self._found = CensusFigures.of(self._state)
        self._plan = self._store.plan(CensusPlan)

    def run(self) -> None:
        """Count until every component is measured. Commits along the way; raises as `explore` does."""
        hosted = self._at_hosts()
        if hosted is None:
            self._count(None)
        else:
            hosted.follow(partial(self._count, hosted))

    def _count(self, hosted: "HostedSpace | None") -> None:
        self._state = self._store.state
        self._found = CensusFigures.of(self._state)
        if self._state.depth < 0:
            if hosted is None:
                batches, puzzle = partial(listed_in_order, self._session), self._session.puzzle
                require_places(puzzle.total or 0)
                for record in list_part(self._store, puzzle, self._context.shares.staged_bytes, batches, self._commit):
                    require_places(record.size)
            else:
                record = hosted.list_all()
            self._store.stage_layer(record)
            self._state = replace(self._state, depth=0, stored_bytes=record.stored_bytes)
            self._commit(configurations=record.size)
        sample = StoredLayer(self._store, 0, self._store.layer_record(0).size).sample()
        compare_rules(self._session.puzzle, sample)
        if self._plan.diameters != NONE:
            self._find_components(hosted)
        self._state = replace(self._state, status="complete", digest=census_digest(self._store))
        self._commit(exhausted=True)

    @cached_property
    def _slabs(self) -> Slabs:
        return Slabs(self._store)

    def _at_hosts(self) -> "HostedSpace | None":
        """Return the space at the hosts that keep it, or are to keep it; ``None`` if this process does all."""
        pool, begun = self._context.hosts, self._state.depth >= 0 or self._store.has_partial
        if not self._store.keepers() and (begun or pool is None or not pool.is_requested):
            return None
        if self._plan.by == LAYERS:
            raise PuzzleError("hosts find components by joins", Hint("leave out", BY))
        # Here, because rq takes a tenth of a second to import.
        from hakoiri.coordinator.census.hosted import HostedSpace
        from hakoiri.coordinator.hosts.run_hosts import RunHosts

        if self._store.keepers():
            return HostedSpace(self._session, RunHosts.asked_in(self._session), self._found.configurations)
        if (hosted := HostedSpace.begin(self._session)) is not None:
            self._commit(configurations=hosted.size)
        return hosted

    def _find_components(self, hosted: "HostedSpace | None") -> None:
        if self._found.components is None:
            label = label_by_layers if self._plan.by == LAYERS else label_by_joins
            moves, components = label(self._session, self._slabs) if hosted is None else hosted.label()
            puzzle = self._session.puzzle
            place = self._slabs.places_of(puzzle.keys([puzzle.start]))
            start = None if place[0] == NOWHERE else int(self._slabs.labels_at(place)[0])
            self._state = self._store.state
            # Each move of an undirected puzzle is seen twice.
            self._commit(edges=moves // (1 + puzzle.undirected), components=components, start_component=start)
            Spill(self._store.directory, self._store.layout, 0).clear()
        with self._session.committing(self._commit_staged):
            for found in self._measured():
                self._add(found)
        self._session.tell(Progress(self._found.configurations, headline=f"{self._found.components:,} components"))

    def _commit_staged(self) -> None:
        self._state = self._session.commit_staged(self._state)

    def _commit(self, **found: Any) -> None:
        self._found = replace(self._found, **found)
        self._state = self._session.commit(replace(self._state, figures=self._found.as_dict()))

    def _measured(self) -> Iterator[Diameter]:
        """Yield the records of all components without one, with diametral pairs of the wanted ones."""
        slabs, sizes = self._slabs, component_sizes(self._slabs)
        wanted = wanted_of(self._plan.diameters, sizes, self._plan.most)
        if not self._session.puzzle.undirected:
            # In a weak component not all configurations reach each other, so there are no distances.
            wanted = range(0)
        missing = set(range(len(sizes))) - set(recorded_components(self._store))
        if others := sorted(missing - set(wanted)):
            least = slabs.keys_at(first_places(slabs)[others])
            no_pairs = np.stack([least[:0], least[:0]], axis=1)
            for place, number in enumerate(others):
                size, key = int(sizes[number]), key_at(least, place)
                yield Diameter(ComponentRecord(number, size, None, None, None, None, None, key), no_pairs)
        yield from self._in_groups(slabs, sizes, sorted(missing.intersection(wanted)))

    def _in_groups(self, slabs: Slabs, sizes: Sizes, mine: list[int]) -> Iterator[Diameter]:
        """Yield the distances of components `mine`; those that may not fit as graphs come last."""
        policy = self._policy = DistancePolicy(
            self._store, self._session.puzzle, self._context.budget, self._found.moves
        )
        large = [component for component in mine if not policy.lists_all(int(sizes[component]))]
        yield from self._in_memory(slabs, sizes, mine[len(large) :])
        for component in large:
            name = part_name(component, size := int(sizes[component]))
            self._session.tell(Progress(unit="", headline=f"measuring {name}"))
            if self._session.commit_is_due:
                self._commit()
            if (found := policy.by_symmetry(self._context.part(name), component, size)) is not None:
                yield found
            else:
                # Some components have more moves than others: only `build_graph` knows the bytes of one alone.
                self._context.budget.require(name, int(policy.graph_bytes(size)) * 3 // 4)
                yield from self._in_memory(slabs, sizes, [component])

    def _in_memory(self, slabs: Slabs, sizes: Sizes, mine: list[int]) -> Iterator[Diameter]:
        """Yield the distances of components `mine`, with as many keys at a time as fit beside one graph."""
        while mine:
            begin = mine[0]
            graph = int(self._policy.graph_bytes(sizes[begin]))
            together = np.cumsum(sizes[begin : mine[-1] + 1] * (2 * self._store.layout.bytes + _ORDER_BYTES))
            room = self._context.budget.memory * 3 // 4 - graph
            end = begin + max(1, int(np.searchsorted(together, room, "right")))
            keys, labels = slabs.members(range(begin, end), self._session.control)
            chosen = [component for component in mine if component < end]
            yield from measure_each(self._context, in_order(keys, labels, begin), chosen)
            mine = mine[len(chosen) :]

    def _add(self, measured: Diameter) -> None:
        stage_component(self._store, measured)
        found = self._found = replace(self._found, components_done=self._found.components_done + 1)
        self._state = replace(self._state, figures=found.as_dict())
        self._session.tell(Progress(found.components_done, found.components, "components", work=found.configurations))
        if self._session.commit_is_due:
            self._commit()


def check_wanted(text: str) -> None:
    """Raise `PuzzleError` unless `text` is a valid selection."""
    kind, _, number = text.partition("=")
    if text not in (ALL, NONE) and not (kind in ("largest", "below") and number.isdecimal()):
        raise PuzzleError(f"diameters {text!r} is malformed; expected {ALL}, {NONE}, largest=K or below=N")


def wanted_of(text: str, sizes: Sizes, most: int | None = None) -> range:
    """Return the selected components, no more than have `most` configurations; `sizes` are those of all, falling."""
    kind, _, number = text.partition("=")
    begin = int(np.searchsorted(-sizes, -int(number), "right")) if kind == "below" else 0
    count = int(number) if kind == "largest" else len(sizes)
    if most is not None:
        count = min(count, 1 + int(np.searchsorted(np.cumsum(sizes[begin:]), most)))
    return range(begin, min(begin + count, len(sizes)))


def census_digest(store: RunStore) -> str:
    """Return the digest of a finished census: of all keys, labels if any, and each component's record and pairs."""
    keys = store.layer_record(0)
    slabs = 0 if CensusFigures.of(store.state).components is None else -(-keys.size // SLAB)
    labels = (read_slab(store, slab).astype(">u4").tobytes() for slab in range(slabs))
    components = (
        part
        for component, record in recorded_components(store).items()
        for part in (pack_record(record.as_dict()), store.layout.big_endian(read_pairs(store, component)))
    )
    return chain([keys.digest, labels, *components])
