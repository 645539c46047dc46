"""Hiroi: magic stars by three programs."""

from collections.abc import Sequence

from campaigns.atlas.entries import Answer
from campaigns.papers.claims import Claim, Ours, Paper, Work, field

_PENTIUM = "a Pentium of 166 MHz; seconds of another machine do not compare"
_FIGURE_6 = "1/2 4 12 8/10 6/11 5 3 7/9"


def _count(name: str, strategy: str, points: int = 6) -> Ours:
    """A column of the table of all ideas."""

    def found(answers: Sequence[Answer]) -> int:
        rows = answers[0]["rows"]
        return int(next(row[name] for row in rows if (row["points"], row["strategy"]) == (points, strategy)))

    return found


def _placed(*strategies: str) -> Ours:
    return lambda answers: [_count("numbers placed", strategy)(answers) for strategy in strategies]


def _fewer(less: str, more: str) -> Ours:
    return lambda answers: _placed(less)(answers) < _placed(more)(answers)


def _table(answers: Sequence[Answer]) -> str:
    """Numbers placed by all sets of ideas, for the most points."""
    points = max(row["points"] for row in answers[0]["rows"])
    rows = [row for row in answers[0]["rows"] if row["points"] == points]
    listed = ", ".join(f"{row['strategy']} {row['numbers placed']:,} ({row['CPU s']:.2f} s)" for row in rows)
    return f"{points} points: {listed}"


_PROGRAMS = Work(
    "all programs",
    (("study", "magic-star", "--points", "5..6", "--generate"),),
    (
        Claim("first program", "solutions, from all permutations", 960, _count("solutions", "generate")),
        Claim("first program", "solutions with 1 on point 0", 80, _count("solutions", "generate, 1 on point 0")),
        Claim(
            "first program", "so that there are 12 times as many in all", True,
            lambda answers: 12 * _count("solutions", "generate, 1 on point 0")(answers) == 960,
            "for six tips alone: only there can every point be taken to every other",
        ),
        Claim(
            "first program", "permutations of 12 numbers", 479001600,
            lambda answers: _placed("generate")(answers)[0] - sum(_falling(12, size) for size in range(1, 12)),
        ),
        Claim("second program", "solutions", 960, _count("solutions", "prune")),
        Claim(
            "second program", "a line is checked when its fourth number comes: numbers placed, 5.5 s for 35 min",
            "less", _placed("prune", "generate"), holds=_fewer("prune", "generate"),
        ),
        Claim("third program", "solutions", 80, lambda answers: _count("solutions", "symmetry")(answers) // 12),
        Claim(
            "third program", "symmetry prunes, too: numbers placed, with 1.4 s for 5.5 s", "less",
            _placed("symmetry", "prune"), holds=_fewer("symmetry", "prune"),
        ),
        Claim(
            "closing exercise", "an order in which four numbers complete a line is faster", "less",
            _placed("symmetry+order", "symmetry"), holds=_fewer("symmetry+order", "symmetry"),
        ),
        Claim(
            "closing exercise", "a fourth number that follows from three prunes earlier", "less",
            _placed("symmetry+forced", "symmetry"), holds=_fewer("symmetry+forced", "symmetry"),
        ),
        Claim(
            "closing exercise", "how much faster both are, with looking ahead", "asked",
            _placed("symmetry+order+forced", "symmetry+order+forced+ahead", "prune+symmetry"),
            "numbers placed", "answered",
        ),
    ),
    short=False,
)  # fmt: skip


def _falling(numbers: int, size: int) -> int:
    """Ordered choices of some numbers."""
    count = 1
    for left in range(numbers, numbers - size, -1):
        count *= left
    return count


STARS = Paper(
    "stars",
    "Hiroi: Magic stars, Puzzle DE Programming",
    "1 to 12 on the points of a six-pointed star, every line with the sum 26, by three programs and two suggestions.",
    (
        Work(
            "figures",
            (
                ("show", _FIGURE_6, "--puzzle", "magic-star"),
                ("show", "1/2 3 4 5/. ./. . . ./.", "--puzzle", "magic-star"),
                ("run", "magic-star", "-o", "solutions=keep"),
                ("solutions", "last", "--first", "1"),
            ),
            (
                Claim("figure 6", "a solution", True, field("goal")),
                Claim("figure 6", "is there an earlier one", "not told", lambda answers: answers[3]["solutions"][0],
                      "it is the least of all", "answered"),
                Claim("figure 8", "1, 2, 3, 4, 5 cannot be: a line has the sum 14", True,
                      lambda answers: any("= 14, not 26" in fault for fault in answers[1]["faults"])),
                Claim("figure 9", "12 images of each solution, so different ones", 80, field("orbits", number=2)),
                Claim("figure 9", "solutions in all", 960, field("solutions", number=2)),
            ),
        ),
        Work(
            "second and third program",
            (("study", "magic-star", "--points", "5..7"),),
            (
                Claim("second program", "solutions", 960, _count("solutions", "prune")),
                Claim("closing exercise", "each idea alone and together", "asked", _table,
                      "numbers placed and CPU seconds", "answered"),
            ),
        ),
        _PROGRAMS,
        Work(
            "8 points",
            (("study", "magic-star", "--points", "8"),),
            (
                Claim("closing exercise", "each idea alone and together, of a larger star", "not asked", _table,
                      "numbers placed and CPU seconds", "answered"),
            ),
            short=False,
        ),
        Work(
            "seconds",
            (),
            (
                Claim("first program", "seconds, with 1 on point 0", 172, why=_PENTIUM),
                Claim("second program", "seconds", 5.5, why=_PENTIUM),
                Claim("third program", "seconds", 1.4, why=_PENTIUM),
            ),
        ),
    ),
)  # fmt: skip
