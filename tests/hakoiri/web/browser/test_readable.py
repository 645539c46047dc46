"""The page for those who see, hear or hold it otherwise: axe's rules, contrast, narrow screens, and how quick it is."""

import re
from dataclasses import asdict
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, Route, expect

from hakoiri.puzzles.pictures import luminance
from tests.hakoiri.web.browser.conftest import NARROW, WIDE, Site, watched
from tests.support.seeds import first_usual

pytestmark = [pytest.mark.ci_slow, pytest.mark.browser]
PAGES = {
    "landing": ("#/", ".hero .piece.able"),
    "runs": ("#/runs", ".run .picture"),
    "browse": ("#/browse", ".run .picture"),
    "glossary": ("#/glossary", "dt"),
    "new": ("#/new/klotski", ".drawn svg"),
    "overview": ("#/runs/{explored}", ".bars"),
    "board": ("#/runs/{explored}/board", ".move.best"),
    "play": ("#/runs/{explored}/play", ".move"),
    "stopped": ("#/runs/{stopped}/board", ".move.best"),
    "hardest": ("#/runs/{explored}/hardest", ".central svg"),
    "layer": ("#/runs/{explored}/layer?n=57", ".central svg"),
    "map": ("#/runs/{counted}/map?k=2", ".chosen svg"),
    "components": ("#/runs/{counted}/components", ".central svg"),
    "strong components": ("#/runs/{dealt}/components", ".pair svg"),
    "deals": ("#/new/gap", ".drawn svg"),
    "boards": ("#/new/sliding", ".drawn p"),
    "drawn board": ("#/new/sliding?start=ABBC/ABBC/DEEF/DGHF/I..J&goal=B@4,2", ".verdict strong"),
    "cards": ("#/runs/{dealt}/board", ".move"),
    "tilts": ("#/runs/{tilted}/board", ".move"),
    "proved play": ("#/runs/{tilted}/best", ".stage svg"),
    "best play": ("#/runs/{optimised}/best", ".stage svg"),
    "optimisation": ("#/runs/{optimised}", ".facts dd"),
    "tree": ("#/runs/{stars}", ".bars"),
    "solutions": ("#/runs/{stars}/solutions", ".stars svg"),
    "study": ("#/runs/{studied}", ".curve"),
    "hunt": ("#/runs/{hunted}", ".pair svg"),
    "generated boards": ("#/runs/{generated}", ".central svg"),
    "hardest starts": ("#/runs/{family}", ".central svg"),
}
#: Texts on pieces are large and graphics beside their names in the list of moves; what must be read is all the rest.
SCHEMES = ["light", "dark"]
LOOKS = (("size", "scheme"), [(WIDE, "light"), (NARROW, "dark")])


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize(LOOKS[0], first_usual(1, *LOOKS[1]), ids=["wide", "narrow"])
def test_axe_finds_nothing_and_nothing_is_cut_off(site: Site, browser: Browser, size: Any, scheme: Any) -> None:
    """WCAG 2.2, levels A and AA, on each page; and no page is wider than its screen."""
    context = browser.new_context(viewport=size, color_scheme=scheme, base_url=site.address, reduced_motion="reduce")
    for page in watched(context, site.token):
        for name, (address, shown) in PAGES.items():
            page.goto("/" + address.format(**asdict(site)))
            expect(page.locator(shown).first, name).to_be_visible()
            found = Axe().run(page).response["violations"]
            assert not found, f"{name}: {[(rule['id'], [node['html'] for node in rule['nodes']]) for rule in found]}"
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], name
    context.close()


