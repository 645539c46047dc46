"""Puzzles from Python: classes and instances of scripts and notebooks, graphs given by a function."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from math import nan
from pathlib import Path
from random import random
from types import ModuleType
from typing import Any

import pytest

from hakoiri import HakoiriError, explore, explore_graph, open_run, verify_run
from hakoiri.api import Run
from hakoiri.errors import PuzzleWarning
from hakoiri.puzzles.permutation.pancakes import Pancakes
from tests.support.commands import PATIENCE_SECONDS, ROOT, clean_environment

RING = """
from hakoiri import Number, Puzzle, U32, explore

HOURS = 12
AFTER = {}
for hour in range(HOURS):
    AFTER[hour] = [(hour + 1) % HOURS, (hour - 1) % HOURS]


class Ring(Puzzle):
    name, layout, undirected, most_successors = "ring", U32, True, 2
    options = {"first": Number(5, 0, 11)}

    def usual_start(self):
        return self.parameters["first"] + 0

    def successors(self, key):
        run = AFTER[key]
        return run


"""
LAYERS = [1, 2, 2, 2, 2, 2, 1]
JUGS = (8, 5, 3)


def pour(litres: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for one in range(3):
        for other in range(3):
            poured = min(litres[one], JUGS[other] - litres[other])
            if one != other and poured:
                after = list(litres)
                after[one] -= poured
                after[other] += poured
                yield tuple(after)


def is_halved(litres: tuple[int, ...]) -> bool:
    return litres == (4, 4, 0)


def reverse_part(text: str) -> list[str]:
    return [text[:count][::-1] + text[count:] for count in range(2, len(text) + 1)]


def split(numbers: frozenset[int]) -> list[frozenset[int]]:
    """Take away the greatest number, and put in any two smaller ones that add up to it."""
    most = max(numbers)
    return [numbers - {most} | {part, most - part} for part in range(1, most)]


def bulgarian(piles: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Bulgarian solitaire: a card from each pile makes a new one."""
    return [tuple(sorted([*(pile - 1 for pile in piles if pile > 1), len(piles)], reverse=True))]


class Colour(Enum):
    """Values whose repr is no expression."""

    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Place:
    """A state of a class of one's own."""

    at: int


def step(place: Place) -> list[Place]:
    """Walk on for ever, one or two steps at a time."""
    return [Place(place.at + 1), Place(place.at + 2)]


def is_there(place: Place) -> bool:
    return place == Place(9)


def either(state: str | int) -> list[str | int]:
    """From a number to the next one, and to a text."""
    return ["2", state + 1] if isinstance(state, int) else []


def paint(state: tuple[Colour, Place]) -> list[tuple[Colour, Place]]:
    return [(Colour.BLUE, state[1])]


