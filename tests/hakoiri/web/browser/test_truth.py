"""Nothing on the page is untrue or stuck: stopped runs, slow checks, merged images, known boards, cut figures."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.hakoiri.web.browser.conftest import Site

pytestmark = [pytest.mark.ci_slow, pytest.mark.browser]
HAKOIRI = "#/new/sliding?start=ABBC/ABBC/DEEF/DGHF/I..J&goal=B@4,2"


def test_a_run_that_stopped_at_its_first_goal_plays_the_path_it_found(page: Page, site: Site) -> None:
    """Hints lead along it; beside it the distance is unknown until all is explored."""
    page.goto(f"/#/runs/{site.stopped}/board")
    away = page.locator(".distance")
    expect(away).to_have_text("116moves to the goal")
    page.get_by_role("button", name="Hint").click()
    page.get_by_role("button", name="Take the hint").click()
    expect(away).to_have_text("115moves to the goal")
    page.reload()
    expect(away).to_have_text("115moves to the goal")
    page.get_by_role("button", name="Play the solution").click()
    expect(away).to_have_text(re.compile(r"^1(0\d|1[0-3])moves"))
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Start again").click()
    page.get_by_role("button", name="G down").last.click()
    expect(away).to_contain_text("unknown, as the run stopped at its first goal")
    page.get_by_role("link", name="Explore all").click()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator(".facts")).to_contain_text("25,955")
    page.get_by_role("link", name="Analyse", exact=True).click()
    expect(away).to_have_text("116moves to the goal")


def test_a_check_that_takes_long_says_so_and_a_busy_server_is_asked_again(page: Page) -> None:
    page.goto(f"/{HAKOIRI}")
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("Solvable in 116 moves")
    held: list[Route] = []
    page.route("**/api/probe", lambda route: [held.append(route)], times=1)
    with page.expect_request("**/api/probe"):
        page.get_by_label("metric").select_option("straight")
    expect(verdict).to_contain_text("checking …")
    expect(verdict).to_have_class(re.compile("stale"))
    held[0].fulfill(status=503, json={"detail": "another probe is in progress; ask again"})
    expect(verdict).to_contain_text("The server is checking another board")
    expect(verdict).to_contain_text("Solvable in 90 moves")
    expect(verdict).not_to_have_class(re.compile("stale"))


def test_merged_images_are_played_as_they_are_drawn(page: Page, site: Site) -> None:
    """Four pegs can jump into the hole of the usual start; each does, where it is."""
    page.goto(f"/#/runs/{site.pegs}/board")
    expect(page.locator(".move")).to_have_count(4)
    expect(page.locator(".piece.able")).to_have_count(4)
    for peg, row in (("d2", "##*.*##"), ("b4", "*..****"), ("f4", "****..*"), ("d6", "##*.*##")):
        page.get_by_role("button", name=f"{peg} jumps to d4").last.click()
        expect(page.locator(".where")).to_contain_text(row)
        expect(page.locator("#said")).to_contain_text(f"{peg} jumps to d4")
        expect(page.locator(".figures")).to_contain_text("1 played")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".where")).to_contain_text("***.***")


def test_a_known_board_has_its_goal_its_exit_its_car_and_its_metric(page: Page) -> None:
    page.goto("/#/new/sliding")
    page.get_by_label("Puzzle").select_option("rush-hour-51 (sliding)")
    expect(page.locator(".verdict")).to_contain_text("Solvable in 51 moves")
    expect(page.locator("#option-goal")).to_have_value("A@3,5")
    expect(page.locator(".exit")).to_have_count(1)
    expect(page.locator(".draft .target")).to_have_count(6)
    expect(page.locator(".draft .kind-0")).not_to_have_count(0)


def test_a_path_between_the_farthest_counts_to_its_target(page: Page, site: Site) -> None:
    """The list marks the move that is shaded; beside the path another one is found."""
    page.goto(f"/#/runs/{site.counted}/components")
    page.get_by_role("link", name="Play the path of 190 moves").first.click()
    away = page.locator(".distance")
    expect(away).to_have_text("190moves to the target")
    expect(page.locator(".aimed svg")).to_be_visible()
    expect(page.locator(".move.best")).to_have_count(page.locator(".marks .arrow").count())
    page.get_by_role("button", name="Step", exact=True).click()
    expect(away).to_have_text("189moves to the target")
    page.reload()
    expect(away).to_have_text("189moves to the target")
    page.locator(".move:not(.best)").first.click()
    expect(away).to_have_text(re.compile("^1(88|89|90)moves to the target"))


def test_figures_are_whole_axes_are_round_and_no_bar_is_above_them(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.explored}/board")
    page.get_by_text("Statistics of this board").click()
    figure = page.locator(".statistics dd", has_text="4,112,640,000")
    expect(figure).to_be_visible()
    assert figure.evaluate("cell => cell.getClientRects().length && cell.offsetHeight < 40")
    texts = page.locator(".statistics svg text").all_text_contents()
    assert "100" in texts and "101" not in texts
    page.goto(f"/#/runs/{site.explored}")
    levels, bars = page.locator(".histogram .axis line"), page.locator(".histogram .bars")
    expect(bars).to_be_visible()
    assert bars.bounding_box()["y"] >= min(line.bounding_box()["y"] for line in levels.all()) - 1  # type: ignore[index]
    page.goto(f"/#/runs/{site.counted}/components")
    expect(page.get_by_text("20 configurations; 16 of them are here.")).to_be_visible()
