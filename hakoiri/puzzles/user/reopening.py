"""Opening of a written file in a new process, before a run begins: what cannot be opened again later is told now.

The new process has another hash seed, no arguments and no input. It executes the file. Then it makes the first layers
of a graph, or the start of another puzzle and its successors.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.user.files import known, load, state_folder
from hakoiri.puzzles.user.forms import text_of
from hakoiri.puzzles.user.modules import execute, modules_beside
from hakoiri.puzzles.user.states import Walk

#: No layer is expanded after so many states.
_ENOUGH = 300
_HOME = str(Path(__file__).parents[3])
_PROGRAM = f"import sys; sys.path.append({_HOME!r}); from hakoiri.puzzles.user.reopening import main; main()"
_opened: set[Path] = set()


def reopened(path: Path, walk: Walk) -> str:
    """Open the file of a graph in a new process; return why it cannot be opened, or an empty text.

    Raises `PuzzleError` if its first layers differ from those of `walk`.
    """
    if path in _opened:
        return ""
    found = _asked(path, len(walk.layers) - 1)
    if "failed" in found:
        return f"a new process cannot open what was kept of the source: {found['failed']}"
    for depth, texts in enumerate(found["layers"]):
        here, there = {text_of(walk.states[key]) for key in walk.layers[depth]}, set(texts)
        if differing := here ^ there:
            text = min(differing)
            where = "is not found by a new process" if text in here else "is found by a new process alone"
            raise PuzzleError(
                f"the state {text}, {depth} moves from the start, {where}; the function must depend on its state, not "
                "on chance, input, arguments, the order of a set, or what was called before"
            )
    _opened.add(path)
    return ""


def require_reopened(word: str, options: Mapping[str, str], start: str | None) -> None:
    """Raise `PuzzleError` unless a new process makes the same puzzle of a class that was written to a file here."""
    path = Path(word.rpartition(":")[0])
    if not path.is_relative_to(state_folder() / "sources"):
        return
    beginning: dict[str, Any] = {"word": word, "options": dict(options), "start": start}
    found, which = _asked(path, beginning), f"{path.name}:{word.rpartition(':')[2]}"
    if "failed" in found:
        raise PuzzleError(f"a new process cannot open what was kept of the source of {which}: {found['failed']}")
    if found != _beginning(**beginning):
        said = "a new process gives another start, or other successors of it; keys must not depend on"
        raise PuzzleError(f"{which}: {said} arguments, input, chance or the order of a set")


def _beginning(word: str, options: dict[str, str], start: str | None) -> dict[str, Any]:
    # A goal is no option of its own (`puzzles.goals`).
    options = {name: value for name, value in options.items() if name != "goal"}
    puzzle = known(*load(word))(options, start)
    return {"start": puzzle.start, "successors": sorted(puzzle.successors(puzzle.start))}


def _asked(path: Path, what: int | dict[str, Any]) -> dict[str, Any]:
    """Return what a new process finds in a file: the first layers of a graph, or the beginning of a puzzle."""
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    done = subprocess.run(
        [sys.executable, "-P", "-c", _PROGRAM, str(path), json.dumps(what)], env=os.environ | {"PYTHONHASHSEED": seed},
        stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    try:
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (LookupError, ValueError):
        found = {"failed": f"it ends the process with code {done.returncode}"}
    return found


def main() -> None:
    """Print what `_asked` returns, or why a file cannot be opened, as JSON."""
    path, what = Path(sys.argv[1]), json.loads(sys.argv[2])
    sys.argv[:] = [str(path)]
    with redirect_stdout(sys.stderr):
        try:
            found = _first_layers(path, what) if isinstance(what, int) else _beginning(**what)
        except PuzzleError as error:
            found = {"failed": str(error)}
        except BaseException as error:
            from hakoiri.puzzles.conformance.pool import error_line

            found = {"failed": error_line(error, str(path))}
    print(f"\n{json.dumps(found)}", flush=True)


def _first_layers(path: Path, expanded: int) -> dict[str, Any]:
    # Without numpy and numba, which take ten times as long as most files.
    stub: Any = SimpleNamespace(StateGraph=object, GoalGraph=object)
    sys.modules["hakoiri.puzzles.user.graph"] = stub
    raw = path.read_bytes()
    module = ModuleType("reopened_puzzle")
    module.__file__ = str(path)
    execute(module, raw, modules_beside(path, raw, Path.read_bytes))
    walk = Walk(module.Graph.first, module.Graph.moves)
    while walk.layers[-1] and len(walk.layers) <= expanded and len(walk.states) < _ENOUGH:
        walk.step()
    return {"layers": [[text_of(walk.states[key]) for key in layer] for layer in walk.layers]}
