"""TopSpin(n, k): n tokens on a ring, of which k neighbours at a time are put in the reverse order.

As in the search literature, turning the whole ring is no move and costs nothing (for example Yang, Culberson, Holte,
Zahavi and Felner, "A general theory of additive state space abstractions", 2008). Rings that differ only by a turn are
one configuration, and a move reverses any k neighbours, wherever on the ring they are. So (n-1)! configurations have n
moves each. The toy itself reverses only the tokens in its turnstile; how far its ring is turned is not counted here.

A text names the tokens around the ring: ``1 2 3 4``, or ``1,2,3,4``, beginning with any of them; it is written from
token 1 on. The key is the number of the order of the other tokens after token 1 (`puzzles.permutation.orders`), so the
ring in order is 0. Not every number need be reachable from it. If n is odd and k or k-1 a multiple of 4, all reversals
and turns are even permutations. If n is even and k odd, tokens two apart on the ring stay an even number of places
apart.
"""

from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, popcount
from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.contract import Expansion, Symmetric
from hakoiri.puzzles.options import Number
from hakoiri.puzzles.permutation.orders import all_orders, draw_rings, number_of, order_of, pack_places
from hakoiri.puzzles.pictures import Picture
from hakoiri.puzzles.texts import numbers_in

#: The tokens around the ring.
Ring = list[int]
_Words = NDArray[np.int64]
_Sets = NDArray[np.uint64]

#: The orders of at most this many tokens have tables.
_TABLE_TOKENS = 8
#: The kernels have four bits for each token.
_MOST_TOKENS = 16


class TopSpin(Symmetric):
    """Options `n` and `k`, k <= n.

    Vertex-transitive: a move is defined by places, so any renaming of the tokens keeps all moves, and some
    renaming takes any ring to any other.
    """

    size_options = ("n",)

    name = "topspin"
    summary = "TopSpin(n, k): tokens on a ring, any k neighbours are reversed; turning the ring is free"
    options = {"n": Number(8, 4, _MOST_TOKENS), "k": Number(4, 2, _MOST_TOKENS)}
    undirected = paired = True
    vertex_transitive = True

    def prepare(self, start: str | None) -> None:
        self.n, self.k = self.parameters["n"], self.parameters["k"]
        if self.k > self.n:
            raise PuzzleError(f"{self.name} cannot reverse k={self.k} of n={self.n} tokens; k must be at most n")
        self.number(factorial(self.n - 1))
        # For some n and k half of them, or fewer, are reached.
        self.total = None
        # A move permutes the places of any ring as those of the ring in order. All moves differ, except that
        # the ring itself is reversed by any k = n or k = n - 1 neighbours.
        rings = self._rings_after(list(range(1, self.n + 1)))
        self._tables = _tables(np.array([[token - 2 for token in ring[1:]] for ring in rings]))
        self.most_successors = len(rings)

    def expand(self, keys: Keys) -> Expansion:
        room = self.layout.empty(len(keys) * self.most_successors)
        _expand_keys(keys, self._tables, room)
        return Expansion(room, np.full(len(keys), self.most_successors, dtype=np.uint16))

    def successors(self, key: Key) -> list[Key]:
        return [self.pack(ring) for ring in self._rings_after(self.unpack(key))]

    @property
    def symmetries(self) -> int:
        """The turns of the names of the tokens, each also with the ring read backwards."""
        return 2 * int(self.n)

    def least_images(self, keys: Keys, numbers: _Words) -> tuple[Keys, _Words]:
        least, count = np.empty_like(keys), np.empty(len(keys), dtype=np.int64)
        _find_least(keys, numbers, self._tables.worth, least, count)
        return least, count

    def parse_text(self, text: str) -> Key:
        return self.pack(numbers_in(text, self.n, "token"))

    def render(self, key: Key) -> str:
        return " ".join(map(str, self.unpack(key)))

    def describe_move(self, before: Key, after: Key) -> str:
        """The tokens that are reversed, in their order before that, e.g. ``"reverse 8 1 2 3"``."""
        ring = self.unpack(before)
        for first in range(self.n):
            if self.pack(self._reversed(ring, first)) == after:
                return f"reverse {' '.join(map(str, (ring + ring)[first : first + self.k]))}"
        raise ConfigurationError(f"no move leads from {self.render(before)} to {self.render(after)}")

    def pictures(self, path: list[Key]) -> list[Picture]:
        return draw_rings([self.unpack(key) for key in path], self.k)

    def unpack(self, key: Key) -> Ring:
        """The tokens around the ring, from token 1 on."""
        return [1] + [token + 2 for token in order_of(key, range(self.n - 1))]

    def pack(self, ring: Ring) -> Key:
        """The key of a ring, which may begin with any token."""
        return number_of(_from_token_1(ring)[1:])

    def _reversed(self, ring: Ring, first: int) -> Ring:
        """The ring after reversing k neighbours, the first of them at place `first`."""
        turned = ring[first:] + ring[:first]
        return _from_token_1(turned[: self.k][::-1] + turned[self.k :])

    def _rings_after(self, ring: Ring) -> list[Ring]:
        """All rings that one move leads to, each once."""
        found: list[Ring] = []
        for first in range(self.n):
            after = self._reversed(ring, first)
            if after not in found:
                found.append(after)
        return found


def _from_token_1(ring: Ring) -> Ring:
    first = ring.index(1)
    return ring[first:] + ring[:first]


