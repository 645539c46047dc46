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
_LAYERS = Work(
    "layers",
    (("run", "klotski", "--merge-mirrors"), ("python", "-m", "campaigns.papers.drum")),
    (
        Claim(_PLACE, "the most configurations in U(N-1), U(N) and U(N+1)", 1110, field("largest_window")),
        Claim(_PLACE, "the N of these layers", 57, field("largest_window_at")),
        Claim(
            _PLACE,
            "configurations registered",
            12071,
            lambda answers: "{} when the goal is found, {} to {} when it is expanded".format(
                *(f"{answers[1][name]:,}" for name in ("until_found",)), *map("{:,}".format, answers[1]["registered"])
            ),
            "with mirror images merged; which of these depends on the order of moves, which the paper does not tell",
            holds=lambda answers: answers[1]["registered"][0] <= 12071 <= answers[1]["registered"][1],
        ),
        Claim(
            _PLACE,
            "three layers in core in place of all configurations: bytes, at four each",
            "far fewer",
            lambda answers: "{three layers:,} in place of {one table:,}".format(**answers[1]["bytes"]),
            holds=lambda answers: answers[1]["bytes"]["three layers"] * 8 < answers[1]["bytes"]["one table"],
        ),
        Claim(
            _PLACE,
            "look-ups fall",
            "greatly",
            lambda answers: f"{answers[1]['look_ups']:,}, among 1,110 configurations at most and not 12,092",
            "as many, each in a table of a tenth of the size",
            "differs",
        ),
        Claim(
            _PLACE,
            "layers are swapped to the drum 8 times",
            8,
            lambda answers: (
                f"8 with a core of {answers[1]['core_of_8']:,} configurations; by core {answers[1]['swapped']}"
            ),
            "how many configurations its core held is not told",
            holds=lambda answers: 1110 < answers[1]["core_of_8"] < 12071,
        ),
        Claim(
            _PLACE,
            "a tree search does not do: an hour, some thousand configurations, no solution seen",
            "no solution seen",
            lambda answers: "{met:,} configurations, a solution of {moves} moves".format(**answers[1]["tree"]),
            "depth first, remembering all; a first solution comes early in our order of moves, and it is a long one",
            "differs",
        ),
        Claim(
            _PLACE,
            "for a shortest solution layers are better than a tree search with a limit of moves",
            "much better",
            lambda answers: (
                "{met:,} configurations, {moves} moves, {look_ups:,} look-ups".format(**answers[1]["limited"])
                + f" in place of {answers[1]['look_ups']:,}"
            ),
            holds=lambda answers: answers[1]["limited"]["look_ups"] > 10 * answers[1]["look_ups"],
        ),
    ),
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
    (_WHOLE, _LAYERS, _PACKING, _MACHINES),
)
