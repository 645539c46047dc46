"""Goto, Kawai and Sasaki: Hakoiri-musume."""

from campaigns.papers.claims import Claim, Paper, Work, field

_MACHINE = "a FACOM 270-20 with a drum; that machine cannot be asked"
_PLACE = "section 3"
_WHOLE = Work(
    "the whole space",
    (("run", "klotski", "--whole"), ("components", "last"), ("diameter", "last")),
    (
        Claim(_PLACE, "configurations in all", 65880, field("configurations")),
        Claim(_PLACE, "groups that do not lead to each other", 898, field("components")),
        Claim(_PLACE, "configurations of the largest group", 25955, field("components", 0, "size", number=1)),
        Claim(_PLACE, "configurations of the smallest group", 2, field("components", -1, "size", number=1)),
        Claim(
            "section 3, open problem",
            "the pair of configurations that are farthest apart: how far, and how many pairs",
            "asked",
            lambda answers: f"{answers[2]['diameter']} moves, {answers[2]['pair_count']} pairs",
            "the paper thinks it far harder than the puzzle; all distances of all groups are bounded here",
            "answered",
        ),
    ),
)
_PACKING = Work(
    "packing",
    (("show", "ABBC/ABBC/DEEF/DGHF/I..J"),),
    (Claim("section 2", "bits of a configuration", 32, lambda answers: 4 * (len(answers[0]["key"]) - 2)),),
)
_MACHINES = Work(
    "machines",
    (),
    (
        Claim(_PLACE, "time to the solution", "4 hours", why=_MACHINE),
        Claim(_PLACE, "time to print the way", "6 hours", why=_MACHINE),
        Claim(_PLACE, "time to count all configurations", "57 minutes", why=_MACHINE),
    ),
)
MUSUME = Paper(
    "musume",
    "Goto, Kawai and Sasaki: Hakoiri-musume and L6",
    "The search by layers, and the count of all configurations. One move is one step of one piece.",
    (_WHOLE, _PACKING, _MACHINES),
)
