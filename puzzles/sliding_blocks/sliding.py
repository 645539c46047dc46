"""Sliding blocks on any board of up to 64 cells: pieces of any shape, walls, and a goal that the user chooses.

A configuration is the sequence of what begins at the free cells in reading order, a key its number among all such
sequences (`puzzles.sliding_blocks.tables`). Pieces of equal shape are interchangeable, and letters mean nothing, but
for distinct ones. That takes 19 bits for the pieces of Hakoiri-musume, and 92 at most for whatever fits on
64 cells; 28 bits where all of its ten pieces are distinct.
"""

import re
from collections import Counter
from collections.abc import Iterator
from warnings import warn

import numpy as np

from puzzles.contract import Choice, Expansion, Text
from puzzles.errors import ConfigurationError, PuzzleError, PuzzleWarning, Step
from puzzles.keys.layout import Key, Keys, Mask, narrowest
from puzzles.sliding_blocks.boards import ANYTHING, EMPTY, MOST_CELLS, WALL, Cell, ParsedBoard, parse_board
from puzzles.sliding_blocks.pieces import (
    NO_KIND,
    Blocks,
    Pieces,
    Standing,
    count_sequences,
    sequence_of,
    shape_name,
)
from puzzles.sliding_blocks.sliding_kernels import (
    ANY,
    METRICS,
    OVERFLOW,
    expand_keys,
    find_goals,
    least_images,
    list_keys,
    make_stack,
)
from puzzles.sliding_blocks.tables import Words, make_tables

_EXAMPLE = "AABB/AACC/DE../FGHH/FGII"

#: Every piece is distinct.
ALL = "all"
#: Pieces and blanks that must stand where they do; empty where there is no goal.
Wishes = frozenset[Standing]


