"""The recipes of CONTRIBUTING.md, followed in a copy of the repository: their tests pass, or name a step left out."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.commands import ROOT, clean_environment

#: The info string of a block, and what is in it.
_BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.M | re.S)
#: A name in a file, or a file.
_NAMED = re.compile(r"(?:`(\w+)`(?: and `(\w+)`)? (?:in|of) )?`([\w.]+/[\w./-]*)`")
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "*.egg-info", "build")
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


class Recipe(NamedTuple):
    """The steps of a change, each a file and its text or its changes, or a script; the arguments of pytest."""

    steps: list[tuple[str, str, str]]
    tests: list[str]


def recipes() -> dict[str, Recipe]:
    """Return the recipes by their headings."""
    part = TEXT.partition("\n## Three recipes\n")[2].partition("\n## ")[0]
    found = {}
    for recipe in part.split("\n### ")[1:]:
        *steps, (_, _, typed) = [(match[1], match[2], match[3]) for match in _BLOCK.finditer(recipe)]
        *scripts, tests = typed.splitlines()
        steps += [("script", line.split()[1], "") for line in scripts]
        found[recipe.partition("\n")[0]] = Recipe(steps, shlex.split(tests)[1:])
    return found


def follow(kind: str, file: Path, text: str) -> None:
    """Write a new file, or make a change: each line of it that is not new is in the file, once with its neighbours."""
    if kind == "python":
        assert not file.exists()
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return
    lines = text.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] != "+")
    after = "".join(line[1:] for line in lines if line[0] != "-")
    if lines[0][0] == "-":
        before, after = before.rstrip("\n"), after.rstrip("\n")
    there = file.read_text(encoding="utf-8")
    assert there.count(before) == 1, before
    file.write_text(there.replace(before, after), encoding="utf-8")


def outcome(
    recipe: Recipe, place: Path, *arguments: str, without: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """Follow a recipe in a copy of the repository, `without` one of its steps; return how a script or the tests end."""
    shutil.copytree(ROOT, place, symlinks=True, ignore=_LEFT_OUT)
    own, done = clean_environment(PYTHONPATH=str(place)), list[list[str]]()
    for number, (kind, name, text) in enumerate(recipe.steps):
        if number == without:
            continue
        if kind == "script":
            done.append([name])
        else:
            follow(kind, place / name, text)
    done.append(["-m", "pytest", "-n0", "-q", "--tb=short", "-p", "no:cacheprovider", *recipe.tests, *arguments])
    for argv in done:
        ended = subprocess.run([sys.executable, *argv], cwd=place, env=own, check=False, capture_output=True, text=True)
        if ended.returncode:
            break
    return ended


RECIPES = recipes()
STEPS = [(name, number) for name, recipe in RECIPES.items() for number in range(len(recipe.steps))]


@pytest.mark.ci_slow
def test_the_recipes_are_whole_changes(tmp_path: Path) -> None:
    """All three in one copy, so that their scripts and the fixtures of their tests are paid for once."""
    steps = sorted(
        dict.fromkeys(step for recipe in RECIPES.values() for step in recipe.steps),
        key=lambda step: step[0] == "script",
    )
    files = {file for recipe in RECIPES.values() for file in recipe.tests[2:-2]}
    words = " or ".join(recipe.tests[-1] for recipe in RECIPES.values())
    found = outcome(Recipe(steps, ["-m", "not slow", *sorted(files), "-k", words]), tmp_path / "copy")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), STEPS)
def test_a_step_that_is_forgotten_is_named(name: str, step: int, tmp_path: Path) -> None:
    """By a test that is run by default."""
    found = outcome(RECIPES[name], tmp_path / "copy", "-m", "not slow and not ci_slow", without=step)
    assert found.returncode in (1, 2), (RECIPES[name].steps[step], found.stdout)


def test_there_are_three_recipes() -> None:
    assert len(RECIPES) == 3
    assert all(recipe.steps[0][0] == "python" for recipe in RECIPES.values())
    assert all(recipe.tests[:2] == ["-m", "not slow"] and recipe.tests[-2] == "-k" for recipe in RECIPES.values())


def test_what_the_other_sections_name_is_there() -> None:
    named = [found for found in _NAMED.findall(TEXT.partition("\n## Three recipes\n")[0]) if "NAME" not in found[2]]
    for *names, path in named:
        there = [place / path for place in (ROOT, ROOT / "hakoiri", ROOT / "hakoiri/web/static/js")]
        (file, *_) = [file for file in there if file.exists()] or pytest.fail(f"there is no {path}")
        assert all(name in file.read_text(encoding="utf-8") for name in names if name), (names, path)
    assert len(named) > 40
