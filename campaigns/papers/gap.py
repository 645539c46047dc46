"""Ishihata: Gap."""

from collections.abc import Sequence

from campaigns.atlas.entries import TO_FILE, Answer
from campaigns.papers.claims import Claim, Ours, Paper, Work, field
from hakoiri.puzzles.solitaires.gap import Gap
from hakoiri.worker.solitaires.solving import bytes_of_search

_FIGURE_1 = "42 21 13 22 32 26 23/16 43 47 14 24 34 36/46 17 27 31 11 37 12/35 41 44 25 15 33 45"
_FIGURE_2 = "11 42 .. 13 22 32 26 23/21 16 43 47 14 24 34 36/31 46 17 27 .. .. 37 12/41 35 .. 44 25 15 33 45"
#: Aces stand for gaps: with 12 to 14 a gap apart, 15 to 17 behind other suits, both orders of the text are there.
_FIGURE_6 = "11 12 21 13 31 14 41/22 23 24 25 26 27 15/32 33 34 35 36 37 16/42 43 44 45 46 47 17"
#: The one order of a row that has 17 states by itself, in all four suits.
_FIGURE_7 = "/".join(" ".join(f"{suit}{rank}" for rank in "3724651") for suit in "1234")
_CONTEST = "26 31 13 44 21 24 42/17 45 23 25 41 36 11/46 34 14 12 37 32 47/16 43 27 35 22 33 15"
_UNLIKE = "22 27 14 41 45 17 11/24 23 33 25 15 16 37/26 32 12 34 36 35 31/21 13 44 42 46 47 43"
_MACHINE = "the judges' deals and their machine are not known"
_SOLVE = ("solve", "gap", "--show", "--strategy")
#: Multipliers of the hash function: the paper's, and those that it gave up.
_RISING, _PLAIN = "1, 2, 4, 7, 11, ...", "1, 2, 3, 4, 5, ..."
_NO_FIGURE = "the paper gives no figure"
#: The most positions that a hunt has found (docs/reports/hardest-gap-7.json has its certificate).
_HARDEST = "13 11 12 34 25 16 47/43 36 33 24 15 46 21/27 32 23 14 45 31 37/44 41 22 42 35 26 17"


def _deal(name: str, number: int = 0) -> Ours:
    """A figure of the only deal of an answer."""
    return field("deals", 0, name, number=number)


def _words(number: int) -> Ours:
    return lambda answers: " ".join(answers[number]["deals"][0]["solution"])


def _more(answers: Sequence[Answer]) -> str:
    """The positions that both programs generate, over all deals."""
    first, second = (sum(deal["positions"] for deal in answer["deals"]) for answer in answers[1:3])
    return f"breadth first {first:,}, depth first {second:,}: {100 * (second / first - 1):.1f} % more"


def _unlike(answers: Sequence[Answer]) -> str:
    first, second = (_deal("positions", number)(answers) for number in (0, 1))
    return f"{first:,} and {second:,}: {second / first:.1f} times"


def _least(answers: Sequence[Answer]) -> list[int | None]:
    return [deal["moves"] for deal in answers[1]["deals"]]


def _tree(number: int) -> Ours:
    """The nodes of a tree, or Knuth's estimate of them."""

    def found(answers: Sequence[Answer]) -> str:
        deal = answers[number]["deals"][0]
        if deal["exhausted"]:
            return f"{deal['positions']:,}"
        power = len(str(int(deal["tree"]))) - 1
        return f"({deal['tree'] / 10**power:.1f} ± {deal['tree_error'] / 10**power:.1f}) x 10^{power}"

    return found


def _bytes(answers: Sequence[Answer]) -> str:
    """Bytes of a position: on disk, as a key, and at most while a deal is solved."""
    gap, many = Gap(), 1 << 20
    disk = answers[0]["stored_bytes"] / answers[0]["configurations"]
    return (
        f"{disk:.1f} on disk, {gap.layout.bytes} as a key, at most {bytes_of_search(gap, many) / many:.0f} in `solve`"
    )


