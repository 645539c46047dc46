"""Answers from an open run about shortest paths: one, their number, and each of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.layers.paths import (
    AllPaths,
    first_or_all,
    goals_among,
    levels_back,
    levels_on,
    search_farthest,
    search_levels,
)
from hakoiri.coordinator.layers.search import SearchFigures
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.errors import Hint, counted
from hakoiri.keys.layout import Configuration, Key, Keys, as_text, key_at
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.goals import any_of, avoiding
from hakoiri.run.answers import Answers
from hakoiri.storage.ledger.manifest import Depth

#: Words for the target of a path.
GOAL, FARTHEST = "goal", "farthest"
#: The most characters of a configuration in the `repr` of a path.
_MOST_SHOWN = 60


@dataclass(frozen=True)
class ShortestPath:
    """A shortest path: its keys from source to target, their texts, and one description per move.

    `len` is the number of moves, one less than that of the configurations. A piece has the same letter on all boards
    and in all moves, that of the first board.
    """

    puzzle: Puzzle
    keys: list[Key]

    def __len__(self) -> int:
        return len(self.keys) - 1

    def __repr__(self) -> str:
        ends = [_shortened(self.puzzle.render_path(self.keys[:1])[0]), _shortened(self.puzzle.render(self.keys[-1]))]
        return f"<{type(self).__name__} of {counted(len(self), 'moves')} from {ends[0]} to {ends[1]}>"

    @cached_property
    def configurations(self) -> list[str]:
        """The text of each configuration."""
        return self.puzzle.render_path(self.keys)

    @cached_property
    def moves(self) -> list[str]:
        """The description of each move."""
        return self.puzzle.describe_moves(self.keys)


@dataclass(frozen=True)
class ShortestPaths:
    """All shortest paths between two ends, found lazily and always in the same order.

    `length` is the number of moves of each.
    """

    length: int
    _paths: AllPaths = field(repr=False)
    _path: type[ShortestPath] = field(default=ShortestPath, repr=False)

    @cached_property
    def count(self) -> int:
        """The exact number of paths."""
        return self._paths.count()

    def __iter__(self) -> Iterator[ShortestPath]:
        return (self._path(self._paths.puzzle, keys) for keys in self._paths)


class PathAnswers(Answers):
    """An open run that answers questions about shortest paths.

    They lead from the start, or from `source`, to `target`: a configuration (text, key, row of a layer), ``"goal"`` for
    the nearest one, or ``"farthest"`` for the least one of the farthest. They avoid the configurations that match a
    text in `avoid`, which is a configuration or a pattern as for a goal (``"**/.*"``). Raises `UnanswerableError`
    without a path, `ConfigurationError` for an invalid configuration.
    """

    #: The class of the paths that are returned.
    _path: ClassVar[type[ShortestPath]] = ShortestPath

    def distance(self, target: Configuration, source: Configuration | None = None, avoid: Sequence[str] = ()) -> int:
        """Return the exact distance in moves."""
        return len(self.path(target, source, avoid))

    def path(
        self, target: Configuration = GOAL, source: Configuration | None = None, avoid: Sequence[str] = ()
    ) -> ShortestPath:
        """Return a shortest path, always the same of several."""
        levels, _ = self._levels(target, source, avoid, one=True)
        path = [key_at(level, 0) for level in levels]
        if isinstance(self.puzzle, Quotient):
            # The images that follow from each other, beginning with the user's start.
            path = self.puzzle.lift(path, self._real_start(source))
        return self._path(self.puzzle, path)

    def shortest_paths(
        self, target: Configuration = GOAL, source: Configuration | None = None, avoid: Sequence[str] = ()
    ) -> ShortestPaths:
        """Return all shortest paths and their number; if there are several nearest goals, to any of them.

        Raises `OverBudgetError` if the configurations on them do not fit the memory.
        """
        if _is_word(target, FARTHEST):
            target = self.path(FARTHEST, source, avoid).keys[-1]
        levels, puzzle = self._levels(target, source, avoid)
        at_once = self.resources.tuning.paths_at_once
        return ShortestPaths(len(levels) - 1, AllPaths(puzzle, levels, self._real_start(source), at_once), self._path)

    def _levels(
        self, target: Configuration, source: Configuration | None, avoid: Sequence[str], one: bool = False
    ) -> tuple[list[Keys], Puzzle]:
        """Return the levels of all shortest paths, or of `one`, and the puzzle without the avoided configurations."""
        self._require_graph()
        avoid = [avoid] if isinstance(avoid, str) else avoid
        if _is_word(target, GOAL):
            self.require_goal()
        origin = self.puzzle.start if source is None else self.puzzle.parse(source)
        key = None if _is_word(target, GOAL, FARTHEST) else self.puzzle.parse(target)
        for text in (source, target):
            # Boards of a path are known by their keys.
            if type(text) is str and text not in (GOAL, FARTHEST):
                self.puzzle.remark_on(text)
        with self._context(puzzle=self._without(avoid, origin, key)) as context:
            levels = None if avoid else self._known_levels(context, origin, target, key, one)
            if levels is None and _is_word(target, FARTHEST):
                self._require_complete("the farthest are")
                levels = search_farthest(context, self.store, origin)
            elif levels is None:
                levels = search_levels(context, self.store, origin, key, one)
        if levels is None:
            end = "a goal" if _is_word(target, GOAL) else as_text(target, [self.puzzle.layout])
            origin_text = self.puzzle.render(origin)
            raise UnanswerableError(f"no path leads from {origin_text} to {end}; the search is exhaustive")
        return levels, context.puzzle

    # Known levels

    def _known_levels(
        self, context: ComputeContext, origin: Key, target: Configuration, key: Key | None, one: bool
    ) -> list[Keys] | None:
        """Return the levels if they need no search, else ``None``."""
        if not self.is_census and origin == self.puzzle.start:
            depth, ends = self._ends_from_start(target, key)
            return levels_back(context, self.store, first_or_all(ends, one), depth, one)
        known = self.known_distances() if _is_word(target, GOAL) else None
        begin = self.puzzle.keys([origin])
        if known is None or (distance := int(known.of(begin)[0])) < 0:
            self._require_way_to_goal(origin, known is not None)
            return None
        return levels_on(context, known.store, begin, distance, one)

    def _require_way_to_goal(self, origin: Key, known: bool) -> None:
        """Raise `UnanswerableError` if the goal distances are known and `origin` leads to no goal."""
        if known and self.store.find(origin) is not None:
            raise UnanswerableError(
                f"no path leads from {self.puzzle.render(origin)} to a goal; run {self.name} has every "
                "configuration that leads to one"
            )

    def _ends_from_start(self, target: Configuration, key: Key | None) -> tuple[Depth, Iterator[Keys]]:
        """Return the layer in which paths from the start end, and their ends, in increasing batches."""
        if key is not None:
            return self._depth_of(key), iter([self.puzzle.keys([key])])
        if _is_word(target, FARTHEST):
            self._require_complete("the farthest are")
            return self.store.state.depth, self.store.blocks(self.store.state.depth)
        depth = SearchFigures.of(self.store.state).goal_depth
        if depth is None:
            raise self.not_found("found no goal")
        return depth, goals_among(self.puzzle, self.store.blocks(depth))

    def _without(self, avoid: Sequence[str], origin: Key, key: Key | None) -> Puzzle:
        """Return the puzzle without the configurations to avoid; neither end of the path may be one."""
        if not avoid:
            return self.puzzle
        if isinstance(self.puzzle, Quotient):
            hint = Hint("run without", "merge_mirrors")
            raise UnanswerableError(
                f"run {self.name} has mirror images merged, so a path cannot avoid one of them", hint
            )
        avoided = any_of(self.puzzle, avoid)
        for end in [origin] if key is None else [origin, key]:
            if avoided(self.puzzle.keys([end]))[0]:
                raise UnanswerableError(f"{self.puzzle.render(end)} is an end of the path, so it cannot be avoided")
        return avoiding(self.puzzle, avoided)

    # Ends

    def _real_start(self, source: Configuration | None) -> Key:
        """Return the configuration given by the user, not the least of its mirror class."""
        base = self.puzzle.base if isinstance(self.puzzle, Quotient) else self.puzzle
        return base.start if source is None else base.parse(source)


def _is_word(target: Configuration, *words: str) -> bool:
    return isinstance(target, str) and target in words


def _shortened(text: str) -> str:
    """Return a text of at most 60 characters."""
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
