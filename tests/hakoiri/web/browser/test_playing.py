"""The page in a real browser: a run from the form to its diameter, and the board under fingers."""

import re
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Page, expect

from tests.hakoiri.web.browser.conftest import NARROW, WIDE, Site, address_of, both

pytestmark = [pytest.mark.ci_slow, pytest.mark.browser]


def board(page: Page, site: Site, query: str = "") -> None:
    page.goto(f"/#/runs/{site.explored}/board{query}")
    expect(page.locator(".distance")).to_be_visible()


def distance(page: Page, moves: int) -> None:
    expect(page.locator(".distance")).to_have_text(re.compile(rf"^{moves}moves? to the goal"))


def middle(page: Page, piece: str) -> tuple[float, float]:
    box = page.locator(f'.piece[data-piece="{piece}"]').bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@both
def test_a_run_from_the_form_to_its_solution(page: Page, site: Site) -> None:
    """Hakoiri-musume is chosen, counted, seen complete, and one move nearer by a hint."""
    page.goto("/")
    page.get_by_role("link", name="New run").first.click()
    page.get_by_label("Puzzle").select_option("klotski")
    expect(page.locator(".drawn svg")).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator(".state")).to_contain_text("complete")
    expect(page.locator(".facts")).to_contain_text("25,955")
    expect(page.locator(".histogram")).to_have_attribute("aria-label", re.compile("168 layers, the largest with 754"))
    page.get_by_role("link", name="Analyse", exact=True).click()
    distance(page, 116)
    page.get_by_role("button", name="Hint").click()
    expect(page.locator(".figures")).to_contain_text("Hint: I right")
    distance(page, 116)
    page.get_by_role("button", name="Take the hint").click()
    distance(page, 115)
    page.get_by_role("button", name="Undo").click()
    distance(page, 116)
    page.get_by_role("button", name=re.compile("^G down")).last.click()
    distance(page, 117)


@both
def test_a_piece_follows_the_finger_along_legal_moves(page: Page, site: Site) -> None:
    """I goes right by two steps of one drag and not into other pieces; dragged back, its moves are taken back."""
    board(page, site)
    distance(page, 116)
    x, y = middle(page, "I")
    step = middle(page, "J")[0] - x
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + step / 3, y - 20, steps=8)
    expect(page.locator(".where")).to_contain_text("/.I.J")
    page.mouse.move(x + step, y + 40, steps=8)
    expect(page.locator(".where")).to_contain_text("/..IJ")
    page.mouse.move(x, y, steps=12)
    expect(page.locator(".where")).to_contain_text("/I..J")
    page.mouse.up()
    distance(page, 116)
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_a_move_that_cannot_be_asked_for_leaves_the_board_as_it_was(page: Page, site: Site) -> None:
    board(page, site)
    page.route("**/positions/**", lambda route: route.abort())
    page.get_by_role("button", name=re.compile("^G down")).last.click()
    expect(page.get_by_role("alert")).to_contain_text("the server does not answer")
    page.unroute_all()
    distance(page, 116)
    page.get_by_role("button", name=re.compile("^G down")).last.click()
    distance(page, 117)
    expect(page.get_by_role("alert")).to_be_hidden()


def test_a_tap_moves_a_piece_that_has_one_way_and_offers_the_ways_of_others(page: Page, site: Site) -> None:
    # Or the piece would be pressed while it glides.
    page.emulate_media(reduced_motion="reduce")
    board(page, site)
    page.mouse.click(*middle(page, "G"))
    distance(page, 117)
    page.mouse.click(*middle(page, "G"))
    expect(page.locator(".ghost")).to_have_count(2)
    ghost = page.locator(".ghost").first.bounding_box()
    assert ghost
    page.mouse.click(ghost["x"] + ghost["width"] / 2, ghost["y"] + ghost["height"] / 2)
    expect(page.locator(".ghost")).to_have_count(0)
    expect(page.locator(".figures")).to_contain_text("2 played")


