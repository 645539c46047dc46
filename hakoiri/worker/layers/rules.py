"""Rules by which layers of goal distances are made among the configurations of a finished run, as puzzles.

Each is a puzzle with another `expand`, so that threads, workers and hosts expand it as any other. It gives successors
without their counts, which steps of directed puzzles do not read.
"""

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

import numpy as np

from hakoiri.errors import TaskError
from hakoiri.keys.layout import Keys
from hakoiri.keys.order import members
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.storage.layers.codec import Words
from hakoiri.worker.layers.closed_set import may_hold


def goals_only(puzzle: Puzzle) -> Puzzle:
    """Return the rules by which each goal leads to itself, and nothing else to anything."""
    return _with(puzzle, lambda keys: keys[puzzle.is_goal(keys)], 1)


def predecessors(puzzle: Puzzle, words: Words | None = None) -> Puzzle:
    """Return the rules by which a key leads to its predecessors, or to those that may be in the Bloom filter `words`.

    Raises `TaskError` for a puzzle without moves backwards.
    """
    if not isinstance(puzzle, Reversible):
        raise TaskError(f"{puzzle.name} has no backward moves")
    unmove = puzzle.unmove

    def before(keys: Keys) -> Keys:
        found = unmove(keys).successors
        return found if words is None else found[may_hold(words, found)]

    return _with(puzzle, before, puzzle.most_predecessors)


def leading(puzzle: Puzzle, targets: Callable[[], Iterable[Keys]]) -> Puzzle:
    """Return the rules by which a key with a successor among the `targets` leads to itself; each batch increases."""

    def among(keys: Keys) -> Keys:
        successors, counts = puzzle.expand(keys)
        owners, found = np.repeat(np.arange(len(keys)), counts), np.zeros(len(keys), dtype=np.bool_)
        for batch in targets():
            found[owners[members(batch, successors)]] = True
        return keys[found]

    return _with(puzzle, among, puzzle.most_successors)


def _with(puzzle: Puzzle, expand: Callable[[Keys], Keys], most: int) -> Puzzle:
    none, made = np.empty(0, dtype=np.uint16), copy(puzzle)
    rules: Any = made
    rules.expand = lambda keys: Expansion(expand(keys) if len(keys) else keys, none)
    rules.most_successors, rules.undirected = most, False
    return made
