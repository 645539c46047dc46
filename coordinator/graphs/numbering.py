"""Components numbered, the largest first: the last passes of the labels of a space that does not fit in memory."""

import numpy as np
from numpy.typing import NDArray

from coordinator.graphs.slabs import Slabs
from storage.results.census import SLAB, Labels

Sizes = NDArray[np.int64]


def numbered(slabs: Slabs, part: range, count: int) -> Labels:
    """The components of some slabs, of which the labels are places still, all slabs before them being numbered.

    A new component begins at each configuration with its own place; `count` are before.
    """
    begin = part.start * SLAB
    places = slabs.labels(part).astype(np.int64)
    labels = np.empty(len(places), dtype=np.uint32)
    own = places == np.arange(begin, begin + len(places))
    labels[own] = count + np.arange(np.count_nonzero(own))
    below = places < begin
    distinct, which = np.unique(places[below], return_inverse=True)
    labels[below] = slabs.labels_at(distinct)[which]
    inside = ~own & ~below
    labels[inside] = labels[places[inside] - begin]
    return labels


def added(sizes: Sizes, labels: Labels) -> Sizes:
    """`sizes` with the configurations of some labels counted, too."""
    counted: Sizes = np.bincount(labels, minlength=len(sizes))
    counted[: len(sizes)] += sizes
    return counted


def ranks_of(sizes: Sizes) -> Labels:
    """The number of each component by size: the largest is 0, ties stay in order."""
    ranks = np.empty(len(sizes), dtype=np.uint32)
    ranks[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes), dtype=np.uint32)
    return ranks


def component_sizes(slabs: Slabs, end: int | None = None) -> Sizes:
    """How many configurations each component has, by the labels of the slabs before `end`."""
    sizes: Sizes = np.zeros(0, dtype=np.int64)
    for slab in range(len(slabs) if end is None else end):
        sizes = added(sizes, slabs.labels(range(slab, slab + 1)))
    return sizes
