"""Explorations: all configurations that a start can reach, layer by layer; and probes.

A probe is a short search in memory. It estimates the size and the time of a run before the run is created.
"""

import math
import shutil
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from hakoiri.coordinator.errors import ContradictionError, UnanswerableError, nearest_goal
from hakoiri.coordinator.layers.search import ExplorePlan, LayeredSearch, SearchFigures, first_layer, search_to_end
from hakoiri.coordinator.session.job import Job
from hakoiri.coordinator.session.kind import ExploreKind
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer, Session
from hakoiri.errors import Hint, PuzzleError
from hakoiri.keys.layout import Keys, ints
from hakoiri.loading import loaded
from hakoiri.puzzles.contract import Puzzle, numbers_of
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.depths import MOST_NUMBERS
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.timing import clock
from hakoiri.worker.layers.kernels import merge, parts_after, split

if TYPE_CHECKING:
    from hakoiri.coordinator.session.check import Check

#: The least bytes of a configuration on disk, reached by dense keys.
_LEAST_BYTES = 1


class Explore(Job):
    """A search from the start; its plan is an `ExplorePlan`."""

    from_start = has_graph = several_starts = True
    figures = SearchFigures
    verifier = "hakoiri.coordinator.layers.verify:LayersVerifier"
    facts = (
        "configurations", "configurations represented: represented", "depth", "goal: goal_text", "nearest_goal",
        "widest three layers: {largest_window:,} around layer {largest_window_at}", "best score: score",
        "in moves: moves", "sequence",
    )  # fmt: skip

    @classmethod
    def by_hosts(cls, puzzle: Puzzle, plan: Mapping[str, Any]) -> bool:
        return "keep" not in plan

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        puzzle, keep = super().validate(spec, plan), plan.get("keep")
        if keep and not puzzle.undirected and not (numbers_of(puzzle) and puzzle.has_kernel):
            text = f"a move of {puzzle.name} may lead to any older layer, so all configurations are kept"
            raise PuzzleError(text, Hint("leave out", "keep"))
        if keep == "depths" and not puzzle.undirected:
            text = f"a move of {puzzle.name} may lead to any older layer, so depths modulo 3 do not tell the way back"
            raise PuzzleError(text, Hint("give", "keep", "frontier"))
        numbers = numbers_of(puzzle)
        if keep == "depths" and not 0 < numbers <= MOST_NUMBERS:
            text = f"{puzzle.name} has no `numbers`, or over {MOST_NUMBERS:,}; the depth of each would take two bits"
            raise PuzzleError(text, Hint("give", "keep", "frontier"))
        listed = puzzle.several_starts.parts[0] if puzzle.several_starts else puzzle.keys([])
        start = max([puzzle.start, *ints(listed[-1:])]) if keep == "depths" and puzzle.ranking is None else -1
        if start >= numbers:
            raise PuzzleError(f"{puzzle.name} starts with {start:#x}, but has {numbers:,} numbers")
        return puzzle

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        """Change nothing; note if the disk cannot hold the puzzle's known number of configurations."""
        found, total = SearchFigures.of(self.store.state), self.puzzle.total or 0
        needed, free = (total - found.configurations) * _LEAST_BYTES, shutil.disk_usage(self.store.directory).free
        if needed > free and not self.store.manifest.plan:
            fits = self.puzzle.has_kernel and 0 < numbers_of(self.puzzle) // 4 < free
            keep = "depths" if self.puzzle.undirected else "frontier"
            observer.note(
                f"all {total:,} configurations do not fit on this disk: they need at least {needed >> 20:,} MiB, "
                f"{free >> 20:,} MiB are free; the run stops, resumable, when the disk is full",
                *([Hint("give", "keep", keep)] if fits else []),
            )
        return resources

    def work(self, session: Session) -> None:
        plan = self.store.plan(ExplorePlan)
        search_to_end(session, LayeredSearch(session, keep=plan.keep), plan)

    def repair(self, session: Session) -> None:
        from hakoiri.coordinator.layers.verify import repair_layers

        repair_layers(session)

    def verify(self, check: "Check") -> None:
        check.check()
        try:
            for what, count in (found.counts() if (found := self._conclusion(check.context.budget)) else {}).items():
                check.report.count(what, count)
        except ContradictionError as error:
            check.report.fault(str(error))

    def _conclusion(self, budget: Budget) -> Any:
        """Return the puzzle's conclusion from an exhausted search from one start (`Puzzle.conclusion`), if any."""
        exhausted = self.puzzle.several_starts is None and SearchFigures.of(self.store.state).exhausted
        text = self.puzzle.conclusion
        return loaded(text)(self.store, self.puzzle, budget) if text and exhausted else None

    def summary(self, budget: Budget) -> dict[str, Any]:
        records = self.store.layer_records()
        size, depth = largest_window([record.size for record in records])
        more = found.row() if (found := self._conclusion(budget)) else {}
        return layer_summary(records) | {"largest_window": size, "largest_window_at": depth} | more

    @property
    def nearest_goal(self) -> str | None:
        return nearest_goal(SearchFigures.of(self.store.state).as_dict(), self.puzzle.has_goal)

    def questions(self) -> list[str]:
        found = SearchFigures.of(self.store.state)
        # If the start is the goal, there is no path to show.
        path, kept = {None: [], 0: ["farthest"]}.get(found.goal_depth, ["path"]), self.store.kept
        if kept.first and (not kept.table or 0 < (found.goal_depth or 0) < kept.first):
            path = []
        distances = "diameter" if self.puzzle.undirected else "strong components"
        measured = found.exhausted and not self.store.kept.first and self.puzzle.several_starts is None
        return [*path, *([distances] if measured else [])]


