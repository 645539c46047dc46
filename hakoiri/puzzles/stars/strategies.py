"""Strategies for magic stars: the ideas of Hiroi's article, and the order of the fastest search.

Numbers go on one point after another, from 1 up. The article's second program checks a line when its fourth number
comes. Beyond that there are four ideas; its third program is the first of them alone, its closing exercise the rest:

- ``symmetry``: the least tip is tip 0, and of the two crossings beside it the one to the left has the lesser number, so
  that one solution of each orbit is left;
- ``order``: line after line around the ring, so that lines are complete early, not row after row;
- ``forced``: where three numbers of a line stand the fourth follows at once, out of its turn;
- ``ahead``: where two numbers of a line stand, two unused ones must be there that complete it.

Which points are placed by a step does not depend on the numbers, so a step is the same for all of its nodes.

`ring_orders` takes the lines one after the other around the ring, each next to those that are done. So two new numbers
complete every line: one is chosen, and the other follows. The ring is broken up by where the number 1 stands, which
takes away all symmetry:

- 1 is on a tip or on a crossing, and exactly one of the n rotations takes it to tip 0 or crossing 0;
- the reflection that leaves this point where it is exchanges two points (the neighbours on both lines of tip 0, or the
  tips beside crossing 0). Their numbers differ, so exactly one of a solution and its reflection has the lesser number
  on the one that is named first.

As all numbers differ no solution is its own image, so each orbit has 2n solutions, and exactly one of them is found.
"""

from collections.abc import Collection, Iterator
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


#: All sets of ideas but none, as they are written.
COMBINED = (
    "symmetry",
    "order",
    "forced",
    "ahead",
    "symmetry+order",
    "symmetry+forced",
    "symmetry+ahead",
    "order+forced",
    "order+ahead",
    "forced+ahead",
    "symmetry+order+forced",
    "symmetry+order+ahead",
    "symmetry+forced+ahead",
    "order+forced+ahead",
    "symmetry+order+forced+ahead",
)
#: Kinds of checks: end of the list; choose a number for a point; it completes a line of three others; put the number
#: that completes a line; a line adds up; one point's number exceeds another's; two unused numbers complete a line.
END, CHOOSE, FITS, FORCE, ADDS_UP, EXCEEDS, AHEAD = range(7)
#: Its kind, and the points: for FORCE the new one first, for EXCEEDS the greater one, for FITS the three others.
Check = tuple[int, ...]
_WIDTH = 5


def steps_of(star: Star, ideas: Collection[str], checks: bool = True) -> list[list[Check]]:
    """For each step its checks, the choice first. Without `checks`, as in the first program, they are choices alone."""
    placed, steps = set[int](), list[list[Check]]()
    for chosen in _order(star, "order" in ideas):
        if chosen in placed:
            continue
        new, step = {chosen}, list[Check]([(CHOOSE, chosen)])
        if "forced" in ideas:
            for point, others in _forced(star, placed, new):
                step.append((FORCE, point, *others))
        forced = [set(check[1:]) for check in step if check[0] == FORCE]
        if checks:
            step += _checked(star, ideas, placed, new, forced)
            # Checks that the choice alone decides come first.
            step.sort(key=lambda check: check[0] > FITS)
        placed |= new
        steps.append(step)
    return steps


def _order(star: Star, by_lines: bool) -> list[int]:
    if not by_lines:
        return list(range(star.points))
    steps, _ = ring_orders(star)
    return [point for step in steps for point in (step.chosen, step.forced) if point >= 0]


def _forced(star: Star, placed: set[int], new: set[int]) -> Iterator[tuple[int, list[int]]]:
    """The points that follow, one after another, which become new."""
    while True:
        lacking = [[point for point in line if point not in placed | new] for line in star.lines]
        found = next((index for index, points in enumerate(lacking) if len(points) == 1), None)
        if found is None:
            return
        (point,) = lacking[found]
        yield point, [other for other in star.lines[found] if other != point]
        new.add(point)


def _checked(
    star: Star, ideas: Collection[str], placed: set[int], new: set[int], forced: list[set[int]]
) -> Iterator[Check]:  # fmt: skip
    now = placed | new
    for line in star.lines:
        if new & {*line} and now >= {*line} and {*line} not in forced:
            others = [point for point in line if point in placed]
            yield (FITS, *others) if len(others) == 3 and len(new) == 1 else (ADDS_UP, *line)
    if "symmetry" in ideas:
        pairs = [(tip, star.tip[0]) for tip in star.tip[1:]] + [(star.crossing[0], star.crossing[-1])]
        for pair in pairs:
            if new & {*pair} and now >= {*pair}:
                yield EXCEEDS, *pair
    if "ahead" in ideas:
        for line in star.lines:
            there = [point for point in line if point in now]
            if len(there) == 2 and new & {*there}:
                yield AHEAD, *there


def table_of(steps: list[list[Check]]) -> NDArray[np.int64]:
    """The checks for the kernel, shape (steps, most checks and an end, 5)."""
    table = np.full((len(steps), max(map(len, steps)) + 1, _WIDTH), END, dtype=np.int64)
    for number, step in enumerate(steps):
        for place, check in enumerate(step):
            table[number, place, : len(check)] = check
    return table


def places(numbers: list[int], step: list[Check], number: int, total: int) -> list[int] | None:
    """Return `numbers` after a step that chooses `number`; ``None`` if a check fails. The kernel's reference."""
    found = list(numbers)
    for kind, *points in step:
        unused = {*range(1, len(found) + 1)} - {*found}
        first = points[0]
        if kind in (CHOOSE, FORCE):
            wanted = number if kind == CHOOSE else total - sum(found[point] for point in points[1:])
            if wanted not in unused:
                return None
            found[first] = wanted
        elif _fails(kind, [found[point] for point in points], number, total):
            return None
        elif kind == AHEAD:
            left = total - sum(found[point] for point in points)
            if not any(left - one in unused and left - one != one for one in unused):
                return None
    return found


def _fails(kind: int, there: list[int], number: int, total: int) -> bool:
    if kind == EXCEEDS:
        return there[0] <= there[1]
    return (kind == FITS and sum(there) + number != total) or (kind == ADDS_UP and sum(there) != total)
