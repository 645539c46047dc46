"""Exit 0 if pyproject.toml asks for what the lock files pin, and what they pin is what is installed here."""

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent


def pins(lock: str) -> dict[str, list[Requirement]]:
    """Return the pins of a lock file by name; several versions if they depend on the Python."""
    pinned: dict[str, list[Requirement]] = {}
    for line in re.findall(r"^([a-z0-9.-]+==.*?) *\\?$", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE):
        requirement = Requirement(line)
        pinned.setdefault(requirement.name, []).append(requirement)
    return pinned


def version_of(pin: Requirement) -> str:
    """The version that a line of a lock file pins."""
    (specifier,) = pin.specifier
    return specifier.version


def stale(lock: str, pinned: dict[str, list[Requirement]], asked: list[str]) -> Iterator[str]:
    """Yield the requirements that are not pinned."""
    for requirement in map(Requirement, asked):
        versions = [version_of(pin) for pin in pinned.get(requirement.name, [])]
        if not versions or any(found not in requirement.specifier for found in versions):
            yield f"{lock}: {requirement} is asked for, {' and '.join(versions) or 'nothing'} is pinned"


def untested(pinned: dict[str, list[Requirement]], asked: list[str]) -> Iterator[str]:
    """Bounds other than from the oldest pinned minor version to some greatest one."""
    for requirement in map(Requirement, asked):
        bounds = {specifier.operator: specifier.version for specifier in requirement.specifier}
        oldest = min((Version(version_of(pin)) for pin in pinned.get(requirement.name, [])), default=Version("0"))
        tested = f"{oldest.major}.{oldest.minor}"
        if set(bounds) != {">=", "<"} or bounds[">="] != tested:
            yield f"pyproject.toml: {requirement} allows more than is tested, which is {tested}"


def not_installed(lock: str, pinned: dict[str, list[Requirement]]) -> Iterator[str]:
    """Yield the packages that are not installed, or not in the version that a lock file pins."""
    for pin in (pin for pins in pinned.values() for pin in pins):
        if pin.marker is None or pin.marker.evaluate():
            try:
                found = version(pin.name)
            except PackageNotFoundError:
                found = "nothing"
            if found != version_of(pin):
                yield f"{pin.name}: {found} is installed, {lock} pins {version_of(pin)}"


def faults() -> Iterator[str]:
    """Yield all faults as text."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups, product = pyproject["dependency-groups"], pyproject["project"]["dependencies"]
    tools = groups["build"] + [entry for entry in groups["dev"] if isinstance(entry, str)]
    locked, locked_dev = pins("requirements.lock"), pins("requirements-dev.lock")
    yield from stale("requirements.lock", locked, product + groups["build"])
    yield from stale("requirements-dev.lock", locked_dev, product + tools)
    yield from untested(locked, product)
    for name in sorted(locked):
        # The tools may need a package on more platforms.
        if [*map(version_of, locked_dev.get(name, []))] != [*map(version_of, locked[name])]:
            yield f"{name}: requirements.lock and requirements-dev.lock pin different versions"
    yield from not_installed("requirements-dev.lock", locked_dev)


if __name__ == "__main__":
    found = list(faults())
    for fault in found:
        print(fault, file=sys.stderr)
    if found:
        sys.exit("write the lock files anew with scripts/lock, install them with scripts/setup --dev")
