"""A large run in a real browser: it is started, watched, cancelled, resumed and deleted."""

import re
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import APIResponse, Browser, Page, Route, expect

from hakoiri.worker.transport.connection import living_hosts
from tests.hakoiri.web.browser.conftest import Site, address_of, entered, watched
from tests.support.commands import HAKOIRI, ROOT, Hakoiri, wait_until
from tests.support.servers import RedisServer, started_host, started_workers

#: The address of the status of a run.
RUN = re.compile(r"/api/runs/[^/]+$")

pytestmark = [pytest.mark.ci_slow, pytest.mark.browser]


def layers_seen(page: Page) -> int:
    """Return the number of bars of the histogram."""
    label = page.locator(".histogram").get_attribute("aria-label") or ""
    found = re.search(r"([\d,]+) layers", label)
    return int(found[1].replace(",", "")) if found else 0


def test_a_run_is_watched_cancelled_resumed_and_deleted(page: Page, site: Site) -> None:
    """The tiles of 4 x 4 have 10,461,394,944,000 configurations."""
    page.goto("/#/new/tiles")
    page.get_by_label("rows", exact=True).fill("4")
    page.get_by_label("columns", exact=True).fill("4")
    expect(page.locator(".drawn code")).to_have_text(".123/4567/89ab/cdef")
    expect(page.locator(".verdict")).to_contain_text("10,461,394,944,000 configurations")
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Start", exact=True).click()
    state = page.locator(".state")
    expect(state).to_contain_text("running")
    expect(page.locator(".histogram")).to_be_visible()
    seen = layers_seen(page)
    page.wait_for_function(
        """seen => parseInt(/(\\d+) layers/.exec(document.querySelector(".histogram").ariaLabel)?.[1]) > seen + 2""",
        arg=seen,
    )
    expect(page.locator(".progress")).to_contain_text("layer")
    expect(page.locator('.tabs a[href$="/board"]')).to_have_count(1)
    page.get_by_role("button", name="Cancel").click()
    expect(state).to_contain_text("cancelled")
    late: list[tuple[Route, APIResponse]] = []
    page.route(RUN, lambda route: late.append((route, route.fetch())), times=1)
    page.get_by_role("button", name="Resume").click()
    expect(state).to_contain_text("running")
    [(route, response)] = late
    with page.expect_response(RUN):
        route.fulfill(json=response.json() | {"status": "queued"})
    page.evaluate("() => new Promise(requestAnimationFrame)")
    assert "running" in state.inner_text(), "a late answer about an earlier state was drawn"
    page.get_by_role("link", name="Runs", exact=True).click()
    card = page.locator(".run", has_text="rows=4")
    expect(card.locator("progress")).to_be_visible()
    card.get_by_role("button", name="Cancel").click()
    expect(card).to_contain_text("cancelled")
    card.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Keep").click()
    expect(card).to_be_visible()
    card.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(card).to_have_count(0)


def test_a_board_that_is_none_is_said_as_one_types(page: Page, site: Site) -> None:
    page.goto("/#/new/klotski")
    expect(page.locator(".drawn code")).to_have_text("ABBC/ABBC/DEEF/DGHF/I..J")
    page.get_by_label("Start", exact=True).fill("ABBC\nABBC\nDEEF\nDGHF\n.IJ.")
    expect(page.locator(".drawn code")).to_have_text("ABBC/ABBC/DEEF/DGHF/.IJ.")
    page.get_by_label("Start", exact=True).fill("ABBC/ABBC")
    expect(page.get_by_role("alert")).to_contain_text("row")
    page.get_by_label("Puzzle").select_option("sliding")
    page.get_by_label("Board (required)").fill("AAB/.CD/EE.")
    expect(page.locator(".drawn g")).to_have_count(5)


def test_the_file_of_a_definition_is_judged_and_explored(page: Page, site: Site) -> None:
    page.goto("/#/new/definition")
    text = (ROOT / "examples" / "definitions" / "pancakes-9.gap").read_bytes()
    page.get_by_label("File").set_input_files({"name": "broken.json", "mimeType": "", "buffer": text})
    expect(page.get_by_role("alert")).to_contain_text("broken.json")
    page.get_by_label("File").set_input_files({"name": "mine.gap", "mimeType": "", "buffer": text})
    expect(page.locator(".verdict")).to_contain_text("362,880 configurations")
    expect(page.get_by_role("alert")).to_be_hidden()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("h1")).to_contain_text("mine.gap")
    expect(page.locator(".state")).to_contain_text("complete")
    expect(page.locator(".facts")).to_contain_text("362,880")


