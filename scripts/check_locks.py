"""Exit 0 if the lock files fit pyproject.toml: everything asked for is pinned, at a version that will do."""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent


def pins(lock: str) -> dict[str, list[str]]:
    """The versions of everything that a lock file pins; several where they depend on the Python."""
    versions: dict[str, list[str]] = {}
    for name, version in re.findall(
        r"^([a-z0-9.-]+)==([^\s;\\]+)", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE
    ):
        versions.setdefault(name, []).append(version)
    return versions


def faults() -> Iterator[str]:
    """What does not fit, in words."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = pyproject["dependency-groups"]
    runtime = pyproject["project"]["dependencies"] + groups["build"]
    tools = [entry for entry in groups["dev"] if isinstance(entry, str)]
    locked, locked_dev = pins("requirements.lock"), pins("requirements-dev.lock")
    for lock, pinned, asked in (
        ("requirements.lock", locked, runtime),
        ("requirements-dev.lock", locked_dev, runtime + tools),
    ):
        for requirement in map(Requirement, asked):
            versions = pinned.get(requirement.name, [])
            if not versions or any(version not in requirement.specifier for version in versions):
                yield f"{lock}: {requirement} is asked for, {' and '.join(versions) or 'nothing'} is pinned"
    for name in sorted(locked):
        if locked_dev.get(name) != locked[name]:
            yield f"{name}: {locked[name]} in requirements.lock, {locked_dev.get(name)} in requirements-dev.lock"


if __name__ == "__main__":
    found = list(faults())
    for fault in found:
        print(fault, file=sys.stderr)
    if found:
        sys.exit("the lock files are stale; write them anew with scripts/lock")
