"""The files of the page: whole, of our own, and fetched together."""

import re
from pathlib import Path

from tests.support.commands import ROOT

STATIC = ROOT / "hakoiri" / "web" / "static"
IMPORTED = re.compile(r'(?:from|import\() ?"(\.[^"]+)"')


def reached(module: Path, lazily: bool = False) -> set[Path]:
    """The modules that one imports, itself too; with `lazily` also those that are fetched when they are asked for."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            text = here.read_text(encoding="utf-8")
            if not lazily:
                text = re.sub(r'import\("[^"]+"\)', "", text)
            waiting += [(here.parent / path).resolve() for path in IMPORTED.findall(text)]
    return found


#: The script of the colours, and the module of pages that are handed on.
_OTHERS = {STATIC / "js" / "lib" / "theme.js", STATIC / "js" / "play" / "handed.js"}


def test_every_module_is_used_and_every_import_leads_to_one() -> None:
    modules = {*STATIC.rglob("*.js")}
    assert reached(STATIC / "js" / "main.js", lazily=True) | _OTHERS == modules


def test_the_first_view_is_fetched_at_once() -> None:
    """The browser knows all modules of the list of runs before it has read the first."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    preloaded = {STATIC / path for path in re.findall(r'rel="modulepreload" href="([^"]+)"', page)}
    first = reached(STATIC / "js" / "main.js") | reached(STATIC / "js" / "pages" / "runs.js")
    assert preloaded == first - {STATIC / "js" / "main.js"}


def test_nothing_comes_from_elsewhere_and_no_script_stands_in_the_page() -> None:
    for path in STATIC.rglob("*"):
        if path.suffix in (".js", ".css", ".html"):
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://|@import|url\(", text), path
            assert not re.search(r"innerHTML|eval\(|new Function|document\.write", text), path
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]* src=)|<style| on[a-z]+=| style=", page)
