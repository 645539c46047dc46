"""Magic stars counted: the tree of placings walked depth first, by any set of ideas or by the fastest."""

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit
from hakoiri.keys.layout import Placings
from hakoiri.puzzles.stars.strategies import ADDS_UP, CHOOSE, END, EXCEEDS, FITS, FORCE

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
def walk_steps(
    roots: Placings, level: int, end: int, steps: NDArray[np.int64], lines: NDArray[np.int64], most: int
) -> tuple[Placings, NDArray[np.int64], int]:
    """(the placings of level `end` below `roots` of `level`, how many each root has, how many numbers were placed).

    `steps` are those of `puzzles.stars.strategies.table_of`. `lines` are checked when the last number is placed, as the
    paper's first program does; the number that makes one of them wrong counts as placed, but the placing is left out.
    A root is left as soon as more than `most` numbers are placed below it.
    """
    found = np.empty((_FIRST_ROOM, roots.shape[1]), dtype=np.uint8)
    counts = np.zeros(len(roots), dtype=np.int64)
    count = nodes = 0
    for root in range(len(roots)):
        before = count
        found, count, placed = _below_steps(roots[root], level, end, steps, lines, most, found, count)
        counts[root] = count - before
        nodes += placed
    return found[:count], counts, nodes


@jit
def _below_steps(
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
    choices[here] = _fitting(steps[here], numbers, total, unused[here])
    while here >= level and nodes <= most:
        if choices[here] == 0:
            here -= 1
            continue
        number = int(lowest_bit(choices[here]))
        choices[here] &= choices[here] - _ONE
        placed, free, back = _step(steps[here], numbers, number, total, unused[here], reverse[here])
        if not placed:
            continue
        nodes += placed
        if here + 1 < end:
            here += 1
            unused[here], reverse[here] = free, back
            choices[here] = _fitting(steps[here], numbers, total, free)
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
def _fitting(checks: NDArray[np.int64], numbers: NDArray[np.int64], total: int, unused: np.uint64) -> np.uint64:
    """The unused numbers that complete all lines that a choice completes."""
    place = 1
    while checks[place, 0] == FITS:
        left = total - numbers[checks[place, 1]] - numbers[checks[place, 2]] - numbers[checks[place, 3]]
        unused &= _ONE << np.uint64(left) if left > 0 else np.uint64(0)
        place += 1
    return unused


@jit
def _step(
    checks: NDArray[np.int64], numbers: NDArray[np.int64], chosen: int, total: int, unused: np.uint64,
    reverse: np.uint64,
) -> tuple[int, np.uint64, np.uint64]:  # fmt: skip
    """Return how many numbers a step places, 0 if a check fails, and the unused numbers then, also in reverse."""
    placed = 0
    for place in range(len(checks)):
        kind, first, second = checks[place, 0], checks[place, 1], checks[place, 2]
        if kind == END:
            break
        if kind in (CHOOSE, FORCE):
            number = chosen
            if kind == FORCE:
                number = total - numbers[second] - numbers[checks[place, 3]] - numbers[checks[place, 4]]
                if number <= 0 or number > len(numbers) or not unused >> np.uint64(number) & _ONE:
                    return 0, unused, reverse
            numbers[first] = number
            unused ^= _ONE << np.uint64(number)
            reverse ^= _ONE << np.uint64(_TOP - number)
            placed += 1
        elif kind == FITS:
            continue
        elif kind == ADDS_UP:
            if numbers[first] + numbers[second] + numbers[checks[place, 3]] + numbers[checks[place, 4]] != total:
                return 0, unused, reverse
        elif kind == EXCEEDS:
            if numbers[first] <= numbers[second]:
                return 0, unused, reverse
        else:
            left = total - numbers[first] - numbers[second]
            if left <= 0 or _pairs(unused, reverse, left) == 0:
                return 0, unused, reverse
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
def _choices(
    steps: NDArray[np.int64], level: int, numbers: NDArray[np.int64], total: int, unused: np.uint64, reverse: np.uint64
) -> np.uint64:
    chosen = unused
    if steps[level, 2] >= 0:
        left = total - numbers[steps[level, 2]] - numbers[steps[level, 3]]
        if steps[level, 1] >= 0:
            chosen = _pairs(unused, reverse, left) if left > 0 else np.uint64(0)
        else:
            left -= numbers[steps[level, 4]]
            chosen = unused & (_ONE << np.uint64(left)) if left > 0 else np.uint64(0)
    if steps[level, 5] >= 0:
        # All bits up to that of the number there.
        chosen &= ~((np.uint64(2) << np.uint64(numbers[steps[level, 5]])) - _ONE)
    if steps[level, 8] > 0:
        chosen &= _ONE << np.uint64(steps[level, 8])
    return chosen


@jit
def walk_ring(
    roots: Placings, level: int, end: int, orders: NDArray[np.int64], most: int
) -> tuple[Placings, NDArray[np.int64], int]:
    """Walk as `walk_steps` does, by the steps of `orders` (`puzzles.stars.strategies.table`), one for each level."""
    found = np.empty((_FIRST_ROOM, roots.shape[1]), dtype=np.uint8)
    counts = np.zeros(len(roots), dtype=np.int64)
    count = nodes = 0
    for root in range(len(roots)):
        for order in range(len(orders)):
            # The first step says which order a placing belongs to.
            if level == 0 or roots[root, orders[order, 0, 0]] == orders[order, 0, 8]:
                before = count
                found, count, placed = _below_ring(roots[root], level, end, orders[order], most, found, count)
                counts[root] += count - before
                nodes += placed
    return found[:count], counts, nodes


@jit
def _below_ring(
    root: NDArray[np.uint8], level: int, end: int, steps: NDArray[np.int64], most: int, found: Placings, count: int
) -> tuple[Placings, int, int]:
    """Walk one root as `_below_steps` does."""
    total, nodes, here = 2 * len(root) + 2, 0, level
    numbers = root.astype(np.int64)
    # By level: the numbers that are left to choose, and the unused ones before the step.
    choices = np.zeros(end, dtype=np.uint64)
    unused = np.zeros(end + 1, dtype=np.uint64)
    reverse = np.zeros(end + 1, dtype=np.uint64)
    unused[here], reverse[here] = _unused(numbers)
    choices[here] = _choices(steps, here, numbers, total, unused[here], reverse[here])
    while here >= level and nodes <= most:
        if choices[here] == 0:
            here -= 1
            continue
        number = np.int64(lowest_bit(choices[here]))
        choices[here] &= choices[here] - _ONE
        numbers[steps[here, 0]] = number
        free = unused[here] ^ (_ONE << np.uint64(number))
        back = reverse[here] ^ (_ONE << np.uint64(_TOP - number))
        if steps[here, 1] >= 0:
            other = total - numbers[steps[here, 2]] - numbers[steps[here, 3]] - number
            numbers[steps[here, 1]] = other
            free ^= _ONE << np.uint64(other)
            back ^= _ONE << np.uint64(_TOP - other)
        if steps[here, 6] >= 0:
            left = total - numbers[steps[here, 6]] - numbers[steps[here, 7]]
            if left <= 0 or _pairs(free, back, left) == 0:
                continue
        nodes += 1 if steps[here, 1] < 0 else 2
        if here + 1 < end:
            here += 1
            unused[here], reverse[here] = free, back
            choices[here] = _choices(steps, here, numbers, total, free, back)
            continue
        if count == len(found):
            found = _grown(found)
        _write(found[count], numbers, steps, end)
        count += 1
    return found, count, nodes


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
def _write(row: NDArray[np.uint8], numbers: NDArray[np.int64], steps: NDArray[np.int64], end: int) -> None:
    """The numbers of the first `end` steps; on other points some of earlier branches may be left."""
    row[:] = 0
    for step in range(end):
        row[steps[step, 0]] = numbers[steps[step, 0]]
        if steps[step, 1] >= 0:
            row[steps[step, 1]] = numbers[steps[step, 1]]


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
