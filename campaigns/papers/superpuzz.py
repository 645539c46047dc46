"""Shintani: depth-first solutions of Superpuzz, what is redundant in them, and shortest ones."""

from collections.abc import Sequence

from campaigns.atlas.entries import Answer
from campaigns.papers.claims import Claim, Paper, Work, field

_FIGURE_1 = "D2 S2 H4 H3 D6 H5/C2 H2 SA S4 C6 S3/S5 S6 D5 C4 DA H6/HA C5 CA D4 D3 C3"
#: The paper's 24 moves, of which those from the eighth to the eleventh are its example.
_MOVES = (
    "(D6, H4) (S3, D6) (S5, C6) (HA, C6) (C6, DA) (C5, C6) (C6, D2) (HA, C6) (DA, C6) (C6, HA) (DA, C6) (CA, C6) "
    "(D3, C6) (C6, D5) (S6, C2) (C3, C6) (HA, S6) (S6, DA) (SA, S6) (S6, H3) (S4, S6) (S6, H4) (S5, S6) (S6, H5)"
)
#: Table 1 by columns: least, mean and most moves.
_DEPTH_FIRST = {4: (6, 104, 4122), 5: (15, 165, 4250), 6: (19, 216, 18206), 7: (24, 240, 14514), 8: (35, 299, 29748)}
_BREADTH_FIRST = {4: (6, 15, 30), 5: (10, 22, 44), 6: (15, 31, 59), 7: (21, 40, 85), 8: (27, 50, 92)}
_OTHER_DEALS = (
    "the paper's deals are not known; over other random deals the least and the most are those of single ones"
)
#: Deals where there was no time for 1,000.
_DEALS = {("bfs", 7): 400, ("dfs", 8): 200, ("bfs", 8): 90}
_FEW = (
    "only 200 deals, those that the cap ended left out, and a few very long solutions make much of such a mean: the "
    "paper's longest alone adds 30"
)
_CAPS = {4: "10M", 5: "10M", 6: "10M", 7: "20M", 8: "20M"}
#: Standard errors that two means of 1,000 deals each may be apart, with a probability of a thousandth.
_ERRORS = 3.3


def _table_1(strategy: str, columns: int, paper: tuple[int, int, int]) -> Work:
    """A column of table 1, one goal and 24, from one study."""
    named = {"dfs": "depth first", "bfs": "breadth first"}[strategy]

    def moves(answers: Sequence[Answer], goal: str) -> dict[str, float]:
        return dict(answers[0]["sizes"][0]["goals"][goal]["moves"])

    def apart(answers: Sequence[Answer]) -> float:
        """Standard errors between the two means; the paper's is over 1,000 other deals."""
        one, size = moves(answers, "fixed"), answers[0]["sizes"][0]
        return float(abs(one["mean"] - paper[1]) / (one["error"] * (1 + size["deals"] / 1000) ** 0.5))

    def alike(answers: Sequence[Answer]) -> bool:
        return apart(answers) < _ERRORS

    def mean(answers: Sequence[Answer]) -> str:
        one = moves(answers, "fixed")
        return f"{one['mean']:.2f} ± {one['error']:.2f}, {apart(answers):.1f} standard errors apart"

    def told(goal: str) -> str:
        return f"table 1, {named}, {columns} columns, {goal}"

    def text(answers: Sequence[Answer], goal: str) -> str:
        found, size = moves(answers, goal), answers[0]["sizes"][0]
        capped = size["goals"][goal]["capped"]
        mean = f"{found['least']} / {found['mean']:.2f} ± {found['error']:.2f} / {found['most']:,}"
        return f"{mean} of {size['deals']:,} deals{f', {capped} capped' if capped else ''}"

    deals = f"{_DEALS.get((strategy, columns), 1000)}"
    figures = " / ".join(f"{each:,}" for each in paper)
    line = ("study", "deals", "superpuzz", "--sizes", f"{columns}", "--deals", deals, "--seed", "1")
    return Work(
        f"table 1 {strategy} {columns}",
        ((*line, "--strategy", strategy, "--cap", _CAPS[columns]),),
        (
            Claim(
                told("one goal"),
                "mean moves, within the standard errors of both",
                f"{paper[1]}",
                mean,
                _FEW if (strategy, columns) == ("dfs", 8) else "",
                "differs" if (strategy, columns) == ("dfs", 8) else None,
                alike,
            ),
            Claim(
                told("one goal"),
                "least / mean / most moves",
                figures,
                lambda answers: text(answers, "fixed"),
                _OTHER_DEALS,
                "differs",
            ),
            Claim(
                told("24 goals"),
                "least / mean / most moves",
                figures,
                lambda answers: text(answers, "first"),
                "the table fits a search for one goal; the text speaks of 24",
                "differs",
            ),
        ),
        short=columns == 4,
    )


