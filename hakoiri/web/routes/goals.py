"""How far the configurations of a run are from their goals."""

from contextlib import suppress
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from coordinator.goals.distances import distances_directory, make_distances
from coordinator.session.resources import Resources
from hakoiri.rows.answers import hardest_row
from hakoiri.rows.runs import status_row
from hakoiri.web.asking import Asked, RunName, Runs
from hakoiri.web.runs.opened import OpenRuns
from storage.errors import RunHeldError

router = APIRouter(prefix="/api/runs/{run}", tags=["answers"])


@router.get("/hardest", summary="The configurations farthest from their nearest goal.")
def hardest(
    request: Request, opened: Runs, run: RunName, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    """Where the goal distances are not known yet a run of its own is queued that finds them: 202, and where it is."""
    return _hardest(opened, Asked(request, run, opened.base(run)), limit)


def _hardest(opened: OpenRuns, asked: Asked, limit: int) -> Response:
    with asked.opened() as run:
        run.require_goals()
        if run.known_distances() is not None:
            return asked.answer(run, hardest_row(run, run.hardest(limit)))
        directory = distances_directory(run.store, run.puzzle)
        # Where it is held somebody is at it.
        with suppress(RunHeldError):
            make_distances(run.store, Resources(), queued=True)
    where = {"Location": f"/api/runs/{directory.name}"}
    return JSONResponse(status_row(opened.status(directory)), HTTPStatus.ACCEPTED, where)
