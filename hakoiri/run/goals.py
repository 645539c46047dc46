"""Answers from an open run about its goals: the farthest from them, distances, statistics of boards."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from reprlib import repr as shortened
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.goals.job import METRIC, GoalDistances, distances_run
from hakoiri.coordinator.runs.drive import drive_to_end
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.errors import ConfigurationError, Hint, PuzzleError, counted, visible
from hakoiri.keys.layout import Configuration, Key, Keys, key_at
from hakoiri.parameters import at_least, fitting
from hakoiri.puzzles.contract import Puzzle
from hakoiri.run.opened import OpenRun
from hakoiri.storage.layers.store import StoredLayer

#: The default number of farthest configurations returned.
_USUALLY_GIVEN = 1_000
#: The most configurations of an answer that are written as texts.
_WRITTEN = 12


@dataclass(frozen=True)
class Hardest:
    """The greatest `distance` to the nearest goal, and the number of configurations (`count`) at that distance.

    `configurations` are the least of them, and `texts` the boards of the first. `layers` are the numbers at each
    distance from 0 on, and `dead` is the number that lead to no goal. `distances` is the run that contains all
    distances; `metric` is the definition of one move, if the puzzle has a choice.
    """

    distance: int
    count: int
    configurations: Keys
    layers: list[int]
    dead: int
    distances: str
    metric: str | None
    texts: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{counted(self.distance, 'moves')} from the nearest goal: {counted(self.count, 'configurations')}"
        return "\n".join([head, *self.texts])


def hardest(
    run: OpenRun, limit: int = _USUALLY_GIVEN, control: Control | None = None, observer: Observer | None = None,
    metric: str | None = None, resources: Resources | None = None,
) -> Hardest:  # fmt: skip
    """Return the configurations farthest from their nearest goal, the `limit` least of them.

    With `metric` moves are counted by another metric than the run's; the configurations are checked to be the same.
    Unknown goal distances are computed in this process and kept, as a run of its own, which is resumed if
    interrupted; `resources` are those of that run. Raises `RunError` if `control` ends it.
    """
    limit = at_least(1, "limit", limit)
    require_goals(run)
    other = other_metric(run, metric)
    if (known := run.known_distances(other)) is None:
        resources = resources or replace(run.resources, redis=run.redis)
        directory = distances_run(run.store, run.puzzle, other).make(resources)
        drive_to_end(directory, resources, control or Control(), observer or SilentObserver())
        known = cast(GoalDistances, run.known_distances(other))
    layers = [record.size for record in known.store.layer_records()]
    last = len(layers) - 1
    farthest = next(StoredLayer(known.store, last, layers[last]).chunks(0, limit))
    dead = run.reached.configurations - sum(layers)
    metric = _metric_among(run, known.store.manifest.puzzle["options"])
    texts = tuple(run.texts(farthest[:_WRITTEN]))
    return Hardest(last, layers[last], farthest, layers, dead, known.store.manifest.run, metric, texts)


def other_metric(run: OpenRun, metric: str | None) -> str:
    """Return `metric` if it is not the run's own, else ``""``; `PuzzleError` if there is no choice."""
    if metric is not None and METRIC not in run.puzzle.options:
        raise PuzzleError(f"{run.puzzle.name} has no option {METRIC}")
    metric = fitting("metric", metric, str | None)
    return "" if metric is None or metric == _metric_among(run, run.puzzle.parameters) else metric


def _metric_among(run: OpenRun, options: Mapping[str, str]) -> str | None:
    """Return the metric by these options of the puzzle; ``None`` if it has no choice."""
    option = run.puzzle.options.get(METRIC)
    return None if option is None else options.get(METRIC, option.default)


def goal_distances(run: OpenRun, keys: Keys | Iterable[Configuration]) -> NDArray[np.int64]:
    """Return the moves from each key to its nearest goal; -1 if it reaches none or is not in the run.

    `keys` are an array of whole numbers, or a list of texts, keys or rows of a layer. Costs little for a few, such as
    the successors of one. `ConfigurationError` for any others, `UnanswerableError` unless `hardest` was called before.
    """
    return known_distances(run).of(_batch(run.puzzle, keys))


def _batch(puzzle: Puzzle, given: Any) -> Keys:
    """Return configurations that a user named as keys in the puzzle's layout."""
    if puzzle.layout.holds(given):
        return cast(Keys, given)
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "iu":
        for key in map(int, (given.min(), given.max()) if len(given) else ()):
            if not 0 <= key <= puzzle.layout.greatest:
                raise ConfigurationError(f"{key} is not a key of {puzzle.name}: not in 0..{puzzle.layout.greatest}")
        return puzzle.keys(given.tolist())
    if isinstance(given, str) or not isinstance(given, Iterable) or (isinstance(given, np.ndarray) and not given.ndim):
        raise ConfigurationError(f"{visible(shortened(given))} is not a list of configurations, or an array of keys")
    return puzzle.keys([puzzle.parse(each) for each in given])


def at_goal_distance(run: OpenRun, distance: int, number: int) -> Key:
    """Return the configuration with this number, modulo their count, of those `distance` moves from a goal.

    `UnanswerableError` unless `hardest` was called before.
    """
    known = known_distances(run)
    sizes = [record.size for record in known.store.layer_records()]
    if not 0 <= (depth := fitting("distance", distance, int)) < len(sizes):
        raise UnanswerableError(f"run {run.name} has goal distances 0 to {len(sizes) - 1}, not {depth}")
    index = fitting("number", number, int) % sizes[depth]
    return key_at(next(StoredLayer(known.store, depth, sizes[depth]).chunks(index, 1)), 0)


def known_distances(run: OpenRun) -> GoalDistances:
    """Return the distances to the nearest goal; `UnanswerableError` unless `hardest` was called before."""
    if (known := run.known_distances()) is None:
        raise UnanswerableError(
            f"the goal distances of run {run.name} are not computed yet", Hint("ask", run.name, "hardest")
        )
    return known


def require_goals(run: OpenRun) -> None:
    """Raise `UnanswerableError` if the run is not finished, or has no goal."""
    run.require_goal()
    run.require_complete("the distances to its goals are")
    if not run.start_is_the_goal():
        run.store.require_kept()
    if not any(record.goals for record in run.layer_records()):
        hint = Hint("give", "goal", "CONF")
        raise UnanswerableError(f"run {run.name} has no goal among its configurations; run the puzzle again", hint)
