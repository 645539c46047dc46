"""The editor of boards: pieces, walls and a goal by mouse, finger and keys, and what it says meanwhile."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.hakoiri.web.browser.conftest import FAMILY, NARROW, WIDE, Site, address_of, both

pytestmark = [pytest.mark.ci_slow, pytest.mark.browser]
HAKOIRI = "#/new/sliding?start=ABBC/ABBC/DEEF/DGHF/I..J&goal=B@4,2"


def drag(page: Page, *cells: tuple[int, int], columns: int = 4) -> None:
    """Press on the first cell, by row and column, and drag over the others."""
    for number, (row, column) in enumerate(cells):
        box = page.locator(".cell").nth((row - 1) * columns + column - 1).bounding_box()
        assert box
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
        if not number:
            page.mouse.down()
    page.mouse.up()


def tool(page: Page, name: str) -> None:
    page.locator(".switch").get_by_text(name, exact=True).click()


@both
def test_a_board_is_drawn_solved_undone_linked_and_run(page: Page) -> None:
    page.goto("/#/new/sliding")
    verdict, text = page.locator(".verdict"), page.get_by_label("Board (required)")
    drag(page, (1, 2), (2, 3))
    expect(verdict).to_contain_text("No goal yet · 12 configurations, the farthest 4 moves away")
    drag(page, (3, 1), (4, 1))
    drag(page, (5, 3))
    tool(page, "Wall")
    drag(page, (5, 4), (4, 4))
    tool(page, "Goal")
    drag(page, (1, 2), (4, 2))
    expect(page.locator(".exit")).to_have_count(2)
    expect(page.locator("#option-goal")).to_have_value("A@4,2")
    expect(text).to_have_value(".AA.\n.AA.\nB...\nB..#\n..C#")
    expect(verdict).to_contain_text("Solvable in 5 moves · 1,092 configurations")
    page.get_by_role("button", name="Undo").click()
    expect(verdict).to_contain_text("No goal yet")
    page.get_by_role("button", name="Redo").click()
    expect(verdict).to_contain_text("Solvable in 5 moves")
    tool(page, "Move")
    drag(page, (3, 1), (2, 1))
    expect(text).to_have_value(".AA.\nBAA.\nB...\n...#\n..C#")
    tool(page, "Erase")
    drag(page, (5, 3))
    expect(text).to_have_value(".AA.\nBAA.\nB...\n...#\n...#")
    expect(verdict).to_contain_text("Solvable in 3 moves")
    page.reload()
    expect(verdict).to_contain_text("Solvable in 3 moves")
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator(".facts")).to_contain_text("3 moves")
    page.get_by_role("link", name="Analyse", exact=True).click()
    page.get_by_role("link", name="Edit the board").click()
    expect(verdict).to_contain_text("Solvable in 3 moves")


def test_a_drag_is_a_rectangle_with_alt_any_form_and_keys_undo(page: Page) -> None:
    page.goto("/#/new/sliding")
    text = page.get_by_label("Board (required)")
    drag(page, (1, 1), (2, 2), (3, 2))
    expect(text).to_have_value("AA..\nAA..\nAA..\n....\n....")
    page.keyboard.down("Alt")
    drag(page, (1, 3), (2, 3), (2, 4))
    page.keyboard.up("Alt")
    expect(text).to_have_value("AAB.\nAABB\nAA..\n....\n....")
    drag(page, (3, 3), (1, 4))
    expect(text).to_have_value("AAB.\nAABB\nAAC.\n....\n....")
    page.locator(".draft").focus()
    for _ in range(2):
        page.keyboard.press("Control+z")
    expect(text).to_have_value("AA..\nAA..\nAA..\n....\n....")
    page.keyboard.press("Control+y")
    expect(text).to_have_value("AAB.\nAABB\nAA..\n....\n....")


@both
def test_a_drawn_board_is_made_harder_named_and_undone(page: Page) -> None:
    """The generator is filled from the drawing with its walls."""
    page.goto("/#/new/sliding?start=AA.B/AA.C/DD../..%23%23&goal=A@2,3")
    verdict, text = page.locator(".verdict"), page.get_by_label("Board (required)")
    expect(verdict).to_contain_text("Solvable in")
    before, moves = text.input_value(), int(verdict.inner_text().split()[2])
    page.get_by_role("button", name="Make it harder").click()
    page.get_by_role("button", name=re.compile(r"^Stop \(.*[1-9]")).click()
    expect(text).not_to_have_value(before)
    expect(page.get_by_text(re.compile(f"The same pieces, started elsewhere: .* instead of {moves}"))).to_be_visible()
    assert "hunt" not in {run["kind"] for run in page.request.get("/api/runs?puzzle=sliding").json()["runs"]}
    expect(verdict).not_to_contain_text(f"Solvable in {moves} move")
    assert int(re.findall(r"Solvable in (\d+)", verdict.inner_text())[0]) > moves
    assert text.input_value().endswith("##")
    page.get_by_role("button", name="Undo").click()
    expect(text).to_have_value(before)
    page.get_by_label("Title").fill("Corner")
    page.get_by_label("Author").fill("Somebody")
    page.get_by_label("Find boards of a given difficulty").check()
    for name, value in (("size", "..../..../..../..##"), ("pieces", "2x2:1 1x1:2 2x1:1"), ("goal", "2x2@2,3")):
        expect(page.locator(f"#generate-{name}")).to_have_value(value)
    page.get_by_label("Find all configurations that the start can reach").check()
    expect(page).to_have_url(re.compile("title=Corner"))
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="Corner, by Somebody")).to_be_visible()


def test_pieces_have_the_same_colours_where_they_are_drawn_and_where_they_are_played(page: Page) -> None:
    page.goto(f"/{HAKOIRI}")
    expect(page.locator(".verdict")).to_contain_text("Solvable")
    drawn = fills(page)
    assert set(drawn) == set("ABCDEFGHIJ") and len(set(drawn.values())) == 4
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("link", name="Analyse", exact=True).click()
    expect(page.locator(".distance")).to_contain_text("to the goal")
    assert fills(page) == drawn


def fills(page: Page) -> dict[str, str]:
    """Return the colour of each piece on the first board of a page, by its letter."""
    found: dict[str, str] = page.locator("main svg").first.evaluate(
        """board => Object.fromEntries([...board.querySelectorAll("g")]
        .map(group => [group.querySelector("text"), group.querySelector("rect")])
        .filter(([text, rect]) => text && rect).map(([text, rect]) => [text.textContent,
        getComputedStyle(rect).fill]))"""
    )
    return found


def test_a_board_of_any_size_is_begun_and_cleared(page: Page) -> None:
    """Enter in a size makes that size and no run; pieces that do not fit are taken off."""
    page.goto(f"/{HAKOIRI}")
    text, verdict = page.get_by_label("Board (required)"), page.locator(".verdict")
    expect(verdict).to_contain_text("Solvable in 116 moves")
    page.get_by_role("spinbutton", name="Columns").fill("3")
    page.get_by_role("spinbutton", name="Columns").press("Enter")
    expect(text).to_have_value("ABB\nABB\nDEE\nDGH\nI..")
    expect(page.locator(".cell")).to_have_count(15)
    page.get_by_role("spinbutton", name="Rows").fill("300")
    page.get_by_role("spinbutton", name="Rows").press("Enter")
    expect(page.get_by_role("spinbutton", name="Rows")).to_have_value("5")
    page.get_by_role("button", name="Clear").click()
    expect(text).to_have_value("")
    expect(verdict).to_be_empty()
    page.get_by_role("button", name="Undo").click()
    expect(verdict).to_contain_text("No goal yet")
    expect(page).to_have_url(re.compile("new/sliding"))


def test_keys_draw_too(page: Page) -> None:
    page.goto("/#/new/sliding")
    page.locator(".draft").focus()
    for key in ("Space", "ArrowRight", "Space"):
        page.keyboard.press(key)
    expect(page.locator("#said")).to_have_text("Row 1 column 2: piece A")
    text, goal = page.get_by_label("Board (required)"), page.locator("#option-goal")
    expect(text).to_have_value("AA..\n....\n....\n....\n....")
    page.get_by_role("radio", name="Move").press("ArrowRight")
    page.locator(".draft").focus()
    for key in ("Space", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    expect(goal).to_have_value("A@3,1")
    page.keyboard.press("Escape")
    expect(goal).to_have_value("")
    page.keyboard.press("z")
    expect(text).to_have_value("")


def test_the_answer_for_a_large_board_follows_each_click(page: Page) -> None:
    """Of 25,955 configurations."""
    page.goto(f"/{HAKOIRI}")
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("Solvable in 116 moves · 25,955 configurations, the farthest 167 moves away")
    tool(page, "Goal")
    drag(page, (5, 1), (5, 2))
    expect(verdict).to_contain_text("any of the 4 pieces of the shape of I")
    for name, said in [("Undo", "Solvable in 116 moves"), ("Redo", "Solvable in 1 move ")] * 3:
        page.get_by_role("button", name=name).click()
        expect(verdict).to_contain_text(said)


def test_a_known_board_is_a_choice_and_a_run_without_end_is_confirmed(page: Page, site: Site) -> None:
    page.goto("/#/new/klotski")
    expect(page.locator(".verdict")).to_contain_text("Solvable in 116 moves")
    page.get_by_label("Puzzle").select_option("century (sliding)")
    expect(page.locator(".verdict")).to_contain_text("Solvable in 111 moves")
    expect(page.locator(".head")).to_contain_text("Winning Ways")
    page.goto("/#/new/tiles?rows=4&columns=4")
    expect(page.locator(".verdict .reason")).to_contain_text("are free")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("Start it all the same?")
    page.get_by_role("button", name="Do not start").click()
    expect(page).to_have_url(re.compile("new/tiles"))


# Boards that runs have found: made from the form, drawn, played in runs of their own, edited, and printed


@pytest.mark.parametrize(
    "page", [pytest.param(WIDE, marks=pytest.mark.slow), NARROW], indirect=True, ids=["wide", "narrow"]
)
def test_boards_are_generated_and_played(page: Page) -> None:
    page.goto("/#/new/sliding?start=AA/BC&goal=A@2,1")
    expect(page.locator(".draft")).to_be_visible()
    page.get_by_label("Find boards of a given difficulty").check()
    expect(page.locator(".draft")).to_be_hidden()
    for hidden in ("Board (required)", "distinct"):
        expect(page.get_by_label(hidden, exact=True)).to_be_hidden()
    assert not Axe().run(page).response["violations"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for label, value in (("size", FAMILY["size"]), ("pieces", FAMILY["pieces"]), ("goal", FAMILY["goal"]),
                         ("empty", FAMILY["empty"]), ("least", "5"), ("most", "40"), ("boards", "2"),
                         ("hunt", "2")):  # fmt: skip
        page.get_by_label(label, exact=True).locator("visible=true").fill(value)
    page.get_by_role("button", name="Start", exact=True).click()
    boards = page.locator(".central figure")
    expect(boards).to_have_count(2)
    expect(page.locator(".state")).to_contain_text("complete")
    # As the run ended: its boards may have changed until then.
    page.reload()
    expect(boards).to_have_count(2)
    generated, moves = address_of(page), boards.first.locator("strong").inner_text()
    page.get_by_role("button", name="Play board 1").click()
    page.get_by_role("link", name="Analyse", exact=True).click()
    expect(page.locator(".distance")).to_have_text(f"{moves.split()[0]}moves to the goal")
    played = address_of(page).partition("?")[0].replace("/board", "/play")
    page.goto(generated)
    page.get_by_role("button", name="Play board 1").click()
    expect(page.locator(".distance")).to_be_visible()
    assert address_of(page).partition("?")[0] == played, "the run that was made before"


def test_a_board_whose_run_was_deleted_is_explored_again(site: Site, browser: Browser) -> None:
    """Its page tells the browser's console of a run that is not found."""
    context = browser.new_context(base_url=site.address)
    page = context.new_page()
    page.goto(f"/?token={site.token}")
    played = set()
    for _ in range(2):
        page.goto(f"/#/runs/{site.family}")
        page.get_by_role("button", name="Play board 2").click()
        page.get_by_role("link", name="Analyse", exact=True).click()
        expect(page.locator(".distance")).to_have_text("23moves to the goal")
        played.add(address_of(page).partition("?")[0])
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    assert len(played) == 2
    context.close()


def test_the_hardest_starts_are_drawn_edited_and_printed(page: Page, site: Site, tmp_path: Path) -> None:
    page.goto(f"/#/runs/{site.family}")
    boards = page.locator(".central figure")
    expect(boards).to_have_count(7)
    moves = [int(words.split()[0]) for words in page.locator(".central strong").all_inner_texts()]
    assert moves == sorted(moves, reverse=True) and moves[0] == 23
    expect(page.locator("h2", has_text="The hardest starts")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="PDF to print").click()
    download.value.save_as(tmp_path / "starts.pdf")
    assert (tmp_path / "starts.pdf").read_bytes().startswith(b"%PDF")
    page.get_by_role("link", name="Edit board 1").click()
    expect(page.locator(".verdict")).to_contain_text("Solvable in 23 moves")
