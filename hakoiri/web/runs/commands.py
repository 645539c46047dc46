"""Questions that need long computing, as commands: whoever answers them is a process of its own, that may be stopped.

IMPORTANT: what a client wrote comes into a command only as a key in hexadecimal digits, never as a word that could be
an option or the name of a file.
"""

from collections.abc import Mapping
from pathlib import Path


def diameter(component: int, every: bool = False) -> list[str]:
    """The exact diameter of a component, or every eccentricity."""
    return ["diameter", "--component", str(component), *(["--all"] if every else [])]


def path(target: str, source: str | None) -> list[str]:
    """A shortest path to a key, or to `goal` or `farthest`, from a key or the run's start."""
    return ["path", "--to", target, *(["--from", source] if source is not None else [])]


def components() -> list[str]:
    """The components of a run."""
    return ["components"]


def strong_components(limit: int) -> list[str]:
    """Those whose configurations all lead to each other."""
    return ["components", "--strong", "--limit", str(limit)]


def verify(full: bool) -> list[str]:
    """Whether what is stored is true."""
    return ["verify", *(["--full"] if full else [])]


def export(target: Path) -> list[str]:
    """A run as a file for other programs."""
    return ["export", "--to", str(target)]


def map_of(component: int, axes: int, target: Path) -> list[str]:
    """A component laid out, as a file."""
    return ["map", "--component", str(component), "--dim", str(axes), "--to", str(target)]


def line(words: list[str], run: str, settings: Mapping[str, str]) -> list[str]:
    """A whole command that asks a run; `settings` are those of the server: where runs lie, and how much memory."""
    options = (word for name, value in settings.items() for word in (f"--{name}", value))
    return [words[0], run, *words[1:], *options, "--json"]


def driving(settings: Mapping[str, str], threads: bool) -> list[str]:
    """The command that drives queued runs; it finds the URL of Redis in its environment."""
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return ["coordinator", *options, *(["--threads"] if threads else [])]
