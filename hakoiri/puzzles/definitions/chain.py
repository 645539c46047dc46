"""Chains of stabilisers of a permutation group (Schreier and Sims): its order, and a number for each element.

Level i has the orbit of point i under the elements that fix all points before it, and for each point of the orbit one
such element that leads to it. Each element is one product of these, so the order is the product of the orbits' sizes.

Random elements fill the chain (product replacement). All that is in it belongs to the group, so its order is never too
large. `complete` proves that it is not too small, by Schreier's lemma: all generators of each stabiliser sift to the
identity. Rows are ``element[point]``, the point to which it leads; products are ``second[first]``.
"""

import math
from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from hakoiri.memory import claim

_Rows = NDArray[np.int32]
#: Random elements that are sifted together, steps until they are mixed, and rounds without a find after which none is
#: looked for.
_TOGETHER, _MIXED, _ROUNDS = 24, 12, 2
#: Points in products for which `complete` is not too slow, and which are multiplied at a time.
_MOST_PRODUCTS, _BLOCK = 3_000_000_000, 20_000_000


class Level:
    """A point, generators of the elements that fix all points before it, and its orbit under them.

    `members[k]` is a point of the orbit, the point itself first, and `place` their inverse, -1 elsewhere; `there[k]`
    leads to the member, `back[k]` from it.
    """

    def __init__(self, point: int, degree: int) -> None:
        self.point, self.members = point, [point]
        self.place = np.full(degree, -1, dtype=np.int32)
        self.place[point] = 0
        self.there = self.back = np.arange(degree, dtype=np.int32)[None]
        self.generators = list[_Rows]()

    def add(self, generator: _Rows) -> None:
        """Add a generator; the orbit grows."""
        self.generators.append(generator)
        applied, begin = [generator], 0
        while begin < len(self.members):
            end = len(self.members)
            found = list[_Rows]()
            # All generators are applied to members that are new, the new one to all.
            for each in applied if begin == 0 else self.generators:
                images = each[np.array(self.members[begin:end])]
                for index in np.flatnonzero(self.place[images] < 0).tolist():
                    if self.place[images[index]] < 0:
                        self.place[images[index]] = len(self.members)
                        self.members.append(int(images[index]))
                        found.append(each[self.there[begin + index]])
            if found:
                # The rows, their inverses, and both again while they grow.
                claim("a chain of stabilisers", len(found) * found[0].nbytes * 4)
                self.there = np.concatenate([self.there, np.array(found)])
            begin = end
        if len(self.back) < len(self.there):
            self.back = np.argsort(self.there, axis=1).astype(np.int32)


class Chain:
    """The chain of a group along `points`, in this order: all those that tell its elements.

    No more elements are looked for once it has `enough`.
    """

    def __init__(
        self, generators: Sequence[Sequence[int]] | _Rows, points: Sequence[int], seed: int = 1,
        enough: float = math.inf,
    ) -> None:  # fmt: skip
        self._enough = enough
        self.generators = np.array(generators, dtype=np.int32)
        self.degree = self.generators.shape[1]
        # Three rows of each level, before its orbit grows.
        claim("a chain of stabilisers", len(points) * self.degree * 3 * 4)
        self._by_point = {point: Level(point, self.degree) for point in points}
        for generator in self.generators:
            self._add(generator)
        self._fill(np.random.default_rng(seed))

    @property
    def levels(self) -> list[Level]:
        return [level for level in self._by_point.values() if len(level.members) > 1]

    @property
    def order(self) -> int:
        """The number of elements of the chain: at most that of the group."""
        return prod(len(level.members) for level in self.levels)

    def _add(self, element: _Rows) -> None:
        """Add an element to the levels of the points up to the first that it moves."""
        for level in self._by_point.values():
            level.add(element)
            if element[level.point] != level.point:
                return

    def sifted(self, elements: _Rows) -> _Rows:
        """Return what is left of elements, each divided by elements of the chain as far as possible: identities."""
        elements, inside = elements.copy(), np.ones(len(elements), dtype=np.bool_)
        for level in self.levels:
            place = level.place[elements[:, level.point]]
            inside &= place >= 0
            rows = np.flatnonzero(inside & (place > 0))
            elements[rows] = np.take_along_axis(level.back[place[rows]], elements[rows], axis=1)
        return elements

    def _fill(self, random: np.random.Generator) -> None:
        count = max(_TOGETHER, len(self.generators))
        pool, quiet = self.generators[np.arange(count) % len(self.generators)], -_MIXED
        while quiet < _ROUNDS and self.order < self._enough:
            others = pool[random.permutation(count)]
            pool = np.take_along_axis(others, pool, axis=1)
            left = self.sifted(pool)
            if not (moved := (left != np.arange(self.degree)).any(axis=1)).any():
                quiet += 1
                continue
            quiet = min(quiet + 1, 0)
            # A copy, because all levels keep it, and a view would keep the others, too.
            claim("a chain of stabilisers", left[0].nbytes)
            self._add(left[moved][0].copy())

    def complete(self) -> bool | None:
        """Return whether the chain has all elements of the group: a proof; ``None`` if that would take too long."""
        levels = self.levels
        if (
            sum(len(each.members) * len(each.generators) for each in levels) * self.degree * len(levels)
            > _MOST_PRODUCTS
        ):
            return None
        identity = np.arange(self.degree)
        return all((self.sifted(each) == identity).all() for level in levels for each in self._schreier(level))

    def _schreier(self, level: Level) -> Iterator[_Rows]:
        """Yield the generators of the stabiliser of the level's point, by Schreier's lemma, in batches."""
        for generator in level.generators:
            products = generator[level.there]
            yield np.take_along_axis(level.back[level.place[products[:, level.point]]], products, axis=1)