class _Tables(NamedTuple):
    """The kernel's tables for rings of n tokens; m of the n-1 after token 1, at most eight, have tables.

    For each order of the first m tokens `ranks` has which of the m it is, 0 the least. `digits` has its digits, place
    by place in four bits each, place 0 lowest. A row of `moves` tells for each place from which place its token comes;
    places from `begins` to before `ends` change. `worth[i]` is i!.
    """

    ranks: _Words
    digits: _Words
    worth: _Words
    moves: _Words
    begins: _Words
    ends: _Words


def _tables(moves: _Words) -> _Tables:
    places = moves.shape[1]
    upper = min(places, _TABLE_TOKENS)
    larger, digits = all_orders(upper)
    worth = np.array([factorial(place) for place in range(places)], dtype=np.int64)
    changed = moves != np.arange(places)
    begins, ends = changed.argmax(axis=1), places - changed[:, ::-1].argmax(axis=1)
    return _Tables(pack_places(upper - 1 - larger), pack_places(digits), worth, moves, begins, ends)


@jit
def _expand_keys(keys: Keys, tables: _Tables, room: Keys) -> None:
    """Write the successors of all `keys` into `room`, one for each move.

    A digit changes only at the places that change. Fastest where neighbours in the batch differ only in the order of
    the first tokens, those that have tables.
    """
    ranks, digits, worth, moves, begins, ends = tables
    places = len(worth)
    upper = min(places, _TABLE_TOKENS)
    count = np.int64(len(ranks))
    one, four, low = np.uint64(1), np.uint64(4), np.uint64(15)
    tokens = np.zeros(places, dtype=np.uint64)
    # Before each place: the tokens as a set, a bit each; what the digits are worth; those of the last places alone.
    before = np.zeros(places + 1, dtype=np.uint64)
    values = np.zeros(places + 1, dtype=np.int64)
    last_values = np.zeros(places + 1, dtype=np.int64)
    begin = -count
    left = np.uint64(0)
    at = 0
    for i in range(len(keys)):
        key = np.int64(keys[i])
        if not 0 <= key - begin < count:
            begin = key // count * count
            left = _read_last(begin, upper, worth, tokens, before, last_values)
        order = key - begin
        rank_word, digit_word = np.uint64(ranks[order]), np.uint64(digits[order])
        for place in range(upper):
            token = left >> ((rank_word & low) << np.uint64(2)) & low
            tokens[place] = token
            before[place + 1] = before[place] | one << token
            values[place + 1] = values[place] + np.int64(digit_word & low) * worth[place]
            rank_word >>= four
            digit_word >>= four
        for place in range(upper, places):
            values[place + 1] = order + last_values[place + 1]
        for move in range(len(moves)):
            seen = before[begins[move]]
            after = key - values[ends[move]] + values[begins[move]]
            for place in range(begins[move], ends[move]):
                token = tokens[moves[move, place]]
                after += np.int64(popcount(seen >> token)) * worth[place]
                seen |= one << token
            room[at + move] = after
        at += len(moves)


@jit
def _read_last(
    number: int | np.int64, upper: int, worth: _Words, tokens: _Sets, before: _Sets, values: _Words
) -> np.uint64:
    """Write what is known of the places from `upper` on; return the tokens left for those before, in increasing order.

    They have four bits each, the least token lowest; 0 is the least token of all. `number` is a multiple of upper!.
    """
    left = np.uint64(0xFEDCBA9876543210)
    present = (np.uint64(1) << np.uint64(len(worth))) - np.uint64(1)
    for place in range(len(worth) - 1, upper - 1, -1):
        values[place + 1] = number
        digit = number // worth[place]
        number -= digit * worth[place]
        shift = np.uint64(4 * (place - digit))
        tokens[place] = left >> shift & np.uint64(15)
        before[place + 1] = present
        present ^= np.uint64(1) << tokens[place]
        lower = (np.uint64(1) << shift) - np.uint64(1)
        left = left & lower | left >> np.uint64(4) & ~lower
    return left


@jit
def _find_least(keys: Keys, numbers: _Words, worth: _Words, least: Keys, counts: _Words) -> None:
    """Write the least image of each key by some symmetries, and how many of these lead to it.

    Symmetry 2 t reads the ring from token t on and subtracts t from each; 2 t + 1 reads it backwards and negates all.
    The digits of images are compared as words, the last place highest.
    """
    tokens = len(worth) + 1
    ring, place_of = np.zeros((2, tokens), dtype=np.int64)
    for i in range(len(keys)):
        number = np.int64(keys[i])
        left = (np.int64(1) << tokens) - 2
        for place in range(tokens - 1, 0, -1):
            digit = number // worth[place - 1]
            number -= digit * worth[place - 1]
            # The token that has so many larger ones left.
            token = tokens - 1
            while not left >> token & 1 or digit:
                digit -= left >> token & 1
                token -= 1
            left ^= np.int64(1) << token
            ring[place], place_of[token] = token, place
        best, count = np.int64(1) << 62, 0
        for symmetry in numbers:
            token, step = symmetry >> 1, 1 - 2 * (symmetry & 1)
            at = place_of[token]
            left = (np.int64(1) << tokens) - 2
            word = np.int64(0)
            for _ in range(tokens - 1):
                at = (at - step) % tokens
                name = (ring[at] - token) * step % tokens
                left ^= np.int64(1) << name
                word = word << 4 | np.int64(popcount(np.uint64(left >> name)))
            if word < best:
                best, count = word, 0
            count += word == best
        value = np.int64(0)
        for place in range(tokens - 1):
            value += (best >> 4 * place & 15) * worth[place]
        least[i], counts[i] = value, count
