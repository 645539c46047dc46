"""A puzzle for tests of the engine: a seeded graph whose vertices are spread over the keys of any layout.

It has what makes a search hard: several components, dead ends, rings, loops, doubled moves, layers of one and of
hundreds of configurations and, where it is directed, moves back to much older layers.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np

from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import LAYOUTS, Key, Keys, Layout, Mask, ints
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.options import Choice, Number, Option
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.puzzles.user.guard import guarded
from tests.support.plain_search import reference_layers

Successors = dict[Key, list[Key]]


class Toy(Puzzle):
    """Option `keys`: where the keys lie.

    ``low`` keys are the least of the layout and ``high`` keys the greatest. ``spread`` keys are spaced evenly from the
    least to the greatest. ``clumped`` keys are mostly one narrow clump; the others are far away and share its low bits.
    """

    name = "toy"
    options: Mapping[str, Option] = MappingProxyType(
        {
            "layout": Choice(tuple(LAYOUTS)),
            "keys": Choice(("low", "high", "spread", "clumped")),
            "directed": Choice(("no", "yes")),
            "size": Number(600, 200, 9_000),
        }
    )
    most_successors = 16

    def prepare(self, start: str | None) -> None:
        self.layout = LAYOUTS[self.parameters["layout"]]
        self.undirected = self.parameters["directed"] == "no"
        size = int(self.parameters["size"])
        self.vertices = vertex_keys(self.parameters["layout"], self.parameters["keys"], size)
        self.table = successor_table(*self.parameters.values())

    def usual_start(self) -> Key:
        return self.vertices[0]

    def successors(self, key: Key) -> list[Key]:
        return self.table[key]

    def is_goal(self, keys: Keys) -> Mask:
        return np.array([is_goal(key) for key in ints(keys)], dtype=np.bool_)

    def configurations(self) -> Iterator[Keys]:
        keys = sorted(self.vertices)
        for begin in range(0, len(keys), 250):
            yield self.keys(keys[begin : begin + 250])

    def check_key(self, key: Key) -> None:
        if key not in self.table:
            raise ConfigurationError(f"{key:#x} is no vertex")


class TwoWayToy(Toy, Reversible):
    """The same, and it knows what leads to a key."""

    most_predecessors = 240

    def unmove(self, keys: Keys) -> Expansion:
        found = [self.predecessors(key) for key in ints(keys)]
        counts = np.array([len(before) for before in found], dtype=np.uint16)
        return Expansion(self.keys([key for before in found for key in before]), counts)

    def predecessors(self, key: Key) -> list[Key]:
        return [before for before, successors in self.table.items() if key in successors]


def is_goal(key: Key) -> bool:
    """One configuration in some thirty is a goal."""
    return key % 31 == 7


@cache
def vertex_keys(layout: str, where: str, size: int) -> list[Key]:
    """The key of each vertex."""
    bits, rng = LAYOUTS[layout].bits, Random(5)
    most = (1 << bits) - 1
    if where == "low":
        keys = list(range(size))
    elif where == "high":
        keys = [most - number for number in range(size)]
    elif where == "spread":
        # Times an odd number modulo 2**bits, which takes the last vertex to the greatest key.
        last = size - 1 + size % 2
        multiplier = -pow(last, -1, most + 1)
        keys = [number * multiplier % (most + 1) for number in range(last + 1)][-size:]
    else:
        base = rng.randrange(most >> 2) * 2
        clump = [base + offset for offset in rng.sample(range(16 * size), size * 5 // 6)]
        step = 1 << bits - 6
        far = {(key + step * rng.randrange(1, 64)) % (most + 1) for key in clump[: size - len(clump)]}
        keys = [*clump, *sorted(far - set(clump))]
        fill = iter(range(size))
        keys += [next(fill) for _ in range(size - len(keys))]
        keys[-2:] = 0, most
    assert len(set(keys)) == size
    rng.shuffle(keys)
    for vertex, key in ((60, min(keys)), (120, max(keys))):
        # Where the start reaches them.
        place = keys.index(key)
        keys[place], keys[vertex] = keys[vertex], key
    return keys


@cache
def successor_table(layout: str, where: str, directed: str, size: str) -> Successors:
    """Return the successors of each key, with doubled moves and loops."""
    keys = vertex_keys(layout, where, int(size))
    around: list[list[int]] = [[] for _ in keys]
    for one, other in _arcs(int(size), directed == "yes", Random(int(size))):
        around[one].append(other)
        if directed == "no" and one != other:
            around[other].append(one)
    return {keys[vertex]: [keys[other] for other in others] for vertex, others in enumerate(around)}


def _arcs(size: int, directed: bool, rng: Random) -> Iterator[tuple[int, int]]:
    cuts = (0, size * 3 // 4, size * 3 // 4 + 4, size * 3 // 4 + 8, size - 5, size)
    bulk, chain, ring, elsewhere, lonely = (range(*part) for part in pairwise(cuts))
    for part in (bulk, elsewhere):
        for vertex in part[1:]:
            parent = rng.randrange(max(part.start, vertex - size // 3), vertex)
            yield parent, vertex
            if vertex % 7 == 0:
                yield parent, vertex
            if vertex % 11 == 0:
                yield vertex, vertex
        for _ in range(len(part) * 2 // 3):
            yield rng.choice(part), rng.choice(part)
    # A chain with a ring beside it: layers of one or two configurations, and a dead end far away.
    # Each layer of a run costs much the same, however small it is.
    for before, after in ((bulk[-1], chain[0]), *pairwise(chain), (chain[1], ring[0])):
        yield before, after
    for vertex, after in zip(ring, [*ring[1:], ring[0]], strict=True):
        yield vertex, after
    if directed:
        # Back to the start, to layers in between, and from where the start does not reach.
        for vertex in (*chain[::3], *ring[::3]):
            yield vertex, rng.choice(bulk[: size // 5])
            yield vertex, 0
        for vertex in (*elsewhere[::9], *lonely):
            yield vertex, rng.choice(bulk)


class DeadEnds(Toy):
    """A directed toy whose moves end with layer 5: its last layer is a large one, and nothing leads on from it."""

    name = "dead-ends"

    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        self.undirected = False
        layers = reference_layers(lambda key: self.table[key], self.vertices[0])
        self.table = self.table | {key: [] for key in layers[5]}


class Dust(Toy):
    """A toy in many components of one to forty configurations, the large ones not first: each is a ring."""

    name = "dust"

    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        rng, self.table, begin = Random(9), {key: [] for key in self.vertices}, 0
        while ring := self.vertices[begin : begin + rng.randrange(1, 41)]:
            begin += len(ring)
            for one, other in zip(ring, [*ring[1:], ring[0]], strict=True):
                self.table[one].append(other)
                self.table[other].append(one)


#: The number of the vertex of which a liar lies, where it lies of one alone.
UNSEEN = 246


class Liar(Toy):
    """A toy whose rules are wrong in the way that `lie` names, from the second layer on or everywhere."""

    name = "liar"
    options: Mapping[str, Option] = MappingProxyType(
        {
            **Toy.options,
            "lie": Choice(
                (
                    "one-way",
                    "rare",
                    "slip",
                    "other-rules",
                    "dtype",
                    "shape",
                    "few-counts",
                    "wrong-sum",
                    "many",
                    "stray",
                    "raises",
                )
            ),
        }
    )

    def prepare(self, start: str | None) -> None:
        honest = {name: value for name, value in self.parameters.items() if name != "lie"}
        self.lie = self.parameters["lie"]
        self.layout = LAYOUTS[honest["layout"]]
        self.undirected = True
        self.vertices = vertex_keys(honest["layout"], honest["keys"], int(honest["size"]))
        self.table = dict(successor_table(*honest.values()))
        # No sample that the search looks at has anything to do with this one.
        self.unseen = self.vertices[UNSEEN]
        if self.lie == "rare":
            self.table[self.unseen] = []
        if self.lie == "many":
            self.most_successors = 4

    def check_key(self, key: Key) -> None:
        if self.lie == "stray" and key != self.vertices[0]:
            raise ConfigurationError(f"{key:#x} has fallen over")

    def _led_to(self, key: Key) -> list[Key]:
        """Return the successors by `expand`: by one lie it forgets a single one, by another each seventh pair."""
        if self.lie == "slip" and key == self.unseen:
            return []
        forgetful = self.lie == "other-rules"
        return [other for other in self.table[key] if not (forgetful and (key ^ other) % 7 == 0)]

    def expand(self, keys: Keys) -> Expansion:
        found = [self._led_to(key) for key in ints(keys)]
        successors = self.keys([key for each in found for key in each])
        counts = np.array([len(each) for each in found], dtype=np.uint16)
        if self.lie == "dtype":
            return Expansion(successors.astype(np.int64), counts)
        if self.lie == "shape":
            return Expansion(successors.reshape(-1, 1), counts)
        if self.lie == "few-counts":
            return Expansion(successors, counts[:-1])
        if self.lie == "wrong-sum":
            return Expansion(successors[:-1], counts)
        if self.lie == "raises" and self.vertices[0] not in ints(keys):
            raise ZeroDivisionError("a slip of the pen")
        return Expansion(successors, counts)


GuardedLiar = guarded(Liar, __file__)


class Steps(Klotski):
    """Each key leads to those a little off; the keys are those of any layout."""

    def __init__(self, layout: Layout, offsets: Sequence[int]) -> None:
        super().__init__()
        self.layout = layout
        self._offsets = offsets

    def expand(self, keys: Keys) -> Expansion:
        """In no order, with duplicates."""
        found = [(key + offset) % (self.layout.greatest + 1) for key in ints(keys) for offset in self._offsets]
        return Expansion(self.layout.pack(found), np.full(len(keys), len(self._offsets), dtype=np.uint16))

    def is_goal(self, keys: Keys) -> Any:
        """Every third."""
        return np.array([key % 3 == 0 for key in ints(keys)], dtype=np.bool_)
