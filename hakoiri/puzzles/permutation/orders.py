"""Orders of numbered things: their numbers 0..n!-1 in plain Python, and their pictures.

The digit of place i says how many larger things stand before it, 0..i, and is worth i!. So the things in increasing
order have number 0, and the digits add up to the number of inversions. The number of the first k places alone, as if
nothing followed, is the whole number modulo k!.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from math import factorial

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles import pictures
from hakoiri.puzzles.pictures import EDGE, PAPER, Circle, Label, Part, Picture, Rectangle, Shape, Span, ink, scale


def digits_of(order: Sequence[int]) -> list[int]:
    """Return for each place the number of larger things before it. The things are any distinct numbers."""
    return [sum(earlier > thing for earlier in order[:place]) for place, thing in enumerate(order)]


def arrangements(things: Sequence[int]) -> int:
    """Return the number of orders of some things, of which equal ones cannot be told apart."""
    return factorial(len(things)) // math.prod(map(factorial, Counter(things).values()))


def number_of(order: Sequence[int]) -> int:
    """The number of an order of things, which are any numbers; exchanging equal ones makes no other order."""
    number, left, states = 0, sorted(order), arrangements(order)
    for place in range(len(order) - 1, -1, -1):
        thing = order[place]
        number += states * (place + 1 - bisect_right(left, thing)) // (place + 1)
        states = states * left.count(thing) // (place + 1)
        left.remove(thing)
    return number


def order_of(number: int, things: Sequence[int]) -> list[int]:
    """The order of the things, which increase, that has this number."""
    left, order, states = [*things], [0] * len(things), arrangements(things)
    for place in range(len(things) - 1, -1, -1):
        thing = left[place - number * (place + 1) // states]
        number -= states * (place + 1 - bisect_right(left, thing)) // (place + 1)
        states = states * left.count(thing) // (place + 1)
        left.remove(thing)
        order[place] = thing
    return order


def all_orders(length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many things exceed the one at each place of each order, and how many of these precede it (the digits).

    Two arrays of shape (length, length!); at length 8 they take 5 MB.
    """
    numbers = np.arange(factorial(length))
    larger, digits = np.zeros((2, length, len(numbers)), dtype=np.int64)
    for place in range(length):
        digits[place] = numbers // factorial(place) % (place + 1)
        larger[:place] += larger[:place] >= digits[place]
        larger[place] = digits[place]
    return larger, digits


def pack_places(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of an array as one: four bits for each, the first row lowest."""
    packed = np.zeros(rows.shape[1], dtype=np.int64)
    for place, row in enumerate(rows):
        packed |= row << 4 * place
    return packed


_CELL, _GAP, _RADIUS, _SIZE = 48, 2, 6, 20
_PANCAKE, _NARROWEST, _WIDER, _BURNT = 22, 40, 18, "#4b2e1a"
_TOKEN, _APART = 17, 23


def draw_tiles(text: str) -> Picture:
    """A board of tiles as text: a tile's colour grows lighter with its number."""
    rows = text.split("/")
    across, down, count = len(rows[0]), len(rows), len(rows) * len(rows[0]) - 1
    width, height = across * _CELL, down * _CELL
    parts = [Part("ground", (Rectangle(0, 0, width, height, pictures.GROUND, _RADIUS, EDGE),))]
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
    count = len(rings[0])
    # Tokens beside each other on the circle do not touch.
    radius = max(_APART / math.sin(math.pi / count), 2.2 * _TOKEN)
    middle = radius + _TOKEN + 3
    ground = [
        Part("ring", (Circle(middle, middle, radius + _TOKEN + 2, pictures.BED, EDGE),)),
        Part("inside", (Circle(middle, middle, radius - _TOKEN - 2, PAPER, EDGE),)),
        Part("turnstile", (Label(middle, middle, f"k = {turnstile}", 11, EDGE),)),
    ]
    found = []
    for ring in drawn:
        parts = list(ground)
        for place, token in enumerate(ring):
            angle, fill = 2 * math.pi * place / count, scale(token - 1, count)
            x, y = middle + radius * math.sin(angle), middle - radius * math.cos(angle)
            shapes = (Circle(0, 0, _TOKEN, fill, EDGE), Label(0, 0, str(token), 15, ink(fill)))
            parts.append(Part(str(token), shapes, round(x, 2), round(y, 2)))
        found.append(Picture(2 * middle, 2 * middle, tuple(parts)))
    return found
