"""Boards that runs have found: made from the form, drawn, played in runs of their own, edited, and printed."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.hakoiri.web.browser.conftest import FAMILY, NARROW, WIDE, Site, address_of

pytestmark = [pytest.mark.ci_slow, pytest.mark.browser]
both = pytest.mark.parametrize("page", [WIDE, NARROW], indirect=True, ids=["wide", "narrow"])


@both
def test_boards_are_generated_and_played(page: Page) -> None:
    page.goto("/#/new/sliding?start=AA/BC&goal=A@2,1")
    expect(page.locator(".draft")).to_be_visible()
    page.get_by_label("find boards of a given difficulty").check()
    expect(page.locator(".draft")).to_be_hidden()
    for hidden in ("Board (required)", "distinct"):
        expect(page.get_by_label(hidden, exact=True)).to_be_hidden()
    assert not Axe().run(page).response["violations"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for label, value in (("columns x rows", FAMILY["size"]), ("pieces", FAMILY["pieces"]), ("goal", FAMILY["goal"]),
                         ("empty cells", FAMILY["empty"]), ("fewest moves, from", "5"), ("to", "40"), ("boards", "2"),
                         ("variations of each", "2")):  # fmt: skip
        page.get_by_label(label, exact=True).locator("visible=true").fill(value)
    page.get_by_role("button", name="Start", exact=True).click()
    boards = page.locator(".central figure")
    expect(boards).to_have_count(2)
    expect(page.locator(".state")).to_contain_text("complete")
    generated, moves = address_of(page), boards.first.locator("strong").inner_text()
    page.get_by_role("button", name="Play board 1").click()
    expect(page.locator(".distance")).to_have_text(f"{moves.split()[0]}moves to the goal")
    played = address_of(page).partition("?")[0]
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
