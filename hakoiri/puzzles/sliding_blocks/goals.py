"""Goals of boards of sliding blocks: read from texts, or known from the exit of a board of Rush Hour."""

import re
from collections import Counter

from hakoiri.errors import ConfigurationError, Hint, PuzzleError, remark
from hakoiri.puzzles.sliding_blocks import boards, shapes
from hakoiri.puzzles.sliding_blocks.boards import ANYTHING
from hakoiri.puzzles.sliding_blocks.pieces import PieceSet, PlacedPiece

#: The letter of a car that leaves only from the exit row.
FIRST_CAR = "A"
#: Pieces and blanks that must be in their places; empty without a goal.
Wishes = frozenset[PlacedPiece]
#: A piece and its place.
PIECE_AT = re.compile(r"(.)@(\d+),(\d+)")


def goal_piece(pieces: PieceSet, start: boards.ParsedBoard, text: str) -> Wishes:
    """Return the piece of a goal ``PIECE@ROW,COLUMN`` with a letter of the start.

    Warns of a piece that is meant by its letter alone and is not distinct from others of its shape.
    """
    match = PIECE_AT.fullmatch(text)
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
    """Return the usual goal of a board of Rush Hour: its car at the right end of its row, or where its exit is.

    Empty for a board in rows without a car X, or with pieces that are no cars. Raises `PuzzleError` if no car is known
    to be the one that leaves.
    """
    exit_row, right = start.exit or (None, True)
    cars = {letter: pieces.place(cells, letter) for letter, cells in start.pieces.items()}
    cars = {letter: car for letter, car in cars.items() if pieces.kinds[car.kind].axis == shapes.ROW}
    exits = {
        letter: (max if right else min)(place for place in pieces.kinds[car.kind].places if place[0] == car.corner[0])
        for letter, car in cars.items()
    }
    at = {letter: f"{letter}@{row + 1},{column + 1}" for letter, (row, column) in exits.items()}
    if exit_row is not None:
        there = [letter for letter, car in cars.items() if car.corner[0] == exit_row]
        if len(there) == 1:
            return at[there[0]]
    are_cars = FIRST_CAR in start.cars or all(kind.axis for kind in pieces.kinds[:-1])
    for letter in start.cars if exit_row is None and are_cars else "":
        if letter in cars and (letter != FIRST_CAR or cars[letter].corner[0] == (pieces.rows - 1) // 2):
            return at[letter]
    if exit_row is None and FIRST_CAR not in start.cars:
        return ""
    if exit_row is not None:
        which = f"which piece leaves beside row {exit_row + 1}? cars of Rush Hour need axis=rows-and-columns"
        raise PuzzleError(which, Hint("give", "goal", "PIECE@ROW,COLUMN"))
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


def check_walls(pieces: PieceSet, board: boards.ParsedBoard) -> None:
    """`ConfigurationError` for a text whose board has another size, or walls elsewhere."""
    if (board.rows, board.columns) != (pieces.rows, pieces.columns):
        ours, theirs = f"{pieces.rows} x {pieces.columns}", f"{board.rows} x {board.columns}"
        raise ConfigurationError(f"expected {ours} cells (rows x columns), found {theirs}")
    for cell in sorted(board.walls ^ pieces.walls - board.anything):
        row, column = divmod(cell, pieces.columns)
        which = ("a wall", "none") if cell in pieces.walls else ("no wall", "one")
        raise ConfigurationError(f"expected {which[0]} at row {row + 1} column {column + 1}, found {which[1]}")
