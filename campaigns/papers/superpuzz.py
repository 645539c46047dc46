"""Shintani: depth-first solutions of Superpuzz, what is redundant in them, and shortest ones."""

from collections.abc import Sequence
from functools import partial

from campaigns.atlas.entries import Answer
from campaigns.papers.claims import Claim, Ours, Paper, Work, field
from campaigns.papers.reach import REACHES

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
_ONE_GOAL = "the table fits a search for one goal; the text speaks of 24"
_WHOLE = "where all positions are among them all become shortest; the next row has what searching breadth first costs"
#: Deals where there was no time for 1,000.
_DEALS = {("bfs", 8): 250}
_LONG = (
    "a few very long solutions make much of such a mean: the paper's longest alone, 29,748 moves, adds some 40 to its "
    "mean over the solvable deals; here no solution has 5,000"
)
_NAMED = {"dfs": "depth first", "bfs": "breadth first"}
#: Means that differ by more than chance allows.
_WHY = {("dfs", 8): _LONG}
#: Standard errors that two means of 1,000 deals each may be apart, with a probability of a thousandth.
_ERRORS = 3.3


def _moves(answers: Sequence[Answer], goal: str) -> dict[str, float]:
    """The distribution of moves in a study of one size, for the first goal or the fixed one."""
    return dict(answers[0]["sizes"][0]["goals"][goal]["moves"])


def _errors_apart(answers: Sequence[Answer], paper: int) -> float:
    """Standard errors between our mean and the paper's, which is over 1,000 other deals."""
    one, deals = _moves(answers, "fixed"), answers[0]["sizes"][0]["deals"]
    return float(abs(one["mean"] - paper) / (one["error"] * (1 + deals / 1000) ** 0.5))


def _mean(paper: int) -> Ours:
    def told(answers: Sequence[Answer]) -> str:
        one = _moves(answers, "fixed")
        return f"{one['mean']:.2f} ± {one['error']:.2f}, {_errors_apart(answers, paper):.1f} standard errors apart"

    return told


def _extremes(goal: str) -> Ours:
    def told(answers: Sequence[Answer]) -> str:
        found, size = _moves(answers, goal), answers[0]["sizes"][0]
        capped = size["goals"][goal]["capped"]
        listed = f"{found['least']} / {found['mean']:.2f} ± {found['error']:.2f} / {found['most']:,}"
        return f"{listed}; {size['deals']:,} deals{f', of which {capped} were given up' if capped else ''}"

    return told


def _longest(answers: Sequence[Answer]) -> float:
    return _moves(answers, "fixed")["most"]


def _table_1(strategy: str, columns: int, paper: tuple[int, int, int]) -> Work:
    """Make a column of table 1, with one goal and with 24, from one study."""
    deals, cap = _DEALS.get((strategy, columns), 1000), "10M" if columns < 7 else "20M"
    line = ("study", "deals", "superpuzz", "--sizes", f"{columns}", "--deals", f"{deals}", "--seed", "1")
    claims = _cells(f"table 1, {_NAMED[strategy]}, {columns} columns", paper, _WHY.get((strategy, columns), ""))
    if (strategy, columns) == ("dfs", 6):
        said = "solutions of more than 10,000 moves occur: the most moves with 6 columns"
        claims += (Claim("section 5", said, "yes", _longest, holds=lambda answers: _longest(answers) > 10_000),)
    name = f"table 1 {strategy} {columns}"
    return Work(name, ((*line, "--strategy", strategy, "--cap", cap),), claims, short=columns == 4)


def _cells(row: str, paper: tuple[int, int, int], why: str) -> tuple[Claim, ...]:
    """Make the claims on the least, mean and most moves of a column; `why` the mean differs, if it does."""
    figures = " / ".join(f"{each:,}" for each in paper)
    return (
        Claim(
            f"{row}, one goal", "mean moves, within the standard errors of both", paper[1], _mean(paper[1]), why,
            "differs" if why else None, lambda answers: _errors_apart(answers, paper[1]) < _ERRORS,
        ),
        Claim(f"{row}, one goal", "least / mean / most moves", figures, _extremes("fixed"), _OTHER_DEALS, "differs"),
        Claim(f"{row}, 24 goals", "least / mean / most moves", figures, _extremes("first"), _ONE_GOAL, "differs"),
    )  # fmt: skip


