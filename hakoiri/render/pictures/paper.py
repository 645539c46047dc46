"""Pages of paper, drawn by matplotlib: pictures in black on white, and words. Lengths are points, y goes down."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hakoiri.puzzles.pictures.colours import GOAL
from hakoiri.puzzles.pictures.shapes import EDGE, Circle, Label, Line, Part, Picture, Polygon, Rectangle, Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_pdf import PdfPages

#: A4.
WIDTH, HEIGHT = 595.3, 841.9
_BLACK, _GREY, _WHITE = "#000000", "#d2d2d2", "#ffffff"
#: Widths of the lines of a board, and of its goal, in pixels of its picture.
_EDGE, _DASHED = 1.4, 2.5
_GOAL = "goal"


def printed(picture: Picture) -> Picture:
    """Return a board of pieces in black on white, its goal dashed on top and its pieces that have a goal grey.

    Other pictures are returned as they are.
    """
    if not picture.boxed:
        return picture
    ground, *pieces = picture.parts
    board = [
        shape._replace(fill=_BLACK if shape.fill == EDGE else _WHITE, edge=_BLACK if shape.edge else "")
        for shape in ground.shapes if isinstance(shape, Rectangle)
    ]  # fmt: skip
    goal = [
        line._replace(colour=_BLACK, width=max(line.width, _DASHED)) for line in ground.shapes if isinstance(line, Line)
    ]
    parts = [ground._replace(shapes=tuple(board)), *map(_outlined, pieces), Part(_GOAL, tuple(goal))]
    return picture._replace(parts=tuple(parts))


def _outlined(piece: Part) -> Part:
    boxes = [shape for shape in piece.shapes if isinstance(shape, Rectangle)]
    around = [
        box._replace(
            x=box.x - _EDGE, y=box.y - _EDGE, width=box.width + 2 * _EDGE, height=box.height + 2 * _EDGE,
            radius=box.radius and box.radius + _EDGE, fill=_BLACK,
        )
        for box in boxes
    ]  # fmt: skip
    inside = [box._replace(fill=_GREY if box.fill == GOAL else _WHITE) for box in boxes]
    rest = [shape._replace(colour=_BLACK) for shape in piece.shapes if isinstance(shape, Line | Label)]
    return piece._replace(shapes=(*around, *inside, *rest))


class Paper:
    """One page."""

    def __init__(self, axes: "Axes") -> None:
        self._axes = axes

    @classmethod
    @contextmanager
    def page(cls, pages: "PdfPages") -> Iterator["Paper"]:
        """Yield an empty page, which is added to `pages` at the end of the block."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(HEIGHT, 0)
        yield cls(axes)
        pages.savefig(figure)  # type: ignore[no-untyped-call]

    def text(
        self, x: float, y: float, words: str, size: float, bold: bool = False, align: str = "left", colour: str = _BLACK
    ) -> None:
        """Write words whose middle is at the height `y`; `align` is the side of them that is at `x`."""
        # A dollar sign would begin a formula.
        weight = "bold" if bold else "normal"
        self._axes.text(x, y, words, size=size, weight=weight, ha=align, va="center", color=colour, parse_math=False)

    def picture(self, picture: Picture, left: float, top: float, width: float, height: float) -> None:
        """Draw a picture as large as fits into a box, in the middle of it."""
        scale = min(width / picture.width, height / picture.height)
        left += (width - scale * picture.width) / 2
        top += (height - scale * picture.height) / 2
        for part in printed(picture).parts:
            for shape in part.shapes:
                self._draw(shape, left + scale * part.x, top + scale * part.y, scale, part.name == _GOAL)

    def _draw(self, shape: Shape, left: float, top: float, scale: float, dashed: bool) -> None:
        from matplotlib import patches

        def at(x: float, y: float) -> tuple[float, float]:
            return left + scale * x, top + scale * y

        look: dict[str, Any] = {
            "facecolor": getattr(shape, "fill", ""),
            "edgecolor": getattr(shape, "edge", "") or "none",
        }
        look |= {"linewidth": _EDGE * scale}
        match shape:
            case Rectangle(x, y, width, height, _, radius, _):
                box = f"round,pad=0,rounding_size={radius * scale}" if radius else "square,pad=0"
                corner = at(x, y)
                self._axes.add_patch(
                    patches.FancyBboxPatch(corner, width * scale, height * scale, boxstyle=box, **look)
                )
            case Circle(x, y, radius, _, _):
                self._axes.add_patch(patches.Circle(at(x, y), radius * scale, **look))
            case Polygon(points, _, _):
                self._axes.add_patch(patches.Polygon([at(*point) for point in points], **look))
            case Line(x, y, to_x, to_y, colour, width):
                ends = zip(at(x, y), at(to_x, to_y), strict=True)
                # An exit is thicker, and solid.
                style = (0, (2, 1)) if dashed and width <= _DASHED else "solid"
                self._axes.plot(*ends, color=colour, linewidth=width * scale, linestyle=style, solid_capstyle="butt")
            case Label(x, y, words, size, colour):
                self.text(*at(x, y), words, size * scale, align="center", colour=colour)
