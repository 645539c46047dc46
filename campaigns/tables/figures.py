"""Functions for the expressions of the data file."""

from collections.abc import Mapping, Sequence
from math import erfc, log, perm
from statistics import median
from typing import Any

from scipy.special import betaincinv, gammaincc

from hakoiri.puzzles.sliding_blocks.boards import EMPTY, LETTERS

_SIDE = 0.025
#: Deals of each column of Shintani's table 1.
_PAPER = 1000


def interval(hits: int, possible: int, trials: int) -> tuple[float, float]:
    """The exact 95 % interval of a share (Clopper and Pearson, 1934); of `possible` hits `hits` are sure."""
    low = float(betaincinv(hits, trials - hits + 1, _SIDE)) if hits else 0.0
    high = float(betaincinv(possible + 1, trials - possible, 1 - _SIDE)) if possible < trials else 1.0
    return low, high


def solvable(goal: Mapping[str, Any], deals: int) -> str:
    """The number of solvable deals, and the interval of their share."""
    sure, possible = goal["solvable"], goal["solvable"] + goal["capped"]
    low, high = (f"{100 * share:.2f}" for share in interval(sure, possible, deals))
    return f"{sure:,}{f' to {possible:,}' if possible > sure else ''} ({low} to {high} %)"


def moves(goal: Mapping[str, Any] | None) -> str | None:
    """Least, mean and most moves of a study, if it has solutions."""
    spread = goal and goal["moves"]
    return f"{spread['least']} / {spread['mean']:.2f} / {spread['most']}" if spread else None


def deciles(spread: Mapping[str, Any]) -> str:
    """The deciles of a study."""
    return " · ".join(f"{each:,}" for each in spread["deciles"])


def plays(answers: Sequence[Any]) -> dict[str, Any]:
    """The scores, moves and bounds of all plays among the answers."""
    found = [answer for answer in answers if "score" in answer]
    scores, taken, bounds = ([play[each] for play in found] for each in ("score", "moves", "bound"))
    spread = f"{min(scores):,} / {sum(scores) / len(found):,.1f} / {max(scores):,}"
    return {
        "boards": len(found), "scores": spread, "moves": f"{sum(taken) / len(found):,.1f}",
        "bound": f"{sum(bounds) / len(found):,.1f}",
    }  # fmt: skip


def cars(size: int) -> str:
    """A square board with one hole and cars of one cell, by letters."""
    cells = LETTERS[: size * size - 1] + EMPTY
    return "/".join(cells[begin : begin + size] for begin in range(0, len(cells), size))


def axes(size: int, along_rows: int) -> str:
    """The axes of these cars: the first ones move along rows."""
    letters = LETTERS[: size * size - 1]
    groups = (f"{letters[:along_rows]}:row", f"{letters[along_rows:]}:column")
    return ",".join(group for group in groups if group[0] != ":")


def drawn(board: str, along_rows: int) -> str:
    """Such a board by what each car is bound to: ``r`` its row, ``c`` its column."""
    named = dict.fromkeys(LETTERS[:along_rows], "r") | dict.fromkeys(LETTERS[along_rows:], "c")
    return "".join(named.get(mark, mark) for mark in board)


