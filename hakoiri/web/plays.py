"""The best play of a run, as boards that follow each other."""

from itertools import accumulate
from typing import Any, cast

from hakoiri.api import Run
from hakoiri.puzzles.capabilities import Scored
from hakoiri.web.pictures import picture_row

#: Boards are sent as long as their pictures have no more shapes than this, and at least two of them.
_MOST_SHAPES = 40_000


def play_row(run: Run, most: int) -> dict[str, Any]:
    """Score, moves and sequence, and the first boards, at most `most`: `filmed` of them."""
    play, puzzle = run.best_play(), cast(Scored, run.puzzle)
    boards: list[dict[str, Any]] = []
    shapes = 0
    for found in puzzle.filmed(play.sequence, run.store.manifest.plan.get("board")):
        shapes += sum(len(part.shapes) for part in found.picture.parts)
        if len(boards) == most or (shapes > _MOST_SHAPES and len(boards) >= 2):
            break
        boards.append({"move": found.move, "scored": found.score, "picture": picture_row(found.picture)})
    for board, score in zip(boards, accumulate(board["scored"] for board in boards), strict=True):
        board["score"] = score
    return play.row() | {"proved": play.proved, "filmed": len(boards), "boards": boards}
