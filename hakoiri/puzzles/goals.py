"""Goals and other conditions chosen by the user for any puzzle: a configuration or a pattern; searches backwards.

In a pattern a ``*`` is any one cell of a text, any one word if texts are words, and alone in a row that whole row.
Where ``*`` has a meaning of its own, as a peg, ``?`` is written instead.
"""

import re
from collections.abc import Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any

import numpy as np

from hakoiri.errors import ConfigurationError, Hint, PuzzleError
from hakoiri.keys.layout import Key, Keys, Mask, ints
from hakoiri.keys.order import equal_rows
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import Expansion, Matching, Puzzle, of_base
from hakoiri.puzzles.texts import one_line

#: Texts of a random walk from the start, which show the characters and forms of texts.
_SAMPLE = 200


@lru_cache(maxsize=32)
def with_goal(plain: type[Puzzle]) -> type[Puzzle]:
    """Return the class `plain`, which has no such option, with a required option ``goal``."""
    if plain.is_tree:
        raise PuzzleError(f"{plain.name} counts solutions, so its goal cannot be changed", Hint("leave out", "goal"))
    about = {"__module__": plain.__module__, "__doc__": plain.__doc__}
    made: type[Puzzle] = type(plain.__name__, (_Chosen, plain), about)
    return made


class _Chosen(Puzzle):
    """Mixed in before a puzzle's class. Mirror images are not merged: an image of a goal may not be a goal."""

    has_mirrors = False
    canonical, mirrors = Puzzle.canonical, Puzzle.mirrors

    def __init__(self, options: Mapping[str, str], start: str | None = None) -> None:
        super().__init__({name: value for name, value in options.items() if name != "goal"}, start)
        text = one_line(options["goal"])
        try:
            self._holds, self.parameters["goal"] = read_matching(self, text)
        except ConfigurationError as error:
            said = str(error) if "?" in text else str(error).replace("?", "*")
            raise PuzzleError(f"{self.name} option goal={text}: {said}", *error.hints) from None

    has_goal = True

    def is_goal(self, keys: Keys) -> Mask:
        return self._holds(keys)


class _Avoiding(Puzzle):
    """Mixed in before a puzzle's class: no move leads to configurations that are `avoided`."""

    avoided: Matching

    def expand(self, keys: Keys) -> Expansion:
        return self._kept(super().expand(keys))

    def unmove(self, keys: Keys) -> Expansion:
        return self._kept(super().unmove(keys))  # type: ignore[misc]

    def successors(self, key: Key) -> list[Key]:
        return self._kept_among(super().successors(key))  # type: ignore[safe-super]

    def predecessors(self, key: Key) -> list[Key]:
        return self._kept_among(super().predecessors(key))  # type: ignore[misc]

    def _kept(self, found: Expansion) -> Expansion:
        keys, counts = found
        if not len(keys):
            return found
        keep = ~self.avoided(keys)
        owners = np.repeat(np.arange(len(counts)), counts)[keep]
        return Expansion(keys[keep], np.bincount(owners, minlength=len(counts)).astype(counts.dtype))

    def _kept_among(self, found: list[Key]) -> list[Key]:
        avoided = self.avoided(self.keys(found)).tolist() if found else []
        return [key for key, out in zip(found, avoided, strict=True) if not out]


def avoiding(puzzle: Puzzle, avoided: Matching) -> Puzzle:
    """Return `puzzle` without the configurations to be `avoided`; it stays undirected if it was."""
    about = {"__module__": __name__, "__doc__": type(puzzle).__doc__}
    made: Any = copy(puzzle)
    made.__class__ = type(type(puzzle).__name__, (_Avoiding, type(puzzle)), about)
    made.avoided = avoided
    found: Puzzle = made
    return found


class Backwards(Reversible):
    """`base` with all moves reversed, for searches; everything else is that of `base`."""

    undirected = False

    def __init__(self, base: Reversible) -> None:
        self.base = base
        self.name, self.layout, self.parameters = base.name, base.layout, base.parameters
        self.most_successors, self.most_predecessors = base.most_predecessors, base.most_successors
        self.start = base.start

    usual_start, are_keys, check_key, render = map(of_base, ("usual_start", "are_keys", "check_key", "render"))
    expand, unmove, successors, predecessors = map(of_base, ("unmove", "expand", "predecessors", "successors"))


def any_of(puzzle: Puzzle, texts: Sequence[str]) -> Matching:
    """Return a function that matches the configurations of any of some texts (`read_matching`)."""
    each = [read_matching(puzzle, text)[0] for text in texts]

    def matching(keys: Keys) -> Mask:
        found = np.zeros(len(keys), dtype=np.bool_)
        for holds in each:
            found |= holds(keys)
        return found

    return matching


def read_matching(puzzle: Puzzle, text: str) -> tuple[Matching, str]:
    """Return a function that matches the configuration or pattern of `text`, and the canonical text.

    `ConfigurationError` if it can match none.
    """
    try:
        named = puzzle.parse(text)
    except ConfigurationError:
        if "*" not in text and "?" not in text:
            raise
        pattern = text if "?" in text else text.replace("*", "?")
        return puzzle.match(pattern) or _match_texts(puzzle, pattern), text
    rendered = puzzle.render(named)
    try:
        again = puzzle.parse(rendered) == named
    except PuzzleError:
        again = False
    wanted = puzzle.keys([named])
    return lambda keys: equal_rows(keys, wanted), rendered if again else f"{named:#x}"


def _match_texts(puzzle: Puzzle, pattern: str) -> Matching:
    """Match by the text of each configuration: slow, and right for every puzzle that renders."""
    key, known = puzzle.start, list[str]()
    for word, _ in zip(random_words(0), range(_SAMPLE), strict=False):
        known.append(puzzle.render(key))
        found = puzzle.successors(key) or [puzzle.start]
        key = found[word % len(found)]
    words = any(" " in text for text in known)
    rows = [" ".join(row.replace(",", " ").split()) if words else row for row in pattern.split("/")]
    # Judged by some texts, the pattern must be one that a text can match.
    example = known[0]
    if len(rows) != (wanted := example.count("/") + 1):
        raise ConfigurationError(f"expected {wanted} rows, as in {example}; found {len(rows)}")
    unit = "words" if words else "cells"
    sizes = {len(row.split() if words else row) for text in known for row in text.split("/")}
    letters = {letter for text in known for letter in text}
    for number, row in enumerate(rows, 1):
        if row != "?" and (size := len(row.split() if words else row)) not in sizes:
            raise ConfigurationError(f"row {number} {row!r} has {size} {unit}, unlike the rows of {example}")
        if strange := sorted({*row} - letters - {"?"}):
            raise ConfigurationError(f"row {number} {row!r}: {strange[0]!r} does not occur in texts such as {example}")
    fits = re.compile("/".join(_expression(row) for row in rows)).fullmatch
    return lambda keys: np.array([fits(puzzle.render(key)) is not None for key in ints(keys)], dtype=np.bool_)


def _expression(row: str) -> str:
    if row == "?":
        return "[^/]*"
    words = ("".join("[^ /]" if letter == "?" else re.escape(letter) for letter in word) for word in row.split(" "))
    return " ".join("[^ /]+" if word == "[^ /]" and " " in row else word for word in words)
