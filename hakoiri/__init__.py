"""Hakoiri from Python: create a run, open one and query it, or write a puzzle.

    from hakoiri import explore, open_run

    with explore("klotski", reuse=True) as run:
        path = run.path("goal")
        print(run.layer_sizes[:5], run.diameter().diameter, path.moves[:3], path[0])
        path.film("klotski.gif")

runs        explore, explore_graph, explore_permutations, census, resume_run, open_run, verify_run, delete_run,
            Resources
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

    from hakoiri.api import Run as Run
    from hakoiri.api import census as census
    from hakoiri.api import delete_run as delete_run
    from hakoiri.api import explore as explore
    from hakoiri.api import explore_graph as explore_graph
    from hakoiri.api import explore_permutations as explore_permutations
    from hakoiri.api import open_run as open_run
    from hakoiri.api import resume_run as resume_run
    from hakoiri.api import verify_run as verify_run
    from hakoiri.compiling import jit as jit
    from hakoiri.coordinator.errors import BadNameError as BadNameError
    from hakoiri.coordinator.errors import ContradictionError as ContradictionError
    from hakoiri.coordinator.errors import MismatchError as MismatchError
    from hakoiri.coordinator.errors import RunError as RunError
    from hakoiri.coordinator.errors import StoppedError as StoppedError
    from hakoiri.coordinator.errors import UnanswerableError as UnanswerableError
    from hakoiri.coordinator.errors import UnknownRunError as UnknownRunError
    from hakoiri.coordinator.errors import UntrustedError as UntrustedError
    from hakoiri.coordinator.session.resources import Resources as Resources
    from hakoiri.drawing import Drawing as Drawing
    from hakoiri.drawing import DrawnBoard as DrawnBoard
    from hakoiri.drawing import DrawnPath as DrawnPath
    from hakoiri.errors import ConfigurationError as ConfigurationError
    from hakoiri.errors import DamagedError as DamagedError
    from hakoiri.errors import DiskFullError as DiskFullError
    from hakoiri.errors import ElsewhereError as ElsewhereError
    from hakoiri.errors import FormatError as FormatError
    from hakoiri.errors import GoneError as GoneError
    from hakoiri.errors import HakoiriError as HakoiriError
    from hakoiri.errors import Hint as Hint
    from hakoiri.errors import NameTakenError as NameTakenError
    from hakoiri.errors import NotKeptError as NotKeptError
    from hakoiri.errors import NotWritableError as NotWritableError
    from hakoiri.errors import OverBudgetError as OverBudgetError
    from hakoiri.errors import PuzzleError as PuzzleError
    from hakoiri.errors import RedisRefusedError as RedisRefusedError
    from hakoiri.errors import RedisUnavailableError as RedisUnavailableError
    from hakoiri.errors import RunHeldError as RunHeldError
    from hakoiri.errors import StorageError as StorageError
    from hakoiri.errors import TargetError as TargetError
    from hakoiri.errors import TaskError as TaskError
    from hakoiri.errors import WorkerError as WorkerError
    from hakoiri.guests.deals.dealt import Dealt as Dealt
    from hakoiri.guests.nakuron.scored import Scored as Scored
    from hakoiri.guests.nakuron.scored import ScoredMoves as ScoredMoves
    from hakoiri.guests.sizes.sized import Sized as Sized
    from hakoiri.guests.sizes.sized import SizedMember as SizedMember
    from hakoiri.keys.layout import U32 as U32
    from hakoiri.keys.layout import U64 as U64
    from hakoiri.keys.layout import U128 as U128
    from hakoiri.keys.layout import U256 as U256
    from hakoiri.keys.layout import Key as Key
    from hakoiri.keys.layout import Keys as Keys
    from hakoiri.puzzles.contract import BitKernel as BitKernel
    from hakoiri.puzzles.contract import Expansion as Expansion
    from hakoiri.puzzles.contract import Puzzle as Puzzle
    from hakoiri.puzzles.options import Choice as Choice
    from hakoiri.puzzles.options import Number as Number
    from hakoiri.puzzles.options import Text as Text
    from hakoiri.puzzles.pictures import Circle as Circle
    from hakoiri.puzzles.pictures import Label as Label
    from hakoiri.puzzles.pictures import Line as Line
    from hakoiri.puzzles.pictures import Part as Part
    from hakoiri.puzzles.pictures import Picture as Picture
    from hakoiri.puzzles.pictures import Polygon as Polygon
    from hakoiri.puzzles.pictures import Rectangle as Rectangle
    from hakoiri.puzzles.pictures import Span as Span
    from hakoiri.puzzles.sliding_blocks.boards import expand_runs as expand_runs
    from hakoiri.run.answers import Statistics as Statistics
    from hakoiri.run.goals import Hardest as Hardest
    from hakoiri.run.maps import Map as Map
    from hakoiri.run.paths import ShortestPath as ShortestPath
    from hakoiri.run.paths import ShortestPaths as ShortestPaths
    from hakoiri.storage.results import Diameter as Diameter

#: The names by module, for `__getattr__`; above, ``X as X`` offers a name to type checkers.
_PLACES = {
    "hakoiri.api": "Run census delete_run explore explore_graph explore_permutations open_run resume_run verify_run",
    "hakoiri.compiling": "jit",
    "hakoiri.coordinator.errors": "BadNameError ContradictionError MismatchError RunError StoppedError "
    "UnanswerableError UnknownRunError UntrustedError",
    "hakoiri.coordinator.session.resources": "Resources",
    "hakoiri.drawing": "Drawing DrawnBoard DrawnPath",
    "hakoiri.errors": "ConfigurationError DamagedError DiskFullError ElsewhereError FormatError GoneError "
    "HakoiriError Hint NameTakenError NotKeptError NotWritableError OverBudgetError PuzzleError RedisRefusedError "
    "RedisUnavailableError RunHeldError StorageError TargetError TaskError WorkerError",
    "hakoiri.guests.deals.dealt": "Dealt",
    "hakoiri.guests.nakuron.scored": "Scored ScoredMoves",
    "hakoiri.guests.sizes.sized": "Sized SizedMember",
    "hakoiri.keys.layout": "U32 U64 U128 U256 Key Keys",
    "hakoiri.puzzles.contract": "BitKernel Expansion Puzzle",
    "hakoiri.puzzles.options": "Choice Number Text",
    "hakoiri.puzzles.pictures": "Circle Label Line Part Picture Polygon Rectangle Span",
    "hakoiri.puzzles.sliding_blocks.boards": "expand_runs",
    "hakoiri.run.answers": "Statistics",
    "hakoiri.run.goals": "Hardest",
    "hakoiri.run.maps": "Map",
    "hakoiri.run.paths": "ShortestPath ShortestPaths",
    "hakoiri.storage.results": "Diameter",
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> "Any":
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hakoiri' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(_MODULE_OF)
