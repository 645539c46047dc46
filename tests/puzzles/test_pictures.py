"""Pictures of every puzzle: all pieces are there, within the edges, each to be told from its neighbours."""

import io
import random
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from rich.console import Console

from hakoiri.keys.layout import Key
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.pictures import (
    DISTINCT,
    GROUND,
    Circle,
    Label,
    Line,
    Part,
    Picture,
    Polygon,
    Rectangle,
    Shape,
    distinct,
    ink,
    luminance,
    scale,
    text_pictures,
)
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.render.images import print_picture, print_side_by_side
from hakoiri.render.tables import framed
from tests.support.conformance.samples import Sample, examples, samples_of

START = "ABBC/ABBC/DEEF/DGHF/I..J"
#: An edge is drawn half outside its shape.
_EDGE = 1.5


def made(puzzle: str, start: str | None = None, **options: str) -> Puzzle:
    return PuzzleSpec(puzzle, options, start).build()


def walk(puzzle: Puzzle, steps: int) -> list[Key]:
    """Some moves by chance, from the start on."""
    path, chance = [puzzle.start], random.Random(1)
    while len(path) <= steps and (found := puzzle.successors(path[-1])):
        path.append(chance.choice(found))
    return path


def corners(shape: Shape) -> list[tuple[float, float]]:
    match shape:
        case Rectangle(x, y, width, height):
            return [(x, y), (x + width, y + height)]
        case Circle(x, y, radius):
            return [(x - radius, y - radius), (x + radius, y + radius)]
        case Polygon(points):
            return list(points)
        case Line(x, y, to_x, to_y):
            return [(x, y), (to_x, to_y)]
        case Label(x, y):
            return [(x, y)]


def labels(picture: Picture) -> Iterator[tuple[Part, Label]]:
    return ((part, shape) for part in picture.parts for shape in part.shapes if isinstance(shape, Label))


@pytest.mark.parametrize("sample", samples_of([*PUZZLES, *examples()]), ids=lambda sample: sample.name)
def test_every_puzzle_has_pictures(sample: Sample) -> None:
    case = sample.case()
    puzzle = case.build(case.options, case.start)
    path = walk(puzzle, 3)
    pictures = puzzle.pictures(path)
    assert len(pictures) == len(path)
    assert pictures == puzzle.pictures(path)
    for picture in pictures:
        names = [part.name for part in picture.parts]
        assert len(set(names)) == len(names) >= 1
        for part in picture.parts:
            for x, y in (corner for shape in part.shapes for corner in corners(shape)):
                assert -_EDGE <= part.x + x <= picture.width + _EDGE, (part, picture.width)
                assert -_EDGE <= part.y + y <= picture.height + _EDGE, (part, picture.height)
    assert len(path) == 1 or pictures[0] != pictures[1]


@pytest.mark.parametrize(
    ("puzzle", "start", "shown"),
    [
        ("klotski", START, "ABCDEFGHIJ"),
        ("sliding", "A.A.B/AAABB/.C..#", "ABC"),
        ("tiles", ".12/345/678", "12345678"),
        ("hanoi", "C/./B/A", "ABC"),
        ("pancakes", "8 1 2 3 4 5 6 7", "12345678"),
        ("topspin", "8 1 2 3 4 5 6 7", "12345678"),
        ("burnt-pancakes", "-5 1 2 3 -4", ["-5", "1", "2", "3", "-4"]),
        ("cube2", None, "".join(face * 4 for face in "URFDLB")),
        ("pyraminx", None, "".join(face * 6 for face in "FLRD")),
    ],
)
def test_every_piece_is_there_with_its_letter(puzzle: str, start: str | None, shown: str | list[str]) -> None:
    rules = made(puzzle, start)
    (picture,) = rules.pictures([rules.start])
    assert sorted(label.text for part, label in labels(picture) if part.name != "turnstile") == sorted(shown)


