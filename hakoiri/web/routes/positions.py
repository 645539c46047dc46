"""Routes for single configurations of a run."""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from hakoiri.api import Run
from hakoiri.rows.pictures import moves_row
from hakoiri.rows.positions import UNKNOWN, position_row, table_of
from hakoiri.web.asking import Asked, AskedRun

#: The cached parts of a run: its table, and its answers with their greatest number.
_TABLE, _ANSWERS, _MOST_KEPT = "table", "answers", 5_000

router = APIRouter(prefix="/api/runs/{run}")


@router.get(
    "/positions/{conf:path}",
    tags=["answers"],
    summary="A configuration: its depth, its distance to the nearest goal, its moves.",
)
async def position(asked: AskedRun, conf: Annotated[str, Path(max_length=10_000)]) -> Response:
    """The moves are sorted, best first, each with the depth and the goal distance of its target."""
    with asked.runs.at_once(asked.directory) as found:
        # An answer from memory takes less time than starting a thread.
        if found is not None and found[1].get(_TABLE) is not None:
            return _answer(asked, *found, conf)
    return await run_in_threadpool(_look, asked, conf)


@router.get(
    "/pictures/{conf:path}",
    tags=["boards"],
    summary="A configuration as a picture in parts, and the changes by each move.",
)
def picture(asked: AskedRun, conf: Annotated[str, Path(max_length=10_000)]) -> Response:
    """A part keeps its name in a move; `moved` parts have a new place, `changed` parts new shapes."""
    with asked.opened() as run:
        return asked.answer(run, moves_row(run.puzzle, run.puzzle.parse(conf)))


def _look(asked: Asked, conf: str) -> Response:
    with asked.runs.asked(asked.directory) as (run, memory):
        if _TABLE not in memory:
            memory[_TABLE] = table_of(run)
        return _answer(asked, run, memory, conf)


def _answer(asked: Asked, run: Run, memory: dict[str, Any], conf: str) -> Response:
    """Return an answer; that of a small run is cached, because many clients request the same positions."""
    known: dict[str, bytes] = memory.setdefault(_ANSWERS, {})
    if conf not in known:
        row = _row(asked, run, memory, conf)
        if row["goal_distance_unknown"] == UNKNOWN:
            return asked.answer(run, row, settled=False)
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[conf] = asked.encoded(row)
    return asked.content(run, known[conf])


def _row(asked: Asked, run: Run, memory: dict[str, Any], conf: str) -> dict[str, Any]:
    row = position_row(run, memory[_TABLE], conf)
    name, there = asked.directory.name, quote(row["configuration"], safe="/")
    links = {
        "self": f"/api/runs/{name}/positions/{there}",
        "path": f"/api/runs/{name}/path?to=goal&from={there}",
        "board": f"/api/boards/{quote(run.puzzle.name)}.svg?conf={there}",
    }
    return row | {"links": links}
