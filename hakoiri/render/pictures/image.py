"""A picture as an image of pixels: drawn larger and reduced, so that edges are smooth."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hakoiri.puzzles.pictures.shapes import Circle, Label, Line, Picture, Polygon, Rectangle, Shape
from hakoiri.render.pictures.svg import EDGE_WIDTH, MARGIN, PAPER

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

#: The factor by which it is drawn larger.
_SMOOTH = 3
#: Pixels of the longer side: small pictures are enlarged up to it, at most twice.
_LARGE = 800


def image(picture: Picture, most: float = 2) -> "Image":
    """Return a picture on white, enlarged at most `most` times."""
    from PIL import Image, ImageDraw

    width, height = picture.width + 2 * MARGIN, picture.height + 2 * MARGIN
    scale = max(1.0, min(most, _LARGE / max(width, height)))
    size = round(width * scale) * _SMOOTH, round(height * scale) * _SMOOTH
    drawn = Image.new("RGB", size, PAPER)
    pen = _Pen(ImageDraw.Draw(drawn), scale * _SMOOTH)
    for part in picture.parts:
        for shape in part.shapes:
            pen.draw(shape, MARGIN + part.x, MARGIN + part.y)
    return drawn.reduce(_SMOOTH)


class _Pen:
    """Draws shapes relative to a given origin."""

    def __init__(self, draw: "ImageDraw", scale: float) -> None:
        self._draw, self._scale = draw, scale
        self._edge = max(1, round(EDGE_WIDTH * scale))

    def draw(self, shape: Shape, left: float, top: float) -> None:
        scale, draw = self._scale, self._draw

        def at(x: float, y: float) -> tuple[float, float]:
            return (left + x) * scale, (top + y) * scale

        match shape:
            case Rectangle(x, y, width, height, fill, radius, edge):
                # The last pixel is inclusive.
                corners = (*at(x, y), *(value - 1 for value in at(x + width, y + height)))
                draw.rounded_rectangle(corners, radius * scale, fill, edge or None, self._edge if edge else 0)
            case Circle(x, y, radius, fill, edge):
                corners = (*at(x - radius, y - radius), *at(x + radius, y + radius))
                draw.ellipse(corners, fill, edge or None, self._edge if edge else 0)
            case Polygon(points, fill, edge):
                corners_of = [at(*point) for point in points]
                draw.polygon(corners_of, fill)
                if edge:
                    draw.line([*corners_of, *corners_of[:2]], edge, self._edge, "curve")
            case Line(x, y, to_x, to_y, colour, width):
                draw.line([at(x, y), at(to_x, to_y)], colour, max(1, round(width * scale)))
            case Label(x, y, words, size, colour):
                draw.text(at(x, y), words, colour, _font(round(size * scale)), "mm")


@cache
def _font(size: int) -> "FreeTypeFont":
    """Return the font that comes with matplotlib: the same letters on every machine."""
    import matplotlib as mpl
    from PIL import ImageFont

    return ImageFont.truetype(Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size)
