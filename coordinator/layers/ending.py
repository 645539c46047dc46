"""How far a search of a run goes, and what must hold when it has ended."""

from dataclasses import dataclass, replace

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.layers.search import LayeredSearch
from hakoiri.coordinator.session.session import Session
from hakoiri.storage.layers.digest import chain
from hakoiri.worker.layers.flow import total_flow


@dataclass(frozen=True)
class ExplorePlan:
    """How far a search goes: until nothing is left, or to the first layer that holds a goal, or to that layer."""

    until_goal: bool = False
    layers: int | None = None


def search_to_end(session: Session, search: LayeredSearch, plan: ExplorePlan) -> None:
    """The search of a run, as far as it asks for.

    It goes on from the last committed layer, and commits as it goes. Raises `StopRun` after committing every finished
    layer; storage, worker and budget errors likewise leave the last commit standing.
    """
    try:
        while search.current.size and not (plan.until_goal and search.found.goal_depth is not None):
            if plan.layers is not None and search.state.depth >= plan.layers:
                break
            search.step()
    finally:
        search.state = session.commit_staged(search.state)
    _require_total(search)
    _require_balance(search)
    digest = chain(record.digest for record in session.store.layer_records())
    session.commit(replace(search.state, status="complete", figures=search.outcome().as_dict(), digest=digest))


def _require_total(search: LayeredSearch) -> None:
    """`ContradictionError` where the whole space has another size than the puzzle knows."""
    total, found = search.total, search.outcome()
    if total is not None and found.exhausted and found.configurations != total:
        raise ContradictionError(
            f"{search.puzzle.name} reaches {total:,} configurations from any start, this run found "
            f"{found.configurations:,}: a worker was wrong, or the puzzle is"
        )


def _require_balance(search: LayeredSearch) -> None:
    """`ContradictionError` where not all moves of a whole undirected space are there; they are summed for workers."""
    if search.current.size or not search.puzzle.undirected:
        return
    flows = search.flows
    if None not in flows and total_flow(filter(None, flows)):
        raise ContradictionError(
            f"not every move that this run found is taken back by another: a worker left out some, or "
            f"{search.puzzle.name} is not undirected"
        )
