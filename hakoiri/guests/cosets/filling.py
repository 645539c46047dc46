"""One coset of a group too large to list: its positions by depth, found by one worker that needs no other.

A ball of all positions near the start is listed once for each process. Deeper positions are reached from its last layer
by moves that still lead to the coset in time or, if few are left, back from these. After the coset solver of Rokicki,
Kociemba, Davidson and Dethridge, "The diameter of the Rubik's cube group is twenty" (2013).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import PuzzleError, TaskError
from hakoiri.keys.layout import Keys
from hakoiri.keys.order import members
from hakoiri.puzzles.contract import Numbered
from hakoiri.worker.layers.kernels import layers_after, split
from hakoiri.worker.tasks import measured

_Numbers = NDArray[np.int64]

#: The most cosets, whose moves are listed, and the most positions of one, a byte each.
MOST_COSETS, MOST_IN_COSET = 1 << 20, 1 << 30
#: The ball ends before it would have more positions. Usually, positions up to four moves beyond it are counted.
MOST_IN_BALL, _BEYOND = 1 << 25, 4
MOST_DEPTH, _NEW = 200, 255
#: Keys at a time; more than any number of moves to a coset.
_BLOCK, FAR = 1 << 14, 1 << 30
#: One thread of a process lists the ball, which all use.
_LISTING = Lock()


@dataclass(frozen=True)
class CosetRequest:
    """A request for coset `number` of those of `size` positions, counted up to a `depth`; 0 for the usual one."""

    number: int
    size: int
    depth: int


@dataclass(frozen=True)
class CosetFigures:
    """The positions of a coset at each depth, and how many, or other numbers, are deeper, but not beyond `most`."""

    layers: list[int]
    deeper: int
    most: int | None

    @property
    def deepest(self) -> int:
        """A depth that the coset certainly has: the greatest, or the first that is not counted."""
        counted = max((depth for depth, count in enumerate(self.layers) if count), default=0)
        return len(self.layers) if self.deeper and self.most is not None else counted


def coset_size(puzzle: Numbered, size: int = 0) -> int:
    """Return the size of the cosets, checked, or the greatest that fits; raises `PuzzleError`."""
    sizes = puzzle.coset_sizes()
    fitting = [each for each in sizes if puzzle.size // each <= MOST_COSETS and each <= MOST_IN_COSET]
    if not fitting or (size or fitting[0]) not in fitting:
        told = ", ".join(f"{puzzle.size // each:,} cosets of {each:,}" for each in sizes) or "it has one coordinate"
        most = f"expected up to {MOST_COSETS:,} of up to {MOST_IN_COSET:,} positions"
        raise PuzzleError(f"{puzzle.name} cannot be divided into such cosets: {told}; {most}")
    return size or fitting[0]


def cosets_after(puzzle: Numbered, size: int) -> _Numbers:
    """Return the coset that each move leads to, a row for each coset."""
    blocks = split(puzzle.keys([*range(0, puzzle.size, size)]), _BLOCK)
    after = np.concatenate([puzzle.expand(block).successors // size for block in blocks])
    return after.reshape(-1, puzzle.most_successors).astype(np.int64)


@jit
def settle(after: _Numbers, depths: _Numbers, forward: bool, most: int) -> None:
    """Lower depths of cosets to 1 above any, less than `most`, that moves lead from, or to if not `forward`."""
    changed = True
    while changed:
        changed = False
        for coset in range(len(after)):
            for there in after[coset]:
                one, other = (coset, there) if forward else (there, coset)
                if depths[one] < min(most, depths[other] - 1):
                    depths[other] = depths[one] + 1
                    changed = True


@jit
def _in_reach(keys: Keys, size: int, away: _Numbers, moves: int) -> int:
    """Move keys from whose coset so many moves are enough to the front; return their number."""
    count = 0
    for key in keys:
        if away[np.int64(key) // size] <= moves:
            keys[count] = key
            count += 1
    return count


@lru_cache(maxsize=1)
def _around(puzzle: Numbered, size: int) -> tuple[list[Keys], bool, _Numbers, list[_Numbers]]:
    """Return the layers of the ball, whether they are all, `cosets_after`, and where cosets begin in each layer."""
    layers, whole = list[Keys](), True
    for layer in layers_after(puzzle, puzzle.keys([puzzle.start])):
        layers.append(layer)
        following = len(layer) ** 2 // len(layers[-2:][0])
        if not (whole := sum(map(len, layers)) + following <= MOST_IN_BALL):
            break
    begins = puzzle.keys([*range(0, puzzle.size, size)])
    firsts = [np.append(np.searchsorted(layer, begins), len(layer)) for layer in layers]
    return layers, whole, cosets_after(puzzle, size), firsts


class _Coset:
    """The depths of the positions of one coset, as far as they are known."""

    def __init__(self, puzzle: Numbered, asked: CosetRequest, after: _Numbers, most: int) -> None:
        self.puzzle, self.size, self.first = puzzle, asked.size, asked.number * asked.size
        self.depths, self.away = np.full(asked.size, _NEW, dtype=np.uint8), np.full(len(after), FAR)
        self.away[asked.number] = 0
        settle(after, self.away, False, most)

    def at(self, depth: int) -> Iterator[Keys]:
        for begin in range(0, self.size, _BLOCK):
            places = np.flatnonzero(self.depths[begin : begin + _BLOCK] == depth) + (begin + self.first)
            yield places.astype(self.puzzle.layout.dtype)

    def mark(self, keys: Keys, depth: int) -> None:
        """Set the depth of positions that have none."""
        places = keys.astype(np.int64) - self.first
        self.depths[places[self.depths[places] == _NEW]] = depth

    def count(self, depth: int) -> int:
        return int(np.count_nonzero(self.depths == depth))

    def reached(self, keys: Keys, moves: int) -> Keys:
        """Return where so many moves lead within the coset."""
        for left in range(moves - 1, -1, -1):
            parts = list[Keys]()
            for block in split(keys, _BLOCK):
                found = self.puzzle.expand(block).successors
                parts.append(found[: _in_reach(found, self.size, self.away, left)].copy())
            keys = np.unique(np.concatenate(parts)) if parts else keys
        return keys

    def leading(self, keys: Keys, moves: int, layer: Keys) -> Keys:
        """Return the keys that so many moves back lead to a layer."""
        back = keys
        for _ in range(moves):
            back = self.puzzle.expand(back).successors
        return keys[members(layer, back).reshape(len(keys), -1).any(axis=1)] if len(keys) else keys


def fill(puzzle: Numbered, asked: CosetRequest) -> CosetFigures:
    """Return the positions of a coset by depth. Memory: a byte for each, and the ball."""
    number_fits = 0 <= asked.number < puzzle.size // coset_size(puzzle, asked.size)
    if not (asked.size and number_fits and 0 <= asked.depth <= MOST_DEPTH):
        raise TaskError(f"{puzzle.name} has no coset {asked.number} to depth {asked.depth}")
    with _LISTING:
        layers, whole, after, firsts = _around(puzzle, asked.size)
    last = len(layers) - 1
    most = min(asked.depth or last + _BEYOND, MOST_DEPTH)
    coset, counts, left = _Coset(puzzle, asked, after, most - last), list[int](), asked.size
    for depth in range(most + 1):
        moves = max(0, depth - last)
        if not left or (whole and moves):
            # Where there are no more positions, what is left are other numbers.
            left = 0
            break
        layer, begins = layers[depth - moves], firsts[depth - moves]
        near = [layer[begins[each] : begins[each + 1]] for each in np.flatnonzero(coset.away <= moves)]
        ways = puzzle.most_successors**moves
        if moves and puzzle.undirected and left * ways < max(sum(map(len, near)), ways * len(layer) // len(after)):
            at_once = 1 + _BLOCK * puzzle.most_successors // ways
            for keys in (keys for block in coset.at(_NEW) for keys in split(block, at_once)):
                coset.mark(coset.leading(keys, moves, layer), depth)
        else:
            for keys in split(np.concatenate(near), _BLOCK):
                coset.mark(coset.reached(keys, moves), depth)
        counts.append(coset.count(depth))
        left -= counts[-1]
    if not left:
        counts = np.trim_zeros(counts, "b")
        return CosetFigures(counts, 0, max(0, len(counts) - 1))
    # Moves within the coset bound the depth of the rest.
    deeper, depth, newer = left, len(counts) - 1, 1
    while left and newer and depth < _NEW - 1:
        for keys in coset.at(depth):
            coset.mark(coset.reached(keys, 1), depth + 1)
        depth += 1
        newer = coset.count(depth)
        left -= newer
    return CosetFigures(counts, deeper, None if left else depth)


#: The task of the workers.
task = measured(Numbered, CosetRequest, fill)
