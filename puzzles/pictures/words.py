"""The picture of any text: a cell for each character of a row, or a box for each word where there are blanks."""

from collections.abc import Sequence

from hakoiri.puzzles.pictures.colours import apart, ink
from hakoiri.puzzles.pictures.shapes import EDGE, GROUND, INK, Label, Part, Picture, Rectangle

_CELL, _GAP, _RADIUS = 40, 2, 5
#: Width of a character of words, as a part of their size.
_WIDTH, _SIZE = 0.66, 20
#: No ground for these: nothing is there. This is a wall.
_NOTHING, _WALL = (".", " ", ".."), "#"


def text_pictures(texts: Sequence[str]) -> list[Picture]:
    """The pictures of texts that belong together: what reads the same has the same colour on all of them.

    Where there is but one sign, such as ``*``, the colour alone says where it is.
    """
    boards = [[_words_of(row) for row in text.split("/")] for text in texts]
    words = dict.fromkeys(word for rows in boards for row in rows for word in row if word not in (*_NOTHING, _WALL))
    colours = apart(words, {}) if len(words) > 1 else dict.fromkeys(words, "#e69f00")
    wide = max((len(word) for rows in boards for row in rows for word in row), default=1)
    width = max(_CELL, round(_SIZE * _WIDTH * wide) + 16)
    across, down = max(len(row) for rows in boards for row in rows), max(map(len, boards))
    return [_picture(rows, colours, width, (across * width, down * _CELL)) for rows in boards]


def _words_of(row: str) -> list[str]:
    """The words of a row with blanks, or its characters; a number or a key is one word."""
    whole = row.startswith("0x") or " " in row
    return row.split() if whole else list(row)


def _picture(rows: list[list[str]], colours: dict[str, str], width: int, extent: tuple[int, int]) -> Picture:
    parts = [Part("ground", (Rectangle(0, 0, *extent, "#d9d4c9", _RADIUS),))]
    for row, words in enumerate(rows):
        for column, word in enumerate(words):
            fill = EDGE if word == _WALL else colours.get(word, GROUND)
            box = Rectangle(_GAP, _GAP, width - 2 * _GAP, _CELL - 2 * _GAP, fill, _RADIUS)
            colour = ink(fill) if word in colours else INK
            plain = word in (*_NOTHING, _WALL) or (len(colours) == 1 and not any(map(str.isalnum, word)))
            label = () if plain else (Label(width / 2, _CELL / 2, word, _SIZE, colour),)
            parts.append(Part(f"row {row + 1} column {column + 1}", (box, *label), column * width, row * _CELL))
    return Picture(*extent, tuple(parts))