class Sliding(Blocks):
    """The start says which pieces and walls there are. Option `metric` is what counts as one move of one piece.

    ``unit`` is one step, ``straight`` any distance in one direction, ``finger`` any way at all. Option `goal` is a
    board with ``*`` for anything, or ``PIECE@ROW,COLUMN``: a piece of the shape that this letter has in the start
    stands there with the top left corner of its bounding box. It is pinned as a board.

    Pieces of equal shape are the same, whatever their letters. Those of option `distinct`, such as ``A,B`` or ``all``,
    are distinct from all others and keep the letters that they have in the start: then a goal means that very piece.
    """

    name = "sliding"
    summary = "sliding blocks of any shape on any board"
    options = {
        "metric": Choice(METRICS),
        "goal": Text("PIECE@ROW,COLUMN (kept as a board) or a board with * for anything"),
        "distinct": Text("pieces to distinguish from others of their shape: A,B or all"),
    }
    start_is_board = True
    #: How many keys `configurations` lists at a time.
    block = 1 << 20

    def prepare(self, start: str | None) -> None:
        if start is None:
            raise _needs_a_board("none is given")
        if start.strip().lower().startswith("0x"):
            raise _needs_a_board(f"the key {start.strip()} alone does not say which pieces there are")
        board = parse_board(start.strip())
        if not board.pieces:
            raise PuzzleError(f"a board needs at least one piece: {start.strip()!r}")
        self.pieces = pieces = Pieces(board, self._distinct(board))
        self.layout = narrowest((count_sequences(pieces.counts) - 1).bit_length())
        places = [list(kind.places.values()) for kind in pieces.kinds]
        self._tables = make_tables(places, pieces.counts, pieces.walls, pieces.rows, pieces.columns)
        self._metric = METRICS.index(self.parameters["metric"])
        text, self._wishes = self.parameters["goal"].strip(), Wishes()
        if text:
            try:
                self._wishes = parse_goal(pieces, board, text)
            except PuzzleError as error:
                raise PuzzleError(f"{self.name} option goal={text}: {error}") from None
        self.parameters["goal"] = render_goal(pieces, self._wishes) if text else text
        self._wanted = np.full(pieces.rows * pieces.columns, ANY, dtype=np.int64)
        for wish in self._wishes:
            self._wanted[min(pieces.cells(wish))] = wish.kind
        self.most_successors = self._count_most_successors()
        self._images = _mirror_images(pieces)
        self.has_mirrors = self._images is not None and self._goal_is_symmetric(self._images)

    def _distinct(self, board: ParsedBoard) -> frozenset[str]:
        """The letters of the distinct pieces; where there are none, the option is no parameter at all."""
        if not (text := self.parameters.pop("distinct").strip()):
            return frozenset()
        try:
            letters = parse_distinct(board, text)
        except PuzzleError as error:
            raise PuzzleError(f"{self.name} option distinct={text}: {error}") from None
        self.parameters["distinct"] = render_distinct(board, letters)
        return letters

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

    def _goal_is_symmetric(self, images: Words) -> bool:
        seen = [(int(kind), cell) for cell, kind in enumerate(self._wanted) if kind != ANY]
        return {divmod(int(images[place]), MOST_CELLS) for place in seen} == set(seen)

    def usual_start(self) -> Key:
        raise _needs_a_board("none is given")

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
        """Blocks of `block` keys but for the last one."""
        stack = make_stack(self._tables)
        while True:
            room = self.layout.empty(self.block)
            count = list_keys(stack, *self._tables[:3], room)
            if count:
                yield room[:count]
            if count < self.block:
                return

    def check_key(self, key: Key) -> None:
        total = count_sequences(self.pieces.counts)
        if not 0 <= key < total:
            raise ConfigurationError(f"{key:#x}: these pieces have {total:,} sequences, so keys are below {total:#x}")
        taken: dict[int, int] = {}
        free = sorted(self.pieces.free)
        for number, kind in enumerate(sequence_of(key, self.pieces.counts)):
            cell = next(cell for cell in free if cell not in taken)
            what = f"{key:#x}: piece {number + 1} in reading order, {shape_name(self.pieces.kinds[kind].shape)}, "
            if (kind, cell) not in self.pieces.standing:
                raise ConfigurationError(f"{what}does not fit on the board at {self._where(cell)}")
            for cover in sorted(self.pieces.cells(self.pieces.standing[kind, cell])):
                if cover in taken:
                    raise ConfigurationError(f"{what}and piece {taken[cover] + 1} both cover {self._where(cover)}")
                taken[cover] = number

    def _where(self, cell: int) -> str:
        row, column = divmod(cell, self.pieces.columns)
        return f"row {row + 1} column {column + 1}"

    def parse_text(self, text: str) -> Key:
        board = parse_board(text)
        check_walls(self.pieces, board)
        standing = [self.pieces.place(cells, letter) for letter, cells in board.pieces.items()]
        there = Counter(piece.kind for piece in standing)
        for number, kind in enumerate(self.pieces.kinds[:-1]):
            if there[number] != kind.total:
                raise ConfigurationError(f"the board has {self.pieces.amount(number)}, this text {there[number]}")
        return self.pieces.pack(standing)


def _needs_a_board(why: str) -> PuzzleError:
    return PuzzleError(
        f"sliding needs a board, rows joined by '/', a letter per piece, '{EMPTY}' for an empty cell, '{WALL}' for a "
        f"wall, e.g. {_EXAMPLE}; {why}",
        Step("give", "start", "BOARD|FILE"),
    )


def _mirror_images(pieces: Pieces) -> Words | None:
    """``[kind, first cell]``: `MOST_CELLS` times the kind of a mirrored piece, plus its first cell.

    ``None`` if walls or pieces are not symmetric.
    """

    def mirrored(cell: Cell) -> Cell:
        row, column = divmod(cell, pieces.columns)
        return row * pieces.columns + pieces.columns - 1 - column

    if frozenset(map(mirrored, pieces.walls)) != pieces.walls:
        return None
    images = np.zeros((len(pieces.kinds), MOST_CELLS), dtype=np.uint64)
    for number, kind in enumerate(pieces.kinds):
        for cells in kind.places.values():
            there = frozenset(map(mirrored, cells))
            image = number if number == pieces.blank else pieces.kind_of(there, kind.letter)
            if image == NO_KIND or pieces.kinds[image].total != kind.total:
                return None
            images[number, min(cells)] = image * MOST_CELLS + min(there)
    return images


