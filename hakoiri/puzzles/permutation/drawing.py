"""Pictures of orders of numbered things: tiles on a board, pancakes on a plate, tokens on a ring."""

import math
from collections.abc import Sequence

from hakoiri.puzzles.pictures.colours import ink, scale
from hakoiri.puzzles.pictures.shapes import (
    BED,
    EDGE,
    GROUND,
    PAPER,
    Circle,
    Label,
    Part,
    Picture,
    Rectangle,
    Shape,
    Span,
)

_CELL, _GAP, _RADIUS, _SIZE = 48, 2, 6, 20
_PANCAKE, _NARROWEST, _WIDER, _BURNT = 22, 40, 18, "#4b2e1a"
_TOKEN, _APART = 17, 23


def draw_tiles(text: str) -> Picture:
    """A board of tiles as text: a tile's colour grows lighter with its number."""
    rows = text.split("/")
    across, down, count = len(rows[0]), len(rows), len(rows) * len(rows[0]) - 1
    width, height = across * _CELL, down * _CELL
    parts = [Part("ground", (Rectangle(0, 0, width, height, GROUND, _RADIUS, EDGE),))]
    spans = []
    for row, letters in enumerate(rows):
        spans.append(tuple(Span(letter, _tile_colour(letter, count)) for letter in letters))
        for column, letter in enumerate(letters):
            if fill := _tile_colour(letter, count):
                box = Rectangle(_GAP, _GAP, _CELL - 2 * _GAP, _CELL - 2 * _GAP, fill, _RADIUS)
                label = Label(_CELL / 2, _CELL / 2, str(int(letter, 16)), _SIZE, ink(fill))
                parts.append(Part(letter, (box, label), column * _CELL, row * _CELL))
    return Picture(width, height, tuple(parts), tuple(spans), boxed=True)


def _tile_colour(letter: str, count: int) -> str:
    return "" if letter == "." else scale(int(letter, 16) - 1, count)


def draw_stack(stack: Sequence[int], burnt: bool) -> Picture:
    """Pancakes from the top down, each as wide as its size; with `burnt` sides, which are up where it is negative."""
    count = len(stack)
    width, height = _NARROWEST + _WIDER * count, (count + 1) * _PANCAKE
    plate = Rectangle(0, count * _PANCAKE + 4, width, 8, EDGE, 4)
    parts = [Part("plate", (plate,))]
    for place, size in enumerate(stack):
        wide = _NARROWEST + _WIDER * (abs(size) - 1)
        fill, left = scale(abs(size) - 1, count), (width - wide) / 2
        shapes: list[Shape] = [Rectangle(0, 1, wide, _PANCAKE - 2, fill, 8)]
        if burnt:
            shapes.append(Rectangle(4, 2 if size < 0 else _PANCAKE - 7, wide - 8, 5, _BURNT, 2))
        middle = _PANCAKE / 2 + (0 if not burnt else 2.5 if size < 0 else -2.5)
        shapes.append(Label(wide / 2, middle, str(size), 13, ink(fill)))
        parts.append(Part(str(abs(size)), tuple(shapes), left, place * _PANCAKE))
    return Picture(width, height, tuple(parts))


def draw_rings(rings: Sequence[Sequence[int]], turnstile: int) -> list[Picture]:
    """Tokens around rings of a path, each ring turned so that as few tokens as possible leave their places."""
    drawn: list[list[int]] = []
    for ring in rings:
        turned = [[*ring[first:], *ring[:first]] for first in range(len(ring))]
        before = drawn[-1] if drawn else ring
        drawn.append(max(turned, key=lambda one: sum(a == b for a, b in zip(one, before, strict=True))))
    return [_draw_ring(ring, turnstile) for ring in drawn]


def _draw_ring(ring: Sequence[int], turnstile: int) -> Picture:
    count = len(ring)
    # Tokens beside each other on the circle do not touch.
    radius = max(_APART / math.sin(math.pi / count), 2.2 * _TOKEN)
    middle = radius + _TOKEN + 3
    parts = [
        Part("ring", (Circle(middle, middle, radius + _TOKEN + 2, BED, EDGE),)),
        Part("inside", (Circle(middle, middle, radius - _TOKEN - 2, PAPER, EDGE),)),
        Part("turnstile", (Label(middle, middle, f"k = {turnstile}", 11, EDGE),)),
    ]
    for place, token in enumerate(ring):
        angle, fill = 2 * math.pi * place / count, scale(token - 1, count)
        x, y = middle + radius * math.sin(angle), middle - radius * math.cos(angle)
        shapes = (Circle(0, 0, _TOKEN, fill, EDGE), Label(0, 0, str(token), 15, ink(fill)))
        parts.append(Part(str(token), shapes, round(x, 2), round(y, 2)))
    return Picture(2 * middle, 2 * middle, tuple(parts))
