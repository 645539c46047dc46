"""Strategies for magic stars: the ideas of Hiroi's article, the order of the fastest search, and the kernels.

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
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit
from hakoiri.guests.stars.figure import Star
from hakoiri.keys.layout import Placings

_IDEAS = ("symmetry", "order", "forced", "ahead")
#: All sets of ideas but none, as they are written.
COMBINED = tuple("+".join(ideas) for count in range(1, 5) for ideas in combinations(_IDEAS, count))
#: Kinds of checks: end of the list; choose a number for a point. Then what the choice alone decides: it completes a
#: line of three others; it is a given number; it exceeds that of a point; an unused one completes a line of two others
#: with it. Then the rest: put the number that completes a line; a line adds up; one point's number exceeds another's;
#: two unused numbers complete a line.
END, CHOOSE, FITS, IS, ABOVE, PAIRS, FORCE, ADDS_UP, EXCEEDS, AHEAD = range(10)
#: Its kind, and the points: for FORCE the new one first, for EXCEEDS the greater one; for IS the number instead.
Check = tuple[int, ...]
#: The checks of each level, the choice first.
Steps = list[list[Check]]
_WIDTH = 5


def points_of(step: list[Check]) -> list[int]:
    """The points that a step gives numbers to."""
    return [check[1] for check in step if check[0] in (CHOOSE, FORCE)]


def ring_orders(star: Star) -> list[Steps]:
    """Two orders of the same numbers of steps: with the 1 on tip 0, and on crossing 0.

    The first takes the lines -2, 0 and the line -1 between their ends, the second 0 and -1; then on around the ring.
    """
    tip, crossing = star.tip_at, star.crossing_at
    from_tip: Steps = [
        [(CHOOSE, tip(0)), (IS, 1)],
        [(CHOOSE, crossing(0))],
        _completing(crossing(1), tip(2), tip(0), crossing(0)),
        [(CHOOSE, crossing(-1)), (ABOVE, crossing(0))],
        _completing(crossing(-2), tip(-2), tip(0), crossing(-1)),
        _completing(tip(1), tip(-1), crossing(-1), crossing(0)),
    ]
    from_crossing: Steps = [
        [(CHOOSE, crossing(0)), (IS, 1)],
        [(CHOOSE, tip(0))],
        _completing(crossing(1), tip(2), tip(0), crossing(0)),
        [(CHOOSE, tip(1)), (ABOVE, tip(0))],
        _completing(crossing(-1), tip(-1), tip(1), crossing(0)),
    ]
    return [from_tip + _around(star, -2), from_crossing + _around(star, -1)]


def _completing(chosen: int, forced: int, one: int, other: int) -> list[Check]:
    """A step that chooses a number for one point of a line, which forces that of another."""
    return [(CHOOSE, chosen), (PAIRS, one, other), (FORCE, forced, one, other, chosen)]


def _around(star: Star, first: int) -> Steps:
    """The rest, when the lines `first` to 0 are done.

    When two lines are left only the crossing of both is free: it completes one of them. The other is right then,
    because all numbers together, counted twice, are n times the sum of a line.
    """
    tip, crossing, last = star.tip_at, star.crossing_at, star.tips - 2 + first
    steps = [_completing(crossing(line + 1), tip(line + 2), tip(line), crossing(line)) for line in range(1, last)]
    # The line before the first has its other two points yet to come, unless the ring is nearly closed.
    for step in steps[:-1]:
        step.append((AHEAD, crossing(first), tip(first + 1)))
    return [*steps, [(CHOOSE, crossing(last + 1)), (FITS, tip(last), crossing(last), tip(last + 2))]]


def steps_of(star: Star, ideas: Collection[str], checks: bool = True) -> Steps:
    """For each step its checks, the choice first. Without `checks`, as in the first program, they are choices alone."""
    placed, steps = set[int](), list[list[Check]]()
    for chosen in _order(star, "order" in ideas):
        if chosen in placed:
            continue
        new, step = {chosen}, list[Check]([(CHOOSE, chosen)])
        if "forced" in ideas:
            step += _forced(star, placed, new)
        forced = [{*check[1:]} for check in step[1:]]
        if checks:
            step += _checked(star, ideas, placed, new, forced)
            # Checks that the choice alone decides come first.
            step.sort(key=lambda check: check[0] > FITS)
        placed |= new
        steps.append(step)
    return steps


def _order(star: Star, by_lines: bool) -> list[int]:
    return [point for step in ring_orders(star)[0] for point in points_of(step)] if by_lines else [*range(star.points)]


def _forced(star: Star, placed: set[int], new: set[int]) -> Iterator[Check]:
    """The points that follow, one after another, which become new."""
    while forced := next((line for line in star.lines if len({*line} - placed - new) == 1), None):
        (point,) = {*forced} - placed - new
        yield FORCE, point, *(other for other in forced if other != point)
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
        for pair in [(tip, star.tip[0]) for tip in star.tip[1:]] + [(star.crossing[0], star.crossing[-1])]:
            if new & {*pair} and now >= {*pair}:
                yield EXCEEDS, *pair
    if "ahead" in ideas:
        for there in ([point for point in line if point in now] for line in star.lines):
            if len(there) == 2 and new & {*there}:
                yield AHEAD, *there


def table_of(orders: list[Steps]) -> NDArray[np.int64]:
    """The checks for the kernel, shape (orders, steps, most checks and an end, 5)."""
    most = max(len(step) for steps in orders for step in steps)
    table = np.full((len(orders), len(orders[0]), most + 1, _WIDTH), END, dtype=np.int64)
    for order, steps in enumerate(orders):
        for number, step in enumerate(steps):
            for place, check in enumerate(step):
                table[order, number, place, : len(check)] = check
            table[order, number, 0, 2] = sum(check[0] < FORCE for check in step)
    return table


def places(numbers: list[int], step: list[Check], number: int, total: int) -> list[int] | None:
    """Return `numbers` after a step that chooses `number`; ``None`` if a check fails. The kernel's reference."""
    found = list(numbers)
    for kind, *points in step:
        unused, there = {*range(1, len(found) + 1)} - {*found}, [found[point] for point in points if kind != IS]
        left = total - sum(there)
        if kind in (CHOOSE, FORCE):
            wanted = number if kind == CHOOSE else total - sum(there[1:])
            right = wanted in unused
            found[points[0]] = wanted
        elif kind in (FITS, PAIRS):
            right = left == number if kind == FITS else left - number in unused
        elif kind in (IS, ABOVE):
            right = number == points[0] if kind == IS else number > there[0]
        elif kind in (ADDS_UP, EXCEEDS):
            right = left == 0 if kind == ADDS_UP else there[0] > there[1]
        else:
            right = any(left - one in unused and left - one != one for one in unused)
        if not right:
            return None
    return found


