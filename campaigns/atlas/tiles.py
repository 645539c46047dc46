"""Sliding tiles of every size up to 12 cells, by single tiles and by rows of tiles."""

from collections.abc import Sequence

from campaigns.atlas.entries import Answer, Entry, Known, Part, Row, explored

_CELLS = (4, 6, 8, 9, 10, 12)
_SHORT = (("single", 4), ("single", 9), ("multi", 6))


def _members(metric: str, answers: Sequence[Answer]) -> list[Row]:
    """A row for each board of so many cells."""
    names = ("configurations", "depth", "diameter", "radius", "pairs", "layers", "digest")
    return [
        {"row": f"{_board(row['member'])} {metric}"} | {name: row[name] for name in names}
        for row in answers[0]["rows"]
    ]  # fmt: skip


def _board(member: str) -> str:
    """``rows=2 columns=3`` as ``2x3``."""
    return "x".join(option.partition("=")[2] for option in member.split())


def _entry(cells: int, metric: str) -> Entry:
    line = ("study", "tiles", "--n", str(cells), *(("-o", "metric=multi") if metric == "multi" else ()))
    verify = ("verify", "last", "--full") if cells <= 10 else ("verify", "last")
    return Entry(
        f"{cells} cells, {metric}",
        (line,),
        lambda answers: _members(metric, answers),
        (metric, cells) in _SHORT,
        verify=verify,
    )


def _both(source: str, column: str, metric: str, **values: object) -> Known:
    return Known(column, source, {f"{board[1:]} {metric}": value for board, value in values.items()})


TILES = Part(
    "tiles",
    "Sliding tiles",
    "Every board of two rows and more with up to 12 cells and one blank. *Single*: one tile is a move; *multi*: so "
    "is any number of tiles in a line. *Depth* is from the blank in a corner. Pairs are unordered.",
    {
        "configurations": "configurations", "depth": "depth", "diameter": "diameter", "radius": "radius",
        "pairs": "diametral pairs", "layers": "layers",
    },
    tuple(_entry(cells, metric) for metric in ("single", "multi") for cells in _CELLS),
    (
        _both("OEIS A151944", "depth", "single", b2x2=6, b2x3=21, b2x4=36, b2x5=55, b2x6=80, b3x3=31, b3x4=53),
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
)  # fmt: skip
_SIZES = ((2, 4), (3, 3), (2, 5), (2, 6), (3, 4), (2, 7))
TILE_RUNS = Part(
    "tile-runs",
    "Sliding tiles from a corner",
    "All that a corner reaches, as runs that keep every layer on the disk; the largest of this page is among them.",
    {"configurations": "configurations", "depth": "depth", "farthest": "so far away", "layers": "layers"},
    tuple(
        Entry(
            f"{rows}x{columns}",
            (("run", "tiles", "-o", f"rows={rows}", "-o", f"columns={columns}"),),
            explored(f"{rows}x{columns}"),
            (rows, columns) == (3, 3),
        )
        for rows, columns in _SIZES
    ),
    (Known("depth", "OEIS A151944", {"2x4": 36, "3x3": 31, "2x5": 55, "2x6": 80, "3x4": 53, "2x7": 108}),),
)
