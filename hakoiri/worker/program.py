"""Digests of the code that answers requests, so that no worker with other code works for a run.

A digest covers the sources of whole modules: those from which answers come, and all that they import, with the
exception of the standard library and installed packages. The sources of Hakoiri are read when this module is imported,
so that a process that is older than an edit of its files differs from one that is newer. The version of Python is a
part of its own: a worker by another minor version is refused by name.

Versions of numpy and numba, and the processor, may differ: the kernels use only operations with one documented result.
A user puzzle's own file is left out, because its SHA-256 is in the request (`puzzles.user.files`); modules that it
imports from elsewhere than installed packages are covered.
"""

import gc
import hashlib
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain
from pathlib import Path

from hakoiri.fingerprint import digest_of
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.puzzles.user.files import is_installed, is_own_module
from hakoiri.worker.tasks import TASKS, task_of

#: A digest for each part of the code, by the part's name.
Digests = Mapping[str, str]
#: The modules that answer requests to workers and to hosts, besides that of a task, and the module that packs arrays.
_ROOTS = ("hakoiri.worker.tasks", "hakoiri.worker.hosts.host", "hakoiri.worker.transport.payload")
#: The parts of Hakoiri, by prefixes of module names; all other modules, those of guests, too, belong to the puzzle.
_PARTS = {"coding": ("hakoiri.storage.", "hakoiri.worker.transport.", "hakoiri.keys."), "tasks": ("hakoiri.worker.",)}
_PUZZLE, _PYTHON = "puzzle", "Python"
_HOME = Path(__file__).parents[1]
#: A module and the names imported from it, or modules. Other words in a match name no module.
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+)?import[ \t]*(\([^)]*\)|[^\n]*)", re.MULTILINE)


def program_of(puzzle: Puzzle, task: str = "") -> Digests:
    """Return the digests of the code that answers requests: Python, the puzzle, the tasks, the coding.

    They cover the function of `task` and what it imports, but of no other task; hosts have none. Computed once per
    process, puzzle class and task.
    """
    # A puzzle with merged mirror images wraps another. IMPORTANT: not by `vars`, which makes a dictionary of the
    # attributes; rules in plain Python then read them more slowly (13.6 us a configuration instead of 10.7).
    held = chain.from_iterable(each.values() if type(each) is dict else [each] for each in gc.get_referents(puzzle))
    wrapped = tuple(type(value) for value in held if isinstance(value, Puzzle))
    return _program_of(type(puzzle), wrapped, task_of(task, puzzle).module if task else "")


def differing_parts(mine: Digests, asked: Digests) -> list[str]:
    """Return the parts in which this process differs from the request; with another Python, that alone."""
    if asked[_PYTHON] != mine[_PYTHON]:
        return [f"{_PYTHON} ({mine[_PYTHON]}, not {asked[_PYTHON]})"]
    return [part for part in mine if mine[part] != asked.get(part)]


@cache
def _program_of(kind: type, wrapped: tuple[type, ...], module: str) -> Digests:
    bases = [base for each in (kind, *wrapped) for base in each.__mro__]
    python = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    found: dict[str, list[object]] = {part: [] for part in (_PUZZLE, *_PARTS)}
    found[_PUZZLE] += [f"{base.__module__}.{base.__qualname__}" for base in bases]
    for name in sorted(_reached([*_ROOTS, module, *(base.__module__ for base in bases)])):
        part = next((part for part, prefixes in _PARTS.items() if name.startswith(prefixes)), _PUZZLE)
        found[part].append((name, _source(name)[0]))
    return {_PYTHON: python} | {part: digest_of(described) for part, described in found.items()}


def _reached(roots: Iterable[str]) -> set[str]:
    """Return the roots and all modules that they import, with the exception of those of installed packages."""
    found, coming = set[str](), list(roots)
    while coming:
        if (name := coming.pop()) not in found and _source(name)[0]:
            found.add(name)
            coming += _source(name)[1]
    return found


@cache
def _source(name: str) -> tuple[str, frozenset[str]]:
    """Return the SHA-256 of a module's source, and the names that it may import; nothing if the module is not covered.

    A name may be that of something else in a module.
    """
    raw, package, named = *_read(name), set[str]()
    if raw is None:
        return "", frozenset()
    for dots, origin, words in _IMPORT.findall(raw.decode(errors="replace")):
        within = package.split(".")[: 1 - len(dots) or None] if dots else []
        begin = ".".join(filter(None, [*within, origin]))
        named |= {begin, *(f"{begin}.{word}".lstrip(".") for word in re.findall(r"[\w.]+", words))}
    parents = {each[:place] for each in named for place, letter in enumerate(each) if letter == "."}
    return "given" if is_own_module(name) else hashlib.sha256(raw).hexdigest(), frozenset(named | parents)


def _read(name: str) -> tuple[bytes | None, str]:
    """Return the source of a module and its package; ``None`` for a module that is not covered, or no module."""
    top, *rest = name.split(".")
    if (loaded := sys.modules.get(name)) is not None and "__source__" in vars(loaded):
        return vars(loaded)["__source__"], getattr(loaded, "__package__", None) or ""
    if top == _HOME.name:
        file = _HOME.joinpath(*rest).with_suffix(".py")
        return file.read_bytes() if file.is_file() else None, ""
    if top not in sys.stdlib_module_names:
        spec = _spec(name)
        if spec is not None and spec.has_location and not is_installed(str(spec.origin)):
            return Path(str(spec.origin)).read_bytes(), spec.parent or ""
    return None, ""


def _spec(name: str) -> ModuleSpec | None:
    """Return where a module is found by its name; imports nothing."""
    loaded: ModuleSpec | None = getattr(sys.modules.get(name), "__spec__", None)
    if loaded is not None:
        return loaded
    package = name.rpartition(".")[0]
    within = _spec(package) if package else None
    if package and within is None:
        return None
    return PathFinder.find_spec(name, (within.submodule_search_locations or []) if within else None)


# The sources of now, not of when the first request comes.
_reached([*_ROOTS, *(text.partition(":")[0] for text in PUZZLES.values()), *(task.module for task in TASKS.values())])
