"""The pieces of a sliding board: shapes, places, keys, symmetries, and their moves by the reference rules."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import Key
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.pictures import GOAL, Lettered, Picture, Scene, block_pictures, board_text, followed, of_kind
from hakoiri.puzzles.sliding_blocks import shapes
from hakoiri.puzzles.sliding_blocks.boards import MOST_CELLS, Cell, Cells, ParsedBoard, describe_steps
from hakoiri.puzzles.sliding_blocks.numbering import Words, number_cells
from hakoiri.puzzles.sliding_blocks.shapes import COLUMN, DIRECTIONS, Axes, Corner, Shape, extent_of, shape_of

_BLANK: Shape = ((0, 0),)
#: The value for no kind.
NO_KIND = -1
#: The most pieces of a goal that are named, and drawn in the colour of goals; a goal of more is shown as a board.
_MOST_SAID = 3


class Kind(NamedTuple):
    """Interchangeable pieces, or the blanks: their shape, how many there are, and what they cover by corner.

    Pieces of a kind that has `letters` are distinct from all others. All may be bound to an `axis`. `typed` are the
    letters of the pieces on the board of the start, in the order of `PieceSet.lettered`.
    """

    shape: Shape
    letters: str
    axis: str
    typed: str
    total: int
    places: dict[Corner, Cells]


class PlacedPiece(NamedTuple):
    """A piece on the board: the number of its kind and the top left corner of its bounding box."""

    kind: int
    corner: Corner


class PieceSet:
    """The kinds of pieces that a board has. The large ones come first, the blank last.

    The `distinct` letters of the board are kinds of their own, after the common kind of their shape; so are letters
    that are bound to an axis, those of one shape and axis together.

    Attributes: `rows`, `columns`, `walls`; `free`, all cells that are no walls; `first`, the pieces by their letters;
    `kinds`, and how many of each there are, `counts`. `blank` is the number of the last kind, `standing` what begins at
    a cell, by kind and cell. `letters` are those of the distinct pieces. `numbers`, `stride`: `tables.number_cells`.
    """

    def __init__(self, board: ParsedBoard, distinct: Collection[str] = (), axes: Axes = Axes()) -> None:  # noqa: B008
        self.rows, self.columns, self.walls = board.rows, board.columns, board.walls
        self.free = frozenset(range(self.rows * self.columns)) - self.walls
        self.numbers, self.stride = number_cells(self.free, self.columns)
        by_letter = {letter: shape_of(cells, self.columns) for letter, cells in board.pieces.items()}
        self._named = shapes.letters_kept(by_letter, distinct, axes)
        alike: dict[tuple[Shape, str], list[str]] = {}
        for letter, shape in by_letter.items():
            alike.setdefault((shape, self._named.get(letter, "")), []).append(letter)
        order = sorted(alike, key=lambda kind: (-len(kind[0]), kind))
        self.kinds = []
        for shape, letters in order:
            axis, typed = axes.of(shape, letters[:1]), alike[shape, letters]
            typed.sort(key=lambda letter: _along_axis(axis, self._corner(board.pieces[letter])))
            self.kinds.append(Kind(shape, letters, axis, "".join(typed), len(typed), self._places(shape)))
        self.kinds.append(Kind(_BLANK, "", "", "", len(board.blanks), self._places(_BLANK)))
        self.blank, self.counts = len(order), tuple(kind.total for kind in self.kinds)
        self._numbers = {kind: number for number, kind in enumerate(order)}
        self.letters = frozenset(self._named)
        self._cells = {
            PlacedPiece(number, corner): cells for number, kind in enumerate(self.kinds)
            for corner, cells in kind.places.items()
        }  # fmt: skip
        self.standing = {(piece.kind, min(cells)): piece for piece, cells in self._cells.items()}
        self.first = self.lettered([self.place(cells, letter) for letter, cells in board.pieces.items()])
        #: The piece one step on in each of the directions; ``None`` where the board ends, a wall is, or its axis not.
        self._steps = {
            piece: [self._moved(piece, direction) for direction in range(len(DIRECTIONS))] for piece in self._cells
        }

    def _places(self, shape: Shape) -> dict[Corner, Cells]:
        height, width = extent_of(shape)
        places = {
            (top, left): frozenset((top + row) * self.columns + left + column for row, column in shape)
            for top in range(self.rows - height + 1)
            for left in range(self.columns - width + 1)
        }
        return {corner: cells for corner, cells in places.items() if cells <= self.free}

    def bits(self, cells: Cells) -> Cells:
        """Return the numbers that free cells have in kernels."""
        return frozenset(map(self.numbers.__getitem__, cells))

    def kind_of(self, cells: Cells, letter: str) -> int:
        """The number of the kind of a piece that covers these cells; `NO_KIND` if the board has none.

        A `letter` counts where it is that of a distinct piece.
        """
        return self._numbers.get((shape_of(cells, self.columns), self._named.get(letter, "")), NO_KIND)

    def place(self, cells: Cells, letter: str) -> PlacedPiece:
        """The piece with this letter that covers these cells; `ConfigurationError` if the board has none such."""
        kind = self.kind_of(cells, letter)
        if kind == NO_KIND:
            shape, others = shapes.shape_name(shape_of(cells, self.columns)), sorted(self.letters)
            if letter in self.letters:
                raise ConfigurationError(f"piece {letter} is distinct, and its shape is not {shape}")
            besides = f", apart from the distinct pieces {','.join(others)}" if others else ""
            raise ConfigurationError(f"no piece of the board has the shape of {letter}, {shape}{besides}")
        return PlacedPiece(kind, self._corner(cells))

    def _corner(self, cells: Cells) -> Corner:
        return min(cell // self.columns for cell in cells), min(cell % self.columns for cell in cells)

    def cells(self, piece: PlacedPiece) -> Cells:
        return self._cells[piece]

    def amount(self, kind: int) -> str:
        """Return the number of pieces of a kind, in words."""
        total, plural = self.counts[kind], "s" if self.counts[kind] != 1 else ""
        if kind == self.blank:
            return f"{total} empty cell{plural}"
        named = f" {letters}" if (letters := self.kinds[kind].letters) else ""
        return f"{total} piece{plural}{named} of {shapes.shape_name(self.kinds[kind].shape)}"

    def unpack(self, key: Key) -> list[PlacedPiece]:
        """The pieces in the order of their first cells."""
        pieces = []
        free = set(self.free)
        for kind in shapes.sequence_of(key, self.counts):
            standing = self.standing[kind, min(free)]
            free -= self.cells(standing)
            if kind != self.blank:
                pieces.append(standing)
        return pieces

    def pack(self, pieces: Iterable[PlacedPiece]) -> Key:
        """The key of pieces in any order; they must be the right ones and must not overlap."""
        covered = {cell for piece in pieces for cell in self.cells(piece)}
        begins = {min(self.cells(piece)): piece.kind for piece in pieces}
        begins |= dict.fromkeys(self.free - covered, self.blank)
        return shapes.number_of([begins[cell] for cell in sorted(begins)], self.counts)

    def lettered(self, pieces: Iterable[PlacedPiece]) -> dict[str, PlacedPiece]:
        """The pieces by the letters of the start: those of a kind in reading order, on columns column by column.

        So pieces that are bound to an axis, which cannot pass each other, keep their letters on every board.
        """
        letters = [iter(kind.typed) for kind in self.kinds]
        ordered = sorted(pieces, key=lambda piece: _along_axis(self.kinds[piece.kind].axis, piece.corner))
        return {next(letters[piece.kind]): piece for piece in ordered}

    def text(self, marks: Lettered) -> str:
        """The text of a board with these letters and marks on their cells."""
        return board_text(marks, self.rows * self.columns, self.columns, self.walls)

    def blanks(self, pieces: Iterable[PlacedPiece]) -> Cells:
        """The cells that these pieces leave empty."""
        return self.free.difference(*map(self._cells.__getitem__, pieces))

    def fit(self, pieces: Collection[PlacedPiece]) -> bool:
        """Return whether pieces are on the board and do not overlap."""
        if not all(piece in self._cells for piece in pieces):
            return False
        taken = [cell for piece in pieces for cell in self._cells[piece]]
        return len(taken) == len(set(taken))

    def on_one_line(self, piece: PlacedPiece, other: PlacedPiece) -> bool:
        """Return whether two pieces are of one kind, and the axis lets one reach the other's place."""
        axis = self.kinds[piece.kind].axis
        reaches = axis == "" or piece.corner[axis == COLUMN] == other.corner[axis == COLUMN]
        return piece.kind == other.kind and reaches

    def able(self, wish: PlacedPiece) -> str:
        """Return the letters of the pieces that may get from the start to a place, as far as their axis lets them."""
        return "".join(letter for letter, piece in self.first.items() if self.on_one_line(piece, wish))

    def slides(self, piece: PlacedPiece, free: Cells, longest: int) -> list[PlacedPiece]:
        """Return the places of `piece` after up to `longest` steps in one direction; `free` cells include its own."""
        found = []
        for direction in range(len(DIRECTIONS)):
            target = piece
            for _ in range(longest):
                further = self._steps[target][direction]
                if further is None or not self._cells[further] <= free:
                    break
                found.append(target := further)
        return found

    def reach(self, piece: PlacedPiece, free: Cells) -> dict[PlacedPiece, PlacedPiece | None]:
        """Return every place that `piece` can be pushed to over free cells -> the place before it, nearest first."""
        before: dict[PlacedPiece, PlacedPiece | None] = {piece: None}
        queue = deque([piece])
        while queue:
            here = queue.popleft()
            for there in self._steps[here]:
                if there is not None and there not in before and self._cells[there] <= free:
                    before[there] = here
                    queue.append(there)
        return before

    def way(self, piece: PlacedPiece, target: PlacedPiece, free: Cells) -> list[Corner]:
        """The corners that `piece` passes on a shortest way to `target`."""
        before = self.reach(piece, free)
        way: list[Corner] = []
        here: PlacedPiece | None = target
        while here is not None:
            way.append(here.corner)
            here = before[here]
        return way[::-1]

    def _moved(self, piece: PlacedPiece, direction: int) -> PlacedPiece | None:
        down, right = DIRECTIONS[direction]
        there = PlacedPiece(piece.kind, (piece.corner[0] + down, piece.corner[1] + right))
        bound = direction not in shapes.ALONG[self.kinds[piece.kind].axis]
        return there if there in self._cells and not bound else None