_FIRST_ROOM = 64
_ONE = np.uint64(1)
#: A number m is bit m of the set of unused numbers, and bit 63 - m of the same set in reverse.
_TOP = 63


@jit
def _grown(found: Placings) -> Placings:
    larger = np.empty((2 * len(found), found.shape[1]), dtype=np.uint8)
    larger[: len(found)] = found
    return larger


@jit
def walk(
    roots: Placings, level: int, end: int, orders: NDArray[np.int64], lines: NDArray[np.int64], most: int
) -> tuple[Placings, NDArray[np.int64], int]:
    """(the placings of level `end` below `roots` of `level`, how many each root has, how many numbers were placed).

    `orders` are those of `guests.stars.strategies.table_of`. `lines` are checked when the last number is placed, as
    the paper's first program does; the number that makes one of them wrong counts as placed, but the placing is left
    out. A root is left as soon as more than `most` numbers are placed below it.
    """
    found = np.empty((_FIRST_ROOM, roots.shape[1]), dtype=np.uint8)
    counts = np.zeros(len(roots), dtype=np.int64)
    count = nodes = 0
    for root in range(len(roots)):
        before = count
        for steps in orders:
            # The first step says which order a placing belongs to.
            if level == 0 or steps[0, 1, 0] != IS or roots[root, steps[0, 0, 1]] == steps[0, 1, 1]:
                found, count, placed = _below(roots[root], level, end, steps, lines, most, found, count)
                nodes += placed
        counts[root] = count - before
    return found[:count], counts, nodes


@jit
def _below(
    root: NDArray[np.uint8], level: int, end: int, steps: NDArray[np.int64], lines: NDArray[np.int64], most: int,
    found: Placings, count: int,
) -> tuple[Placings, int, int]:  # fmt: skip
    """`found` with what grows on one root added to its first `count` rows, their number then, the numbers placed."""
    total, nodes, here = 2 * len(root) + 2, 0, level
    numbers = root.astype(np.int64)
    # By level: the numbers that are left to choose, and the unused ones before the step.
    choices = np.zeros(end + 1, dtype=np.uint64)
    unused = np.zeros(end + 1, dtype=np.uint64)
    reverse = np.zeros(end + 1, dtype=np.uint64)
    unused[here], reverse[here] = _unused(numbers)
    choices[here] = _fitting(steps, here, numbers, total, unused[here], reverse[here])
    while here >= level and nodes <= most:
        if choices[here] == 0:
            here -= 1
            continue
        number = int(lowest_bit(choices[here]))
        choices[here] &= choices[here] - _ONE
        placed, free, back = _step(steps, here, numbers, number, total, unused[here], reverse[here])
        if not placed:
            continue
        nodes += placed
        if here + 1 < end:
            here += 1
            unused[here], reverse[here] = free, back
            choices[here] = _fitting(steps, here, numbers, total, free, back)
        elif _is_magic(numbers, lines, total):
            if count == len(found):
                found = _grown(found)
            for point in range(len(root)):
                # On points of later steps numbers of earlier branches may be left.
                free_here = np.uint64(numbers[point])
                found[count, point] = 0 if free >> free_here & _ONE else numbers[point]
            count += 1
    return found, count, nodes


