"""Magic stars: 1 to 2n on the points of the star {n/2}, so that the four numbers of every line add up to 4n + 2."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import MOST_POINTS, Key, Keys, Mask, Numbering, Placings
from hakoiri.puzzles.capabilities import Placements, SubtreeCounts
from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.options import Choice, Number
from hakoiri.puzzles.pictures import Picture
from hakoiri.puzzles.stars import strategies
from hakoiri.puzzles.stars.figure import draw, draw_star, star
from hakoiri.puzzles.stars.kernels import least_images, walk_ring, walk_steps
from hakoiri.puzzles.stars.strategies import CHOOSE, COMBINED, FORCE, NONE, Check, Step
from hakoiri.puzzles.texts import numbers_in

GENERATE, PRUNE, FASTEST = "generate", "prune", "prune+symmetry"
_NOTHING_THERE = "."
#: More numbers than any search places.
_ALL = 2**62
#: With more points the first program would place 10^16 numbers and more.
_MOST_GENERATED = 8


def _points(step: list[Check]) -> list[int]:
    """The points that a step gives numbers to."""
    return [check[1] for check in step if check[0] in (CHOOSE, FORCE)]


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
        self._steps = strategies.steps_of(self.star, self.strategy.split("+"), self.strategy != GENERATE)
        if self.strategy == FASTEST:
            self._table, self._widths = strategies.table(self._orders), [step.numbers for step in self._orders[0]]
        else:
            self._table, self._widths = strategies.table_of(self._steps), [len(_points(step)) for step in self._steps]
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
        found = (
            self._walk(placings[row : row + 1], self._level_of(placings), self.levels, True, nodes)
            for row in range(len(placings))
        )
        return any(placed > nodes for _, _, placed in found)

    def _walk(
        self, placings: Placings, level: int, end: int, goals_alone: bool = False, most: int = _ALL
    ) -> tuple[Placings, np.ndarray, int]:
        if level == self.levels:
            return placings[:0], np.zeros(len(placings), dtype=np.int64), 0
        if self.strategy == FASTEST:
            return walk_ring(placings, level, end, self._table, most)
        lines = self._lines if goals_alone and self.strategy == GENERATE else self._lines[:0]
        return walk_steps(placings, level, end, self._table, lines, most)

    def _level_of(self, placings: Placings) -> int:
        """The level of some placings, which all have the same."""
        placed = int(np.count_nonzero(placings[0])) if len(placings) else 0
        return int(np.searchsorted(np.cumsum(self._widths), placed, side="right")) if placed else 0

    def numbers_placed(self, level: int) -> int:
        return self._widths[level - 1] if level else 0

    def usual_start(self) -> Key:
        return 0

    def successors(self, key: Key) -> list[Key]:
        numbers = self._numbering.numbers_of(key)
        if self.strategy == FASTEST:
            return [self._numbering.key_of(following) for following in self._ring_successors(numbers)]
        there = {*np.flatnonzero(numbers)}
        for level, step in enumerate(self._steps):
            if there == {point for earlier in self._steps[:level] for point in _points(earlier)}:
                found = (strategies.places(numbers, step, number, self.star.total) for number in self._unused(numbers))
                return [self._numbering.key_of(following) for following in found if following is not None]
        return []  # All points have numbers, or others than those of the first steps: no node of this tree.

    def _ring_successors(self, numbers: list[int]) -> Iterator[list[int]]:
        for steps in self._orders:
            if any(numbers) and numbers[steps[0].chosen] != steps[0].fixed:
                continue
            level = next((level for level, step in enumerate(steps) if not numbers[step.chosen]), None)
            if level is not None and self._placed_by(steps[:level]) == {*np.flatnonzero(numbers)}:
                step = steps[level]
                found = (self._after(numbers, step, number) for number in self._unused(numbers))
                yield from (following for following in found if following is not None)

    def _placed_by(self, steps: list[Step]) -> set[int]:
        points = {point for step in steps for point in (step.chosen, step.forced)}
        return points - {NONE}

    def _after(self, numbers: list[int], step: Step, number: int) -> list[int] | None:
        """`numbers` with `number` on the chosen point of `step` and what follows; ``None`` if that cannot be."""
        if step.fixed not in (0, number) or (step.above != NONE and number < numbers[step.above]):
            return None
        following = list(numbers)
        following[step.chosen] = number
        if step.forced != NONE:
            other = self.star.total - number - sum(numbers[point] for point in step.on_line if point != NONE)
            if other not in self._unused(following):
                return None
            following[step.forced] = other
        if self._wrong(following):
            return None
        if step.open_line[0] != NONE:
            left, unused = self.star.total - sum(following[point] for point in step.open_line), self._unused(following)
            if not any(left - one in unused and left - one != one for one in unused):
                return None
        return following

    def _unused(self, numbers: list[int]) -> list[int]:
        return [number for number in range(1, self.star.points + 1) if number not in numbers]

    def _wrong(self, numbers: list[int]) -> bool:
        """Some line is complete and does not add up."""
        lines = ([numbers[point] for point in line] for line in self.star.lines)
        return any(0 not in line and sum(line) != self.star.total for line in lines)

    def reference_counts(self, key: Key) -> SubtreeCounts:
        found: list[Key] = []
        nodes, waiting = 0, [key]
        while waiting:
            node = waiting.pop()
            placed = self._placed(node)
            if placed == self.star.points and not self._wrong(self._numbering.numbers_of(node)):
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
        unused, found = self._unused(numbers), list[str]()
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