def test_the_keyboard_plays_too(page: Page, site: Site) -> None:
    """A piece says what it can do, keeps the focus, and says so where it cannot follow an arrow."""
    board(page, site)
    piece = page.locator('.piece[data-piece="I"]')
    expect(piece).to_have_attribute("aria-label", "Piece I, can move: I right")
    piece.focus()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#said")).to_have_text("Piece I cannot go there.")
    distance(page, 116)
    page.keyboard.press("ArrowRight")
    distance(page, 115)
    expect(page.get_by_role("button", name=re.compile("^Piece I, can move: "))).to_be_focused()
    page.keyboard.press("z")
    distance(page, 116)
    page.keyboard.press("h")
    expect(page.locator("#said")).to_have_text("Hint: I right")
    page.keyboard.press("h")
    distance(page, 115)
    expect(page.locator("#said")).to_contain_text("115 to the goal")


@both
def test_mistakes_are_marked_in_the_curve_counted_and_said(page: Page, site: Site) -> None:
    board(page, site)
    page.get_by_role("button", name=re.compile("^G down")).last.click()
    distance(page, 117)
    expect(page.locator(".figures")).to_contain_text("1 played · 1 mistake")
    expect(page.locator("#said")).to_have_text("G down. A mistake. 117 to the goal.")
    expect(page.get_by_role("img", name="over 1 move played. Mistake, move 1: G down")).to_be_visible()
    page.get_by_role("button", name=re.compile("^G up")).last.click()
    expect(page.locator(".figures")).to_contain_text("2 played · 1 mistake")
    expect(page.locator("#said")).to_have_text("G up. 116 to the goal.")
    expect(page.locator(".trace .mark")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".figures")).to_contain_text("0 played")
    expect(page.locator(".figures")).not_to_contain_text("mistake")


def test_a_move_after_which_no_goal_can_be_reached_is_a_mistake(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.dealt}/board")
    expect(page.locator(".move").first).to_be_visible()
    for played in range(1, 40):
        page.locator(".move").last.click()
        expect(page.locator(".figures")).to_contain_text(f"{played} played")
        if "No way to the goal" in page.locator(".distance").inner_text():
            break
    expect(page.locator(".figures")).to_contain_text("mistake")
    expect(page.locator("#said")).to_contain_text("A mistake. No way to the goal.")
    expect(page.locator(".trace .mark").last).to_be_visible()


