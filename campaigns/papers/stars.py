"""Hiroi: magic stars by three programs."""

import math
from collections.abc import Sequence
from typing import Any

from campaigns.atlas.entries import Answer
from campaigns.papers.claims import Claim, Ours, Paper, Work, field
from hakoiri.puzzles.stars.ideas import COMBINED

_EXERCISE = "closing exercise"
_PENTIUM = "a Pentium of 166 MHz; seconds of another machine do not compare"
_COUNTED = ("numbers placed", "CPU s")
_FIGURE_6 = "1/2 4 12 8/10 6/11 5 3 7/9"


def _count(name: str, strategy: str, points: int = 6) -> Ours:
    """A column of the table of all ideas."""

    def found(answers: Sequence[Answer]) -> Any:
        rows = answers[0]["rows"]
        return next(row[name] for row in rows if (row["points"], row["strategy"]) == (points, strategy))

    return found


def _placed(*strategies: str) -> Ours:
    """Numbers placed by some strategies, the last of them for comparison."""
    return lambda answers: [_count("numbers placed", strategy)(answers) for strategy in strategies]


def _instead(less: str, more: str) -> Ours:
    return lambda answers: "{:,} in place of {:,}".format(*_placed(less, more)(answers))


def _fewer(less: str, more: str) -> Ours:
    return lambda answers: _placed(less)(answers) < _placed(more)(answers)


_POINTS = (5, 6, 7, 8)


def _by_points(strategy: str) -> Ours:
    def found(answers: Sequence[Answer]) -> str:
        placed, seconds = ([_count(name, strategy, points)(answers) for points in _POINTS] for name in _COUNTED)
        return f"{' / '.join(f'{count:,}' for count in placed)}; {seconds[-1]:.2f} CPU s with 8 points"

    return found


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
            lambda answers: _placed("generate")(answers)[0] - sum(math.perm(12, size) for size in range(1, 12)),
        ),
        Claim(
            "second program", "checking each line at its fourth number prunes: numbers placed",
            "less, 5.5 s for 35 min",
            _instead("prune", "generate"), holds=_fewer("prune", "generate"),
        ),
    ),
    short=False,
)  # fmt: skip
_IDEAS_ALL = Work(
    "ideas",
    (("study", "magic-star", "--points", "5..8"),),
    (
        Claim("second program", "solutions", 960, _count("solutions", "prune")),
        Claim("third program", "solutions, one of the 12 images of each", 80,
              lambda answers: _count("solutions", "symmetry")(answers) // 12),
        Claim(
            "third program", "symmetry prunes, too: numbers placed", "less, 1.4 s for 5.5 s",
            _instead("symmetry", "prune"), holds=_fewer("symmetry", "prune"),
        ),
        Claim(
            _EXERCISE, "an order in which four numbers complete a line may be faster: numbers placed", "less",
            _instead("symmetry+order", "symmetry"), holds=_fewer("symmetry+order", "symmetry"),
        ),
        Claim(
            _EXERCISE, "a fourth number that follows from three prunes earlier: numbers placed", "less",
            _instead("symmetry+forced", "symmetry"), holds=_fewer("symmetry+forced", "symmetry"),
        ),
        *(
            Claim(_EXERCISE, f"numbers placed with 5 / 6 / 7 / 8 points by {strategy}", "asked", _by_points(strategy),
                  note, "answered")
            for strategy, note in (
                ("prune", "the second program"),
                *((each, "the third program" if each == "symmetry" else "") for each in COMBINED),
                ("prune+symmetry", "our usual strategy: all ideas, in the best order for each place of the 1"),
            )
        ),
    ),
)  # fmt: skip


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
                Claim("figure 6", "the first solution in the order of the first program", "not told",
                      lambda answers: answers[3]["solutions"][0], "", "answered"),
                Claim("figure 8", "1, 2, 3, 4, 5 cannot be: a line has the sum 14", True,
                      lambda answers: any("= 14, not 26" in fault for fault in answers[1]["faults"])),
                Claim("figure 9", "each solution has 12 images, so that so many differ", 80, field("orbits", number=2)),
                Claim("figure 9", "solutions in all", 960, field("solutions", number=2)),
            ),
        ),
        _PROGRAMS,
        _IDEAS_ALL,
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
