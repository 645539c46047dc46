"""Sliding tiles of every size up to 12 cells, by single tiles and by rows of tiles."""

from collections.abc import Sequence

from campaigns.atlas.entries import Answer, Entry, Known, Part, Row, explored, exploring

_BOARDS = ((2, 2), (2, 3), (2, 4), (3, 3), (2, 5), (2, 6), (3, 4))
_SHORT = ("2x2 single", "3x3 single", "2x3 multi")
_DISTANCES = {"diameter": "diameter", "radius": "radius", "centre": "centre", "periphery": "periphery"}


def _measured(rows: int, columns: int, metric: str) -> Entry:
    """A board with its exact distances."""
    name, line = _run(rows, columns, metric)

    def both(answers: Sequence[Answer]) -> list[Row]:
        (row,) = explored(name)(answers)
        distances = answers[1]
        return [row | {each: distances[each] for each in _DISTANCES} | {"pairs": distances["pair_count"]}]

    return Entry(name, (line, ("diameter", "last")), both, name in _SHORT, certified=True)


def _run(rows: int, columns: int, metric: str) -> tuple[str, tuple[str, ...]]:
    several = ("-o", "metric=multi") if metric == "multi" else ()
    return f"{rows}x{columns} {metric}", ("run", "tiles", "-o", f"rows={rows}", "-o", f"columns={columns}", *several)


def _largest() -> Entry:
    """Explored only: no graph of so many configurations is held."""
    name, line = _run(2, 7, "single")
    return exploring(name, *line[1:])


def _both(source: str, column: str, metric: str, **values: object) -> Known:
    return Known(column, source, {f"{board[1:]} {metric}": value for board, value in values.items()})


TILES = Part(
    "tiles",
    "Sliding tiles",
    "Every board of two rows and more with up to 12 cells and one blank, and 2x7, all that a corner reaches. "
    "*Single*: one tile is a move; *multi*: so is any number of tiles in a line. *Depth* is from the blank in a "
    "corner, diameter, radius and diametral pairs (unordered) are of all; centre and periphery say how many "
    "configurations lie in them.",
    {"configurations": "configurations", "depth": "depth", "farthest": "so far away"} | _DISTANCES
    | {"pairs": "diametral pairs", "layers": "layers"},
    (*(_measured(*board, metric) for metric in ("single", "multi") for board in _BOARDS), _largest()),
    (
        _both("OEIS A151944", "depth", "single", b2x2=6, b2x3=21, b2x4=36, b2x5=55, b2x6=80, b2x7=108, b3x3=31),
        _both("OEIS A151944", "depth", "single", b3x4=53),
        _both("lightln2/SlidingTilesSolver, beside OEIS A389728", "depth", "multi", b3x4=33),
        _both("OEIS A089473", "layers", "single", b3x3=[
            1, 2, 4, 8, 16, 20, 39, 62, 116, 152, 286, 396, 748, 1024, 1893, 2512, 4485, 5638, 9529, 10878, 16993,
            17110, 23952, 20224, 24047, 15578, 14560, 6274, 3910, 760, 221, 2,
        ]),
        _both("OEIS A090034", "layers", "single", b2x3=[
            1, 2, 3, 5, 6, 7, 10, 12, 12, 16, 23, 25, 28, 39, 44, 40, 29, 21, 18, 12, 6, 1,
        ]),
        _both("OEIS A090035", "layers", "single", b2x4=[
            1, 2, 3, 6, 10, 14, 19, 28, 42, 61, 85, 119, 161, 215, 293, 396, 506, 632, 788, 985, 1194, 1414, 1664, 1884,
            1999, 1958, 1770, 1463, 1076, 667, 361, 190, 88, 39, 19, 7, 1,
        ]),
    ),
    dict.fromkeys(("depth", "diameter", "radius", "pairs"), "OEIS and pages on sliding tiles"),
)  # fmt: skip
