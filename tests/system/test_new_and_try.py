"""A user's own puzzle: the file that it begins with works, and what is wrong with it is said in words."""

import re
from pathlib import Path

import pytest

from hakoiri.puzzles.conformance.suite import CHECKS, RULES
from tests.support.commands import Hakoiri

#: An edit of the starter, the check that refuses it, and what is said.
MISTAKES = [
    ("undirected = False", "undirected = True", "undirected", r"from TTTTTTTT \(0xff\) to .*; set undirected = False"),
    ("most_successors = 23", "most_successors = 5", "rules", "has 7 successors, more than most_successors, 5"),
    ('options = {"coins"', 'options = {"stones"', "rules", "line 31, KeyError: 'coins'"),
    ("return keys == 0", "return keys[0] == 0", "goals", "is_goal returned .* expected bool of shape"),
    ('replace("0", "H")', 'replace("0", "X")', "rules", r"expected 8 coins, H \(heads\) or T \(tails\), not "),
    ('return f"turn {left} and {left + 1}"', 'return "turn"', "moves in words", "have the same description, 'turn'"),
    ("key ^ 0b11 << place for", "key ^ 0b11 << place << 20 for", "rules", r"a successor of TTTTTTTT \(0xff\)"),
    ("def usual_start(self)", "def usual(self)", "", "usual_start"),
]


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Hakoiri:
    return Hakoiri(tmp_path_factory.mktemp("mine"))


@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_the_file_that_a_puzzle_begins_with_works(mine: Hakoiri, directed: bool, kernel: bool, tmp_path: Path) -> None:
    file = tmp_path / "my_own-puzzle2.py"
    told = mine.ask("new", str(file), *(["--directed"] if directed else []), *(["--kernel"] if kernel else []))
    assert told == {"file": str(file), "puzzle": f"{file}:MyOwnPuzzle2"}
    assert ("def expand" in file.read_text()) == kernel
    tried = mine.ask("try", told["puzzle"])
    assert tried["ok"]
    assert {each["check"] for each in tried["checks"]} == {RULES, *CHECKS}
    assert all(each["wrong"] == "" and each["promise"] for each in tried["checks"])
    found = mine.ask("run", told["puzzle"])
    assert (found["configurations"], found["goal_depth"], found["puzzle"]) == (128, 4, f"{file.name}:MyOwnPuzzle2")
    assert mine.ask("verify", "last", "--full")["ok"]


@pytest.mark.parametrize(("old", "new", "check", "said"), MISTAKES, ids=lambda part: part[:20])
def test_a_mistake_is_found_and_told(mine: Hakoiri, tmp_path: Path, old: str, new: str, check: str, said: str) -> None:
    file = tmp_path / "mistaken.py"
    mine.ask("new", str(file), "--directed")
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    shown = mine.here("try", f"{file}:Mistaken", check=False)
    assert shown.code == 1
    if not check:
        assert re.search(said, shown.error)
        return
    lines = shown.stdout.splitlines()
    (broken,) = (number for number, line in enumerate(lines) if line.startswith("BROKEN"))
    assert lines[broken].startswith(f"BROKEN       {check} ")
    assert re.search(said, lines[broken + 1]), lines


@pytest.mark.parametrize("name", ["puzzle", "puzzle.txt", ".py", "___.py"])
def test_a_file_of_another_name_is_refused(mine: Hakoiri, tmp_path: Path, name: str) -> None:
    refused = mine.here("new", str(tmp_path / name), check=False)
    assert "does not end in .py" in refused.error
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_there_stays(mine: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("precious")
    assert "already exists" in mine.here("new", str(tmp_path / "mine.py"), check=False).error
    assert (tmp_path / "mine.py").read_text() == "precious"


def test_a_built_in_puzzle_is_tried_with_its_options_and_its_mirror_images(mine: Hakoiri) -> None:
    assert mine.ask("try", "klotski", "-o", "metric=finger")["ok"]
    assert mine.ask("try", "sliding", "--from", "AAB/A.B/.BB")["ok"]
