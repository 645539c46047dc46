"""A new visitor: the board of the landing page, all puzzles, play with its answers hidden, keys, charts, refusals."""

import re
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.hakoiri.web.browser.conftest import NARROW, Site, address_of, both

pytestmark = [pytest.mark.ci_slow, pytest.mark.browser]


@both
def test_from_the_address_to_the_first_moved_piece_without_a_click(page: Page, site: Site) -> None:
    # The map is at once where it would move to.
    page.emulate_media(reduced_motion="reduce")
    page.goto("/")
    piece = page.locator('.hero .piece[data-piece="I"]')
    expect(piece).to_have_class(re.compile("able"))
    box = piece.bounding_box()
    assert box and box["y"] + box["height"] < page.viewport_size["height"]  # type: ignore[index]
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 1.6, box["y"] + box["height"] / 2, steps=8)
    page.mouse.up()
    told = page.locator(".hero .where")
    expect(told).to_have_text("1 move played, 115 to the goal")
    expect(page.locator(".seen figcaption")).to_contain_text("Each dot is one of the 25,955 positions of this board")
    # A press in the middle of the map, which is around the only move, plays from there.
    seen = page.locator(".hero canvas").bounding_box()
    assert seen
    page.locator(".hero canvas").click(position={"x": seen["width"] / 2, "y": seen["height"] / 2})
    expect(told).to_have_text(re.compile(r"^0 moves played, \d+ to the goal$"))
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".distance")).to_have_text("0moves played")
    expect(page.locator(".figures")).to_contain_text("Slide pieces until the large one is at the exit below")


#: Pixels of the map in the colour of steps that lead away from the goal, and of those that lead nearer.
PAINTED = """() => {
  const canvas = document.querySelector(".hero canvas"), {width, height} = canvas;
  const pen = new OffscreenCanvas(width, height).getContext("2d", {willReadFrequently: true});
  pen.drawImage(canvas, 0, 0);
  const {stroke, fill} = getComputedStyle(canvas), {data} = pen.getImageData(0, 0, width, height);
  return [stroke, fill].map(colour => {
    const [red, green, blue] = colour.match(/\\d+/g).map(Number);
    let count = 0;
    for (let at = 0; at < data.length; at += 4)
      count += data[at] === red && data[at + 1] === green && data[at + 2] === blue;
    return count;
  });
}"""


