"""Sokoban on a small board: push all boxes onto targets; one box at a time, and boxes cannot be pulled.

Boards are in the usual letters, with ``-`` for floor: ``#`` wall, ``@`` player, ``$`` box, ``.`` target, ``*`` box on a
target, ``+`` player on a target; with runs, ``5#|#@$.#|5#``. The usual start is the first level of D. W. Skinner's
Microban (2000). A key has a bit for each floor cell, set if a box is there, and above these the player's floor cell.
"""

from hakoiri import U64, ConfigurationError, Puzzle, expand_runs

MICROBAN_1 = "####--/#-.#--/#--###/#*@--#/#--$-#/#--###/####--"
MOST_FLOOR = 58
WORDS = ("up", "down", "left", "right")


class Sokoban(Puzzle):
    """Walls and targets are those of the board of the start. Every step of the player is a move."""

    name = "sokoban"
    summary = "Sokoban: push the boxes onto the targets"
    layout = U64
    most_successors = 4
    undirected = False

    def prepare(self, start):
        board = MICROBAN_1 if start is None or start.lower().startswith("0x") else expand_runs(start, "-")
        self.width, self.cells = len(board.split("/")[0]), board.replace("/", "")
        if {len(row) for row in board.split("/")} != {self.width} or set(self.cells) - set("#-@$.*+"):
            raise ConfigurationError("expected rows of equal length of the characters # - @ $ . * +")
        self.floor = [cell for cell, mark in enumerate(self.cells) if mark != "#"]
        if len(self.floor) > MOST_FLOOR:
            raise ConfigurationError(f"the board has {len(self.floor)} cells that are no walls, above {MOST_FLOOR}")
        self.place = {cell: place for place, cell in enumerate(self.floor)}
        self.targets = sum(1 << self.place[cell] for cell in self.floor if self.cells[cell] in ".*+")
        self.boxes = sum(mark in "$*" for mark in self.cells)

    def usual_start(self):
        return self.parse_text(MICROBAN_1)

    def beside(self, cell, word):
        """Return the place of the floor beside a cell, or None."""
        row, column = divmod(cell, self.width)
        row, column = row + {"up": -1, "down": 1}.get(word, 0), column + {"left": -1, "right": 1}.get(word, 0)
        return self.place.get(row * self.width + column) if 0 <= column < self.width else None

    def moves(self, key):
        boxes, player = key & (1 << MOST_FLOOR) - 1, key >> MOST_FLOOR
        for word in WORDS:
            step = self.beside(self.floor[player], word)
            if step is not None and boxes >> step & 1:
                beyond = self.beside(self.floor[step], word)
                if beyond is not None and not boxes >> beyond & 1:
                    yield word, boxes ^ 1 << step ^ 1 << beyond | step << MOST_FLOOR
            elif step is not None:
                yield word, boxes | step << MOST_FLOOR

    def successors(self, key):
        return [after for _, after in self.moves(key)]

    def describe_move(self, before, after):
        return next(word for word, found in self.moves(before) if found == after)

    def is_goal(self, keys):
        return keys & (1 << MOST_FLOOR) - 1 == self.targets

    def render(self, key):
        marks = ["#" if mark == "#" else "-."[mark in ".*+"] for mark in self.cells]
        for place, cell in enumerate(self.floor):
            on = marks[cell] == "."
            marks[cell] = "$*"[on] if key >> place & 1 else "@+"[on] if key >> MOST_FLOOR == place else marks[cell]
        return "/".join("".join(marks[row : row + self.width]) for row in range(0, len(marks), self.width))

    def same_text(self, text, written):
        """Levels may have runs, such as 5#, and short rows. Any text that is not another spelling is refused."""
        return expand_runs(text, "-") == written

    def parse_text(self, text):
        cells = expand_runs(text, "-").replace("/", "")
        players = [place for place, cell in enumerate(self.floor) if cells[cell : cell + 1] in ("@", "+")]
        boxes = sum(1 << place for place, cell in enumerate(self.floor) if cells[cell : cell + 1] in ("$", "*"))
        key = boxes | (players or [0])[0] << MOST_FLOOR
        if len(players) != 1 or boxes.bit_count() != self.boxes:
            raise ConfigurationError("expected the walls and targets of the start, as many boxes, and one player")
        return key
