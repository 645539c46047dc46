"""Lunar Lockout (H. Yamamoto 1989, Binary Arts 1998): a robot glides until it is stopped by another robot.

It must not leave the board, so without a robot in its way it does not move. A shall stop in the middle.
A key has 5 bits for the cell of each robot, A in the lowest, then the others by their cells.
"""

from hakoiri import U32, ConfigurationError, Puzzle

SIDE = 5
MIDDLE = SIDE * SIDE // 2
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
START = "B.C.D/...../...../...../E.A.F"


class LunarLockout(Puzzle):
    """Robots other than A are alike, and have letters in reading order: `B` to at most `F`."""

    name = "lunar-lockout"
    summary = "Lunar Lockout: gliding robots stop at each other; A shall stop in the middle"
    layout = U32
    most_successors = 24
    undirected = False

    def prepare(self, start):
        board = START if start is None or start.lower().startswith("0x") else start
        self.robots = sum(cell.isalpha() for cell in board)

    def usual_start(self):
        return self.parse_text(START)

    def cells(self, key):
        return [key >> 5 * robot & 31 for robot in range(self.robots)]

    def successors(self, key):
        cells = self.cells(key)
        return [
            pack([*cells[:robot], stop, *cells[robot + 1 :]])
            for robot, cell in enumerate(cells)
            for down, right in STEPS
            if (stop := glide(cell, down, right, cells)) not in (None, cell)
        ]

    def is_goal(self, keys):
        return keys & 31 == MIDDLE

    def describe_move(self, before, after):
        cells, then = self.cells(before), set(self.cells(after))
        (old,), (new,) = set(cells) - then, then - set(cells)
        down, right = new // SIDE - old // SIDE, new % SIDE - old % SIDE
        word = ("down" if down > 0 else "up") if down else "right" if right > 0 else "left"
        return f"{self.render(before).replace('/', '')[old]} {word}"

    def render(self, key):
        letters = dict(zip([key & 31, *sorted(self.cells(key)[1:])], "ABCDEF", strict=False))
        text = "".join(letters.get(cell, ".") for cell in range(SIDE * SIDE))
        return "/".join(text[row : row + SIDE] for row in range(0, SIDE * SIDE, SIDE))

    def parse_text(self, text):
        board = text.replace("/", "")
        square, named = [len(row) for row in text.split("/")] == [SIDE] * SIDE, "ABCDEF"[: self.robots]
        if not square or sorted(set(board) - {"."}) != list(named) or len(named) != SIDE * SIDE - board.count("."):
            raise ConfigurationError(f"expected {SIDE} rows of {SIDE} cells with each of the robots {named}")
        # Hakoiri refuses a text that `render` would write otherwise, as with other robots than A not in reading order.
        return pack([board.index(robot) for robot in named])


def pack(cells):
    return sum(cell << 5 * robot for robot, cell in enumerate([cells[0], *sorted(cells[1:])]))


def glide(cell, down, right, cells):
    """Return the cell before the first robot in a direction, or None if there is none."""
    while 0 <= cell // SIDE + down < SIDE and 0 <= cell % SIDE + right < SIDE:
        if cell + down * SIDE + right in cells:
            return cell
        cell += down * SIDE + right
    return None