def script(tmp_path: Path, call: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "same.py"
    file.write_text(RING + call, encoding="utf-8")
    env = clean_environment(HAKOIRI_DATA=str(tmp_path / "data"), XDG_STATE_HOME=str(tmp_path), PYTHONPATH=str(ROOT))
    return subprocess.run(
        [sys.executable, file],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


@pytest.mark.ci_slow
@pytest.mark.parametrize("puzzle", ["Ring", "Ring()", 'Ring({"first": "3"})'])
def test_a_class_or_instance_of_a_script(puzzle: str, tmp_path: Path) -> None:
    done = script(tmp_path, f"with explore({puzzle}) as run:\n    print(run.layer_sizes, run.puzzle.start)\n")
    assert done.stdout == f"{LAYERS} {3 if 'first' in puzzle else 5}\n", done.stderr


@pytest.mark.ci_slow
def test_a_script_that_loads_itself_is_stopped_at_once(tmp_path: Path) -> None:
    done = script(tmp_path, 'with explore("same.py:Ring") as run:\n    print(run.layer_sizes)\n')
    said = "same.py calls explore while it is loaded; put the call under if __name__ == '__main__':"
    assert done.stderr.splitlines()[-1].endswith(said) and len(done.stderr.splitlines()) < 40
    assert not (tmp_path / "data").exists()


@pytest.mark.ci_slow
def test_a_class_of_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = ModuleType("__main__")
    cells = ["", *RING.split("\n\n\n"), "%matplotlib inline", "explore(Ring)"]
    vars(notebook)["In"] = cells
    exec(RING, vars(notebook))  # noqa: S102
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    with explore(vars(notebook)["Ring"], data=tmp_path) as run:
        assert run.layer_sizes == LAYERS
        assert run.spec.name == "notebook.py:Ring"
        name = run.name
    assert verify_run(name, tmp_path, full=True).ok
    del cells[:]
    with pytest.raises(HakoiriError, match="the source of 'Ring' is not known; define it at the top level"):
        explore(vars(notebook)["Ring"], data=tmp_path)


def test_built_in_classes_and_what_is_no_puzzle(tmp_path: Path) -> None:
    with explore(Pancakes({"n": "4"}), data=tmp_path) as run:
        assert run.layer_sizes == [1, 3, 6, 11, 3]
    with pytest.raises(HakoiriError, match="Path is not a puzzle"):
        explore(Path, data=tmp_path)  # type: ignore[arg-type]


@pytest.mark.ci_slow
def test_graphs(tmp_path: Path) -> None:
    with explore_graph((8, 0, 0), pour, goal=is_halved, data=tmp_path) as run:
        assert (len(run.path()), run.layer_sizes, run.puzzle.undirected) == (7, [1, 2, 3, 2, 2, 2, 2, 2], False)
        assert run.path()[-1] == "(4, 4, 0)" and run.distance("(4,4,0)", "(3, 5, 0)") == 6
    with explore_graph("abcde", reverse_part, data=tmp_path) as run:
        assert run.layer_sizes == [1, 4, 12, 35, 48, 20] and run.puzzle.undirected
        assert run.diameter().diameter == 5 and run.distance("edcba") == 1
        name = run.name
    with explore_graph(frozenset({6}), split, layers=3, data=tmp_path) as run:
        assert "{1, 5}" in [run.board(key) for key in run.layer(1)]
    with explore_graph((10,), bulgarian, most=2, data=tmp_path) as run:
        assert (run.layer_sizes, run.exhausted) == ([1, 1], False)
    with explore_graph(Place(0), step, goal=is_there, until_goal=True, data=tmp_path) as run:
        # 9 is 5 moves away; there are ever more places.
        assert run.layer_sizes == [1, 2, 2, 2, 2, 2] and len(run.path("goal")) == 5
    with explore_graph((10,), bulgarian, data=tmp_path) as run:
        assert list(run.path("farthest"))[:2] == ["(10,)", "(9, 1)"] and len(run.path("(4, 3, 2, 1)")) == 6
    assert verify_run(name, tmp_path, full=True).ok


def nothing(state: int) -> None:
    """Forget to return what it has made."""
    [state + 1]


def chance(state: int) -> list[float]:
    return [random()]


def lists(state: int) -> Iterator[list[int]]:
    yield [state]


def fails(state: int) -> list[int]:
    return [1 // (2 - state), state + 1]


def not_a_number(state: float) -> list[float]:
    return [nan]


def by_hash(state: int) -> list[int]:
    """Depend on the order of a set, which is another one in each process."""
    return [*map(int, islice(set(map(str, range(40))), 6))]


@pytest.mark.parametrize(
    ("start", "moves", "said"),
    [
        (object(), either, "whose repr does not show its value"),
        (0, either, "the states '2' and 2 are not equal, but have the same text, 2"),
        (0, nothing, r"^test_sources.py, line \d+: nothing\(0\) returned None; expected the states after one move"),
        (0, chance, "gives other states when it is called again"),
        (0, lists, r"gives the list \[0\], which cannot be a state"),
        (0, fails, r"fails\(2\) failed: line \d+, ZeroDivisionError"),
        (0, not_a_number, "nan, which is not equal to itself"),
        ("abc", lambda state: state, "returned 'abc'; expected the states"),
        (0, lambda state: range(70_000), "gives more than 65,535 states"),
        ([0], either, "cannot be a state: unhashable type"),
        (0, by_hash, "by a new process"),
    ],
)
def test_mistakes_in_functions_are_one_line(start: Any, moves: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(HakoiriError, match=said) as found:
        explore_graph(start, moves, data=tmp_path)
    # Nothing of Hakoiri is between the user's line and the message.
    assert "\n" not in str(found.value) and len(found.traceback) <= 3 and found.value.__suppress_context__
    assert not tmp_path.exists() or not any(tmp_path.iterdir())


def test_a_graph_without_a_source_is_kept_as_a_table(tmp_path: Path) -> None:
    hours = 7

    def turn(hour: int) -> list[int]:
        return [(hour + 1) % hours, (hour - 1) % hours]

    for layers, sizes in ((None, [1, 2, 2, 2]), (1, [1, 2])):
        with (
            pytest.warns(PuzzleWarning, match="is kept as a table: its run can be asked, but not resumed or verified"),
            explore_graph(0, turn, goal=lambda hour: hour == 2, layers=layers, data=tmp_path) as run,
        ):
            assert run.layer_sizes == sizes and list(run.path("6")) == ["0", "6"]
            assert layers or len(run.path("goal")) == 2
            name = run.name
        assert verify_run(name, tmp_path, full=True).ok


def test_states_of_classes_are_written_as_expressions(tmp_path: Path) -> None:
    with explore_graph((Colour.RED, Place(0)), paint, data=tmp_path) as run:
        assert (run.layer_sizes, run.board()) == ([1, 1], "(Colour.RED, Place(at=0))")
        assert run.spec.name == "test_sources.py:Graph"


def test_completion_offers_what_users_call(tmp_path: Path) -> None:
    with explore("pancakes", {"n": "3"}, data=tmp_path) as run:
        assert {"path", "hardest", "layer_sizes", "puzzle"} <= {*dir(run)}
        assert not [name for name in dir(run) if name.startswith(("require", "needs", "not_found", "known"))]
        assert list(run.path("1 3 2")) == ["1 2 3", "2 1 3", "3 1 2", "1 3 2"]
        assert "2 1 3" not in list(run.path("1 3 2", avoid="2 1 3"))
        name = run.name
    with open_run(name, tmp_path) as again:
        assert isinstance(again, Run)
