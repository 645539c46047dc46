"""The picture of ``docs/explanation/architecture.md``: the rooms of each floor, and the imports between them."""

from collections.abc import Sequence
from statistics import fmean
from xml.sax.saxutils import escape

import networkx as nx

#: In pixels: the picture and its left margin; a row, a room and the gaps between; the mean width of a letter.
_WIDTH, _LEFT, _ROW, _HEIGHT, _GAP, _LETTER = 1180, 130, 40, 24, 14, 7.2
#: The most width of the rooms of a row.
_ROOM = _WIDTH - _LEFT - 2 * _GAP


def picture(graph: nx.DiGraph, floors: Sequence[str]) -> str:
    """Return an SVG of the rooms of `graph` by floor, the highest first; every line leads down to what is imported."""
    places, bands = _placed(graph, floors)
    height = bands[-1][2] + _GAP
    parts = [
        f'<rect x="0" y="{begin:.0f}" width="{_WIDTH}" height="{end - begin:.0f}" class="floor"/>'
        f'<text x="{_GAP}" y="{begin + 28:.0f}" class="name">{floor}/</text>'
        for floor, begin, end in bands
    ]
    for above, below in sorted(graph.edges):
        (x, y), (to_x, to_y) = places[above], places[below]
        y, half = y + _HEIGHT, (to_y - y - _HEIGHT) / 2
        parts.append(
            f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + half:.0f} {to_x:.0f} {to_y - half:.0f} {to_x:.0f} {to_y:.0f}"/>'
        )
    for room, (x, y) in sorted(places.items()):
        width, text = _width(room), escape(room.partition(".")[2] or room)
        parts.append(
            f'<rect x="{x - width / 2:.0f}" y="{y:.0f}" width="{width:.0f}" height="{_HEIGHT}" rx="4" class="room"/>'
        )
        parts.append(f'<text x="{x:.0f}" y="{y + 16:.0f}" class="room">{text}</text>')
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}"',
        ' font-family="sans-serif" font-size="12">',
        "<title>The rooms of each floor, and the imports between them</title>",
        "<style>.floor{fill:#f4f1ea}.name{font-weight:bold;font-size:15px;fill:#444}path{fill:none;stroke:#8a6d3b;stroke-opacity:.45}",
        "rect.room{fill:#fff;stroke:#b8ab92}text.room{text-anchor:middle;fill:#222}</style>",
        *parts, "</svg>", "",
    ])  # fmt: skip


def _placed(
    graph: nx.DiGraph, floors: Sequence[str]
) -> tuple[dict[str, tuple[float, float]], list[tuple[str, float, float]]]:
    """Return the middle of the upper side of each room, and each floor with its upper and lower side."""
    places: dict[str, tuple[float, float]] = {}
    bands: list[tuple[str, float, float]] = []
    top = 0.0
    for floor in floors:
        begin, top = top, top + _GAP
        own = graph.subgraph(room for room in graph if room.partition(".")[0] == floor)
        for rank in nx.topological_generations(own):
            for row in _rows(sorted(rank, key=lambda room: (_above(graph, room, places), room))):
                places |= _in_a_row(row, top)
                top += _ROW
        bands.append((floor, begin, top))
        top += _GAP
    return places, bands


def _in_a_row(row: Sequence[str], top: float) -> dict[str, tuple[float, float]]:
    space = (_ROOM - sum(map(_width, row))) / len(row)
    left, places = _LEFT + _GAP + space / 2, {}
    for room in row:
        places[room] = left + _width(room) / 2, top
        left += _width(room) + space
    return places


def _width(room: str) -> float:
    return _LETTER * len(room.partition(".")[2] or room) + _GAP


def _rows(rooms: Sequence[str]) -> list[list[str]]:
    """Return the rooms in as few rows as hold them."""
    rows: list[list[str]] = [[]]
    for room in rooms:
        if sum(_width(each) + _GAP for each in [*rows[-1], room]) > _ROOM:
            rows.append([])
        rows[-1].append(room)
    return rows


def _above(graph: nx.DiGraph, room: str, places: dict[str, tuple[float, float]]) -> float:
    """Return the middle of the rooms that import this one, those that have a place already."""
    above = [places[each][0] for each in graph.predecessors(room) if each in places]
    return fmean(above) if above else _WIDTH / 2
