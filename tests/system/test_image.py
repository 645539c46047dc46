"""The build context of the image holds what the Dockerfile copies, and nothing else; the service in containers."""

import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.support.commands import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
#: What compose-test exits with where no engine can be had.
NO_ENGINE = 3
IGNORED = [
    line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"
]


def sources() -> Iterator[str]:
    """The files and folders of the repository that the Dockerfile copies."""
    for line in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE):
        yield from line.split()[:-1]


SOURCES = [*sources()]


def matches(pattern: str, path: str) -> bool:
    """Return whether a pattern matches a path; ``**/`` at its beginning stands for any folders, ``*`` for none."""
    if pattern.startswith("**/"):
        return fnmatch(Path(path).name, pattern.removeprefix("**/"))
    return fnmatch(path, pattern) and path.count("/") == pattern.count("/")


def passes(name: str) -> bool:
    """Return whether .dockerignore lets a path through: the last line that matches it or a folder above decides."""
    ways = [name, *map(str, Path(name).parents)][:-1]
    deciding = [line for line in IGNORED if any(matches(line.removeprefix("!"), way) for way in ways)]
    return not deciding or deciding[-1].startswith("!")


@pytest.mark.parametrize("source", SOURCES)
def test_what_the_dockerfile_copies_is_in_the_build_context(source: str) -> None:
    path = ROOT / source
    assert path.exists()
    inside = [path, *path.rglob("*")] if path.is_dir() else [path]
    names = [str(each.relative_to(ROOT)) for each in inside if "__pycache__" not in each.parts]
    assert [name for name in names if not passes(name)] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_service_in_containers() -> None:
    done = subprocess.run([ROOT / "scripts/compose-test"], check=False, capture_output=True, text=True)
    if done.returncode == NO_ENGINE:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