def test_a_picture_that_comes_after_the_editor_does_not_take_its_place(page: Page, site: Site) -> None:
    page.goto("/#/new/klotski")
    expect(page.locator(".drawn code")).to_be_visible()
    held = dict[str, Route]()

    def hold(route: Route) -> None:
        held[route.request.url.rpartition("/")[2].partition("?")[0]] = route

    page.route("**/edit/editor.js", hold)
    page.route("**/api/boards/sliding.json*", hold)
    page.get_by_label("Puzzle").select_option("sliding")
    with page.expect_request("**/api/boards/sliding.json*"):
        page.get_by_label("Title").fill("typed before there is an editor")
    held["editor.js"].continue_()
    expect(page.locator(".draft")).to_be_visible()
    with page.expect_response("**/api/boards/sliding.json*"):
        held["sliding.json"].continue_()
    page.evaluate("() => new Promise(requestAnimationFrame)")
    expect(page.locator(".draft")).to_be_visible()


def test_a_study_a_hunt_and_an_optimisation_are_begun_and_grow(page: Page, site: Site) -> None:
    begun(page, puzzle="gap", kind="study", sizes=[3, 4, 5], deals=30)
    expect(page.locator(".state")).to_contain_text("complete")
    expect(page.locator(".curve")).to_be_visible()
    expect(page.locator("tbody tr").first).to_contain_text("%")
    page.goto("/#/new/gap")
    page.get_by_label("ranks", exact=True).first.fill("4")
    page.get_by_label("Look for the hardest deal").check()
    page.get_by_label("seconds").locator("visible=true").fill("60")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="Records of positions")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".state")).to_contain_text("cancelled")
    page.goto("/#/new/nakuron")
    page.get_by_label("Look for the play with the highest score").check()
    page.get_by_label("seconds").locator("visible=true").fill("2")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator(".state")).to_contain_text("complete")
    page.get_by_role("link", name="Best play").click()
    expect(page.locator(".distance")).to_contain_text("points · start")


def begun(page: Page, **asked: object) -> None:
    """Begin a run that the form does not offer, and open it."""
    made = page.request.post("/api/runs", data=asked)
    page.goto(f"/#/runs/{made.json()['run']}")


def test_studies_of_sizes_boards_and_starts_are_begun(page: Page, site: Site) -> None:
    begun(page, puzzle="sliding", kind="starts", starts="one A.\ntwo AB/C.", options={"goal": "A@1,2"})
    expect(page.locator(".state")).to_contain_text("complete")
    expect(page.get_by_role("row", name="1 one A. A (1x1) at row 1 column 2 1")).to_be_visible()
    page.get_by_role("button", name="Play one").click()
    page.get_by_role("link", name="Analyse", exact=True).click()
    expect(page.locator(".distance")).to_contain_text("move to the goal")
    begun(page, puzzle="pancakes", kind="sizes", sizes=[3, 4, 5, 6])
    expect(page.locator(".state")).to_contain_text("complete")
    expect(page.get_by_role("img", name="moves by size: 4 points, up to 7")).to_be_visible()
    expect(page.get_by_role("row", name="n=6 6 720 7 7 7 720")).to_be_visible()
    begun(page, puzzle="sliding", kind="boards", size="2x3", pieces="1x2:1 1x1:*", empty="2")
    expect(page.locator(".state")).to_contain_text("complete")
    expect(page.get_by_role("img", name=re.compile("Components of each diameter"))).to_be_visible()
    expect(page.locator(".pair svg")).to_have_count(2)


