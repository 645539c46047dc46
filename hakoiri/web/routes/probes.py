"""The route for probes: short searches before a run is created."""

import threading
from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request

from hakoiri.coordinator.session.resources import Resources
from hakoiri.puzzles.errors import remarks
from hakoiri.rows.probes import probe_row
from hakoiri.web.asking import Runs, named_puzzle
from hakoiri.web.routes.runs import NewRun
from hakoiri.web.runs.questions import BusyError

router = APIRouter(prefix="/api/probe", tags=["runs"])

#: One probe at a time in a process: each takes a thread, and a core for up to a second.
_PROBING = threading.Lock()
_PATIENCE_SECONDS = 2.0


@router.post("", summary="Search shortly from the start of a new run: what the run would find and need.")
def probed(request: Request, opened: Runs, wanted: NewRun) -> dict[str, Any]:
    """Uses `puzzle`, `options`, `start` and `merge_mirrors`, and creates nothing.

    `notes` are what the puzzle remarks on the options. If `exhausted`, `configurations` are all and `goal_depth` is
    exact. The search ends at 200,000 configurations or after a second.
    """
    spec = named_puzzle(request, wanted.puzzle or "", wanted.options, wanted.start)
    if not _PROBING.acquire(timeout=_PATIENCE_SECONDS):
        raise BusyError("another probe is in progress; ask again")
    try:
        with remarks() as notes:
            # Not cached: the tables of a board may take 128 MiB.
            puzzle = replace(spec, merge_mirrors=wanted.merge_mirrors).build()
        row = probe_row(puzzle, Resources(memory=request.app.state.settings.memory), opened.data)
        return row | {"notes": notes}
    finally:
        _PROBING.release()
