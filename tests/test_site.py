"""The parts of the site that are generated from the code, and its check that nothing is loaded from another server."""

import re
import sys
from runpy import run_path

import pytest
from typer.main import get_command

import hakoiri
from hakoiri.cli.app import app
from tests.support.commands import ROOT
from tests.support.seeds import usual

HOOKS = run_path(str(ROOT / "scripts" / "reference.py"))


def test_the_command_line_is_there_in_full() -> None:
    text = "\n".join(HOOKS["command_line"]())
    commands = get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        for words in [f"{name} {inner}" for inner in getattr(command, "commands", ())] or [name]:
            assert f"### `hakoiri {words}`" in text
    for row in ("| `PUZZLE` | ", "| `--workers` `N` | ", "| `--hosts` `N\\|all\\|none` | "):
        assert f"\n{row}" in text, row


def test_the_python_interface_is_there_in_full() -> None:
    text = "\n".join(HOOKS["python"]())
    assert not [name for name in dir(hakoiri) if f"`{name}`" not in text]
    assert "\nopen_run(\n    name: str = 'last',\n" in text and "\n`layer(depth: int) -> Keys`\n" in text


@pytest.mark.ci_slow
def test_every_message_is_on_the_page_about_troubles() -> None:
    """By the error that carries it, or how it is told; an error without a section fails."""
    found = HOOKS["messages"]()
    page = (ROOT / "docs" / "reference" / "troubleshooting.md").read_text(encoding="utf-8")
    named = [name for names in re.findall(r"<!-- messages: (.*?) -->", page) for name in names.split()]
    assert sorted(named) == sorted(found)
    assert all(found.values())
    assert not [text for texts in found.values() for text in texts if f"- ``{text}``" not in page]
    for kind, text in (
        ("PuzzleError", "there is no puzzle …; known puzzles: …; write a puzzle of your own as FILE.py:NAME"),
        ("NameTakenError", "there is a run … already; choose another with --name; see 'hakoiri status RUN'"),
        ("DamagedError", "layer …, block … is damaged: its checksum differs"),
        ("fault", "layer … has … goals, but … in its record"),
    ):
        assert text in found[kind], text


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions write signatures otherwise")
@usual(3, "page", ["command-line.md", "http.md", "exit-codes.md", "python.md", "troubleshooting.md"])
def test_what_is_generated_is_committed(page: str) -> None:
    """After a change run: .venv/bin/python scripts/reference.py."""
    text = (ROOT / "docs" / "reference" / page).read_text(encoding="utf-8")
    assert text.count("<!-- end -->") > 0
    assert HOOKS["filled"](page, text) == text


def test_the_page_of_man_is_committed_and_has_every_command() -> None:
    text = "\n".join(HOOKS["man"]()) + "\n"
    assert (ROOT / "hakoiri" / "cli" / "hakoiri.1").read_text(encoding="utf-8") == text
    assert ".B hakoiri run\nFind every configuration" in text and ".SH EXIT STATUS" in text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('<script src="https://a.example/b.js"></script>', 1),
        ("<img alt='x' src=//a.example/b.png>", 1),
        ('<link rel="stylesheet" href="https://a.example/b.css">', 1),
        ("@import 'https://a.example/b.css'; a { background: url(https://a.example/c.png) }", 2),
        ('<pre class="mermaid">', 1),
        ('<a href="https://a.example">a</a><link rel="canonical" href="https://a.example/"><img src="b.png">', 0),
    ],
)
def test_resources_of_other_servers_are_seen(text: str, count: int) -> None:
    assert len(HOOKS["foreign"](text)) == count


def test_bars_in_the_code_of_tables_are_no_columns() -> None:
    text = "| `--hosts N\\|all` | one\\|two |\n`a\\|b`"
    assert HOOKS["on_page_markdown"](text) == "| `--hosts N|all` | one\\|two |\n`a\\|b`"