def _along_axis(axis: str, corner: Corner) -> Corner:
    """Return the key that sorts corners of pieces: by rows, on columns by columns."""
    return corner if axis != COLUMN else corner[::-1]


# Tables of the image of each kind of piece at each cell by a symmetry: ``[kind, first cell]`` is `MOST_CELLS` times the
# kind of the image, plus its first cell.


def reflections(pieces: PieceSet) -> list[Words]:
    """Return the reflections that the board has: left to right, upside down, and both."""
    tables = (images_by(pieces, *flips) for flips in ((True, False), (False, True), (True, True)))
    return [table for table in tables if table is not None]


def exchanges(pieces: PieceSet) -> list[Words]:
    """Each kind of pieces and the next one that differs in nothing but its letters trade places."""
    found = []
    alike: dict[tuple[Shape, str, int], int] = {}
    for number, kind in enumerate(pieces.kinds[:-1]):
        other = alike.get(mark := (kind.shape, kind.axis, kind.total))
        alike[mark] = number
        if other is not None:
            symbols = np.arange(len(pieces.kinds))
            symbols[[number, other]] = other, number
            found.append((symbols[:, None] * MOST_CELLS + np.arange(MOST_CELLS)).astype(np.uint64))
    return found


def images_by(pieces: PieceSet, across: bool, down: bool) -> Words | None:
    """Return images of pieces reflected left to right if `across`, upside down if `down`; ``None`` if asymmetric."""

    def mirrored(cell: Cell) -> Cell:
        row, column = divmod(cell, pieces.columns)
        row, column = pieces.rows - 1 - row if down else row, pieces.columns - 1 - column if across else column
        return row * pieces.columns + column

    if frozenset(map(mirrored, pieces.walls)) != pieces.walls:
        return None
    images = np.zeros((len(pieces.kinds), MOST_CELLS), dtype=np.uint64)
    for number, kind in enumerate(pieces.kinds):
        for cells in kind.places.values():
            there = frozenset(map(mirrored, cells))
            image = number if number == pieces.blank else pieces.kind_of(there, kind.letters[:1])
            if image == NO_KIND or pieces.kinds[image].total != kind.total:
                return None
            images[number, min(pieces.bits(cells))] = image * MOST_CELLS + min(pieces.bits(there))
    return images


