"""Sliding blocks on any board of up to 64 cells: pieces of any shape, walls, and a goal of one's own.

A configuration is the sequence of what begins at the free cells in reading order, a key its number among all such
sequences (`puzzles.sliding_blocks.sliding_kernels`). Pieces of equal shape are interchangeable, and letters mean
nothing. That takes 19 bits for the pieces of Hakoiri-musume, and 92 at most for whatever fits on 64 cells.
"""

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import factorial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from puzzles.contract import Expansion, Puzzle
from puzzles.errors import ConfigurationError, PuzzleError
from puzzles.keys.layout import Key, Keys, Mask, narrowest
from puzzles.options import Choice, Option, Text
from puzzles.sliding_blocks.boards import ANYTHING, EMPTY, WALL, Board, Cells, describe_steps, parse_board, render_cells
from puzzles.sliding_blocks.sliding_kernels import (
    ANY,
    METRICS,
    OVERFLOW,
    Words,
    expand_keys,
    find_goals,
    least_images,
    list_keys,
    make_stack,
    make_tables,
)

_DIRECTIONS = ((-1, 0), (0, 1), (1, 0), (0, -1))
_EXAMPLE = "AABB/AACC/DE../FGHH/FGII"
#: `configurations` lists no more keys at a time.
_BLOCK = 1 << 20

#: The cells of a piece as (row, column), counted from the top left corner of its bounding box, in reading order.
Shape = tuple[tuple[int, int], ...]
Corner = tuple[int, int]

_BLANK: Shape = ((0, 0),)
#: The number of a kind that there is not.
_NONE = -1


class Kind(NamedTuple):
    """The pieces of one shape, or the blanks: how many there are, and the cells they cover by where they stand."""

    shape: Shape
    total: int
    places: dict[Corner, Cells]


class Standing(NamedTuple):
    """A piece on the board: the number of its kind and the top left corner of its bounding box."""

    kind: int
    corner: Corner


