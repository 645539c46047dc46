"""Gap and Superpuzz: studies of random deals, and the deal of Gap that leads to most positions."""

from collections.abc import Callable, Sequence
from typing import Any

from scipy.special import betaincinv

from campaigns.atlas.entries import Answer, Entry, Part, Row

_SIDE = 0.025


def interval(hits: int, possible: int, trials: int) -> tuple[float, float]:
    """The exact 95 % interval of a share (Clopper and Pearson, 1934); of `possible` hits `hits` are sure."""
    low = float(betaincinv(hits, trials - hits + 1, _SIDE)) if hits else 0.0
    high = float(betaincinv(possible + 1, trials - possible, 1 - _SIDE)) if possible < trials else 1.0
    return low, high


def _solvable(goal: Answer, deals: int) -> str:
    """Return the number of solvable deals, and the interval of their share."""
    sure, possible = goal["solvable"], goal["solvable"] + goal["capped"]
    low, high = (f"{100 * share:.2f}" for share in interval(sure, possible, deals))
    return f"{sure:,}{f' to {possible:,}' if possible > sure else ''} ({low} to {high} %)"


def _positions(spread: Answer) -> dict[str, Any]:
    """The least, deciles, the greatest."""
    deciles = " · ".join(f"{each:,}" for each in spread["deciles"])
    return {"least": spread["least"], "deciles": deciles, "most": spread["most"]}


def _study(name: str) -> Callable[[Sequence[Answer]], list[Row]]:
    def rows(answers: Sequence[Answer]) -> list[Row]:
        found: list[Row] = []
        for size in answers[0]["sizes"]:
            effort, first = size["effort"], size["goals"]["first"]
            solvable = {"solvable": _solvable(first, effort["deals"]), "moves": _moves(first)}
            found.append({"row": name, "capped": effort["capped"]} | solvable | _positions(effort["positions"]))
            if (one := size["goals"].get("fixed")) is not None:
                found[-1] |= {"one": _solvable(one, effort["deals"]), "one moves": _moves(one)}
        return found

    return rows


def _moves(goal: Answer) -> str | None:
    spread = goal["moves"]
    return None if spread is None else f"{spread['least']} / {spread['mean']:.2f} / {spread['most']}"


def _gap(ranks: int, deals: int, cap: str) -> Entry:
    name = f"{ranks} ranks, {deals:,} deals"
    line = ("study", "deals", "gap", "--sizes", str(ranks), "--deals", str(deals), "--seed", "1", "--cap", cap)
    return Entry(name, (line,), _study(name), ranks == 5)


def _superpuzz(columns: int, deals: int, cap: str, paper: str) -> Entry:
    name = f"{columns} columns, {deals:,} deals"
    line = ("study", "deals", "superpuzz", "--sizes", str(columns), "--deals", str(deals), "--seed", "1", "--cap", cap)

    def rows(answers: Sequence[Answer]) -> list[Row]:
        return [row | {"paper": paper} for row in _study(name)(answers)]

    return Entry(name, (line,), rows)


_COLUMNS = {"solvable": "solvable (exact 95 %)", "moves": "moves: least / mean / most"}
_SPREAD = {"capped": "capped", "least": "positions: least", "deciles": "deciles", "most": "most"}
GAP = Part(
    "gap",
    "Gap: random deals",
    "Deals of four suits, the first of seed 1, each searched to its end. The interval of the share of all deals "
    "that can be solved is that of Clopper and Pearson.",
    _COLUMNS | _SPREAD,
    (*(_gap(ranks, 1_000, "10M") for ranks in range(3, 14)), _gap(13, 10_000, "40M")),
    searched=dict.fromkeys(
        ("solvable", "most"), "pages on Gap and Montana solitaire; their rules or their goals differ"
    ),
)
SUPERPUZZ = Part(
    "superpuzz",
    "Superpuzz: random deals",
    "Fewest moves by both conventions, suits in any order (24 goals) and in one. *The paper*: Shintani's table 1, "
    "least / mean / most of its own random deals, so that means are to be alike and extremes are not.",
    _COLUMNS | {"one": "one goal: solvable", "one moves": "one goal: moves", "paper": "the paper"} | _SPREAD,
    (
        _superpuzz(4, 1_000, "10M", "6 / 15 / 30"),
        _superpuzz(5, 1_000, "10M", "10 / 22 / 44"),
        _superpuzz(6, 1_000, "10M", "15 / 31 / 59"),
        _superpuzz(7, 100, "20M", "21 / 40 / 85"),
        _superpuzz(8, 60, "40M", "27 / 50 / 92"),
    ),
)


_BEST = "13 11 12 34 25 16 21/42 45 33 24 15 31 47/27 32 23 14 41 46 37/44 36 22 43 35 26 17"


def _hunted(name: str) -> Callable[[Sequence[Answer]], list[Row]]:
    def rows(answers: Sequence[Answer]) -> list[Row]:
        hunt = answers[0]
        best = hunt["best"]
        figures = {each: best["figures"][each] for each in ("positions", "moves", "depth")}
        return [{"row": name, "deal": f"`{best['deal']}`", "tried": hunt["deals"]} | figures]

    return rows


def _hunt(name: str, *line: str) -> Entry:
    return Entry(name, (("hunt", "gap", *line),), _hunted(name), "5 ranks" in name)


HUNTS = Part(
    "hunts",
    "Gap: the deal that leads to most positions",
    "Ishihata's paper believes that no deal of 7 ranks leads to more than 83,521 positions. Hunts by legs are the "
    "same on every machine; the last one sets out from the best deal that was known before (996,758 "
    "positions), and what it found is `docs/reports/hardest-gap-7.json`.",
    {"positions": "positions", "moves": "fewest moves", "depth": "depth", "tried": "deals tried", "deal": "deal"},
    (
        _hunt("5 ranks", "-o", "ranks=5", "--seed", "3", "--legs", "40"),
        _hunt("7 ranks, from random deals", "-o", "ranks=7", "--seed", "3", "--legs", "240"),
        _hunt("7 ranks, from the best known", "-o", "ranks=7", "--seed", "1", "--legs", "960", "--from", _BEST),
    ),
    searched={"positions": "the paper and pages on Gap; none tells the positions of a deal of 7 ranks"},
)
