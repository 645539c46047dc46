"""Routes for runs as files for other programs, and for maps of components, which the page shows."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from hakoiri.coordinator.graphs.building import MOST_VERTICES
from hakoiri.export.maps import ENDING
from hakoiri.web.asking import AskedRun, computed

router = APIRouter(prefix="/api/runs/{run}", tags=["answers"])

_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "npz": "application/zip",
    "graphml": "application/graphml+xml",
    "parquet": "application/vnd.apache.parquet",
}


@computed(router, "/export.{ending}", "All configurations, with their moves where the form has room for them.")
def export(asked: AskedRun, ending: Literal["csv", "npz", "graphml", "parquet"]) -> Response:
    """POST has it written: 202 and where to look until it is there. Parts are answered (Range)."""
    return asked.file(_TYPES[ending], "export", ending)


@computed(router, "/map", "The state graph of a component, laid out.", response_class=Response)
def map_of(
    asked: AskedRun,
    component: Annotated[int | None, Query(ge=0, le=MOST_VERTICES, description="Else that of the start.")] = None,
    axes: Annotated[int, Query(alias="dim", ge=2, le=3)] = 3,
) -> Response:
    """Binary (`hakoiri.export.maps`), which POST has made: 202 and where to look until then."""
    with asked.opened() as run:
        number = run.mapped_component(component)
    return asked.file("application/octet-stream", "map", ENDING, component=number, dim=axes)
