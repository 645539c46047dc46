"""Levels as data: distances, solutions and their numbers as a plain search has them."""

import json
from collections import deque
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from tests.support.commands import Hakoiri


def plain(rules: Puzzle) -> tuple[dict[int, int], dict[int, int]]:
    """The distance of each configuration to the nearest goal, and its number of shortest solutions."""
    met, queue = {rules.start}, deque([rules.start])
    while queue:
        for after in rules.successors(queue.popleft()):
            if after not in met:
                met.add(after)
                queue.append(after)
    layer = {key for key in met if rules.is_goal(rules.keys([key]))[0]}
    distances, ways = dict.fromkeys(layer, 0), dict.fromkeys(layer, 1)
    while layer:
        before = {key: {*rules.successors(key)} & layer for key in met - distances.keys()}
        nearest = {key: goals for key, goals in before.items() if goals}
        ways |= {key: sum(ways[goal] for goal in goals) for key, goals in nearest.items()}
        distances |= {key: distances[next(iter(goals))] + 1 for key, goals in nearest.items()}
        layer = {*nearest}
    return distances, ways


def levels(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("line", "spec"),
    [
        ("tiles -o rows=2 -o columns=3", PuzzleSpec("tiles", {"rows": "2", "columns": "3"})),
        (
            "sliding --from AAB/C.B/.DD -o goal=**B/**B/***",
            PuzzleSpec("sliding", {"goal": "**B/**B/***"}, "AAB/C.B/.DD"),
        ),
    ],
)
def test_levels_are_those_of_a_plain_search(line: str, spec: PuzzleSpec, tmp_path: Path) -> None:
    """The start of one run is its goal; the other's goals are elsewhere."""
    rules, file = spec.build(), tmp_path / "levels.jsonl"
    distances, ways = plain(rules)
    with closing(Hakoiri(tmp_path / "home")) as hakoiri:
        hakoiri.ask("run", *line.split())
        hakoiri.ask("hardest", "last")
        written = hakoiri.ask("sample", "last", "--per-layer", "7", "--to", str(file), "--seed", "3")
        first = file.read_bytes()
        hakoiri.ask("sample", "last", "--per-layer", "7", "--to", str(file), "--seed", "3")
    assert file.read_bytes() == first
    found = levels(file)
    assert written["levels"] == len(found)
    for distance in range(max(distances.values()) + 1):
        size = sum(each == distance for each in distances.values())
        keys = [level["key"] for level in found if level["distance"] == distance]
        assert len({*keys}) == len(keys) == min(size, 7)
    for level in found:
        key = rules.parse(level["key"])
        assert rules.render(key) == level["board"]
        assert (distances[key], ways[key]) == (level["distance"], level["solutions"])
        assert level["branching"] == len({*rules.successors(key)})
        assert len(level["solution"]) == level["distance"]
        # Each move is one of the board, to a board that is nearer; only a goal is left at the end.
        for left, move in zip(range(level["distance"], 0, -1), level["solution"], strict=True):
            nearer = [each for each in rules.successors(key) if distances[each] == left - 1]
            key = next(each for each in nearer if rules.describe_move(key, each) == move)


def test_what_levels_need_is_said(tmp_path: Path) -> None:
    file = str(tmp_path / "levels.jsonl")
    with closing(Hakoiri(tmp_path / "home")) as hakoiri:
        hakoiri.ask("run", "klotski", "--layers", "3")
        for more, said in (
            (("--per-layer", "2"), "--per-layer N and --to FILE.jsonl go together"),
            (("--per-layer", "2", "--to", "levels.csv"), "levels are written to a file *.jsonl"),
            (("--per-layer", "2", "--to", file), "stopped at layer 3, so the distances to its goals are not known"),
        ):
            refused = hakoiri("sample", "last", *more, check=False)
            assert refused.code and said in " ".join((refused.stdout + refused.stderr).split()), more
    assert not [*tmp_path.glob("levels*")]


def test_classes_and_distances_beyond_the_greatest_are_refused(tmp_path: Path) -> None:
    """A tower on any free peg is the goal of a class, but only one of them is that of a board."""
    asked = ("sample", "last", "--per-layer", "2", "--to", str(tmp_path / "levels.jsonl"))
    with closing(Hakoiri(tmp_path / "home")) as hakoiri:
        hakoiri.ask("run", "hanoi", "-o", "discs=3", "--merge-mirrors")
        assert "has mirror images merged" in hakoiri(*asked, check=False).error
        hakoiri.ask("run", "pancakes", "-o", "n=4")
        assert "the greatest distance of run " in hakoiri(*asked, "--depth", "3..9", check=False).error
    assert not [*tmp_path.glob("levels*")]
