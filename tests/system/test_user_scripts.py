"""Graphs and puzzles of scripts: asked, verified and resumed afterwards by other processes, or refused at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import PATIENCE_SECONDS, ROOT, Hakoiri, clean_environment

pytestmark = pytest.mark.ci_slow
TABLES = "N = 6\nSTEPS = {1: [1, -1]}\n"
RULES = """
from hakoiri import U32, Puzzle
from {dots}tables import N, STEPS
from {dots}inner import deep

class Ring(Puzzle):
    name, layout, undirected, most_successors = "ring", U32, True, 2
    def usual_start(self):
        return deep.START
    def successors(self, key):
        return moves(key)

def moves(state):
    from {dots}late import wrap
    return [wrap(state + step) for step in STEPS[1]]
"""
FILES = {
    "tables": TABLES,
    "inner/deep": "START = 1\n",
    "late": "from {dots}tables import N\n\ndef wrap(x):\n    return x % N\n",
}
#: A script that makes what it needs of its arguments and input, and what the run of it says.
ASKING = """
import argparse, random, sys
from hakoiri import U32, Puzzle, explore, explore_graph
parser = argparse.ArgumentParser()
parser.add_argument("n", type=int)
N = parser.parse_args().n
ORDER = [*range(N)]
random.shuffle(ORDER)
NAMES = {input(): ORDER[0]}

def moves(state):
    return [ORDER[state], (state + len(NAMES)) % N]

class Mine(Puzzle):
    name, layout, undirected, most_successors = "mine", U32, False, 2
    def usual_start(self):
        return NAMES["first"]
    def successors(self, key):
        return moves(key)

if __name__ == "__main__":
    with CALL as run:
        print(run.name)
"""


def python(data: Path, tmp_path: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], env=clean_environment(HAKOIRI_DATA=str(data), PYTHONPATH=str(ROOT)), cwd=tmp_path,
        input=given, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip


@pytest.mark.parametrize("call", ["explore_graph(0, moves)", "explore(Mine)"])
def test_a_script_with_arguments_and_input_is_asked_afterwards(call: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text(ASKING.replace("CALL", call))
    done = python(hakoiri.data, tmp_path, "asking.py", "7", given="first\n")
    assert hakoiri.json("verify", done.stdout.strip(), "--full")["ok"], done.stderr


@pytest.mark.parametrize("dots", ["", "."])
def test_modules_beside_a_file_belong_to_it(dots: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    package = "mine." if dots else ""
    place = tmp_path / "mine" if dots else tmp_path
    for name, text in {**FILES, "rules": RULES, **({"__init__": ""} if dots else {})}.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.py").write_text(text.format(dots=dots) if "import" in text else text)
    (tmp_path / "main.py").write_text(
        f"from {package}rules import Ring, moves\nfrom hakoiri import explore, explore_graph\n"
        "if __name__ == '__main__':\n"
        "    for run in (explore_graph(0, moves), explore(Ring)):\n        print(run.name)\n"
    )
    done = python(hakoiri.data, tmp_path, "main.py")
    graph, ring = done.stdout.split() or [done.stderr, ""]
    for run in (graph, ring):
        assert hakoiri.json("layers", run)["layers"] and hakoiri.json("verify", run, "--full")["ok"]
    assert hakoiri.json("run", f"{place}/rules.py:Ring")["configurations"] == 6
    # What the graph needs was copied; the class is in its own file, and its digest covers the modules.
    (place / "tables.py").write_text(TABLES.replace("6", "8"))
    assert hakoiri.json("verify", graph, "--full")["ok"]
    refused = hakoiri("verify", ring, check=False).error
    assert "rules.py, or a module beside it, has changed since" in refused
    assert hakoiri.json("run", f"{place}/rules.py:Ring")["configurations"] == 8


@pytest.mark.parametrize("arguments", [("-c", "{}"), ("-",), ("-i",)])
def test_a_graph_without_a_file(arguments: tuple[str, ...], hakoiri: Hakoiri, tmp_path: Path) -> None:
    text = "from hakoiri import explore_graph\ndef turn(hour):\n    return [(hour + 1) % 7]\n\n"
    text += "with explore_graph(0, turn) as run: print(run.name)\n\n"
    done = python(hakoiri.data, tmp_path, *(each.format(text) for each in arguments), given=text)
    assert "cannot be" not in done.stderr and "not resumed or verified elsewhere by the function" in done.stderr
    assert hakoiri.json("layers", done.stdout.strip())["layers"]


def test_what_cannot_be_opened_again_is_told_before_the_run(hakoiri: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import sys\nfrom hakoiri import U32, Puzzle, explore\n"
        "class Store:\n    n = int(sys.argv[1])\nSTORE = Store()\n"
        'class Mine(Puzzle):\n    name, layout, undirected, most_successors = "mine", U32, False, 1\n'
        "    def usual_start(self):\n        return STORE.n\n    def successors(self, key):\n        return []\n"
        "if __name__ == '__main__':\n    explore(Mine)\n"
    )
    done = python(hakoiri.data, tmp_path, "own.py", "3")
    assert "a new process cannot open what was kept of the source of own.py:Mine: " in done.stderr.splitlines()[-1]
    assert "line 4, IndexError" in done.stderr and not hakoiri.json("runs")["runs"]


def test_a_function_that_does_not_return_is_named_after_five_seconds(hakoiri: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "never.py").write_text(
        "from hakoiri import explore_graph\ndef never(state):\n    while state:\n        pass\n    return [1]\n"
        "if __name__ == '__main__':\n    explore_graph(0, never)\n"
    )
    with subprocess.Popen(
        [sys.executable, "never.py"], env=clean_environment(HAKOIRI_DATA=str(hakoiri.data), PYTHONPATH=str(ROOT)),
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        said = process.stderr.readline()
        process.kill()
    assert said.startswith("hakoiri: never of never.py, line ") and said.endswith(", has not returned for 5 s\n")
