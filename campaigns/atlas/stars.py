"""Magic stars: how many ways there are to number a star of n tips, up to its rotations and reflections."""

from collections.abc import Sequence

from campaigns.atlas.entries import Answer, Entry, Known, Part, Row, in_order

_MOST = 14


def _star(points: int) -> Entry:
    def rows(answers: Sequence[Answer]) -> list[Row]:
        names = ("orbits", "solutions", "nodes", "digest")
        return [{"row": f"{points}"} | {name: answers[0][name] for name in names}]

    return Entry(f"{points}", (("run", "magic-star", "-o", f"points={points}"),), rows, points == 8)


STARS = Part(
    "stars",
    "Magic stars",
    "1 to 2*n* on the points of the star {*n*/2}, every line with the same sum. *Orbits*: up to the rotations and "
    "reflections of the figure. Howroyd counted by other programs, so his numbers are a second method for 12 and 13"
    " points.",
    {"orbits": "orbits", "solutions": "solutions", "nodes": "numbers placed"},
    tuple(_star(points) for points in range(5, _MOST + 1)),
    (
        Known("orbits", "H. Heinz, magic-squares.net", in_order(6, 80, 72, 112, 3014, 10882, 53528)),
        Known("orbits", "A. Howroyd, 2005 (recmath.com)", in_order(12, 396930, 2434692)),
    ),
    {"orbits": "the pages of H. Heinz (who guesses at more than 7,000,000 for 14 points) and A. Howroyd, and OEIS"},
)