def _steps(answers: Sequence[Answer]) -> str:
    """By goals: the mean moves by step, and how many solutions are shortest ones by then."""
    told = []
    for name, goals in answers[0]["sizes"][0]["goals"].items():
        means = {"found": goals["moves"], **goals["steps"], "shortest": goals["shortest"]}
        listed = ", ".join(f"{step} {moves['mean']:.1f}" for step, moves in means.items())
        reached = ", ".join(f"{step} {count}" for step, count in goals["shortest_after"].items())
        goal = {"first": "24 goals", "fixed": "one goal"}[name]
        told.append(f"{goal}: {listed}; shortest of {goals['solvable']}: {reached}")
    return "; ".join(told)


def _shortened(columns: int) -> Work:
    line = ("study", "deals", "superpuzz", "--sizes", f"{columns}", "--deals", "1000", "--strategy", "dfs", "--shorten")
    return Work(
        f"shortened {columns}",
        (line,),
        (
            Claim(
                "section 6",
                f"with {columns} columns: redundant moves can be taken out, and what is left is not the shortest",
                "has some effect",
                _steps,
                "mean moves after each step, and how many solutions are shortest ones; with 24 goals shortening keeps "
                "the goal that was found, which need not be the nearest",
                "answered",
            ),
        ),
        short=False,
    )


def _reach(answers: Sequence[Answer]) -> str:
    rows = answers[0]["rows"]
    return "; ".join(
        f"{row['reach']:,} positions: mean {row['mean']:.2f}, {row['shortest']} of {row['solutions']} shortest, "
        f"{row['cpu_seconds']:.1f} CPU s"
        for row in rows
    )


def _open_question(columns: int, deals: int) -> Work:
    return Work(
        f"open question {columns}",
        (("python", "-m", "campaigns.papers.reach", f"{columns}", f"{deals}"),),
        (
            Claim(
                "section 6, open question",
                f"can shortest solutions be had from depth-first ones? ({columns} columns, one goal)",
                "to be examined",
                _reach,
                "by shortcuts among the first N positions from each position of a solution; all become shortest where "
                "N is the whole space, which is what a search breadth first costs",
                "answered",
            ),
        ),
        short=False,
    )


_ANSWER = "deals"
_FIGURES = Work(
    "figure 1",
    (
        ("solve", "superpuzz", "--strategy", "dfs", "--shorten", _FIGURE_1),
        ("solve", "superpuzz", "--strategy", "bfs", "--show", _FIGURE_1),
        ("replay", "superpuzz", "--shorten", _FIGURE_1, _MOVES),
        ("solve", "superpuzz", "--strategy", "dfs", "--shorten", "--reach", "1000", _FIGURE_1),
    ),
    (
        Claim(
            "figure 1", "the depth-first solution", _MOVES, lambda answers: _text(answers[0][_ANSWER][0]["solution"])
        ),
        Claim("figure 1", "it leads to a goal", True, field("solved", number=2)),
        Claim(
            "section 4",
            "redundant in it",
            "(HA, C6) (DA, C6) (C6, HA) (DA, C6)",
            lambda answers: _cut(answers, "moves"),
        ),
        Claim("section 4", "which becomes", "(DA, C6) (C6, HA)", lambda answers: _cut(answers, "instead")),
        Claim("section 4", "moves left", 22, field("shortened", number=2)),
        Claim(
            "section 6",
            "that is not the least number of moves, which is",
            "not told",
            field(_ANSWER, 0, "moves", number=1),
            "breadth first",
            "answered",
        ),
        Claim(
            "section 6",
            "moves left with shortcuts among the first 1,000 positions",
            "asked",
            field(_ANSWER, 0, "shortened", number=3),
            "as few as there are",
            "answered",
        ),
    ),
)
_COMPONENTS = Work(
    "components",
    (("run", "superpuzz", "--from", _FIGURE_1), ("components", "last", "--strong", "--limit", "1")),
    (
        Claim(
            "section 2",
            "a strong component is one of six element components, of 2 to 24 positions",
            "at most 24 positions, distance 4",
            lambda answers: "{size:,} positions, distance {diameter}".format(**answers[1]["components"][0]),
            "cards 2, 3, ... follow their aces back and forth, too, so true components are larger",
            "refuted",
        ),
    ),
    short=False,
)


def _text(words: Sequence[str]) -> str:
    return " ".join(words)


def _cut(answers: Sequence[Answer], what: str) -> str:
    return _text(answers[2]["redundant"][0][what])


SUPERPUZZ = Paper(
    "superpuzz",
    "Shintani: Verbosity of Movement by Depth-first Search on Superpuzz",
    "A card into each hole that follows its left neighbour. The paper finds solutions depth first, tells what is "
    "redundant in them, and compares them with shortest ones.",
    (
        _FIGURES,
        _COMPONENTS,
        *(_table_1("dfs", columns, paper) for columns, paper in _DEPTH_FIRST.items()),
        *(_table_1("bfs", columns, paper) for columns, paper in _BREADTH_FIRST.items()),
        *(_shortened(columns) for columns in (4, 5)),
        *(_open_question(columns, 200) for columns in (4, 5)),
    ),
)