@jit
def _fitting(
    steps: NDArray[np.int64], level: int, numbers: NDArray[np.int64], total: int, unused: np.uint64, reverse: np.uint64
) -> np.uint64:
    """The unused numbers that pass all checks of the choice alone."""
    fitting = unused
    for place in range(1, steps[level, 0, 2]):
        kind, first, second = steps[level, place, 0], steps[level, place, 1], steps[level, place, 2]
        if kind == IS:
            fitting &= _ONE << np.uint64(first)
        elif kind == ABOVE:
            # All bits up to that of the number there.
            fitting &= ~((np.uint64(2) << np.uint64(numbers[first])) - _ONE)
        else:
            left = total - numbers[first] - numbers[second]
            if kind == FITS:
                left -= numbers[steps[level, place, 3]]
            if left <= 0:
                return np.uint64(0)
            fitting &= _ONE << np.uint64(left) if kind == FITS else _pairs(unused, reverse, left)
    return fitting


@jit
def _step(
    steps: NDArray[np.int64], level: int, numbers: NDArray[np.int64], number: int, total: int, unused: np.uint64,
    reverse: np.uint64,
) -> tuple[int, np.uint64, np.uint64]:  # fmt: skip
    """Return how many numbers a step places, 0 if a check fails, and the unused numbers then, also in reverse."""
    numbers[steps[level, 0, 1]] = number
    unused ^= _ONE << np.uint64(number)
    reverse ^= _ONE << np.uint64(_TOP - number)
    placed, place = 1, steps[level, 0, 2]
    while steps[level, place, 0] != END:
        kind, first, second = steps[level, place, 0], steps[level, place, 1], steps[level, place, 2]
        if kind == FORCE:
            number = total - numbers[second] - numbers[steps[level, place, 3]] - numbers[steps[level, place, 4]]
            if number <= 0 or number > len(numbers) or not unused >> np.uint64(number) & _ONE:
                return 0, unused, reverse
            numbers[first] = number
            unused ^= _ONE << np.uint64(number)
            reverse ^= _ONE << np.uint64(_TOP - number)
            placed += 1
        elif kind == AHEAD:
            left = total - numbers[first] - numbers[second]
            if left <= 0 or _pairs(unused, reverse, left) == 0:
                return 0, unused, reverse
        elif kind == EXCEEDS:
            if numbers[first] <= numbers[second]:
                return 0, unused, reverse
        else:
            there = numbers[first] + numbers[second] + numbers[steps[level, place, 3]] + numbers[steps[level, place, 4]]
            if there != total:
                return 0, unused, reverse
        place += 1
    return placed, unused, reverse


@jit
def _is_magic(numbers: NDArray[np.int64], lines: NDArray[np.int64], total: int) -> bool:
    for line in range(len(lines)):
        there = 0
        for index in range(4):
            there += numbers[lines[line, index]]
        if there != total:
            return False
    return True


@jit
def _pairs(unused: np.uint64, reverse: np.uint64, both: int) -> np.uint64:
    """The unused numbers m for which `both` - m is unused, too, and another.

    Shifted by the sum, the reverse set has bit m where the set has bit `both` - m. The sum is that of a line at most,
    which is 62 for the largest star.
    """
    partners = reverse >> np.uint64(_TOP - both)
    if both % 2 == 0:
        partners &= ~(_ONE << np.uint64(both // 2))
    return unused & partners


@jit
def _unused(numbers: NDArray[np.int64]) -> tuple[np.uint64, np.uint64]:
    """The numbers that stand nowhere, and the same in reverse."""
    unused = np.uint64(0)
    reverse = np.uint64(0)
    for number in range(1, len(numbers) + 1):
        if not np.any(numbers == number):
            unused |= _ONE << np.uint64(number)
            reverse |= _ONE << np.uint64(_TOP - number)
    return unused, reverse


@jit
def least_images(
    placings: Placings, permutations: NDArray[np.int64], own: int
) -> tuple[Placings, NDArray[np.bool_], NDArray[np.bool_]]:
    """(the least image of each placing by the first `own` permutations, whether it is that itself, and whether none
    of the other permutations has a lesser one)."""
    points = placings.shape[1]
    least = np.empty_like(placings)
    is_least = np.ones(len(placings), dtype=np.bool_)
    is_least_of_all = np.ones(len(placings), dtype=np.bool_)
    for index in range(len(placings)):
        best = 0
        overall = 0
        for number in range(1, len(permutations)):
            if number < own and _lesser(placings[index], permutations[number], permutations[best]):
                best = number
            if _lesser(placings[index], permutations[number], permutations[overall]):
                overall = number
        for point in range(points):
            least[index, point] = placings[index, permutations[best, point]]
        is_least[index] = best == 0
        is_least_of_all[index] = overall == best
    return least, is_least, is_least_of_all


@jit
def _lesser(numbers: NDArray[np.uint8], one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    for point in range(len(numbers)):
        if numbers[one[point]] != numbers[other[point]]:
            return bool(numbers[one[point]] < numbers[other[point]])
    return False
