"""Sliding blocks on any board of up to 64 cells: pieces of any shape, walls, and a goal that the user chooses.

A configuration is the sequence of what begins at the free cells in reading order, a key its number among all such
sequences (`puzzles.sliding_blocks.numbering`). Pieces of equal shape are interchangeable, and letters mean nothing, but
for distinct ones. That takes 19 bits for the pieces of Hakoiri-musume, and 92 at most for whatever fits on
64 cells; 28 bits where all of its ten pieces are distinct.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np

from hakoiri.errors import ConfigurationError, Hint, PuzzleError
from hakoiri.keys.layout import Key, Keys, Mask, narrowest
from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.options import Choice, Number, Text
from hakoiri.puzzles.pictures import Lettered
from hakoiri.puzzles.sliding_blocks import boards, shapes, sliding_kernels
from hakoiri.puzzles.sliding_blocks.boards import ANYTHING, EMPTY, MOST_CELLS, WALL
from hakoiri.puzzles.sliding_blocks.goals import (
    FIRST_CAR,
    PIECE_AT,
    Wishes,
    check_walls,
    exit_of,
    goal_board,
    goal_piece,
    remark_on_letters,
)
from hakoiri.puzzles.sliding_blocks.numbering import Words, make_edges, make_tables
from hakoiri.puzzles.sliding_blocks.pieces import Blocks, PieceSet, exchanges, images_by, reflections
from hakoiri.puzzles.sliding_blocks.sliding_kernels import METRICS
from hakoiri.puzzles.texts import one_line

#: Every piece is distinct.
ALL = "all"
_Read = TypeVar("_Read")


def parse_distinct(start: boards.ParsedBoard, text: str) -> tuple[frozenset[str], str]:
    """The letters of the distinct pieces, of all of them by ``all``, and their canonical text."""
    letters = {*start.pieces} if text == ALL else {word.strip() for word in text.split(",")}
    for letter in letters - start.pieces.keys():
        raise PuzzleError(
            f"{letter!r} is not a piece of the board; expected {ALL}, or some of {','.join(start.pieces)}"
        )
    return frozenset(letters), ALL if letters == start.pieces.keys() else ",".join(sorted(letters))


_EXAMPLE = "AABB/AACC/DE../FGHH/FGII"
#: By name, so that completion finds them in the source of a derived class, too.
OPTIONS: Mapping[str, Choice | Number | Text] = {
    "metric": Choice(METRICS),
    "goal": Text(what="PIECE@ROW,COLUMN (kept as a board) or a board with * for anything"),
    "distinct": Text(what="pieces to distinguish from others of their shape: A,B or all"),
    "axis": Text(what="pieces that move along an axis only: rows-and-columns, or A:row,BC:column"),
}


class SlidingBlocks(Blocks):
    """The start says which pieces and walls there are. Option `metric` is what counts as one move of one piece.

    ``unit`` is one step, ``straight`` any distance in one direction, ``finger`` any way at all. Option `goal` is a
    board with ``*`` for anything, or ``PIECE@ROW,COLUMN``: a piece of the shape that this letter has in the start
    stands there with the top left corner of its bounding box. It is pinned as a board. Pieces have the letters of the
    start; of those that are the same, the first in reading order has the first letter.

    Pieces of equal shape are the same, whatever their letters. Those of option `distinct`, such as ``A,B`` or ``all``,
    are distinct from all others: then a goal means that very piece.

    Option `axis` binds pieces. By ``rows-and-columns`` all that are one cell wide and longer move along their length
    only, as the cars of Rush Hour, and others as ever. ``A:row,BC:column`` binds those that are named, which keep their
    letters, too: pieces of one shape and axis are the same.

    A square board of 5 to 8 rows may be one line, row after row, with ``.`` for an empty cell, or without one ``o`` for
    an empty cell and ``x`` for a wall. Where pieces are bound and no goal is given, the goal of such a board, or of a
    square one in rows, is its car X at the right edge of its row. Without a car X in a row it is the car A of a board
    of one line, if that lies in the middle row. A letter beside a row that is nowhere else is the exit of the one car
    in that row.
    """

    name = "sliding"
    summary = "sliding blocks of any shape on any board"
    options = OPTIONS
    start_is_board = True
    #: The number of keys in a block of `configurations`.
    block = 1 << 20

    def prepare(self, start: str | None) -> None:
        if start is None:
            raise _needs_a_board("none is given")
        if start.strip().lower().startswith("0x"):
            raise _needs_a_board(f"the key {start.strip()} alone does not define the pieces")
        board = boards.parse_board(start := start.strip())
        if not board.pieces:
            raise PuzzleError(f"a board needs at least one piece: {start!r}")
        distinct = self._pinned("distinct", parse_distinct, board, frozenset[str]())
        axes = self._pinned("axis", shapes.parse_axes, board, shapes.Axes())
        self.pieces = pieces = PieceSet(board, distinct, axes)
        if (cells := max(pieces.bits(pieces.free)) + 1) > MOST_CELLS:
            text = f"the board has {len(pieces.free)} free cells and {cells - len(pieces.free)} walls between them"
            raise PuzzleError(f"{text}, {cells - MOST_CELLS} above the limit of {MOST_CELLS} cells")
        self.names_pieces = bool(pieces.letters)
        if (sequences := shapes.count_sequences(pieces.counts)) > 1 << 128:
            raise PuzzleError("the pieces have more than 2^128 sequences; tell fewer of them apart, or leave some out")
        self.layout = narrowest((sequences - 1).bit_length())
        places = [[pieces.bits(cells) for cells in kind.places.values()] for kind in pieces.kinds]
        self._tables = make_tables(places, pieces.counts, pieces.bits(pieces.free), pieces.stride)
        self._edges = make_edges([kind.axis for kind in pieces.kinds], pieces.numbers, pieces.columns)
        self._metric = METRICS.index(self.parameters["metric"])
        self.wishes = self._goal(board)
        self._wanted = np.full(MOST_CELLS, sliding_kernels.ANY, dtype=np.int64)
        for wish in self.wishes:
            self._wanted[min(pieces.bits(pieces.cells(wish)))] = wish.kind
        self.most_successors = self._count_most_successors()
        images = images_by(pieces, across=True, down=False)
        wanted = {(int(kind), cell) for cell, kind in enumerate(self._wanted) if kind != sliding_kernels.ANY}
        keeps = images is not None and wanted == {divmod(int(images[at]), MOST_CELLS) for at in wanted}
        self._images = images if keeps else None

    @contextmanager
    def _naming(self, option: str, text: str) -> Iterator[None]:
        """Prefix a `PuzzleError` with the option and its text."""
        try:
            yield
        except PuzzleError as error:
            raise PuzzleError(f"{self.name} option {option}={text}: {error}", *error.hints) from None

    def _pinned(
        self, option: str, parse: Callable[[boards.ParsedBoard, str], tuple[_Read, str]], board: boards.ParsedBoard,
        without: _Read,
    ) -> _Read:  # fmt: skip
        """Return the pieces that an option names, and pin its canonical text; drop the option if it names none."""
        if not (text := self.parameters.pop(option).strip()):
            return without
        with self._naming(option, text):
            found, self.parameters[option] = parse(board, text)
        return found

    def _goal(self, board: boards.ParsedBoard) -> Wishes:
        """Return the goal, pinned as a board; by default, for a board of Rush Hour, the exit of its car."""
        text, wishes = one_line(self.parameters["goal"]), Wishes()
        if not text and (board.exit or "axis" in self.parameters):
            # A run without a goal has pinned an empty one.
            known = board.exit or FIRST_CAR in board.cars or "goal" not in self.given_options
            text = exit_of(board, self.pieces) if known else ""
        if board.exit:
            self.start_notes = (f"the letter beside row {board.exit[0] + 1} is the exit, so the goal is {text}",)
        if text:
            with self._naming("goal", text):
                wishes = goal_piece(self.pieces, board, text) if "@" in text else goal_board(self.pieces, text)
            if PIECE_AT.fullmatch(text):
                marks: Lettered = {text[0]: self.pieces.cells(*wishes)}
            else:
                goal = boards.parse_board(text, with_anything=True)
                marks = {EMPTY: goal.blanks, **goal.pieces}
            text = self.pieces.text({ANYTHING: self.pieces.free, **marks})
        self.parameters["goal"] = text
        return wishes

    def _count_most_successors(self) -> int:
        """A bound for every configuration of the pieces.

        A step or straight move is known by its direction and by the last blank that a foremost cell of the piece
        enters: four for each blank. On its own n cells and b blanks a piece has at most b other places, because the
        n cells, moved by k vectors, cover at least n + k - 1 cells.
        """
        blanks = self.pieces.counts[-1]
        by_metric = (4, self.pieces.rows + self.pieces.columns - 2, blanks)[self._metric]
        per_piece = []
        for kind in self.pieces.kinds[:-1]:
            per_piece += [min(len(kind.places) - 1, by_metric)] * kind.total
        # No more pieces can move than there are unit steps.
        most = sum(sorted(per_piece, reverse=True)[: 4 * blanks])
        return max(1, most if METRICS[self._metric] == "finger" else min(4 * blanks, most))

    def usual_start(self) -> Key:
        raise _needs_a_board("none is given")

    def remark_on(self, text: str) -> None:
        remark_on_letters(self.pieces, text, distinguishes=True)

    @property
    def has_goal(self) -> bool:
        return bool(self.parameters["goal"])

    def is_goal(self, keys: Keys) -> Mask:
        """Return whether everything in the goal is in place; never without a goal."""
        found = np.zeros(len(keys), dtype=np.bool_)
        if self.has_goal:
            sliding_kernels.find_goals(keys, self._wanted, len(self.wishes), self._tables, found)
        return found

    def expand(self, keys: Keys) -> Expansion:
        write = partial(sliding_kernels.expand_keys, keys, self._metric, self._edges, self._tables)
        return self.expansion(keys, self.most_successors, write)

    def are_keys(self, keys: Keys) -> Mask:
        found = np.empty(len(keys), dtype=np.bool_)
        sliding_kernels.find_boards(keys, self._tables, found)
        return found

    def mirrors(self) -> Sequence[Callable[[Keys], Keys]]:
        """The left-right mirror, if board, pieces and goal are symmetric."""
        return () if self._images is None else [partial(self.image, images=self._images)]

    def image(self, keys: Keys, images: Words) -> Keys:
        """Return images of keys by a table of `pieces.images_by`."""
        found = np.empty_like(keys)
        sliding_kernels.write_images(keys, images, self._tables, found)
        return found

    def symmetry_maps(self) -> Sequence[Callable[[Keys], Keys]]:
        """Reflections, and exchanges of distinct pieces with others of their shape."""
        tables = [*reflections(self.pieces), *exchanges(self.pieces)]
        return [partial(self.image, images=table) for table in tables]

    def configurations(self) -> Iterator[Keys]:
        """Blocks of `block` keys but for the last one."""
        stack = sliding_kernels.make_stack(self._tables)
        while True:
            room = self.layout.empty(self.block)
            count = sliding_kernels.list_keys(stack, self._tables, room)
            if count:
                yield room[:count]
            if count < self.block:
                return

    def check_key(self, key: Key) -> None:
        total = shapes.count_sequences(self.pieces.counts)
        if not 0 <= key < total:
            raise ConfigurationError(
                f"{key:#x}: expected a key below {total:#x}, the number of sequences of these pieces"
            )
        taken: dict[int, int] = {}
        free = sorted(self.pieces.free)
        for number, kind in enumerate(shapes.sequence_of(key, self.pieces.counts)):
            cell = next(cell for cell in free if cell not in taken)
            if (kind, cell) not in self.pieces.standing:
                raise ConfigurationError(
                    f"{self._nth(key, number, kind)} does not fit on the board at {self._where(cell)}"
                )
            for cover in sorted(self.pieces.cells(self.pieces.standing[kind, cell])):
                if cover in taken:
                    raise ConfigurationError(
                        f"{self._nth(key, number, kind)} and piece {taken[cover] + 1} both cover {self._where(cover)}"
                    )
                taken[cover] = number

    def _nth(self, key: Key, number: int, kind: int) -> str:
        shape = shapes.shape_name(self.pieces.kinds[kind].shape)
        return f"{key:#x}: piece {number + 1} in reading order, {shape},"

    def _where(self, cell: int) -> str:
        row, column = divmod(cell, self.pieces.columns)
        return f"row {row + 1} column {column + 1}"

    def parse_text(self, text: str) -> Key:
        board = boards.parse_board(text)
        check_walls(self.pieces, board)
        standing = [self.pieces.place(cells, letter) for letter, cells in board.pieces.items()]
        there = Counter(piece.kind for piece in standing)
        for number, kind in enumerate(self.pieces.kinds[:-1]):
            if there[number] != kind.total:
                raise ConfigurationError(f"expected {self.pieces.amount(number)}, found {there[number]}")
        return self.pieces.pack(standing)


def _needs_a_board(why: str) -> PuzzleError:
    return PuzzleError(
        f"sliding needs a board: rows joined by '/', a letter per piece, '{EMPTY}' for an empty cell, '{WALL}' for a "
        f"wall, e.g. {_EXAMPLE}; {why}",
        Hint("give", "start", "BOARD|FILE"),
    )
