"""The whole space of one member of a family: components, their exact diameters, and greatest distances from goals."""

from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hakoiri.errors import PuzzleError
from hakoiri.guests.deals.dealt import Family
from hakoiri.guests.deals.searching import Hex
from hakoiri.keys.layout import Keys, ints, key_at
from hakoiri.keys.order import KeyIndex
from hakoiri.puzzles.sliding_blocks.boards import least_image
from hakoiri.worker.graphs.bounds import widest
from hakoiri.worker.graphs.lanes import bound_each
from hakoiri.worker.graphs.searches import (
    MOST_VERTICES,
    Distances,
    Graph,
    Vertices,
    closed_graph,
    distances_from,
    farthest_pairs,
    inner_graph,
    label_components,
    nearer,
    part_of,
)
from hakoiri.worker.tasks import measured

#: Components of at least this size are searched from 64 configurations at once.
_LANES_FROM = 2_000
#: The largest component of a member is measured with it; others of at least this size are tasks of their own.
ALONE_FROM = 50_000
#: Unknown, or does not exist.
OPEN = -1
#: A key as text, or nothing for no key.
_HexIfAny = Annotated[str, Meta(pattern=r"\A(0x[0-9a-f]+)?\Z")]


@dataclass(frozen=True)
class MemberRequest:
    """A request for a member: its start, its goal or none, whether to count diametral pairs, one component or all.

    With all components come the `hardest` starts, at most that many.
    """

    start: str
    goal: str = ""
    pairs: bool = False
    component: int | None = None
    hardest: int = 0


@dataclass(frozen=True)
class Components:
    """Figures of components, by their numbers: 0 is the largest, ties go to the least key.

    The keys ``pair`` are `diameter` apart; `pairs` counts all such pairs. `like` is the component of which this one is
    an image, or itself: images are measured together. `moves` is the distance of `hardest` from the nearest goal, the
    greatest in the component. `OPEN` stands for values that are unknown or do not exist.
    """

    number: list[int]
    size: list[int]
    diameter: list[int]
    pair: list[tuple[Hex, Hex]]
    pairs: list[int]
    like: list[int]
    moves: list[int]
    hardest: list[_HexIfAny]

    def left(self) -> list[int]:
        """Return the components that are still to be measured, one of each set of images."""
        return [
            number for number, diameter, like in zip(self.number, self.diameter, self.like, strict=True)
            if diameter == OPEN and like == number
        ]  # fmt: skip


@dataclass(frozen=True)
class Member:
    """A member of a family: its numbers of configurations and of edges, its components, and its hardest starts.

    A start is its moves to the nearest goal, its key and its least image by the symmetries that keep the goal. None is
    on a shortest solution of another, or has the image of another. The hardest is the first; ties go to the least key.
    """

    configurations: int
    edges: int
    components: Components
    starts: list[tuple[int, Hex, str]] = field(default_factory=list)


class _Space(NamedTuple):
    """A whole space ordered by component, the largest first; `images` are permutations of its vertices."""

    keys: Keys
    graph: Graph
    firsts: Vertices
    images: list[Vertices]

    def like(self) -> NDArray[np.int64]:
        """Return for each component the least number of the components that it is an image of."""
        begins = self.firsts[:-1]
        images = [np.searchsorted(self.firsts, image[begins], side="right") - 1 for image in self.images]
        least: NDArray[np.int64] = np.minimum.reduce([np.arange(len(begins)), *images])
        return least

    def images_of(self, component: int) -> list[Vertices]:
        """Return the permutations that map a component to itself."""
        begin, end = self.firsts[component : component + 2]
        parts = [image[begin:end] - begin for image in self.images if begin <= image[begin] < end]
        return [part.astype(np.int32) for part in parts]


