"""Runs as files for other programs."""

from typing import Literal

from fastapi import APIRouter
from starlette.responses import FileResponse, Response

from hakoiri.web.asking import AskedRun, pending

router = APIRouter(prefix="/api/runs/{run}", tags=["answers"])

_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "npz": "application/zip",
    "graphml": "application/graphml+xml",
    "parquet": "application/vnd.apache.parquet",
}


@router.get("/export.{ending}", summary="All configurations, with their moves where the form has room for them.")
def export(asked: AskedRun, ending: Literal["csv", "npz", "graphml", "parquet"]) -> Response:
    """Written when it is first asked for: until then 202 and where to look. Parts are answered (Range)."""
    question, target = asked.file(ending)
    if question.standing != "answered":
        return pending(question)
    name = f"{question.run}.{ending}"
    return FileResponse(target, media_type=_TYPES[ending], filename=name, headers=asked.headers())
