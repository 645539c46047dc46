"""Answers from an open run about shortest paths: one, their number, and each of them.

They lead from the start, or from `source`, to `target`: a configuration (text, key, row of a layer), ``"goal"`` for the
nearest one, or ``"farthest"`` for the least one of the farthest. They avoid the configurations that match a text in
`avoid`, which is a configuration or a pattern as for a goal (``"**/.*"``). Raises `UnanswerableError` without a path,
`ConfigurationError` for an invalid configuration.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

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
from hakoiri.coordinator.layers.search import SearchFigures, first_layer
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.errors import Hint, counted
from hakoiri.keys.layout import Configuration, Key, Keys, as_text, ints, key_at
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.goals import any_of, avoiding
from hakoiri.run.opened import OpenRun
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


def distance(
    run: OpenRun, target: Configuration, source: Configuration | None = None, avoid: Sequence[str] = ()
) -> int:
    """Return the exact distance in moves."""
    if source is not None or avoid or run.is_census:
        return len(path(run, target, source, avoid))
    _, key = _ends(run, target, source)
    return _ends_from_start(run, target, key)[0]


def path(
    run: OpenRun, target: Configuration = GOAL, source: Configuration | None = None, avoid: Sequence[str] = ()
) -> ShortestPath:
    """Return a shortest path, always the same of several."""
    levels, _ = _levels(run, target, source, avoid, one=True)
    path = [key_at(level, 0) for level in levels]
    if isinstance(run.puzzle, Quotient):
        # The images that follow from each other, to the user's target if its paths lead to the user's start, else from
        # the start to an image of the target.
        start, classes = _real_start(run, source), path
        path = run.puzzle.lift(classes, start)
        if run.puzzle.undirected and not _is_word(target, GOAL, FARTHEST):
            back = run.puzzle.lift(classes[::-1], run.puzzle.base.parse(target))
            path = back[::-1] if back[-1] == start else path
    return (run.path_kind or ShortestPath)(run.puzzle, path)


def shortest_paths(
    run: OpenRun, target: Configuration = GOAL, source: Configuration | None = None, avoid: Sequence[str] = ()
) -> ShortestPaths:
    """Return all shortest paths and their number; if there are several nearest goals, to any of them.

    Raises `OverBudgetError` if the configurations on them do not fit the memory.
    """
    if _is_word(target, FARTHEST):
        target = path(run, FARTHEST, source, avoid).keys[-1]
    levels, puzzle = _levels(run, target, source, avoid)
    at_once = run.resources.tuning.paths_at_once
    starts = [_real_start(run, source)] if isinstance(puzzle, Quotient) else ints(levels[0])
    return ShortestPaths(len(levels) - 1, AllPaths(puzzle, levels, starts, at_once), run.path_kind or ShortestPath)


def _levels(
    run: OpenRun, target: Configuration, source: Configuration | None, avoid: Sequence[str], one: bool = False
) -> tuple[list[Keys], Puzzle]:
    """Return the levels of all shortest paths, or of `one`, and the puzzle without the avoided configurations."""
    avoid = [avoid] if isinstance(avoid, str) else avoid
    origin, key = _ends(run, target, source)
    with run.context(puzzle=_without(run, avoid, origin, key)) as context:
        levels = None if avoid else _known_levels(run, context, origin, target, key, one)
        if levels is None and _is_word(target, FARTHEST):
            run.require_complete("the farthest are")
            levels = search_farthest(context, run.store, _sources(run, context, origin, avoid))
        elif levels is None:
            levels = search_levels(context, run.store, _sources(run, context, origin, avoid), key, one)
    if levels is None:
        end = "a goal" if _is_word(target, GOAL) else as_text(target, [run.puzzle.layout])
        origin_text = "the starts" if origin is None else run.puzzle.render(origin)
        raise UnanswerableError(f"no path leads from {origin_text} to {end}; the search is exhaustive")
    return levels, context.puzzle


def _ends(run: OpenRun, target: Configuration, source: Configuration | None) -> tuple[Key | None, Key | None]:
    """Return the keys of both ends, ``None`` for the starts, a goal or the farthest; `UnanswerableError` for others."""
    run.require_graph()
    if _is_word(target, GOAL):
        run.require_goal()
    start = None if run.puzzle.several_starts else run.puzzle.start
    origin = start if source is None else run.puzzle.parse(source)
    key = None if _is_word(target, GOAL, FARTHEST) else run.puzzle.parse(target)
    for text in (source, target):
        # Boards of a path are known by their keys.
        if type(text) is str and text not in (GOAL, FARTHEST):
            run.puzzle.remark_on(text)
    return origin, key


# Known levels


def _known_levels(
    run: OpenRun, context: ComputeContext, origin: Key | None, target: Configuration, key: Key | None, one: bool
) -> list[Keys] | None:
    """Return the levels if they need no search, else ``None``."""
    if origin is None or run.is_from_start(origin):
        depth, ends = _ends_from_start(run, target, key)
        return levels_back(context, run.store, first_or_all(ends, one), depth, one)
    known = run.known_distances() if _is_word(target, GOAL) else None
    begin = run.puzzle.keys([origin])
    if known is None or (distance := int(known.of(begin)[0])) < 0:
        if known is not None and run.store.find(origin) is not None:
            raise UnanswerableError(
                f"no path leads from {run.puzzle.render(origin)} to a goal; run {run.name} has every configuration "
                "that leads to one"
            )
        return None
    return levels_on(context, known.store, begin, distance, one)


def _ends_from_start(run: OpenRun, target: Configuration, key: Key | None) -> tuple[Depth, Iterator[Keys]]:
    """Return the layer in which paths from the start end, and their ends, in increasing batches."""
    if key is not None:
        return run.depth_of(key), iter([run.puzzle.keys([key])])
    if _is_word(target, FARTHEST):
        run.require_complete("the farthest are")
        return run.store.state.depth, run.store.blocks(run.store.state.depth)
    depth = SearchFigures.of(run.store.state).goal_depth
    if depth == 0:
        return 0, goals_among(run.puzzle, [first_layer(run.puzzle)])
    if depth is None:
        raise run.not_found("found no goal")
    return depth, goals_among(run.puzzle, run.store.blocks(depth))


def _sources(run: OpenRun, context: ComputeContext, origin: Key | None, avoid: Sequence[str]) -> Keys:
    """Return the configurations from which to search, of several starts those that are not avoided."""
    if origin is not None:
        return run.puzzle.keys([origin])
    starts = first_layer(run.puzzle, context)
    return starts[~any_of(run.puzzle, avoid)(starts)]


def _without(run: OpenRun, avoid: Sequence[str], origin: Key | None, key: Key | None) -> Puzzle:
    """Return the puzzle without the configurations to avoid; neither end of the path may be one."""
    if not avoid:
        return run.puzzle
    if isinstance(run.puzzle, Quotient):
        hint = Hint("run without", "merge_mirrors")
        raise UnanswerableError(f"run {run.name} has mirror images merged, so a path cannot avoid one of them", hint)
    avoided = any_of(run.puzzle, avoid)
    for end in (origin, key):
        if end is not None and avoided(run.puzzle.keys([end]))[0]:
            raise UnanswerableError(f"{run.puzzle.render(end)} is an end of the path, so it cannot be avoided")
    return avoiding(run.puzzle, avoided)


# Ends


def _real_start(run: OpenRun, source: Configuration | None) -> Key:
    """Return the configuration given by the user, not the least of its mirror class."""
    base = run.puzzle.base if isinstance(run.puzzle, Quotient) else run.puzzle
    return base.start if source is None else base.parse(source)


def _is_word(target: Configuration, *words: str) -> bool:
    return isinstance(target, str) and target in words


def _shortened(text: str) -> str:
    """Return a text of at most 60 characters."""
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