_FIGURES = (
    Work(
        "figures 1 to 5",
        (
            ("show", _FIGURE_1, "--puzzle", "gap"),
            ("run", "gap", "--layers", "2", "--from", _FIGURE_1),
            (*_SOLVE, "bfs", _FIGURE_1),
            (*_SOLVE, "dfs", _FIGURE_1),
            (*_SOLVE, "tree", _FIGURE_1),
        ),
        (
            Claim("figure 2", "figure 1 with its aces at the left end", _FIGURE_2, field("configuration")),
            Claim(
                "figure 3", "36 is a move of figure 2", "one of at most 4",
                lambda answers: " and ".join(answers[0]["moves"]), holds=lambda answers: "36" in answers[0]["moves"],
            ),
            Claim(
                "figure 2", "the two gaps of row 3 take no card: moves in all", 2,
                lambda answers: len(answers[0]["moves"]),
            ),
            Claim(
                "figure 5", "states within two moves of figure 2", "a figure, lost in the scan",
                lambda answers: "1, {} and {} after 0, 1 and 2 moves".format(*answers[1]["layers"][1:]),
                "`hakoiri export last --to states.dot` draws them", "answered",
            ),
            Claim(
                "figure 1", "the fewest moves, or -1", "not told", lambda answers: _deal("moves", 2)(answers) or -1,
                "this deal has no solution", "answered",
            ),
            Claim(
                "figure 1", "both programs generate as many positions", True,
                lambda answers: _deal("positions", 2)(answers) == _deal("positions", 3)(answers),
            ),
            Claim(
                "depth first", "without memory it generates positions again: those of figure 1", "more than with it",
                lambda answers: f"{_deal('positions', 4)(answers)}, and {_deal('positions', 3)(answers)} with it",
                holds=lambda answers: _deal("positions", 4)(answers) > _deal("positions", 3)(answers),
            ),
        ),
    ),
    Work(
        "figure 6",
        ((*_SOLVE, "bfs", _FIGURE_6), (*_SOLVE, "longest", _FIGURE_6)),
        (
            Claim("figure 6", "moves of the order 12, 13, 14, ...", 6, _deal("moves")),
            Claim("figure 6", "these moves", "12 13 14 15 16 17", _words(0)),
            Claim("figure 6", "moves of the solution that begins with 15", 15, _deal("moves", 1), "the longest of all"),
        ),
    ),
    Work(
        "without memory",
        (
            (*_SOLVE, "dfs", _CONTEST),
            (*_SOLVE, "tree", "--cap", "100000000", _CONTEST),
            (*_SOLVE, "tree", "--cap", "1000000", _FIGURE_7),
        ),
        (
            Claim(
                "depth first",
                "without memory it does not end in practical time: positions of a deal that has 6,785 different ones",
                "too many", _tree(1), "counted to 100,000,000, then estimated by Knuth's method", "answered",
            ),
            Claim(
                "depth first", "the same for the deal of figure 7, which has 83,521", "too many", _tree(2),
                "counted to 1,000,000, then estimated by Knuth's method", "answered",
            ),
        ),
        short=False,
    ),
    Work(
        "figure 7",
        (("run", "gap", "--from", _FIGURE_7), (*_SOLVE, "dfs", _HARDEST)),
        (
            Claim("figure 7", "positions of the deal with most positions", 83521, field("configurations")),
            Claim(
                "evaluation", "no deal has many more positions", 83521, _deal("positions", 1),
                "`hakoiri hunt` found the deal; docs/reports/hardest-gap-7.json is its certificate", "refuted",
            ),
            Claim(
                "common tools", "bytes of a state: 32 cells and a link", 36, _bytes,
                "the key has 96 bits; layers on disk are sorted and coded, without links", "differs",
            ),
        ),
    ),
)  # fmt: skip
_GRAPH = Work(
    "the graph",
    (("run", "gap", "--from", _CONTEST), ("components", "last", "--strong", "--limit", "1"), ("path", "last")),
    (
        Claim(
            "analysis", "no position comes back: positions on a cycle", 0,
            lambda answers: answers[1]["configurations"] - answers[1]["single"],
        ),
        Claim(
            "analysis", "the graph is not a tree: ways meet", "more moves than positions",
            lambda answers: f"{answers[1]['condensation_edges']:,} moves, {answers[0]['configurations']:,} positions",
            holds=lambda answers: answers[1]["condensation_edges"] >= answers[0]["configurations"],
        ),
    ),
)  # fmt: skip
_BOTH = Work(
    "both programs",
    (
        ("deal", "gap", "--count", "300", TO_FILE, "deals.txt"),
        ("solve", "gap", "deals.txt", "--strategy", "bfs"),
        ("solve", "gap", "deals.txt", "--strategy", "dfs"),
    ),
    (
        Claim(
            "comparison", "breadth first generates slightly fewer positions: 300 random deals", "slightly", _more,
            _NO_FIGURE, "answered",
        ),
        Claim(
            "both programs", "they find the same numbers of moves", True,
            lambda answers: _least(answers) == _least([answers[0], answers[2]]),
        ),
        Claim(
            "question", "deals that have a solution", "some",
            lambda answers: f"{sum(moves is not None for moves in _least(answers))} of 300", _NO_FIGURE, "answered",
        ),
    ),
)  # fmt: skip

