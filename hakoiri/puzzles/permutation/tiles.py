"""Sliding tiles on a board of R x C cells with one blank: the 8-puzzle, the 15-puzzle and boards of other shapes.

A text has a row of the board for each row, joined by ``/``: tiles 1 to 9, then a to f, and ``.`` for the blank. The
solved board has the blank in the first cell and the tiles in order after it, such as ``.12/345/678``; or the tiles in
order and the blank in the last cell. That board, turned by half and its tiles counted down, is the first one, so the
keys and kernels of both are the same.

Keys are numbers 0, 1, 2, ... without a gap, those of the boards that slides can reach. Cells are counted along the
shorter sides of the board, here called lines; a tile has the number that its cell of the solved board has. Let d[i] be
how many of the tiles behind the i-th one are smaller; then

    key = (sum of d[i] * (m-1-i)! // 2) * cells + the cell of the blank        for m = cells - 1 tiles

The halving loses d[m-2], which is 0 or 1 and follows from the others. A slide along a line leaves the tiles in their
order, and one across lines passes (length of a line) - 1 other tiles. So the parity of the order changes with every
line if the length is even, and never if it is odd. On a board one cell wide tiles cannot pass each other.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import factorial

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import ConfigurationError, Hint, PuzzleError
from hakoiri.keys.layout import Key, Keys, Mask
from hakoiri.puzzles.contract import BitKernel, Expansion, Matching, Numbered, Orbits
from hakoiri.puzzles.options import Choice, Number
from hakoiri.puzzles.permutation.orders import digits_of, draw_tiles, number_of, order_of
from hakoiri.puzzles.permutation.tiles_kernels import expand_keys, expand_lines, find_boards, tables_of, write_images
from hakoiri.puzzles.permutation.tiles_spread import block_of, spread_keys, spread_tables
from hakoiri.puzzles.pictures import Picture
from hakoiri.puzzles.texts import marks_in, plain_rows, rows_in

#: The tiles of a board in the order of their cells, 0 for the blank.
Arrangement = list[int]
_Numbers = NDArray[np.int64]
_MOST_CELLS = 16
#: The least cells of boards with a kernel for bitmaps, and the cells of their lines: windows of longer lines have runs
#: that are too short to be moved, and their bitmaps do not fit in memory.
_LEAST_SPREAD, _SPREAD_LINES = 8, (2, 3)
#: Stands for any tile, or the blank.
_ANY = -1
_METRICS = ("single", "multi")
_LETTERS = ".123456789abcdef"
_DIRECTIONS = {(-1, 0): "up", (0, 1): "right", (1, 0): "down", (0, -1): "left"}


class Tiles(Numbered):
    """Options `rows` and `columns`, at most 16 cells in all.

    Option `metric`: by ``single`` a move is one tile by one cell, by ``multi`` any number of tiles in a line by one
    cell each: the blank goes any way along its row or column.

    Option `blank`: the place of the blank on the solved board. A start from which slides lead only to the solved board
    with the blank last has that one; if they lead to both, as on 3 x 3, it is first. Numbers may be decimal, ``0``,
    ``_`` or ``-`` is the blank, and a board may be one line, or a list of lists.

    Orbits: a reflection of the board, or an exchange of rows and columns where it is square, keeps all moves, and so
    does any renaming of the tiles. Let such a symmetry take the blank of one configuration to the blank of another.
    Then it and the one renaming that fits take the one configuration to the other, hence also the one's component to
    the other's. So two configurations of a component are alike if the cells of their blanks are.
    """

    notation = "arrows"
    name = "tiles"
    summary = "sliding tiles with one blank: the 8-puzzle, the 15-puzzle, any board of up to 16 cells"
    options = {
        "rows": Number(3, 1, _MOST_CELLS),
        "columns": Number(3, 1, _MOST_CELLS),
        "metric": Choice(_METRICS),
        "blank": Choice(("first", "last")),
    }
    undirected = paired = True

    asks_for = "blank"
    size_options = ("rows", "columns")

    @classmethod
    def members(cls, size: int) -> list[tuple[dict[str, str], int, str]]:
        """The boards of so many cells that have two rows or more, and no more rows than columns."""
        return [
            ({"rows": str(rows), "columns": str(size // rows)}, size // rows, f"{rows} rows")
            for rows in range(2, size)
            if size % rows == 0 and rows * rows <= size <= _MOST_CELLS
        ]

    def prepare(self, start: str | None) -> None:
        self.rows: int = self.parameters["rows"]
        self.columns: int = self.parameters["columns"]
        # Usual values are no parameters: runs were made before there were others.
        self._farthest = 1 if self.parameters["metric"] == "single" else _MOST_CELLS
        if self._farthest == 1:
            del self.parameters["metric"]
        self._cells: int = self.rows * self.columns
        if not 2 <= self._cells <= _MOST_CELLS:
            raise PuzzleError(f"{self.rows} rows x {self.columns} columns are {self._cells} cells; 2..16 are allowed")
        self._length = min(self.rows, self.columns)
        lines = self._cells // self._length
        self.number(self._cells if self._length == 1 else factorial(self._cells) // 2)
        sides = self.rows - 1, self.columns - 1
        self.most_successors = sum(min(side, 2) if self._farthest == 1 else side for side in sides)
        self._tables = tables_of(lines, self._length)
        # The cell of the board, in reading order, of each cell as keys count them; and the other way round.
        reading = np.arange(self._cells).reshape(self.rows, self.columns)
        self._outer: list[int] = (reading if self.columns == self._length else reading.T).ravel().tolist()
        self._inner = [self._outer.index(cell) for cell in range(self._cells)]
        # For each cell the first cell that a symmetry of the board takes it to.
        line, place = np.divmod(np.arange(lines * self._length), self._length)
        line, place = np.minimum(line, lines - 1 - line), np.minimum(place, self._length - 1 - place)
        if lines == self._length:
            line, place = np.minimum(line, place), np.maximum(line, place)
        self._classes: Orbits = (line * self._length + place).astype(np.int64)
        self._worth = np.array([factorial(place) for place in range(self._cells)])
        self._is_turned = self.parameters.pop("blank") == "last"
        if not self._is_turned and start is not None and not start.lower().startswith("0x"):
            board = self._read(start)
            last, first = self._leads_to(board, last=True), self._leads_to(board, last=False)
            self._is_turned = last and not first
            if last and first and "blank" not in self.given_options:
                solved = [self._text(self._solved(last=False)), self._text(self._solved(last=True))]
                self.start_notes = (
                    f"the start leads to both solved boards; the goal is {solved[0]}, the blank first; for {solved[1]} "
                    "add blank=last",
                )
        if self._is_turned:
            self.parameters["blank"] = "last"

    def expand(self, keys: Keys) -> Expansion:
        write = partial(expand_keys if self._farthest == 1 else expand_lines, keys, self._tables, self._length)
        return self.expansion(keys, self.most_successors, write, spare=_MOST_CELLS)

    @property
    def spread(self) -> BitKernel | None:
        """The kernel for bitmaps, of boards of `_LEAST_SPREAD` cells and more, but for 4 x 4."""
        if self._farthest > 1 or self._length not in _SPREAD_LINES or self._cells < _LEAST_SPREAD:
            return None
        lines, length, cells, block = self._cells // self._length, self._length, self._cells, block_of(self._cells)

        def write(words: NDArray[np.uint64], base: Key, marks: NDArray[np.uint64]) -> None:
            spread_keys(words, base, spread_tables(lines, length), cells, length, block, marks)

        return BitKernel(write, block)

    def orbits(self, keys: Keys) -> Orbits:
        """One number for each kind of cell that the blank can be on: corners, ..."""
        return np.asarray(self._classes[keys % self.layout.dtype.type(self._cells)])

    def symmetry_maps(self) -> Sequence[Callable[[Keys], Keys]]:
        """Reflections of the board, and two renamings of the tiles that give all even ones after each other."""
        if self._length == 1:
            return ()
        same, (cells, *_) = np.arange(self._cells), self._placings()
        three, long, exchanged = same.copy(), same.copy(), same.copy()
        three[[1, 2, 3]], exchanged[[1, 2]] = (2, 3, 1), (2, 1)
        # A cycle of an odd number of tiles is an even permutation.
        first = 1 + self._cells % 2
        long[first:] = np.roll(long[first:], 1)
        turned = [cells[::-1], cells[:, ::-1], *([cells.T] if len(cells) == self._length else [])]
        found = [(same, three), (same, long)]
        for places in (part.ravel() for part in turned):
            # Inverse to itself, so these are also the tiles of the solved board after it.
            fits = self._fits(places[places > 0].tolist(), int(places.argmin()))
            found.append((places, same if fits else exchanged))
        return [partial(self._image, places=places, names=names) for places, names in found]

    def mirrors(self) -> Sequence[Callable[[Keys], Keys]]:
        """Reflections, turns and transpositions of the board that keep the start if the tiles are renamed to fit."""
        board, names = self._turned(self.unpack(self.start)), np.empty(self._cells, dtype=np.int64)
        at, found = np.array([self._inner[board[cell]] for cell in self._outer]), []
        for places in self._placings()[1:] if self._length > 1 else ():
            names[at] = at[places.ravel()]
            if names[0] == 0:
                found.append(partial(self._image, places=places.ravel(), names=names.copy()))
        return found

    def _placings(self) -> list[_Numbers]:
        """Return where the cells go by each symmetry of the board, the identity first."""
        cells = np.arange(self._cells).reshape(-1, self._length)
        ways = [cells, *([cells.T] if len(cells) == self._length else [])]
        return [turned for way in ways for half in (way, way[::-1]) for turned in (half, half[:, ::-1])]

    def _image(self, keys: Keys, places: _Numbers, names: _Numbers) -> Keys:
        images = np.empty_like(keys)
        write_images(keys, places, names, self._worth, self._length, images)
        return images

    def successors(self, key: Key) -> list[Key]:
        board = self.unpack(key)
        blank = board.index(0)
        row, column = divmod(blank, self.columns)
        found = []
        for down, right in _DIRECTIONS:
            after, here = board.copy(), blank
            for far in range(1, self._farthest + 1):
                if not (0 <= row + far * down < self.rows and 0 <= column + far * right < self.columns):
                    break
                tile = (row + far * down) * self.columns + column + far * right
                after[here], after[tile], here = after[tile], 0, tile
                found.append(self.pack(after))
        return found

    def parse_text(self, text: str) -> Key:
        return self.pack(self._read(text))

    def match(self, pattern: str) -> Matching:
        board = self._turned(self._read(pattern, anything="?"))
        wanted = np.array([self._inner[tile] if tile >= 0 else tile for tile in (board[c] for c in self._outer)])

        def holds(keys: Keys) -> Mask:
            found = np.empty(len(keys), dtype=np.bool_)
            find_boards(keys, wanted, self._worth, self._length, found)
            return found

        return holds

    def _read(self, text: str, anything: str = "") -> Arrangement:
        """The tiles of a text in reading order; `_ANY` for `anything`."""
        letters = _LETTERS[: self._cells]
        text = re.sub("[_-]", ".", plain_rows(text))
        words = re.findall(r"[^\s,/]+", text)
        if re.search(r"[^/][\s,]+[^/]", text) and all(word in (".", anything) or word.isdecimal() for word in words):
            numbered = {str(tile): letter for tile, letter in enumerate(_LETTERS)}
            rows = (re.findall(r"[^\s,]+", row) for row in text.split("/"))
            text = "/".join("".join(numbered.get(word, word) for word in row) for row in rows)
        text = text.replace("0", ".")
        sizes = {"rows": text.count("/") + 1, "columns": len(text.partition("/")[0])}
        tiles = {".", anything, "/", *_LETTERS[: sizes["rows"] * sizes["columns"]]}
        are_tiles = {*text.lower()} <= tiles
        hints = [Hint("give", "option", f"{name}={size}") for name, size in sizes.items() if are_tiles]
        lines = rows_in(text, self.rows, self.columns, folded=True, hints=hints)
        board: Arrangement = []
        expected = f"a tile; the tiles are {letters[1:]}, the blank is '.'"
        for where, line, letter in marks_in(lines, {*letters, *letters.upper(), anything}, expected):
            tile = _ANY if letter == anything else letters.index(letter.lower())
            if tile in board and tile != _ANY:
                raise ConfigurationError(f"{where} {line!r}: {letter!r} appears twice")
            board.append(tile)
        return board

    def render(self, key: Key) -> str:
        return self._text(self.unpack(key))

    def describe_move(self, before: Key, after: Key) -> str:
        """The tiles and their way, e.g. ``"5 left"``, or of several, the foremost first, ``"5 6 left"``."""
        board, later = self.unpack(before), self.unpack(after)
        target, source = board.index(0), later.index(0)
        beside, sign = source // self.columns == target // self.columns, 1 if source > target else -1
        step = sign * (1 if beside else self.columns)
        tiles = " ".join(_LETTERS[board[cell]] for cell in range(target + step, source + step, step))
        return f"{tiles} {_DIRECTIONS[(0, -sign) if beside else (-sign, 0)]}"

    def pictures(self, path: list[Key]) -> list[Picture]:
        return [draw_tiles(self.render(key)) for key in path]

    def _leads_to(self, board: Arrangement, last: bool) -> bool:
        """Return whether slides lead from a board to the solved one, with the blank first or last."""
        self._is_turned = last
        with suppress(ConfigurationError):
            return self.pack(board) >= 0
        return False

    def _solved(self, last: bool) -> Arrangement:
        """Return the solved board with its blank first or last."""
        return [*range(1, self._cells), 0] if last else [*range(self._cells)]

    def _turned(self, board: Arrangement) -> Arrangement:
        """Return the board of keys for one of this puzzle, and the other way round."""
        if not self._is_turned:
            return board
        return [self._cells - tile if tile > 0 else tile for tile in reversed(board)]

    def unpack(self, key: Key) -> Arrangement:
        """The tiles in reading order."""
        half, blank = divmod(key, self._cells)
        order = [self._cells - 1 - tile for tile in reversed(order_of(2 * half, range(self._cells - 1)))]
        if not self._fits(order, blank):
            order[-2:] = order[:-3:-1]
        order.insert(blank, 0)
        return self._turned([self._outer[order[cell]] for cell in self._inner])

    def pack(self, board: Arrangement) -> Key:
        """The key of a board; `ConfigurationError` if no slides lead from the solved board to it."""
        solved = self._text(self._solved(self._is_turned))
        order = [self._inner[tile] for tile in map(self._turned(board).__getitem__, self._outer)]
        order.pop(blank := order.index(0))
        if self._length == 1 and order != sorted(order):
            raise ConfigurationError(
                f"the tiles must be in another order on {self._text(board)} than on {solved}, because they cannot pass "
                "each other on a board one cell wide"
            )
        if not self._fits(order, blank):
            raise ConfigurationError(
                f"{self._text(board)} cannot be reached from the solved board {solved}: its parity is odd "
                "(two tiles are exchanged)"
            )
        return number_of([-tile for tile in reversed(order)]) // 2 * self._cells + blank

    def _fits(self, order: list[int], blank: int) -> bool:
        """Return whether slides lead from the solved board to this order of tiles, in the cells and tiles of keys."""
        return (sum(digits_of(order)) + (blank // self._length if self._length % 2 == 0 else 0)) % 2 == 0

    def _text(self, board: Arrangement) -> str:
        text = "".join(_LETTERS[tile] for tile in board)
        return "/".join(text[begin : begin + self.columns] for begin in range(0, self._cells, self.columns))
