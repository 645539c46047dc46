"""Digests of the code that answers requests, so that no worker with other code works for a run.

A digest covers whole modules as they are in memory, not their files: a process that is older than an edit of its files
differs from one that is newer. From its roots it follows the imports of modules, and stops at the standard library and
installed packages. It covers a module's functions, classes and constants:

- code as bytecode, without docstrings' positions, file names and line numbers. Bytecode differs between minor versions
  of Python, so Python is a part of its own, and a worker by another minor version is refused by name.
- plain values, and containers of them with a name in capital letters: others are state.

Versions of numpy and numba, and the processor, may differ: the kernels use only operations with one documented result.
A user puzzle's own file is left out, because its SHA-256 is in the request (`puzzles.user.files`); modules that it
imports from elsewhere than installed packages are covered.
"""

import gc
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping, Set
from functools import cache, cached_property, partial
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from hakoiri.fingerprint import digest_of
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.user.files import is_own_module

#: A digest for each part of the code, by the part's name.
Digests = Mapping[str, str]
#: The modules from which the digests start: the table of tasks, and the packing of arrays.
_ROOTS = ("hakoiri.worker.tasks", "hakoiri.worker.transport.payload")
#: The parts of Hakoiri, by prefixes of module names; all other modules belong to the puzzle.
_PARTS = {
    "coding": ("hakoiri.storage.", "hakoiri.worker.transport.", "hakoiri.keys."),
    "tasks": ("hakoiri.worker.",),
}
_PUZZLE, _PYTHON = "puzzle", "Python"
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")})
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
#: Attributes in which other wrappers hold the wrapped object.
_WRAPPED = {
    property: ("fget", "fset"), partial: ("func", "args", "keywords"), cached_property: ("func",),
    staticmethod: ("__func__",), classmethod: ("__func__",), re.Pattern: ("pattern", "flags"),
}  # fmt: skip
#: Attributes of classes that differ between processes or versions of Python without effect. `copy.copy` of an instance
#: adds `__slotnames__`, and reading one by msgspec `__msgspec_cache__`.
_PASSING = {
    "__dict__", "__weakref__", "__doc__", "__annotations__", "__annotate_func__", "__annotations_cache__",
    "__annotate__", "__static_attributes__", "__firstlineno__", "__abstractmethods__", "_abc_impl", "__module__",
    "__parameters__", "__orig_bases__", "__slotnames__", "__msgspec_cache__",
}  # fmt: skip


def program_of(puzzle: Puzzle, *more: str) -> Digests:
    """Return the digests of the code that answers requests in this process: Python, the puzzle, the tasks, the coding.

    The modules called `more` are among the tasks. Computed once per process and puzzle class, in some hundredths of a
    second. All the code must be imported already, as it is in any process that sends or answers requests.
    """
    # A puzzle with merged mirror images wraps another. IMPORTANT: not by `vars`, which makes a dictionary of the
    # attributes; rules in plain Python then read them more slowly (13.6 us a configuration instead of 10.7).
    held = chain.from_iterable(each.values() if type(each) is dict else [each] for each in gc.get_referents(puzzle))
    wrapped = tuple(type(value) for value in held if isinstance(value, Puzzle))
    return _program_of(type(puzzle), wrapped, more)


def differing_parts(mine: Digests, asked: Digests) -> list[str]:
    """Return the parts in which this process differs from the request; with another Python, that alone."""
    if asked[_PYTHON] != mine[_PYTHON]:
        return [f"{_PYTHON} ({mine[_PYTHON]}, not {asked[_PYTHON]})"]
    return [part for part in mine if mine[part] != asked.get(part)]


@cache
def _program_of(kind: type, wrapped: tuple[type, ...], more: tuple[str, ...]) -> Digests:
    """Compute `program_of`."""
    bases = [base for each in (kind, *wrapped) for base in each.__mro__]
    roots = [base.__module__ for base in bases]
    python = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    found: dict[str, list[object]] = {part: [] for part in (_PUZZLE, *_PARTS)}
    found[_PUZZLE] += [f"{base.__module__}.{base.__qualname__}" for base in bases]
    begins = [*(sys.modules[name] for name in (*_ROOTS, *more)), *_loaded(roots)]
    for name, described in sorted(_described(begins).items()):
        part = next((part for part, prefixes in _PARTS.items() if name.startswith(prefixes)), _PUZZLE)
        found[part].append((name, described))
    return {_PYTHON: python} | {part: digest_of(described) for part, described in found.items()}


def _loaded(names: Iterable[str]) -> list[ModuleType]:
    return [sys.modules[name] for name in names if name in sys.modules]


def _is_followed(module: ModuleType) -> bool:
    """Return whether a module is Hakoiri's or a user's own."""
    name = module.__name__.partition(".")[0]
    if name == "hakoiri":
        return not hasattr(module, "__path__")
    file = getattr(module, "__file__", None)
    return bool(file) and name not in sys.stdlib_module_names and not str(file).startswith(_INSTALLED)


