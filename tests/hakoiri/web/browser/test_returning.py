"""A page that stays: beside a run that lives, after a restart or upgrade of the server, with a game that is kept."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from hakoiri.puzzles.registry import PuzzleSpec
from tests.hakoiri.web.browser.conftest import address_of, entered, watched
from tests.support.commands import HAKOIRI, PATIENCE_SECONDS, Hakoiri, Running, wait_until
from tests.support.runs import driven

pytestmark = [pytest.mark.ci_slow, pytest.mark.browser]
CELL = ".facts div:first-child dd"
PIECE = '.playable .piece[data-piece="I"]'


class Served:
    """A server of one finished run of Hakoiri-musume, which can be restarted at its port."""

    def __init__(self, directory: Path, *words: str) -> None:
        self.command, self.words = Hakoiri(directory), words
        self.run = driven(self.command.data, PuzzleSpec("klotski"), "explore", {}, {}).name
        self.serving, self.address, self.token = self._served("0")

    def _served(self, port: str) -> tuple[Running, str, str]:
        serving = self.command.start("serve", "--port", port, *self.words, executable=HAKOIRI)
        return serving, *entered(serving)

    def restart(self) -> None:
        self.serving.kill()
        self.serving, _, self.token = self._served(self.address.rstrip("/").rpartition(":")[2])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    found = Served(tmp_path_factory.mktemp("returning"))
    yield found
    found.command.close()


@pytest.fixture
def page(served: Served, browser: Browser) -> Iterator[Page]:
    context = browser.new_context(base_url=served.address)
    yield from watched(context, served.token)
    context.close()


@pytest.fixture
def loose(served: Served, browser: Browser) -> Iterator[Page]:
    """A page without a pass, on whose console the browser may tell of refused requests."""
    context = browser.new_context(base_url=served.address)
    context.set_default_timeout(1_000 * PATIENCE_SECONDS)
    expect.set_options(1_000 * PATIENCE_SECONDS)
    yield context.new_page()
    context.close()


def living(page: Page) -> str:
    """A run that takes hours."""
    asked = {"puzzle": "tiles", "options": {"rows": "4", "columns": "4"}}
    return str(page.request.post("/api/runs", data=asked).json()["run"])


def streams(page: Page) -> int:
    found = re.search(r"^hakoiri_\w*streams\w* (\d+)", page.request.get("/metrics").text(), re.MULTILINE)
    assert found
    return int(found[1])


def turned(page: Page, hidden: bool) -> None:
    """The tab is hidden or shown, as far as the page can see."""
    page.evaluate(
        """hidden => {
          Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
          document.dispatchEvent(new Event("visibilitychange"));
        }""",
        hidden,
    )


def changed(page: Page, selector: str) -> None:
    before = page.locator(selector).inner_text()
    expect(page.locator(selector)).not_to_have_text(before)


def test_a_run_that_lives_leaves_the_selection_and_the_focus_and_is_not_heard_unseen(page: Page) -> None:
    run = living(page)
    page.goto(f"/#/runs/{run}")
    expect(page.locator(CELL)).to_be_visible()
    page.evaluate("getSelection().selectAllChildren([...document.querySelectorAll('.facts code')][0])")
    page.get_by_role("button", name="Cancel").focus()
    for _ in range(3):
        changed(page, CELL)
    assert page.evaluate("getSelection().toString()") == run
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    assert streams(page) == 1
    turned(page, True)
    wait_until(lambda: streams(page) == 0, what="the end of the stream")
    turned(page, False)
    changed(page, CELL)
    page.goto("/#/runs")
    cancel = page.locator(".run", has_text=run).get_by_role("button", name="Cancel")
    cancel.focus()
    words = page.locator(".run", has_text=run).locator("p").first
    before = words.inner_text()
    expect(words).not_to_have_text(before)
    expect(cancel).to_be_focused()
    wait_until(lambda: streams(page) == 0, what="the end of the stream")
    cancel.press("Enter")
    expect(page.locator(".run", has_text=run)).to_contain_text("cancelled")
    expect(page.locator("body")).not_to_be_focused()


def test_the_table_of_layers_grows_and_leaves_the_selection_and_the_focus(page: Page) -> None:
    run = living(page)
    page.goto(f"/#/runs/{run}")
    opener = page.locator("summary", has_text="Table")
    expect(opener).to_be_visible()
    opener.press("Enter")
    rows = page.get_by_role("region", name="Layers").locator("tbody tr")
    expect(rows.nth(10)).to_be_visible()
    expect(opener).to_be_focused()
    page.evaluate("getSelection().selectAllChildren([...document.querySelectorAll('tbody tr')][3].cells[1])")
    selected, before = page.evaluate("getSelection().toString()"), rows.count()
    assert selected == rows.nth(3).locator("td").nth(1).inner_text()
    expect(rows.nth(before)).to_be_visible()
    assert page.evaluate("getSelection().toString()") == selected
    expect(opener).to_be_focused()
    page.request.post(f"/api/runs/{run}/cancel")


def test_six_hidden_tabs_leave_the_server_to_a_seventh(page: Page) -> None:
    """A browser has six connections to a server, and a run that lives takes one while it is seen."""
    run = living(page)
    for number in range(6):
        tab = page.context.new_page() if number else page
        tab.goto(f"/#/runs/{run}")
        expect(tab.locator(CELL)).to_be_visible()
        turned(tab, True)
    seventh = page.context.new_page()
    seventh.goto(f"/#/runs/{run}")
    changed(seventh, CELL)
    seventh.get_by_role("button", name="Cancel").click()
    expect(seventh.locator(".state")).to_contain_text("cancelled")


def test_a_page_of_a_restarted_server_without_a_token_goes_on_where_it_is(browser: Browser, tmp_path: Path) -> None:
    """With all layers that were made meanwhile."""
    served = Served(tmp_path, "--no-token")
    page = browser.new_page(base_url=served.address)
    page.goto(f"/#/runs/{living(page)}")
    changed(page, CELL)
    page.evaluate("window.stays = true")
    served.serving.kill()
    expect(page.locator(".progress")).to_contain_text("The server does not answer. This page continues when it does.")
    served.restart()
    changed(page, CELL)
    expect(page.locator(".progress")).not_to_contain_text("does not answer")
    assert page.evaluate("window.stays")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".state")).to_contain_text("cancelled")
    page.close()
    served.command.close()


def test_a_move_is_seen_before_its_answer_and_taken_back_without_one(page: Page, served: Served) -> None:
    page.goto(f"/#/runs/{served.run}/board")
    piece = page.locator(PIECE)
    expect(page.locator(".move.best")).not_to_have_count(0)
    there = piece.evaluate("piece => piece.style.transform")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/pictures/**", hold)
    with page.expect_request("**/pictures/**"):
        page.get_by_role("button", name=re.compile("^G down")).last.click()
    page.wait_for_function("() => document.querySelector('[data-piece=G]').style.transform.includes('192px')")
    expect(page.locator(".figures")).to_contain_text("0 played")
    held[0].abort()
    expect(page.get_by_role("alert")).to_contain_text("the server does not answer")
    page.wait_for_function("() => document.querySelector('[data-piece=G]').style.transform.includes('144px')")
    assert piece.evaluate("piece => piece.style.transform") == there


@pytest.mark.parametrize(("where", "told"), [("/", "1 move played, 117"), ("/#/runs/{}/board", "117moves to the goal")])
def test_a_slow_answer_keeps_no_piece_waiting(page: Page, served: Served, where: str, told: str) -> None:
    """At a latency of 200 ms, which the browser makes, a piece stands elsewhere as soon as the press has been heard."""
    page.goto(where.format(served.run))
    piece = '.playable .piece[data-piece="G"]'
    expect(page.locator(piece)).to_have_class(re.compile("able"))
    page.wait_for_load_state("networkidle")
    slow = {"offline": False, "latency": 200, "downloadThroughput": -1, "uploadThroughput": -1}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", slow)
    page.evaluate(
        """piece => {
          const place = () => document.querySelector(piece).style.transform;
          const isAnswer = ({name}) => !name.includes("/api/runs?");
          const answers = () => performance.getEntriesByType("resource").filter(isAnswer).length;
          const before = [place(), answers()];
          addEventListener("pointerup", () => { window.seen = [place() !== before[0], answers() - before[1]]; });
        }""",
        piece,
    )
    page.locator(piece).click()
    assert page.evaluate("window.seen") == [True, 0]
    expect(page.locator("#main")).to_contain_text(told)


def test_what_went_wrong_is_said_by_its_cause(loose: Page, served: Served) -> None:
    loose.goto(f"/?token={served.token}")
    heading = loose.get_by_role("heading", level=1)
    loose.goto("/#/runs/%zz")
    expect(heading).to_have_text("Malformed address")
    loose.get_by_role("link", name="Home", exact=True).click()
    expect(loose.locator(".hero")).to_be_visible()
    loose.goto("/#/runs/none-of-this-name")
    expect(heading).to_have_text("Not found")
    layer = f"/#/runs/{served.run}/layer?n=3"
    loose.route("**/js/pages/lists.js", lambda route: route.abort())
    loose.goto(layer)
    expect(heading).to_have_text("This page is not complete")
    loose.route(served.address, lambda route: route.fulfill(body='<script src="v/2/js/main.js">'))
    loose.goto("/#/runs")
    loose.goto(layer)
    expect(heading).to_have_text("Hakoiri was upgraded")
    loose.unroute_all()
    loose.get_by_role("button", name="Reload").click()
    expect(loose.locator(".central svg")).not_to_have_count(0)
    loose.get_by_role("link", name="Analyse", exact=True).click()
    loose.get_by_role("button", name="Share").click()
    expect(loose.get_by_role("dialog")).to_contain_text("Only this machine can open this link")
    loose.route("**/api/runs/*", lambda route: route.abort())
    loose.goto(f"/#/runs/{served.run}/layer?n=4")
    expect(heading).to_have_text("No connection")
    loose.unroute_all()
    loose.get_by_role("button", name="Try again").click()
    expect(loose.get_by_role("heading", level=2)).to_contain_text("Layer 4")
    loose.goto(f"/#/runs/{served.run}/layer?n=abc")
    expect(loose.get_by_role("alert")).to_contain_text("The depth is not valid: input should be a valid integer")
    loose.route("**/js/edit/editor.js", lambda route: route.abort())
    loose.goto("/#/new/klotski")
    asked = list[str]()
    loose.on("request", lambda request: asked.append(request.url))
    loose.get_by_label("Puzzle").select_option("sliding")
    expect(loose.get_by_role("alert")).to_contain_text("editor.js")
    # Nothing that waits since then draws the form again, which would wipe that away.
    loose.evaluate("() => new Promise(resolve => setTimeout(resolve, 150))")
    assert not [url for url in asked if "/boards/sliding.json" in url]


def test_a_link_leads_through_the_page_of_the_token_to_where_it_points(loose: Page, served: Served) -> None:
    loose.goto(f"/#/runs/{served.run}/board?at=ABBC/ABBC/DEEF/DGHF/.I.J")
    let_in(loose, served)
    expect(loose.locator(".distance")).to_have_text("115moves to the goal")


def test_a_restarted_server_asks_for_its_token_and_the_page_goes_on(loose: Page, served: Served) -> None:
    """A run that lives goes on being seen, a game is where it was."""
    loose.goto(f"/?token={served.token}")
    run = living(loose)
    loose.goto(f"/#/runs/{run}")
    expect(loose.locator(CELL)).to_be_visible()
    changed(loose, CELL)
    served.restart()
    let_in(loose, served)
    changed(loose, CELL)
    loose.get_by_role("button", name="Cancel").click()
    expect(loose.locator(".state")).to_contain_text("cancelled")
    loose.goto(f"/#/runs/{served.run}/board")
    for move, left in (("I right", 115), ("J left", 114)):
        loose.get_by_role("button", name=re.compile(f"^{move}")).last.click()
        expect(loose.locator(".distance")).to_have_text(f"{left}moves to the goal")
    served.restart()
    loose.get_by_role("button", name="Shuffle").click()
    let_in(loose, served)
    expect(loose.locator(".distance")).to_have_text("114moves to the goal")
    expect(loose.locator(".played")).to_have_text("I rightJ left")
    served.restart()
    loose.get_by_role("link", name="Glossary").click()
    let_in(loose, served)
    expect(loose.locator("dt").first).to_be_visible()


def let_in(page: Page, served: Served) -> None:
    for token in ("no", served.token):
        page.get_by_label("Or type the token").fill(token)
        page.get_by_role("button", name="Enter").click()


def test_a_game_is_kept_with_its_variations_and_read_and_written_as_text(page: Page, served: Served) -> None:
    """Over a reload, another view and Back; in the words of `path`."""
    away, played = page.locator(".distance"), page.locator(".played")
    here = played.locator('[aria-current="step"]')
    page.goto(f"/#/runs/{served.run}/board")
    for move, left in (("I right", 115), ("J left", 114)):
        page.get_by_role("button", name=re.compile(f"^{move}")).last.click()
        expect(away).to_contain_text(str(left))
    page.keyboard.press("ArrowLeft")
    expect(away).to_contain_text("115")
    page.get_by_role("button", name=re.compile("^D down")).last.click()
    expect(played).to_have_text("I rightD downor J left")
    page.keyboard.press("ArrowUp")
    expect(here).to_have_text("J left")
    page.reload()
    expect(played).to_have_text("I rightJ leftor D down")
    expect(page.get_by_role("img", name="Distance to the goal over 2 moves played")).to_be_visible()
    assert "at=ABBC/ABBC/DEEF/DGHF/.IJ." in address_of(page)
    page.get_by_role("link", name="Play", exact=True).click()
    expect(away).to_have_text("2moves played")
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".facts")).to_be_visible()
    page.go_back()
    expect(here).to_have_text("J left")
    text = page.get_by_role("dialog").get_by_role("textbox")
    page.get_by_role("button", name="As text").click()
    expect(text).to_have_value("I right\nJ left\n(\nD down\n)")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("dialog").get_by_role("button", name="Copy").click()
    wait_until(lambda: page.evaluate("() => navigator.clipboard.readText()").endswith("D down\n)"), what="the copy")
    path = page.request.get(f"/api/runs/{served.run}/path?to=goal").json()["moves"]
    text.fill("\n".join(path))
    page.get_by_role("button", name="Play these").click()
    expect(page.locator(".done")).to_contain_text(f"Solved in {len(path)} moves. No way is shorter.")
    page.get_by_role("button", name="As text").click()
    text.fill("I right\nI sideways")
    page.get_by_role("button", name="Play these").click()
    expect(page.get_by_role("alert")).to_have_text("move 2: there is no move I sideways here")
    expect(away).to_have_text("1move played")
