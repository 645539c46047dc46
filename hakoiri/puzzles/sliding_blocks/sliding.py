"""Sliding blocks on any board of up to 64 cells: pieces of any shape, walls, and a goal that the user chooses.

A configuration is the sequence of what begins at the free cells in reading order, a key its number among all such
sequences (`puzzles.sliding_blocks.numbering`). Pieces of equal shape are interchangeable, and letters mean nothing, but
for distinct ones. That takes 19 bits for the pieces of Hakoiri-musume, and 92 at most for whatever fits on
64 cells; 28 bits where all of its ten pieces are distinct.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Self, TypeVar

import numpy as np

from hakoiri.errors import ConfigurationError, Hint, PuzzleError, remark
from hakoiri.keys.layout import Key, Keys, Mask, narrowest
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.capabilities import Dealt, Family
from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.options import Choice, Text
from hakoiri.puzzles.pictures import Lettered
from hakoiri.puzzles.sliding_blocks import boards, shapes, sliding_kernels
from hakoiri.puzzles.sliding_blocks.boards import ANYTHING, EMPTY, MOST_CELLS, WALL
from hakoiri.puzzles.sliding_blocks.numbering import Words, make_edges, make_tables
from hakoiri.puzzles.sliding_blocks.pieces import Blocks, PieceSet, PlacedPiece, exchanges, images_by, reflections
from hakoiri.puzzles.sliding_blocks.sliding_kernels import METRICS

#: Every piece is distinct.
ALL = "all"
#: The piece that leaves a board of one line: the first of these that lies in a row; `_FIRST_CAR` only in the exit row.
_CARS, _FIRST_CAR = "XxA", "A"
#: Pieces and blanks that must be in their places; empty without a goal.
Wishes = frozenset[PlacedPiece]
_AT = re.compile(r"(.)@(\d+),(\d+)")
_Read = TypeVar("_Read")


def goal_piece(pieces: PieceSet, start: boards.ParsedBoard, text: str) -> Wishes:
    """Return the piece of a goal ``PIECE@ROW,COLUMN`` with a letter of the start.

    Warns of a piece that is meant by its letter alone and is not distinct from others of its shape.
    """
    match = _AT.fullmatch(text)
    if not match:
        raise PuzzleError("expected PIECE@ROW,COLUMN, e.g. A@1,2, or a board with * for anything")
    letter, row, column = match[1], int(match[2]), int(match[3])
    if letter not in start.pieces:
        raise PuzzleError(f"the board has no piece {letter}; its pieces are {''.join(start.pieces)}")
    wish = PlacedPiece(pieces.kind_of(start.pieces[letter], letter), (row - 1, column - 1))
    if wish.corner not in pieces.kinds[wish.kind].places:
        raise PuzzleError(f"piece {letter} does not fit on the board at row {row} column {column}")
    rivals = pieces.able(wish)
    if letter not in rivals:
        raise PuzzleError(f"piece {letter} cannot leave its {pieces.kinds[wish.kind].axis} to get there")
    if len(rivals) > 1:
        several = f"any of the {len(rivals)} pieces of the shape of {letter} satisfies it"
        remark(f"goal={text}: {several}; for {letter} itself add distinct={letter}")
    return frozenset({wish})


def exit_of(start: boards.ParsedBoard, pieces: PieceSet) -> str:
    """Return the usual goal of a board of one line: its car at the right end of its row.

    Raises `PuzzleError` if no car is known to be the one that leaves.
    """
    cars = {letter: pieces.place(cells, letter) for letter, cells in start.pieces.items()}
    cars = {letter: car for letter, car in cars.items() if pieces.kinds[car.kind].axis == shapes.ROW}
    exits = {
        letter: max(corner for corner in pieces.kinds[car.kind].places if corner[0] == car.corner[0])
        for letter, car in cars.items()
    }
    at = {letter: f"{letter}@{row + 1},{column + 1}" for letter, (row, column) in exits.items()}
    for letter in _CARS:
        if letter in cars and (letter != _FIRST_CAR or cars[letter].corner[0] == (pieces.rows - 1) // 2):
            return at[letter]
    raise PuzzleError("which piece must leave?", Hint("give", "goal", next(iter(at.values()), "PIECE@ROW,COLUMN")))


def remark_on_letters(pieces: PieceSet, text: str, distinguishes: bool) -> None:
    """Warn of letters of the start that mean other pieces of their shape on a board.

    On a whole board pieces of a shape are known by their order; where `ANYTHING` is, each may be any of them.
    """
    if "@" in text or text.strip().lower().startswith("0x"):
        return
    board = boards.parse_board(text.replace("?", ANYTHING), with_anything=True)
    places = {letter: pieces.place(cells, letter) for letter, cells in board.pieces.items()}
    there = {} if board.anything else {piece: letter for letter, piece in pieces.lettered(places.values()).items()}
    able = {letter: pieces.able(place) for letter, place in places.items() if letter in pieces.first}
    means = {letter: there.get(places[letter], others) for letter, others in able.items() if len(others) > 1}
    if loose := {letter: others for letter, others in means.items() if others != letter}:
        said = ", ".join(f"{letter} means {' or '.join(others)}" for letter, others in loose.items())
        how = f"; to tell them apart add distinct={','.join(sorted(loose))}" if distinguishes else ""
        remark(f"{text}: pieces of one shape are the same, so {said}{how}")


def goal_board(pieces: PieceSet, text: str) -> Wishes:
    """Return the pieces and blanks of a goal board with ``*`` for anything."""
    goal = boards.parse_board(text, with_anything=True)
    check_walls(pieces, goal)
    wishes = [pieces.place(cells, letter) for letter, cells in goal.pieces.items()]
    wishes += [PlacedPiece(pieces.blank, divmod(cell, pieces.columns)) for cell in goal.blanks]
    for number, wished in Counter(wish.kind for wish in wishes).items():
        if wished > pieces.counts[number]:
            raise PuzzleError(f"expected {pieces.amount(number)} in the goal, found {wished}")
    return frozenset(wishes)


def parse_distinct(start: boards.ParsedBoard, text: str) -> tuple[frozenset[str], str]:
    """The letters of the distinct pieces, of all of them by ``all``, and their canonical text."""
    letters = {*start.pieces} if text == ALL else {word.strip() for word in text.split(",")}
    for letter in letters - start.pieces.keys():
        raise PuzzleError(
            f"{letter!r} is not a piece of the board; expected {ALL}, or some of {','.join(start.pieces)}"
        )
    return frozenset(letters), ALL if letters == start.pieces.keys() else ",".join(sorted(letters))


def check_walls(pieces: PieceSet, board: boards.ParsedBoard) -> None:
    """`ConfigurationError` for a text whose board has another size, or walls elsewhere."""
    if (board.rows, board.columns) != (pieces.rows, pieces.columns):
        ours, theirs = f"{pieces.rows} x {pieces.columns}", f"{board.rows} x {board.columns}"
        raise ConfigurationError(f"expected {ours} cells (rows x columns), found {theirs}")
    for cell in sorted(board.walls ^ pieces.walls - board.anything):
        row, column = divmod(cell, pieces.columns)
        which = ("a wall", "none") if cell in pieces.walls else ("no wall", "one")
        raise ConfigurationError(f"expected {which[0]} at row {row + 1} column {column + 1}, found {which[1]}")


_EXAMPLE = "AABB/AACC/DE../FGHH/FGII"
#: Changes that make a random board of the start; and how often a change is tried before the board is left as it is.
_CHANGES, _TRIES = 100, 200


class Sliding(Blocks, Dealt, Family):
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
    an empty cell and ``x`` for a wall. Where pieces are bound and no goal is given, the goal of such a board is its car
    X at the right edge of its row. Without a car X in a row it is the car A, if that lies in the middle row.
    """

    name = "sliding"
    summary = "sliding blocks of any shape on any board"
    options = {
        "metric": Choice(METRICS),
        "goal": Text(what="PIECE@ROW,COLUMN (kept as a board) or a board with * for anything"),
        "distinct": Text(what="pieces to distinguish from others of their shape: A,B or all"),
        "axis": Text(what="pieces that move along an axis only: rows-and-columns, or A:row,BC:column"),
    }
    start_is_board = True
    hunted = True
    judged_together = True
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
        self.layout = narrowest((shapes.count_sequences(pieces.counts) - 1).bit_length())
        places = [[pieces.bits(cells) for cells in kind.places.values()] for kind in pieces.kinds]
        self._tables = make_tables(places, pieces.counts, pieces.bits(pieces.free), pieces.stride)
        self._edges = make_edges([kind.axis for kind in pieces.kinds], pieces.numbers, pieces.columns)
        self._metric = METRICS.index(self.parameters["metric"])
        self.wishes = self._goal(board, boards.is_one_line(start))
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

    def _goal(self, board: boards.ParsedBoard, one_line: bool) -> Wishes:
        """Return the goal, pinned as a board; by default, for a one-line board of Rush Hour, the exit of its car."""
        text, wishes = self.parameters["goal"].strip(), Wishes()
        if not text and "axis" in self.parameters and one_line:
            text = exit_of(board, self.pieces)
        if text:
            with self._naming("goal", text):
                wishes = goal_piece(self.pieces, board, text) if "@" in text else goal_board(self.pieces, text)
            if _AT.fullmatch(text):
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
        return () if self._images is None else [partial(self._image, images=self._images)]

    def _image(self, keys: Keys, images: Words) -> Keys:
        found = np.empty_like(keys)
        sliding_kernels.write_images(keys, images, self._tables, found)
        return found

    def member(self, start: str, goal: str = "") -> Self:
        return type(self)({**self.parameters, "goal": goal}, start)

    def images(self, keys: Keys) -> list[Keys]:
        """By reflections left to right and upside down, and by both."""
        return [self._image(keys, table) for table in reflections(self.pieces)]

    def symmetry_maps(self) -> Sequence[Callable[[Keys], Keys]]:
        """Reflections, and exchanges of distinct pieces with others of their shape."""
        tables = [*reflections(self.pieces), *exchanges(self.pieces)]
        return [partial(self._image, images=table) for table in tables]

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

    # Boards to be hunted among: all of the pieces of the start.

    def random_deal(self, seed: int, number: int) -> str:
        """The start after many changes (`varied`)."""
        words, standing = random_words((seed << 32) + number), self.unpack(self.start)
        for _ in range(_CHANGES):
            standing = self._changed(standing, words)
        return self.render(self.pack(standing))

    def varied(self, deal: str, word: int) -> str:
        """A piece is put elsewhere, or two pieces change places."""
        return self.render(self.pack(self._changed(self.unpack(self.parse(deal)), random_words(word))))

    def _changed(self, standing: list[PlacedPiece], words: Iterator[int]) -> list[PlacedPiece]:
        for _ in range(_TRIES):
            first, second = (standing[next(words) % len(standing)] for _ in range(2))
            moved = {first: PlacedPiece(first.kind, second.corner), second: PlacedPiece(second.kind, first.corner)}
            if next(words) % 2:
                places = list(self.pieces.kinds[first.kind].places)
                moved = {first: PlacedPiece(first.kind, places[next(words) % len(places)])}
            changed = [moved.get(piece, piece) for piece in standing]
            # For each piece in the goal one is on the line of its axis.
            reach = all(any(self.pieces.on_one_line(piece, wish) for piece in changed) for wish in self._aims)
            if reach and set(changed) != set(standing) and self.pieces.fit(changed):
                return changed
        return standing

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
