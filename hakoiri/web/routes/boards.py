"""Routes for pictures of boards."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from hakoiri.puzzles.registry import puzzle_class
from hakoiri.reading import parse_options
from hakoiri.render.pictures.svg import svg
from hakoiri.rows.pictures import configuration_row
from hakoiri.web.asking import named_puzzle

router = APIRouter(prefix="/api/boards", tags=["boards"])

_Options = Annotated[list[str] | None, Query(max_length=20, description="An option, NAME=VALUE; repeatable.")]


@router.get("/{puzzle}.svg", summary="A picture of a configuration.", response_class=Response)
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
    if puzzle_class(spec.name, spec.digest).start_is_board:
        spec = named_puzzle(request, puzzle, options, conf)
    rules = request.app.state.built.of(spec)
    key = rules.start if conf is None else rules.parse(conf)
    drawn = svg(rules.picture(key), f"{rules.name}: {rules.render(key)}")
    return Response(drawn, HTTPStatus.OK, {"Cache-Control": "private, max-age=3600"}, "image/svg+xml")


@router.get("/{puzzle}.json", summary="The start of a new run, as a picture in parts.")
def start(
    request: Request,
    puzzle: str,
    conf: Annotated[str | None, Query(max_length=10_000, description="The `start` of a new run.")] = None,
    o: _Options = None,
) -> dict[str, Any]:
    """Errors in the start or the options are those of `POST /api/runs`."""
    rules = request.app.state.built.of(named_puzzle(request, puzzle, parse_options(o or []), conf))
    return configuration_row(rules, rules.start)