def touching(text: str) -> set[tuple[str, str]]:
    rows = text.split("/")
    pairs = [pair for row in rows for pair in pairwise(row)]
    pairs += [pair for upper, lower in pairwise(rows) for pair in zip(upper, lower, strict=True)]
    return {pair for pair in pairs if pair[0] != pair[1] and not {*pair} & {".", "#"}}


@pytest.mark.parametrize(("puzzle", "start"), [("tiles", "123/456/78."), ("tiles", None)])
def test_neighbours_never_share_a_colour(puzzle: str, start: str | None) -> None:
    rules = made(puzzle, start, **({"rows": "4", "columns": "4"} if start is None else {}))
    path = walk(rules, 40)
    for text, picture in zip(rules.render_path(path), rules.pictures(path), strict=True):
        colours = {part.name: part.shapes[0].fill for part in picture.parts if isinstance(part.shapes[0], Rectangle)}
        pairs = touching(text)
        assert len(pairs) > 7
        assert all(colours[one] != colours[other] for one, other in pairs)
        # On a terminal the same.
        shown = {span.text: span.fill for row in picture.rows for span in row if span.fill}
        assert shown == {name: fill for name, fill in colours.items() if name in shown}
        assert {letter for pair in pairs for letter in pair} <= shown.keys()


def test_letters_can_be_read_on_every_colour() -> None:
    fills = [*DISTINCT, *(scale(number, 15) for number in range(15)), *map(distinct, range(62))]
    for fill in fills:
        bright, dark = sorted((luminance(fill), luminance(ink(fill))), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= 4, fill


def test_a_ring_is_turned_so_that_tokens_stay() -> None:
    puzzle = made("topspin")
    path = walk(puzzle, 12)
    for before, after in pairwise(puzzle.pictures(path)):
        places = [{part.name: (part.x, part.y) for part in picture.parts[3:]} for picture in (before, after)]
        assert sum(places[0][name] != places[1][name] for name in places[0]) <= 4


def test_lights_are_told_by_their_colour_alone() -> None:
    (picture,) = text_pictures(["*./.*"])
    assert not list(labels(picture))
    lit = [(part.x, part.y) for part in picture.parts[1:]]
    assert lit == [(0, 0), (40, 40)]
    assert {part.shapes[0].fill for part in picture.parts[1:]} != {GROUND}  # type: ignore[union-attr]


def test_balls_keep_their_names_while_they_roll() -> None:
    """Each ball that stays has its colour, stands where the board has it, and moves along the tilt alone."""
    puzzle = made("nakuron")
    path = walk(puzzle, 12)
    texts, pictures, moves = puzzle.render_path(path), puzzle.pictures(path), puzzle.describe_moves(path)
    balls = [
        {part.name: (part.x / 32 - 1, part.y / 32 - 1, part.shapes) for part in each.parts[1:]} for each in pictures
    ]
    for text, there in zip(texts, balls, strict=True):
        rows = text.split("/")
        drawn = {(x, y): next(s.text for s in shapes if isinstance(s, Label)) for x, y, shapes in there.values()}
        assert drawn == {(x, y): cell for y, row in enumerate(rows) for x, cell in enumerate(row) if cell in "1234"}
    for (before, after), move in zip(pairwise(balls), moves, strict=True):
        assert after.keys() <= before.keys()
        for name, (x, y, shapes) in after.items():
            right, down = x - before[name][0], y - before[name][1]
            assert before[name][2] == shapes
            assert {"up": right == 0 >= down, "down": right == 0 <= down, "left": down == 0 >= right,
                    "right": down == 0 <= right}[move.split(",")[0]]  # fmt: skip


# Boards drawn for people: a line around every piece whatever its shape, walls, and texts that are no boards


BENT = """\
┌───┬───────┬───┬───────┐
│▒▒▒│ A     │ B │▒▒▒▒▒▒▒│
│▒▒▒│   ┌───┤   └───┐▒▒▒│
│▒▒▒│   │ C │       │▒▒▒│
│▒▒▒├───┤   └───┬───┴───┤
│▒▒▒│   │       │       │
└───┴───┴───────┴───────┘"""
AIMED = """\
┌───────┬───┐
│       │ C │
├───┬───┼╌╌╌┘
│ A ╎   │
├───┴───┼╌╌╌┐
│       │   │
└───────┴───┘"""
INSIDE = """\
┌───────────┐
│ A         │
│   ┌───┐   │
│   │   │   │
│   └───┘   │
│           │
└───────────┘"""
TILES = """\
┌───┬───┬───┐
│   │ 1 │ 2 │
├───┼───┼───┤
│ 3 │ 5 │ 4 │
└───┴───┴───┘"""


@pytest.mark.parametrize(
    ("board", "drawing"),
    [
        ("#AAB##/#ACBB#/#.CC..", BENT),
        ("#zzB##/#zCBB#/#.CC..", BENT.replace("A", "z")),
        ("AAA/A.A/AAA", INSIDE),
        (".12/354", TILES),
    ],
)
def test_every_piece_has_a_line_around_it_and_one_letter(board: str, drawing: str) -> None:
    assert framed(board) == drawing


@pytest.mark.parametrize(
    ("goal", "side"),
    [("A@1,1", None), ("A@1,2", (-1, 0)), ("A@2,1", (0, -1)), ("A@2,4", (0, 1)), ("A@4,2", (1, 0))],
)
def test_an_exit_is_on_the_one_side_on_which_the_goal_is_at_the_edge(goal: str, side: tuple[int, int] | None) -> None:
    """On a terminal and in pictures. A goal in a corner is closed."""
    puzzle = PuzzleSpec("sliding", {"goal": goal}, "..../..A./..../....").build()
    picture = puzzle.picture(puzzle.start)
    outside = [(row, column) for row, column in picture.goal if not (0 <= row < 4 and 0 <= column < 4)]
    lines = [line for line in picture.parts[-1].shapes if isinstance(line, Line)]
    assert len([line for line in lines if line.dash]) == 4
    assert len(outside) == len([line for line in lines if not line.colour])
    row, column = int(goal[2]) - 1, int(goal[4]) - 1
    assert [(one[0] - row, one[1] - column) for one in outside] == ([side] if side else [])
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=80)
    print_picture(console, puzzle.render(puzzle.start), picture)
    # One piece, one ground.
    assert len(set(re.findall(r"48;2;[\d;]+", console.file.getvalue()))) == 1  # type: ignore[attr-defined]


