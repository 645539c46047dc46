"""Deals of a user's puzzle: solved, studied and hunted for, against a search in plain Python."""

import csv
from collections import deque
from pathlib import Path
from statistics import mean

import pytest

from tests.support.commands import Hakoiri
from tests.support.user_puzzles import changed, written

#: Coins in a row: any neighbours are turned over together, or an end one alone; all heads up is the goal.
COINS = """\
from itertools import islice

import numpy as np

from hakoiri import U32, ConfigurationError, Dealt, Number
from hakoiri.keys.splitmix import random_words


class Coins(Dealt):
    name = "coins"
    options = {"coins": Number(5, 3, 12)}
    size_option = "coins"
    layout = U32
    undirected = True
    most_successors = 12
    hunted = True

    def usual_start(self):
        return (1 << self.size) - 1

    def successors(self, key):
        return [key ^ 3 << place for place in range(self.size - 1)] + [key ^ 1] * (self.size % 2)

    def is_goal(self, keys):
        return keys == 0

    def random_deal(self, seed, number):
        return self.render(next(random_words((seed << 32) + number)) >> 64 - self.size)

    def varied(self, deal, word):
        return self.render(self.parse(deal) ^ 1 << word % self.size)

    def render(self, key):
        return f"{key:0{self.size}b}"

    def parse_text(self, text):
        if len(text) != self.size or set(text) - set("01"):
            raise ConfigurationError(f"{text!r} is no row of {self.size} coins")
        return int(text, 2)
"""
#: The same, but a coin once turned over by itself stays: directed.
ONE_WAY = changed(
    ("undirected = True", "undirected = False"),
    ('[key ^ 1] * (self.size % 2)', '[key & ~1] * (self.size % 2)'),
    text=COINS,
)  # fmt: skip


def plain(deal: str, directed: bool) -> tuple[int | None, int, int]:
    """Fewest moves to the goal, positions reached and the last layer, by the words of the game."""
    size = len(deal)
    depths = {deal: 0}
    waiting = deque([deal])
    while waiting:
        row = waiting.popleft()
        turned = [
            "".join("10"[int(c)] if place in (at, at + 1) else c for place, c in enumerate(row))
            for at in range(size - 1)
        ]
        if size % 2:
            turned.append(row[:-1] + ("0" if directed or row[-1] == "1" else "1"))
        for other in turned:
            if other not in depths:
                depths[other] = depths[row] + 1
                waiting.append(other)
    return depths.get("0" * size), len(depths), max(depths.values())


puzzles = pytest.mark.parametrize(("text", "directed"), [(COINS, False), (ONE_WAY, True)], ids=["coins", "one-way"])


@puzzles
def test_a_study_of_a_user_s_puzzle_is_that_of_plain_searches(
    text: str, directed: bool, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    word, target = written(tmp_path, text, "Coins"), tmp_path / "deals.csv"
    line = ("study", "deals", word, "--sizes", "3..6", "--deals", "12", "--csv", str(target))
    found = hakoiri.ask(*line)
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["size"], row["number"]) for row in rows] == [(size, str(n)) for size in "3456" for n in range(12)]
    for row in rows:
        moves, _, _ = plain(row["deal"], directed)
        assert (row["moves_first"] or None) == (None if moves is None else str(moves))
        assert row["outcome_first"] == ("unsolvable" if moves is None else "solvable")
    assert {row["outcome_first"] for row in rows} == {"solvable", "unsolvable"}
    for size in found["sizes"]:
        known = [int(row["moves_first"]) for row in rows if row["size"] == str(size["coins"]) and row["moves_first"]]
        assert size["goals"]["first"]["moves"]["mean"] == pytest.approx(mean(known))
    assert "the goal: moves of the deals that can be solved" in hakoiri.here(*line).stdout


@puzzles
def test_deals_of_a_user_s_puzzle_are_solved(text: str, directed: bool, hakoiri: Hakoiri, tmp_path: Path) -> None:
    word = written(tmp_path, text, "Coins")
    deals = hakoiri.here("deal", word, "--count", "9").stdout
    file = tmp_path / "deals.txt"
    file.write_text(deals, encoding="utf-8")
    for one in hakoiri.ask("solve", word, str(file))["deals"]:
        moves, _, _ = plain(one["deal"], directed)
        assert one["moves"] == moves
        assert one["solution"] is None or one["solution"][-1:] == ["to 00000"] * bool(moves)
    wrong = hakoiri.here("solve", word, "0120", check=False)
    assert "'0120' is no row of 5 coins" in wrong.error


@puzzles
@pytest.mark.parametrize(("objective", "figure"), [("moves", 0), ("depth", 2)])
def test_hard_deals_of_a_user_s_puzzle_are_hunted_for(
    objective: str, figure: int, text: str, directed: bool, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    word = written(tmp_path, text, "Coins")
    best = hakoiri.ask("hunt", word, "--maximise", objective, "--legs", "4")["best"]
    every = (plain(f"{number:05b}", directed)[figure] for number in range(32))
    assert best["score"] == max(value for value in every if value is not None)
    assert plain(best["deal"], directed)[figure] == best["score"]
    refused = hakoiri.here("hunt", word, "--certificate", str(tmp_path / "certificate.json"), check=False)
    assert "is not a built-in puzzle, so it has no certificate" in refused.error


def test_a_puzzle_whose_deals_cannot_be_varied_has_no_hunts(hakoiri: Hakoiri, tmp_path: Path) -> None:
    word = written(tmp_path, changed(("    hunted = True\n", ""), text=COINS), "Coins")
    refused = hakoiri.here("hunt", word, check=False)
    assert "does not support hunts; puzzles that do: gap and sliding" in refused.error


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return self.render(next", "return 7 // 0 * self.render(next", "random_deal"),
        ('size_option = "coins"', 'size_option = "metric"', "metric"),
    ],
)
def test_mistakes_of_a_user_s_deals_are_one_line(
    old: str, new: str, said: str, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    word = written(tmp_path, changed((old, new), text=COINS), "Coins")
    refused = hakoiri.here("study", "deals", word, "--sizes", "3", check=False)
    assert refused.code == 1
    assert said in refused.error
