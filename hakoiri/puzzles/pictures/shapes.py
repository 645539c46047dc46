"""A picture as data: shapes on a plane whose x goes right and whose y goes down, in pixels of no fixed size.

A picture is made of parts. A part with the same name on two boards of a path is the same piece: where its shapes are
the same too, it has only been moved, and a film may let it glide.
"""

from typing import NamedTuple

#: Colours of text on a part, of lines, and of empty ground; of what cells are set in, of blank paper, and of cards.
INK, EDGE, GROUND, BED, PAPER, CARD = "#1b1b1b", "#4a4a4a", "#efebe3", "#d9d4c9", "#fcfbf8", "#fefefe"
#: The names of colours that a viewer with a dark background replaces by its own.
SURFACES = {EDGE: "edge", GROUND: "ground", BED: "bed", PAPER: "paper", CARD: "card"}


class Rectangle(NamedTuple):
    """With rounded corners where it has a `radius`; `edge` is the colour of its outline, if it has one."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    radius: float = 0
    edge: str = ""


class Circle(NamedTuple):
    """A disc, with an outline where there is an `edge`."""

    x: float
    y: float
    radius: float
    fill: str
    edge: str = ""


class Polygon(NamedTuple):
    """The points of its corners, in order round it."""

    points: tuple[tuple[float, float], ...]
    fill: str
    edge: str = ""


class Line(NamedTuple):
    """From one point to another."""

    x: float
    y: float
    to_x: float
    to_y: float
    colour: str
    width: float = 1


class Label(NamedTuple):
    """Words whose middle is at a point; `size` is that of the letters."""

    x: float
    y: float
    text: str
    size: float
    colour: str = INK


Shape = Rectangle | Circle | Polygon | Line | Label


class Part(NamedTuple):
    """A piece that moves as a whole: shapes, with their (0, 0) at `x`, `y` of the picture."""

    name: str
    shapes: tuple[Shape, ...]
    x: float = 0
    y: float = 0


class Span(NamedTuple):
    """Characters on a terminal, on a ground of this colour if any."""

    text: str
    fill: str = ""


class Picture(NamedTuple):
    """Parts in the order in which they are drawn, the ground first; nothing reaches beyond `width` and `height`.

    `rows` is the picture on a terminal. A picture that has none looks there like the text of its configuration. If
    `boxed`, each row has a span for each cell, and a terminal with room draws a line around equal letters.
    """

    width: float
    height: float
    parts: tuple[Part, ...]
    rows: tuple[tuple[Span, ...], ...] = ()
    boxed: bool = False
