"""Water jugs: pour until one jug is empty or the other full; there is no tap. Tartaglia's, of 8, 5 and 3 litres, 1556.

A key has 8 bits for the litres in each jug, the first in the lowest.
"""

from hakoiri import U32, ConfigurationError, Number, Puzzle


class WaterJugs(Puzzle):
    """The first jug is full. Half of it shall be in the first jug, half in the second."""

    name = "water-jugs"
    summary = "three water jugs: halve what the first holds"
    options = {"first": Number(8, 2, 200), "second": Number(5, 1, 200), "third": Number(3, 1, 200)}
    layout = U32
    most_successors = 6
    undirected = False  # What was poured cannot always be poured back exactly.

    def prepare(self, start):
        self.sizes = [self.parameters[name] for name in ("first", "second", "third")]

    def usual_start(self):
        return self.sizes[0]

    def litres(self, key):
        return [key >> shift & 255 for shift in (0, 8, 16)]

    def successors(self, key):
        found = []
        for one in range(3):
            for other in range(3):
                litres = self.litres(key)
                poured = min(litres[one], self.sizes[other] - litres[other])
                if one != other and poured:
                    found.append(key - (poured << 8 * one) + (poured << 8 * other))
        return found

    def is_goal(self, keys):
        half = self.sizes[0] // 2
        return keys & 0xFFFF == (half | half << 8)

    def describe_move(self, before, after):
        changes = [b - a for a, b in zip(self.litres(before), self.litres(after), strict=True)]
        return f"jug {changes.index(min(changes)) + 1} into jug {changes.index(max(changes)) + 1}"

    def render(self, key):
        return "/".join(map(str, self.litres(key)))

    def parse_text(self, text):
        words = text.split("/")
        if len(words) != 3 or not all(word.isdecimal() and len(word) < 4 for word in words):
            raise ConfigurationError(f"expected the litres in three jugs such as 8/0/0, not {text!r}")
        litres = [int(word) for word in words]
        if (
            text != "/".join(map(str, litres))
            or any(map(int.__gt__, litres, self.sizes))
            or sum(litres) > self.sizes[0]
        ):
            raise ConfigurationError(f"jugs of {'/'.join(map(str, self.sizes))} litres cannot hold {text!r}")
        return sum(each << 8 * jug for jug, each in enumerate(litres))
