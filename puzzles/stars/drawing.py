"""A star with its numbers, as lines of text and as SVG."""

from itertools import count, pairwise

from puzzles.stars.figure import Place, Star

#: Least height of the text in lines, in all and per tip, and columns from number to number: two digits and a blank on
#: either side.
_LEAST_LINES, _LINES_PER_TIP, _LEAST_COLUMNS = 21, 3, 4
#: A character is about twice as high as it is wide.
_ASPECT = 2
_LINE, _POINT = "·", "o"
_SVG_SIZE, _SVG_RADIUS, _DISC, _FONT = 480, 200, 17, 15


def draw(star: Star, numbers: list[int]) -> str:
    """The figure in lines of text, a small o where no number stands; no line ends in blanks."""
    height = next(
        height for height in count(max(_LEAST_LINES, _LINES_PER_TIP * star.tips | 1), 2) if _fits(star, height)
    )
    canvas = [[" "] * (_ASPECT * height + 2) for _ in range(height)]
    for line in star.lines:
        _draw_line(canvas, star.places[line[0]], star.places[line[-1]])
    for number, place in zip(numbers, star.places, strict=True):
        column, row = _cell(height, place)
        text = str(number or _POINT)
        # A blank on either side keeps it apart from the lines.
        for offset, letter in enumerate(f" {text} ", -1):
            if 0 <= column + offset < len(canvas[row]):
                canvas[row][column + offset] = letter
    return "\n".join("".join(row).rstrip() for row in canvas)


def _fits(star: Star, height: int) -> bool:
    """Whether each row of points has its own line and no two numbers of it touch."""
    rows = [[_cell(height, star.places[point]) for point in row] for row in star.rows]
    apart = all(right[0] - left[0] >= _LEAST_COLUMNS for row in rows for left, right in pairwise(row))
    return apart and len({row[0][1] for row in rows}) == len(rows)


def _cell(height: int, place: Place) -> tuple[int, int]:
    """Column and row of a place."""
    half = (height - 1) / 2
    return round(half * _ASPECT * (1 + place[0])), round(half * (1 - place[1]))


def _draw_line(canvas: list[list[str]], one: Place, other: Place) -> None:
    """Dots from end to end: one in every row of a steep line, in every second column of a flat one."""
    (column, row), (to_column, to_row) = _cell(len(canvas), one), _cell(len(canvas), other)
    steps = max(abs(to_row - row), abs(to_column - column) // _ASPECT)
    for step in range(1, steps):
        part = step / steps
        canvas[round(row + part * (to_row - row))][round(column + part * (to_column - column))] = _LINE


def draw_svg(star: Star, numbers: list[int]) -> str:
    """The figure as an SVG document, its size in pixels 480 x 480."""
    places = [_pixel(place) for place in star.places]
    shapes = []
    for line in star.lines:
        (x, y), (to_x, to_y) = places[line[0]], places[line[-1]]
        shapes.append(f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="#345" stroke-width="2"/>')
    for number, (x, y) in zip(numbers, places, strict=True):
        shapes.append(f'<circle cx="{x}" cy="{y}" r="{_DISC}" fill="#fff" stroke="#345" stroke-width="2"/>')
        if number:
            shapes.append(f'<text x="{x}" y="{y}" dy="0.35em">{number}</text>')
    body = "\n  ".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_SVG_SIZE}" height="{_SVG_SIZE}" '
        f'font-family="sans-serif" font-size="{_FONT}" text-anchor="middle">\n  {body}\n</svg>\n'
    )


def _pixel(place: Place) -> Place:
    middle = _SVG_SIZE / 2
    return round(middle + _SVG_RADIUS * place[0], 1), round(middle - _SVG_RADIUS * place[1], 1)
