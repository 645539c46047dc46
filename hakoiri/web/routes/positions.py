"""Single configurations of a run."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path
from starlette.responses import Response

from hakoiri.api import Run
from hakoiri.web.asking import AskedRun
from hakoiri.web.runs.positions import Table, position_row, table_of

router = APIRouter(prefix="/api/runs/{run}/positions", tags=["answers"])


@router.get("/{conf:path}", summary="A configuration: its depth, its distance to the nearest goal, its moves.")
def position(asked: AskedRun, conf: Annotated[str, Path(max_length=10_000)]) -> Response:
    """The moves come best first, each with the depth and the goal distance that it leads to."""
    with asked.remembered() as (opened, memory):
        row = position_row(opened, _table(opened, memory), conf)
        run, there = asked.directory.name, quote(row["configuration"], safe="/")
        links = {
            "self": f"/api/runs/{run}/positions/{there}",
            "path": f"/api/runs/{run}/path?to=goal&from={there}",
            "board": f"/api/boards/{quote(opened.puzzle.name)}.svg?conf={there}",
        }
        return asked.answer(opened, row | {"links": links})


def _table(run: Run, memory: dict[str, Any]) -> Table | None:
    if "table" not in memory:
        memory["table"] = table_of(run)
    found: Table | None = memory["table"]
    return found
