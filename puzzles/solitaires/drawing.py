"""What a field of cards looks like."""

from collections.abc import Sequence

from puzzles.pictures.shapes import Circle, Label, Part, Picture, Rectangle
from puzzles.solitaires.cards import BLANK, Deck

_WIDTH, _HEIGHT, _GAP, _MARGIN = 44, 56, 4, 8
_TABLE, _CARD, _HOLE = "#dfe8e0", "#ffffff", "#cfdad1"
#: One colour for each suit, dark enough to be read on white; and its sign, where the suits have letters.
_COLOURS = ("#c0392b", "#b35900", "#0059a8", "#1b1b1b")
_SIGNS = {"H": "♥", "D": "♦", "S": "♠", "C": "♣"}


def draw_field(rows: Sequence[Sequence[str]], deck: Deck) -> Picture:
    """The words of each row, a card each or a blank."""
    width = len(rows[0]) * (_WIDTH + _GAP) - _GAP + 2 * _MARGIN
    height = len(rows) * (_HEIGHT + _GAP) - _GAP + 2 * _MARGIN
    holes, cards = [Rectangle(0, 0, width, height, _TABLE, 8)], []
    for row, words in enumerate(rows):
        for column, word in enumerate(words):
            x, y = _MARGIN + column * (_WIDTH + _GAP), _MARGIN + row * (_HEIGHT + _GAP)
            holes.append(Rectangle(x, y, _WIDTH, _HEIGHT, _HOLE, 5))
            if word != BLANK:
                cards.append(_card(word, _COLOURS[deck.suits.index(word[0])], x, y))
    return Picture(width, height, (Part("table", tuple(holes)), *cards))


def _card(word: str, colour: str, x: float, y: float) -> Part:
    paper = Rectangle(0, 0, _WIDTH, _HEIGHT, _CARD, 5, colour)
    middle = _WIDTH / 2
    sign = _SIGNS.get(word[0])
    mark = Label(middle, 40, sign, 18, colour) if sign else Circle(middle, 41, 5, colour)
    return Part(word, (paper, Label(middle, 18, word, 19, colour), mark), x, y)