def test_a_thread_grows_on_the_map_as_a_piece_is_dragged_red_where_it_leads_away(page: Page, site: Site) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto("/")
    told, piece = page.locator(".hero .where"), page.locator('.hero .piece[data-piece="I"]')
    expect(piece).to_have_class(re.compile("able"))
    expect(page.locator(".hero canvas")).to_have_js_property("width", page.evaluate(
        "Math.round(document.querySelector('.hero canvas').getBoundingClientRect().width)"))  # fmt: skip
    box = piece.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for played, farther in ((1, False), (2, True)):
        page.mouse.move(x + played * box["width"] * 1.12, y, steps=8)
        expect(told).to_have_text(re.compile(f"^{played} moves? played, {115 + farther} to the goal"))
        page.evaluate("() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
        away, nearer = page.evaluate(PAINTED)
        assert (away > 10, nearer > 10) == (farther, True), (played, away, nearer)
    page.mouse.up()


def test_puzzles_and_known_boards_are_pictures_with_fewest_moves_and_sizes(page: Page, site: Site) -> None:
    page.goto("/#/browse")
    card = page.locator(".run", has_text="Hakoiri-musume, Huarong Dao")
    card.scroll_into_view_if_needed()
    expect(card.locator("svg.picture")).to_be_visible()
    expect(card).to_contain_text("116 if one cell is one move")
    expect(page.locator(".run", has_text="Towers of Hanoi").first).to_contain_text("27 positions")
    page.get_by_role("button", name="Play Towers of Hanoi").click()
    expect(page.locator(".distance")).to_have_text("0moves played")


@both
def test_play_hides_answers_keeps_the_best_and_shows_the_fewest_at_the_end(page: Page, site: Site) -> None:
    way = page.request.get(f"/api/runs/{site.explored}/path?to=goal").json()
    page.goto(f"/#/runs/{site.explored}/play?at={way['configurations'][-3]}")
    expect(page.locator(".distance")).to_have_text("0moves played")
    for hidden in (".trace", ".statistics", ".move.best", ".piece.best", ".marks .arrow", ".move .muted"):
        expect(page.locator(hidden).locator("visible=true")).to_have_count(0)
    for _ in range(2):
        at = parse_qs(address_of(page).partition("?")[2])["at"][0]
        position = page.request.get(f"/api/runs/{site.explored}/positions/{at}").json()
        # On the page pieces keep the letters that they are asked for by.
        letters = dict(zip(position["configuration"], at, strict=True))
        name, _, course = position["moves"][0]["move"].partition(" ")
        page.locator(".move", has_text=re.compile(rf"^{letters[name]} {course}$")).first.click()
        expect(page.locator(".where code")).not_to_have_text(at)
    expect(page.locator(".done")).to_contain_text("Solved in 2 moves. No way is shorter.")
    expect(page.locator(".done")).to_contain_text("Your best: 2 moves")
    page.get_by_role("link", name="Analyse these moves").click()
    expect(page.locator(".figures")).to_contain_text("2 played")
    page.locator(".trace svg").click(position={"x": 40, "y": 20})
    expect(page.locator(".figures")).to_contain_text("0 played")
    page.get_by_role("link", name="Play", exact=True).click()
    expect(page.locator(".done")).to_contain_text("Your best: 2 moves")


def test_a_run_shows_what_it_can_answer_and_a_large_one_hints(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.kept}")
    tabs = page.locator(".tabs a")
    expect(tabs).to_have_text(["Overview", "Play", "Analyse", "Hardest"])
    expect(page.get_by_role("button", name="PDF to print")).to_be_visible()
    expect(page.get_by_role("button", name="CSV")).to_have_count(0)
    page.goto(f"/#/runs/{site.kept}/board?at=12./345")
    expect(page.locator(".distance")).to_have_text("2moves to the goal")
    expect(page.get_by_role("button", name="Shuffle")).to_have_count(0)
    page.goto(f"/#/runs/{site.large}/play")
    with page.expect_request(re.compile(r"/sample\?n=1&seed=\d+$")):
        page.get_by_role("button", name="Shuffle").click()
    expect(page.get_by_role("button", name="Start again")).to_be_enabled()
    page.get_by_role("button", name="Start again").click()
    expect(page.get_by_role("button", name="Start again")).to_be_disabled()
    page.get_by_role("button", name="Hint").click()
    page.get_by_role("button", name="Take the hint").click()
    expect(page.locator(".distance")).to_have_text("1move played")
    page.goto("/#/new/tiles")
    expect(page.get_by_text("Explore a puzzle size by size")).to_have_count(0)
    page.get_by_text("Further", exact=True).click()
    page.get_by_label("keep").select_option("frontier")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator(".state")).to_contain_text("complete")
    expect(tabs).to_have_text(["Overview", "Hardest"])
    frontier = address_of(page).rpartition("/")[2]
    page.goto("/#/runs")
    for run, plays in ((site.kept, 1), (frontier, 0)):
        expect(page.locator(".run", has_text=run).get_by_role("link", name="Open")).to_be_visible()
        expect(page.locator(".run", has_text=run).get_by_role("link", name="Play", exact=True)).to_have_count(plays)


