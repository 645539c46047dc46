"""Goto, Kawai and Sasaki: Hakoiri-musume."""

from collections.abc import Sequence

from campaigns.atlas.entries import Answer
from campaigns.papers.claims import Claim, Ours, Paper, Work, field

_MACHINE = "of a FACOM 270-20 with a drum, which is not at hand"
_PLACE = "section 3"
_START = "ABBC/ABBC/DEEF/DGHF/I..J"


def _drum(text: str) -> Ours:
    """A text with figures of `campaigns.papers.drum`."""
    return lambda answers: text.format(**answers[1])


def _distances(answers: Sequence[Answer]) -> str:
    found = answers[2]
    return f"{found['diameter']} moves, {found['pair_count']} pairs, such as {' and '.join(found['pairs'][0])}"


def _nearest(answers: Sequence[Answer]) -> str:
    """The orders of moves that register 12,071 configurations, or what comes nearest."""
    orders = {int(count): number for count, number in answers[0]["orders"].items()}
    nearest = min(orders, key=lambda count: abs(count - 12_071))
    listed = f"{min(orders):,} to {max(orders):,}"
    return f"{orders.get(12_071, 0)} of {sum(orders.values()):,}; they register {listed}, the nearest {nearest:,}"


_BOARD = Work(
    "the board",
    (("show", _START), ("show", "0x17038bbb", "--puzzle", "klotski")),
    (
        Claim("section 2", "bits of a configuration", 32, lambda answers: 4 * (len(answers[0]["key"]) - 2)),
        Claim(
            "section 2", "a packed configuration can be unpacked", _START, field("configuration", number=1)
        ),
    ),
)  # fmt: skip
_WHOLE = Work(
    "the whole space",
    (("run", "klotski", "--whole"), ("components", "last"), ("diameter", "last")),
    (
        Claim(_PLACE, "configurations in all", 65880, field("configurations")),
        Claim(_PLACE, "groups that do not lead to each other", 898, field("components")),
        Claim(_PLACE, "configurations of the largest group", 25955, field("components", 0, "size", number=1)),
        Claim(_PLACE, "configurations of the smallest group", 2, field("components", -1, "size", number=1)),
        Claim(
            "section 3, open problem", "which two configurations are farthest apart?", "asked", _distances,
            "the greatest distance of all 898 groups; the command names all pairs", "answered",
        ),
        Claim(
            "section 3, open problem", "that is far harder than the puzzle itself", "seems so",
            lambda answers: f"proved for {answers[1]['components'][0]['size']:,} configurations by `components`",
            "its CPU seconds are below; bounds leave few configurations that must be searched from", "refuted",
            lambda answers: False,
        ),
    ),
)  # fmt: skip
_SHORTEST = Work(
    "the solution",
    (("run", "klotski", "--until-goal"),),
    (
        Claim(_PLACE, "moves of a shortest solution", "a figure, lost in the scan", field("goal_depth"), "",
              "answered"),
    ),
)  # fmt: skip
_OTHER_MOVES = Work(
    "other moves",
    (("run", "klotski", "--until-goal", "-o", "metric=finger"),),
    (
        Claim(
            "section 1", "moves of a shortest solution, if a piece that moves on makes one move", "not asked",
            field("goal_depth"), "the other way to count, which the paper names and does not take", "answered",
        ),
    ),
)  # fmt: skip
_LAYERS = Work(
    "layers",
    (("run", "klotski", "--merge-mirrors"), ("python", "-m", "campaigns.papers.drum")),
    (
        Claim("section 2", "places of a piece of two cells or more, by width x height", "16 or fewer",
              lambda answers: "2 x 2: {}, 2 x 1: {}, 1 x 2: {}".format(*answers[1]["places"]),
              holds=lambda answers: max(answers[1]["places"]) <= 16),
        Claim("section 2", "states of the two blanks", 190, field("blanks", number=1)),
        Claim("section 2", "a configuration may come back: moves that can be taken back", "some",
              _drum("all {moves:,}"), holds=lambda answers: bool(answers[1]["undirected"])),
        Claim(_PLACE, "a move from U(N) leads to U(N-1), U(N) or U(N+1)", True, field("neighbours", number=1)),
        Claim(_PLACE, "the most configurations in U(N-1), U(N) and U(N+1)", 1110, field("largest_window")),
        Claim(_PLACE, "the N of these layers", 57, field("largest_window_at")),
        Claim(
            _PLACE, "configurations registered", 12071,
            _drum("{until_found:,} with the goal's layer, {registered[0]:,} to {registered[1]:,} when it is expanded"),
            "with mirror images merged; while the layer of the goal is expanded, those of the next one are registered "
            "until its turn comes",
            holds=lambda answers: answers[1]["registered"][0] <= 12071 <= answers[1]["registered"][1],
        ),
        Claim(
            _PLACE, "three layers in core in place of all configurations: words of 32 bits", "far fewer",
            _drum("{window:,} in place of {all:,}"), holds=lambda answers: answers[1]["window"] * 8 < answers[1]["all"],
        ),
        Claim(
            _PLACE, "all configurations in core would have taken so many times as much of it", 8,
            _drum("{factor:.1f} times, with the core that makes 8 swaps"),
            "the paper takes the number of swaps for it; the first layers do not fill the core", "differs",
        ),
        Claim(
            _PLACE, "fewer look-ups in the table", "far fewer",
            _drum("{look_ups:,} either way, in tables of at most {window:,} and {all:,} configurations"),
            "each move is looked up once either way; what falls is the size of the table", "differs",
        ),
        Claim(
            _PLACE, "layers are swapped to the drum so many times", 8,
            _drum("8 with a core of {core_of_8:,} configurations"),
            "the paper does not tell how many its core held",
            holds=lambda answers: answers[1]["window"] < answers[1]["core_of_8"] < 12071,
        ),
        *(
            Claim(
                _PLACE, f"the same with a core of {core:,} configurations", "not told",
                field("swapped", f"{core}", number=1), "", "answered",
            )
            for core in (1110, 1500, 2048)
        ),
        Claim(
            _PLACE, "a tree search for an hour: some thousand configurations, no solution seen", "no solution seen",
            _drum("a solution of {tree[moves]} moves, after {tree[met]:,} configurations"),
            "depth first, remembering all. In our order of moves a first solution comes early; it is a long one",
            "differs",
        ),
        Claim(
            _PLACE, "layers find a shortest solution more efficiently than a tree search: look-ups", "fewer",
            _drum("{look_ups:,}; {limited[look_ups]:,} of a tree search with a limit of {limited[moves]} moves"),
            holds=lambda answers: answers[1]["limited"]["look_ups"] > 10 * answers[1]["look_ups"],
        ),
    ),
)  # fmt: skip
_ORDERS = Work(
    "orders",
    (("python", "-m", "campaigns.papers.drum", "--orders"),),
    (
        Claim(
            _PLACE, "which order of moves registers 12,071 configurations?", "not told", _nearest,
            "all orders of the four kinds of pieces and of the directions, layers expanded forwards and backwards; "
            "pieces of a kind from the upper left", "answered",
        ),
    ),
    short=False,
)  # fmt: skip
_UNKNOWN = Work(
    "machines",
    (),
    (
        Claim(_PLACE, "time to the solution", "4 hours", why=_MACHINE),
        Claim(_PLACE, "time to print the way", "6 hours", why=_MACHINE),
        Claim(_PLACE, "time to count all configurations", "57 minutes", why=_MACHINE),
        Claim(
            "section 4", "L6 suits games and puzzles", "yes",
            why="a judgement of a language whose compiler is not at hand",
        ),
    ),
)  # fmt: skip
MUSUME = Paper(
    "musume",
    "Goto, Kawai and Sasaki: Hakoiri-musume and L6",
    "The search by layers, and the count of all configurations. One move is one step of one piece.",
    (_BOARD, _SHORTEST, _OTHER_MOVES, _LAYERS, _ORDERS, _WHOLE, _UNKNOWN),
)
