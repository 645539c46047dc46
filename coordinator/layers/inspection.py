"""A puzzle inspected while it is searched: a mistake in its rules is reported as such, with the configuration.

Cheap: one small seeded sample in each layer. `verify` checks the rest.
"""

import numpy as np

from coordinator.errors import ContradictionError
from puzzles.checks import check_expansion, describe_key
from puzzles.contract import Expansion, Puzzle
from puzzles.errors import HakoiriError, PuzzleError
from puzzles.keys.layout import Key, Keys, key_at
from puzzles.keys.order import equal_rows
from storage.ledger.manifest import Depth
from worker.errors import TaskError

#: Configurations of a layer whose moves are tried backwards, and successors that are decoded.
_TRIED, _DECODED = 12, 4


def inspected_expansion(puzzle: Puzzle, keys: Keys, depth: Depth) -> Expansion:
    """What `expand` gives for `keys`; `PuzzleError` or `ContradictionError` if that cannot be right.

    Checks shape, number and layout of all of it; for a few keys, chosen by `depth`, that successors are
    configurations and, where the puzzle claims to be undirected, that each move can be taken back. Whatever else the
    puzzle raises becomes a `TaskError`, as it would on a worker.
    """
    try:
        expansion = puzzle.expand(keys)
        _inspect(puzzle, keys, expansion, depth)
    except (HakoiriError, MemoryError):
        raise
    except Exception as error:
        raise TaskError(f"expanding layer {depth - 1} failed: {type(error).__name__}: {error}") from error
    return expansion


def _inspect(puzzle: Puzzle, keys: Keys, expansion: Expansion, depth: Depth) -> None:
    check_expansion(puzzle, keys, expansion)
    ends = np.cumsum(expansion.counts, dtype=np.int64)
    chosen = np.sort(np.random.default_rng(depth).choice(len(keys), min(_TRIED, len(keys)), replace=False))
    moves = [expansion.successors[ends[index] - expansion.counts[index] : ends[index]] for index in chosen]
    for index, successors in zip(chosen[:_DECODED].tolist(), moves, strict=False):
        if len(successors):
            _check_key(puzzle, key_at(keys, index), key_at(successors, depth % len(successors)))
    if puzzle.undirected:
        tried = np.concatenate([expansion.successors[:0], *moves])
        _check_way_back(puzzle, keys[np.repeat(chosen, expansion.counts[chosen])], tried)


def _check_key(puzzle: Puzzle, key: Key, successor: Key) -> None:
    try:
        puzzle.check_key(successor)
    except Exception as error:
        raise PuzzleError(
            f"{puzzle.name}: a move from {describe_key(puzzle, key)} leads to {successor:#x}, no configuration: {error}"
        ) from error


def _check_way_back(puzzle: Puzzle, keys: Keys, successors: Keys) -> None:
    """Each of `keys` leads to the successor in its place: whether that leads back."""
    if not len(successors):
        return
    further, counts = puzzle.expand(successors)
    owner = np.repeat(np.arange(len(counts)), counts)
    back = equal_rows(further, keys[owner])
    found = np.bincount(owner[back], minlength=len(counts)) > 0
    if not found.all():
        stray = int(np.flatnonzero(~found)[0])
        key, successor = (describe_key(puzzle, key_at(each, stray)) for each in (keys, successors))
        raise ContradictionError(
            f"{puzzle.name} says that every move can be taken back, but {key} leads to {successor}, "
            "which does not lead back; say undirected = False"
        )