def sampled(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Number, mean and its error, least and most moves of a sample or a study of deals; of a sample all moves, too."""
    if "sizes" in answer:
        (size,) = answer["sizes"]
        goal = size["goals"]["fixed"]
        return {"deals": size["deals"], "capped": goal["capped"], **goal["moves"]}
    by_moves = {int(moves): count for moves, count in answer["moves"].items()}
    solved = sum(by_moves.values())
    mean = sum(moves * count for moves, count in by_moves.items()) / solved
    spread = sum((moves - mean) ** 2 * count for moves, count in by_moves.items()) / (solved - 1)
    return {"deals": answer["deals"], "capped": answer["capped"], "mean": mean, "error": (spread / solved) ** 0.5,
            "least": min(by_moves), "most": max(by_moves), "by_moves": by_moves}  # fmt: skip


def mean(answer: Mapping[str, Any], paper: float) -> dict[str, Any]:
    """The mean of a sample, and the probability that one of 1,000 deals is as far from it as the paper's, rounded."""
    found = sampled(answer)
    apart = max(0.0, abs(found["mean"] - paper) - 0.5) / (found["error"] * (1 + found["deals"] / _PAPER) ** 0.5)
    return {name: found[name] for name in ("mean", "error", "deals", "capped")} | {"chance": erfc(apart / 2**0.5)}


def extreme(answer: Mapping[str, Any], paper: int, most: bool) -> dict[str, Any]:
    """The least or `most` moves of a sample, and how probable the paper's are in its 1,000 deals.

    `wide` is the probability of moves as far out, `chance` that of being so far out on either side. `usual` is the
    number of deals in which they would be as probable as not. Where no deal of the sample has such moves, the paper's
    deal is one of as many as both have together; then `sure` is false, and `wide` is at most what it says.
    """
    found = sampled(answer)
    deals, figure, sign = found["deals"], found["most" if most else "least"], 1 if most else -1
    by_moves = found.get("by_moves", {figure: 1})
    as_far = sum(count for moves, count in by_moves.items() if sign * moves >= sign * paper)
    farther = sum(count for moves, count in by_moves.items() if sign * moves > sign * paper)
    wide = 1 - (1 - as_far / deals) ** _PAPER if as_far else _PAPER / (_PAPER + deals)
    narrow = (1 - farther / deals) ** _PAPER
    usual = log(0.5) / log(1 - max(as_far, 1) / deals)
    return {"figure": figure, "deals": deals, "as_far": as_far, "wide": wide, "sure": as_far > 0,
            "chance": min(1.0, 2 * min(wide, narrow)), "usual": usual}  # fmt: skip


def together(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The extremes of table 1 beside samples of more deals: the probability of ones as wide, by Fisher's method (1925).

    The greater of both strategies is taken, for their deals may be the same.
    """
    chances, every = [], list[Mapping[str, Any]]()
    for strategy in ("depth first", "breadth first"):
        rows = [(name, value) for row in found.values() for name, value in row.items() if f", {strategy}," in name]
        cells = [value for name, value in rows if "1,000" in name and value["deals"] > _PAPER]
        every += cells
        chances.append(float(gammaincc(len(cells), -sum(log(cell["wide"]) for cell in cells))))
    usual = sorted(cell["usual"] for cell in every)
    return {"cells": len(every), "chance": max(chances), "usual": [usual[0], median(usual), usual[-1]],
            "wider": sum(cell["wide"] < 0.5 for cell in every)}  # fmt: skip


def both(answer: Any) -> dict[str, list[float]]:
    """Least, mean and most moves of a study's solutions, and of shortest ones."""
    goal = answer.sizes[0].goals.fixed
    return {each: [goal.moves[each], goal.shortest[each]] for each in ("least", "mean", "most")}


def steps(answer: Any, which: str) -> dict[str, float]:
    """Mean moves of a study's solutions before and after each step of ``--shorten``, and of shortest ones."""
    goal = answer.sizes[0].goals[which]
    return {
        "before": goal.moves.mean, "shortest": goal.shortest.mean, "solvable": goal.solvable,
        "reached": goal.shortest_after.shortcuts, **{step: spread.mean for step, spread in goal.steps.items()},
    }  # fmt: skip


def star(answer: Any, column: str, strategy: str, points: int = 6) -> Any:
    """A value of the table of all ideas."""
    return next(row[column] for row in answer.rows if (row.points, row.strategy) == (points, strategy))


def permutations(answer: Any) -> int:
    """The permutations of 12 numbers: those placed, less the shorter ones."""
    return int(star(answer, "numbers placed", "generate")) - sum(perm(12, size) for size in range(1, 12))


def ideas(answer: Any) -> str:
    """The numbers placed by each strategy, by points."""
    strategies = dict.fromkeys(row.strategy for row in answer.rows)
    points = dict.fromkeys(row.points for row in answer.rows)
    listed = {
        each: " / ".join(f"{star(answer, 'numbers placed', each, size):,}" for size in points) for each in strategies
    }
    return " ".join(f"`{each}`: {counts}." for each, counts in listed.items())


def parts(answers: Sequence[Any]) -> list[list[float]]:
    """The parts of the cells that are balls of one colour, and walls, of each drawn board."""
    cells = ["".join(answer.board.split("/")[5:]) for answer in answers]
    return [
        [answer.balls / len(each) / 4, each.count("5") / len(each)] for answer, each in zip(answers, cells, strict=True)
    ]


def frame(answers: Sequence[Any]) -> list[int]:
    """The holes of each colour and the walls of all frames."""
    sides = "".join("".join(answer.board.split("/")[1:5]) for answer in answers)
    return [sides.count(digit) for digit in "12345"]


def ties(answer: Any) -> bool:
    """Return True if equal scores are ranked by fewer moves, and then by less time."""
    plays = sorted(answer.plays, key=lambda play: (play.board, play.setting, play.rank))
    return plays == sorted(plays, key=lambda play: (play.board, play.setting, -play.score, play.moves, play.seconds))


def column(answer: Any, strategy: str, name: str) -> list[float]:
    """A column of a study of strategies, one value for each setting."""
    return [row[name] for row in answer.rows if row.strategy == strategy]


def scores(answer: Any, *strategies: str) -> dict[str, Any]:
    """The mean scores of two strategies by setting, as texts, and their means."""
    found = [column(answer, strategy, "mean score") for strategy in strategies]
    texts = [" / ".join(f"{score:,.0f}" for score in each) for each in found]
    return {"texts": texts, "mean": [sum(each) / len(each) for each in found]}


def played(answer: Any) -> str:
    """The mean scores of all strategies by setting."""
    names = dict.fromkeys(row.strategy for row in answer.rows)
    return " ".join(f"`{name}`: {scores(answer, name)['texts'][0]}." for name in names)