def measure(family: Family, asked: MemberRequest) -> Member:
    """Measure the components of a member. The diameter of one that is a task of its own is open unless requested."""
    puzzle = family.member(asked.start, asked.goal)
    space = _space_of(puzzle)
    count, like = len(space.firsts) - 1, space.like()
    sizes, graph = np.diff(space.firsts), space.graph
    # A row for each component: its diameter, a pair of vertices, the number of pairs.
    figures = np.tile(np.array([OPEN, 0, 0, OPEN]), (count, 1))
    own, lanes_from = like == np.arange(count), min(_LANES_FROM, ALONE_FROM)
    if asked.component is None:
        small = np.flatnonzero(own & (sizes < lanes_from)).astype(np.int32)
        lower = np.full(len(space.keys), OPEN, dtype=np.int32)
        bound_each(graph, space.firsts, small, asked.pairs, figures, lower)
        if asked.pairs:
            component_of = np.repeat(np.arange(count), sizes)
            outermost = np.flatnonzero((lower == figures[component_of, 0]) & (lower > 0)).astype(np.int32)
            ends = component_of[farthest_pairs(graph, outermost)[:, 0]]
            figures[small, 3] = np.bincount(ends, minlength=count)[small]
        large = np.flatnonzero(own & (sizes >= lanes_from) & (sizes < ALONE_FROM)).tolist()
        large = sorted({0, *large}) if count and sizes[0] >= lanes_from else large
    else:
        large = [asked.component]
    for component in large:
        begin, end = (int(first) for first in space.firsts[component : component + 2])
        known = widest(part_of(graph, begin, end), space.images_of(component), asked.pairs)
        figures[component] = known.diameter, *np.add(known.pair, begin), known.pairs
    _follow_images(space, like, figures)
    chosen = np.arange(count) if asked.component is None else np.flatnonzero(like == asked.component)
    moves = hardest = np.full(count, OPEN)
    starts: list[tuple[int, Hex, str]] = []
    if asked.goal:
        away = distances_from(space.graph, np.flatnonzero(puzzle.is_goal(space.keys)).astype(np.int32))
        moves, hardest = _hardest(space, away)
        if asked.hardest and asked.component is None:
            starts = _starts(puzzle, space, away, asked)
    components = Components(
        chosen.tolist(), sizes[chosen].tolist(), figures[chosen, 0].tolist(),
        list(zip(*(map(hex, ints(space.keys[figures[chosen, end]])) for end in (1, 2)), strict=True)),
        figures[chosen, 3].tolist(), like[chosen].tolist(), moves[chosen].tolist(),
        ["" if place < 0 else hex(key_at(space.keys, place)) for place in hardest[chosen].tolist()],
    )  # fmt: skip
    return Member(len(space.keys), len(graph.targets) // 2, components, starts)


def _space_of(puzzle: Family) -> _Space:
    keys = np.concatenate(list(puzzle.configurations()))
    if len(keys) > MOST_VERTICES:
        raise PuzzleError(f"{len(keys):,} configurations exceed the limit of {MOST_VERTICES:,} for a graph")
    graph = closed_graph(puzzle, keys)
    labels = label_components(graph)
    order = np.argsort(labels, kind="stable").astype(np.int32)
    place = np.empty(len(keys), dtype=np.int32)
    place[order] = np.arange(len(keys), dtype=np.int32)
    firsts = np.concatenate([[0], np.cumsum(np.bincount(labels))]).astype(np.int32)
    places = KeyIndex.of(keys)
    images = [place[places.lower_bounds(image)] for image in puzzle.images(keys[order])]
    return _Space(keys[order], inner_graph(graph, labels, order), firsts, images)


def _follow_images(space: _Space, like: NDArray[np.int64], figures: NDArray[np.int64]) -> None:
    """Copy the figures of components to their images."""
    for image in space.images:
        there = np.searchsorted(space.firsts, image[space.firsts[:-1]], side="right") - 1
        chosen = np.flatnonzero((there == like) & (there != np.arange(len(like))) & (figures[:, 0] == OPEN))
        figures[chosen] = figures[there[chosen]]
        figures[chosen, 1:3] = image[figures[chosen, 1:3]]


def _hardest(space: _Space, away: Distances) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each component the greatest distance from a goal and the least vertex at it; `OPEN` without goals."""
    begins = space.firsts[:-1]
    moves = np.maximum.reduceat(away, begins).astype(np.int64)
    farthest = away == np.repeat(moves, np.diff(space.firsts))
    places = np.minimum.reduceat(np.where(farthest, np.arange(len(away)), len(away)), begins)
    return moves, np.where(moves >= 0, places, OPEN)


def _starts(puzzle: Family, space: _Space, away: Distances, asked: MemberRequest) -> list[tuple[int, Hex, str]]:
    """Return the hardest starts (`Member`)."""
    places = away > 0
    places[space.graph.targets[nearer(space.graph, away)]] = False
    found: dict[str, tuple[int, Hex, str]] = {}
    for moves in np.unique(away[places])[::-1].tolist():
        for key in sorted(ints(space.keys[places & (away == moves)])):
            if len(found) == asked.hardest:
                return list(found.values())
            image = least_image(puzzle.render(key), asked.goal)
            found.setdefault(image, (moves, hex(key), image))
    return list(found.values())


#: The task of the workers.
task = measured(Family, MemberRequest, measure)
