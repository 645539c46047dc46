"""The picture of any text: a piece for each character of a row, or for each word where there are blanks."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from zlib import crc32

from hakoiri.puzzles.pictures.colours import distinct, ink
from hakoiri.puzzles.pictures.shapes import BED, EDGE, GROUND, Label, Part, Picture, Rectangle, Shape

_CELL, _GAP, _RADIUS = 40, 2, 5
#: Width of a character of words, as a part of their size.
_WIDTH, _SIZE = 0.66, 20
#: No piece for these: nothing is there. This is a wall.
_NOTHING, _WALL = (".", " ", ".."), "#"
#: The number of colours for words that the first text does not have.
_OTHERS = 40
_Cell = tuple[int, int]


def text_pictures(texts: Sequence[str], start: str = "") -> list[Picture]:
    """The pictures of texts that belong together; what reads the same has the same colour, given by the text `start`.

    A word that is elsewhere in the next text is the same piece. Where there is but one sign, such as ``*``, the colour
    alone says where it is.
    """
    boards = [_words_of(text) for text in texts]
    usual = dict.fromkeys(word for word in _words_of(start).values() if _is_piece(word))
    colours = {word: distinct(number) for number, word in enumerate(usual)}
    found = {word for board in boards for word in board.values() if _is_piece(word)}
    colours |= {word: distinct(len(usual) + crc32(word.encode()) % _OTHERS) for word in found - usual.keys()}
    wide = max((len(word) for board in boards for word in board.values()), default=1)
    width = max(_CELL, round(_SIZE * _WIDTH * wide) + 16)
    across, down = (1 + max((cell[axis] for board in boards for cell in board), default=0) for axis in (1, 0))
    extent = across * width, down * _CELL
    return [
        Picture(*extent, (_ground(board, width, extent), *_pieces(board, named, colours, width)))
        for board, named in zip(boards, _followed(boards), strict=True)
    ]


def _words_of(text: str) -> dict[_Cell, str]:
    """The words by row and column: those of a row with blanks, or its characters; a number or a key is one word."""
    rows = (row.split() if row.startswith("0x") or " " in row else list(row) for row in text.split("/"))
    return {(row, column): word for row, words in enumerate(rows) for column, word in enumerate(words)}


def _is_piece(word: str) -> bool:
    return word not in (*_NOTHING, _WALL)


def _followed(boards: Sequence[Mapping[_Cell, str]]) -> list[dict[_Cell, str]]:
    """The names of the pieces on each board: a word and a number. A word that left one cell for another keeps it."""
    numbers, known, before = count(1), dict[_Cell, str](), dict[_Cell, str]()
    found = []
    for board in boards:
        now = {cell: word for cell, word in board.items() if _is_piece(word)}
        named = {cell: name for cell, name in known.items() if now.get(cell) == before[cell]}
        left, come = sorted(known.keys() - named.keys()), sorted(now.keys() - named.keys())
        gone, new = Counter(before[cell] for cell in left), Counter(now[cell] for cell in come)
        moved = {before[cell]: known[cell] for cell in left if gone[before[cell]] == new[before[cell]] == 1}
        named |= {cell: moved.get(now[cell]) or f"{now[cell]} {next(numbers)}" for cell in come}
        found.append(named)
        known, before = named, now
    return found


def _ground(board: Mapping[_Cell, str], width: int, extent: tuple[int, int]) -> Part:
    shapes: list[Shape] = [Rectangle(0, 0, *extent, BED, _RADIUS)]
    for (row, column), word in board.items():
        fill, x, y = EDGE if word == _WALL else GROUND, column * width + _GAP, row * _CELL + _GAP
        shapes.append(Rectangle(x, y, width - 2 * _GAP, _CELL - 2 * _GAP, fill, _RADIUS))
    return Part("ground", tuple(shapes))


def _pieces(
    board: Mapping[_Cell, str], named: Mapping[_Cell, str], colours: Mapping[str, str], width: int
) -> list[Part]:
    parts = []
    for (row, column), name in sorted(named.items()):
        word = board[row, column]
        box = Rectangle(_GAP, _GAP, width - 2 * _GAP, _CELL - 2 * _GAP, colours[word], _RADIUS)
        plain = len(colours) == 1 and not any(map(str.isalnum, word))
        label = () if plain else (Label(width / 2, _CELL / 2, word, _SIZE, ink(colours[word])),)
        parts.append(Part(name, (box, *label), column * width, row * _CELL))
    return parts
