"""Pictures and films as files: SVG, PNG, GIF and pages hold the pieces that they should, the same bytes every time."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageChops, ImageStat
from rich.console import Console

from hakoiri.api import Run, explore, open_run
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.errors import Hint, PuzzleError
from hakoiri.guests.boards.generate import reference_solutions
from hakoiri.guests.boards.print_sheet import Problem, problems_of
from hakoiri.guests.deals.dealt import Family
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.pictures import Circle, Label, Line, Part, Picture, Polygon, Rectangle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.render.films import Film, durations, film_page, film_svg, write_film, write_picture
from hakoiri.render.images import captioned, image, print_picture, print_side_by_side, svg, titled
from hakoiri.run.paths import ShortestPath
from tests.support.refusals import refused
from tests.support.runs import driven

RED, GREEN, BLUE = "#ff0000", "#00ff00", "#0000ff"
EVERY_SHAPE = Picture(
    100,
    60,
    (
        Part("ground", (Rectangle(0, 0, 100, 60, "#eeeeee", 5, "#000000"),)),
        Part("box", (Rectangle(0, 0, 20, 20, RED),), 10, 10),
        Part("disc", (Circle(0, 0, 10, GREEN),), 50, 20),
        Part("corner", (Polygon(((70, 10), (90, 10), (90, 30)), BLUE),)),
        Part("line", (Line(10, 45, 90, 45, RED, 4), Label(50, 52, "A & <B>\x00", 10))),
    ),
)


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314  (our own)


def kinds(root: ElementTree.Element) -> list[str]:
    return [element.tag.rpartition("}")[2] for element in root.iter()]


@pytest.fixture(scope="module")
def solution(usual_run: Run) -> ShortestPath:
    return usual_run.path()


@pytest.fixture(scope="module")
def film(solution: ShortestPath) -> Film:
    return Film("klotski", Klotski().pictures(solution.keys), ["start", *solution.moves])


def test_an_svg_has_every_part_and_shape() -> None:
    root = parsed(svg(EVERY_SHAPE, "all & <sundry>"))
    assert [group.get("data-piece") for group in root if group.tag.endswith("}g")] == [
        "ground", "box", "disc", "corner", "line"
    ]  # fmt: skip
    for kind in ("rect", "circle", "polygon", "line", "text"):
        assert kind in kinds(root)
    assert [element.text for element in root.iter() if element.tag.endswith(("text", "title"))] == [
        "all & <sundry>", "A & <B>?"
    ]  # fmt: skip
    assert svg(EVERY_SHAPE, "x") == svg(EVERY_SHAPE, "x")


def test_an_image_has_every_shape_in_its_place() -> None:
    drawn = image(EVERY_SHAPE, 1)
    assert drawn.size == (124, 84)
    for x, y, colour in ((20, 20, RED), (50, 20, GREEN), (88, 15, BLUE), (30, 45, RED), (5, 55, "#eeeeee")):
        assert drawn.getpixel((12 + x, 12 + y)) == tuple(bytes.fromhex(colour[1:])), (x, y)
    words = drawn.crop((12, 60, 112, 70)).convert("L")
    assert min(words.tobytes()) < 100, "no words"
    assert image(EVERY_SHAPE).size == (248, 168)
    assert image(EVERY_SHAPE).tobytes() == image(EVERY_SHAPE).tobytes()


@pytest.mark.parametrize("puzzle", ["pyraminx", "hanoi"])
def test_a_png_shows_the_colours_of_the_picture(puzzle: str, tmp_path: Path) -> None:
    rules = PuzzleSpec(puzzle).build()
    picture = rules.picture(rules.start)
    write_picture(picture, puzzle, target := tmp_path / "board.png")
    with Image.open(target) as drawn:
        counts = {colour: count for count, colour in drawn.convert("RGB").getcolors(1 << 20)}  # type: ignore[union-attr]
    fills = {shape.fill for part in picture.parts for shape in part.shapes if isinstance(shape, Rectangle | Polygon)}
    missing = [fill for fill in fills if counts.get(tuple(bytes.fromhex(fill[1:])), 0) < 40]
    assert fills and not missing


def test_a_picture_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnanswerableError, match=r"must end in \.svg, \.png"):
        write_picture(EVERY_SHAPE, "x", tmp_path / "x.bmp")
    with pytest.raises(UnanswerableError, match=r"must end in \.gif, \.svg, \.html"):
        write_film(Film("x", [EVERY_SHAPE], ["start"]), tmp_path / "x.png")
    assert not list(tmp_path.iterdir())


def test_a_title_says_puzzle_and_options() -> None:
    assert titled(PuzzleSpec("tiles", {"rows": "2"}).build()) == "tiles, rows=2, columns=3"
    assert titled(PuzzleSpec("klotski", merge_mirrors=True).build()) == "klotski, metric=unit, mirror images merged"


def test_pieces_are_sprites_that_stay_the_same(film: Film, solution: ShortestPath) -> None:
    sprites = film.sprites()
    assert sorted(sprite.name for sprite in sprites) == [*"ABCDEFGHIJ", "goal", "ground"]
    assert all(None not in sprite.places and len(sprite.places) == 117 for sprite in sprites)
    for number, move in enumerate(solution.moves, 1):
        moved = [sprite.name for sprite in sprites if sprite.places[number] != sprite.places[number - 1]]
        assert moved == [move[0]]
    # One change for each move, and the first place of each part.
    assert sum(len(sprite.changes()) for sprite in sprites) == 116 + 12
    assert sprites[-1].name == "goal"


def test_a_gif_has_a_frame_for_each_board(film: Film, tmp_path: Path) -> None:
    short = film._replace(pictures=film.pictures[:4], words=film.words[:4])
    write_film(short, target := tmp_path / "path.gif")
    with Image.open(target) as shown:
        assert shown.n_frames == 4  # type: ignore[attr-defined]
        for board, picture in enumerate(short.pictures):
            shown.seek(board)
            wanted = image(captioned(picture, short.words[board], short.width, short.height), 1.5)
            assert shown.size == wanted.size
            difference = ImageStat.Stat(ImageChops.difference(shown.convert("RGB"), wanted))
            assert max(difference.mean) < 3, board
    first = target.read_bytes()
    write_film(short, target)
    assert target.read_bytes() == first


def test_an_animated_svg_moves_every_piece_at_its_time(film: Film) -> None:
    text = film_svg(film)
    root = parsed(text)
    total = sum(durations(117))
    begins = [sum(durations(117)[:board]) / total for board in range(117)]
    for sprite in film.sprites():
        (group,) = [group for group in root if group.get("data-piece") == sprite.name]
        moving = [element for element in group if element.tag.endswith("animateTransform")]
        if sprite.name in ("ground", "goal"):
            assert not moving
            continue
        values = [tuple(map(float, value.split())) for value in moving[0].get("values", "").split(";")]
        times = [float(time) for time in moving[0].get("keyTimes", "").split(";")]
        assert len(values) == len(times) and times == sorted(times)
        assert (times[0], times[-1], moving[0].get("dur")) == (0, 1, "85s")
        for board, place in enumerate(sprite.places):
            latest = max(index for index, time in enumerate(times) if time <= begins[board] + 1e-5)
            assert values[latest] == place, (sprite.name, board)
    words = [element for element in root.iter() if element.tag.endswith("}text") and len(element)]
    assert [element.text for element in words] == film.words
    assert [element.get("visibility") for element in words] == [None, *["hidden"] * 116]
    assert text == film_svg(film)
    assert len(text) < 50_000


def test_one_board_is_a_film_too(tmp_path: Path) -> None:
    still = Film("klotski", [Klotski().picture(Klotski().start)], ["start"])
    for ending in ("gif", "svg", "html"):
        write_film(still, target := tmp_path / f"still.{ending}")
        assert target.stat().st_size > 1000
    assert "animate" not in film_svg(still)


def test_a_page_holds_everything_itself(film: Film) -> None:
    page = film_page(film)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|src=|@import|<link", page)
    assert not re.search("@[A-Z]+@", page)
    words, changes = (json.loads(found) for found in re.findall(r"const (?:words|changes) = (.*);\n", page))
    assert words == film.words
    groups = re.findall(r'<g data-piece="(.*?)"', page)
    assert groups == [sprite.name for sprite in film.sprites()]
    for sprite, moves in zip(film.sprites(), changes, strict=True):
        for board, place in enumerate(sprite.places):
            latest = [change for change in moves if change[0] <= board][-1]
            assert place is not None and latest[1:] == list(place)
    for name in ("first", "back", "play", "step", "last", "where", "speed", "words"):
        assert f'id="{name}"' in page


def test_words_of_a_user_end_no_script() -> None:
    evil = '</script><script>alert("@SVG@ @WORDS@")</script>'
    page = film_page(Film(evil, [EVERY_SHAPE], [evil]))
    assert page.count("<script>") == page.count("</script>") == 1
    assert page.count("<svg ") == 1
    parsed(film_svg(Film(evil, [EVERY_SHAPE] * 2, [evil, "\x01"])))


# On a terminal


def shown(system: str | None, *words: str, width: int = 70) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=system is not None, color_system=system)  # type: ignore[arg-type]
    puzzle = PuzzleSpec(words[0]).build()
    keys = [puzzle.parse(text) for text in words[1:]] or [puzzle.start]
    if len(keys) == 1:
        print_picture(console, puzzle.render(keys[0]), puzzle.picture(keys[0]))
    else:
        titles = [str(number) for number in range(len(keys))]
        print_side_by_side(console, puzzle.render_path(keys), titles, puzzle.pictures(keys))
    return out.getvalue()


@pytest.mark.parametrize("system", ["standard", "256", "truecolor"])
def test_kinds_of_pieces_have_different_grounds_on_every_terminal(system: str) -> None:
    """Ten pieces of four kinds, four grounds, the same ones on both boards; the goal is marked by that of its piece."""
    start, then = "ABBC/ABBC/DEEF/DGHF/I..J", "ABBC/ABBC/DEEF/DGHF/.I.J"
    both, one = shown(system, "klotski", start, then), shown(system, "klotski", start)
    for text in (both, one):
        grounds: dict[str, set[str]] = {}
        for styles, letters in re.findall(r"\x1b\[([0-9;]+)m([A-J]+)\x1b", re.sub(r"(?<=m) +([A-J]) +", r"\1", text)):
            ground = re.sub(r"^(38;[25];[\d;]*?|30;)(?=4\d|10\d)", "", styles)
            for letter in letters:
                grounds.setdefault(letter, set()).add(ground)
        assert sorted(grounds) == list("ABCDEFGHIJ")
        assert all(len(found) == 1 for found in grounds.values()), grounds
        kinds = [set.union(*(grounds[letter] for letter in kind)) for kind in ("B", "E", "ACDF", "GHIJ")]
        assert [len(kind) for kind in kinds] == [1] * 4
        assert len(set.union(*kinds)) == 4


# Boards to print: each with a shortest solution in words that solves it


FAMILY = {"size": "3x3", "pieces": "xx/x.:1 2x1:0..1 1x1:*", "goal": "xx/x.@2,2"}


def made(data: Path, kind: str, **words: Any) -> Run:
    asked = kind_of(kind).parse_request(PuzzleSpec("sliding"), **words)
    return open_run(driven(data, asked.spec, kind, asked.plan, asked.limits, workers=1).name, data)


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with made(tmp_path_factory.mktemp("family"), "boards", **FAMILY, empty="2", hardest=5) as run:
        yield run


def check(puzzle: Puzzle, problem: Problem, moves: int) -> None:
    """Play the moves by their words."""
    here = puzzle.start
    assert len(problem.moves) == moves == reference_solutions(puzzle)[0]
    path = [here]
    for words in problem.moves:
        [here] = [key for key in {*puzzle.successors(here)} if puzzle.describe_moves([*path, key])[-1] == words]
        path.append(here)
    assert puzzle.is_goal(puzzle.keys([here]))[0]


@pytest.mark.ci_slow
@pytest.mark.parametrize("kind", ["boards", "generate"])
def test_boards_of_runs_are_printed_with_their_solutions(kind: str, family: Run, tmp_path: Path) -> None:
    run = family if kind == "boards" else made(tmp_path, "generate", **FAMILY, empty="2..3", least=3, boards=3)
    rows, problems = run.kind(run.store, run.puzzle).boards(), list(problems_of(run))
    assert len(rows) == len(problems) == (5 if kind == "boards" else 3)
    assert isinstance(run.puzzle, Family)
    for row, problem in zip(rows, problems, strict=True):
        puzzle = run.puzzle.member(row["board"], row["goal"])
        check(puzzle, problem, row["moves"])
        assert problem.picture == puzzle.picture(puzzle.start) and problem.goal == puzzle.goal_text()


@pytest.mark.ci_slow
def test_the_hardest_of_a_search_are_printed(tmp_path: Path) -> None:
    with explore("tiles", {"rows": "2", "columns": "3"}, data=tmp_path) as run:
        found = run.hardest()
        problems = list(problems_of(run))
        assert {len(problem.moves) for problem in problems} == {found.distance} == {21}
        assert len(problems) == found.count
        assert run.export(tmp_path / "tiles.pdf", per_page=1) == found.count


def letters(parts: tuple[Part, ...]) -> list[str]:
    return [shape.text for part in parts for shape in part.shapes if isinstance(shape, Label)]


def words_of(pdf: Path) -> list[str]:
    """The words of each page of a PDF that is not compressed: its strings, kerned letter by letter."""
    pages = re.findall(rb"stream\n(.*?)\nendstream", pdf.read_bytes(), re.DOTALL)
    found = ["".join(re.findall(r"\(([^)]*)\)", page.decode("latin-1"))) for page in pages]
    return [words for words in found if "page" in words]


@pytest.mark.ci_slow
def test_the_same_run_gives_the_same_bytes(family: Run, tmp_path: Path) -> None:
    for name in ("one.pdf", "other.pdf"):
        family.export(tmp_path / name)
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "other.pdf").read_bytes()


def test_what_cannot_be_printed_is_refused(family: Run, usual_run: Run, tmp_path: Path) -> None:
    with refused(UnanswerableError, "per_page does not apply to a table of results", Hint("leave out", "per_page")):
        family.export(tmp_path / "x.csv", per_page=2)
    with refused(UnanswerableError, "layers does not apply to boards to print", Hint("leave out", "layers")):
        usual_run.export(tmp_path / "x.pdf", layers=2)
    with pytest.raises(PuzzleError, match="per page 31"):
        family.export(tmp_path / "x.pdf", per_page=31)
    nothing = refused(UnanswerableError, "has no boards to print", Hint("give", "hardest", "K"))
    with made(tmp_path, "boards", **FAMILY, empty="2") as run, nothing:
        run.export(tmp_path / "x.pdf")
    assert not (tmp_path / "x.pdf").exists()
