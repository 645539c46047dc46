"""Routes for the puzzles."""

from functools import cache
from typing import Any

from fastapi import APIRouter, Request

from hakoiri.puzzles.registry import puzzle_class
from hakoiri.rows.puzzles import classic_rows, full_puzzle_row, puzzle_row, puzzle_rows
from hakoiri.web.asking import named_puzzle

router = APIRouter(prefix="/api/puzzles", tags=["puzzles"])
_built_in = cache(puzzle_rows)


@router.get("", summary="The puzzles and their options.")
def puzzles(request: Request) -> dict[str, Any]:
    """Return the built-in puzzles, the user puzzles that the server was started with, and the classics."""
    own = [
        puzzle_row(spec.name, puzzle_class(spec.name, spec.digest)) for spec in request.app.state.own_puzzles.values()
    ]
    return {"puzzles": _built_in() + own, "classics": classic_rows()}


@router.get("/{name}", summary="One puzzle: its rules in words, its options, its usual start.")
def puzzle(request: Request, name: str) -> dict[str, Any]:
    """Return one puzzle, by its name in the list."""
    return full_puzzle_row(named_puzzle(request, name, {}))
