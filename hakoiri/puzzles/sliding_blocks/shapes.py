"""The shapes of pieces, the axes to which they are bound, and sequences of symbols by number."""

from collections.abc import Collection, Iterable, Mapping
from math import factorial
from types import MappingProxyType
from typing import NamedTuple

from hakoiri.errors import PuzzleError, did_you_mean
from hakoiri.keys.layout import Key
from hakoiri.puzzles.sliding_blocks.boards import ParsedBoard

#: The cells of a piece as (row, column), counted from the top left corner of its bounding box, in reading order.
Shape = tuple[tuple[int, int], ...]
#: The row and column of the top left corner of a bounding box.
Corner = tuple[int, int]

#: Up, right, down, left.
DIRECTIONS = ((-1, 0), (0, 1), (1, 0), (0, -1))
#: Each piece of one row, or of one column, of two cells or more moves along its length only.
BY_LENGTH = "rows-and-columns"
ROW, COLUMN = "row", "column"
#: The directions of a piece on an axis, by their places among `DIRECTIONS`; a piece on no axis is free.
ALONG = {ROW: (1, 3), COLUMN: (0, 2), "": (0, 1, 2, 3)}


def shape_of(cells: Iterable[int], columns: int) -> Shape:
    """Return the shape of some cells."""
    places = [divmod(cell, columns) for cell in sorted(cells)]
    top, left = min(row for row, _ in places), min(column for _, column in places)
    return tuple((row - top, column - left) for row, column in places)


def shape_name(shape: Shape) -> str:
    """Return rows x columns of a rectangle; other shapes are drawn."""
    height, width = extent_of(shape)
    if height * width == len(shape):
        return f"{height}x{width}"
    return "/".join("".join("x" if (row, column) in shape else "." for column in range(width)) for row in range(height))


def extent_of(shape: Shape) -> tuple[int, int]:
    """Rows and columns of the bounding box."""
    return 1 + max(row for row, _ in shape), 1 + max(column for _, column in shape)


class Axes(NamedTuple):
    """The bound pieces: all long ones `by_length`, or those with the `letters`, each to its axis."""

    by_length: bool = False
    letters: Mapping[str, str] = MappingProxyType({})

    def of(self, shape: Shape, letter: str) -> str:
        """The axis of a piece; empty for one that is free."""
        if not self.by_length:
            return self.letters.get(letter, "")
        rows, columns = {row for row, _ in shape}, {column for _, column in shape}
        if len(shape) == 1 or len(rows) > 1 < len(columns):
            return ""
        return ROW if len(rows) == 1 else COLUMN


def letters_kept(shapes: Mapping[str, Shape], distinct: Collection[str], axes: Axes) -> dict[str, str]:
    """The letters of each piece that has one on every board: its own, or those of its shape and axis."""
    bound = sorted(axes.letters.keys() - set(distinct))
    lines = {letter: (shapes[letter], axes.letters[letter]) for letter in bound}
    alike = {letter: "".join(other for other in bound if lines[other] == lines[letter]) for letter in bound}
    return {letter: letter for letter in distinct} | alike


def parse_axes(start: ParsedBoard, text: str) -> tuple[Axes, str]:
    """Return the axes of ``rows-and-columns``, or ``A:row,BC:column`` with letters of the start, and its one text.

    Raises `PuzzleError` for anything else.
    """
    if text == BY_LENGTH:
        return Axes(by_length=True), BY_LENGTH
    letters: dict[str, str] = {}
    for word in text.split(","):
        named, colon, axis = (part.strip() for part in word.partition(":"))
        if not colon:
            raise PuzzleError(f"expected {BY_LENGTH}, or A:{ROW},BC:{COLUMN}{did_you_mean(text, (BY_LENGTH,))}")
        for letter in named or " ":
            if letter not in start.pieces:
                raise PuzzleError(f"{letter!r} is not a piece of the board; its pieces are {''.join(start.pieces)}")
            if axis not in (ROW, COLUMN) or letters.get(letter, axis) != axis:
                raise PuzzleError(f"piece {letter} has two axes; expected one, {ROW} or {COLUMN}")
            letters[letter] = axis
    return Axes(letters=letters), ",".join(f"{letter}:{axis}" for letter, axis in sorted(letters.items()))


#: The number of symbols of each kind in a sequence.
Amounts = tuple[int, ...]


def count_sequences(amounts: Amounts) -> int:
    """Return the number of sequences of these symbols."""
    ways = factorial(sum(amounts))
    for amount in amounts:
        ways //= factorial(amount)
    return ways


def number_of(sequence: list[int], amounts: Amounts) -> Key:
    """The number of a sequence among all those of the same symbols."""
    key, ways, left = 0, count_sequences(amounts), list(amounts)
    for total, symbol in zip(range(len(sequence), 0, -1), sequence, strict=True):
        # The share of sequences that begin with a symbol is its share of the symbols left.
        key += ways * sum(left[:symbol]) // total
        ways = ways * left[symbol] // total
        left[symbol] -= 1
    return key


def sequence_of(key: Key, amounts: Amounts) -> list[int]:
    """The inverse of `number_of`; `key` must be below the number of all sequences."""
    sequence, ways, left = [], count_sequences(amounts), list(amounts)
    for total in range(sum(amounts), 0, -1):
        symbol = 0
        while key >= (beginning := ways * left[symbol] // total):
            key -= beginning
            symbol += 1
        sequence.append(symbol)
        ways = beginning
        left[symbol] -= 1
    return sequence
