"""Pictures as SVG, as pixels, and on a terminal; several combined into one."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from itertools import product, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from hakoiri.errors import counted
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.pictures import Circle, Label, Line, Part, Picture, Polygon, Rectangle, Shape, Span, ink
from hakoiri.puzzles.sliding_blocks.boards import EMPTY, WALL
from hakoiri.render.tables import framed

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

#: The margin around a picture in a file of its own.
MARGIN = 12
PAPER, EDGE_WIDTH = "#ffffff", 1.5
#: Fonts of nearly the same widths, if the first is missing.
FONT = "DejaVu Sans, Verdana, sans-serif"
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def svg(picture: Picture, title: str) -> str:
    """Return a picture on white as a whole document; `title` is for those who cannot see it."""
    groups = []
    for part in picture.parts:
        place = f' transform="translate({number(part.x)} {number(part.y)})"' if part.x or part.y else ""
        groups.append(f'<g data-piece="{text(part.name)}"{place}>{shapes_svg(part.shapes)}</g>')
    return document(picture.width, picture.height, title, "\n".join(groups))


def document(width: float, height: float, title: str, body: str) -> str:
    """Return an SVG document whose content has this size, with a margin around it."""
    wide, high = number(width + 2 * MARGIN), number(height + 2 * MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
        f'viewBox="{-MARGIN} {-MARGIN} {wide} {high}" role="img" font-family="{FONT}" text-anchor="middle">\n'
        f"<title>{text(title)}</title>\n"
        f'<rect x="{-MARGIN}" y="{-MARGIN}" width="{wide}" height="{high}" fill="{PAPER}"/>\n{body}\n</svg>\n'
    )


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
        case Line(x, y, to_x, to_y, colour, width, dash):
            ends = _attributes(x1=x, y1=y, x2=to_x, y2=to_y)
            ends += f' stroke-dasharray="{number(dash)}"' if dash else ""
            return f'<line{ends} stroke="{text(colour or PAPER)}" stroke-width="{number(width)}"/>'
        case Label(x, y, words, size, colour):
            places = _attributes(x=x, y=y, dy=0.36 * size)
            return f'<text{places} font-size="{number(size)}" fill="{text(colour)}">{text(words)}</text>'


def _attributes(**values: float) -> str:
    return "".join(f' {name}="{number(value)}"' for name, value in values.items())


def _paint(fill: str, edge: str) -> str:
    return f' fill="{text(fill)}"' + (f' stroke="{text(edge)}" stroke-width="{EDGE_WIDTH}"' if edge else "")


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
    draw = ImageDraw.Draw(drawn)
    for part in picture.parts:
        for shape in part.shapes:
            _draw(draw, shape, MARGIN + part.x, MARGIN + part.y, scale * _SMOOTH)
    return drawn.reduce(_SMOOTH)


def _draw(draw: "ImageDraw", shape: Shape, left: float, top: float, scale: float) -> None:
    thick = max(1, round(EDGE_WIDTH * scale))

    def at(x: float, y: float) -> tuple[float, float]:
        return (left + x) * scale, (top + y) * scale

    match shape:
        case Rectangle(x, y, width, height, fill, radius, edge):
            # The last pixel is inclusive.
            corners = (*at(x, y), *(value - 1 for value in at(x + width, y + height)))
            draw.rounded_rectangle(corners, radius * scale, fill, edge or None, thick if edge else 0)
        case Circle(x, y, radius, fill, edge):
            corners = (*at(x - radius, y - radius), *at(x + radius, y + radius))
            draw.ellipse(corners, fill, edge or None, thick if edge else 0)
        case Polygon(points, fill, edge):
            corners_of = [at(*point) for point in points]
            draw.polygon(corners_of, fill)
            if edge:
                draw.line([*corners_of, *corners_of[:2]], edge, thick, "curve")
        case Line(x, y, to_x, to_y, colour, width, dash):
            # One dash as long as the line, or several that begin and end it.
            share = dash / math.dist((x, y), (to_x, to_y)) if dash else 1
            for number in range(round((1 / share + 1) / 2)):
                parts = 2 * number * share, (2 * number + 1) * share
                ends = [at(x + part * (to_x - x), y + part * (to_y - y)) for part in parts]
                draw.line(ends, colour or PAPER, max(1, round(width * scale)))
        case Label(x, y, words, size, colour):
            draw.text(at(x, y), words, colour, _font(round(size * scale)), "mm")


@cache
def _font(size: int) -> "FreeTypeFont":
    """Return the font that comes with matplotlib: the same letters on every machine."""
    import matplotlib as mpl
    from PIL import ImageFont

    return ImageFont.truetype(Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf", size)


WORDS, LINE, _APART = 15, 26, 28
#: Longer words are cut.
_MOST_WORDS = 60
#: Width of a letter, as a part of its size.
_WIDTH = 0.62


def titled(puzzle: Puzzle) -> str:
    """Return the title of pictures: the puzzle and its options, e.g. ``klotski, metric=unit``."""
    options = [f"{name}={value}" for name, value in puzzle.option_texts().items() if value]
    return ", ".join([puzzle.name, *options, *(["mirror images merged"] if isinstance(puzzle, Quotient) else [])])


def captioned(picture: Picture, words: str, width: float = 0, height: float = 0) -> Picture:
    """Return a picture with a caption below it; `width` and `height` are least sizes, without the caption."""
    words = words if len(words) <= _MOST_WORDS else f"{words[: _MOST_WORDS - 1]}…"
    width, height = max(picture.width, width, text_width(words)), max(picture.height, height)
    left = (width - picture.width) / 2
    parts = tuple(part._replace(x=part.x + left) for part in picture.parts)
    label = Label(width / 2, height + LINE / 2 + 4, words, WORDS)
    return Picture(width, height + LINE, (*parts, Part("words", (label,))))


def text_width(words: str) -> float:
    """Return the approximate width of words drawn by `captioned`."""
    return min(len(words), _MOST_WORDS) * WORDS * _WIDTH


def sheet(rows: Sequence[Sequence[Picture]], heading: Sequence[str]) -> Picture:
    """Return rows of pictures, the first the longest, below a heading; each column is as wide as its widest picture."""
    columns = zip_longest(*rows, fillvalue=Picture(0, 0, ()))
    widths = [max(picture.width for picture in column) for column in columns]
    inner = sum(widths) + _APART * (len(widths) - 1)
    width, top = max(inner, *(WORDS * _WIDTH * len(line) for line in heading)), LINE * len(heading) + 6.0
    lines = (Label(width / 2, LINE * (number + 0.5), line, WORDS) for number, line in enumerate(heading))
    parts = [Part("heading", tuple(lines))]
    for number, row in enumerate(rows, 1):
        left = (width - inner) / 2
        for place, (picture, room) in enumerate(zip(row, widths, strict=False), 1):
            x = left + (room - picture.width) / 2
            parts += [
                part._replace(name=f"{number}.{place} {part.name}", x=part.x + x, y=part.y + top)
                for part in picture.parts
            ]
            left += room + _APART
        top += max(picture.height for picture in row) + _APART / 2
    return Picture(width, top - _APART / 2, tuple(parts))


#: Brightness of red, green and blue on a terminal of 256 colours.
_LEVELS = (0, 95, 135, 175, 215, 255)
#: Background colours of a terminal of 16 colours, with contrast between neighbours.
_SIXTEEN = (
    "yellow", "bright_cyan", "green", "bright_yellow", "magenta", "red", "blue", "bright_green", "bright_magenta",
    "white", "bright_red", "bright_black", "cyan", "bright_blue", "bright_white",
)  # fmt: skip
#: The colours of a terminal of 256 colours by number, without the greys at the end.
_CUBE = {
    16 + 36 * red + 6 * green + blue: f"#{_LEVELS[red]:02x}{_LEVELS[green]:02x}{_LEVELS[blue]:02x}"
    for red, green, blue in product(range(6), repeat=3)
}


def _styles(console: Console, pictures: Sequence[Picture]) -> dict[str, str]:
    """Return a style for each background, all different while the terminal has colours left; empty for none."""
    fills = dict.fromkeys(span.fill for picture in pictures for row in picture.rows for span in row if span.fill)
    left, found = set(_CUBE), {"": ""}
    for number, fill in enumerate(fills):
        if console.color_system in ("standard", "windows"):
            found[fill] = f"black on {_SIXTEEN[number % len(_SIXTEEN)]}"
        elif console.color_system != "256":
            found[fill] = f"{ink(fill)} on {fill}"
        else:
            # The least squared distance in red, green and blue.
            wanted = bytes.fromhex(fill[1:])
            nearest = min(sorted(left or _CUBE), key=lambda one: math.dist(bytes.fromhex(_CUBE[one][1:]), wanted))
            left.discard(nearest)
            found[fill] = f"{ink(_CUBE[nearest])} on color({nearest})"
    return found


def print_picture(console: Console, text: str, picture: Picture) -> None:
    """Print one configuration, large: with a line around every piece if the rows of its picture are `boxed`."""
    styles = _styles(console, [picture])
    if picture.boxed:
        for number, line in enumerate(framed(text, picture.goal).splitlines()):
            console.print(_coloured(line, number, picture, styles))
        return
    spaced = "/" in text and " " not in text
    spans = picture.rows or [[Span(" ".join(row) if spaced else row)] for row in text.replace(WALL, " ").split("/")]
    for row in spans:
        console.print(_painted(row, styles), no_wrap=True, overflow="ignore", crop=False)


def _painted(row: Sequence[Span], styles: Mapping[str, str]) -> Text:
    return Text().join(Text(span.text, styles[span.fill]) for span in row)


def _coloured(line: str, number: int, picture: Picture, styles: Mapping[str, str]) -> Text:
    """Return a line of a framed board, its pieces on their colours."""
    text, rows = Text(line), picture.rows
    for place, character in enumerate(line):
        # A gap of the frame is on no colour.
        if (character == " " or character.isalnum()) and number % (2 * len(rows)) and place % (4 * len(rows[0])):
            span = rows[(number - 1) // 2][(place - 1) // 4]
            text.stylize(styles[span.fill if span.text != EMPTY else ""], place, place + 1)
    return text


def print_boards(console: Console, family: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print boards to play (`coordinator.session.job.Job.boards`) under their names, or else ranks, and moves."""
    puzzles = [family.member(row["board"], row["goal"]) for row in rows]
    titles = [f"{row.get('name') or rank}: {counted(row['moves'], 'moves')}" for rank, row in enumerate(rows, 1)]
    pictures = [puzzle.picture(puzzle.start) for puzzle in puzzles]
    print_side_by_side(console, [row["board"] for row in rows], titles, pictures)


def print_side_by_side(
    console: Console, texts: Sequence[str], titles: Sequence[str], pictures: Sequence[Picture]
) -> None:
    """Print configurations under their titles, as many per row as fit the console."""
    styles = _styles(console, pictures)
    drawn = zip(texts, pictures, strict=True)
    boards = [list(picture.rows or ([Span(row)] for row in text.split("/"))) for text, picture in drawn]
    width = 2 + max(*map(len, titles), *(_length(row) for board in boards for row in board))
    per_row = max(1, console.width // width)
    for begin in range(0, len(boards), per_row):
        group = boards[begin : begin + per_row]
        console.print(Text("".join(title.ljust(width) for title in titles[begin : begin + per_row]).rstrip(), "bold"))
        for line in range(max(map(len, group))):
            row = Text()
            for board in group:
                spans = board[line] if line < len(board) else ()
                row.append(_painted(spans, styles)).append(" " * (width - _length(spans)))
            row.rstrip()
            console.print(row)
        console.print()


def _length(spans: Sequence[Span]) -> int:
    return sum(len(span.text) for span in spans)