_STEPS = {
    "revisits": "when no position is visited twice",
    "aces": "and also moves of aces alone are the fewest (property 1)",
    "components": "and also moves of all cards within a strong component are the fewest",
    "twice": "and also no card moves twice where once would do",
    "shortcuts": "and also shortcuts among the first 1,000 positions are taken",
}


def _left(goal: str, step: str) -> Ours:
    """Describe the mean moves after a step, and how many solutions are shortest ones by then."""

    def told(answers: Sequence[Answer]) -> str:
        found = answers[0]["sizes"][0]["goals"][goal]
        reached = f"; {found['shortest_after'][step]:,} of {found['solvable']:,} are shortest"
        return f"{found['steps'][step]['mean']:.1f}{reached}"

    return told


def _shortened(columns: int, goal: str) -> tuple[Claim, ...]:
    """Make the claims on how many moves of depth-first solutions each step leaves."""
    row = f"section 6, {columns} columns, {'one goal' if goal == 'fixed' else '24 goals'}"
    return (
        Claim(row, "mean moves of depth-first solutions", "see table 1",
              lambda answers: f"{_moves(answers, goal)['mean']:.1f}", "", "answered"),
        *(
            Claim(row, f"mean moves left, {text}", "fewer, not the fewest", _left(goal, step),
                  holds=partial(_shorter, goal=goal, step=step))
            for step, text in _STEPS.items()
        ),
        Claim(row, "mean moves of shortest solutions", "see table 1",
              lambda answers: f"{answers[0]['sizes'][0]['goals'][goal]['shortest']['mean']:.1f}",
              "" if goal == "fixed" else "shortening keeps the goal that was found, which need not be the nearest",
              "answered"),
    )  # fmt: skip


def _shorter(answers: Sequence[Answer], goal: str, step: str) -> bool:
    """Return True if a step adds no moves, and the moves after it are not yet the fewest."""
    found = answers[0]["sizes"][0]["goals"][goal]
    names = list(_STEPS)
    before = found["steps"][names[names.index(step) - 1]] if step != names[0] else found["moves"]
    return bool(before["mean"] >= found["steps"][step]["mean"] > found["shortest"]["mean"])


def _redundancy(columns: int) -> Work:
    line = ("study", "deals", "superpuzz", "--sizes", f"{columns}", "--deals", "1000", "--strategy", "dfs", "--shorten")
    return Work(
        f"shortened {columns}",
        (line,),
        (*_shortened(columns, "fixed"), *_shortened(columns, "first"), *_claims_of_goals(columns)),
        short=False,
    )


def _claims_of_goals(columns: int) -> tuple[Claim, ...]:
    """Make the claims of section 5 on table 1: depth-first solutions compared with shortest ones."""

    def sides(answers: Sequence[Answer], what: str) -> tuple[float, float]:
        goals = answers[0]["sizes"][0]["goals"]["fixed"]
        return goals["moves"][what], goals["shortest"][what]

    def both(what: str) -> Ours:
        return lambda answers: "{:,.0f} and {:,.0f}".format(*sides(answers, what))

    row = f"section 5, {columns} columns, one goal"
    return (
        Claim(row, "the least moves of both searches differ little", "little", both("least"),
              holds=lambda answers: sides(answers, "least")[0] < 3 * sides(answers, "least")[1]),
        Claim(row, "their means differ greatly", "greatly", both("mean"),
              holds=lambda answers: sides(answers, "mean")[0] > 3 * sides(answers, "mean")[1]),
        Claim(row, "their most moves differ greatly", "greatly", both("most"),
              holds=lambda answers: sides(answers, "most")[0] > 10 * sides(answers, "most")[1]),
        Claim(
            f"section 5, {columns} columns",
            "with 24 goals solutions found depth first are less redundant: mean moves", "less",
            lambda answers: "{:.1f}, and {:.1f} with one goal".format(
                _moves(answers, "first")["mean"], _moves(answers, "fixed")["mean"]
            ),
            holds=lambda answers: _moves(answers, "first")["mean"] < _moves(answers, "fixed")["mean"],
        ),
    )  # fmt: skip


def _reach(number: int) -> Ours:
    def told(answers: Sequence[Answer]) -> str:
        row = answers[0]["rows"][number]
        return f"{row['shortest']} of {row['solutions']}, mean {row['mean']:.2f}, {row['cpu_seconds']:.1f} CPU s"

    return told


