"""Routes for the puzzles, their boards, single configurations, and probes."""

import threading
from dataclasses import replace
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from hakoiri.api import Run
from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import remarks
from hakoiri.reading import parse_options
from hakoiri.render.images import svg
from hakoiri.rows.positions import UNKNOWN, configuration_row, moves_row, position_row, table_of
from hakoiri.rows.puzzles import (
    classic_rows,
    defined_row,
    full_puzzle_row,
    kind_rows,
    probe_row,
    puzzle_row,
    puzzle_rows,
)
from hakoiri.web.asking import Asked, AskedRun, Runs, named_puzzle
from hakoiri.web.routes.runs import NewRun
from hakoiri.web.runs.questions import BusyError

router = APIRouter(prefix="/api/puzzles", tags=["puzzles"])
_built_in, _kinds, _defined = cache(puzzle_rows), cache(kind_rows), cache(defined_row)


@router.get("", summary="The puzzles and their options.")
def puzzles(request: Request) -> dict[str, Any]:
    """Return the built-in puzzles, the user puzzles that the server was started with, the classics, and the kinds.

    `defined` is what all puzzles of definitions have.
    """
    own = [puzzle_row(spec.name, spec.kind()) for spec in request.app.state.own_puzzles.values()]
    return {"puzzles": _built_in() + own, "classics": classic_rows(), "kinds": _kinds(), "defined": _defined()}


@router.get("/{name}", summary="One puzzle: its rules in words, its options, its usual start.")
def puzzle(request: Request, name: str) -> dict[str, Any]:
    """Return one puzzle, by its name in the list."""
    return full_puzzle_row(named_puzzle(request, name, {}))


boards = APIRouter(prefix="/api/boards", tags=["boards"])

_Options = Annotated[list[str] | None, Query(max_length=20, description="An option, NAME=VALUE; repeatable.")]


@boards.get("/{puzzle}.svg", summary="A picture of a configuration.", response_class=Response)
def board(
    request: Request,
    puzzle: str,
    conf: Annotated[
        str | None, Query(max_length=10_000, description="The configuration; by default the usual start.")
    ] = None,
    o: _Options = None,
) -> Response:
    """Each piece has its letter in `data-piece`."""
    options = parse_options(o or [])
    spec = named_puzzle(request, puzzle, options)
    if spec.kind().start_is_board:
        spec = named_puzzle(request, puzzle, options, conf)
    rules = request.app.state.built.of(spec)
    key = rules.start if conf is None else rules.parse(conf)
    drawn = svg(rules.picture(key), f"{rules.name}: {rules.render(key)}")
    return Response(drawn, HTTPStatus.OK, {"Cache-Control": "private, max-age=3600"}, "image/svg+xml")


@boards.get("/{puzzle}.json", summary="The start of a new run, as a picture in parts.")
def start(
    request: Request,
    puzzle: str,
    conf: Annotated[str | None, Query(max_length=10_000, description="The `start` of a new run.")] = None,
    o: _Options = None,
    moves: bool = False,
) -> dict[str, Any]:
    """With `moves` also their changes, and whether it is a goal. Errors are those of `POST /api/runs`."""
    rules = request.app.state.built.of(named_puzzle(request, puzzle, parse_options(o or []), conf))
    if not moves:
        return configuration_row(rules, rules.start)
    return moves_row(rules, rules.start) | {"goal": bool(rules.is_goal(rules.keys([rules.start]))[0])}


#: The names under which a run's table and answers are cached, and the most answers cached.
_TABLE, _ANSWERS, _MOST_KEPT = "table", "answers", 5_000

positions = APIRouter(prefix="/api/runs/{run}")


@positions.get(
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


@positions.get(
    "/pictures/{conf:path}",
    tags=["boards"],
    summary="A configuration as a picture in parts, and the changes by each move.",
)
def picture(asked: AskedRun, conf: Annotated[str, Path(max_length=10_000)]) -> Response:
    """A part keeps its name in a move; `moved` parts have a new place, `changed` parts new shapes."""
    with asked.opened() as run:
        # Images that are merged are played as they are drawn.
        drawn, merged = (run.puzzle.unmerged, run.puzzle) if run.puzzle.unmerged else (run.puzzle, None)
        return asked.answer(run, moves_row(drawn, drawn.parse(conf), merged))


def _look(asked: Asked, conf: str) -> Response:
    with asked.runs.asked(asked.directory) as (run, memory):
        if _TABLE not in memory:
            memory[_TABLE] = table_of(run)
        return _answer(asked, run, memory, conf)


def _answer(asked: Asked, run: Run, memory: dict[str, Any], conf: str) -> Response:
    """Return an answer. Answers of a small run are cached, because many clients request the same positions."""
    known: dict[str, bytes] = memory.setdefault(_ANSWERS, {})
    if conf not in known:
        row = position_row(run, memory[_TABLE], conf)
        name, there = asked.directory.name, quote(row["configuration"], safe="/")
        row["links"] = {
            "self": f"/api/runs/{name}/positions/{there}",
            "path": f"/api/runs/{name}/path?to=goal&from={there}",
            "board": f"/api/boards/{quote(run.puzzle.name)}.svg?conf={there}",
        }
        if row["goal_distance_unknown"] == UNKNOWN:
            return asked.answer(run, row, settled=False)
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[conf] = asked.encoded(row)
    return asked.content(run, known[conf])


probes = APIRouter(prefix="/api/probe", tags=["runs"])

#: One probe at a time in a process: each takes a thread, and a core for up to a second.
PROBING = threading.Lock()


@probes.post("", summary="Search shortly from the start of a new run: what the run would find and need.")
def probed(request: Request, opened: Runs, wanted: NewRun) -> dict[str, Any]:
    """Uses `puzzle`, `options`, `start` and `merge_mirrors`, and creates nothing.

    `notes` are what the puzzle remarks on the options. If `exhausted`, `configurations` are all and `goal_depth` is
    exact. The search ends at 200,000 configurations or after a second.
    """
    spec = named_puzzle(request, wanted.puzzle or "", wanted.options, wanted.start, wanted.definition)
    if not PROBING.acquire(timeout=request.app.state.settings.probe_seconds):
        raise BusyError("another probe is in progress; ask again")
    try:
        with remarks() as notes:
            # Not cached: the tables of a board may take 128 MiB.
            puzzle = replace(spec, merge_mirrors=wanted.merge_mirrors).build()
        row = probe_row(puzzle, Resources(memory=request.app.state.settings.memory), opened.data)
        return row | {"notes": notes}
    finally:
        PROBING.release()