def test_workers_and_their_hosts_are_seen_at_a_run(browser: Browser, tmp_path: Path) -> None:
    """With Redis: layers that workers make, who they are, what is on disk; and that Redis is gone."""
    with (
        closing(Hakoiri(tmp_path)) as hakoiri,
        RedisServer(tmp_path / "redis") as redis_server,
        started_workers(hakoiri, redis_server.url, 2),
    ):
        serving = hakoiri.start("serve", "--port", "0", "--redis", redis_server.url, executable=HAKOIRI)
        site = entered(serving)
        context = browser.new_context(base_url=site[0])
        for page in watched(context, site[1]):
            begun(page, puzzle="tiles", options={"rows": "4", "columns": "4"})
            facts = page.locator(".facts")
            expect(facts).to_contain_text(re.compile(r"workers2 on \S+"))
            expect(facts).to_contain_text(re.compile(r"on disk[\d.]+ MB"))
            run = address_of(page).rpartition("/")[2]
            health = page.request.get("/api/health").json()
            assert (health["ok"], health["workers"], len(health["hosts"])) == (True, 2, 1)
            page.wait_for_function(
                "() => parseInt(/(\\d+) layers/.exec(document.querySelector('.histogram').ariaLabel)?.[1]) > 21"
            )
            page.get_by_role("button", name="Cancel").click()
            expect(page.locator(".state")).to_contain_text("cancelled")
            # It would ask who lives, and be told that nobody is known.
            page.goto("about:blank")
            redis_server.kill()
            assert page.request.get("/api/health").status == 503
            assert page.request.get(f"/api/runs/{run}").json()["status"] == "cancelled"
        context.close()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_hosts_that_keep_a_run_are_seen_with_who_is_away(scheme: Any, browser: Browser, tmp_path: Path) -> None:
    with closing(Hakoiri(tmp_path)) as hakoiri, RedisServer(tmp_path / "redis") as main, ExitStack() as stack:
        hosts = [stack.enter_context(started_host(hakoiri, main.url, tmp_path / name)) for name in "ab"]
        words = ("--redis", main.url, "--hosts", "2", "--farm", "1", "--json")
        run = hakoiri.json("run", "pancakes", "-o", "n=9", *words)["run"]
        site = entered(hakoiri.start("serve", "--port", "0", "--redis", main.url, executable=HAKOIRI))
        context = browser.new_context(base_url=site[0], color_scheme=scheme)
        for page in watched(context, site[1]):
            page.goto(f"/#/runs/{run}")
            rows = page.get_by_role("region", name="hosts").locator("tbody tr")
            expect(rows).to_have_count(2)
            names = [(tmp_path / name / "host").read_text(encoding="utf-8").strip() for name in "ab"]
            # How many ranges each has depends on how long the one and the other took.
            row = re.compile(r"alive\d\d1[\d,]+[\d.]+ [Mk]B[\d.]+ [Mk]B[\d.]+ [Mk]B[\d.]+ m?s")
            for name in names:
                expect(rows.filter(has_text=name)).to_contain_text(row)
            expect(
                page.get_by_text(re.compile(r"The slowest host took [\d.]+ times the mean, most in layer"))
            ).to_be_visible()
            assert not Axe().run(page).response["violations"]
            hosts[1].supervisor.end()
            wait_until(lambda: len(living_hosts(main.client)) == 1, what="its silence")
            page.reload()
            expect(rows.filter(has_text=names[1])).to_contain_text("away")
            expect(rows.filter(has_text=names[0])).to_contain_text("alive")
        context.close()


def test_it_is_said_that_the_server_is_gone(browser: Browser, tmp_path: Path) -> None:
    hakoiri = Hakoiri(tmp_path)
    serving = hakoiri.start("serve", "--port", "0", executable=HAKOIRI)
    address, token = entered(serving)
    # Nobody watches what the browser says of it: requests fail.
    page = browser.new_page(base_url=address)
    page.goto(f"/?token={token}")
    begun(page, puzzle="tiles", options={"rows": "4", "columns": "4"})
    expect(page.locator(".histogram")).to_be_visible()
    serving.kill()
    expect(page.locator(".progress")).to_contain_text("The server does not answer")
    page.close()
    hakoiri.close()


def test_who_logs_out_is_not_let_in_again(page: Page, site: Site) -> None:
    """By no other tab either."""
    page.goto("/#/glossary")
    expect(page.locator("dt").first).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Logged out")).to_be_visible()
    expect(page.get_by_role("button", name="Log out")).to_be_hidden()
    assert page.request.get("/api/runs").status == 401
