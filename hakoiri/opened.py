"""An open run of any kind with all its answers; `hakoiri.api` adds files, pictures and tables."""

from collections.abc import Iterator
from typing import Any

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.summary import summarise
from hakoiri.coordinator.session.job import Play
from hakoiri.coordinator.trees.job import found_solutions
from hakoiri.maps import MapAnswers
from hakoiri.puzzles.capabilities import Placements
from hakoiri.puzzles.keys.layout import Keys


class OpenRun(MapAnswers):
    """An open run of any kind. `puzzle` is the run's, `store` its data.

    `resources` are the threads and memory of this process for questions.
    """

    @property
    def tree(self) -> Placements:
        """The puzzle of a run of a tree; `UnanswerableError` for any other."""
        if isinstance(self.puzzle, Placements):
            return self.puzzle
        raise UnanswerableError(f"run {self.name} is not a tree, so it has no solutions to list")

    def solutions(self) -> Iterator[Keys]:
        """Yield the solutions of a tree in batches: the least image of one solution of each orbit.

        In increasing order if the run is complete, else those found so far. `UnanswerableError` if the run keeps none.
        """
        return found_solutions(self.store, self.tree)

    def summary(self) -> dict[str, Any]:
        """Return everything known about the run, as plain values."""
        return summarise(self.kind(self.store, self.puzzle), self.resources.budget())

    def best_play(self) -> Play:
        """Return the best play, if moves score: the highest score, then the fewest moves; for a finished run proved.

        For an optimisation it is the best one so far. Raises `UnanswerableError` for other runs, `OverBudgetError` if
        the memory is too small.
        """
        return self.kind(self.store, self.puzzle).best_play(self.resources.budget())
