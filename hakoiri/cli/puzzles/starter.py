"""The file that ``hakoiri new`` writes: a working puzzle with comments, to be changed into the user's own."""

import re

_HEAD = '''"""{file}: say here what your puzzle is.

It works as it stands: a row of coins, of which a move turns over two neighbours. Change it step by step into your
puzzle, and after each step let

    hakoiri try {file}:{kind}

tell you what does not fit together. When nothing is left: hakoiri run {file}:{kind}
"""

{imports}


'''
_IMPORTS = "from hakoiri import U32, ConfigurationError, Number, Puzzle"
_KERNEL_IMPORTS = """import numpy as np

from hakoiri import U32, ConfigurationError, Expansion, Number, Puzzle, jit"""
_KERNEL = '''@jit
def turn_coins(keys, coins, successors, counts):
    """Fill both arrays and return how many successors there are. Compiled by numba: plain loops are fast here."""
    total = 0
    for i in range(len(keys)):
        for place in range(coins - 1):
{loop}
    return total


'''
_LOOP = """            successors[total] = keys[i] ^ (3 << place)
            counts[i] += 1
            total += 1"""
_DIRECTED_LOOP = """            if keys[i] >> (place + 1) & 1:
                successors[total] = keys[i] ^ (3 << place)
                counts[i] += 1
                total += 1"""
_CLASS = '''class {kind}(Puzzle):
    """{rule} All heads is the goal."""

    name = "{name}"
    summary = "one line for 'hakoiri puzzles'"
    # What may be chosen with -o coins=10: the default, the least and the most.
    options = {{"coins": Number(8, 2, 24)}}
    # A key is a configuration packed into a whole number: equal configurations have equal keys, others other keys.
    # U32 are keys of 32 bits; there are U64, U128 and U256 too.
    layout = U32
{undirected}
    # No configuration has more moves than this.
    most_successors = 23

    def prepare(self, start):
        """Called once, when the options are known."""
        self.coins = self.parameters["coins"]

    def usual_start(self):
        """The key that a search begins with: all tails. The last coin is the lowest bit, 1 for tails."""
        return (1 << self.coins) - 1

    def successors(self, key):
        """The rules: the keys that one move leads to. Plain Python, as obviously right as you can make it."""
        return [{successors}]
{expand}
    def is_goal(self, keys):
        """Which of a numpy array of keys are goals."""
        return keys == 0

    def describe_move(self, before, after):
        """A move in words, other ones for each move of a configuration."""
        left = self.coins + 1 - (before ^ after).bit_length()
        return f"turn {{left}} and {{left + 1}}"

    def render(self, key):
        """A key as text. A board of several rows has '/' between them."""
        return f"{{key:0{{self.coins}}b}}".replace("0", "H").replace("1", "T")

    def parse_text(self, text):
        """The key of a text: what `render` wrote must lead back to its key, and anything else be refused."""
        if len(text) != self.coins or set(text) - set("HT"):
            raise ConfigurationError(f"expected {{self.coins}} coins, H (heads) or T (tails), not {{text!r}}")
        return int(text.replace("H", "0").replace("T", "1"), 2)
'''
_EXPAND = '''
    def expand(self, keys):
        """What `successors` says, of a whole array of keys: all that is fast here. The two must agree."""
        successors = self.layout.empty(len(keys) * self.most_successors)
        counts = np.zeros(len(keys), dtype=np.uint16)
        total = turn_coins(keys, self.coins, successors, counts)
        return Expansion(successors[:total], counts)
'''


def starter(file: str, directed: bool, kernel: bool) -> tuple[str, str]:
    """Return the name of the class, made from that of the file, and the text of the file."""
    words = re.findall(r"[a-z0-9]+", file.removesuffix(".py").lower())
    kind = "".join(word.capitalize() for word in words)
    kind = kind if kind[:1].isalpha() else f"Puzzle{kind}"
    parts = _HEAD + (_KERNEL.replace("{loop}", _DIRECTED_LOOP if directed else _LOOP) if kernel else "") + _CLASS
    told = {
        "rule": "A move turns over a coin that shows tails, and the one right of it."
        if directed
        else "A move turns over two neighbours.",
        "undirected": "    # Some moves cannot be taken back, so duplicates are looked for among all that is older.\n"
        "    undirected = False"
        if directed
        else "    # Every move can be taken back. If a single one cannot, this must be False.\n    undirected = True",
        "successors": "key ^ 0b11 << place for place in range(self.coins - 1)"
        + (" if key >> place + 1 & 1" if directed else ""),
    }
    named = {"file": file, "kind": kind, "name": "-".join(words)[:40], "expand": _EXPAND if kernel else ""}
    return kind, parts.format(imports=_KERNEL_IMPORTS if kernel else _IMPORTS, **named, **told)
