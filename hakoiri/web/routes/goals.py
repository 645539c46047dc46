"""How far the configurations of a run are from their goals."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from hakoiri.coordinator.goals.distances import distances_directory, make_distances
from hakoiri.coordinator.session.resources import Resources
from hakoiri.rows.answers import hardest_row
from hakoiri.web.asking import Asked, RunName, Runs, computed

router = APIRouter(prefix="/api/runs/{run}", tags=["answers"])


@computed(router, "/hardest", "The configurations farthest from their nearest goal.")
def hardest(
    request: Request, opened: Runs, run: RunName, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    """Where the goal distances are not known yet POST queues a run of its own that finds them: 202, and where it is."""
    asked = Asked(request, run, opened.base(run))
    with asked.opened() as found:
        found.require_goals()
        if found.known_distances() is not None:
            return asked.answer(found, hardest_row(found, found.hardest(limit)))
        directory = distances_directory(found.store, found.puzzle)
        return asked.queued(directory, lambda: make_distances(found.store, Resources(), queued=True))
