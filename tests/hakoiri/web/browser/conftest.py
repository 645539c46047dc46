"""A server as its user starts it, and chromium that looks at its page."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize, expect, sync_playwright

from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.guests.nakuron.board import random_board
from hakoiri.puzzles.registry import PuzzleSpec
from tests.support.commands import HAKOIRI, PATIENCE_SECONDS, Hakoiri, Running
from tests.support.published import HAKOIRI as KNOWN
from tests.support.runs import driven

#: Until something is there that must be there; the machine may be busy.
_MOST_MILLISECONDS = 1_000 * PATIENCE_SECONDS
CARDS = "C4 H3 S4 HA/S3 H4 S2 H2/D3 CA D2 C3/DA C2 D4 SA"
FAMILY = {"size": "3x4", "pieces": "2x2:1 2x1:0..2 1x2:0..2 1x1:0..4", "empty": "2..3", "goal": "2x2@3,2"}
WIDE, NARROW = ViewportSize(width=1280, height=900), ViewportSize(width=390, height=844)
#: In CI the one; what is cut off or out of reach of a finger on the other is found there by a few tests for it.
both = pytest.mark.parametrize(
    "page", [WIDE, pytest.param(NARROW, marks=pytest.mark.slow)], indirect=True, ids=["wide", "narrow"]
)


@dataclass(frozen=True)
class Site:
    """A running server: where it is, with its token, and the runs that were made before it was started.

    `explored` and `counted` are a search and a census of Hakoiri-musume. `tilted` and `optimised` are of Nakuron, and
    `stars` of magic stars. `dealt` is of cards, whose moves lead one way, and `large` has 311,460 configurations, whose
    diameter takes seconds.
    `stopped` is a search of Hakoiri-musume until its first goal, `pegs` one of the first layers of peg solitaire.
    `kept` keeps the depths of 360 configurations, but not themselves.
    `studied` and `hunted` are deals of Gap. `generated` are boards of sliding blocks, `family` all of given pieces.
    """

    address: str
    token: str
    explored: str
    counted: str
    tilted: str
    optimised: str
    stars: str
    dealt: str
    large: str
    studied: str
    hunted: str
    generated: str
    family: str
    stopped: str
    pegs: str
    kept: str


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """It drives queued runs itself."""
    command = Hakoiri(tmp_path_factory.mktemp("site"))
    board = random_board(6, 1, 4).text()
    wanted: list[tuple[PuzzleSpec, str, dict[str, Any], dict[str, Any]]] = [
        (PuzzleSpec("klotski"), "explore", {}, {}),
        (PuzzleSpec("klotski"), "census", {}, {}),
        (PuzzleSpec("nakuron", {}, board), "explore", {}, {}),
        (PuzzleSpec("nakuron"), "optimise", {"board": board, "strategy": "beam", "seed": 1}, {"rounds": 3}),
        (PuzzleSpec("magic-star", {"points": "6", "solutions": "keep"}), "tree", {}, {}),
        (PuzzleSpec("superpuzz", {"columns": "4"}, CARDS), "explore", {}, {}),
        (PuzzleSpec("sliding", {"goal": "B@4,2", "distinct": "G,H"}, KNOWN["start"]), "explore", {}, {}),
        asked(PuzzleSpec("gap"), "study", sizes=[3, 4], deals=5),
        asked(PuzzleSpec("gap", {"ranks": "3"}), "hunt", legs=8),
        asked(PuzzleSpec("sliding"), "generate", **FAMILY, boards=3, seconds=60.0),
        asked(PuzzleSpec("sliding"), "boards", **FAMILY, hardest=7),
        (PuzzleSpec("klotski"), "explore", {"until_goal": True}, {}),
        (PuzzleSpec("peg-solitaire"), "explore", {"layers": 3}, {}),
        (PuzzleSpec("tiles", {"rows": "2", "columns": "3"}), "explore", {"keep": "depths"}, {}),
    ]
    names = [driven(command.data, *run).name for run in wanted]
    yield Site(*entered(command.start("serve", "--port", "0", executable=HAKOIRI)), *names)
    command.close()


def asked(spec: PuzzleSpec, kind: str, **words: Any) -> tuple[PuzzleSpec, str, dict[str, Any], dict[str, Any]]:
    """A run in the words of its kind."""
    wanted = kind_of(kind).parse_request(spec, **words)
    return wanted.spec, kind, dict(wanted.plan), dict(wanted.limits)


def entered(serving: Running) -> tuple[str, str]:
    """Return the address of a server, and its token, which is empty if it has none."""
    serving.wait_for("coordinator ready")
    found = re.search(r"(http://[^\s?]+/)(?:\?token=(\S+))?", serving.stdout)
    assert found, serving.stdout
    return found[1], found[2] or ""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's chromium; without it a test is skipped, but never in CI."""
    chromium = shutil.which("chromium")
    if chromium is None:
        assert not os.environ.get("CI"), "there is no chromium: scripts/chromium"
        pytest.skip("there is no chromium: scripts/chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(site: Site, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """An empty page, logged in, of the size of a parameter; nothing may go wrong on its console."""
    size: ViewportSize = getattr(request, "param", WIDE)
    context = browser.new_context(viewport=size, has_touch=size is NARROW, base_url=site.address)
    yield from watched(context, site.token)
    context.close()


def address_of(page: Page) -> str:
    """Return the address that the page has now; `Page.url` may lag behind."""
    return str(page.evaluate("location.href"))


def watched(context: BrowserContext, token: str) -> Iterator[Page]:
    """A page; what goes wrong on it is the test's failure."""
    wrong: list[str] = []

    def said(message: ConsoleMessage) -> None:
        # The browser tells of what was refused, whatever the page does: an invalid board, a busy server, a request
        # cut off; and of a map that the test takes a picture of.
        expected = ("status of 422", "status of 503", "net::ERR_FAILED", "GPU stall due to ReadPixels")
        if message.type in ("error", "warning") and not any(text in message.text for text in expected):
            wrong.append(message.text)

    page = context.new_page()
    page.set_default_timeout(_MOST_MILLISECONDS)
    expect.set_options(_MOST_MILLISECONDS)
    page.on("console", said)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    context.request.get(f"/?token={token}")
    yield page
    assert not wrong
