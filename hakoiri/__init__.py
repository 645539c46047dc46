"""Hakoiri from Python: create a run, open one and query it, or write a puzzle.

    from hakoiri import explore, open_run

    with explore("klotski", reuse=True) as run:
        path = run.path("goal")
        print(run.layer_sizes[:5], run.diameter().diameter, path.moves[:3], path[0])
        path.film("klotski.gif")

runs        explore, explore_graph, census, resume_run, open_run, verify_run, delete_run, Resources
a run       Run: layers, path, shortest_paths, distance, hardest, statistics, diameter, components, board, plot,
            film, export, to_dataframe, to_networkx, to_scipy
answers     DrawnBoard, DrawnPath, Drawing, ShortestPaths, Diameter, Hardest, Map, Statistics
a puzzle    Puzzle, Dealt, Scored, Sized, Number, Choice, Text, Expansion, BitKernel, ScoredMoves, jit, Key, Keys,
            U32, U64, U128, U256, expand_runs
pictures    Picture, Part, Span, Circle, Label, Line, Polygon, Rectangle
errors      HakoiriError is the base of all; PuzzleError, RunError, StorageError and WorkerError of its parts

``help(hakoiri.Run)`` prints the methods of a run, ``help`` of a name above the rest. Names are imported on first
use: ``import hakoiri`` itself takes no time, and a puzzle's file that uses only `Puzzle` does not load the search.
"""

from importlib import import_module

#: As for type checkers; `typing` would be the slowest import here, before Ctrl-C is handled (`__main__`).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hakoiri.api import (
        Diameter,
        Drawing,
        DrawnBoard,
        DrawnPath,
        Hardest,
        Map,
        Run,
        ShortestPath,
        ShortestPaths,
        Statistics,
        census,
        delete_run,
        explore,
        explore_graph,
        open_run,
        resume_run,
        verify_run,
    )
    from hakoiri.compiling import jit
    from hakoiri.coordinator.errors import (
        ContradictionError,
        MismatchError,
        OverBudgetError,
        RunError,
        StoppedError,
        UnanswerableError,
        UnknownRunError,
        UntrustedError,
    )
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.errors import (
        ConfigurationError,
        DamagedError,
        DiskFullError,
        ElsewhereError,
        FormatError,
        GoneError,
        HakoiriError,
        Hint,
        NameTakenError,
        NotKeptError,
        NotWritableError,
        PuzzleError,
        RedisRefusedError,
        RedisUnavailableError,
        RunHeldError,
        StorageError,
        TaskError,
        WorkerError,
    )
    from hakoiri.keys.layout import U32, U64, U128, U256, Key, Keys
    from hakoiri.puzzles.capabilities import Dealt, Scored, ScoredMoves, Sized, SizedMember
    from hakoiri.puzzles.contract import BitKernel, Expansion, Puzzle
    from hakoiri.puzzles.options import Choice, Number, Text
    from hakoiri.puzzles.pictures import Circle, Label, Line, Part, Picture, Polygon, Rectangle, Span
    from hakoiri.puzzles.sliding_blocks.boards import expand_runs

    # For type checkers alone: with it, help() would print every class in full.
    __all__ = [
        "U32",
        "U64",
        "U128",
        "U256",
        "BitKernel",
        "Choice",
        "Circle",
        "ConfigurationError",
        "ContradictionError",
        "DamagedError",
        "Dealt",
        "Diameter",
        "DiskFullError",
        "Drawing",
        "DrawnBoard",
        "DrawnPath",
        "ElsewhereError",
        "Expansion",
        "FormatError",
        "GoneError",
        "HakoiriError",
        "Hardest",
        "Hint",
        "Key",
        "Keys",
        "Label",
        "Line",
        "Map",
        "MismatchError",
        "NameTakenError",
        "NotKeptError",
        "NotWritableError",
        "Number",
        "OverBudgetError",
        "Part",
        "Picture",
        "Polygon",
        "Puzzle",
        "PuzzleError",
        "Rectangle",
        "RedisRefusedError",
        "RedisUnavailableError",
        "Resources",
        "Run",
        "RunError",
        "RunHeldError",
        "Scored",
        "ScoredMoves",
        "ShortestPath",
        "ShortestPaths",
        "Sized",
        "SizedMember",
        "Span",
        "Statistics",
        "StoppedError",
        "StorageError",
        "TaskError",
        "Text",
        "UnanswerableError",
        "UnknownRunError",
        "UntrustedError",
        "WorkerError",
        "census",
        "delete_run",
        "expand_runs",
        "explore",
        "explore_graph",
        "jit",
        "open_run",
        "resume_run",
        "verify_run",
    ]  # fmt: skip

_PLACES = {
    "hakoiri.coordinator.errors": (
        "ContradictionError", "MismatchError", "OverBudgetError", "RunError", "StoppedError", "UnanswerableError",
        "UnknownRunError",
        "UntrustedError",
    ),
    "hakoiri.coordinator.session.resources": ("Resources",),
    "hakoiri.api": (
        "DrawnBoard", "Diameter", "Drawing", "DrawnPath", "Hardest", "Map", "Run", "ShortestPath", "ShortestPaths",
        "Statistics", "census", "delete_run", "explore", "explore_graph", "open_run", "resume_run", "verify_run",
    ),
    "hakoiri.puzzles.capabilities": ("Dealt", "Scored", "ScoredMoves", "Sized", "SizedMember"),
    "hakoiri.puzzles.contract": ("BitKernel", "Expansion", "Puzzle"),
    "hakoiri.compiling": ("jit",),
    "hakoiri.keys.layout": ("U32", "U64", "U128", "U256", "Key", "Keys"),
    "hakoiri.puzzles.options": ("Choice", "Number", "Text"),
    "hakoiri.puzzles.sliding_blocks.boards": ("expand_runs",),
    "hakoiri.puzzles.pictures": ("Circle", "Label", "Line", "Part", "Picture", "Polygon", "Rectangle", "Span"),
    "hakoiri.errors": (
        "ConfigurationError", "DamagedError", "DiskFullError", "ElsewhereError", "FormatError", "GoneError",
        "HakoiriError", "Hint", "NameTakenError", "NotWritableError", "PuzzleError", "RedisRefusedError",
        "RedisUnavailableError", "RunHeldError", "StorageError", "TaskError", "WorkerError",
    ),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> "Any":
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hakoiri' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(_MODULE_OF)
