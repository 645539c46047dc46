"""A user's wishes for a board: its goal, and its distinct pieces."""

import re
from collections import Counter

from hakoiri.puzzles.errors import ConfigurationError, Hint, PuzzleError, remark
from hakoiri.puzzles.pictures.blocks import Lettered
from hakoiri.puzzles.sliding_blocks.boards import ANYTHING, EMPTY, ParsedBoard, parse_board
from hakoiri.puzzles.sliding_blocks.pieces import PieceSet, PlacedPiece
from hakoiri.puzzles.sliding_blocks.shapes import ROW

#: Every piece is distinct.
ALL = "all"
#: The piece that leaves a board of one line: the first of these that lies in a row; `_FIRST_CAR` only in the exit row.
_CARS, _FIRST_CAR = "XxA", "A"
#: Pieces and blanks that must be in their places; empty without a goal.
Wishes = frozenset[PlacedPiece]
_AT = re.compile(r"(.)@(\d+),(\d+)")


def parse_goal(pieces: PieceSet, start: ParsedBoard, text: str) -> Wishes:
    """Parse a goal: ``PIECE@ROW,COLUMN`` with a letter of the start, or a board with ``*`` for anything.

    Warns of a piece that is meant by its letter alone and is not distinct from others of its shape.
    """
    return _goal_piece(pieces, start, text) if "@" in text else goal_board(pieces, text)


def render_goal(pieces: PieceSet, wishes: Wishes, text: str) -> str:
    """The goal of `parse_goal` as a board, with the letters of its text."""
    if _AT.fullmatch(text):
        (wish,) = wishes
        marks: Lettered = {text[0]: pieces.cells(wish)}
    else:
        goal = parse_board(text, with_anything=True)
        marks = {EMPTY: goal.blanks, **goal.pieces}
    return pieces.text({ANYTHING: pieces.free, **marks})


def _goal_piece(pieces: PieceSet, start: ParsedBoard, text: str) -> Wishes:
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


def exit_of(start: ParsedBoard, pieces: PieceSet) -> str:
    """Return the usual goal of a board of one line: its car at the right end of its row.

    Raises `PuzzleError` if no car is known to be the one that leaves.
    """
    cars = {letter: pieces.place(cells, letter) for letter, cells in start.pieces.items()}
    cars = {letter: car for letter, car in cars.items() if pieces.kinds[car.kind].axis == ROW}
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
    board = parse_board(text.replace("?", ANYTHING), with_anything=True)
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
    goal = parse_board(text, with_anything=True)
    check_walls(pieces, goal)
    wishes = [pieces.place(cells, letter) for letter, cells in goal.pieces.items()]
    wishes += [PlacedPiece(pieces.blank, divmod(cell, pieces.columns)) for cell in goal.blanks]
    for number, wished in Counter(wish.kind for wish in wishes).items():
        if wished > pieces.counts[number]:
            raise PuzzleError(f"expected {pieces.amount(number)} in the goal, found {wished}")
    return frozenset(wishes)


def parse_distinct(start: ParsedBoard, text: str) -> frozenset[str]:
    """The letters of the distinct pieces: of all of them by ``all``."""
    if text == ALL:
        return frozenset(start.pieces)
    letters = {word.strip() for word in text.split(",")}
    for letter in letters - start.pieces.keys():
        raise PuzzleError(
            f"{letter!r} is not a piece of the board; expected {ALL}, or some of {','.join(start.pieces)}"
        )
    return frozenset(letters)


def render_distinct(start: ParsedBoard, letters: frozenset[str]) -> str:
    """The one text of what `parse_distinct` reads."""
    return ALL if letters == start.pieces.keys() else ",".join(sorted(letters))


def check_walls(pieces: PieceSet, board: ParsedBoard) -> None:
    """`ConfigurationError` for a text whose board has another size, or walls elsewhere."""
    if (board.rows, board.columns) != (pieces.rows, pieces.columns):
        ours, theirs = f"{pieces.rows} x {pieces.columns}", f"{board.rows} x {board.columns}"
        raise ConfigurationError(f"expected {ours} cells (rows x columns), found {theirs}")
    for cell in sorted(board.walls ^ pieces.walls - board.anything):
        row, column = divmod(cell, pieces.columns)
        which = ("a wall", "none") if cell in pieces.walls else ("no wall", "one")
        raise ConfigurationError(f"expected {which[0]} at row {row + 1} column {column + 1}, found {which[1]}")
