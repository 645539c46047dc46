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
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "*.egg-info", "build")


class Recipe(NamedTuple):
    """The files of a change, each with its text or its changes; the scripts to run; the arguments of pytest."""

    steps: list[tuple[str, str, str]]
    scripts: list[str]
    tests: list[str]


def recipes() -> dict[str, Recipe]:
    """Return the recipes by their headings."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    part = text.partition("\n## Three recipes\n")[2].partition("\n## ")[0]
    found = {}
    for recipe in part.split("\n### ")[1:]:
        blocks = [(match[1], match[2], match[3]) for match in _BLOCK.finditer(recipe)]
        ((_, _, typed),) = [block for block in blocks if block[0] == "sh"]
        *scripts, tests = typed.splitlines()
        found[recipe.partition("\n")[0]] = Recipe(
            blocks[:-1], [line.split()[1] for line in scripts], shlex.split(tests)[1:]
        )
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


def outcome(recipe: Recipe, place: Path, without: int | None = None) -> "subprocess.CompletedProcess[str]":
    """Follow a recipe in a copy of the repository, `without` one of its steps, and run its tests there."""
    shutil.copytree(ROOT, place, symlinks=True, ignore=_LEFT_OUT)
    for number, (kind, name, text) in enumerate(recipe.steps):
        if number != without:
            follow(kind, place / name, text)
    own = clean_environment(PYTHONPATH=str(place))
    for script in recipe.scripts:
        subprocess.run([sys.executable, script], cwd=place, env=own, check=True, capture_output=True)
    argv = [sys.executable, "-m", "pytest", "-n0", "-q", "--tb=short", "-p", "no:cacheprovider", *recipe.tests]
    return subprocess.run(argv, cwd=place, env=own, check=False, capture_output=True, text=True)


RECIPES = recipes()
STEPS = [(name, number) for name, recipe in RECIPES.items() for number in range(len(recipe.steps))]


@pytest.mark.ci_slow
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_a_whole_change(name: str, tmp_path: Path) -> None:
    found = outcome(RECIPES[name], tmp_path / "copy")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("name", "step"), STEPS)
def test_a_step_that_is_forgotten_is_named(name: str, step: int, tmp_path: Path) -> None:
    found = outcome(RECIPES[name], tmp_path / "copy", without=step)
    assert found.returncode, RECIPES[name].steps[step]


def test_there_are_three_recipes() -> None:
    assert len(RECIPES) == 3
    assert all(recipe.steps[0][0] == "python" and recipe.tests for recipe in RECIPES.values())
