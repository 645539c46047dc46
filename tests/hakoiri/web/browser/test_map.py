"""The map of a component in a real browser: turned, coloured, and asked by a click, a finger and keys."""

import io
import re
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.hakoiri.web.browser.conftest import NARROW, WIDE, Site, both, watched

pytestmark = [pytest.mark.ci_slow, pytest.mark.browser]
#: The layout of 25,955 configurations takes seconds, of a busy machine many.
_LAID_OUT_MILLISECONDS = 120_000
#: Where the point that is nearest to the eye is on the screen, and its key.
FOREMOST = """async address => {
  const [{read, keyOf}, {Camera}] = await Promise.all([import("/js/map/read.js"), import("/js/map/camera.js")]);
  const map = read(await (await fetch(address)).arrayBuffer());
  const canvas = document.querySelector("canvas.map"), box = canvas.getBoundingClientRect();
  const camera = new Camera(map.places);
  camera.aspect = canvas.width / canvas.height;
  camera.reset();
  const matrix = camera.matrix();
  const seen = Array.from({length: map.points}, (_, point) => {
    const [x, y, z, w] = [0, 1, 2, 3].map(row =>
      [0, 1, 2].reduce((sum, axis) => sum + matrix[4 * axis + row] * map.places[3 * point + axis], matrix[12 + row]));
    const [across, down] = [(x / w + 1) / 2, (1 - y / w) / 2];
    return {x: box.left + across * box.width, y: box.top + down * box.height, w, key: keyOf(map, point)};
  });
  return seen.reduce((one, other) => (other.w < one.w ? other : one));
}"""


def opened(page: Page, address: str) -> None:
    page.goto(f"/#/runs/{address}")
    expect(page.locator(".chosen svg")).to_be_visible(timeout=_LAID_OUT_MILLISECONDS)


def picture(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(page.locator("canvas.map").screenshot())).convert("RGB")


def facts(page: Page) -> dict[str, str]:
    card = page.locator(".chosen .facts")
    return dict(zip(card.locator("dt").all_text_contents(), card.locator("dd").all_text_contents(), strict=True))


def clicked(page: Page, x: float, y: float) -> None:
    if page.viewport_size == NARROW:
        page.touchscreen.tap(x, y)
    else:
        page.mouse.click(x, y)


def told(page: Page, run: str, configuration: str) -> dict[str, Any]:
    """Return the server's answer about a configuration."""
    found: dict[str, Any] = page.request.get(f"/api/runs/{run}/positions/{configuration}").json()
    return found


@both
def test_the_map_of_the_start_is_opened_and_a_point_is_clicked(page: Page, site: Site) -> None:
    """All 25,955 configurations, the solution as a line, and the board of the one that is clicked."""
    opened(page, f"{site.explored}/map")
    expect(page.locator(".view")).to_contain_text("25,955 configurations, 41,948 moves")
    assert facts(page) == {"from the start": "116", "to the goal": "0", "eccentricity": "136"}
    expect(page.locator(".chosen")).to_contain_text("Path from the start: 116 moves")
    colours = picture(page).getcolors(1 << 20)
    assert colours and len(colours) > 500, "there are points in all colours of the ramp"
    code = page.locator(".chosen code")
    goal = code.inner_text()
    page.locator("canvas.map").scroll_into_view_if_needed()
    spot = page.evaluate(FOREMOST, f"/api/runs/{site.explored}/map?dim=3&component=0")
    clicked(page, spot["x"], spot["y"])
    expect(code).not_to_have_text(goal)
    row = told(page, site.explored, code.inner_text())
    assert row["key"] == spot["key"]
    assert facts(page)["from the start"] == str(row["depth"])
    assert facts(page)["to the goal"] == str(row["goal_distance"])
    expect(page.locator(".chosen")).to_contain_text(f"Path from the start: {row['depth']} move")
    page.reload()
    expect(code).to_have_text(row["configuration"])
    page.get_by_role("link", name="Play from here").click()
    expect(page.locator(".distance")).to_contain_text(f"{row['goal_distance']}moves to the goal")


