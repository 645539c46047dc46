"""Tasks of graphs: moves of a chunk of keys, and searches in a graph that all chunks share (`worker.tasks`)."""

import numpy as np

from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.graphs.lanes import look_from, narrowed, pairs_at
from hakoiri.worker.graphs.searches import Graph, component_distances, eccentricities_of
from hakoiri.worker.graphs.strong import all_diameters, bounded_diameter
from hakoiri.worker.layers.kernels import simple_edges
from hakoiri.worker.transport.payload import Arrays


def neighbours(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys] -> [the distinct sorted successors of each key in turn, without the key itself; the number of each]."""
    (keys,) = chunk
    return simple_edges(keys, *puzzle.expand(keys))


def diameters(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[offsets, targets, the first vertex of each and the end, or 0] of strong components, or of one -> `Diameters`."""
    offsets, targets, firsts = chunk
    graph = Graph(offsets, targets)
    return [all_diameters(graph, firsts) if len(firsts) > 1 else bounded_diameter(graph)]


def look(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[sources, packed bits of vertices searched, size of a side] in the shared graph -> `SearchResults`, narrowed."""
    sources, searched, evens = chunk
    graph = Graph(*shared)
    known = np.unpackbits(searched, count=len(graph.offsets) - 1).view(np.bool_)
    looked = look_from(graph, int(evens[0]), sources, known)
    return [*looked[:-1], narrowed(looked.away)]


def pairs(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[sources, their eccentricity] in the shared graph -> [all pairs (source, vertex) at that distance]."""
    sources, distance = chunk
    return [pairs_at(Graph(*shared), sources, int(distance[0]))]


def eccentricities(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys, the index of the first of each] of small components -> `component_distances`."""
    return component_distances(puzzle, *chunk)


def searches(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[vertices] of the shared graph -> [their eccentricities]."""
    return [eccentricities_of(Graph(*shared), chunk[0])[0]]