@pytest.mark.parametrize(*LOOKS, ids=["wide", "narrow"])
def test_axe_finds_nothing_in_statistics_and_marked_mistakes(
    site: Site, browser: Browser, size: Any, scheme: Any
) -> None:
    context = browser.new_context(viewport=size, color_scheme=scheme, base_url=site.address, reduced_motion="reduce")
    for page in watched(context, site.token):
        page.goto(f"/#/runs/{site.explored}/board")
        page.get_by_role("button", name=re.compile("^G down")).last.click()
        page.get_by_text("Statistics of this board").click()
        expect(page.locator(".statistics .bars")).to_be_visible()
        expect(page.locator(".trace .mark")).to_be_visible()
        assert not Axe().run(page).response["violations"]
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    context.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_colours_of_text_and_pieces_can_be_told_apart(site: Site, browser: Browser, scheme: Any) -> None:
    """Contrast by WCAG's formula: 4.5 for text on its grounds, 3 for what must be seen to play."""
    context = browser.new_context(color_scheme=scheme, base_url=site.address)
    for page in watched(context, site.token):
        page.goto(f"/#/runs/{site.explored}/board")
        expect(page.locator(".move.best").first).to_be_visible()
        colours = page.evaluate(COLOURS)
        for text in ("ink", "muted", "accent", "danger"):
            for ground in ("paper", "surface", "sunk"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        assert contrast(colours["on-accent"], colours["accent"]) >= 4.5
        assert contrast(colours["on-danger"], colours["danger"]) >= 4.5
        assert contrast(colours["muted"], colours["accent-soft"]) >= 4.5
        for graphic, ground in (("control", "surface"), ("bar", "surface"), ("goal", "surface"), ("accent", "board")):
            assert contrast(colours[graphic], colours[ground]) >= 3, (graphic, ground)
        for letter, piece in page.evaluate(PIECES):
            assert contrast(letter, piece) >= 4.5
    context.close()


#: Each token as the browser paints it.
COLOURS = """() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const names = ["ink", "muted", "accent", "danger", "paper", "surface", "sunk", "on-accent", "on-danger",
                 "accent-soft", "control", "bar", "goal", "board"];
  return Object.fromEntries(names.map(name => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  }));
}"""
#: The letter of each piece, as dark as it is through its opacity, and the piece.
PIECES = """() => [...document.querySelectorAll(".piece")].map(piece => {
  const [letter, body] = ["text", ":first-child"].map(found => getComputedStyle(piece.querySelector(found)));
  const [dark, light] = [letter.fill, body.fill].map(text => text.match(/\\d+/g).map(Number));
  const seen = dark.map((part, place) => Math.round(part * letter.opacity + light[place] * (1 - letter.opacity)));
  return [`rgb(${seen})`, body.fill];
})"""


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(hexadecimal(colour)) for colour in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def hexadecimal(colour: str) -> str:
    parts = re.findall(r"\d+", colour)
    return "#" + "".join(f"{int(part):02x}" for part in parts[:3])


def test_the_first_view_is_light(page: Page) -> None:
    """Below 250 kB in all, with its map. How soon it is there, `scripts/lighthouse` tells."""
    page.goto("/")
    expect(page.locator(".run .picture").first).to_be_visible()
    page.wait_for_function(
        "() => performance.getEntriesByType('resource')"
        ".some(found => found.name.endsWith('landing.map.gz') && found.responseEnd)"
    )
    loaded = page.evaluate("performance.getEntriesByType('resource').map(entry => entry.encodedBodySize)")
    assert len(loaded) > 10 and 100_000 < sum(loaded) < 250_000


def tab_to(page: Page, what: Locator) -> None:
    """Press Tab until it has the focus."""
    expect(what).to_be_visible()
    for _ in range(80):
        if what.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no Tab leads to {what}")


def test_everything_is_reached_by_keys_alone(page: Page) -> None:
    """From the list to a new run, its board, a move, its components, a path, and back; no mouse, no finger."""

    def enter(role: Any, name: str | re.Pattern[str]) -> None:
        tab_to(page, page.get_by_role(role, name=name, exact=isinstance(name, str)).first)
        page.keyboard.press("Enter")

    page.goto("/")
    enter("link", "New run")
    tab_to(page, page.get_by_label("Puzzle"))
    page.keyboard.type("tiles")
    tab_to(page, page.get_by_label("rows", exact=True))
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    expect(page.locator(".drawn code")).to_have_text(".12/345")
    enter("button", "Start")
    expect(page.locator(".state")).to_contain_text("complete")
    enter("link", "Analyse")
    enter("button", re.compile("^3 up"))
    expect(page.locator(".figures")).to_contain_text("1 played")
    tab_to(page, page.locator(".statistics summary"))
    page.keyboard.press("Enter")
    expect(page.locator(".statistics dd").first).to_be_visible()
    enter("link", "Components")
    enter("button", "diameter")
    expect(page.locator('[aria-sort="descending"]')).to_have_text(re.compile("diameter"))
    enter("link", re.compile("^Play the path"))
    enter("button", "Step")
    expect(page.locator(".figures")).to_contain_text("1 played")
    enter("link", "Runs")
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()


def test_a_page_that_is_late_leaves_the_focus_to_whoever_has_moved_it(page: Page, site: Site) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/layers", hold)
    with page.expect_request("**/layers"):
        page.goto(f"/#/runs/{site.explored}")
    board = page.get_by_role("link", name="Analyse", exact=True)
    tab_to(page, board)
    expect(page.locator(".histogram")).to_be_hidden()
    held[0].continue_()
    expect(page.locator(".histogram")).to_be_visible()
    expect(page).to_have_title(re.compile("Hakoiri-musume"))
    expect(board).to_be_focused()


def test_light_and_dark_can_be_chosen(page: Page) -> None:
    page.goto("/")
    colours = page.get_by_role("button", name="Colours: auto")
    colours.click()
    page.get_by_role("button", name="Colours: light").click()
    expect(page.locator("html")).to_have_css("color-scheme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_css("color-scheme", "dark")


def test_the_red_bar_says_what_it_is(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.explored}")
    said = page.get_by_text("layer 116: 73 configurations, including the nearest goals (red)")
    expect(said).to_be_visible()
    box = page.locator(".histogram").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    expect(page.get_by_text("layer 167: 4 configurations")).to_be_visible()
    expect(said).to_have_count(0)


def test_the_page_that_is_shown_is_marked_in_the_navigation(page: Page, site: Site) -> None:
    page.goto("/#/runs")
    marked = page.locator("header nav [aria-current=page]")
    expect(marked).to_have_text("Runs")
    page.get_by_role("link", name="New run", exact=True).first.click()
    expect(page.locator(".drawn svg")).to_be_visible()
    expect(marked).to_have_text("New run")
