"""Canonical texts of states, so that states have equal texts exactly if Python calls them equal; and values as Python.

A text depends on the value alone: not on the process, the hash seed, or which of several equal values came first.
Numbers are written by their exact value, whatever their type, and named tuples as tuples. Sets are in the order of the
texts in them. Members of an enumeration are written by name, dataclasses by the fields that they compare, and other
values as their ``repr``. `puzzles.user.states` checks that equal states have equal texts.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from math import inf, isfinite
from typing import Any

from hakoiri.errors import PuzzleError

#: Types whose values in a tuple have the texts that Python writes.
_WRITTEN = {int, str, type(None)}
#: Types whose equal values have equal texts by construction: alone, and in tuples and sets.
_PLAIN = {int, str, type(None), bool, float, bytes}
_NESTED = {tuple, frozenset}
_ALLOWED = (
    "a state is a number, a text, a tuple or frozenset of them, an Enum, a frozen dataclass, or shown by its repr"
)


def is_plain(state: Any) -> bool:
    """Return whether all values equal to a state, and plain themselves, have its text without a check."""
    kind = type(state)
    if kind in _PLAIN:
        return True
    if kind not in _NESTED:
        return False
    return _PLAIN.issuperset(map(type, state)) or all(map(is_plain, state))


def text_of(state: Any) -> str:
    """Return the text of a state: a text itself, if it is one printable line that is not a key, else its `form`."""
    if isinstance(state, str):
        bare = str.__str__(state)
        if bare.isprintable() and bare == bare.strip() and bare[:2].lower() != "0x":
            return bare
    return form(state)


def form(state: Any) -> str:
    """Return the text of a state within another. Raises `PuzzleError` for one that has none."""
    kind = type(state)
    if kind is tuple and _WRITTEN.issuperset(map(type, state)):
        return repr(state)
    return (_FORMS.get(kind) or _added(kind))(state)


def _added(kind: type) -> Callable[[Any], str]:
    """Return the function that writes values of a type, and add it to `_FORMS`."""
    found: Callable[[Any], str] = _shown
    alike = (base for base in _BASES if issubclass(kind, base) and _equality(kind) == _equality(base))
    np = sys.modules.get(kind.__module__) if kind.__module__ == "numpy" else None
    if np and issubclass(kind, (np.number, np.bool_, np.character)) and not issubclass(kind, np.timedelta64):
        found = _of_numpy
    elif (base := next(alike, None)) is not None:
        found = _FORMS[base]
    elif issubclass(kind, Enum) and kind.__eq__ is object.__eq__:
        found = _named
    elif is_dataclass(kind) and kind.__dataclass_params__.eq:  # type: ignore[attr-defined]
        found = _by_fields
    _FORMS[kind] = found
    return found


def _equality(kind: type) -> tuple[Any, Any]:
    return kind.__eq__, kind.__hash__


def _of_numpy(state: Any) -> str:
    inner = state.item()
    # Long floats stay what they are.
    return _number(inner) if type(inner) is type(state) else form(inner)


def _number(state: Any) -> str:
    if isinstance(state, int):
        return int.__repr__(int(state))
    if state != state:  # noqa: PLR0124  (so is nan)
        raise PuzzleError("a state holds nan, which is not equal to itself")
    if state in (inf, -inf):
        return repr(float(state))
    exact = Fraction(*state.as_integer_ratio())
    if exact.denominator == 1:
        return repr(exact.numerator)
    # In range, for it is not whole.
    near = float(exact)
    return repr(near) if near == exact else str(exact)


def _complex(state: Any) -> str:
    if state.imag == 0:
        return _number(state.real)
    _number(state.real), _number(state.imag)
    # Without a zero below 0.
    return repr(complex(state.real + 0.0, state.imag))


def _tuple(state: Any) -> str:
    return f"({', '.join(map(form, state))}{',' if len(state) == 1 else ''})"


def _set(state: Any) -> str:
    return f"{{{', '.join(sorted(map(form, state)))}}}"


def _named(state: Any) -> str:
    name = type(state).__qualname__
    return f"{name}({form(state.value)})" if state.name is None else f"{name}.{state.name}"


def _by_fields(state: Any) -> str:
    values = (f"{field.name}={form(getattr(state, field.name))}" for field in fields(state) if field.compare)
    return f"{type(state).__qualname__}({', '.join(values)})"


def _shown(state: Any) -> str:
    text = " ".join(repr(state).split())
    if re.search(r" at 0x[0-9a-f]+>", text):
        raise PuzzleError(f"a state is {text}, whose repr does not show its value; {_ALLOWED}")
    return text


#: What writes values of a type. Types that inherit equality and hash from one of these are written alike.
_FORMS: dict[type, Callable[[Any], str]] = {
    tuple: _tuple, frozenset: _set, str: lambda state: repr(str.__str__(state)),
    bytes: lambda state: repr(bytes(state)), bool: _number, int: _number, float: _number, complex: _complex,
    Fraction: _number, Decimal: _number, type(None): repr,
}  # fmt: skip
_BASES = tuple(_FORMS)


def literal(value: Any, other: Callable[[Any], str] | None = None) -> str:
    """Return plain data as an expression: numbers, texts, tuples, lists, dicts and sets of them.

    Parts of other types are written by `other`. Raises ``TypeError`` without one, ``RecursionError`` for a value that
    holds itself.
    """
    kind = type(value)
    inner = partial(literal, other=other)
    if kind is float and not isfinite(value):
        return f"float({repr(value)!r})"
    if kind in _PLAIN:
        return repr(value)
    if kind is dict:
        return f"{{{', '.join(f'{inner(key)}: {inner(each)}' for key, each in value.items())}}}"
    if kind in (set, frozenset):
        return f"{kind.__name__}([{', '.join(sorted(map(inner, value)))}])"
    if kind in (list, tuple):
        parts = ", ".join(map(inner, value))
        return f"[{parts}]" if kind is list else f"({parts}{',' if len(value) == 1 else ''})"
    if other is None:
        raise TypeError(f"{kind.__qualname__} is not plain data")
    return other(value)


def expression(state: Any) -> str:
    """Return a state as an expression, which may use names of its script: of classes, and what a ``repr`` uses."""

    def other(each: Any) -> str:
        kind = type(each)
        if isinstance(each, Enum):
            return f"{kind.__qualname__}.{each.name}"
        if is_dataclass(kind):
            parts = (f"{field.name}={expression(getattr(each, field.name))}" for field in fields(each) if field.init)
            return f"{kind.__qualname__}({', '.join(parts)})"
        if isinstance(each, tuple) and hasattr(kind, "_fields"):
            return f"{kind.__qualname__}({', '.join(map(expression, each))})"
        return repr(each)

    return literal(state, other)
