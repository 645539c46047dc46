"""Magic stars: 1 to 2n on the points of the star {n/2}, so that the four numbers of every line add up to 4n + 2."""

from itertools import chain, combinations

import numpy as np

from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.guests.stars import strategies
from hakoiri.guests.stars.figure import draw, draw_star, star
from hakoiri.guests.stars.placements import Placements, SubtreeCounts
from hakoiri.guests.stars.strategies import COMBINED, least_images, points_of, walk
from hakoiri.keys.layout import MOST_POINTS, Key, Keys, Mask, Numbering, Placings
from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.options import Choice, Number
from hakoiri.puzzles.pictures import Picture
from hakoiri.puzzles.texts import numbers_in

GENERATE, PRUNE, FASTEST = "generate", "prune", "prune+symmetry"
_NOTHING_THERE = "."
#: More numbers than any search places.
_ALL = 2**62
#: With more points the first program would place 10^16 numbers and more.
_MOST_GENERATED = 8


class MagicStar(Placements):
    """The numbers 1 to 2n on the 2n points of the star {n/2}, so that the four of every line add up to 4n + 2.

    Points are numbered row by row from the top, for six tips as in figure 7 of Hiroi's article. A text gives the
    numbers in this order, the rows joined by `/`, a dot where none stands. `strategy` is one of the article's three
    programs. `generate` places all numbers and then looks at the lines. `prune` looks at each line when its fourth
    number comes. `symmetry`, besides, finds one solution of each orbit. The article's closing ideas are `order`,
    `forced` and `ahead`, alone or together (`symmetry+order`). `prune+symmetry` has them all, tries only what fits, and
    is the fastest. `solutions=keep` stores one solution of each orbit.
    """

    name = "magic-star"
    summary = "Magic stars: 1 to 2n on the star {n/2}, every line with the same sum"
    options = {
        "points": Number(6, 5, MOST_POINTS // 2),
        "strategy": Choice((FASTEST, PRUNE, GENERATE, *COMBINED)),
        "solutions": Choice(("count", "keep")),
    }

    def prepare(self, start: str | None) -> None:
        self.star = star(self.parameters["points"])
        self.strategy = self.parameters["strategy"]
        if self.strategy == GENERATE and self.star.tips > _MOST_GENERATED:
            raise PuzzleError(
                f"strategy={GENERATE} is limited to {_MOST_GENERATED} points, and this star has {self.star.tips}; use "
                f"{PRUNE} or {FASTEST}"
            )
        self.keeps = self.parameters["solutions"] == "keep"
        self._numbering = Numbering(self.star.points)
        self.layout, self.fields = self._numbering.layout, self._numbering.fields
        self.most_successors = self.star.points
        self._permutations = self.star.automorphisms()
        self.symmetries, self.automorphisms = 2 * self.star.tips, len(self._permutations)
        self._permutation_table = np.array(self._permutations, dtype=np.int64)
        self._lines = np.array(self.star.lines, dtype=np.int64)
        self._orders = strategies.ring_orders(self.star)
        if self.strategy != FASTEST:
            ideas = self.strategy.split("+")
            self._orders = [strategies.steps_of(self.star, ideas, self.strategy != GENERATE)]
        self._table = strategies.table_of(self._orders)
        self._widths = [len(points_of(step)) for step in self._orders[0]]
        self.levels = len(self._widths)

    @property
    def _breaks_symmetry(self) -> bool:
        return "symmetry" in self.strategy

    def expand(self, keys: Keys) -> Expansion:
        placings = self._numbering.unpack(keys)
        level = self._level_of(placings)
        found, counts, _ = self._walk(placings, level, level + 1)
        return Expansion(self._numbering.pack(found), counts.astype(np.uint16))

    def count_subtrees(self, keys: Keys) -> SubtreeCounts:
        placings = self._numbering.unpack(keys)
        found, _, nodes = self._walk(placings, self._level_of(placings), self.levels, goals_alone=True)
        least, is_least, is_least_of_all = least_images(found, self._permutation_table, self.symmetries)
        # Where symmetry is broken each orbit comes once, by whichever of its images; else it comes by all of them.
        if self._breaks_symmetry:
            is_least[:] = True
        orbits, classes = int(np.count_nonzero(is_least)), int(np.count_nonzero(is_least & is_least_of_all))
        solutions = self.symmetries * orbits if self._breaks_symmetry else len(found)
        return SubtreeCounts(solutions, orbits, classes, int(nodes), self._numbering.pack(least[is_least]))

    def exceeds(self, keys: Keys, nodes: int) -> bool:
        placings = self._numbering.unpack(keys)
        level, rows = self._level_of(placings), range(len(placings))
        return any(self._walk(placings[row : row + 1], level, self.levels, True, nodes)[2] > nodes for row in rows)

    def _walk(
        self, placings: Placings, level: int, end: int, goals_alone: bool = False, most: int = _ALL
    ) -> tuple[Placings, np.ndarray, int]:
        if level == self.levels:
            return placings[:0], np.zeros(len(placings), dtype=np.int64), 0
        lines = self._lines if goals_alone and self.strategy == GENERATE else self._lines[:0]
        return walk(placings, level, end, self._table, lines, most)

    def _level_of(self, placings: Placings) -> int:
        """The level of some placings, which all have the same."""
        placed = int(np.count_nonzero(placings[0])) if len(placings) else 0
        return int(np.searchsorted(np.cumsum(self._widths), placed, side="right")) if placed else 0

    def numbers_placed(self, level: int) -> int:
        return self._widths[level - 1] if level else 0

    def usual_start(self) -> Key:
        return 0

    def successors(self, key: Key) -> list[Key]:
        numbers, found = self._numbering.numbers_of(key), list[Key]()
        there, empty, total = {*np.flatnonzero(numbers)}, [0] * self.star.points, self.star.total
        for steps in self._orders:
            first = numbers[points_of(steps[0])[0]]
            if there and strategies.places(empty, steps[0], first, total) is None:
                continue  # The placing belongs to the other order.
            for level, step in enumerate(steps):
                if there == {*chain(*map(points_of, steps[:level]))}:
                    after = (strategies.places(numbers, step, number, total) for number in range(1, 1 + len(numbers)))
                    found += [self._numbering.key_of(following) for following in after if following is not None]
        # None if all points have numbers, or others than those of the first steps: no node of this tree.
        return found

    def reference_counts(self, key: Key) -> SubtreeCounts:
        found: list[Key] = []
        nodes, waiting = 0, [key]
        while waiting:
            node = waiting.pop()
            placed = self._placed(node)
            if placed == self.star.points and not self.faults(node):
                found.append(node)
            for successor in self.successors(node):
                nodes += self._placed(successor) - placed
                waiting.append(successor)
        least = {min(self.images(each)) for each in found} if self._breaks_symmetry else set(found)
        least = {each for each in least if each == self.images(each)[0]}
        classes = sum(each == min(self._all_images(each)) for each in least)
        solutions = self.symmetries * len(found) if self._breaks_symmetry else len(found)
        return SubtreeCounts(solutions, len(least), classes, nodes, self.keys(sorted(least)))

    def _placed(self, key: Key) -> int:
        return sum(number > 0 for number in self._numbering.numbers_of(key))

    def images(self, key: Key) -> list[Key]:
        return sorted(self._all_images(key)[: self.symmetries])

    def _all_images(self, key: Key) -> list[Key]:
        numbers = self._numbering.numbers_of(key)
        return [self._numbering.key_of([numbers[point] for point in image]) for image in self._permutations]

    def is_goal(self, keys: Keys) -> Mask:
        placings = self._numbering.unpack(keys)
        sums = placings[:, self._lines].sum(axis=2, dtype=np.int64)
        distinct = (np.sort(placings, axis=1) == np.arange(1, self.star.points + 1)).all(axis=1)
        return np.asarray(distinct & (sums == self.star.total).all(axis=1))

    def render(self, key: Key) -> str:
        numbers = self._numbering.numbers_of(key)
        if wrong := [number for number in numbers if number > self.star.points]:
            raise ConfigurationError(f"{wrong[0]} is not in 1..{self.star.points}")
        return "/".join(" ".join(str(numbers[point] or _NOTHING_THERE) for point in row) for row in self.star.rows)

    def parse_text(self, text: str) -> Key:
        form = f" or dots for a star of {self.star.tips} tips"
        words = text.replace("/", " ")
        return self._numbering.key_of(numbers_in(words, self.star.points, "number", form=form, blank=_NOTHING_THERE))

    def describe_move(self, before: Key, after: Key) -> str:
        numbers, following = self._numbering.numbers_of(before), self._numbering.numbers_of(after)
        placed = [point for point in range(self.star.points) if numbers[point] != following[point]]
        return ", ".join(f"{following[point]} on {point}" for point in placed)

    def faults(self, key: Key) -> list[str]:
        """The lines that fail: complete with another sum, or no unused numbers complete them."""
        numbers = self._numbering.numbers_of(key)
        unused, found = {*range(1, 1 + self.star.points)} - {*numbers}, list[str]()
        for line in self.star.lines:
            there = [numbers[point] for point in line if numbers[point]]
            needed, missing = self.star.total - sum(there), len(line) - len(there)
            if any(sum(chosen) == needed for chosen in combinations(unused, missing)):
                continue
            named, sums = " ".join(map(str, line)), " + ".join(map(str, there))
            if not missing:
                why = f"{sums} = {sum(there)}, not {self.star.total}"
            elif missing > 1:
                why = f"{sums} needs {needed} more, and no {missing} unused numbers add up to it".strip()
            elif needed in numbers:
                why = f"{sums} needs {needed}, which is on point {numbers.index(needed)}"
            else:
                why = f"{sums} needs {needed}, which is not in 1 to {self.star.points}"
            found.append(f"line {named}: {why}")
        return found

    def placings(self, keys: Keys) -> Placings:
        return self._numbering.unpack(keys)

    def drawing(self, key: Key) -> str:
        return draw(self.star, self._numbering.numbers_of(key))

    def pictures(self, path: list[Key]) -> list[Picture]:
        return [draw_star(self.star, self._numbering.numbers_of(key)) for key in path]