def test_a_search_from_several_starts_and_one_with_a_bound_are_begun_from_the_form(page: Page, site: Site) -> None:
    page.goto("/#/new/pancakes")
    page.get_by_text("Further", exact=True).click()
    page.get_by_label("starts").fill("1,2,3,4,5,6,7,8\n8,7,6,5,4,3,2,1")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator(".state")).to_contain_text("complete")
    layers = page.request.get(f"/api/runs/{address_of(page).rpartition('/')[2]}/layers").json()["layers"]
    assert (layers[0]["size"], sum(layer["size"] for layer in layers)) == (2, 40_320)
    page.goto("/#/new/pancakes")
    page.get_by_text("Further", exact=True).click()
    page.get_by_label("most", exact=True).locator("visible=true").fill("100")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator(".state")).to_contain_text("complete")
    expect(page.locator(".facts")).to_contain_text("301")


def test_a_board_that_a_link_does_not_name_rightly_is_at_the_start(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.explored}/board?at=AABB")
    expect(page.get_by_role("alert")).to_contain_text("The board is at the start.")
    expect(page.locator(".distance")).to_have_text("116moves to the goal")


def test_the_focus_is_never_lost_and_a_sheet_names_the_keys(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.explored}/board")
    page.locator(".move").first.click()
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_enabled()
    undo.focus()
    page.keyboard.press("Enter")
    expect(undo).to_be_disabled()
    expect(page.get_by_role("button", name="Hint")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_contain_text("a hint; again: makes the move")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


@pytest.mark.parametrize("page", [NARROW], indirect=True, ids=["narrow"])
def test_a_phone_has_hint_and_undo_in_reach_one_line_of_tabs_and_no_sideways_scroll(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.explored}/board")
    page.get_by_text("Statistics of this board").scroll_into_view_if_needed()
    for name in ("Hint", "Undo"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport()
    assert page.locator(".tabs").evaluate("tabs => tabs.offsetHeight") < 60
    page.set_viewport_size(ViewportSize(width=320, height=640))
    for address in ("", "browse", "new/klotski", "new/sliding?start=AA/B.", f"runs/{site.explored}"):
        page.goto(f"/#/{address}")
        expect(page.locator("main svg").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, address
    page.set_viewport_size(ViewportSize(width=844, height=390))
    page.goto(f"/#/runs/{site.explored}/board")
    expect(page.locator(".playable")).to_be_in_viewport(ratio=0.95)


def test_a_chart_is_saved_a_run_verified_and_its_terms_explained(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.explored}")
    with page.expect_download() as values:
        page.get_by_role("button", name="Save values").click()
    rows = values.value.path().read_text(encoding="utf-8").splitlines()
    assert rows[:2] == ["layer,configurations", "0,1"] and len(rows) == 169
    with page.expect_download() as picture:
        page.get_by_role("button", name="Save picture").click()
    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text(re.compile(r"^Verified: (\d[\d,]* [a-z ]+(, |; ))+nothing is wrong"))).to_be_visible()
    page.locator("dt").get_by_role("link", name="layers").click()
    expect(page.locator("#term-layer")).to_be_in_viewport()
    page.goto(f"/#/runs/{site.counted}")
    expect(page.get_by_role("img", name="Components, the largest first: 898 components")).to_be_visible()


def test_errors_are_beside_their_field_and_named(page: Page, site: Site, browser: Browser) -> None:
    page.goto("/#/new/sliding?start=AA/B.&goal=Z@9,9")
    expect(page.locator(".field", has=page.locator("#option-goal")).get_by_role("alert")).to_contain_text("goal")
    page.route("**/api/puzzles", lambda route: route.abort())
    page.goto("/#/nowhere")
    expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    page.goto(f"/#/runs/{site.counted}/components?k=abc")
    expect(page.get_by_text(f"run {site.counted} has no component 'abc'")).to_be_visible()
    context = browser.new_context(base_url=site.address)
    other = context.new_page()
    other.goto("/?token=wrong")
    expect(other.get_by_role("alert")).to_have_text("This token is wrong.")
    expect(other.get_by_role("button", name="Enter")).to_have_css("border-top-left-radius", "9px")
    other.goto("/")
    expect(other.get_by_role("alert")).to_be_hidden()
    context.close()
