"""Hakoiri from Python: create a run, open one and query it, or write a puzzle.

    from hakoiri import explore, open_run

    with explore("klotski", data="runs") as run:
        print(run.layer_sizes[:5], len(run.layer(57)))
        print(run.diameter().diameter, run.path("goal").moves)

Names are imported on first use: ``import hakoiri`` itself takes no time, and a puzzle's file that uses only `Puzzle`
from here does not load the search.
"""

from importlib import import_module

#: As for type checkers; `typing` would be the slowest import here, before Ctrl-C is handled (`__main__`).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hakoiri.api import (
        Diameter,
        Hardest,
        Map,
        Run,
        ShortestPath,
        ShortestPaths,
        census,
        delete_run,
        explore,
        open_run,
        resume_run,
        verify_run,
    )
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.puzzles.capabilities import Dealt, Scored, ScoredMoves
    from hakoiri.puzzles.contract import Choice, Expansion, Number, Puzzle, Text
    from hakoiri.puzzles.errors import ConfigurationError, HakoiriError, Hint, PuzzleError
    from hakoiri.puzzles.jit import jit
    from hakoiri.puzzles.keys.layout import U32, U64, U128, U256, Key, Keys
    from hakoiri.puzzles.pictures.shapes import Circle, Label, Line, Part, Picture, Polygon, Rectangle, Span

_PLACES = {
    "hakoiri.coordinator.session.resources": ("Resources",),
    "hakoiri.api": (
        "Diameter", "Hardest", "Map", "Run", "ShortestPath", "ShortestPaths", "census", "delete_run", "explore",
        "open_run", "resume_run", "verify_run",
    ),
    "hakoiri.puzzles.capabilities": ("Dealt", "Scored", "ScoredMoves"),
    "hakoiri.puzzles.contract": ("Choice", "Expansion", "Number", "Puzzle", "Text"),
    "hakoiri.puzzles.errors": ("ConfigurationError", "HakoiriError", "Hint", "PuzzleError"),
    "hakoiri.puzzles.jit": ("jit",),
    "hakoiri.puzzles.keys.layout": ("U32", "U64", "U128", "U256", "Key", "Keys"),
    "hakoiri.puzzles.pictures.shapes": ("Circle", "Label", "Line", "Part", "Picture", "Polygon", "Rectangle", "Span"),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "U32", "U64", "U128", "U256", "Choice", "Circle", "ConfigurationError", "Dealt", "Diameter", "Expansion",
    "HakoiriError", "Hardest", "Hint", "Key", "Keys", "Label", "Line", "Map", "Number", "Part", "Picture", "Polygon",
    "Puzzle", "PuzzleError", "Rectangle", "Resources", "Run", "Scored", "ScoredMoves", "ShortestPath", "ShortestPaths",
    "Span", "Text", "census", "delete_run", "explore", "jit", "open_run", "resume_run", "verify_run",
]  # fmt: skip


def __getattr__(name: str) -> "Any":
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hakoiri' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
