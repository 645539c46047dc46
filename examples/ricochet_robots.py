"""Ricochet Robots (A. Randolph 1999) on a small board: a robot glides until a wall, an edge or a robot stops it.

Robot A shall stop on the target. ``#`` is a wall, ``*`` the target, ``a`` to ``d`` a robot on the target.
A key has 6 bits for the cell of each robot, A in the lowest.
"""

from hakoiri import U32, ConfigurationError, Puzzle

START = "A...../..#..B/....#./.*..../#...#./C....."
STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


class RicochetRobots(Puzzle):
    """Walls and target are those of the board of the start. Robots `A` to at most `D` are all different."""

    name = "ricochet-robots"
    summary = "Ricochet Robots: robots glide until something stops them; A shall stop on the target"
    layout = U32
    most_successors = 16
    undirected = False

    def prepare(self, start):
        board = START if start is None or start.lower().startswith("0x") else start
        self.rows, self.columns, cells = len(board.split("/")), len(board.split("/")[0]), board.replace("/", "")
        self.walls = {cell for cell, mark in enumerate(cells) if mark == "#"}
        self.names = "".join(sorted(mark.upper() for mark in cells if mark.isalpha()))
        targets = [cell for cell, mark in enumerate(cells) if mark in "*abcd"]
        if len(cells) != self.rows * self.columns or len(cells) > 64 or len(targets) != 1:
            raise ConfigurationError("expected rows of equal length, at most 64 cells, and one target")
        self.target = targets[0]

    def usual_start(self):
        return self.parse_text(START)

    def cells(self, key):
        return [key >> 6 * robot & 63 for robot in range(len(self.names))]

    def glide(self, cell, down, right, cells):
        row, column = divmod(cell, self.columns)
        while 0 <= row + down < self.rows and 0 <= column + right < self.columns:
            ahead = (row + down) * self.columns + column + right
            if ahead in self.walls or ahead in cells:
                break
            row, column = row + down, column + right
        return row * self.columns + column

    def moves(self, key):
        cells = self.cells(key)
        for robot, cell in enumerate(cells):
            for word, (down, right) in STEPS.items():
                stop = self.glide(cell, down, right, cells)
                if stop != cell:
                    yield f"{self.names[robot]} {word}", key + (stop - cell << 6 * robot)

    def successors(self, key):
        return [after for _, after in self.moves(key)]

    def describe_move(self, before, after):
        return next(words for words, found in self.moves(before) if found == after)

    def is_goal(self, keys):
        return keys & 63 == self.target

    def render(self, key):
        marks = ["#" if cell in self.walls else "." for cell in range(self.rows * self.columns)]
        marks[self.target] = "*"
        for name, cell in zip(self.names, self.cells(key), strict=True):
            if cell < len(marks):
                marks[cell] = name.lower() if cell == self.target else name
        return "/".join("".join(marks[row : row + self.columns]) for row in range(0, len(marks), self.columns))

    def parse_text(self, text):
        cells = text.replace("/", "").upper()
        if sorted(mark for mark in cells if mark.isalpha()) == list(self.names) == list("ABCD"[: len(self.names)]):
            key = sum(cells.index(name) << 6 * robot for robot, name in enumerate(self.names))
            if self.render(key) == text:
                return key
        raise ConfigurationError("expected the walls and target of the start, and each robot, from A on, once")
