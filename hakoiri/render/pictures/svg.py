"""A picture as an SVG document: the same picture gives the same bytes."""

import re
from html import escape

from hakoiri.puzzles.pictures.shapes import Circle, Label, Line, Part, Picture, Polygon, Rectangle, Shape

#: The margin around a picture in a file of its own.
MARGIN = 12
PAPER, EDGE_WIDTH = "#ffffff", 1.5
#: Fonts of nearly the same widths, if the first is missing.
FONT = "DejaVu Sans, Verdana, sans-serif"
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def svg(picture: Picture, title: str) -> str:
    """Return a picture on white as a whole document; `title` is for those who cannot see it."""
    body = "\n".join(part_svg(part) for part in picture.parts)
    return document(picture.width, picture.height, title, body)


def document(width: float, height: float, title: str, body: str) -> str:
    """Return an SVG document whose content has this size, with a margin around it."""
    wide, high = number(width + 2 * MARGIN), number(height + 2 * MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="{-MARGIN} {-MARGIN} {wide} {high}" role="img" font-family="{FONT}" text-anchor="middle">\n'
        f"<title>{text(title)}</title>\n"
        f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{wide}" height="{high}" fill="{PAPER}"/>\n{body}\n</svg>\n'
    )


def part_svg(part: Part) -> str:
    """Return a part as a group with its name."""
    place = f' transform="translate({number(part.x)} {number(part.y)})"' if part.x or part.y else ""
    return f'<g data-piece="{text(part.name)}"{place}>{shapes_svg(part.shapes)}</g>'


def shapes_svg(shapes: tuple[Shape, ...]) -> str:
    """Return shapes one after another."""
    return "".join(_shape(shape) for shape in shapes)


def text(words: str) -> str:
    """Return words, or the value of an attribute, escaped for XML; forbidden characters become question marks."""
    return escape(_NO_XML.sub("?", words))


def number(value: float) -> str:
    """Return a number of pixels, to a hundredth."""
    return f"{round(value, 2):.10g}"


def _shape(shape: Shape) -> str:
    match shape:
        case Rectangle(x, y, width, height, fill, radius, edge):
            places = _attributes(x=x, y=y, width=width, height=height) + (_attributes(rx=radius) if radius else "")
            return f"<rect{places}{_paint(fill, edge)}/>"
        case Circle(x, y, radius, fill, edge):
            return f"<circle{_attributes(cx=x, cy=y, r=radius)}{_paint(fill, edge)}/>"
        case Polygon(points, fill, edge):
            corners = " ".join(f"{number(x)},{number(y)}" for x, y in points)
            return f'<polygon points="{corners}"{_paint(fill, edge)} stroke-linejoin="round"/>'
        case Line(x, y, to_x, to_y, colour, width):
            ends = _attributes(x1=x, y1=y, x2=to_x, y2=to_y)
            return f'<line{ends} stroke="{text(colour)}" stroke-width="{number(width)}"/>'
        case Label(x, y, words, size, colour):
            places = _attributes(x=x, y=y, dy=0.36 * size)
            return f'<text{places} font-size="{number(size)}" fill="{text(colour)}">{text(words)}</text>'


def _attributes(**values: float) -> str:
    return "".join(f' {name}="{number(value)}"' for name, value in values.items())


def _paint(fill: str, edge: str) -> str:
    return f' fill="{text(fill)}"' + (f' stroke="{text(edge)}" stroke-width="{EDGE_WIDTH}"' if edge else "")
