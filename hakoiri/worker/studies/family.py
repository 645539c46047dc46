"""The whole space of one member of a family: components, their exact diameters, and greatest distances from goals."""

from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.keys.order import KeyIndex
from hakoiri.puzzles.capabilities import Family
from hakoiri.puzzles.sliding_blocks.boards import least_image
from hakoiri.worker.graphs.bounds import widest
from hakoiri.worker.graphs.lanes import bound_each
from hakoiri.worker.graphs.searches import (
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

#: Components of at least this size are searched from 64 configurations at once.
_LANES_FROM = 2_000
#: The largest component of a member is measured with it; others of at least this size are tasks of their own.
ALONE_FROM = 50_000
#: Unknown, or does not exist.
OPEN = -1
_MOST = int(np.iinfo(np.int32).max)


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
    pair: list[tuple[int, int]]
    pairs: list[int]
    like: list[int]
    moves: list[int]
    hardest: list[int]

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
    starts: list[tuple[int, Key, str]] = field(default_factory=list)


#: A key, or `OPEN`.
_Hex = Annotated[str, Meta(pattern=r"\A-?0x[0-9a-f]+\Z")]


class _ComponentsRow(TypedDict):
    number: list[int]
    size: list[int]
    diameter: list[int]
    pair: list[tuple[_Hex, _Hex]]
    pairs: list[int]
    like: list[int]
    moves: list[int]
    hardest: list[Annotated[str, Meta(pattern=r"\A(0x[0-9a-f]+)?\Z")]]


class MemberRow(TypedDict):
    """A member as plain values; keys as texts, because they may be wider than 64 bits."""

    configurations: int
    edges: int
    components: _ComponentsRow
    starts: NotRequired[list[tuple[int, _Hex, str]]]


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
    """Measure the components of a member; the diameter of one that is a task of its own stays open, unless
    requested.
    """
    puzzle = family.member(asked.start, asked.goal)
    space = _space_of(puzzle)
    count, like = len(space.firsts) - 1, space.like()
    sizes, graph = np.diff(space.firsts), space.graph
    found, ends = np.full(count, OPEN, dtype=np.int32), np.zeros((count, 2), dtype=np.int32)
    pairs = np.full(count, OPEN, dtype=np.int64)
    own = like == np.arange(count)
    if asked.component is None:
        small = np.flatnonzero(own & (sizes < _LANES_FROM)).astype(np.int32)
        _measure_small(space, small, asked.pairs, found, ends, pairs)
        large = np.flatnonzero(own & (sizes >= _LANES_FROM) & (sizes < ALONE_FROM)).tolist()
        large = sorted({0, *large}) if count and sizes[0] >= _LANES_FROM else large
    else:
        large = [asked.component]
    for component in large:
        begin, end = (int(first) for first in space.firsts[component : component + 2])
        known = widest(part_of(graph, begin, end), space.images_of(component), asked.pairs)
        found[component], ends[component], pairs[component] = known.diameter, np.add(known.pair, begin), known.pairs
    _follow_images(space, like, found, ends, pairs)
    chosen = np.arange(count) if asked.component is None else np.flatnonzero(like == asked.component)
    moves = hardest = np.full(count, OPEN)
    starts: list[tuple[int, Key, str]] = []
    if asked.goal:
        away = distances_from(space.graph, np.flatnonzero(puzzle.is_goal(space.keys)).astype(np.int32))
        moves, hardest = _hardest(space, away)
        if asked.hardest and asked.component is None:
            starts = _starts(puzzle, space, away, asked)
    components = Components(
        chosen.tolist(), sizes[chosen].tolist(), found[chosen].tolist(),
        list(map(tuple, zip(*(ints(space.keys[ends[chosen, end]]) for end in (0, 1)), strict=True))),
        pairs[chosen].tolist(), like[chosen].tolist(), moves[chosen].tolist(),
        [OPEN if place < 0 else ints(space.keys[place : place + 1])[0] for place in hardest[chosen].tolist()],
    )  # fmt: skip
    return Member(len(space.keys), len(graph.targets) // 2, components, starts)


def _space_of(puzzle: Family) -> _Space:
    keys = np.concatenate(list(puzzle.configurations()))
    if len(keys) > _MOST:
        raise PuzzleError(f"{len(keys):,} configurations exceed the limit of {_MOST:,} for a graph")
    graph = closed_graph(puzzle, keys)
    labels = label_components(graph)
    order = np.argsort(labels, kind="stable").astype(np.int32)
    place = np.empty(len(keys), dtype=np.int32)
    place[order] = np.arange(len(keys), dtype=np.int32)
    firsts = np.concatenate([[0], np.cumsum(np.bincount(labels))]).astype(np.int32)
    places = KeyIndex.of(keys)
    images = [place[places.lower_bounds(image)] for image in puzzle.images(keys[order])]
    return _Space(keys[order], inner_graph(graph, labels, order), firsts, images)


def _measure_small(
    space: _Space, chosen: Vertices, count_pairs: bool, found: Vertices, ends: Vertices, pairs: NDArray[np.int64]
) -> None:
    """Write the figures of the `chosen` components."""
    lower = np.full(len(space.keys), OPEN, dtype=np.int32)
    bound_each(space.graph, space.firsts, chosen, count_pairs, found, ends, lower)
    if count_pairs:
        component = np.repeat(np.arange(len(found)), np.diff(space.firsts))
        outermost = np.flatnonzero((lower == found[component]) & (lower > 0)).astype(np.int32)
        far = farthest_pairs(space.graph, outermost)
        pairs[chosen] = np.bincount(component[far[:, 0]], minlength=len(found))[chosen]


def _follow_images(
    space: _Space, like: NDArray[np.int64], found: Vertices, ends: Vertices, pairs: NDArray[np.int64]
) -> None:
    """Copy the figures of components to their images."""
    for image in space.images:
        there = np.searchsorted(space.firsts, image[space.firsts[:-1]], side="right") - 1
        chosen = np.flatnonzero((there == like) & (there != np.arange(len(like))) & (found == OPEN))
        found[chosen], pairs[chosen], ends[chosen] = (
            found[there[chosen]],
            pairs[there[chosen]],
            image[ends[there[chosen]]],
        )


def _hardest(space: _Space, away: Distances) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each component the greatest distance from a goal and the least vertex at it; `OPEN` without goals."""
    begins = space.firsts[:-1]
    moves = np.maximum.reduceat(away, begins).astype(np.int64)
    farthest = away == np.repeat(moves, np.diff(space.firsts))
    places = np.minimum.reduceat(np.where(farthest, np.arange(len(away)), len(away)), begins)
    return moves, np.where(moves >= 0, places, OPEN)


def _starts(puzzle: Family, space: _Space, away: Distances, asked: MemberRequest) -> list[tuple[int, Key, str]]:
    """Return the hardest starts (`Member`)."""
    places = away > 0
    places[space.graph.targets[nearer(space.graph, away)]] = False
    found: dict[str, tuple[int, Key, str]] = {}
    for moves in np.unique(away[places])[::-1].tolist():
        for key in sorted(ints(space.keys[places & (away == moves)])):
            if len(found) == asked.hardest:
                return list(found.values())
            image = least_image(puzzle.render(key), asked.goal)
            found.setdefault(image, (moves, key, image))
    return list(found.values())


def plain(member: Member) -> dict[str, Any]:
    """Return the `MemberRow` of a member."""
    fields = asdict(member)
    known = fields["components"]
    known["pair"] = [[hex(key) for key in pair] for pair in known["pair"]]
    known["hardest"] = ["" if key == OPEN else hex(key) for key in known["hardest"]]
    fields["starts"] = [[moves, hex(key), image] for moves, key, image in member.starts]
    return fields


def member_of(row: MemberRow) -> Member:
    """The inverse of `plain`."""
    known = row["components"]
    pair = [(int(one, 16), int(other, 16)) for one, other in known["pair"]]
    hardest = [int(key, 16) if key else OPEN for key in known["hardest"]]
    starts = [(moves, int(key, 16), image) for moves, key, image in row.get("starts", [])]
    components = Components(
        known["number"], known["size"], known["diameter"], pair, known["pairs"], known["like"], known["moves"], hardest
    )
    return Member(row["configurations"], row["edges"], components, starts)
