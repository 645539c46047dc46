"""Boards for people: framed when there is one, small, coloured and side by side when there are many."""

from rich.console import Console
from rich.text import Text

from puzzles.nakuron.board import Board
from puzzles.sliding_blocks.boards import EMPTY, LETTERS, WALL

#: Colours by how many cells a piece has, so that a shape is known at a glance.
_STYLES = {1: "black on yellow", 2: "black on cyan", 4: "white on red"}
_OTHER = "black on green"
_FILLED = "▒"
#: Box characters by which of the lines up, down, left, right meet in a corner (bits 8, 4, 2, 1).
_CORNERS = "   ─ ┌┐┬ └┘┴│├┤┼"


def framed(board: str) -> str:
    """A board text with a line around every piece, a letter in each piece's first cell, and walls filled.

    A text that is no board of pieces (`_has_pieces`) gets no lines; its rows stand below each other.
    """
    rows = board.split("/")
    if not _has_pieces(rows):
        spaced = len(rows) > 1 and " " not in board
        return "\n".join((" ".join(row) if spaced else row).replace(WALL, " ").rstrip() for row in rows)
    height, width = len(rows), len(rows[0])

    def at(row: int, column: int) -> str:
        return rows[row][column] if 0 <= row < height and 0 <= column < width else ""

    def above(row: int, column: int) -> bool:
        return at(row - 1, column) != at(row, column)

    def beside(row: int, column: int) -> bool:
        return at(row, column - 1) != at(row, column)

    def corner(row: int, column: int) -> str:
        lines = (beside(row - 1, column), beside(row, column), above(row, column - 1), above(row, column))
        return _CORNERS[sum(8 >> place for place, line in enumerate(lines) if line)].strip() or fill(row, column)

    def fill(row: int, column: int) -> str:
        return _FILLED if at(row, column) == WALL else " "

    def letter(row: int, column: int) -> str:
        here = at(row, column)
        first = here in LETTERS and here not in "".join(rows[:row]) + rows[row][:column]
        return here if first else fill(row, column)

    lines = []
    for row in range(height + 1):
        edges = ("───" if above(row, column) else fill(row, column) * 3 for column in range(width))
        lines.append("".join(corner(row, column) + edge for column, edge in enumerate(edges)) + corner(row, width))
        if row < height:
            sides = ("│" if beside(row, column) else fill(row, column) for column in range(width + 1))
            cells = [fill(row, column) + letter(row, column) + fill(row, column) for column in range(width)] + [""]
            lines.append("".join(side + cell for side, cell in zip(sides, cells, strict=True)))
    return "\n".join(lines)


def _has_pieces(rows: list[str]) -> bool:
    """Whether a text is a board of pieces: letters in canonical order, or all different beside one blank (tiles)."""
    text = "".join(rows)
    letters = "".join(dict.fromkeys(letter for letter in text if letter in LETTERS))
    board = len(rows[0]) > 1 and all(len(row) == len(rows[0]) for row in rows) and set(text) <= {*letters, EMPTY, WALL}
    tiles = len(letters) + 1 == len(text) and text.count(EMPTY) == 1
    return board and bool(letters) and (tiles or LETTERS.startswith(letters))


def print_side_by_side(console: Console, boards: list[str], titles: list[str]) -> None:
    """Small boards under their titles, as many in a row as the console is wide."""
    width = 2 + max(len(line) for line in [*titles, *(row for board in boards for row in board.split("/"))])
    per_row = max(1, console.width // width)
    for begin in range(0, len(boards), per_row):
        group = [board.split("/") for board in boards[begin : begin + per_row]]
        console.print(Text("".join(title.ljust(width) for title in titles[begin : begin + per_row]).rstrip(), "bold"))
        for line in range(len(group[0])):
            text = Text()
            for board in group:
                text.append(_coloured(board, line)).append(" " * (width - len(board[line])))
            text.rstrip()
            console.print(text)
        console.print()


def _coloured(board: list[str], line: int) -> Text:
    if " " in board[line]:  # Words, no cells.
        return Text(board[line])
    sizes = {letter: sum(row.count(letter) for row in board) for letter in set(board[line])}
    text = Text()
    for letter in board[line]:
        text.append(letter, style="dim" if letter in (EMPTY, WALL) else _STYLES.get(sizes[letter], _OTHER))
    return text


#: Of a board of nakuron the colours of what lies in a cell, by its digit; the same on the terminal and in pictures.
NAKURON_COLOURS = ("#f4f1ea", "#d43d3d", "#e8b923", "#3a9d4b", "#3b6fd4", "#4a4a4a")


def print_nakuron(console: Console, board: Board) -> None:
    """A board with its frame: digits in colour where there is room for two characters a cell, else half blocks."""
    lines = framed_nakuron(board)
    if 2 * len(lines) > max(console.width, 80):
        for upper, lower in zip(lines[::2], [*lines[1::2], ""], strict=False):
            text = Text(no_wrap=True)
            for above, below in zip(upper, lower.ljust(len(upper), " "), strict=True):
                ground = f" on {NAKURON_COLOURS[int(below)]}" if below != " " else ""
                text.append("▀", NAKURON_COLOURS[int(above)] + ground)
            console.print(text, soft_wrap=True)
        return
    for row, line in enumerate(lines):
        text = Text()
        for column, digit in enumerate(line):
            edge = row in (0, len(lines) - 1) or column in (0, len(lines) - 1)
            text.append(*_nakuron_cell(digit, edge))
        console.print(text)


def _nakuron_cell(digit: str, edge: bool) -> tuple[str, str]:
    """Two characters and their style: holes filled, balls not."""
    colour = NAKURON_COLOURS[int(digit)]
    if digit == "5":
        return _FILLED * 2, "dim"
    if digit == "0":
        return f"{EMPTY} ", "dim"
    return f"{digit} ", f"black on {colour}" if edge else f"bold {colour}"


def framed_nakuron(board: Board) -> list[str]:
    """The rows of a board with its frame around them, walls in the corners."""
    up, right, down, left = board.frame
    rows = (f"{left[row]}{cells}{right[row]}" for row, cells in enumerate(board.rows))
    return [f"5{up}5", *rows, f"5{down}5"]