def _described(roots: Iterable[ModuleType]) -> dict[str, str]:
    """Return the digests of the roots and of all that they import, by module name."""
    found: dict[str, str] = {}
    coming = list(roots)
    while coming:
        module = coming.pop()
        if module.__name__ not in found and _is_followed(module):
            found[module.__name__], met = _of_module(module)
            coming += met
    return found


@cache
def _of_module(module: ModuleType) -> tuple[str, list[ModuleType]]:
    """Return the digest of a module, and the modules that it uses."""
    met: dict[str, ModuleType] = {}
    return digest_of(_ModuleDescription(module, met).of_module()), list(met.values())


class _ModuleDescription:
    """The description of a module's contents; modules that it uses are added to `met`."""

    def __init__(self, module: ModuleType, met: dict[str, ModuleType]) -> None:
        self._module, self._met = module, met
        self._inside: set[int] = set()
        self._kinds: dict[type, Callable[[Any], object]] = {
            FunctionType: self._of_function, type: self._of_class, CodeType: self._of_code,
            np.ndarray: self._of_array, np.generic: self._of_array, np.dtype: str,
        }  # fmt: skip
        file = getattr(module, "__file__", None)
        #: The directory of a user's module, which differs between hosts.
        self._home = "" if module.__name__.startswith("hakoiri.") else str(Path(file or ".").absolute().parent)

    def of_module(self) -> object:
        held = sorted((name, value) for name, value in vars(self._module).items() if not re.fullmatch("__.*__", name))
        described = [(name, self.of(value, name.isupper())) for name, value in held]
        return () if is_own_module(self._module.__name__) else described

    def of(self, value: Any, is_constant: bool = True) -> object:
        """Return the description of a value of the module; containers only if they are constants."""
        if isinstance(value, _PLAIN):
            return type(value).__name__, repr(value).replace(self._home, "") if self._home else repr(value)
        if isinstance(value, ModuleType):
            return self._named(value, value.__name__)
        if isinstance(value, type | FunctionType) and not self._is_mine(value):
            return self._named(sys.modules.get(value.__module__), f"{value.__module__}.{value.__qualname__}")
        if id(value) in self._inside:
            return "itself"
        self._inside.add(id(value))
        try:
            return self._within(value, is_constant)
        finally:
            self._inside.discard(id(value))

    def _named(self, module: ModuleType | None, name: str) -> str:
        if module is not None:
            self._met[module.__name__] = module
        return name

    def _is_mine(self, value: Any) -> bool:
        """Return whether a class or function belongs to this module, or to no other module that describes it."""
        module = sys.modules.get(value.__module__ or "")
        return module is None or module is self._module or "<locals>" in value.__qualname__

    def _within(self, value: Any, is_constant: bool) -> object:
        for kind, describe in self._kinds.items():
            if isinstance(value, kind):
                return describe(value)
        if (isinstance(value, tuple) or is_constant) and (found := self._of_container(value)) is not None:
            return found
        return self._of_object(value)

    def _of_array(self, array: Any) -> object:
        # The bytes of object arrays are addresses.
        return array.dtype.str, array.shape, array.tobytes() if array.dtype != object else ()

    def _of_container(self, value: Any) -> object:
        if isinstance(value, Mapping | MappingProxyType):
            return "map", sorted(repr((self.of(key), self.of(held))) for key, held in value.items())
        if isinstance(value, Set):
            return "set", sorted(repr(self.of(each)) for each in value)
        if isinstance(value, tuple | list):
            return type(value).__name__, [self.of(each) for each in value]
        return None

    def _of_object(self, value: Any) -> object:
        """Return the type of an object and its wrapped parts: kernels of numba, cached functions, properties,
        methods.
        """
        kind = self.of(type(value)) if not self._is_mine(type(value)) else type(value).__qualname__
        held = getattr(value, "__dict__", {})
        wrapped = [held[name] for name in ("py_func", "_defn", "__wrapped__") if name in held]
        wrapped += [getattr(value, name) for name in _WRAPPED.get(type(value), ())]
        return kind, [self.of(each) for each in wrapped] or self._of_fields(value)

    def _of_fields(self, value: Any) -> object:
        """Return the fields of a dataclass or other record; nothing for other objects."""
        names = getattr(type(value), "__dataclass_fields__", ())
        return [(name, self.of(getattr(value, name, None))) for name in names]

    def _of_function(self, function: FunctionType) -> object:
        for module in _loaded([function.__module__ or ""]):
            self._met[module.__name__] = module
        cells = []
        for cell in function.__closure__ or ():
            try:
                cells.append(self.of(cell.cell_contents, is_constant=False))
            except ValueError:
                cells.append("empty")
        given = function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items()))
        return self._of_code(function.__code__), self.of(given), cells

    def _of_class(self, kind: type) -> object:
        held = sorted((name, value) for name, value in vars(kind).items() if name not in _PASSING)
        bases = [self.of(base) for base in kind.__bases__]
        return kind.__qualname__, bases, [(name, self.of(value)) for name, value in held]

    def _of_code(self, code: CodeType) -> object:
        variables = code.co_argcount, code.co_kwonlyargcount, code.co_varnames, code.co_freevars, code.co_cellvars
        return code.co_code, code.co_names, variables, [self.of(constant) for constant in code.co_consts]