def test_the_goal_has_a_dashed_line_and_its_exit_is_a_gap() -> None:
    """The outside is to the right of the middle row."""
    goal = frozenset({(1, 1), (1, 2), (1, 3)})
    assert [line.rstrip() for line in framed("..C/AAC/..C", goal).splitlines()] == AIMED.splitlines()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("CBA/././.", ["C B A", ".", ".", "."]),
        ("##*##/*.*.*/##*##", ["    *", "* . * . *", "    *"]),
        ("UURR/RRFF/FFUU", ["U U R R", "R R F F", "F F U U"]),
        ("1 2 10 3", ["1 2 10 3"]),
        ("0x17038bbb", ["0x17038bbb"]),
    ],
)
def test_other_texts_have_their_rows_below_each_other(text: str, lines: list[str]) -> None:
    out = io.StringIO()
    print_picture(Console(file=out), text, Picture(0, 0, ()))
    assert [line.rstrip() for line in out.getvalue().splitlines()] == lines


@pytest.mark.parametrize("boards", [["#AAB##/#ACBB#", "#.ABB#/#AA.B#"], ["CBA/././.", "CB/./A/."], ["1 2 3", "2 1 3"]])
@pytest.mark.parametrize("terminal", [False, True])
def test_boards_stand_side_by_side_in_columns(boards: list[str], terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, width=60, force_terminal=terminal)
    print_side_by_side(console, boards, ["0 start", "1 B down"], text_pictures(boards))
    if terminal:
        assert "\x1b" in out.getvalue()
        return
    title, *lines = out.getvalue().rstrip("\n").split("\n")
    right = title.index("1 B down")
    assert [line[:right].rstrip() for line in lines] == boards[0].split("/")
    assert [line[right:] for line in lines] == boards[1].split("/")
