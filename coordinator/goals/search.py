"""The layered search from all goals of a finished run at once: U(N) are the configurations N moves from a goal.

Of an undirected puzzle it is the search by layers as ever, but for its first layer. Of a directed one U(N+1) is sifted
out of the configurations that are left: those that lead to U(N). For that no move need be taken back, and no more is
held in memory than the budget allows; the whole of what is left is expanded once for each layer.
"""

from dataclasses import dataclass

from coordinator.errors import MismatchError
from coordinator.layers.search import Explored, LayeredSearch
from coordinator.session.session import Session
from coordinator.steps.sifting import Sieve, SiftingStep, layers_with_goals, stored_run
from coordinator.steps.window import HeldLayer, Layer
from puzzles.errors import PuzzleError, Step
from storage.layers.store import RunStore


@dataclass(frozen=True)
class Distances(Explored):
    """What a search from all goals has found; `dead` is how many configurations lead to no goal."""

    dead: int | None = None


class GoalSearch(LayeredSearch):
    """A search from all goals of the open run `base`, among its configurations."""

    figures = Distances

    def __init__(self, session: Session, base: RunStore) -> None:
        self._base, self._run = base, stored_run(base)
        super().__init__(session, session.puzzle.start)

    def outcome(self) -> Distances:
        """The figures of the run when the search has ended."""
        found = super().outcome()
        return Distances(**found.as_dict() | {"dead": self._run.count - found.configurations})

    def _first(self) -> Layer:
        goals = layers_with_goals(self._base)
        if not goals.count:
            raise PuzzleError(f"run {self._base.directory.name} has no goal among its configurations")
        return self._made_by(SiftingStep(self._session, 0, goals, Sieve("goals"), [], self._pace))

    def _next(self, current: Layer) -> Layer:
        if self.puzzle.undirected:
            return super()._next(current)
        self.state = self._session.commit_staged(self.state)
        if self.found.configurations == self._run.count:
            return HeldLayer([])
        known = [current, *self._older.layers()]
        sieve = Sieve("leading", current)
        return self._made_by(SiftingStep(self._session, self.state.depth + 1, self._run, sieve, known, self._pace))


def open_base(store: RunStore) -> RunStore:
    """The run whose goal distances `store` holds, as it was then; `MismatchError` if it is not there any more."""
    plan, directory = store.manifest.plan, store.directory.parent
    base = RunStore(directory / plan["base"])
    if base.state.digest != plan["base_digest"] or base.state.status != "complete":
        base.close()
        run = store.directory.name
        raise MismatchError(f"run {run} belongs to another run {plan['base']} than is there now", Step("delete", run))
    return base
