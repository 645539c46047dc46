"""Seeds and parameters of tests that are tried by default; ``HAKOIRI_MANY_SEEDS=1`` asks for many more seeds."""

import os
from collections.abc import Iterable
from typing import Any

import pytest


def seeds(first: int, few: int, many: int) -> range:
    """The seeds from `first` on that a test is to be tried with now."""
    return range(first, first + (many if os.environ.get("HAKOIRI_MANY_SEEDS") else few))


def first_usual(usual: int, *values: Any) -> list[Any]:
    """Return values of parameters, of which all but the first ones are slow."""
    more = (value if isinstance(value, tuple) else (value,) for value in values[usual:])
    return [*values[:usual], *(pytest.param(*value, marks=pytest.mark.slow) for value in more)]


def usual(count: int, names: str | tuple[str, ...], values: Iterable[Any], **more: Any) -> pytest.MarkDecorator:
    """Parametrize a test as pytest does; the cases of all values but the first `count` are marked ci_slow."""
    single = len(names.split(",") if isinstance(names, str) else names) == 1
    cases = [
        each if isinstance(each, type(pytest.param())) else pytest.param(*[each] if single else each) for each in values
    ]
    later = (pytest.param(*each.values, marks=[*each.marks, pytest.mark.ci_slow], id=each.id) for each in cases[count:])
    return pytest.mark.parametrize(names, [*cases[:count], *later], **more)
