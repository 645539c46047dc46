"""Pictures as plain values: parts made of shapes, and the effect of each move on the parts."""

from collections.abc import Mapping
from itertools import accumulate
from statistics import fmean
from typing import Any, cast

from hakoiri.opened import OpenRun
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key
from hakoiri.puzzles.pictures.shapes import SURFACES, Part, Picture, Polygon, Rectangle
from hakoiri.puzzles.scored import Scored
from hakoiri.rows.puzzles import key_text

#: The most shapes in the boards of a play that are sent; at least two boards are sent.
_MOST_SHAPES = 40_000


def picture_row(picture: Picture, kinds: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return a picture; its shapes have the fields of `puzzles.pictures.shapes`, and `shape` names their type.

    `kinds` gives alike parts the same number (`Puzzle.alike`). `surfaces` names the colours that change in the dark.
    """
    parts = [
        {
            "name": part.name,
            "x": part.x,
            "y": part.y,
            "shapes": [{"shape": type(shape).__name__.lower()} | shape._asdict() for shape in part.shapes],
        }
        for part in picture.parts
    ]
    return {
        "width": picture.width,
        "height": picture.height,
        "parts": parts,
        "kinds": dict(kinds or {}),
        "surfaces": SURFACES,
    }


def configuration_row(puzzle: Puzzle, key: Key) -> dict[str, Any]:
    """Return a configuration, its picture, and the goal in words."""
    return {
        "goal_text": puzzle.goal_text(),
        "configuration": puzzle.render(key),
        "key": key_text(puzzle, key),
        "picture": picture_row(puzzle.picture(key), puzzle.alike(key)),
    }


def moves_row(puzzle: Puzzle, key: Key) -> dict[str, Any]:
    """Return a configuration with its picture, and for each move its effect on the parts.

    `moved` parts have another place, `changed` ones other shapes, `gone` ones are removed, `new` ones are added;
    `places` are the middles of all of these, before and after.
    """
    successors = list(dict.fromkeys(puzzle.successors(key)))
    return configuration_row(puzzle, key) | {
        "moves": [{"key": key_text(puzzle, after)} | _change(puzzle, key, after) for after in successors]
    }


def _change(puzzle: Puzzle, key: Key, after: Key) -> dict[str, Any]:
    path = puzzle.lift([key, after], key) if isinstance(puzzle, Quotient) else [key, after]
    was, now = ({part.name: part for part in picture.parts} for picture in puzzle.pictures(path))
    both = [(was[name], part) for name, part in now.items() if name in was]
    touched = {each for pair in both if pair[0] != pair[1] for each in pair}
    touched |= {part for name, part in was.items() if name not in now}
    touched |= {part for name, part in now.items() if name not in was}
    return {
        "moved": [
            {"name": part.name, "x": part.x, "y": part.y} for before, part in both if before[2:] != part[2:]
        ],
        "changed": [part.name for before, part in both if before.shapes != part.shapes],
        "gone": [name for name in was if name not in now],
        "new": [name for name in now if name not in was],
        "places": sorted({_middle(part) for part in touched if part.name != "ground"}),
    }  # fmt: skip


def _middle(part: Part) -> tuple[float, float]:
    """Return the middle of the first shape of a part."""
    match part.shapes[0]:
        case Rectangle(x, y, width, height):
            return part.x + x + width / 2, part.y + y + height / 2
        case Polygon(points):
            return part.x + fmean(x for x, _ in points), part.y + fmean(y for _, y in points)
        case shape:
            return part.x + shape.x, part.y + shape.y


def play_row(run: OpenRun, most: int) -> dict[str, Any]:
    """Return score, moves and sequence, and the first boards, at most `most`: `filmed` of them."""
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