class Blocks(Puzzle):
    """The base of puzzles of sliding blocks: boards as text, and moves by the reference rules.

    Option `metric`: ``unit`` is one step, ``straight`` any distance in one direction, ``finger`` any way at all.
    """

    undirected = paired = True
    notation = "arrows"
    pieces: PieceSet
    #: Pieces and blanks that must be in their places; empty without a goal.
    wishes: frozenset[PlacedPiece]

    def unpack(self, key: Key) -> list[PlacedPiece]:
        return self.pieces.unpack(key)

    def pack(self, standing: list[PlacedPiece]) -> Key:
        """The key of pieces in any order; they must be the right ones and must not overlap."""
        return self.pieces.pack(standing)

    def successors(self, key: Key) -> list[Key]:
        board, metric, standing = self.pieces, self.parameters["metric"], self.unpack(key)
        blanks, longest, found = board.blanks(standing), 1 if metric == "unit" else max(board.rows, board.columns), []
        for piece in standing:
            free = blanks | board.cells(piece)
            targets = list(board.reach(piece, free))[1:] if metric == "finger" else board.slides(piece, free, longest)
            rest = [other for other in standing if other is not piece]
            found += [self.pack([*rest, target]) for target in targets]
        return found

    def render(self, key: Key) -> str:
        board = self.pieces
        return board.text({letter: board.cells(piece) for letter, piece in board.lettered(self.unpack(key)).items()})

    def describe_move(self, before: Key, after: Key) -> str:
        """The letter of the piece and its way, e.g. ``"E down"`` or, by the finger metric, ``"G right, down"``."""
        return self.describe_moves([before, after])[0]

    def describe_moves(self, path: list[Key]) -> list[str]:
        """The moves by the letters of the first board."""
        boards = [set(self.unpack(key)) for key in path]
        letters = {piece: letter for letter, piece in self.pieces.lettered(boards[0]).items()}
        moves = []
        for standing, later in pairwise(boards):
            (moved,), (target,) = standing - later, later - standing
            letters[target] = letter = letters.pop(moved)
            way = self.pieces.way(moved, target, self.pieces.blanks(standing) | self.pieces.cells(moved))
            moves.append(f"{letter} {describe_steps(way)}")
        return moves

    def render_path(self, path: list[Key]) -> list[str]:
        return [self.pieces.text(board) for board in self._followed(path)]

    def goal_text(self) -> str:
        """Return the letters of each piece of the goal and its place; if they are many, the goal as a board."""
        aims = self._aims
        if len(aims) > _MOST_SAID:
            return str(self.parameters["goal"])
        said = []
        for wish, letters in aims.items():
            row, column = wish.corner
            named, kind = f"{'any of ' if len(letters) > 1 else ''}{' '.join(letters)}", self.pieces.kinds[wish.kind]
            if kind.axis == shapes.ROW and column + extent_of(kind.shape)[1] == self.pieces.columns:
                said.append(f"{named} at the right edge of row {row + 1}")
            else:
                said.append(f"{named} ({shapes.shape_name(kind.shape)}) at row {row + 1} column {column + 1}")
        return ", ".join(said)

    def pictures(self, path: list[Key]) -> list[Picture]:
        """The boards; pieces of a kind have one colour, those that the goal means have their own."""
        board, first = self.pieces, self.pieces.lettered(self.unpack(path[0]))
        aims = self._aims
        colours = {letter: of_kind(piece.kind) for letter, piece in first.items()}
        if len(aims) <= _MOST_SAID:
            colours |= dict.fromkeys("".join(aims.values()), GOAL)
        axes = {letter: board.kinds[piece.kind].axis for letter, piece in first.items()}
        targets = [(board.cells(wish), board.kinds[wish.kind].axis) for wish in aims]
        scene = Scene(board.rows, board.columns, board.walls, colours, axes, targets)
        return block_pictures(self._followed(path), scene)

    def alike(self, key: Key) -> Mapping[str, int]:
        pieces = self.pieces.lettered(self.unpack(key))
        # Pieces on an axis keep their letters, so each is itself.
        return {
            letter: len(self.pieces.kinds) + number if self.pieces.kinds[piece.kind].axis else piece.kind
            for number, (letter, piece) in enumerate(pieces.items())
        }

    @cached_property
    def _aims(self) -> dict[PlacedPiece, str]:
        """Return the places in the goal, and the letters of the pieces that may get there."""
        wishes = sorted(wish for wish in self.wishes if wish.kind != self.pieces.blank)
        return {wish: self.pieces.able(wish) for wish in wishes}

    def _followed(self, path: list[Key]) -> list[Lettered]:
        """The boards of a path; each piece keeps the letter that it has on the first one."""
        boards = [{self.pieces.cells(piece): piece.kind for piece in self.unpack(key)} for key in path]
        first = self.pieces.lettered(self.unpack(path[0]))
        return followed({(self.pieces.cells(piece), piece.kind): letter for letter, piece in first.items()}, boards)
