"""Ishihata: Gap."""

from collections.abc import Sequence

from campaigns.atlas.entries import TO_FILE, Answer
from campaigns.papers.claims import Claim, Ours, Paper, Work, field

_FIGURE_1 = "42 21 13 22 32 26 23/16 43 47 14 24 34 36/46 17 27 31 11 37 12/35 41 44 25 15 33 45"
_FIGURE_2 = "11 42 .. 13 22 32 26 23/21 16 43 47 14 24 34 36/31 46 17 27 .. .. 37 12/41 35 .. 44 25 15 33 45"
#: Aces stand for gaps: with 12 to 14 a gap apart, 15 to 17 behind other suits, both orders of the text are there.
_FIGURE_6 = "11 12 21 13 31 14 41/22 23 24 25 26 27 15/32 33 34 35 36 37 16/42 43 44 45 46 47 17"
#: The one order of a row that has 17 states by itself, in all four suits.
_FIGURE_7 = "/".join(" ".join(f"{suit}{rank}" for rank in "3724651") for suit in "1234")
_CONTEST = "26 31 13 44 21 24 42/17 45 23 25 41 36 11/46 34 14 12 37 32 47/16 43 27 35 22 33 15"
_MACHINE = "the judges' deals and their machine are not known"
_SOLVE = ("solve", "gap", "--show", "--strategy")


#: The most positions that a hunt has found (docs/hardest-gap-7.json has its certificate).
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


def _least(answers: Sequence[Answer]) -> list[int | None]:
    return [deal["moves"] for deal in answers[1]["deals"]]


def _tree(number: int) -> Ours:
    """The nodes of a tree, or Knuth's estimate of them."""

    def found(answers: Sequence[Answer]) -> str:
        deal = answers[number]["deals"][0]
        return f"{deal['positions']:,}" if deal["exhausted"] else f"{deal['tree']:.1e} ± {deal['tree_error']:.0e}"

    return found


def _bytes(answers: Sequence[Answer]) -> str:
    run = answers[0]
    return f"{run['stored_bytes'] / run['configurations']:.1f} bytes on disk; 16 a key, 24 + 32 in memory to solve"


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
                "figure 3",
                "36 is a move of figure 2",
                "one of at most 4",
                lambda answers: " ".join(answers[0]["moves"]),
                holds=lambda answers: "36" in answers[0]["moves"],
            ),
            Claim(
                "figure 2",
                "the two gaps of row 3 take no card: moves in all",
                2,
                lambda answers: len(answers[0]["moves"]),
            ),
            Claim(
                "figure 5",
                "states within two moves of figure 2",
                "a figure, lost in the scan",
                lambda answers: f"{answers[1]['configurations']}, by layers {answers[1]['layers']}",
                "hakoiri export RUN --to FILE.dot draws it",
                "answered",
            ),
            Claim(
                "figure 1",
                "the fewest moves",
                "not told",
                _deal("moves", 2),
                "no solution: the answer is -1",
                "answered",
            ),
            Claim(
                "figure 1",
                "both programs generate as many positions",
                True,
                lambda answers: _deal("positions", 2)(answers) == _deal("positions", 3)(answers),
            ),
            Claim(
                "depth first",
                "without memory more, as ways meet: positions of figure 1 generated",
                "more than with it",
                lambda answers: f"{answers[4]['deals'][0]['positions']} for {answers[3]['deals'][0]['positions']}",
                "the paper has no figure",
                "answered",
            ),
        ),
    ),
    Work(
        "figure 6",
        ((*_SOLVE, "bfs", _FIGURE_6), (*_SOLVE, "longest", _FIGURE_6)),
        (
            Claim("figure 6", "12, 13, 14, ... in this order: moves", 6, _deal("moves")),
            Claim("figure 6", "which are", "12 13 14 15 16 17", _words(0)),
            Claim("figure 6", "a solution of more moves", 15, _deal("moves", 1)),
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
                "a search without memory does not end in practical time: positions of a contest's deal "
                "that has 6,785 different ones",
                "too many",
                _tree(1),
                "counted up to 100,000,000, then estimated (Knuth)",
                "answered",
            ),
            Claim(
                "depth first",
                "the same of figure 7",
                "too many",
                _tree(2),
                "counted up to 1,000,000, then estimated (Knuth)",
                "answered",
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
                "evaluation",
                "no deal has many more",
                83521,
                _deal("positions", 1),
                "a hunt found this deal; its certificate is docs/hardest-gap-7.json",
                "refuted",
            ),
            Claim(
                "common tools",
                "bytes of a state: 32 cells and a link (or an int for each four cells, or the gaps "
                "beside, which brought nothing)",
                "36",
                _bytes,
                "a key of 96 bits in place of cells; no link, as layers are sorted",
                "differs",
            ),
        ),
    ),
)
_GRAPH = Work(
    "the graph",
    (("run", "gap", "--from", _CONTEST), ("components", "last", "--strong", "--limit", "1"), ("path", "last")),
    (
        Claim(
            "analysis",
            "no position comes back: positions in strong components of more than one",
            0,
            lambda answers: answers[1]["configurations"] - answers[1]["single"],
        ),
        Claim(
            "analysis",
            "the graph is no tree: positions of a contest's deal",
            "fewer than the tree's nodes",
            lambda answers: f"{answers[0]['configurations']:,} positions, {answers[1]['condensation_edges']:,} moves",
            holds=lambda answers: answers[1]["condensation_edges"] >= answers[0]["configurations"],
        ),
    ),
)
_BOTH = Work(
    "both programs",
    (
        ("deal", "gap", "--count", "300", TO_FILE, "deals.txt"),
        ("solve", "gap", "deals.txt", "--strategy", "bfs"),
        ("solve", "gap", "deals.txt", "--strategy", "dfs"),
    ),
    (
        Claim(
            "comparison",
            "breadth first generates slightly fewer positions, over 300 deals",
            "slightly",
            _more,
            "the paper has no figure",
            "answered",
        ),
        Claim(
            "both programs",
            "they find the same fewest moves",
            True,
            lambda answers: _least(answers) == _least([answers[0], answers[2]]),
        ),
        Claim(
            "question",
            "a deal has a solution",
            "some",
            lambda answers: f"{sum(moves is not None for moves in _least(answers))} of 300",
            "the paper has no figure",
            "answered",
        ),
    ),
)

GAP = Paper(
    "gap",
    "Ishihata: Gap, problem F of the Aizu contest of 2003",
    "Cards of four suits and seven ranks into gaps: the fewest moves, or -1. Of figures 3 to 7 the scan has only "
    "the words; 6 and 7 are made again from them.",
    (
        *_FIGURES,
        _GRAPH,
        _BOTH,
        Work(
            "history",
            (),
            (
                Claim("comparison", "seconds for the judges' deals, both programs", 8, why=_MACHINE),
                Claim("evaluation", "teams that tried, of 34, and that solved it", "4, 3", why="a fact of the contest"),
            ),
        ),
    ),
)
