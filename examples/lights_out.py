import numpy as np

from hakoiri import U32, ConfigurationError, Expansion, Number, Puzzle, jit


@jit
def press_all(keys, presses, successors):
    for i in range(len(keys)):
        for j in range(len(presses)):
            successors[i * len(presses) + j] = keys[i] ^ presses[j]


class LightsOut(Puzzle):
    """At first all lights are lit. A key has a bit for each, in reading order, the first in the lowest bit."""

    name = "lights-out"
    summary = "Lights Out: a press switches a light and its neighbours; put out all of them"
    options = {"n": Number(5, 2, 5)}
    layout = U32
    most_successors = 25
    undirected = True  # The same press takes a press back.
    vertex_transitive = True  # All keys changed by the same bits: no move is gained or lost.

    def prepare(self, start):
        self.n = self.parameters["n"]
        cells = [divmod(cell, self.n) for cell in range(self.n**2)]
        self.presses = [sum(1 << self.n * i + j for i, j in cells if abs(i - r) + abs(j - c) <= 1) for r, c in cells]

    def usual_start(self):
        return (1 << self.n**2) - 1

    def successors(self, key):
        return [key ^ press for press in self.presses]

    def expand(self, keys):
        successors = self.layout.empty(len(keys) * len(self.presses))
        press_all(keys, self.layout.pack(self.presses), successors)
        return Expansion(successors, np.full(len(keys), len(self.presses), dtype=np.uint16))

    def is_goal(self, keys):
        return keys == 0

    def describe_move(self, before, after):
        row, column = divmod(self.presses.index(before ^ after), self.n)
        return f"row {row + 1} column {column + 1}"

    def render(self, key):
        lights = "".join("*" if key >> cell & 1 else "." for cell in range(self.n**2))
        return "/".join(lights[row : row + self.n] for row in range(0, self.n**2, self.n))

    def parse_text(self, text):
        if [len(row) for row in text.split("/")] != [self.n] * self.n or set(text) - set("*./"):
            raise ConfigurationError(f"expected {self.n} rows of {self.n} lights, * (lit) or '.', not {text!r}")
        return sum(1 << cell for cell, light in enumerate(text.replace("/", "")) if light == "*")
