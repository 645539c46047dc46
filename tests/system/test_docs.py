"""The commands of README and docs are typed here, and print what the texts promise."""

import os
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from runpy import run_path
from unittest.mock import patch

import pytest
from PIL import Image, ImageChops, ImageStat
from typer.main import get_command

from hakoiri.cli import app
from hakoiri.guests.nakuron.board import random_board
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.names import DATABASES
from hakoiri.worker.hosts.host import HOST_TASKS
from tests.support.commands import ROOT, Hakoiri, clean_environment
from tests.support.pages import compare_outputs

#: The Python in it is files, which tests/system/test_own_puzzles.py writes and runs.
_FILES = "own-puzzle.md"
_TEXTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
_EXAMPLES = sorted((ROOT / "examples").glob("*/README.md"))
#: Files that commands of the text write.
_WRITTEN = (".png", ".svg", ".gif", ".html", ".graphml", ".csv", ".npz", ".parquet", ".dot", ".jsonl", ".pdf", ".pdb")
#: A puzzle that they write.
_OWN = "my_puzzle.py"
#: Commands that serve until they are stopped, or need a server: other tests start them.
_SERVICE = {"coordinator", "worker", "enqueue"}
#: A round of games has fewer of them the larger the board is.
_LARGE_BOARD = "/".join(random_board(20, 1, 4).lines())
#: What would take long, and what is typed instead.
_LESS = {
    ("--chunk", "1"): (),
    ("--rounds", "3"): ("--rounds", "1"),
    ("examples/nakuron.txt", "--strategy"): (_LARGE_BOARD, "--strategy"),
    ("last", "--full"): ("last",),
    ("run", "examples/lights_out.py:LightsOut"): ("run", "examples/lights_out.py:LightsOut", "-o", "n=3"),
}


def commands(text: Path) -> Iterator[list[str]]:
    """The words of every ``hakoiri ...`` line in a code block, without comments."""
    for block in re.findall(r"```(?:sh|console)\n(.*?)```", text.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line.removeprefix("$ ").removesuffix("&"), comments=True)
            if words[:1] == ["hakoiri"]:
                yield words[1:]


