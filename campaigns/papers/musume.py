"""Goto, Kawai and Sasaki: Hakoiri-musume."""

from campaigns.papers.claims import Claim, Paper, Work, field

_FORTRAN = "of a FACOM 270-20 with a drum; that machine cannot be asked"
MUSUME = Paper(
    "musume",
    "Goto, Kawai and Sasaki: Hakoiri-musume and L6",
    "The search by layers, and the count of all configurations. One move is one step of one piece.",
    (
        Work(
            "the whole space",
            (("run", "klotski", "--whole"), ("components", "last"), ("diameter", "last")),
            (
                Claim("section 3", "configurations in all", 65880, field("configurations")),
                Claim("section 3", "groups that do not lead to each other", 898, field("components")),
                Claim("section 3", "configurations of the largest group", 25955, field("components", 0, "size", number=1)),
                Claim("section 3", "configurations of the smallest group", 2, field("components", -1, "size", number=1)),
                Claim(
                    "section 3, open problem",
                    "the pair of configurations that are farthest apart: how far, and how many pairs",
                    "asked, thought far harder than the puzzle",
                    lambda answers: f"{answers[2]['diameter']} moves, {answers[2]['pair_count']} pairs",
                    "the problem is solved: every pair of the largest group is bounded",
                    "differs",
                ),
            ),
        ),
        Work(
            "by layers",
            (("run", "klotski", "--merge-mirrors"), ("path", "last")),
            (
                Claim("section 3", "the most configurations in three layers U(N-1), U(N), U(N+1)", 1110, field("largest_window")),
                Claim("section 3", "the N of these layers", 57, field("largest_window_at")),
            ),
        ),
        Work(
            "packing",
            (("show", "ABBC/ABBC/DEEF/DGHF/I..J"),),
            (
                Claim(
                    "section 2",
                    "bits of a configuration",
                    32,
                    lambda answers: 4 * (len(answers[0]["key"]) - 2),
                ),
            ),
        ),
        Work(
            "machines",
            (),
            (
                Claim("section 3", "time to the solution", "4 hours", why=_FORTRAN),
                Claim("section 3", "time to print the way", "6 hours", why=_FORTRAN),
                Claim("section 3", "time to count all configurations", "57 minutes", why=_FORTRAN),
            ),
        ),
    ),
)  # fmt: skip
