"""Parameters: fields of dataclasses that say how a user gives them, once for every interface.

A question to a run and a kind of run are such dataclasses (`hakoiri.questions`, `coordinator.session.kind`), and so are
groups of options (`hakoiri.cli.driving`). Options of the command line, fields of JSON and the reference follow.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, field
from numbers import Real
from operator import index
from reprlib import repr as shortened
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from hakoiri.errors import Hint, PuzzleError, visible


def parameter(
    names: str, metavar: str | None, text: str, usual: str | bool = True, default: Any = None, **more: Any
) -> Any:
    """Return a field that is an option of its command; without `names` an argument, which is required unless `typed`.

    `usual` is what the help shows as the default. Completion offers the `words`. Further arguments are typer's,
    besides these: `required` is true for an option without a default. `typed` is the default as a user would type it.
    `amount` is ``count`` or ``time`` for a number with a unit. `read` names the reader of a text
    (`hakoiri.cli.options`), or is ``text`` if the run checks it. A field of a kind of run is in the plan, which is
    part of the run's identity. A `limit` is not, nor is a field whose `plan` is false, or ``changed`` while the value
    is the default. If `form` is given, the page has the field, too, which begins with this value; `lines` is true for
    a text of several lines, `rare` for a field that is folded away.
    """
    told = {"names": names.split(), "metavar": metavar, "help": text, "show_default": usual} | more
    return field(metadata=told) if not names else field(default=default, metadata=told)


def flag(names: str, text: str, **more: Any) -> Any:
    """Return a field that is true if its option is given."""
    return parameter(names, None, text, default=False, **more)


def given(text: str, default: Any = MISSING, **more: Any) -> Any:
    """Return a field that JSON and Python have, and the command line has not; `more` is as for `parameter`."""
    return field(default=default, metadata={"help": text} | more)


_WORDS = {bool: "True or False", int: "a whole number", float: "a number", str: "a text", NoneType: "None"}


def fitting(name: str, value: Any, kind: Any) -> Any:
    """Return a value given in Python to a parameter of the type `kind`; an integer of numpy as one of Python.

    Raises `PuzzleError` for a value of another type.
    """
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    for each in kinds:
        with suppress(TypeError):
            return _fitted(value, each)
    expected = " or ".join(_WORDS.get(each) or _words_of(each) for each in kinds)
    raise PuzzleError(f"{name} is {visible(shortened(value))}; expected {expected}", Hint("change", name))


def at_least(least: int, name: str, value: Any) -> int:
    """Return a whole number given in Python; raise `PuzzleError` if it is below `least`, or of another type."""
    found: int = fitting(name, value, int)
    if found < least:
        raise PuzzleError(f"{name} is {found}; expected a whole number from {least} on", Hint("change", name))
    return found


def _fitted(value: Any, kind: Any) -> Any:
    """Return a value as a `kind`; ``TypeError`` for one of another type."""
    if kind is int and not isinstance(value, bool):
        return index(value)
    if kind is float and isinstance(value, Real) and not isinstance(value, bool):
        return value if isinstance(value, int | float) else float(value)
    if get_origin(kind) is Sequence and not isinstance(value, str | bytes | Mapping):
        return [_fitted(each, *get_args(kind)) for each in value]
    words = get_args(kind) if get_origin(kind) is Literal else ()
    if (kind in (bool, str, NoneType) and isinstance(value, kind)) or (isinstance(value, str) and value in words):
        return value
    raise TypeError


def _words_of(kind: Any) -> str:
    """Return a type in words: one of some texts, or a list."""
    return ", ".join(get_args(kind)) if get_origin(kind) is Literal else "a list of whole numbers"
