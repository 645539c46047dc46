"""Any puzzle with mirror images as the puzzle of its mirror classes, each class named by its least key."""

from collections.abc import Iterator

from hakoiri.keys.layout import Configuration, Key, Keys, ints
from hakoiri.keys.order import equal_rows
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.contract import Expansion, Puzzle, of_base


class MergedMirrors(Quotient):
    """`base` with each configuration and its mirror images taken as one.

    Right only because the mirror is an automorphism of the moves and keeps the goal; the tests check both on the
    whole space (trap: klotski#34). A distance is then the distance to the nearer of the images.
    """

    def __init__(self, base: Puzzle) -> None:
        self.base = self.unmerged = base
        self.name, self.version = base.name, base.version
        self.options, self.parameters = base.options, base.parameters
        self.layout, self.undirected, self.most_successors = base.layout, base.undirected, base.most_successors
        self.start_is_board, self.numbers, self.ranking = base.start_is_board, base.numbers, base.class_ranking
        self.total = self.ranking and self.ranking.size
        self.start = self.representative(base.start)

    @property
    def has_kernel(self) -> bool:
        return self.base.has_kernel

    def representative(self, key: Key) -> Key:
        """The key that names the class of `key`."""
        return self._representatives([key])[0]

    def _representatives(self, keys: list[Key]) -> list[Key]:
        return ints(self.base.canonical(self.keys(keys)))

    def usual_start(self) -> Key:
        return self.representative(self.base.usual_start())

    @property
    def has_goal(self) -> bool:
        return self.base.has_goal

    are_keys, is_goal, check_key, alike = map(of_base, ("are_keys", "is_goal", "check_key", "alike"))
    parse_text, render, remark_on, goal_text = map(of_base, ("parse_text", "render", "remark_on", "goal_text"))
    describe_moves, render_path, pictures = map(of_base, ("describe_moves", "render_path", "pictures"))

    def expand(self, keys: Keys) -> Expansion:
        successors, counts = self.base.expand(keys)
        return Expansion(self.base.canonical(successors), counts)

    def tally(self, keys: Keys) -> tuple[int, int]:
        sizes = self.base.orbit_sizes(keys)
        return self.base.tally(keys)[0], 0 if sizes is None else int(sizes.sum())

    def successors(self, key: Key) -> list[Key]:
        return self._representatives(self.base.successors(key))

    @property
    def lists_all(self) -> bool:
        return self.base.lists_all

    def configurations(self) -> Iterator[Keys]:
        for block in self.base.configurations():
            yield block[equal_rows(self.base.canonical(block), block)]

    def parse(self, configuration: Configuration) -> Key:
        """The representative of what is named."""
        return self.representative(self.base.parse(configuration))

    def describe_move(self, before: Key, after: Key) -> str:
        """The move from `before` that leads to an image of `after`."""
        return self.base.describe_move(*self.lift([before, after], before))

    def lift(self, path: list[Key], start: Key) -> list[Key]:
        # It exists because the mirror is an automorphism; of several images the least key is taken.
        real = [start]
        for wanted in path[1:]:
            successors = self.base.successors(real[-1])
            classes = zip(self._representatives(successors), successors, strict=True)
            real.append(min(key for found, key in classes if found == wanted))
        return real
