"""The strong components of a directed run: sets of configurations that all reach each other, and their diameters.

Small components are searched from every vertex. Large ones are bounded. A search along the moves from a vertex s and
one against them give every v the bounds d(v, s) <= ecc(v) <= d(v, s) + ecc(s), and the same in the other direction.
This is repeated until the greatest distance found meets the least upper bound. Takes and Kosters do so for undirected
graphs; Borassi et al., "Fast diameter and radius BFS-based computation in (weakly connected) real-world graphs", 2015,
for directed ones.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from hakoiri.coordinator.graphs.building import build_graph
from hakoiri.coordinator.graphs.distances import batches
from hakoiri.coordinator.graphs.eccentricities import interval_progress
from hakoiri.coordinator.session.session import ComputeContext, Control
from hakoiri.keys.layout import Key, Keys, key_at
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.results import Diameter
from hakoiri.worker.graphs.searches import Graph, Offsets, Vertices, inner_graph, part_of
from hakoiri.worker.graphs.strong import Diameters, bounded_diameter, condensation, strong_labels

#: Bytes of a vertex in the depth-first search; then of labels, order and places.
_VERTEX_BYTES = 40


@dataclass(frozen=True)
class StrongComponent:
    """A strong component; they are numbered by size, the largest first, ties by least key.

    `diameter` is the exact greatest distance between two of them, in moves; `pair` is a (from, to) at that distance.
    """

    component: int
    size: int
    diameter: int
    pair: tuple[Key, Key]
    representative: Key


@dataclass(frozen=True)
class StrongComponents:
    """The strong components of a run: `strong` of them, of which `single` have one configuration only.

    `components` are the others, the largest first; `weak` is the number of weakly connected components. `between` is
    the number of edges of the condensation: ordered pairs of strong components with a move from one to the other. No
    moves from other components lead into `sources` of them, and none lead out of `sinks`.
    """

    configurations: int
    weak: int
    strong: int
    single: int
    between: int
    sources: int
    sinks: int
    components: list[StrongComponent]

    def histogram(self) -> list[tuple[int, int, int]]:
        """Return (size, diameter, number of components), the largest first, without single configurations."""
        counted = Counter((found.size, found.diameter) for found in self.components)
        return [(*kind, counted[kind]) for kind in sorted(counted, reverse=True)]


@dataclass(frozen=True)
class _Parts:
    """The components of more than one vertex, in order, and the moves within them (`worker.graphs.strong`).

    `order` contains the vertices of the whole graph in this order, `strong` is the number of all components,
    `condensed` the number of edges, sources and sinks of their condensation.
    """

    order: Vertices
    graph: Graph
    firsts: Offsets
    strong: int
    condensed: tuple[int, int, int]

    def __len__(self) -> int:
        return len(self.firsts) - 1

    def size(self, component: int) -> int:
        return int(self.firsts[component + 1] - self.firsts[component])

    def part(self, begin: int, end: int) -> Graph:
        """Return the graph of components ``begin..end-1``; not a copy if `begin` is 0."""
        last = int(self.firsts[end])
        if begin == 0:
            return Graph(self.graph.offsets[: last + 1], self.graph.targets[: self.graph.offsets[last]])
        return part_of(self.graph, int(self.firsts[begin]), last)


def strong_components(context: ComputeContext, keys: Keys, weak: int) -> StrongComponents:
    """Return the strong components of a closed set of configurations, `keys` in increasing order, measured.

    Raises `OverBudgetError` if the memory is too small, and `StopRun`; nothing is kept then.
    """
    context.tell(Progress(len(keys), headline="expanding moves"))
    graph = build_graph(context, keys)
    taken = keys.nbytes + graph.offsets.nbytes + graph.targets.nbytes
    # The moves within components are copied in component order.
    room = taken + graph.targets.nbytes + _VERTEX_BYTES * len(keys)
    context.budget.require(f"the strong components of {len(keys):,} configurations", room)
    context.tell(Progress(len(keys), headline="finding strong components"))
    parts = _parts(graph, context.control)
    # The moves between components are no longer needed.
    del graph
    context.control.check()
    found = _measured(context, parts, keys.nbytes)
    components = []
    for component, (diameter, *pair) in enumerate(found.tolist()):
        least, one, other = (key_at(keys, parts.order[place]) for place in (parts.firsts[component], *pair))
        components.append(StrongComponent(component, parts.size(component), diameter, (one, other), least))
    return StrongComponents(len(keys), weak, parts.strong, parts.strong - len(parts), *parts.condensed, components)


def of_undirected(found: Iterable[Diameter]) -> StrongComponents:
    """Return the same for an undirected run: its components, with at least one diametral pair each."""
    components, sizes = [], []
    for one in found:
        number, size = one.record.component, one.record.size
        sizes.append(size)
        if size > 1 and one.record.diameter is not None:
            pair = key_at(one.pairs[0], 0), key_at(one.pairs[0], 1)
            components.append(StrongComponent(number, size, one.diameter, pair, one.record.representative))
    count = len(sizes)
    return StrongComponents(sum(sizes), count, count, count - len(components), 0, count, count, components)


def _parts(graph: Graph, control: Control) -> _Parts:
    labels = strong_labels(graph, control.check)
    sizes = np.bincount(labels)
    condensed = condensation(graph, labels, len(sizes), control.check)
    least = np.empty(len(sizes), dtype=np.int32)
    # Among several assignments to one place the last one wins.
    least[labels[::-1]] = np.arange(len(labels) - 1, -1, -1, dtype=np.int32)
    several = np.flatnonzero(sizes > 1)
    several = several[np.lexsort((least[several], -sizes[several]))]
    rank = np.full(len(sizes), len(several), dtype=np.int32)
    rank[several] = np.arange(len(several), dtype=np.int32)
    labels = rank[labels]
    order = np.flatnonzero(labels < len(several)).astype(np.int32)
    order = order[np.argsort(labels[order], kind="stable")]
    firsts = np.concatenate([[0], np.cumsum(sizes[several])]).astype(np.int64)
    return _Parts(order, inner_graph(graph, labels, order), firsts, len(sizes), condensed)


def _measured(context: ComputeContext, parts: _Parts, held: int) -> Diameters:
    """Return a row for each component, in order (`all_diameters`)."""
    found, done = np.empty((len(parts), 3), dtype=np.int32), 0
    while done < len(parts) and parts.size(done) >= context.tuning.searched_here_from:
        # The graph of the component, its transpose, and the bounds.
        graph = parts.part(done, done + 1)
        needed = 3 * (graph.offsets.nbytes + graph.targets.nbytes) + 2 * _VERTEX_BYTES * parts.size(done)
        context.budget.require(f"a strong component of {parts.size(done):,} configurations", held + needed)
        found[done] = bounded_diameter(graph, lambda *bounds: context.tell(interval_progress(*bounds)))
        found[done, 1:] += np.int32(parts.firsts[done])
        done += 1
    tasks = list(batches(range(done, len(parts)), np.diff(parts.firsts), context.tuning))
    left = int(parts.firsts[-1] - parts.firsts[done])
    firsts = (parts.firsts[batch.start : batch.stop + (len(batch) > 1)] for batch in tasks)
    chunks = (
        [*parts.part(batch.start, batch.stop), begin - begin[0]] for batch, begin in zip(tasks, firsts, strict=True)
    )
    for number, (rows,) in context.farm.map(context.farm.plan_of(left, rules=False), "diameters", chunks):
        batch = tasks[number]
        found[batch.start : batch.stop] = rows
        found[batch.start : batch.stop, 1:] += np.int32(parts.firsts[batch.start])
        done += len(batch)
        context.tell(Progress(done, len(parts), "strong components measured"))
    return found