class Sliding(Puzzle):
    """The start says which pieces and walls there are. Option `metric` is what counts as one move of one piece.

    ``unit`` is one step, ``straight`` any distance in one direction, ``finger`` any way at all. Option `goal` is a
    board with ``*`` for anything, or ``PIECE@ROW,COLUMN``: a piece of the shape that this letter has in the start
    stands there with the top left corner of its bounding box. It is pinned as a board.
    """

    name = "sliding"
    summary = "sliding blocks of any shape on a board of one's own (--from BOARD)"
    options: Mapping[str, Option] = MappingProxyType(
        {"metric": Choice(METRICS), "goal": Text("PIECE@ROW,COLUMN or a board with * for anything")}
    )
    undirected = True
    start_is_board = True

    def prepare(self, start: str | None) -> None:
        if start is None:
            raise PuzzleError(_needs_a_board("none is given"))
        if start.strip().lower().startswith("0x"):
            raise PuzzleError(_needs_a_board(f"the key {start.strip()} alone does not say which pieces there are"))
        board = parse_board(start.strip())
        if not board.pieces:
            raise PuzzleError(f"a board needs at least one piece: {start.strip()!r}")
        self.rows, self.columns, self.walls = board.rows, board.columns, board.walls
        self._free = frozenset(range(self.rows * self.columns)) - self.walls
        self._set_kinds(board)
        self._metric = METRICS.index(self.parameters["metric"])
        self._set_goal(board, self.parameters["goal"].strip())
        self.most_successors = self._count_most_successors()
        self._images = self._find_images()
        self.has_mirrors = self._images is not None and self._goal_is_symmetric(self._images)

    def _set_kinds(self, board: Board) -> None:
        shapes = Counter(_shape(cells, self.columns) for cells in board.pieces.values())
        # The blank is the last symbol; the large pieces are the first.
        order = [*sorted(shapes, key=lambda shape: (-len(shape), shape)), _BLANK]
        self._kinds = [
            Kind(shape, count, self._places(shape))
            for shape, count in zip(order, [*(shapes[shape] for shape in order[:-1]), len(board.blanks)], strict=True)
        ]
        self._blank = len(order) - 1
        self._counts = tuple(kind.total for kind in self._kinds)
        self._standing = {
            (number, min(cells)): Standing(number, corner)
            for number, kind in enumerate(self._kinds)
            for corner, cells in kind.places.items()
        }
        self.layout = narrowest((_sequences(self._counts) - 1).bit_length())
        places = [list(kind.places.values()) for kind in self._kinds]
        self._tables = make_tables(places, self._counts, self.walls, self.rows, self.columns)

    def _places(self, shape: Shape) -> dict[Corner, Cells]:
        height, width = 1 + max(row for row, _ in shape), 1 + max(column for _, column in shape)
        places = {
            (top, left): frozenset((top + row) * self.columns + left + column for row, column in shape)
            for top in range(self.rows - height + 1)
            for left in range(self.columns - width + 1)
        }
        return {corner: cells for corner, cells in places.items() if cells <= self._free}

    def _set_goal(self, board: Board, text: str) -> None:
        """Pin the goal as a board: letters of the user's start would mean other pieces in the canonical one."""
        self._wishes: frozenset[Standing] = frozenset()
        if text:
            try:
                self._wishes = self._goal_piece(board, text) if "@" in text else self._goal_board(text)
            except PuzzleError as error:
                raise PuzzleError(f"{self.name} option goal={text}: {error}") from None
            blanks = [self._cells(wish) for wish in self._wishes if wish.kind == self._blank]
            pieces = [self._cells(wish) for wish in self._wishes if wish.kind != self._blank]
            marks = {WALL: self.walls, EMPTY: [cell for cells in blanks for cell in cells]}
            text = render_cells(pieces, self.rows, self.columns, marks, ANYTHING)
        self.parameters["goal"] = text
        self._wanted = np.full(self.rows * self.columns, ANY, dtype=np.int64)
        for wish in self._wishes:
            self._wanted[min(self._cells(wish))] = wish.kind

    def _goal_piece(self, board: Board, text: str) -> frozenset[Standing]:
        match = re.fullmatch(r"(.)@(\d+),(\d+)", text)
        if not match:
            raise PuzzleError("expected PIECE@ROW,COLUMN, e.g. A@1,2, or a board with * for anything")
        letter, row, column = match[1], int(match[2]), int(match[3])
        if letter not in board.pieces:
            raise PuzzleError(f"the board has no piece {letter}; its pieces are {''.join(board.pieces)}")
        wish = Standing(self._kind_of(board.pieces[letter]), (row - 1, column - 1))
        if wish.corner not in self._kinds[wish.kind].places:
            raise PuzzleError(f"piece {letter} does not fit on the board at row {row} column {column}")
        return frozenset({wish})

    def _goal_board(self, text: str) -> frozenset[Standing]:
        goal = parse_board(text, with_anything=True)
        self._check_walls(goal)
        kinds = {letter: self._kind_of(cells) for letter, cells in goal.pieces.items()}
        for letter, kind in kinds.items():
            if kind == _NONE:
                raise PuzzleError(f"the board has no piece of the shape of {letter}, {self._name(goal, letter)}")
        wishes = [Standing(kind, self._corner(goal.pieces[letter])) for letter, kind in kinds.items()]
        wishes += [Standing(self._blank, divmod(cell, self.columns)) for cell in goal.blanks]
        for number, wished in Counter(wish.kind for wish in wishes).items():
            if wished > self._counts[number]:
                raise PuzzleError(f"the board has {self._amount(number)}, the goal {wished}")
        return frozenset(wishes)

    def _count_most_successors(self) -> int:
        """A bound for every configuration of the pieces.

        A step or straight move is known by its direction and by the last blank that a foremost cell of the piece
        enters: four for each blank. On its own n cells and b blanks a piece has at most b other places, because the
        n cells, moved by k vectors, cover at least n + k - 1 cells.
        """
        blanks = self._counts[-1]
        per_piece = []
        for kind in self._kinds[:-1]:
            others = len(kind.places) - 1
            by_metric = (4, self.rows + self.columns - 2, blanks)[self._metric]
            per_piece += [min(others, by_metric)] * kind.total
        # No more pieces than unit steps can move at all.
        most = sum(sorted(per_piece, reverse=True)[: 4 * blanks])
        return max(1, most if METRICS[self._metric] == "finger" else min(4 * blanks, most))

    def _find_images(self) -> Words | None:
        """The kernel's table of left-right mirror images; ``None`` if the board or the pieces are not symmetric."""
        kinds = {kind.shape: number for number, kind in enumerate(self._kinds[:-1])}
        images = np.zeros((len(self._kinds), 64), dtype=np.uint64)
        if frozenset(map(self._mirrored, self.walls)) != self.walls:
            return None
        for number, kind in enumerate(self._kinds):
            for cells in kind.places.values():
                mirrored = frozenset(map(self._mirrored, cells))
                image = self._blank if number == self._blank else kinds.get(_shape(mirrored, self.columns), _NONE)
                if image == _NONE or self._kinds[image].total != kind.total:
                    return None
                images[number, min(cells)] = image * 64 + min(mirrored)
        return images

    def _mirrored(self, cell: int) -> int:
        row, column = divmod(cell, self.columns)
        return row * self.columns + self.columns - 1 - column

    def _goal_is_symmetric(self, images: Words) -> bool:
        seen = [(int(kind), cell) for cell, kind in enumerate(self._wanted) if kind != ANY]
        return {divmod(int(images[place]), 64) for place in seen} == set(seen)

    def usual_start(self) -> Key:
        raise PuzzleError(_needs_a_board("none is given"))

    def is_goal(self, keys: Keys) -> Mask:
        """All that the goal asks for is there; never without a goal."""
        found = np.zeros(len(keys), dtype=np.bool_)
        if self.parameters["goal"]:
            find_goals(keys, self._wanted, len(self._wishes), *self._tables, found)
        return found

    def expand(self, keys: Keys) -> Expansion:
        room = self.layout.empty(len(keys) * self.most_successors)
        counts = np.empty(len(keys), dtype=np.uint16)
        total = expand_keys(keys, self._metric, *self._tables, room, counts)
        if total == OVERFLOW:
            raise PuzzleError(f"{self.name}: there are more than {self.most_successors} successors of a configuration")
        return Expansion(room[:total], counts)

    def canonical(self, keys: Keys) -> Keys:
        """The lesser of each key and its left-right mirror image, where board, pieces and goal are symmetric."""
        if self._images is None or not self.has_mirrors:
            return super().canonical(keys)
        least = np.empty_like(keys)
        least_images(keys, self._images, *self._tables, least)
        return least

    def configurations(self) -> Iterator[Keys]:
        """Blocks of 1,048,576 keys but for the last one."""
        stack = make_stack(self._tables)
        while True:
            room = self.layout.empty(_BLOCK)
            count = list_keys(stack, *self._tables[:3], room)
            if count:
                yield room[:count]
            if count < _BLOCK:
                return

    def successors(self, key: Key) -> list[Key]:
        pieces = self.unpack(key)
        blanks = self.blanks(key)
        found = []
        for piece in pieces:
            rest = [other for other in pieces if other != piece]
            found += [self.pack([*rest, target]) for target in self._targets(piece, blanks | self._cells(piece))]
        return found

    def check_key(self, key: Key) -> None:
        total = _sequences(self._counts)
        if not 0 <= key < total:
            raise ConfigurationError(f"{key:#x}: these pieces have {total:,} sequences, so keys are below {total:#x}")
        taken: dict[int, int] = {}
        free = sorted(self._free)
        for number, kind in enumerate(self._sequence(key)):
            cell = next(cell for cell in free if cell not in taken)
            row, column = divmod(cell, self.columns)
            what = f"{key:#x}: piece {number + 1} in reading order, {_shape_name(self._kinds[kind].shape)}, "
            if (kind, cell) not in self._standing:
                raise ConfigurationError(f"{what}does not fit on the board at row {row + 1} column {column + 1}")
            for cover in sorted(self._cells(self._standing[kind, cell])):
                if cover in taken:
                    row, column = divmod(cover, self.columns)
                    raise ConfigurationError(
                        f"{what}and piece {taken[cover] + 1} both cover row {row + 1} column {column + 1}"
                    )
                taken[cover] = number

    def parse_text(self, text: str) -> Key:
        board = parse_board(text)
        self._check_walls(board)
        there = Counter(_shape(cells, self.columns) for cells in board.pieces.values())
        for letter, cells in board.pieces.items():
            if self._kind_of(cells) == _NONE:
                raise ConfigurationError(
                    f"the board has no piece of the shape of {letter}, {self._name(board, letter)}"
                )
        for number, kind in enumerate(self._kinds[:-1]):
            if there[kind.shape] != kind.total:
                raise ConfigurationError(f"the board has {self._amount(number)}, this text {there[kind.shape]}")
        return self.pack([Standing(self._kind_of(cells), self._corner(cells)) for cells in board.pieces.values()])

    def _check_walls(self, board: Board) -> None:
        if (board.rows, board.columns) != (self.rows, self.columns):
            ours, theirs = f"{self.rows} x {self.columns}", f"{board.rows} x {board.columns}"
            raise ConfigurationError(f"the board has {ours} cells (rows x columns), this text {theirs}")
        for cell in sorted(board.walls ^ self.walls - board.anything):
            row, column = divmod(cell, self.columns)
            which = ("a wall", "none") if cell in self.walls else ("no wall", "one")
            raise ConfigurationError(
                f"the board has {which[0]} at row {row + 1} column {column + 1}, this text {which[1]}"
            )

    def render(self, key: Key) -> str:
        pieces = [self._cells(piece) for piece in self.unpack(key)]
        return render_cells(pieces, self.rows, self.columns, {WALL: self.walls})

    def describe_move(self, before: Key, after: Key) -> str:
        """The letter of the piece and its way, e.g. ``"E down"`` or, by the finger metric, ``"G right, down"``."""
        pieces, later = set(self.unpack(before)), set(self.unpack(after))
        (moved,) = pieces - later
        (target,) = later - pieces
        letter = self.render(before).replace("/", "")[min(self._cells(moved))]
        return f"{letter} {describe_steps(self._way(moved, target, self.blanks(before) | self._cells(moved)))}"

    def unpack(self, key: Key) -> list[Standing]:
        """The pieces in the order of their first cells."""
        pieces = []
        free = set(self._free)
        for kind in self._sequence(key):
            standing = self._standing[kind, min(free)]
            free -= self._cells(standing)
            if kind != self._blank:
                pieces.append(standing)
        return pieces

    def pack(self, pieces: Iterable[Standing]) -> Key:
        """The key of pieces in any order; they must be the right ones and must not overlap."""
        covered = {cell for piece in pieces for cell in self._cells(piece)}
        begins = {min(self._cells(piece)): piece.kind for piece in pieces}
        begins |= dict.fromkeys(self._free - covered, self._blank)
        return _number_of([begins[cell] for cell in sorted(begins)], self._counts)

    def blanks(self, key: Key) -> Cells:
        """The empty cells."""
        return self._free - {cell for piece in self.unpack(key) for cell in self._cells(piece)}

    def _sequence(self, key: Key) -> list[int]:
        return _sequence_of(key, self._counts)

    def _cells(self, piece: Standing) -> Cells:
        return self._kinds[piece.kind].places[piece.corner]

    def _corner(self, cells: Cells) -> Corner:
        return min(cell // self.columns for cell in cells), min(cell % self.columns for cell in cells)

    def _kind_of(self, cells: Cells) -> int:
        shape = _shape(cells, self.columns)
        return next((number for number, kind in enumerate(self._kinds[:-1]) if kind.shape == shape), _NONE)

    def _amount(self, kind: int) -> str:
        total, plural = self._counts[kind], "s" if self._counts[kind] != 1 else ""
        if kind == self._blank:
            return f"{total} empty cell{plural}"
        return f"{total} piece{plural} of {_shape_name(self._kinds[kind].shape)}"

    def _name(self, board: Board, letter: str) -> str:
        return _shape_name(_shape(board.pieces[letter], self.columns))

    def _targets(self, piece: Standing, free: Cells) -> list[Standing]:
        """Where one move can bring `piece`, whose own cells are among the `free` ones."""
        if self.parameters["metric"] == "finger":
            return [target for target in self._reach(piece, free) if target != piece]
        longest = 1 if self.parameters["metric"] == "unit" else max(self.rows, self.columns)
        found = []
        for direction in _DIRECTIONS:
            target = piece
            for _ in range(longest):
                target = _moved(target, direction)
                if not self._fits(target, free):
                    break
                found.append(target)
        return found

    def _fits(self, piece: Standing, free: Cells) -> bool:
        places = self._kinds[piece.kind].places
        return piece.corner in places and places[piece.corner] <= free

    def _reach(self, piece: Standing, free: Cells) -> dict[Standing, Standing | None]:
        """Every place that `piece` can be pushed to over free cells -> the place before it, nearest first."""
        before: dict[Standing, Standing | None] = {piece: None}
        queue = deque([piece])
        while queue:
            here = queue.popleft()
            for direction in _DIRECTIONS:
                there = _moved(here, direction)
                if there not in before and self._fits(there, free):
                    before[there] = here
                    queue.append(there)
        return before

    def _way(self, piece: Standing, target: Standing, free: Cells) -> list[Corner]:
        before = self._reach(piece, free)
        way: list[Corner] = []
        here: Standing | None = target
        while here is not None:
            way.append(here.corner)
            here = before[here]
        return way[::-1]


def _needs_a_board(why: str) -> str:
    return (
        f"sliding needs a board: --from BOARD or FILE, rows joined by '/', a letter per piece, '{EMPTY}' for an empty "
        f"cell, '{WALL}' for a wall, e.g. {_EXAMPLE}; {why}"
    )


def _moved(piece: Standing, direction: tuple[int, int]) -> Standing:
    (row, column), (down, right) = piece.corner, direction
    return piece._replace(corner=(row + down, column + right))


def _shape(cells: Iterable[int], columns: int) -> Shape:
    places = [divmod(cell, columns) for cell in sorted(cells)]
    top, left = min(row for row, _ in places), min(column for _, column in places)
    return tuple((row - top, column - left) for row, column in places)


def _shape_name(shape: Shape) -> str:
    """Rows x columns of a rectangle; other shapes are drawn."""
    height, width = 1 + max(row for row, _ in shape), 1 + max(column for _, column in shape)
    if height * width == len(shape):
        return f"{height}x{width}"
    return "/".join("".join("x" if (row, column) in shape else "." for column in range(width)) for row in range(height))


@lru_cache(1 << 16)
def _sequences(counts: tuple[int, ...]) -> int:
    """How many sequences of so many symbols of each kind there are."""
    ways = factorial(sum(counts))
    for count in counts:
        ways //= factorial(count)
    return ways


def _without(counts: tuple[int, ...], symbol: int) -> tuple[int, ...]:
    return (*counts[:symbol], counts[symbol] - 1, *counts[symbol + 1 :])


def _number_of(sequence: list[int], counts: tuple[int, ...]) -> Key:
    """The number of a sequence among all those of the same symbols, in lexicographic order."""
    key = 0
    for symbol in sequence:
        key += sum(_sequences(_without(counts, lesser)) for lesser in range(symbol) if counts[lesser])
        counts = _without(counts, symbol)
    return key


def _sequence_of(key: Key, counts: tuple[int, ...]) -> list[int]:
    """The inverse of `_number_of`; `key` must be below the number of all sequences."""
    sequence = []
    while sum(counts):
        for symbol, count in enumerate(counts):
            ways = _sequences(_without(counts, symbol)) if count else 0
            if key < ways:
                break
            key -= ways
        sequence.append(symbol)
        counts = _without(counts, symbol)
    return sequence
