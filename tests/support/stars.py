"""Magic stars the slow and obvious way, by nothing of Hakoiri's: what the fast programs must agree with."""

from functools import cache
from itertools import permutations

Numbers = tuple[int, ...]


def ring_lines(tips: int) -> list[list[int]]:
    """The lines with tip i as point i and the crossing between tips i and i + 1 as point tips + i."""
    return [[i, tips + i, tips + (i + 1) % tips, (i + 2) % tips] for i in range(tips)]


@cache
def ring_solutions(tips: int) -> frozenset[Numbers]:
    """All magic stars, as numbers by points of `ring_lines`: tips 0 and 1, crossing 0, then line by line."""
    total, found = 4 * tips + 2, set()

    def grow(outer: Numbers, inner: Numbers, left: frozenset[int]) -> None:
        line = len(inner) - 1
        if line == tips - 1:
            closing = (
                (outer[line - 1], inner[line - 1], inner[line], outer[0]),
                (outer[line], inner[line], inner[0], outer[1]),
            )
            if all(sum(numbers) == total for numbers in closing):
                found.add(outer[:tips] + inner)
            return
        for number in left:
            other = total - outer[line] - inner[line] - number
            if line == tips - 2:
                grow(outer, (*inner, number), left - {number})
            elif other in left and other != number:
                grow((*outer, other), (*inner, number), left - {number, other})

    for start in permutations(range(1, 2 * tips + 1), 3):
        grow(start[:2], start[2:], frozenset(range(1, 2 * tips + 1)) - {*start})
    return frozenset(found)


@cache
def incidence_automorphisms(tips: int) -> frozenset[Numbers]:
    """All rearrangements of the points that take lines to lines, by trying every rearrangement of the lines."""
    lines = [frozenset(line) for line in ring_lines(tips)]
    pairs = [frozenset(index for index, line in enumerate(lines) if point in line) for point in range(2 * tips)]
    found = set()
    for images in permutations(range(tips)):
        moved = [frozenset(images[index] for index in pair) for pair in pairs]
        if set(moved) == set(pairs):
            found.add(tuple(pairs.index(pair) for pair in moved))
    return frozenset(found)


def orbit_count(solutions: frozenset[Numbers], group: frozenset[Numbers]) -> int:
    """Return the number of orbits that a group makes of the solutions, by flooding."""
    left, orbits = set(solutions), 0
    while left:
        orbits += 1
        waiting = [left.pop()]
        while waiting:
            one = waiting.pop()
            for image in group:
                other = tuple(one[point] for point in image)
                if other in left:
                    left.remove(other)
                    waiting.append(other)
    return orbits
