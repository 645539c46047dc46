"""Sliding blocks: every mix of pieces on a board, and single boards of which something is published."""

from collections.abc import Callable, Sequence

from campaigns.atlas.entries import Answer, Entry, Known, Part, Row

_METRICS = ("unit", "straight", "finger")


_DOMINOES = "1x2:* 2x1:* 1x1:*"


def _widest(name: str) -> Callable[[Sequence[Answer]], list[Row]]:
    """One row for all mixes together: the longest distance, between which boards, and the hardest one for the goal."""

    def rows(answers: Sequence[Answer]) -> list[Row]:
        study = answers[0]
        hardest = max(study["rows"], key=lambda row: row["moves"] or 0)
        names = ("mixes", "configurations", "components", "diameter")
        pair = " ".join(f"`{board}`" for board in study["pair"])
        moves = {"moves": hardest["moves"], "hardest": f"`{hardest['hardest']}`"}
        return [{"row": name} | {each: study[each] for each in names} | {"pair": pair} | moves]

    return rows


def _study(name: str, size: str, pieces: str, empty: str, goal: str, metric: str) -> Entry:
    what = ("--size", size, "--pieces", pieces, "--empty", empty, "--goal", goal, "-o", f"metric={metric}", "--pairs")
    name = f"{name}, {metric}"
    return Entry(name, (("study", "boards", *what),), _widest(name), name == "3x3, unit")


BOARDS = Part(
    "boards",
    "All boards of some pieces",
    "*4x5*: one 2x2 piece, dominoes and single cells, at least two cells empty; the goal is the 2x2 piece in the "
    "middle of the lower edge. *4x4*: squares of 2x2, dominoes and single cells, at least one empty; the goal is a "
    "2x2 piece in the lower right corner. *3x3*: dominoes and single cells, two empty. Metrics: *unit*, one piece "
    "by one cell; *straight*, any distance in one direction; *finger*, any way of one piece. Bickford's row for 4x4"
    " is of pieces of any shape, which `study boards` has not, from corner to corner: 132 moves at most. By number "
    "of pieces it is 1, 4, 9, 19, 36, 51, 62, 89, 132, 81, 64, 73, 61, 25, 21. So it bounds what rectangles do, and"
    " is not compared.",
    {"mixes": "mixes", "configurations": "configurations", "components": "components", "diameter": "largest diameter",
     "pair": "between", "moves": "hardest for the goal", "hardest": "from"},
    (
        *(_study("3x3", "3x3", _DOMINOES, "2", "1x1@3,3", metric) for metric in _METRICS),
        *(_study("4x4", "4x4", f"2x2:* {_DOMINOES}", "1..", "2x2@3,3", metric) for metric in _METRICS),
        *(_study("4x5", "4x5", f"2x2:1 {_DOMINOES}", "2..", "2x2@4,2", metric) for metric in _METRICS),
    ),
    tuple(
        Known(column, "dnomd343/klotski", {f"4x5, {metric}": value for metric in _METRICS})
        for column, value in (("mixes", 203), ("configurations", 29_334_498))
    ),
    dict.fromkeys(("diameter", "moves"), "pages on sliding blocks, and the source of dnomd343/klotski"),
)  # fmt: skip


def _single(name: str, *line: str) -> Entry:
    """A board, how far its goal is, and the longest distance among all that it reaches."""

    def rows(answers: Sequence[Answer]) -> list[Row]:
        run, farthest = answers
        found = {"configurations": run["configurations"], "moves": run["goal_depth"], "digest": run["digest"]}
        return [{"row": name, "diameter": farthest["diameter"]} | found]

    return Entry(
        name,
        (("run", *line), ("diameter", "last")),
        rows,
        "unit" in name,
        verify=("verify", "last", "--full"),
        certified=True,
    )


_RUSH = "IBBxooIooLDDJAALooJoKEEMFFKooMGGHHHM"
SINGLE = Part(
    "single-boards",
    "Single boards",
    "How far the goal is from the usual start, and how far any two of what it reaches are from each other.",
    {"configurations": "configurations", "moves": "to the goal", "diameter": "diameter"},
    (
        *(_single(f"Hakoiri-musume, {metric}", "klotski", "-o", f"metric={metric}") for metric in _METRICS),
        _single(
            "Rush Hour, 60 moves", "sliding", "--from", _RUSH, "-o", "axis=rows-and-columns", "-o", "metric=straight"
        ),
        _single(
            "Bickford 2011, finger",
            "sliding",
            "--from",
            "AAEB/FCEE/FD.G/.DHI",
            "--goal",
            "A@4,3",
            "-o",
            "metric=finger",
        ),
    ),
    (
        Known("diameter", "tmuetze.de/puzzle.html", {"Hakoiri-musume, unit": 190}),
        Known("moves", "tmuetze.de/puzzle.html", {"Hakoiri-musume, unit": 116, "Hakoiri-musume, finger": 81}),
        Known("moves", "fogleman/rush", {"Rush Hour, 60 moves": 60}),
        Known("configurations", "fogleman/rush", {"Rush Hour, 60 moves": 2332}),
        Known("moves", "N. Bickford, math-fun, 20 January 2011", {"Bickford 2011, finger": 131}),
    ),
)
