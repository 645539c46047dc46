"""One reader of boards and orders as texts, whose errors name the row or the place that is wrong."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from hakoiri.errors import ConfigurationError, Hint


def rows_in(
    text: str, height: int, width: int = 0, *, name: str = "row", names: Sequence[str] = (), unit: str = "cells",
    form: str = "", folded: bool = False, hints: Sequence[Hint] = (),
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Yield the name of each row of a text, "row 1" by default, and the row; `ConfigurationError` for a wrong text.

    Without a `width` rows may have any length. A `folded` board may be one line; `form` describes the rows further.
    """
    rows = text.split("/")
    if folded and len(rows) == 1 and len(text) == height * width:
        rows = [text[begin : begin + width] for begin in range(0, len(text), width)]
    if len(rows) != height:
        there = f"{len(text)} {unit}" if folded and len(rows) == 1 else f"{len(rows)}"
        raise ConfigurationError(f"expected {height} rows joined by '/'{form}; {text!r} has {there}", *hints)
    for where, row in zip(names or [f"{name} {number}" for number in range(1, height + 1)], rows, strict=True):
        if width and len(row) != width:
            raise ConfigurationError(f"{where} {row!r} has {len(row)} {unit}, expected {width}")
        yield where, row


def marks_in(rows: Iterable[tuple[str, str]], known: Collection[str], expected: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name of its row, the row and each mark; `ConfigurationError` for a mark that is not `known`."""
    for where, row in rows:
        for mark in row:
            if mark not in known:
                raise ConfigurationError(f"{where} {row!r}: {mark!r} is not {expected}")
            yield where, row, mark


def numbers_in(
    text: str, count: int, thing: str, *, form: str = "", signed: bool = False, blank: str = ""
) -> list[int]:
    """Return the numbers 1 to `count` in the order of a text, each once; 0 for a `blank`, which may come repeatedly.

    `signed` ones may have a minus. `ConfigurationError` names the place of a word that is wrong.
    """
    words, found = text.replace(",", " ").split(), list[int]()
    if len(words) != count:
        raise ConfigurationError(f"expected {count} {thing}s{form}; {text!r} has {len(words)}")
    for place, word in enumerate(words, 1):
        number = int(word) if re.fullmatch(r"-?[1-9][0-9]?" if signed else r"[1-9][0-9]?", word) else 0
        if not 1 <= abs(number) <= count and word != blank:
            more = ", with a minus if the burnt side is up" if signed else f", or {blank!r}" if blank else ""
            raise ConfigurationError(f"place {place}: {word!r} is not a {thing}; expected 1 to {count}{more}")
        if number and abs(number) in map(abs, found):
            raise ConfigurationError(f"place {place}: {thing} {abs(number)} appears twice")
        found.append(number)
    return found
