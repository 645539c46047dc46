from itertools import product

from hakoiri import U32, ConfigurationError, Number, Puzzle, PuzzleError

ACES, HOLE = "HDS", "."


class LeftEnds(Puzzle):
    """The left ends of Superpuzz's rows that hold aces and holes. A key has four bits for each: 0 a hole, else an ace.

    A hole at the left end of a row takes any ace, also one that stands at another left end, whose place is then a hole.
    """

    name = "left-ends"
    summary = "the element components of Superpuzz: aces and holes that change places at the left ends of the rows"
    options = {"aces": Number(2, 1, 3), "holes": Number(1, 1, 3)}
    layout = U32
    most_successors = 4
    undirected = True  # The ace goes back to the hole that it left.

    def prepare(self, start):
        self.aces, self.holes = self.parameters["aces"], self.parameters["holes"]
        self.rows = self.aces + self.holes
        if self.rows > 4:
            raise PuzzleError(f"{self.aces} aces and {self.holes} holes need {self.rows} left ends; there are 4")

    def usual_start(self):
        return self.key([*range(1, self.aces + 1), *[0] * self.holes])

    def key(self, ends):
        return sum(end << 4 * row for row, end in enumerate(ends))

    def ends(self, key):
        return [key >> 4 * row & 15 for row in range(self.rows)]

    def successors(self, key):
        found, ends = [], self.ends(key)
        for ace, hole in product(range(self.rows), repeat=2):
            if ends[ace] and not ends[hole]:
                after = list(ends)
                after[ace], after[hole] = 0, ends[ace]
                found.append(self.key(after))
        return found

    def describe_move(self, before, after):
        ends = list(zip(self.ends(before), self.ends(after), strict=True))
        ace, row = next((now, row) for row, (then, now) in enumerate(ends, 1) if now and not then)
        return f"{ACES[ace - 1]} to row {row}"

    def render(self, key):
        return "/".join((HOLE + ACES)[end] for end in self.ends(key))

    def parse_text(self, text):
        wanted = sorted(ACES[: self.aces] + HOLE * self.holes)
        if sorted(text.split("/")) != wanted:
            raise ConfigurationError(f"expected {' '.join(wanted)} in some order, joined by '/', not {text!r}")
        return self.key([(HOLE + ACES).index(end) for end in text.split("/")])
