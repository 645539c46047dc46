"""The order in which the fastest strategy places the numbers of a magic star, as tables for its kernel.

`ring_orders` takes the lines one after the other around the ring, each next to those that are done. So two new numbers
complete every line: one is chosen, and the other follows. The ring is broken up by where the number 1 stands, which
takes away all symmetry:

- 1 is on a tip or on a crossing, and exactly one of the n rotations takes it to tip 0 or crossing 0;
- the reflection that leaves this point where it is exchanges two points (the neighbours on both lines of tip 0, or the
  tips beside crossing 0). Their numbers differ, so exactly one of a solution and its reflection has the lesser number
  on the one that is named first.

As all numbers differ no solution is its own image, so each orbit has 2n solutions, and exactly one of them is found.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.stars.figure import Star

#: The value for no point in the tables.
NONE = -1


class Step(NamedTuple):
    """One level of the ordered search, by points.

    `chosen` gets a number. Where `forced` is named it gets the number that completes its line, on which `on_line`
    stand already; where it is not but `on_line` are three points, `chosen` completes theirs. `above`: the chosen number
    must exceed the one there. `open_line`: of two points of a line of which nothing else is placed; two unused numbers
    must be there to complete it. `fixed`: the only number allowed; 0 for any.
    """

    chosen: int
    forced: int = NONE
    on_line: tuple[int, int, int] = (NONE, NONE, NONE)
    above: int = NONE
    open_line: tuple[int, int] = (NONE, NONE)
    fixed: int = 0

    @property
    def numbers(self) -> int:
        """The number of numbers that it places."""
        return 1 if self.forced == NONE else 2


Steps = list[Step]


def ring_orders(star: Star) -> list[Steps]:
    """Two orders of the same numbers of steps: with the 1 on tip 0, and on crossing 0."""
    return [_from_tip(star), _from_crossing(star)]


def table(orders: list[Steps]) -> NDArray[np.int64]:
    """The orders for the kernel, shape (orders, steps, 9)."""
    rows = [
        [(step.chosen, step.forced, *step.on_line, step.above, *step.open_line, step.fixed) for step in steps]
        for steps in orders
    ]
    return np.array(rows, dtype=np.int64)


class _Ring:
    """Points by their places around the ring, any whole numbers."""

    def __init__(self, star: Star) -> None:
        self._star, self.tips = star, star.tips

    def tip(self, index: int) -> int:
        return self._star.tip[index % self.tips]

    def crossing(self, index: int) -> int:
        return self._star.crossing[index % self.tips]


def _from_tip(star: Star) -> Steps:
    """1 on tip 0: its two lines, -2 and 0, the line -1 between their ends, and on around the ring."""
    ring = _Ring(star)
    tip, crossing = ring.tip, ring.crossing
    return [
        Step(tip(0), fixed=1),
        Step(crossing(0)),
        Step(crossing(1), tip(2), (tip(0), crossing(0), NONE)),
        Step(crossing(-1), above=crossing(0)),
        Step(crossing(-2), tip(-2), (tip(0), crossing(-1), NONE)),
        Step(tip(1), tip(-1), (crossing(-1), crossing(0), NONE)),
        *_around(ring, first=-2),
    ]


def _from_crossing(star: Star) -> Steps:
    """1 on crossing 0: its two lines, 0 and -1, and on around the ring."""
    ring = _Ring(star)
    tip, crossing = ring.tip, ring.crossing
    return [
        Step(crossing(0), fixed=1),
        Step(tip(0)),
        Step(crossing(1), tip(2), (tip(0), crossing(0), NONE)),
        Step(tip(1), above=tip(0)),
        Step(crossing(-1), tip(-1), (tip(1), crossing(0), NONE)),
        *_around(ring, first=-1),
    ]


def _around(ring: _Ring, first: int) -> Steps:
    """The rest, when the lines `first` to 0 are done.

    When two lines are left only the crossing of both is free: it completes one of them. The other is right then,
    because all numbers together, counted twice, are n times the sum of a line.
    """
    steps, last = [], 0
    tip, crossing = ring.tip, ring.crossing
    while last - first + 1 < ring.tips - 2:
        last += 1
        # The line before the first has its other two points yet to come, unless the ring is nearly closed.
        open_line = (crossing(first), tip(first + 1)) if last - first + 1 < ring.tips - 2 else (NONE, NONE)
        on_line = (tip(last), crossing(last), NONE)
        steps.append(Step(crossing(last + 1), tip(last + 2), on_line, open_line=open_line))
    last += 1
    return [*steps, Step(crossing(last + 1), on_line=(tip(last), crossing(last), tip(last + 2)))]
