"""A puzzle inspected while it is searched: a mistake in its rules is reported as such, with the configuration.

Cheap: a small sample of each layer, the same whenever the run is made. `verify` checks the rest.
"""

import numpy as np

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.errors import NO_FAULT, PuzzleError, TaskError, WorkStopped
from hakoiri.keys.layout import Keys, key_at
from hakoiri.keys.order import equal_rows
from hakoiri.puzzles.conformance.pool import check_expansion, describe_key, disagreement, disagreement_among
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.timing import clock
from hakoiri.worker.transport.payload import Array

#: Configurations of a layer whose moves are tried backwards, and successors that are decoded. The slow reference rules
#: are asked for one configuration, and what they agree on is decoded once.
_TRIED, _DECODED = 12, 4
#: Golden ratio minus 1: the fractional parts of its multiples are evenly spread.
_GOLDEN = 0.6180339887498949


def inspected_expansion(puzzle: Puzzle, keys: Keys, depth: Depth) -> tuple[Expansion, float]:
    """Return the expansion of `keys`, and the seconds it took.

    Raises `PuzzleError` or `ContradictionError` if it cannot be right.

    Check shape, number and layout of all of it. Check a few keys, chosen by `depth`: successors are configurations, the
    reference rules give what a kernel gives and, where the puzzle claims to be undirected, each move can be taken back.
    Whatever else the puzzle raises becomes a `TaskError`, as it would on a worker.
    """
    try:
        began = clock()
        expansion = puzzle.expand(keys)
        seconds = clock() - began
        _inspect(puzzle, keys, expansion, depth)
    except NO_FAULT:
        raise
    except Exception as error:
        raise TaskError(f"expanding layer {depth - 1} failed: {type(error).__name__}: {error}") from error
    return expansion, seconds


def compare_rules(puzzle: Puzzle, keys: Keys) -> None:
    """`PuzzleError` unless kernel and reference rules agree on a few of many `keys`."""
    for place in _chosen(len(keys), len(keys)).tolist():
        inspected_expansion(puzzle, keys[place : place + 1], 1)


def _inspect(puzzle: Puzzle, keys: Keys, expansion: Expansion, depth: Depth) -> None:
    check_expansion(puzzle, keys, expansion)
    if not len(keys):
        return
    chosen = _chosen(len(keys), depth)
    counts = expansion.counts[chosen]
    ends = np.cumsum(expansion.counts, dtype=np.int64)[chosen]
    moves = [expansion.successors[end - count : end] for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]
    looked_at = range(min(_DECODED, len(chosen)))
    if puzzle.has_kernel:
        looked_at = range(place := depth % len(chosen), place + 1)
        key = key_at(keys, chosen[place])
        if said := disagreement(puzzle, key, moves[place], puzzle.successors(key)):
            raise PuzzleError(said)
    for place in looked_at:
        if len(moves[place]):
            key, successor = key_at(keys, chosen[place]), key_at(moves[place], depth % len(moves[place]))
            try:
                puzzle.check_key(successor)
            except (MemoryError, WorkStopped):
                raise
            except Exception as error:
                raise PuzzleError(
                    f"{puzzle.name}: a move from {describe_key(puzzle, key)} leads to {successor:#x}, which is "
                    f"not a configuration: {error}"
                ) from error
    if puzzle.undirected:
        check_way_back(puzzle, keys[np.repeat(chosen, counts)], np.concatenate(moves))


def _chosen(count: int, depth: Depth) -> Array:
    """The places of the keys that are looked at: evenly spread, and elsewhere in each layer."""
    tried = min(_TRIED, count)
    return ((np.arange(tried) + depth * _GOLDEN % 1) * (count / max(1, tried))).astype(np.int64)


def check_way_back(puzzle: Puzzle, keys: Keys, successors: Keys) -> None:
    """Each of `keys` leads to the successor in its place: `ContradictionError` if one does not lead back."""
    if not len(successors):
        return
    further, counts = puzzle.expand(successors)
    owner = np.repeat(np.arange(len(counts)), counts)
    back = equal_rows(further, keys[owner])
    found = np.bincount(owner[back], minlength=len(counts)) > 0
    if not found.all():
        stray = int(np.flatnonzero(~found)[0])
        ends = [key_at(each, stray) for each in (keys, successors)]
        if said := disagreement_among(puzzle, ends):
            raise PuzzleError(said)
        key, successor = (describe_key(puzzle, each) for each in ends)
        raise ContradictionError(
            f"{puzzle.name} is declared undirected, but {key} leads to {successor}, "
            "which does not lead back; set undirected = False"
        )
