"""Stacks of pancakes, plain and burnt: how many there are at each distance from the one in order."""

from campaigns.atlas.entries import Entry, Known, Part, exploring, in_order

_LARGE = 13
#: Bytes on the disk at which its process is killed: a third and two thirds of what the run takes in the end.
_KILLS = (2_000_000_000, 4_000_000_000)


def _entry(puzzle: str, n: int, *short: int) -> Entry:
    kills = _KILLS if (puzzle, n) == ("pancakes", _LARGE) else ()
    return exploring(f"{n}", puzzle, "-o", f"n={n}", short=n in short, kills=kills)


_COLUMNS = {"configurations": "stacks", "depth": "most flips", "farthest": "stacks that need them", "layers": "layers"}

PANCAKES = Part(
    "pancakes",
    "Pancakes",
    "Stacks of *n* pancakes, sorted by prefix reversals. Every stack is like every other (relabelled), so the depth"
    " is the diameter, and the layers are the distribution of distances.",
    _COLUMNS,
    tuple(_entry("pancakes", n, 5, 9) for n in range(2, _LARGE + 1)),
    (
        Known("depth", "OEIS A058986", in_order(2, 1, 3, 4, 5, 7, 8, 9, 10, 11, 13, 14, 15)),
        Known("farthest", "OEIS A067607, as MathWorld quotes it", in_order(2, 1, 1, 3, 20, 2, 35, 455)),
        Known("layers", "OEIS A092113", {
            "2": [1, 1], "3": [1, 2, 2, 1], "4": [1, 3, 6, 11, 3], "5": [1, 4, 12, 35, 48, 20],
            "6": [1, 5, 20, 79, 199, 281, 133, 2], "7": [1, 6, 30, 149, 543, 1357, 1903, 1016, 35],
            "8": [1, 7, 42, 251, 1191, 4281, 10561, 15011, 8520, 455],
            "9": [1, 8, 56, 391, 2278, 10666, 38015, 93585, 132697, 79379, 5804],
        }),
    ),
    layers=("10", "11", "12", "13"),
)  # fmt: skip
BURNT = Part(
    "burnt-pancakes",
    "Burnt pancakes",
    "The same where each pancake has a burnt side, which is to lie below.",
    _COLUMNS,
    tuple(_entry("burnt-pancakes", n, 5) for n in range(1, 11)),
    (Known("depth", "OEIS A078941", in_order(1, 1, 4, 6, 8, 10, 12, 14, 15, 17, 18)),),
    dict.fromkeys(("farthest", "layers"), "OEIS and pages on burnt pancakes"),
    layers=("7", "8", "9", "10"),
)
