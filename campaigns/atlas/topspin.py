"""TopSpin(n, 4), the ring without a fixed place."""

from campaigns.atlas.entries import Part, exploring

_LOOKED = "OEIS, Jaap's Puzzle Page (which has the puzzle of 20 tokens) and the search literature that pages quote"

TOPSPIN = Part(
    "topspin",
    "TopSpin(n, 4)",
    "Any four neighbours on a ring of *n* tokens are reversed; turning the ring is free. Every ring is like every "
    "other, so the depth is the diameter.",
    {"configurations": "rings", "depth": "diameter", "farthest": "so far away", "layers": "layers"},
    tuple(exploring(f"{n}", "topspin", "-o", f"n={n}", short=n == 8) for n in range(5, 14)),
    searched={"depth": _LOOKED, "farthest": _LOOKED, "layers": _LOOKED},
    layers=("10", "11", "12", "13"),
)
