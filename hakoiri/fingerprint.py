"""Fingerprints of kernels: digests of their code, and of every function and constant that it reaches.

They are computed from the objects in memory that numba compiles, not from files. So they change with an edit of
anything that a kernel depends on, in any module, and with nothing else.
"""

import hashlib
import sys
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
#: Objects of these modules are described by name, because their versions are in every fingerprint.
_VERSIONED = {"numpy", "numba", "llvmlite"} | sys.stdlib_module_names
_VERSIONS = (sys.version, np.__version__, numba.__version__, llvmlite.__version__)
#: The settings of numba that the environment can change.
_SETTINGS = [getattr(numba.config, name) for name in ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "OPT", "SLP_VECTORIZE")]


class UnknownGlobalError(TypeError):
    """A kernel uses an object of a kind whose contents this module cannot tell."""


@cache
def fingerprint(function: FunctionType) -> str:
    """Return 32 hexadecimal digits that differ whenever `function` would be compiled to something else.

    Computed once in a process, at the first call. Raises `UnknownGlobalError`.
    """
    return digest_of(_VERSIONS, _SETTINGS, _Description().of(function))


def digest_of(*values: object) -> str:
    """32 hexadecimal digits for plain values and tuples of them."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[:32]


class _Description:
    """Values as nested tuples of plain values; a function met before as its number, because it may call itself."""

    def __init__(self) -> None:
        self._met: dict[int, int] = {}

    def of(self, value: Any) -> object:
        if isinstance(value, _PLAIN):
            return type(value).__name__, repr(value)
        if isinstance(value, tuple):
            return self.of(type(value)), [self.of(item) for item in value]
        if isinstance(value, np.ndarray | np.generic):
            array = np.asarray(value)
            return array.dtype.descr, array.shape, array.strides, array.tobytes()
        if isinstance(value, CodeType):
            return self._of_code(value)
        if isinstance(value, types.Type):
            return str(value)
        return self._of_named(value)

    def _of_named(self, value: Any) -> object:
        module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""
        name = module, getattr(value, "__qualname__", "")
        if module.partition(".")[0] in _VERSIONED:
            return name
        if isinstance(value, FunctionType):
            return self._of_function(value)
        if isinstance(value, Dispatcher):
            return sorted(value.targetoptions.items()), self._of_function(value.py_func)
        if isinstance(value, _Intrinsic):
            return self._of_function(value._defn)
        if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            return *name, value._fields
        raise UnknownGlobalError(f"a kernel uses {value!r}")

    def _of_function(self, function: FunctionType) -> object:
        if id(function) in self._met:
            return self._met[id(function)]
        self._met[id(function)] = len(self._met)
        code = function.__code__
        used = [(name, self.of(function.__globals__[name])) for name in _names(code) if name in function.__globals__]
        cells = [self.of(cell.cell_contents) for cell in function.__closure__ or ()]
        return self.of(code), self.of(function.__defaults__), used, cells

    def _of_code(self, code: CodeType) -> object:
        variables = code.co_argcount, code.co_varnames, code.co_freevars, code.co_cellvars
        return code.co_code, code.co_names, variables, [self.of(constant) for constant in code.co_consts]


def _names(code: CodeType) -> list[str]:
    """The names of globals, and of attributes, that code and the functions within it use."""
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in _names(constant)]
    return [*code.co_names, *inner]
