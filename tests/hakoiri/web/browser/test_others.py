"""The page in Firefox and WebKitGTK, as Debian has them: each night, and wherever they are installed."""

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, ClassVar
from urllib.error import URLError
from urllib.request import Request, urlopen

import psutil
import pytest

from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.transport.data_redis import free_port
from tests.support.commands import HAKOIRI, PATIENCE_SECONDS, Hakoiri, wait_until
from tests.support.runs import driven

pytestmark = [pytest.mark.slow, pytest.mark.browser]
#: The name that WebDriver gives to an element.
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class WebKit:
    """WebKitGTK by its driver, over HTTP."""

    program, words = "WebKitWebDriver", ("xvfb-run", "--auto-servernum", "WebKitWebDriver", "--port={port}")
    _paths: ClassVar = {"Navigate": "/url", "ExecuteScript": "/execute/sync", "FindElement": "/element"}

    def __init__(self, port: int) -> None:
        self._address = f"http://127.0.0.1:{port}/session"
        self._address += "/" + self._ask("", capabilities={})["sessionId"]

    def _ask(self, path: str, **body: Any) -> Any:
        data = json.dumps(body).encode()
        with urlopen(Request(self._address + path, data), timeout=PATIENCE_SECONDS) as answer:  # noqa: S310
            return json.load(answer)["value"]

    def command(self, name: str, **what: Any) -> Any:
        return self._ask(self._paths.get(name, f"/element/{what.get('id')}/click"), **what)

    def close(self) -> None:
        """Its sessions end with the driver."""


class Firefox:
    """Firefox by its own protocol, Marionette: texts of JSON after their length."""

    program, words = "firefox-esr", ("firefox-esr", "--headless", "--marionette", "--profile", "{profile}")

    def __init__(self, port: int) -> None:
        with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as connection:
            self._stream = connection.makefile("rwb")
        self._read()
        self.command("NewSession")

    def _read(self) -> Any:
        length = b""
        while not length.endswith(b":"):
            length += self._stream.read(1)
        return json.loads(self._stream.read(int(length[:-1])))

    def command(self, name: str, **what: Any) -> Any:
        text = json.dumps([0, 1, f"WebDriver:{name}", what]).encode()
        self._stream.write(b"%d:%b" % (len(text), text))
        self._stream.flush()
        _, _, error, found = self._read()
        assert not error, error
        return found.get("value")

    def close(self) -> None:
        self._stream.close()


class Tab:
    """A page in a browser."""

    def __init__(self, browser: WebKit | Firefox) -> None:
        self._browser = browser

    def open(self, address: str) -> None:
        self._browser.command("Navigate", url="about:blank")
        self._browser.command("Navigate", url=address)

    def shows(self, selector: str, words: str) -> None:
        """Return when the text of an element has these words."""
        script = "const found = document.querySelector(arguments[0]); return found && found.textContent"

        def said() -> bool:
            text = self._browser.command("ExecuteScript", script=script, args=[selector])
            return text is not None and re.search(words, text) is not None

        wait_until(said, what=f"{words!r} in {selector}")

    def click(self, selector: str) -> None:
        self.shows(selector, "")
        found = self._browser.command("FindElement", using="css selector", value=selector)
        self._browser.command("ElementClick", id=found[ELEMENT])


@pytest.fixture(params=[Firefox, WebKit])
def tab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tab]:
    kind: type[WebKit | Firefox] = request.param
    if shutil.which(kind.program) is None:
        pytest.skip(f"there is no {kind.program}")
    port = free_port("127.0.0.1")
    (tmp_path / "user.js").write_text(f'user_pref("marionette.port", {port});\n', encoding="utf-8")
    words = [word.format(port=port, profile=tmp_path) for word in kind.words]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def begun() -> WebKit | Firefox | None:
        assert process.poll() is None, f"{kind.program} has ended"
        with suppress(URLError, ConnectionRefusedError):
            return kind(port)
        return None

    try:
        browser = wait_until(begun, what=f"an answer of {kind.program}")
        assert browser is not None
        with closing(browser):
            yield Tab(browser)
    finally:
        with suppress(psutil.NoSuchProcess):
            for each in psutil.Process(process.pid).children(recursive=True):
                each.kill()
        process.kill()
        process.wait()


@pytest.fixture
def opened(tab: Tab, tmp_path: Path) -> Iterator[tuple[Callable[[str], None], str]]:
    """Yield a function that opens an address of a server's page, and the name of its run of Hakoiri-musume."""
    command = Hakoiri(tmp_path)
    run = driven(command.data, PuzzleSpec("klotski"), "explore", {}, {}).name
    serving = command.start("serve", "--port", "0", "--no-token", executable=HAKOIRI)
    serving.wait_for("coordinator ready")
    (address,) = re.findall(r"http://\S+/", serving.stdout)
    yield lambda where: tab.open(f"{address}#/{where}"), run
    command.close()


def test_landing_board_editor_and_map(tab: Tab, opened: tuple[Callable[[str], None], str]) -> None:
    show, run = opened
    show("")
    tab.shows(".hero .where", "Drag a piece")
    tab.click('.hero .able[data-piece="G"] > :first-child')
    tab.shows(".hero .where", "1 move played, 117 to the goal")
    show(f"runs/{run}/board")
    tab.shows(".distance", "^116moves to the goal")
    tab.click(".move.best")
    tab.shows(".distance", "^115moves to the goal")
    show(f"runs/{run}")
    tab.shows(".facts", "25,955")
    show("new/sliding?start=ABBC/ABBC/DEEF/DGHF/I..J&goal=B@4,2")
    tab.shows(".verdict", "Solvable in 116 moves")
    show(f"runs/{run}/map")
    tab.shows(".chosen .facts", "from the start")
