"""Figures of a board of a run, for its designer."""

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.graphs.building import build_graph
from hakoiri.coordinator.graphs.distances import component_keys
from hakoiri.errors import Hint
from hakoiri.guests.boards.designing import SolvedSpace, statistics
from hakoiri.keys.layout import Configuration
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.run import components, goals
from hakoiri.run.answers import Statistics
from hakoiri.run.opened import OpenRun


def statistics_of(run: OpenRun, configuration: Configuration | None = None) -> Statistics:
    """Return the figures of a board for its designer, by default of the start: see `Statistics`.

    `positions` and `dead_ends` are those of its component, whose moves are held in memory until the run is closed:
    raises `OverBudgetError` if that is too small. `UnanswerableError` if moves cannot be taken back, if mirror
    images are merged, or without a way to a goal.
    """
    key = run.puzzle.start if configuration is None else run.puzzle.parse(configuration)
    require_statistics(run)
    component = components.component_of(run, key)
    if component not in run.solved:
        run.solved.clear()
        with run.context() as context:
            keys = component_keys(context, run.store, component)
            if not run.puzzle.is_goal(keys).any():
                raise UnanswerableError(f"component {component} of run {run.name} has no goal")
            run.solved[component] = SolvedSpace.over(run.puzzle, keys, build_graph(context, keys))
    space = run.solved[component]
    return statistics(space, space.place(key), run.puzzle.render(key))


def require_statistics(run: OpenRun) -> None:
    """Raise `UnanswerableError` or `NotKeptError` for a run whose boards have no statistics."""
    if not run.puzzle.undirected:
        text = f"the moves of {run.puzzle.name} cannot be taken back, so boards have no statistics"
        raise UnanswerableError(text)
    goals.require_goals(run)
    if isinstance(run.puzzle, Quotient):
        hint = Hint("run without", "merge_mirrors")
        raise UnanswerableError(f"run {run.name} has mirror images merged, so boards have no statistics", hint)
    components.require_listed(run)