def parse_goal(pieces: Pieces, start: ParsedBoard, text: str) -> Wishes:
    """What a goal asks for: ``PIECE@ROW,COLUMN`` with a letter of the start, or a board with ``*`` for anything.

    Warns of a piece that is meant by its letter alone and is not distinct from others of its shape.
    """
    return _goal_piece(pieces, start, text) if "@" in text else goal_board(pieces, text)


def render_goal(pieces: Pieces, wishes: Wishes) -> str:
    """The goal as a board: letters of the user's start would mean other pieces in the canonical one."""
    blanks = [cell for wish in wishes if wish.kind == pieces.blank for cell in pieces.cells(wish)]
    return pieces.text([wish for wish in wishes if wish.kind != pieces.blank], {EMPTY: blanks}, ANYTHING)


def _goal_piece(pieces: Pieces, start: ParsedBoard, text: str) -> Wishes:
    match = re.fullmatch(r"(.)@(\d+),(\d+)", text)
    if not match:
        raise PuzzleError("expected PIECE@ROW,COLUMN, e.g. A@1,2, or a board with * for anything")
    letter, row, column = match[1], int(match[2]), int(match[3])
    if letter not in start.pieces:
        raise PuzzleError(f"the board has no piece {letter}; its pieces are {''.join(start.pieces)}")
    wish = Standing(pieces.kind_of(start.pieces[letter], letter), (row - 1, column - 1))
    kind = pieces.kinds[wish.kind]
    if wish.corner not in kind.places:
        raise PuzzleError(f"piece {letter} does not fit on the board at row {row} column {column}")
    if kind.total > 1:
        warn(
            f"goal={text}: any of the {kind.total} pieces of the shape of {letter} will do; for {letter} itself say "
            f"distinct={letter}",
            PuzzleWarning,
            stacklevel=2,
        )
    return frozenset({wish})


def goal_board(pieces: Pieces, text: str) -> Wishes:
    """What a board with ``*`` for anything asks for."""
    goal = parse_board(text, with_anything=True)
    check_walls(pieces, goal)
    wishes = [pieces.place(cells, letter) for letter, cells in goal.pieces.items()]
    wishes += [Standing(pieces.blank, divmod(cell, pieces.columns)) for cell in goal.blanks]
    for number, wished in Counter(wish.kind for wish in wishes).items():
        if wished > pieces.counts[number]:
            raise PuzzleError(f"the board has {pieces.amount(number)}, the goal {wished}")
    return frozenset(wishes)


def parse_distinct(start: ParsedBoard, text: str) -> frozenset[str]:
    """The letters of the distinct pieces: of all of them by ``all``."""
    if text == ALL:
        return frozenset(start.pieces)
    letters = {word.strip() for word in text.split(",")}
    for letter in letters - start.pieces.keys():
        raise PuzzleError(
            f"{letter!r} is no piece of the board; write {ALL}, or some of {''.join(start.pieces)} with commas between"
        )
    return frozenset(letters)


def render_distinct(start: ParsedBoard, letters: frozenset[str]) -> str:
    """The one text of what `parse_distinct` reads."""
    return ALL if letters == start.pieces.keys() else ",".join(sorted(letters))


def check_walls(pieces: Pieces, board: ParsedBoard) -> None:
    """`ConfigurationError` for a text whose board has another size, or walls elsewhere."""
    if (board.rows, board.columns) != (pieces.rows, pieces.columns):
        ours, theirs = f"{pieces.rows} x {pieces.columns}", f"{board.rows} x {board.columns}"
        raise ConfigurationError(f"the board has {ours} cells (rows x columns), this text {theirs}")
    for cell in sorted(board.walls ^ pieces.walls - board.anything):
        row, column = divmod(cell, pieces.columns)
        which = ("a wall", "none") if cell in pieces.walls else ("no wall", "one")
        raise ConfigurationError(f"the board has {which[0]} at row {row + 1} column {column + 1}, this text {which[1]}")