_DIFFERENT = Work(
    "unlike numbers",
    ((*_SOLVE, "bfs", _UNLIKE), (*_SOLVE, "dfs", _UNLIKE)),
    (
        Claim(
            "comparison", "there seems to be no deal for which the two numbers differ greatly", "none", _unlike,
            "found by exchanging cards of other deals; breadth first stops at a near solution", "refuted",
            lambda answers: 2 * _deal("positions")(answers) > _deal("positions", 1)(answers),
        ),
    ),
)  # fmt: skip
_PRINTED = Work(
    "programs as printed",
    (("python", "-m", "campaigns.papers.ishihata", _CONTEST, _FIGURE_7),),
    (
        Claim("rules", "moves of a state at most", 4, field("most_moves")),
        Claim("analysis", "each move adds points to a state, so that none comes back", True, field("points_rise")),
        Claim("common tools", "293,129, the size of the hash table, is a prime", True, field("prime")),
        Claim(
            "common tools",
            "multipliers 1, 2, 4, 7, 11, ... are clearly better than 1, 2, 3, 4, 5, ...: states compared in a look-up",
            "clearly", lambda answers: " and ".join(f"{mean:.1f}" for mean in answers[0]["compared"].values()),
            "means over the 83,521 states of figure 7",
            holds=lambda answers: 2 * answers[0]["compared"][_RISING] < answers[0]["compared"][_PLAIN],
        ),
        Claim(
            "depth first",
            "the program would be right in a graph with loops, too: moves from S to G",
            "right",
            lambda answers: "{program} by the program, {fewest} in truth".format(**answers[0]["loop"]),
            "in `S → C, C → D, D → A, A → B, B → A, S → B, A → G` the program comes to B while it is still at A, and "
            "notes for good that B leads nowhere",
            "refuted",
            lambda answers: answers[0]["loop"]["program"] == answers[0]["loop"]["fewest"],
        ),
    ),
)  # fmt: skip
_FULL = Work(
    "full decks",
    (("study", "deals", "gap", "--sizes", "13", "--deals", "100", "--cap", "30M"),),
    (
        Claim(
            "evaluation",
            "the original Gap, of 52 cards, would take too much: positions of a random deal",
            "too many",
            lambda answers: "median {median:,.0f}, mean {mean:,.0f}, most {most:,} of 100 deals".format(
                **answers[0]["sizes"][0]["effort"]["positions"]
            ),
            "all are solved or refuted within 30 million positions",
            "answered",
        ),
    ),
    short=False,
)  # fmt: skip

GAP = Paper(
    "gap",
    "Ishihata: Gap, problem F of the Aizu contest of 2003",
    "Cards of four suits and seven ranks go into gaps: the fewest moves, or -1. The scan has lost figures 3 to 7; 6 "
    "and 7 are made again from what the text says of them.",
    (
        *_FIGURES,
        _GRAPH,
        _BOTH,
        _DIFFERENT,
        _PRINTED,
        _FULL,
        Work(
            "history",
            (),
            (
                Claim("comparison", "seconds for the judges' deals, both programs", 8, why=_MACHINE),
                Claim(
                    "common tools", "gaps kept beside the cells: slower, once the compiler optimises", "slower",
                    why="a program in C and its compiler of 2004; neither is printed",
                ),
                Claim("comparison", "depth first is slightly easier to program", "yes", why="a judgement"),
                Claim("evaluation", "teams that tried, of 34, and that solved it", "4, 3", why="a fact of the contest"),
            ),
        ),
    ),
)  # fmt: skip