def test_it_turns_comes_nearer_and_changes_its_colours(page: Page, site: Site) -> None:
    opened(page, f"{site.counted}/map?k=2")
    before = picture(page)
    canvas = page.locator("canvas.map")
    box = canvas.bounding_box()
    assert box
    page.mouse.move(box["x"] + 90, box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + 240, box["y"] + 120, steps=5)
    page.mouse.up()
    turned = picture(page)
    assert turned.tobytes() != before.tobytes()
    canvas.press("ArrowLeft")
    canvas.press("+")
    nearer = picture(page)
    assert nearer.tobytes() != turned.tobytes()
    page.get_by_role("button", name="Show the whole map").click()
    assert picture(page).tobytes() == before.tobytes()
    expect(page.locator(".legend")).to_contain_text("Moves from the least key")
    page.get_by_label("eccentricity").check()
    expect(page.locator(".legend")).to_contain_text(re.compile("Eccentricity36.*72"))
    assert picture(page).tobytes() != before.tobytes()
    page.get_by_role("button", name="Colours: auto").click()
    page.get_by_role("button", name="Colours: light").click()
    red, green, blue = picture(page).getpixel((5, int(box["height"] // 2)))  # type: ignore[misc]
    assert max(red, green, blue) < 60


def test_points_are_reached_by_buttons_and_paths_lead_between_any_two(page: Page, site: Site) -> None:
    opened(page, f"{site.counted}/map?k=2")
    expect(page.get_by_role("button", name="Farthest")).to_be_disabled()
    page.get_by_role("button", name="Least key", exact=True).click()
    expect(page.get_by_role("button", name="Least key", exact=True)).to_be_disabled()
    page.get_by_role("button", name="Farthest").click()
    page.get_by_role("button", name="Path from here").click()
    first = page.locator(".chosen code").inner_text()
    page.locator(".chosen .move").first.click()
    expect(page.locator(".chosen")).to_contain_text("Path from the marked point: 1 move")
    page.get_by_role("button", name="Centre").click()
    expect(page.locator(".chosen")).to_contain_text(re.compile(r"the marked point: \d\d moves"))
    second = page.locator(".chosen code").inner_text()
    length = page.request.get(f"/api/runs/{site.counted}/distance", params={"from": first, "to": second}).json()[
        "length"
    ]
    expect(page.locator(".chosen")).to_contain_text(f"the marked point: {length} moves")
    expect(page.locator("#said")).to_contain_text(second)
    page.reload()
    expect(page.locator(".chosen")).to_contain_text(f"the marked point: {length} moves")


def test_goals_are_marked_and_the_point_below_the_pointer_says_its_distances(page: Page, site: Site) -> None:
    page.goto(f"/#/runs/{site.explored}/map")
    expect(page.locator(".goals")).to_be_visible()
    box = page.locator("canvas.map").bounding_box()
    assert box
    for step in range(3, 18):
        page.mouse.move(box["x"] + box["width"] * step / 20, box["y"] + box["height"] / 2, steps=4)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        if page.locator(".hover").inner_text():
            break
    expect(page.locator(".hover")).to_have_text(re.compile(r"^\d+ from the start, \d+ to the goal"))


def test_another_component_and_a_plane(page: Page, site: Site) -> None:
    opened(page, f"{site.counted}/map?k=2")
    shown = page.locator("canvas")
    expect(shown).to_have_attribute("aria-label", re.compile("Component 2 laid out in space: 248 configurations"))
    page.get_by_label("Component of 898").fill("6")
    page.get_by_label("Component of 898").press("Enter")
    expect(shown).to_have_attribute("aria-label", re.compile("Component 6 laid out in space"))
    page.get_by_label("2D").check()
    expect(shown).to_have_attribute("aria-label", re.compile("Component 6 laid out in a plane"))


@pytest.mark.parametrize("page", [NARROW], indirect=True, ids=["narrow"])
def test_fingers_turn_and_pinch(page: Page, site: Site) -> None:
    """One turns it, two bring it nearer; the page does not scroll away under them."""
    opened(page, f"{site.counted}/map?k=2")
    page.locator("canvas.map").scroll_into_view_if_needed()
    scrolled, before = page.evaluate("scrollY"), picture(page)
    box = page.locator("canvas.map").bounding_box()
    assert box
    finger = page.context.new_cdp_session(page)
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def touch(kind: str, *points: tuple[float, float]) -> None:
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    touch("touchStart", (x, y))
    for step in range(1, 6):
        touch("touchMove", (x + 12 * step, y + 10 * step))
    touch("touchEnd")
    turned = picture(page)
    assert turned.tobytes() != before.tobytes()
    touch("touchStart", (x - 20, y), (x + 20, y))
    for step in range(1, 6):
        touch("touchMove", (x - 20 - 12 * step, y), (x + 20 + 12 * step, y))
    touch("touchEnd")
    assert picture(page).tobytes() != turned.tobytes()
    assert page.evaluate("scrollY") == scrolled


def test_where_there_is_no_webgl_the_map_is_drawn_in_plain_pixels(site: Site, browser: Browser) -> None:
    context = browser.new_context(viewport=WIDE, base_url=site.address)
    context.add_init_script(
        "const usual = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext ="
        "function (kind) { return kind === '2d' ? usual.call(this, kind) : null; }"
    )
    for page in watched(context, site.token):
        opened(page, f"{site.counted}/map?k=2")
        # The middle half of the canvas has points.
        page.wait_for_function(
            "() => { const canvas = document.querySelector('canvas.map'), {width, height} = canvas;"
            "return new Set(new Uint32Array(canvas.getContext('2d')"
            ".getImageData(width / 4, height / 4, width / 2, height / 2).data.buffer)).size > 3; }"
        )
        page.get_by_role("button", name="Centre").click()
        expect(page.locator(".chosen")).to_contain_text(re.compile(r"Path from the least key: \d+ moves"))
    context.close()


def test_a_map_is_as_wide_as_the_window_and_fills_a_screen(page: Page, site: Site) -> None:
    opened(page, f"{site.counted}/map?k=2")
    page.set_viewport_size({"width": 1800, "height": 900})
    expect(page.locator(".mapped")).to_have_js_property("clientWidth", 1752)
    page.get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => document.fullscreenElement?.className === 'mapped'")
    page.get_by_role("button", name="Full screen").click()
    page.wait_for_function("() => document.fullscreenElement === null")
