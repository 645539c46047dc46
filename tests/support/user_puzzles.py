"""Two small user puzzles, as texts that tests write into files and change."""

from pathlib import Path

#: Water jugs of 8, 5 and 3 litres: pour one into another until it is full or the first is empty. Directed.
JUGS = """\
# Three jugs and no tap.
from hakoiri import U32, Puzzle

SIZES = (8, 5, 3)


class Jugs(Puzzle):
    name = "jugs"
    summary = "three jugs"
    layout = U32
    undirected = False
    most_successors = 6

    def usual_start(self):
        return 0x800

    def successors(self, key):
        found = []
        for one in range(3):
            for other in range(3):
                litres = [key >> 8, key >> 4 & 15, key & 15]
                poured = min(litres[one], SIZES[other] - litres[other])
                if one != other and poured:
                    litres[one] -= poured
                    litres[other] += poured
                    found.append(litres[0] << 8 | litres[1] << 4 | litres[2])
        return found

    def is_goal(self, keys):
        return keys == 0x440

    def render(self, key):
        return "/".join(str(key >> shift & 15) for shift in (8, 4, 0))

    def parse_text(self, text):
        big, middle, small = (int(word) for word in text.split("/"))
        return big << 8 | middle << 4 | small
"""
#: Two hundred numbers in a row, with a kernel.
ROW = """\
# The numbers 0..199: a move goes to a neighbour.
# The kernel `step` does what `successors` says.
import numpy as np

from hakoiri import U32, Expansion, Puzzle, jit


class Row(Puzzle):
    name = "row"
    layout = U32
    undirected = True
    most_successors = 2

    def usual_start(self):
        return 100

    def successors(self, key):
        return [other for other in (key - 1, key + 1) if 0 <= other < 200]

    def expand(self, keys):
        room, counts = self.layout.empty(2 * len(keys)), np.empty(len(keys), dtype=np.uint16)
        total = step(keys, room, counts)
        return Expansion(room[:total], counts)

    def configurations(self):
        yield np.arange(200, dtype=np.uint32)


@jit
def step(keys, room, counts):
    total = 0
    for i in range(len(keys)):
        begin = total
        key = np.int64(keys[i])
        if key > 0:
            room[total] = key - 1
            total += 1
        if key < 199:
            room[total] = key + 1
            total += 1
        counts[i] = total - begin
    return total
"""


def ruled(name: str, rules: str, imports: str = "", start: int = 0, undirected: bool = False) -> str:
    """Return the text of a puzzle of at most two moves that begins at `start`; `rules` are its methods, indented."""
    return f"""{imports}
from hakoiri import U32, Puzzle


class {name}(Puzzle):
    name = "{name.lower()}"
    summary = "a puzzle of a test"
    layout = U32
    undirected = {undirected}
    most_successors = 2

    def usual_start(self):
        return {start}

{rules}"""


def written(directory: Path, text: str = JUGS, name: str = "Jugs") -> str:
    """A file with this text, and the word for its puzzle."""
    directory.mkdir(exist_ok=True)
    file = directory / f"{name.lower()}.py"
    file.write_text(text, encoding="utf-8")
    return f"{file}:{name}"


def changed(*pairs: tuple[str, str], text: str = JUGS) -> str:
    """`text` with something in it replaced."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


#: Fails at 130 alone, which is met together with 70.
FAULTY = changed(("key = np.int64(keys[i])\n", "key = np.int64(keys[i])\n        1 // (key - 130)\n"), text=ROW)
FAULT = "row of row.py: expand of 0x82 failed: line 22, ZeroDivisionError"