@both
def test_the_statistics_are_those_of_the_board_that_is_shown(page: Page, site: Site) -> None:
    """They are asked for when the panel is opened, and pieces have the letters that the player sees."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/statistics?" in request.url else None)
    board(page, site)
    figures = page.locator(".statistics dd")
    page.get_by_role("button", name=re.compile("^I right")).last.click()
    distance(page, 115)
    assert asked == []
    page.get_by_text("Statistics of this board").click()
    expect(figures.first).to_have_text("115")
    page.get_by_role("button", name="Undo").click()
    expect(figures).to_have_text(["116", "4,112,640,000", "22", "3.36", "25,955", "498", "none"])
    expect(page.get_by_label(re.compile("Good moves by step .*: 116 steps, the largest with 67"))).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("window.innerWidth")
    page.route("**/statistics?*", lambda route: route.fulfill(json=route.fetch().json() | {"idle": "G"}))
    page.get_by_role("button", name=re.compile("^G down")).last.click()
    expect(figures.first).to_have_text("117")
    # The server calls it G, the first single cell in the order of reading.
    expect(figures.last).to_have_text("H")


def test_a_link_leads_to_its_configuration_and_a_film_to_the_goal(page: Page, site: Site) -> None:
    """From the last but two the film plays the rest by itself."""
    board(page, site)
    answer = page.request.get(f"/api/runs/{site.explored}/path?to=goal").json()
    assert answer["length"] == 116
    board(page, site, f"?at={answer['configurations'][-3]}")
    distance(page, 2)
    page.get_by_label("Speed of the film").select_option("fast")
    page.get_by_role("button", name="Play the solution").click()
    expect(page.locator(".distance")).to_have_text("Solved")
    assert "at=" in address_of(page)
    page.reload()
    expect(page.locator(".distance")).to_have_text("Solved")


@both
def test_runs_are_filtered_sorted_and_nested(page: Page, site: Site) -> None:
    """The distances of a run to its goals are on its card."""
    page.goto(f"/#/runs/{site.explored}/hardest")
    expect(page.get_by_role("heading", name="126 moves to the nearest goal")).to_be_visible()
    page.goto("/")
    expect(page.locator(".run", has_text=site.explored).locator(".derived")).to_contain_text("hardest")
    expect(page.locator(".run h2", has_text="Magic stars")).to_have_count(1)
    page.get_by_role("searchbox").fill("census klotski")
    expect(page.locator(".run")).to_have_count(1)
    page.get_by_role("searchbox").fill("klotski")
    expect(page.locator(".run h2", has_text="Magic stars")).to_have_count(0)
    page.get_by_role("searchbox").fill("no such words")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".run h2", has_text="Magic stars")).to_have_count(1)
    page.get_by_role("searchbox").fill("")
    page.get_by_label("Order").select_option("largest first")
    # Other tests may have left one of 4 x 4 tiles.
    expect(page.locator(".run h2").first).to_have_text(re.compile("^Sliding (blocks|tiles)$"))


def test_a_run_is_saved_as_a_file(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.explored}")
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    assert saved.value.suggested_filename == f"{site.explored}.csv"
    assert len(saved.value.path().read_text(encoding="utf-8").splitlines()) == 25_956
    page.get_by_text("Cite this result").click()
    expect(page.locator("details pre")).to_contain_text(f"@misc{{hakoiri-{site.explored},")


def test_a_board_is_handed_on(page: Page, site: Site, tmp_path: Path) -> None:
    """As a link and what embeds it, and as files: a page to play, a film, pictures; on paper the board stays.

    Its letters are those that were played: the server calls H the first of the single cells here.
    """
    board(page, site)
    page.get_by_role("button", name=re.compile("^G down")).last.click()
    distance(page, 117)
    played = "ABBC/ABBC/DEEF/D.HF/IG.J"
    page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Link")).to_have_value(page.url)
    assert page.url.endswith(f"?at={played}")
    assert lettered(page, ".shared .picture > g") == lettered(page, ".playable .piece")
    embedded = f"{site.explored}.html#/runs/{site.explored}/play?at={played}"
    expect(dialog.get_by_label("Embed")).to_have_value(re.compile(f'^<iframe src="{re.escape(embedded)}" '))
    begins = {"SVG": b"<svg ", "PNG": b"\x89PNG", "Film (GIF)": b"GIF89a", "Page to play (HTML)": b"<!DOCTYPE html>"}
    for name, first in begins.items():
        with page.expect_download() as download:
            dialog.get_by_role("button", name=name).click()
        assert download.value.path().read_bytes().startswith(first)
        assert download.value.suggested_filename.startswith(f"{site.explored}.")
        download.value.save_as(tmp_path / download.value.suggested_filename)
    dialog.get_by_role("button", name="Close").click()
    page.emulate_media(media="print")
    expect(page.locator(".stage svg")).to_be_visible()
    for hidden in (".top", ".panel", ".tabs"):
        expect(page.locator(hidden)).to_be_hidden()
    page.goto(f"file://{tmp_path / embedded}")
    expect(page.locator(".where code")).to_have_text(played)
    expect(page.locator(".distance")).to_have_text("0moves played")


def lettered(page: Page, pieces: str) -> dict[str, str]:
    """Return the letters of the pieces of a board by where they are."""
    found: dict[str, str] = page.evaluate(
        """selector => {
          const pieces = [...document.querySelectorAll(selector)].filter(piece => piece.querySelector("text"));
          const place = piece => piece.getAttribute("transform") ?? piece.style.transform;
          return Object.fromEntries(pieces.map(piece => [place(piece).match(/[\\d.]+/g).join(), piece.textContent]));
        }""",
        pieces,
    )
    return found


def test_a_link_to_anywhere_leads_back_to_the_start(page: Page, site: Site) -> None:
    board(page, site, "?at=ABBC/ABBC/DEEF/DGHF/.I.J")
    distance(page, 115)
    page.get_by_role("button", name="Start again").click()
    distance(page, 116)
    expect(page.get_by_role("button", name="Start again")).to_be_disabled()


@both
def test_the_hardest_positions_and_the_layers_are_boards_to_play(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.explored}")
    page.get_by_role("link", name="Hardest").click()
    expect(page.get_by_role("heading", name="126 moves to the nearest goal: 4 configurations")).to_be_visible()
    expect(page.locator(".central svg")).to_have_count(4)
    page.locator(".central").get_by_role("link", name="Play", exact=True).first.click()
    expect(page.locator(".distance")).to_have_text("0moves played")
    page.get_by_role("link", name="Analyse", exact=True).click()
    distance(page, 126)
    page.get_by_role("link", name="Overview").click()
    bars = page.locator(".histogram")
    expect(bars).to_be_visible()
    box = bars.bounding_box()
    assert box
    bars.click(position={"x": box["width"] - 2, "y": 50})
    # On a narrow screen a bar is 1.6 pixels wide.
    expect(page.get_by_role("heading", name=re.compile("Layer 16[67]: [48] configurations"))).to_be_visible()
    page.goto(f"/#/runs/{site.explored}/layer?n=167")
    expect(page.locator(".central svg")).to_have_count(4)
    page.get_by_role("link", name="Before").click()
    expect(page.get_by_role("heading", name="Layer 166: 8 configurations")).to_be_visible()
    page.goto(f"/#/runs/{site.explored}/layer?n=57")
    page.get_by_role("button", name="More").click()
    expect(page.locator(".central svg")).to_have_count(24)


@both
def test_the_components_with_their_diameter_and_its_pairs(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.counted}/components")
    facts = page.locator(".facts").first
    expect(facts).to_contain_text("190")
    expect(page.locator(".pair")).to_have_count(4)
    expect(page.locator(".pair svg")).to_have_count(8)
    expect(page.locator(".central svg")).to_have_count(6)
    page.locator(".central + button").click()
    expect(page.locator(".central svg")).to_have_count(16)
    expect(page.get_by_label(re.compile("by eccentricity: 77 eccentricities"))).to_be_visible()
    expect(page.get_by_role("heading", name="898 components")).to_be_visible()
    page.get_by_role("button", name="diameter").click()
    expect(page.locator('[aria-sort="descending"]')).to_have_text(re.compile("diameter"))
    page.get_by_role("link", name="Play the path of 190 moves").first.click()
    expect(page.get_by_role("button", name="Play the path of 190 moves")).to_be_enabled()
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".figures")).to_contain_text("1 played")
    page.get_by_role("button", name="Play the path of 190 moves").click()
    expect(page.locator(".figures")).to_contain_text(re.compile(r"\b[3-6] played"))
    page.get_by_role("button", name="Pause").click()
    at = parse_qs(address_of(page).partition("?")[2])["at"][0]
    first = page.request.get(f"/api/runs/{site.counted}/components/1/diameter").json()["pairs"][0]
    left = page.request.get(f"/api/runs/{site.counted}/distance", params={"from": at, "to": first[1]}).json()
    assert 180 < left["length"] <= 187


def test_strong_components_where_moves_lead_one_way(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.dealt}/components")
    expect(page.locator(".facts")).to_contain_text("11,209")
    expect(page.locator(".pair svg")).to_have_count(8)
    page.get_by_role("button", name="26 more").click()
    expect(page.locator(".pair")).to_have_count(30)
    expect(page.get_by_role("row", name="1 3,456 25")).to_be_visible()
    page.get_by_role("link", name="Play the path of 25 moves").click()
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".figures")).to_contain_text("1 played")


def test_a_long_question_is_stopped_and_asked_again(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.large}/components")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("alert")).to_contain_text("it was stopped")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".facts")).to_contain_text("202")


def test_a_box_is_tilted_by_a_swipe_and_by_keys(page: Page, site: Site) -> None:
    """Nakuron: all balls roll, so no piece is dragged."""
    page.goto(f"/#/runs/{site.tilted}/board")
    words = page.locator(".move span:first-child")
    expect(words.first).to_be_visible()
    assert {text.split(",")[0] for text in words.all_text_contents()} <= {"up", "right", "down", "left"}
    box = page.locator(".playable").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 120, y + 5, steps=5)
    page.mouse.up()
    expect(page.locator("#said")).to_contain_text("right")
    page.keyboard.press("ArrowUp")
    expect(page.locator("#said")).to_contain_text("up")
    expect(page.locator(".figures")).to_contain_text("2 played")
    # Arrows that tilt do not scroll, whether or not they move anything.
    page.set_viewport_size(WIDE | {"height": 400})
    assert page.evaluate("scrollTo(0, 0), document.documentElement.scrollHeight > innerHeight + 100")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("page", [NARROW], indirect=True, ids=["narrow"])
def test_fingers_tap_and_drag(page: Page, site: Site) -> None:
    """Touches as a phone sends them: the page does not scroll away under a piece."""
    board(page, site)
    page.touchscreen.tap(*middle(page, "I"))
    distance(page, 115)
    x, y = middle(page, "J")
    finger = page.context.new_cdp_session(page)
    step = page.locator('.piece[data-piece="J"]').bounding_box()
    assert step

    def touch(kind: str, *points: tuple[float, float]) -> None:
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    touch("touchStart", (x, y))
    for part in range(1, 11):
        touch("touchMove", (x - step["width"] * 1.1 * part / 10, y - 3))
    touch("touchEnd")
    expect(page.locator(".where")).to_contain_text("/.IJ.")
    x, y = middle(page, "F")
    touch("touchStart", (x, y))
    for part in range(1, 11):
        touch("touchMove", (x + 2, y + step["height"] * 1.1 * part / 10))
    touch("touchEnd")
    expect(page.locator(".where")).to_contain_text("DEE./DGHF/.IJF")
    assert page.evaluate("scrollY") == 0


def test_the_best_play_that_a_run_has_proved_is_replayed(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.tilted}")
    page.get_by_role("link", name="Best play").click()
    expect(page.locator(".figures")).to_contain_text("proved optimal")
    play = page.request.get(f"/api/runs/{site.tilted}/play").json()
    for board in play["boards"][1:]:
        page.get_by_role("button", name="Step").click()
        expect(page.locator(".distance")).to_have_text(f"{board['score']} points · {board['move']}")
    expect(page.get_by_role("button", name="Step")).to_be_disabled()
    assert play["boards"][-1]["score"] == play["score"]


def test_a_best_play_is_replayed_and_stars_are_drawn(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.optimised}/best")
    expect(page.locator(".distance")).to_contain_text("0 points · start")
    page.get_by_role("button", name="Step").click()
    expect(page.locator(".distance")).not_to_contain_text("start")
    page.get_by_label("Board", exact=True).press("End")
    expect(page.get_by_role("button", name="Step")).to_be_disabled()
    points = re.search(r"([\d,]+) points? in", page.locator(".figures").inner_text())
    assert points
    expect(page.locator(".distance strong")).to_have_text(points[1])
    page.goto(f"/#/runs/{site.stars}/solutions")
    expect(page.locator(".stars figure")).to_have_count(12)
    page.get_by_role("button", name="More").click()
    expect(page.locator(".stars figure")).to_have_count(48)
