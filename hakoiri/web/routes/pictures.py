"""Configurations of a run as pictures whose pieces can be moved."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from hakoiri.web.asking import AskedRun
from hakoiri.web.pictures import moves_row

router = APIRouter(prefix="/api/runs/{run}/pictures", tags=["boards"])


@router.get("/{conf:path}", summary="A configuration as a picture made of parts, and what each move does with them.")
def picture(asked: AskedRun, conf: Annotated[str, Path(max_length=10_000)]) -> Response:
    """A part keeps its name in a move; `moved` ones have a new place, `changed` ones new shapes."""
    with asked.opened() as run:
        return asked.answer(run, moves_row(run.puzzle, run.puzzle.parse(conf)))
