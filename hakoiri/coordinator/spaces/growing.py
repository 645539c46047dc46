"""The trees of the ranges of a space, by threads that take a range each, or by workers that take chunks of ranges."""

from collections.abc import Iterator
from itertools import count

from hakoiri.coordinator.session.farming import Cost
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.worker.graphs.forests import Forest
from hakoiri.worker.graphs.trees import Grown
from hakoiri.worker.layers.kernels import split
from hakoiri.worker.spaces.ranges import MOVE_ARRAYS, SlabRanges, grown_by_threads, together
from hakoiri.worker.tasks import forest


def grown_ranges(context: ComputeContext, ranges: SlabRanges, missing: list[int]) -> Iterator[tuple[int, Grown]]:
    """Yield the trees of some ranges with the number of the range, in any order."""
    puzzle, cost = context.puzzle, Cost()
    if context.executor is not context.local:
        sample = ranges.sample()
        cost = context.control.compute(puzzle, lambda: Cost.of(lambda keys: forest(puzzle, [keys], [])[0], sample))
    if size := context.farmed_chunk(ranges.size, cost._replace(successors=MOVE_ARRAYS * puzzle.most_successors)):
        yield from _grown_by_workers(context, ranges, missing, size)
    else:
        context.note_expanded_here("configurations", ranges.size, cost)
        yield from grown_by_threads(context.local, puzzle, context.shares, ranges, missing)


class _Open:
    """A range of which workers look at `left` chunks."""

    def __init__(self, number: int, keys: Keys, left: int) -> None:
        self.number, self.forest, self.left = number, Forest(keys), left
        self.moves = self.balance = 0


def _grown_by_workers(
    context: ComputeContext, ranges: SlabRanges, missing: list[int], size: int
) -> Iterator[tuple[int, Grown]]:
    open_ones, made = dict[int, _Open](), count()

    def chunks() -> Iterator[list[Keys]]:
        for number in missing:
            keys = together(ranges.keys(number))
            parts = split(keys, size)
            under_way = _Open(number, keys, len(parts))
            for part in parts:
                open_ones[next(made)] = under_way
                yield [part]

    for place, (pairs, figures) in context.executor.map("forest", chunks()):
        under_way = open_ones.pop(place)
        under_way.forest.join(pairs)
        under_way.moves, under_way.balance = under_way.moves + int(figures[0]), under_way.balance + int(figures[1])
        under_way.left -= 1
        if not under_way.left:
            trees = under_way.forest.trees(ranges.first_place(under_way.number))
            yield under_way.number, Grown(trees, under_way.moves, under_way.balance)
