"""Magic stars: how many ways there are to number a star of n tips, up to its rotations and reflections."""

from collections.abc import Sequence

from campaigns.atlas.entries import Answer, Entry, Known, Part, Row, in_order

_MOST = 14
#: With more points the second way would take hours.
_MOST_TWICE = 13


def _star(points: int) -> Entry:
    def rows(answers: Sequence[Answer]) -> list[Row]:
        run, *again = answers
        names = ("orbits", "solutions", "nodes", "digest")
        counted = again[0]["orbits"] if again else None
        return [{"row": f"{points}", "again": counted} | {name: run[name] for name in names}]

    line = ("run", "magic-star", "-o", f"points={points}")
    second = (("python", "-m", "campaigns.atlas.halves", f"{points}"),) if points <= _MOST_TWICE else ()
    return Entry(f"{points}", (line, *second), rows, points == 8)


STARS = Part(
    "stars",
    "Magic stars",
    "1 to 2*n* on the points of the star {*n*/2}, every line with the same sum. *Orbits*: up to the rotations and "
    "reflections of the figure. *By halves*: counted again by a program that shares nothing with the first "
    "(`campaigns/atlas/halves.py`): halves of a star that meet, kept in a table, in place of a search. Howroyd's own "
    "programs are a third way for 12 and 13 points.",
    {"orbits": "orbits", "again": "by halves", "solutions": "solutions", "nodes": "numbers placed"},
    tuple(_star(points) for points in range(5, _MOST + 1)),
    tuple(
        Known(column, source, values)
        for column in ("orbits", "again")
        for source, values in (
            ("H. Heinz, magic-squares.net", in_order(6, 80, 72, 112, 3014, 10882, 53528)),
            ("A. Howroyd, 2005 (recmath.com)", in_order(12, 396930, 2434692)),
        )
    ),
    {"orbits": "the pages of H. Heinz (who guesses at more than 7,000,000 for 14 points) and A. Howroyd, and OEIS"},
)