def layer_summary(records: list[LayerRecord]) -> dict[str, Any]:
    """Return a summary of stored layers for any kind of run; figures that only other kinds have are ``None``."""
    layers = {"goals": sum(record.goals for record in records), "layers": [record.size for record in records]}
    return layers | dict.fromkeys(("largest_window", "largest_window_at"))


def largest_window(sizes: list[int]) -> tuple[int | None, Depth | None]:
    """Return the largest |U(N-1)| + |U(N)| + |U(N+1)| and its least N: the most that a search holds in memory."""
    if not sizes:
        return None, None
    windows = [sum(sizes[max(0, depth - 1) : depth + 2]) for depth in range(len(sizes))]
    return max(windows), windows.index(max(windows))


#: Limits of a probe. A puzzle in plain Python expands some ten thousand configurations a second.
MOST_CONFIGURATIONS, MOST_SECONDS = 200_000, 1.0
#: Configurations expanded between two looks at the clock, by a kernel and in plain Python.
_BLOCK, _PLAIN_BLOCK = 4_096, 64


class Probe(NamedTuple):
    """The figures of a probe.

    `configurations` were found, in layers up to `depth`. If `exhausted`, the start reaches no others; otherwise a
    limit ended the search, and `total` is the number of all configurations, if known. `goal_depth` is the fewest moves
    to a goal, ``None`` if no goal was found. `spent` is the seconds of the search, `share` the mean size of a
    configuration on disk in bytes, in the largest layer. `pace` is the seconds a configuration of a table whose kernel
    takes no keys, ``None`` if a run has no such table.
    """

    configurations: int
    depth: Depth
    goal_depth: Depth | None
    exhausted: bool
    total: int | None
    spent: float
    share: float
    pace: float | None = None

    @property
    def expected(self) -> int | None:
        """The number of all configurations that the start reaches; ``None`` if it is unknown."""
        return self.configurations if self.exhausted else self.total

    @property
    def seconds(self) -> float | None:
        """The seconds of a complete search by one thread at this pace; ``None`` if unknown."""
        return None if self.expected is None else self.expected * (self.pace or self.spent / self.configurations)

    @property
    def stored_bytes(self) -> int | None:
        """The bytes of all configurations on disk; ``None`` if unknown."""
        return None if self.expected is None else math.ceil(self.expected * self.share)


def probe(puzzle: Puzzle, most: int = MOST_CONFIGURATIONS, seconds: float = MOST_SECONDS, block: int = 0) -> Probe:
    """Search from the start until no layer is left, or until `most` configurations or `seconds` are exceeded.

    Raises `UnanswerableError` for a tree, which has no moves.
    """
    if puzzle.is_tree:
        raise UnanswerableError(ExploreKind.misfit.format(puzzle.name), Hint("run", puzzle.name))
    layers, block = [first_layer(puzzle)], block or (_BLOCK if puzzle.has_kernel else _PLAIN_BLOCK)
    # Kernels are compiled at their first call, which may take longer than the search.
    merge([*parts_after(puzzle, [layers[0][:1]], block)], [])
    puzzle.is_goal(layers[0][:1])
    began, configurations, goal_depth = clock(), 0, None
    following: Keys | None = layers[0]
    while following is not None and len(following):
        configurations += len(following)
        if goal_depth is None and puzzle.is_goal(following).any():
            goal_depth = len(layers) - 1
        parts, found = parts_after(puzzle, layers, block), list[Keys]()
        following = None
        while following is None and configurations <= most and clock() <= began + seconds:
            if (part := next(parts, None)) is None:
                following = merge(found, [])
            else:
                found.append(part)
        if following is not None and len(following):
            layers.append(following)
    spent, largest, exhausted = clock() - began, max(layers, key=len), following is not None
    share = int(code_keys(0, largest).lengths.sum()) / len(largest)
    pace = None
    if numbers_of(puzzle) and puzzle.has_kernel and not exhausted:
        from hakoiri.worker.layers.table import TableNumbers

        pace = TableNumbers(puzzle).pace()
    return Probe(configurations, len(layers) - 1, goal_depth, exhausted, puzzle.total, spent, share, pace)


def probe_whole(puzzle: Puzzle, seconds: float = MOST_SECONDS) -> Probe:
    """List the whole space and expand it for some seconds; `PuzzleError` if the puzzle cannot list it."""
    blocks = puzzle.configurations()
    first = next(blocks)
    began, configurations, exhausted = clock(), 0, True
    for part in (part for block in chain([first], blocks) for part in split(block, _BLOCK)):
        if not (exhausted := clock() < began + seconds):
            break
        puzzle.expand(part)
        configurations += len(part)
    share = int(code_keys(0, first).lengths.sum()) / len(first)
    return Probe(configurations, 0, None, exhausted, puzzle.total, clock() - began, share)
