"""The star {n/2}: its points and lines, its picture, and its symmetries.

n tips lie on a circle, and a line joins each tip to the next but one. Neighbouring lines cross, n times, so a line has
four points. Tips o and crossings q are numbered clockwise from the top, and q[i] lies between the tips i and i+1. So
line i is o[i], q[i], q[i+1], o[i+2] (all modulo n). Every point is on exactly two lines.

Points are numbered as one reads: row by row from the top, each from left to right. For six tips these are the numbers
of figure 7 in Hiroi's "Magic stars" (Puzzle DE Programming).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count, groupby, pairwise

from hakoiri.puzzles.pictures import EDGE, PAPER, Circle, Label, Part, Picture, ink, scale
from hakoiri.puzzles.pictures import Line as Stroke

#: The point from which each point takes its number: ``image[p] = numbers[permutation[p]]``.
Permutation = tuple[int, ...]
Line = tuple[int, int, int, int]
Place = tuple[float, float]

#: Digits to which places are rounded; heights that differ at all differ by 0.04 and more.
_DIGITS = 12

#: Least height of the text in lines, in all and per tip, and columns from number to number: two digits and a blank on
#: either side.
_LEAST_LINES, _LINES_PER_TIP, _LEAST_COLUMNS = 21, 3, 4
#: A character is about twice as high as it is wide.
_ASPECT = 2
_LINE, _POINT = "·", "o"
_SIZE, _RADIUS, _DISC, _FONT = 440, 200, 18, 17


@dataclass(frozen=True)
class Star:
    """A star of `tips` tips, its 2 `tips` points by number.

    `tip[i]` and `crossing[i]` are the points o[i] and q[i], `lines[i]` the points of line i from end to end. `places`
    are the points' x to the right and y upwards, tips at distance 1 from the centre; `rows` the points of each height.
    """

    tips: int
    tip: tuple[int, ...]
    crossing: tuple[int, ...]
    lines: tuple[Line, ...]
    places: tuple[Place, ...]
    rows: tuple[tuple[int, ...], ...]

    @property
    def points(self) -> int:
        return 2 * self.tips

    @property
    def total(self) -> int:
        """The sum of each line: 1 to 2n on every point make n (2n + 1), and lines count it twice."""
        return 4 * self.tips + 2

    def tip_at(self, index: int) -> int:
        """The tip at a place around the ring, any whole number."""
        return self.tip[index % self.tips]

    def crossing_at(self, index: int) -> int:
        return self.crossing[index % self.tips]

    def symmetries(self) -> list[Permutation]:
        """The 2n rotations and reflections of the figure, the identity first."""
        found = []
        # A reflection takes the place between tips i and i + 1 to that between their images.
        for turns, between in ((1, 0), (-1, -1)):
            for turn in range(self.tips):
                image = [0] * self.points
                for i in range(self.tips):
                    image[self.tip[i]] = self.tip_at(turn + turns * i)
                    image[self.crossing[i]] = self.crossing_at(turn + turns * i + between)
                found.append(tuple(image))
        return found

    def automorphisms(self) -> list[Permutation]:
        """All rearrangements of the points that take lines to lines, those of the figure first.

        As line i meets the lines i - 2, i - 1, i + 1 and i + 2, they are the automorphisms of the circulant graph
        C_n(1, 2). The figure has fewer for n = 5, where all lines meet (120), and n = 6, the octahedron (48).
        """
        figure = self.symmetries()
        return figure + sorted({*_automorphisms(self)} - {*figure})


@cache
def star(tips: int) -> Star:
    """The star of `tips` tips, at least five."""
    ring = [_around(tips, index, 1.0) for index in range(tips)]
    # A crossing lies where the chord of two tips two apart meets the ray half way between two tips.
    radius = math.cos(2 * math.pi / tips) / math.cos(math.pi / tips)
    ring += [_around(tips, index + 0.5, radius) for index in range(tips)]
    # The points of one height from left to right, from the top.
    ordered = sorted(range(len(ring)), key=lambda place: (-ring[place][1], ring[place][0]))
    rows = [list(row) for _, row in groupby(ordered, key=lambda place: ring[place][1])]
    number = {place: point for point, place in enumerate(place for row in rows for place in row)}
    tip = tuple(number[index] for index in range(tips))
    crossing = tuple(number[tips + index] for index in range(tips))
    lines = tuple((tip[i], crossing[i], crossing[(i + 1) % tips], tip[(i + 2) % tips]) for i in range(tips))
    places = tuple(ring[place] for row in rows for place in row)
    return Star(tips, tip, crossing, lines, places, tuple(tuple(number[place] for place in row) for row in rows))


def _around(tips: int, index: float, radius: float) -> Place:
    angle = 2 * math.pi * index / tips
    # Rounded, so that points of one height have the same number for it.
    return round(radius * math.sin(angle), _DIGITS), round(radius * math.cos(angle), _DIGITS)


def _automorphisms(figure: Star) -> Iterator[Permutation]:
    """Line by line: an image for each that meets the images of the lines before where it meets them."""
    lines = [frozenset(line) for line in figure.lines]
    meet = [[len(one & other) for other in lines] for one in lines]
    owners = [tuple(index for index, line in enumerate(lines) if point in line) for point in range(figure.points)]
    point_of = {owner: point for point, owner in enumerate(owners)}

    def grow(images: list[int]) -> Iterator[list[int]]:
        if len(images) == figure.tips:
            yield images
            return
        following = len(images)
        for image in set(range(figure.tips)) - set(images):
            if all(meet[image][other] == meet[following][index] for index, other in enumerate(images)):
                yield from grow([*images, image])

    for images in grow([]):
        ends = (sorted((images[one], images[other])) for one, other in owners)
        yield tuple(point_of[one, other] for one, other in ends)


def draw(star: Star, numbers: list[int]) -> str:
    """The figure in lines of text, a small o where no number stands; no line ends in blanks."""
    height = next(
        height for height in count(max(_LEAST_LINES, _LINES_PER_TIP * star.tips | 1), 2) if _fits(star, height)
    )
    canvas = [[" "] * (_ASPECT * height + 2) for _ in range(height)]
    for line in star.lines:
        _draw_line(canvas, star.places[line[0]], star.places[line[-1]])
    for number, place in zip(numbers, star.places, strict=True):
        column, row = _cell(height, place)
        text = str(number or _POINT)
        # A blank on either side keeps it apart from the lines.
        for offset, letter in enumerate(f" {text} ", -1):
            if 0 <= column + offset < len(canvas[row]):
                canvas[row][column + offset] = letter
    return "\n".join("".join(row).rstrip() for row in canvas)


def _fits(star: Star, height: int) -> bool:
    """Return whether each row of points has its own line and no two numbers of it touch."""
    rows = [[_cell(height, star.places[point]) for point in row] for row in star.rows]
    apart = all(right[0] - left[0] >= _LEAST_COLUMNS for row in rows for left, right in pairwise(row))
    return apart and len({row[0][1] for row in rows}) == len(rows)


def _cell(height: int, place: Place) -> tuple[int, int]:
    half = (height - 1) / 2
    return round(half * _ASPECT * (1 + place[0])), round(half * (1 - place[1]))


def _draw_line(canvas: list[list[str]], one: Place, other: Place) -> None:
    """Dots from end to end: one in every row of a steep line, in every second column of a flat one."""
    (column, row), (to_column, to_row) = _cell(len(canvas), one), _cell(len(canvas), other)
    steps = max(abs(to_row - row), abs(to_column - column) // _ASPECT)
    for step in range(1, steps):
        part = step / steps
        canvas[round(row + part * (to_row - row))][round(column + part * (to_column - column))] = _LINE


def draw_star(star: Star, numbers: list[int]) -> Picture:
    """The figure, its points as discs with their numbers; empty where none stands."""
    middle = _SIZE / 2
    places = [(round(middle + _RADIUS * x, 1), round(middle - _RADIUS * y, 1)) for x, y in star.places]
    ends = ((places[line[0]], places[line[-1]]) for line in star.lines)
    lines = tuple(Stroke(*one, *other, EDGE, 2) for one, other in ends)
    empty = tuple(Circle(*place, _DISC, PAPER, EDGE) for place in places)
    parts = [Part("star", (*lines, *empty))]
    for number, (x, y) in zip(numbers, places, strict=True):
        if number:
            fill = scale(number - 1, star.points)
            shapes = (Circle(0, 0, _DISC, fill, EDGE), Label(0, 0, str(number), _FONT, ink(fill)))
            parts.append(Part(str(number), shapes, x, y))
    return Picture(_SIZE, _SIZE, tuple(parts))
