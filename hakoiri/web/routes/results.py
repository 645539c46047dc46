"""What runs without a graph of moves have found: their tables, solutions of trees, the best play of an optimisation."""

from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from hakoiri.puzzles.keys.layout import ints
from hakoiri.web.asking import AskedRun
from hakoiri.web.pictures import picture_row
from hakoiri.web.plays import play_row

router = APIRouter(prefix="/api/runs/{run}", tags=["answers"])


@router.get("/summary", summary="All that is known of a run: the JSON of `run`, and its tables.")
def summary(asked: AskedRun) -> Response:
    """The tables of a study, a hunt or an optimisation grow while it lives."""
    with asked.opened() as run:
        tables = [table._asdict() for table in run.kind(run.store, run.puzzle).tables()]
        return asked.answer(run, run.summary() | {"tables": tables})


@router.get("/solutions", summary="Solutions of a tree that were kept, one for each orbit.")
def solutions(asked: AskedRun, limit: Annotated[int, Query(ge=1, le=200)] = 24) -> Response:
    """The least first, each with its picture."""
    with asked.opened() as run:
        keys = list(islice((key for batch in run.solutions() for key in ints(batch)), limit))
        row: dict[str, Any] = {
            "orbits": run.store.state.figures.get("orbits"),
            "symmetries": run.tree.symmetries,
            "solutions": [run.tree.render(key) for key in keys],
            "pictures": [picture_row(run.tree.picture(key)) for key in keys],
        }
        return asked.answer(run, row)


@router.get("/play", summary="The best play of a run whose moves score, board by board.")
def play(asked: AskedRun, limit: Annotated[int, Query(ge=1, le=500)] = 200) -> Response:
    """Of a long play the first boards: `limit` says how many."""
    with asked.opened() as run:
        return asked.answer(run, play_row(run, limit))
