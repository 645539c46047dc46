"""Chunks of an optimisation: boards moved on, or some games played; pure functions of arrays.

`SeenBoards` is the set of boards that a beam has met, by digest: a hash table within a given memory. All chunks share
the arrays of a `guests.nakuron.scored.Arena`. Boards are keys here, as words of 64 bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import TaskError
from hakoiri.guests.nakuron.scored import Scored
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.ledger.manifest import Count

Words = NDArray[np.uint64]
Figures32 = NDArray[np.int32]
#: Points, and the amount taken off the reserve; negative for an empty slot.
_EMPTY = -1
_FIRST_SLOTS = 1 << 10
#: Bytes per slot, including the smaller table from which it is filled when it grows.
_SLOT_BYTES = 36
#: Odd constants of a multiplicative hash, one for each of its two halves.
ONE, OTHER, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(32)


class SeenBoards:
    """Boards met, each with the most points of a play that reached it, and what that took off the reserve."""

    def __init__(self, memory: int) -> None:
        """Use at most `memory` bytes: when there are more boards, those met early are dropped first."""
        self._most = max(_FIRST_SLOTS, 1 << max(1, memory // _SLOT_BYTES).bit_length() - 1)
        self._count = 0
        self._clear(_FIRST_SLOTS)

    def __len__(self) -> int:
        return self._count

    def _clear(self, slots: int) -> None:
        self._digests = np.zeros((slots, 2), dtype=np.uint64)
        self._figures = np.full((slots, 2), _EMPTY, dtype=np.int32)
        self._count = 0

    def fresh(self, digests: Words, points: NDArray[np.int64], taken: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the indices of boards that are new, or were met with fewer points only; add them."""
        found = [np.empty(0, dtype=np.int64)]
        # A layer of more boards than the table holds is added in parts.
        for begin in range(0, len(digests), self._most // 4):
            part = slice(begin, begin + self._most // 4)
            figures = np.stack([points[part], taken[part]], axis=1).astype(np.int32)
            while 2 * (self._count + len(figures)) > len(self._figures):
                self._make_room()
            places = np.empty(len(figures), dtype=np.int64)
            fresh, new = _insert(self._digests, self._figures, digests[part], figures, places)
            self._count += new
            found.append(begin + places[:fresh])
        return np.concatenate(found)

    def _make_room(self) -> None:
        if len(self._figures) < self._most:
            self._rebuild(2 * len(self._figures), *self.arrays())
            return
        taken = self.arrays()[1][:, 1]
        self.forget(int(np.median(taken)) + 1)

    def forget(self, least: int) -> None:
        """Drop the boards with less than this taken off the reserve."""
        digests, figures = self.arrays()
        kept = figures[:, 1] >= least
        self._rebuild(len(self._figures), digests[kept], figures[kept])

    def _rebuild(self, slots: int, digests: Words, figures: Figures32) -> None:
        self._clear(slots)
        _, self._count = _insert(self._digests, self._figures, digests, figures, np.empty(len(digests), dtype=np.int64))

    def arrays(self) -> tuple[Words, Figures32]:
        """Return digests and figures of all boards, from which another process can continue."""
        used = self._figures[:, 1] != _EMPTY
        return self._digests[used], self._figures[used]

    def take_over(self, digests: Words, figures: Figures32) -> None:
        """Replace the contents by the result of `arrays`."""
        self._clear(_FIRST_SLOTS)
        self.fresh(digests, *figures.astype(np.int64).T)


@jit
def _insert(
    table: Words, held: Figures32, digests: Words, figures: Figures32, places: NDArray[np.int64]
) -> tuple[int, int]:
    """Write new or better boards into the table, their numbers into `places`; return both counts: all, and new ones."""
    mask = np.uint64(len(table) - 1)
    fresh = new = 0
    for number in range(len(digests)):
        one, other = digests[number]
        slot = (one * ONE) ^ (other * OTHER)
        slot = (slot ^ slot >> HALF) & mask
        while held[slot, 1] != _EMPTY and (table[slot, 0] != one or table[slot, 1] != other):
            slot = (slot + np.uint64(1)) & mask
        if held[slot, 1] == _EMPTY:
            new += 1
        elif held[slot, 0] >= figures[number, 0]:
            continue
        table[slot], held[slot] = digests[number], figures[number]
        places[fresh] = number
        fresh += 1
    return fresh, new


Array = NDArray[Any]
Arrays = Sequence[Array]
_DIGEST_WORDS = 2


class Moved(NamedTuple):
    """Boards (m, ...), digests of 128 bits (m, 2), and the score and the cost in reserve of each move (m, moves).

    `takes` is -1 for a move that does not exist.
    """

    boards: Array
    digests: NDArray[np.uint64]
    gains: NDArray[np.int32]
    takes: NDArray[np.int32]


@dataclass(frozen=True)
class GamesRequest:
    """A request for games `first` to ``first + count - 1`` of a strategy, by its number, and a seed."""

    strategy: int
    seed: int
    first: int
    count: int


@dataclass(frozen=True)
class PlayedGame:
    """A game: its number, score, moves up to the last that scored, and the number of moves that its strategy tried."""

    number: int
    score: int
    sequence: list[Count]
    tried: int


def move(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> list[Array]:
    """[boards, parents, moves] -> the arrays of `Moved`, of each board that move ``moves[i]`` leads to.

    [boards] alone -> those of these boards.
    """
    if not isinstance(puzzle, Scored):
        raise TaskError(f"{puzzle.name} has no scored moves")
    boards, *chosen = chunk
    keys = boards.astype(puzzle.layout.dtype).reshape(-1, *([puzzle.layout.words] if puzzle.layout.words > 1 else []))
    if not puzzle.are_keys(keys).all():
        raise TaskError(f"the boards of a chunk are not configurations of {puzzle.name}")
    if chosen:
        parents, moves = chosen
        found = puzzle.scored(keys)
        begins = np.cumsum(found.counts, dtype=np.int64) - found.counts
        keys = found.successors[begins[parents] + moves]
    return list(_looked_at(puzzle, keys))


def _looked_at(puzzle: Scored, keys: Keys) -> Moved:
    found, reserves = puzzle.scored(keys), puzzle.reserves(keys)
    owners = np.repeat(np.arange(len(keys)), found.counts)
    places = np.arange(len(owners)) - np.repeat(np.cumsum(found.counts, dtype=np.int64) - found.counts, found.counts)
    gains, takes = (np.full((len(keys), puzzle.most_successors), fill, dtype=np.int32) for fill in (0, -1))
    gains[owners, places] = found.scores
    takes[owners, places] = reserves[owners] - puzzle.reserves(found.successors)
    words = keys.astype(np.uint64, copy=False).reshape(len(keys), puzzle.layout.words)
    return Moved(words, _digests(words), gains, takes)


def _digests(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the words themselves, or a hash of them if there are more than two."""
    digests = np.zeros((len(words), _DIGEST_WORDS), dtype=np.uint64)
    for number, word in enumerate(words.T):
        mixed = digests[:, number % _DIGEST_WORDS] * ONE
        digests[:, number % _DIGEST_WORDS] = (mixed ^ mixed >> HALF) + word
    return digests
