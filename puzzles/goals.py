"""A goal that the user chooses, for any puzzle: a configuration, or a text in which ``*`` stands for anything.

A ``*`` is any one cell of a text, any one word where texts are words, and alone in a row that whole row. Where ``*``
means something of its own, as a peg does, ``?`` is written instead.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from puzzles.capabilities import Placements
from puzzles.contract import Matching, Puzzle
from puzzles.errors import ConfigurationError, PuzzleError, Step
from puzzles.keys.layout import Keys, Mask, as_line, ints
from puzzles.keys.order import equal_rows
from puzzles.keys.splitmix import random_words

#: Texts of a random walk from the start, by which it is known what can stand in a text.
_SAMPLE = 200


@lru_cache(maxsize=32)
def with_goal(plain: type[Puzzle]) -> type[Puzzle]:
    """The class `plain`, which has no option of that name, with an option ``goal`` that must be given."""
    if issubclass(plain, Placements):
        raise PuzzleError(f"{plain.name} counts solutions, and no others can be its goal", Step("leave out", "goal"))
    about = {"__module__": plain.__module__, "__doc__": plain.__doc__}
    made: type[Puzzle] = type(plain.__name__, (_Chosen, plain), about)
    return made


class _Chosen(Puzzle):
    """Mixed in before a puzzle's class. Whether a mirror image is a goal as well nobody knows, so none are merged."""

    has_mirrors = False
    canonical = Puzzle.canonical

    def __init__(self, options: Mapping[str, str], start: str | None = None) -> None:
        super().__init__({name: value for name, value in options.items() if name != "goal"}, start)
        text = as_line(options["goal"])
        try:
            self._holds = self._read_goal(text)
        except ConfigurationError as error:
            said = str(error) if "?" in text else str(error).replace("?", "*")
            raise PuzzleError(f"{self.name} option goal={text}: {said}", *error.steps) from None

    def is_goal(self, keys: Keys) -> Mask:
        return self._holds(keys)

    def _read_goal(self, text: str) -> Matching:
        """What holds for a configuration that is the goal; pins the goal as a parameter."""
        try:
            goal = self.parse(text)
        except ConfigurationError:
            if "*" not in text and "?" not in text:
                raise
            self.parameters["goal"] = text
            pattern = text if "?" in text else text.replace("*", "?")
            return self.match(pattern) or self._match_texts(pattern)
        rendered = self.render(goal)
        try:
            again = self.parse(rendered) == goal
        except PuzzleError:
            again = False
        self.parameters["goal"] = rendered if again else f"{goal:#x}"
        wanted = self.keys([goal])
        return lambda keys: equal_rows(keys, wanted)

    def _match_texts(self, pattern: str) -> Matching:
        """By the text of each configuration: slow, and right for every puzzle that renders."""
        known = self._some_texts()
        words = any(" " in text for text in known)
        rows = [" ".join(row.replace(",", " ").split()) if words else row for row in pattern.split("/")]
        _check_form(rows, known, words)
        fits = re.compile("/".join(_expression(row) for row in rows)).fullmatch
        return lambda keys: np.array([fits(self.render(key)) is not None for key in ints(keys)], dtype=np.bool_)

    def _some_texts(self) -> list[str]:
        key, texts = self.start, []
        for word, _ in zip(random_words(0), range(_SAMPLE), strict=False):
            texts.append(self.render(key))
            found = self.successors(key) or [self.start]
            key = found[word % len(found)]
        return texts


def _check_form(rows: list[str], known: list[str], words: bool) -> None:
    """`ConfigurationError` for a pattern that no text can be like, judged by some texts."""
    example = known[0]
    if len(rows) != (wanted := example.count("/") + 1):
        raise ConfigurationError(f"it has {len(rows)} rows, a text has {wanted}, such as {example}")
    unit = "words" if words else "cells"
    sizes = {_size(row, words) for text in known for row in text.split("/")}
    letters = {letter for text in known for letter in text}
    for number, row in enumerate(rows, 1):
        if row != "?" and _size(row, words) not in sizes:
            raise ConfigurationError(f"row {number} {row!r} has {_size(row, words)} {unit}, unlike any of {example}")
        if strange := sorted({*row} - letters - {"?"}):
            raise ConfigurationError(f"row {number} {row!r}: {strange[0]!r} stands in no text such as {example}")


def _size(row: str, words: bool) -> int:
    return len(row.split() if words else row)


def _expression(row: str) -> str:
    if row == "?":
        return "[^/]*"
    words = ("".join("[^ /]" if letter == "?" else re.escape(letter) for letter in word) for word in row.split(" "))
    return " ".join("[^ /]+" if word == "[^ /]" and " " in row else word for word in words)