def _open_question(columns: int, deals: int) -> Work:
    row = f"section 6, open question, {columns} columns, one goal"
    return Work(
        f"open question {columns}",
        (("python", "-m", "campaigns.papers.reach", f"{columns}", f"{deals}"),),
        (
            *(
                Claim(row, f"solutions that become shortest ones, with shortcuts among {reach:,} positions",
                      "to be examined",
                      _reach(number), _WHOLE if reach == REACHES[-1] else "", "answered")
                for number, reach in enumerate(REACHES)
            ),
            Claim(row, "mean moves of shortest solutions, and the cost of searching for them breadth first",
                  "not told", lambda answers: "{shortest:.2f}, {cpu_seconds:.1f} CPU s".format(**answers[0]), "",
                  "answered"),
        ),
        short=False,
    )  # fmt: skip


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
            "section 4", "redundant in it", "(HA, C6) (DA, C6) (C6, HA) (DA, C6)",
            lambda answers: _cut(answers, "moves"),
        ),
        Claim("section 4", "which becomes", "(DA, C6) (C6, HA)", lambda answers: _cut(answers, "instead")),
        Claim("section 4", "moves left", 22, field("shortened", number=2)),
        Claim(
            "section 6", "that is not the least number of moves, which is", "not told",
            field(_ANSWER, 0, "moves", number=1), "", "answered",
        ),
        Claim(
            "section 6", "moves left of it with shortcuts among the first 1,000 positions", "asked",
            field(_ANSWER, 0, "shortened", number=3), "a shortest solution", "answered",
        ),
    ),
)  # fmt: skip
_COMPONENTS = Work(
    "components",
    (("run", "superpuzz", "--from", _FIGURE_1), ("components", "last", "--strong", "--limit", "1")),
    (
        Claim(
            "section 2", "a strong component is one of six element components, of 2 to 24 positions",
            "at most 24 positions, diameter 4",
            lambda answers: "{size:,} positions, diameter {diameter}".format(**answers[1]["components"][0]),
            "the largest of figure 1's deal: cards 2, 3, ... follow their aces to and fro", "refuted",
        ),
        Claim(
            "section 2",
            "moves in another order lead to the same position, so that the graph is not a tree",
            "more moves than positions",
            lambda answers: (
                f"{answers[1]['condensation_edges']:,} moves between {answers[1]['strong_components']:,} "
                "strong components"
            ),
            holds=lambda answers: answers[1]["condensation_edges"] >= answers[1]["strong_components"],
        ),
    ),
    short=False,
)  # fmt: skip


#: The paper's m, and what it says of the graph, by (i, j).
_ELEMENT_COMPONENTS = {
    (1, 1): (1, "a complete graph"),
    (1, 2): (1, "a complete graph"),
    (1, 3): (1, "a complete graph"),
    (2, 1): (3, "a ring of 6"),
    (2, 2): (3, "figure 2, lost in the scan"),
    (3, 1): (4, "figure 2, lost in the scan"),
}


def _element(aces: int, holes: int) -> Ours:
    def told(answers: Sequence[Answer]) -> str:
        found = answers[0][f"{aces}, {holes}"]
        return "m = {diameter}; {positions} positions; neighbours of each: {moves[1]}".format(**found)

    return told


def _has_diameter(answers: Sequence[Answer], name: str, diameter: int) -> bool:
    return bool(answers[0][name]["diameter"] == diameter)


_ELEMENTS = Work(
    "element components",
    (("python", "-m", "campaigns.papers.elements"),),
    (
        Claim("section 2", "goal positions", 24, field("goals")),
        Claim(
            "section 2", "the element component of goals", "(4, 0)",
            lambda answers: ", ".join("({}, {})".format(*each) for each in answers[0]["components of goals"]),
        ),
        *(
        Claim(
            "section 4", f"element component ({aces}, {holes})", f"m = {most}; {graph}", _element(aces, holes),
            holds=partial(_has_diameter, name=f"{aces}, {holes}", diameter=most),
        )
        for (aces, holes), (most, graph) in _ELEMENT_COMPONENTS.items()
        ),
    ),
)  # fmt: skip


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
        _ELEMENTS,
        *(_redundancy(columns) for columns in (4, 5)),
        _open_question(4, 200),
        _open_question(5, 50),
    ),
)