def typed(text: Path) -> list[list[str]]:
    """Those that a test can run one after another."""
    return [words for words in commands(text) if words[0] not in _SERVICE and "--watch" not in words]


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        # tests/system/test_own_puzzles.py types the same, and compares what is printed.
        pytest.param("docs/tutorial/index.md", marks=pytest.mark.slow),
        pytest.param("docs/how-to/own-board.md", marks=pytest.mark.ci_slow),
        pytest.param("docs/how-to/definitions.md", marks=pytest.mark.ci_slow),
        pytest.param("docs/how-to/hand-on.md", marks=pytest.mark.ci_slow),
        "docs/how-to/solitaires.md",
        # Its contest takes seconds.
        pytest.param("docs/how-to/nakuron.md", marks=pytest.mark.slow),
        # The same commands are typed by tests/guests/stars/test_magic_stars.py.
        pytest.param("docs/how-to/magic-stars.md", marks=pytest.mark.slow),
    ],
)
def test_every_command_in_the_text_works(
    hakoiri: Hakoiri, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    words_of_all = typed(ROOT / name)
    assert len(words_of_all) > 4
    for words in words_of_all:
        there = [
            str(tmp_path / word) if word.endswith(_WRITTEN) or word.startswith(_OWN) else word
            for word in with_less(words)
        ]
        finished = hakoiri.here(*there)
        assert finished.stdout, finished


@pytest.mark.ci_slow
@pytest.mark.parametrize("page", ["tutorial/index.md", "how-to/several-starts.md"])
def test_outputs_of_the_text(page: str, hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line below a command is printed by it. Runs are those of the commands before."""
    monkeypatch.chdir(ROOT)
    hakoiri.ask("run", "klotski")

    def do(step: re.Match[str]) -> str | None:
        words = shlex.split(step["command"] or "", comments=True)
        if not step["shown"] or words[0] != "hakoiri" or _OWN in step["command"]:
            return None
        return hakoiri.here(*words[1:]).stdout

    assert compare_outputs(ROOT / "docs" / page, do) > 3


def with_less(words: list[str]) -> list[str]:
    """A command without what would take long."""
    for long, less in _LESS.items():
        places = [number for number, pair in enumerate(pairwise(words)) if pair == long]
        for number in places[:1]:
            words = [*words[:number], *less, *words[number + 2 :]]
    return words


def programs(text: Path) -> list[str]:
    """The blocks of Python of a text."""
    return re.findall(r"```python\n(.*?)```", text.read_text(encoding="utf-8"), re.DOTALL)


_WITH_PYTHON = [text for text in _TEXTS if text.name != _FILES and programs(text)]


def test_which_texts_have_python() -> None:
    names = {"README.md", "notebook.md", "python.md", "studies.md", "index.md", "hand-on.md", "not-done.md"}
    names |= {"several-starts.md", "definitions.md"}
    assert {text.name for text in _WITH_PYTHON} == names and len(_WITH_PYTHON) == len(names)


@pytest.mark.ci_slow
@pytest.mark.parametrize("text", _WITH_PYTHON, ids=lambda text: text.name)
def test_python_in_the_text_runs(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = clean_environment(HAKOIRI_DATA=str(tmp_path / "runs"), XDG_STATE_HOME=str(tmp_path))
    with patch.dict(os.environ, own, clear=True):
        for number, program in enumerate(programs(text)):
            file = tmp_path / f"program_{number}.py"
            file.write_text(program, encoding="utf-8")
            run_path(str(file), run_name="__main__")


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    names = get_command(app).commands  # type: ignore[attr-defined]
    missing = {name for name in names if not re.search(rf"`[^`\n]*\b{name}\b", readme)}
    assert not missing


@pytest.mark.ci_slow
def test_sample_of_the_readme_is_what_is_printed(hakoiri: Hakoiri) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    sample = re.search(r"\$ scripts/start\n(.*?)```", readme, re.DOTALL)
    assert sample
    printed = hakoiri.here("run", "klotski", "--whole").stdout
    for line in sample[1].splitlines():
        if not line.startswith(("run ", "computing ")):
            assert line.rstrip() in [found.rstrip() for found in printed.splitlines()], line


def test_storage_format_names_every_database() -> None:
    text = (ROOT / "docs" / "reference" / "file-formats.md").read_text(encoding="utf-8")
    assert all(f"| `{name.decode()}` |" in text for name in DATABASES)


def test_links_lead_somewhere() -> None:
    """Pages to play are made with the site, by `scripts/play_pages.py`."""
    links = [
        (text, link, heading)
        for text in [*_TEXTS, *_EXAMPLES]
        for link, heading in re.findall(
            r"\]\((?!https:|\.\./play/)([^)#]*)#?([^)]*)\)", text.read_text(encoding="utf-8")
        )
    ]
    named = [(text, text.parent / link if link else text, heading) for text, link, heading in links]
    assert [(text, file) for text, file, _ in named if not file.exists()] == []
    assert [each for each in named if each[2] and each[2] not in headings(each[1])] == []
    assert len(links) > 300


def test_the_page_about_hosts_has_all_their_tasks() -> None:
    """It says that nothing is durable of those that are not."""
    text, durable = (ROOT / "docs" / "explanation" / "hosts.md").read_text(encoding="utf-8"), dict[str, bool]()
    for names, said in re.findall(r"^\| (`host-[^|]*) \|.*\| ([^|]*) \|$", text, re.M):
        durable |= {name: not said.startswith("nothing") for name in re.findall("`(host-[a-z]+)`", names)}
    assert durable == {name: task.durable for name, task in HOST_TASKS.items()}


def headings(text: Path) -> set[str]:
    """Return the names that a link may have after ``#``."""
    lines = re.findall(r"^#+ (.*)$", text.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


# The gallery: each of its pictures is there, is made by a command of the page, and is what the program draws today


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
    "name", [pytest.param(name, marks=() if name in _QUICK else pytest.mark.slow) for _, name in made()]
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


def test_boards_in_the_texts_are_boards() -> None:
    """Those of sliding blocks, also where the command takes too long to be typed here."""
    given = [words for text in _TEXTS for words in commands(text) if {"sliding", "--from"} <= {*words}]
    boards = [words for words in given if not words[words.index("--from") + 1].endswith(".txt")]
    assert len(boards) > 2
    for words in boards:
        pairs = [*pairwise(words)]
        options = [value.split("=", 1) for flag, value in pairs if flag == "-o"]
        options += [["goal", value] for flag, value in pairs if flag == "--goal"]
        (board,) = (value for flag, value in pairs if flag == "--from")
        PuzzleSpec("sliding", dict(options), board).build()
