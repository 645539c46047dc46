"""The files of the page: whole, of our own, and fetched together."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from hakoiri.puzzles.pictures import luminance
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


def test_modules_are_small() -> None:
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in STATIC.rglob("*.js")) < 230


@pytest.mark.parametrize(("scheme", "place"), [("light", 0), ("dark", 1)])
def test_the_colours_of_a_map_grow_lighter_by_even_steps_and_are_seen(scheme: str, place: int) -> None:
    """A contrast of 3 at least on the ground, as WCAG wants of graphics; lightness alone tells them apart."""
    text = (STATIC / "js" / "map" / "colours.js").read_text(encoding="utf-8")
    found = re.search(rf"{scheme}: \[([^]]+)\]", text)
    assert found
    ramp = re.findall(r"#[0-9a-f]{6}", found[1])
    tokens = (STATIC / "style" / "tokens.css").read_text(encoding="utf-8")
    surface = re.findall(r"--surface: light-dark\((#\w+), (#\w+)\)", tokens)[0][place]
    levels = [luminance(colour) for colour in ramp]
    for level in levels:
        darker, lighter = sorted((level, luminance(surface)))
        assert (lighter + 0.05) / (darker + 0.05) >= 3
    # Lightness as people see it (CIE 1976).
    steps = [116 * (after ** (1 / 3) - before ** (1 / 3)) for before, after in pairwise(levels)]
    assert len(ramp) == 9
    assert max(steps) < 2 * min(steps), steps


def test_the_pictures_of_the_docs_are_those_of_the_script() -> None:
    shown = re.findall(
        r"!\[[^]]+\]\(web/([^)]+)\.png\)", (ROOT / "docs" / "how-to" / "web.md").read_text(encoding="utf-8")
    )
    made = re.findall(
        r'^    \("([^"]+)", ', (ROOT / "scripts" / "screenshots").read_text(encoding="utf-8"), re.MULTILINE
    )
    pictures = [*(ROOT / "docs" / "how-to" / "web").iterdir()]
    assert sorted(shown) == sorted(made) == sorted(path.stem for path in pictures)
    assert sum(path.stat().st_size for path in pictures) < 400_000
