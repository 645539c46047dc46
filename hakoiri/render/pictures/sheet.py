"""Combines pictures with captions, and side by side, into one picture."""

from collections.abc import Sequence
from itertools import zip_longest

from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.pictures.shapes import Label, Part, Picture

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
