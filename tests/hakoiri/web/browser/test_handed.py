"""Files for people without a server: the page to play, in a browser without network, and the table of perfect play."""

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from hakoiri.api import Run, explore
from hakoiri.errors import HakoiriError
from hakoiri.keys.layout import ints
from hakoiri.render.player import save_player
from hakoiri.rows.positions import moves_row, position_row, table_of
from tests.hakoiri.web.browser.conftest import NARROW
from tests.support.commands import PATIENCE_SECONDS, ROOT
from tests.support.plain_search import reference_distances

pytestmark = [pytest.mark.ci_slow, pytest.mark.browser]
START = "AABB/AACC/DE../FGHH/FGII"
READER = re.compile(r"```js\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with explore("sliding", {"goal": "A@4,1"}, start=START, data=tmp_path_factory.mktemp("handed")) as run:
        yield run


@pytest.fixture
def handed(board: Run, browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The page from its file, without a network: it requests nothing, and nothing goes wrong on its console."""
    assert board.export(tmp_path / "puzzle.html") == 1_398
    context = browser.new_context(viewport=NARROW, has_touch=True, offline=True)
    page, wrong = context.new_page(), list[str]()
    page.set_default_timeout(1_000 * PATIENCE_SECONDS)
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
    page.goto(f"file://{tmp_path / 'puzzle.html'}")
    yield page
    assert wrong == []
    context.close()


def test_the_page_plays_from_a_file(board: Run, handed: Page) -> None:
    away, path = handed.locator(".distance .big"), board.path()
    expect(away).to_have_text("0")
    expect(handed.get_by_text(f"{len(path)} moves")).to_have_count(0)
    handed.get_by_role("link", name="Analyse").click()
    expect(away).to_have_text(str(len(path)))
    for left in range(len(path) - 1, len(path) - 4, -1):
        handed.locator(".moves .best").first.click()
        expect(away).to_have_text(str(left))
    handed.get_by_role("button", name="Undo").click()
    expect(away).to_have_text(str(len(path) - 2))
    handed.get_by_role("button", name="Shuffle").click()
    handed.get_by_role("button", name="Start again").click()
    expect(away).to_have_text(str(len(path)))
    assert handed.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_a_game_on_the_page_is_kept_with_its_variations(board: Run, handed: Page) -> None:
    """Over a reload; as a text it is in the words of `path`."""
    handed.get_by_role("link", name="Analyse").click()
    played, text = handed.locator(".played"), handed.get_by_role("dialog").get_by_role("textbox")
    for count in (1, 2):
        handed.locator(".moves .best").first.click()
        expect(handed.locator(".figures")).to_contain_text(f"{count} played")
    handed.keyboard.press("ArrowLeft")
    expect(handed.locator(".figures")).to_contain_text("1 played")
    handed.locator(".move:not(.best)").first.click()
    expect(handed.locator(".figures")).to_contain_text("2 played")
    line = played.inner_text()
    assert line.count("or ") == 1
    handed.reload()
    expect(played).to_have_text(line.replace("\n", ""))
    handed.get_by_role("button", name="As text").click()
    text.fill("\n".join(board.path().moves))
    handed.get_by_role("button", name="Play these").click()
    expect(handed.locator(".distance .big")).to_have_text("Solved")


def test_the_page_marks_mistakes_and_has_the_statistics_of_the_first_board(board: Run, handed: Page) -> None:
    found, figures = board.statistics(), handed.locator(".statistics dd")
    handed.get_by_role("link", name="Analyse").click()
    handed.get_by_text("Statistics of this board").click()
    expect(figures.first).to_have_text(str(found.moves))
    expect(figures.nth(1)).to_have_text(f"{found.solutions:,}")
    handed.locator(".move").last.click()
    expect(handed.locator(".figures")).to_contain_text("1 played · 1 mistake")
    expect(handed.locator(".trace .mark")).to_be_visible()
    expect(handed.locator("#said")).to_contain_text(f"A mistake. {found.moves + 1} to the goal.")
    expect(handed.locator(".statistics")).to_contain_text("this page has no statistics of this board")
    handed.get_by_role("button", name="Start again").click()
    expect(figures.first).to_have_text(str(found.moves))


def test_the_page_answers_as_the_server_does(board: Run, handed: Page) -> None:
    _answers_alike(board, handed)


@pytest.mark.parametrize(
    ("puzzle", "options", "start"),
    [
        ("klotski", {"metric": "finger"}, None),
        ("sliding", {"goal": "A@1,3", "metric": "straight", "axis": "rows-and-columns"}, "AA../B.C#/B.C./DD.."),
        ("sliding", {"goal": "***/*../***", "distinct": "A,C"}, "AB./C.D/EE#"),
        ("hanoi", {"discs": "4"}, None),
    ],
)
def test_pages_of_other_rules_answer_as_the_server_does(
    puzzle: str, options: dict[str, str], start: str | None, browser: Browser, tmp_path: Path
) -> None:
    with explore(puzzle, options, start=start, data=tmp_path) as run:
        run.export(tmp_path / "puzzle.html")
        page = browser.new_page()
        page.goto(f"file://{tmp_path / 'puzzle.html'}")
        _answers_alike(run, page)
        page.close()


def _answers_alike(board: Run, handed: Page) -> None:
    table = table_of(board)
    keys = ints(board.configurations()[0])
    for key in keys[:: max(1, len(keys) // 14)]:
        text = board.puzzle.render(key)
        ask = f"async () => (await import('lib/api.js')).get(['runs', '', WHAT, '{text}'])"
        here: Any = handed.evaluate(ask.replace("WHAT", "'positions'"))
        drawn: Any = handed.evaluate(ask.replace("WHAT", "'pictures'"))
        there, pictured = position_row(board, table, text), moves_row(board.puzzle, key)
        fields = ("configuration", "depth", "goal", "goal_distance")
        assert [here[field] for field in fields] == [there[field] for field in fields]
        names = ("move", "configuration", "depth", "goal_distance")
        assert _rows(here["moves"], names) == _rows(there["moves"], names)
        # Pieces on an axis are kinds of their own, whose numbers mean nothing.
        assert drawn["picture"] | {"kinds": {}} == _plain(pictured["picture"]) | {"kinds": {}}
        changes = ("moved", "changed", "gone", "new")
        assert _rows(drawn["moves"], changes) == _rows(_plain(pictured["moves"]), changes)


def _rows(moves: list[dict[str, Any]], fields: tuple[str, ...]) -> list[str]:
    return sorted(str([move[field] for field in fields]) for move in moves)


def _plain(value: Any) -> Any:
    """The same as JSON has it: whole numbers without a fraction, lists for tuples."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def test_a_link_opens_a_configuration_of_the_page(board: Run, handed: Page) -> None:
    far = board.puzzle.render(board.hardest().configurations[0])
    handed.goto(f"{handed.url.partition('#')[0]}#/runs/{board.name}/board?at={far}")
    handed.reload()
    expect(handed.locator(".distance .big")).to_have_text(str(board.hardest().distance))


def test_the_table_of_perfect_play_is_that_of_the_reference(board: Run, tmp_path: Path) -> None:
    assert board.export_play(tmp_path / "play.csv") == 1_398
    with (tmp_path / "play.csv").open(newline="") as file:
        rows = {int(row["key"], 16): row for row in csv.DictReader(file)}
    keys, puzzle = ints(board.configurations()[0]), board.puzzle
    goals = [key for key, goal in zip(keys, puzzle.is_goal(puzzle.keys(keys)), strict=True) if goal]
    distances = {key: min(found) for key, found in _distances_to(puzzle.successors, goals).items()}
    assert {key: int(row["distance"]) for key, row in rows.items()} == distances
    for key, row in rows.items():
        nearer = [after for after in puzzle.successors(key) if distances[after] < distances[key]]
        assert row["configuration"] == puzzle.render(key)
        assert row["next"] == (f"{min(nearer):#0{len(row['key'])}x}" if nearer else "")
        assert row["move"] == (puzzle.describe_move(key, min(nearer)) if nearer else "")


def _distances_to(successors: Any, goals: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for goal in goals:
        for key, distance in reference_distances(successors, goal).items():
            found.setdefault(key, []).append(distance)
    return found


def test_the_table_is_read_by_the_javascript_of_the_docs(usual_run: Run, browser: Browser, tmp_path: Path) -> None:
    usual_run.export_play(tmp_path / "klotski.csv")
    (program,) = READER.findall((ROOT / "docs" / "how-to" / "hand-on.md").read_text(encoding="utf-8"))
    context = browser.new_context()
    page, said = context.new_page(), list[str]()
    page.on("console", lambda message: said.append(message.text))
    context.route("http://files/*", lambda route: route.fulfill(path=tmp_path / Path(route.request.url).name))
    context.route("http://files/", lambda route: route.fulfill(body="<title>files</title>", content_type="text/html"))
    page.goto("http://files/")
    page.evaluate(f"async () => {{ {program} }}")
    context.close()
    assert [int(line.split()[0]) for line in said[:-1]] == list(range(116, 0, -1))
    assert usual_run.puzzle.is_goal(usual_run.puzzle.keys([usual_run.puzzle.parse(said[-1])]))[0]


def test_a_page_has_the_name_of_a_known_board_with_its_metric_alone(board: Run, tmp_path: Path) -> None:
    board.export(tmp_path / "other.html")
    assert "<title>Pennant" not in (tmp_path / "other.html").read_text("utf-8")
    with explore("sliding", {"goal": "A@4,1", "metric": "finger"}, start=START, data=tmp_path) as run:
        run.export(tmp_path / "known.html")
    assert "<title>Pennant (L. W. Hardy 1909)" in (tmp_path / "known.html").read_text("utf-8")


def test_what_cannot_be_handed_on_is_refused(small_run: Run, board: Run, tmp_path: Path) -> None:
    with pytest.raises(HakoiriError, match="has no goal among its configurations"):
        save_player(small_run, tmp_path / "small.html")
    with pytest.raises(HakoiriError, match=r"cannot write perfect play to 'x\.npz': the name must end in \.csv"):
        board.export_play("x.npz")
    with pytest.raises(HakoiriError, match="layers does not apply"):
        board.export(tmp_path / "puzzle.html", layers=3)
    assert list(tmp_path.iterdir()) == []


def test_tables_of_the_site_are_sorted_and_narrowed(browser: Browser, tmp_path: Path) -> None:
    """By numbers with marks, and by words with numbers in them; what has no number comes last."""
    cells = [(f"ring-{each}", f"{each * 1_000:,} ✓" if each % 7 else "") for each in (*range(30, 10, -1), *range(10))]
    rows = "".join(f"<tr><td>{name}</td><td>{count}</td></tr>" for name, count in cells)
    table = f"<table><thead><tr><th>space</th><th>count</th></tr></thead><tbody>{rows}</tbody></table>"
    script = (ROOT / "docs" / "sort.js").read_text(encoding="utf-8")
    page_text = f"<div class=md-typeset>{table}</div><script>{script}</script>"
    (tmp_path / "page.html").write_text(page_text, encoding="utf-8")
    page = browser.new_page()
    page.goto(f"file://{tmp_path / 'page.html'}")

    def shown(column: int) -> list[str]:
        return page.locator(f"tbody tr:visible td:nth-child({column})").all_inner_texts()

    page.get_by_role("button", name="count").click()
    counts = [int(text.removesuffix(" ✓").replace(",", "")) for text in shown(2) if text]
    assert counts == sorted(counts) and shown(2)[-5:] == [""] * 5
    page.get_by_role("button", name="space").click()
    assert shown(1) == [f"ring-{each}" for each in sorted([*range(30, 10, -1), *range(10)])]
    page.get_by_role("button", name="space").press("Enter")
    assert shown(1)[0] == "ring-30"
    assert page.get_by_role("columnheader", name="space").get_attribute("aria-sort") == "descending"
    page.get_by_role("searchbox").fill("RING 8,000")
    assert shown(1) == ["ring-18", "ring-8"]
