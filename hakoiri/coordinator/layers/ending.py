"""The end of a layered search: when a run stops, and the final checks of a complete space."""

from dataclasses import dataclass, replace

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.layers.search import LayeredSearch
from hakoiri.coordinator.session.session import Session
from hakoiri.storage.layers.digest import chain
from hakoiri.worker.layers.flow import total_flow


@dataclass(frozen=True)
class ExplorePlan:
    """Stop at the first layer with a goal, or at depth `layers`; else search until nothing is left."""

    until_goal: bool = False
    layers: int | None = None


def search_to_end(session: Session, search: LayeredSearch, plan: ExplorePlan) -> None:
    """Search as far as `plan` says, from the last committed layer on; commits along the way.

    Raises `StopRun` after committing every finished layer; storage, worker and budget errors likewise leave the last
    commit in place.
    """
    search.last = plan.layers
    try:
        while search.current.size and not (plan.until_goal and search.found.goal_depth is not None):
            if plan.layers is not None and search.state.depth >= plan.layers:
                break
            search.step()
    finally:
        search.state = session.commit_staged(search.state)
        search.end()
    search.require_older()
    _require_total(search)
    records = session.store.layer_records()
    _require_balance(search, [record.flow for record in records])
    digest = chain(record.digest for record in records)
    session.commit(replace(search.state, status="complete", figures=search.outcome().as_dict(), digest=digest))


def _require_total(search: LayeredSearch) -> None:
    """Raise `ContradictionError` if the size of the whole space differs from the puzzle's `total`."""
    total, found = search.total, search.outcome()
    if total is not None and found.exhausted and found.configurations != total:
        raise ContradictionError(
            f"this run found {found.configurations:,} configurations, expected {total:,} from any start of "
            f"{search.puzzle.name}; a worker or a host was wrong, or the puzzle is"
        )


def _require_balance(search: LayeredSearch, flows: list[int | None]) -> None:
    """Raise `ContradictionError` if moves of a whole undirected space are missing.

    `flows` has for each layer the sum over the moves of the layer before; ``None`` if it was not summed.
    """
    if search.current.size or not search.puzzle.undirected:
        return
    flows = [*flows, search.last_flow]
    if None not in flows and total_flow(filter(None, flows)):
        raise ContradictionError(
            f"some moves of this run are not reversed by another; a worker or a host omitted some, or "
            f"{search.puzzle.name} is not undirected"
        )
