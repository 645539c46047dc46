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
    "pdf": "application/pdf",
}


@computed(router, "/export.{ending}", "All configurations as a file, with their moves if the format has moves.")
def export(asked: AskedRun, ending: Literal["csv", "npz", "graphml", "parquet", "pdf"]) -> Response:
    """POST writes the file: 202, with an address to poll in `Location`. GET supports `Range`.

    A .pdf has boards to print, with their solutions.
    """
    return asked.file(_TYPES[ending], "export", ending)


@computed(router, "/map", "The map of a component: its state graph laid out.", response_class=Response)
def map_of(
    asked: AskedRun,
    component: Annotated[int | None, Query(ge=0, le=MOST_VERTICES, description="By default that of the start.")] = None,
    axes: Annotated[int, Query(alias="dim", ge=2, le=3)] = 3,
) -> Response:
    """POST computes the binary file (`hakoiri.export.maps`): 202, with an address to poll in `Location`."""
    with asked.opened() as run:
        number = run.mapped_component(component)
    return asked.file("application/octet-stream", "map", ENDING, component=number, dim=axes)
