"""The gallery: each of its pictures is there, is made by a command of the page, and is what the program draws today."""

import re
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat

from tests.support.commands import ROOT, Hakoiri
from tests.system.test_docs import commands

PAGE, PICTURES = ROOT / "docs" / "how-to" / "gallery.md", ROOT / "docs" / "how-to" / "gallery"
_MOST_BYTES = 600_000
_DRAWN = (".svg", ".png", ".gif", ".html")


def made() -> list[tuple[list[list[str]], str]]:
    """The pictures, each with the commands that make its run and itself."""
    found, run = [], list[list[str]]()
    for words in commands(PAGE):
        run = [words] if words[0] == "run" else run
        if words[-1].endswith(_DRAWN):
            found.append(([words] if words[0] == "study" else [*run, words], words[-1]))
    return found


def test_every_picture_is_made_and_shown() -> None:
    names = [name for _, name in made()]
    shown = re.findall(r"!\[[^]]+\]\(gallery/([^)]+)\)", PAGE.read_text(encoding="utf-8"))
    assert len(set(names)) == len(names) > 15
    assert sorted(names) == sorted(shown) == sorted(path.name for path in PICTURES.iterdir())
    assert all(sum(words[-1].endswith(_DRAWN) for words in chosen) == 1 for chosen, _ in made())
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) < _MOST_BYTES


_QUICK = {"lights-out.svg", "burnt-pancakes.svg"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in _QUICK else pytest.mark.slow) for _, name in made()],
)
def test_the_program_draws_them_still(
    name: str, hakoiri: Hakoiri, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If not, and that is as it should be: scripts/gallery. PNG files have fewer colours there."""
    monkeypatch.chdir(ROOT)
    (chosen,) = [since for since, picture in made() if picture == name]
    for words in chosen:
        assert hakoiri.here(*(str(tmp_path / word) if word.endswith(_DRAWN) else word for word in words)).stdout
    if name.endswith(".png"):
        with Image.open(tmp_path / name) as drawn, Image.open(PICTURES / name) as kept:
            difference = ImageStat.Stat(ImageChops.difference(drawn.convert("RGB"), kept.convert("RGB")))
            assert drawn.size == kept.size and max(difference.mean) < 2
    else:
        assert (tmp_path / name).read_bytes() == (PICTURES / name).read_bytes()
