"""Twisty puzzles: definitions with a face, the colours of stickers in texts and pictures.

All is written by the letters of faces. ``URF`` is the piece where these meet, clockwise; its sticker on a face is known
by that face and the piece. ``FUBD R`` is the turn that takes F to U, U to B, B to D and D to F, and moves the pieces
that have no face but these and R.

A text has the colours of the stickers, a row for each face; a colour has the name of the face that it covers at the
start. The rows may also stand without ``/``. Algorithms are read too, as they are made from the solved puzzle on
(`puzzles.definitions.algorithms`).

A key is ``twist * orders + order``: the innermost coordinate is the order of the pieces (`puzzles.definitions.mixed`).
"""

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from itertools import groupby, permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import Key, Keys, Mask
from hakoiri.puzzles.contract import Matching, Numbered, Symmetric
from hakoiri.puzzles.definitions.algorithms import Turn, joined_turns, read_algorithm
from hakoiri.puzzles.definitions.definition import Definition, Move, Orbit
from hakoiri.puzzles.definitions.mixed import Mixed
from hakoiri.puzzles.definitions.numbering import PositionKeys
from hakoiri.puzzles.definitions.puzzle import Defined
from hakoiri.puzzles.options import Option
from hakoiri.puzzles.pictures import Picture
from hakoiri.puzzles.texts import marks_in, rows_in

#: The stickers of a piece's place, clockwise.
_Place = tuple[int, ...]
_Numbers = NDArray[np.int64]
_Small = NDArray[np.uint8]
#: The most letters of a turn's name. A longer word of letters alone has the colours of stickers.
_TURN_LETTERS = 2
_EXAMPLE = "R U R'"


class _Symmetries(NamedTuple):
    """Tables of the symmetries of the whole puzzle, which rename the pieces, and move the places so that they fit.

    If there is a still place, the last one, they are then moved on until its own piece is in it again. Which movement
    does that depends on the place and twist of the piece that gets its name: these decide.

    By symmetry: the place from which each place is taken; the sticker of a place to which the first one of each place
    goes; 1, or -1 for a reflection. By order, symmetry and the twist of the place that decides: the order after it, and
    the symmetry by which places are moved. `deciding` has that place by order and symmetry. `pieces` are those of the
    places by order, `twists` their twists by `twist`, then 0; `turning` has the number of twists of each place. The
    twists of places `digits`, as a mixed number, tell those of all; `named` has the `twist` of such a number.
    """

    sources: _Numbers
    shifts: _Numbers
    signs: _Numbers
    orders: NDArray[np.uint16]
    turning: _Numbers
    digits: _Numbers
    named: NDArray[np.uint16]
    moves: _Small
    deciding: _Small
    pieces: _Small
    twists: _Small


class Twisty(Symmetric, Defined):
    """The base class of twisty puzzles: `faces`, `places` and `turns` are the data.

    `faces` has for each face, in the order of the rows of a text, the pieces of its stickers. `places` has the pieces
    by the name of their place, a noun first; pieces of a noun are one orbit, and the first one's exchange places.
    Pieces that never move are the last. `turns` are those of algorithms, of which the one-letter `usual` are moves.
    """

    options = dict[str, Option]()
    faces: Mapping[str, str]
    places: Mapping[str, str]
    turns: Mapping[str, str]
    usual: str
    check_key = Numbered.check_key

    @abstractmethod
    def net(self, faces: Mapping[str, str]) -> Picture:
        """Return the unfolded picture; `faces` has the colours of each face, as in its row of the text."""

    def prepare(self, start: str | None) -> None:
        rows = {face: row.split() for face, row in self.faces.items()}
        self._spots = [(face, frozenset(piece)) for face, row in rows.items() for piece in row]
        self._row = len(self._spots) // len(rows)
        self._home = "".join(face for face, _ in self._spots)
        self._places: list[_Place] = [
            tuple(self._spots.index((face, frozenset(piece))) for face in piece) for piece in self.places.values()
        ]
        #: The place of each sticker, and which one it is there.
        at = {sticker: (number, index) for number, place in enumerate(self._places)
              for index, sticker in enumerate(place)}  # fmt: skip
        self._at = [at[sticker] for sticker in range(len(at))]
        self.sticker_turns = {name: self._turn(turn) for name, turn in self.turns.items()}
        nouns = groupby(self.places.items(), lambda each: each[0].split()[0])
        orbits = [(noun, [len(piece) for _, piece in those]) for noun, those in nouns]
        every = [each for _, row in orbits for each in row]
        self.definition = Definition(
            name=self.name, orbits=[Orbit(noun, len(row), row[0]) for noun, row in orbits],
            pieces=[*range(len(every))], twists=[0] * len(every), seen=every,
            moves={name: self._move(self.sticker_turns[name]) for name in self.usual}, usual=[*self.usual],
        )  # fmt: skip
        super().prepare(start)
        # Version 1 had keys of its own.
        self.version += 1
        #: Places whose pieces never leave them, and those that no move changes.
        self._kept, self._fixed = self._still[0], sorted({*self._still[0]} & {*self._still[1]})

    def _numbered(self, moves: tuple[Move, ...]) -> PositionKeys:
        # Coordinates without gaps: nothing is to be proved by a chain.
        made = Mixed(self.definition, moves)
        made.numbers = made.total = made.size
        return made

    def _turn(self, turn: str) -> Turn:
        cycle, _, others = turn.partition(" ")
        return self._renamed(dict(zip(cycle, cycle[-1:] + cycle[:-1], strict=True)), cycle + others)

    def _renamed(self, faces: Mapping[str, str], among: str) -> Turn:
        """Return for each sticker that with other `faces`, if its piece has none but those `among` which they are."""
        return tuple(
            self._spots.index((faces.get(face, face), frozenset(faces.get(each, each) for each in piece)))
            if piece <= {*among} else sticker
            for sticker, (face, piece) in enumerate(self._spots)
        )  # fmt: skip

    def _move(self, turn: Turn) -> tuple[list[int], list[int]]:
        """Return what a turn does to places, as `Definition.moves` has it."""
        found = [self._at[turn[place[0]]] for place in self._places]
        twists = [-sticker % len(place) for (_, sticker), place in zip(found, self._places, strict=True)]
        return [source for source, _ in found], twists

    def parse_text(self, text: str) -> Key:
        """The colours of the faces, or an algorithm made from the solved puzzle on, such as ``R U R' F2``."""
        turns = joined_turns(text)
        words = turns.split()
        if words and not any(word.isalpha() and len(word) > _TURN_LETTERS for word in words):
            turned = read_algorithm(turns, self.sticker_turns, self.name)
            return self._key_of(self._upright("".join(self._home[sticker] for sticker in turned)))
        colours = self._colours_in("".join(text.split()))
        for colour in self.faces:
            if (there := colours.count(colour)) != self._row:
                raise ConfigurationError(f"colour {colour} appears {there} times, expected {self._row}")
        return self._key_of(self._upright(colours))

    def _upright(self, colours: str) -> str:
        """Return the colours after the whole puzzle was turned until its still piece, if it has one, is in place."""
        for number in self._fixed:
            place, noun = self._places[number], self.definition.orbits[0].name
            own = _seen(self._home, place)
            for whole in self._wholes:
                turned = "".join(colours[sticker] for sticker in whole)
                if _seen(turned, place) == own and self._sign(whole) == 1:
                    return turned
            raise ConfigurationError(f"no {noun} has the colours {', '.join(own)}, clockwise")
        return colours

    def _colours_in(self, text: str, anything: str = "") -> str:
        """The colours of all stickers; a sticker may also be `anything`, unless that is empty."""
        known, all_of_them = ", ".join(self.faces), f"{len(self._spots)} stickers without '/'"
        rows = rows_in(
            text, len(self.faces), self._row, names=[f"face {face}" for face in self.faces], unit="stickers",
            folded=True, form=f", the faces {known}, or their {all_of_them}, or turns such as {_EXAMPLE}",
        )  # fmt: skip
        return "".join(
            mark for *_, mark in marks_in(rows, "".join(self.faces) + anything, f"a colour; expected {known}")
        )

    def _key_of(self, colours: str) -> Key:
        """The key of the colours of all stickers; `ConfigurationError` if no turns lead there."""
        pieces, twists, (noun, count, turning) = list[int](), list[int](), self.definition.orbits[0]
        for here, (name, place) in enumerate(zip(self.places, self._places, strict=True)):
            seen = _seen(colours, place)
            fits = self._fits(here, seen)
            if not fits:
                raise ConfigurationError(f"{name} has the colours {seen}, clockwise; no piece has these")
            ((piece, twist),) = fits
            if piece in pieces:
                other = [*self.places][pieces.index(piece)]
                raise ConfigurationError(f"{other} and {name} hold the same piece: {seen}")
            pieces.append(piece)
            twists.append(twist)
        if sum(twists[:count]) % turning:
            raise ConfigurationError(f"this position cannot be reached: one {noun} is twisted in its place")
        try:
            return self._pack_one(pieces, twists)
        except ConfigurationError:
            raise ConfigurationError(f"this position cannot be reached: two {noun}s are exchanged") from None

    def _fits(self, here: int, colours: str) -> list[tuple[int, int]]:
        """Return the pieces that moves bring to a place and their twists, if they have these colours; ``?`` is any."""
        moving = [piece for piece in range(len(self._places)) if piece not in self._kept]
        return [
            (piece, twist)
            for piece in ([here] if here in self._kept else moving) for twist in range(len(colours))
            if _like(colours, _twisted(_seen(self._home, self._places[piece]), twist))
        ]  # fmt: skip

    @cached_property
    def _tables(self) -> tuple[_Numbers, _Numbers]:
        """The pieces of the places by order, and their twists by `twist`."""
        orders = self._numbering.sizes[-1]
        numbers = np.arange(self.size, step=orders, dtype=self.layout.dtype)
        return self.unpack(np.arange(orders, dtype=self.layout.dtype))[0], self.unpack(numbers)[1]

    def match(self, pattern: str) -> Matching:
        """Place by place: a table says which pieces will do there, with which twists."""
        colours, tables, (orders, twists) = self._colours_in(pattern, "?"), list[Mask](), self._tables
        for here, (name, place) in enumerate(zip(self.places, self._places, strict=True)):
            seen, own = _seen(colours, place), _seen(self._home, place)
            if here in self._fixed and not _like(seen, own):
                raise ConfigurationError(
                    f"{name} has the colours {seen}, expected {own}, because it never moves; turn the whole puzzle "
                    "until that piece is in its place"
                )
            fits = np.zeros((len(self._places), len(place)), dtype=np.bool_)
            for piece, twist in self._fits(here, seen):
                fits[piece, twist] = True
            tables.append(fits)

        def holds(keys: Keys) -> Mask:
            twist, order = np.divmod(keys, np.uint32(len(orders)))
            rows = [fits[orders[order, here], twists[twist, here]] for here, fits in enumerate(tables)]
            return np.asarray(np.logical_and.reduce(rows))

        return holds

    def render(self, key: Key) -> str:
        pieces, twists = (rows[0].tolist() for rows in self.unpack(self.keys([key])))
        colours = list(self._home)
        for place, piece, twist in zip(self._places, pieces, twists, strict=True):
            for index, sticker in enumerate(self._places[piece]):
                colours[place[(index + twist) % len(place)]] = self._home[sticker]
        return "/".join("".join(colours[begin : begin + self._row]) for begin in range(0, len(colours), self._row))

    def pictures(self, path: list[Key]) -> list[Picture]:
        rows = (self.render(key).split("/") for key in path)
        return [self.net(dict(zip(self.faces, row, strict=True))) for row in rows]

    @cached_property
    def _wholes(self) -> list[Turn]:
        """The symmetries of the whole puzzle, the identity first, each as the sticker to which each one goes.

        They are all permutations of the faces by which pieces are pieces.
        """
        every, pieces = "".join(self.faces), {piece for _, piece in self._spots}
        others = (dict(zip(every, other, strict=True)) for other in permutations(every))
        kept = (each for each in others if all(frozenset(map(each.get, piece)) in pieces for piece in pieces))
        return [self._renamed(each, every) for each in kept]

    def _sign(self, whole: Turn) -> int:
        """Return -1 for a reflection: the stickers of the last place, which has three, are then counterclockwise."""
        first, second, *_ = (self._at[whole[sticker]][1] for sticker in self._places[-1])
        return 1 if (second - first) % len(self._places[-1]) == 1 else -1

    @property
    def symmetries(self) -> int:
        return len(self._wholes)

    def least_images(self, keys: Keys, numbers: _Numbers) -> tuple[Keys, _Numbers]:
        """The least image is that of the least order, and of the least twists."""
        least, counts = np.empty_like(keys), np.empty(len(keys), dtype=np.int64)
        _find_least(keys, numbers, self._symmetries, least, counts)
        return least, counts

    @cached_property
    def _symmetries(self) -> _Symmetries:
        pieces, twists = self._tables
        at, last = np.array(self._at), len(self._places) - 1
        found = at[np.array(self._wholes)[:, [place[0] for place in self._places]]]
        targets, shifts = found[:, :, 0], np.ascontiguousarray(found[:, :, 1])
        sources, signs = np.argsort(targets, axis=1), np.array([self._sign(whole) for whole in self._wholes])
        turning, still = np.array([len(place) for place in self._places]), last in self._fixed
        weights = len(self._places) ** np.arange(len(self._places))
        by_code, place_of = np.argsort(pieces @ weights), np.argsort(pieces, axis=1)
        codes = (pieces @ weights)[by_code]
        orders = np.empty((len(pieces), len(signs), turning[last] if still else 1), dtype=np.uint16)
        moves = np.empty(orders.shape, dtype=np.uint8)
        deciding = place_of[:, sources[:, last]] if still else np.full(orders.shape[:2], last + 1)
        for number, twist in np.ndindex(orders.shape[1:]):
            move = np.full(len(pieces), number)
            if still:
                # Movements of the same hand by which the piece that gets its name comes to the still place untwisted.
                shift = (shifts[number, sources[number, last]] - signs[number] * twist) % turning[last]
                right = (targets == last) & (shifts == shift) & (signs == signs[number])[:, None]
                move = right.argmax(axis=0)[deciding[:, number]]
            after = targets[number][np.take_along_axis(pieces, sources[move], axis=1)] @ weights
            orders[:, number, twist] = by_code[np.searchsorted(codes, after)]
            moves[:, number, twist] = move
        # The twist of the first place follows from the others.
        digits = np.arange(1, last + (not still))
        named = np.zeros(turning[digits].prod(), dtype=np.uint16)
        named[np.ravel_multi_index(tuple(twists[:, digits].T), tuple(turning[digits]))] = np.arange(len(twists))
        # Few bytes stay in caches: successors come by their twists, and so in any order of the pieces.
        small = (each.astype(np.uint8) for each in (moves, deciding, pieces, np.pad(twists, ((0, 0), (0, 1)))))
        return _Symmetries(sources, shifts, signs, orders, turning, digits, named, *small)


def _seen(colours: str, place: _Place) -> str:
    """The colours of a place, clockwise."""
    return "".join(colours[sticker] for sticker in place)


def _like(colours: str, piece: str) -> bool:
    """Return whether colours, some of which may be ``?`` for anything, are those of a piece."""
    return all(colour in (own, "?") for colour, own in zip(colours, piece, strict=True))


def _twisted(colours: str, twist: int) -> str:
    return colours[len(colours) - twist :] + colours[: len(colours) - twist]


@jit
def _find_least(keys: Keys, numbers: _Numbers, tables: _Symmetries, least: Keys, counts: _Numbers) -> None:
    """Write the least image of each key by some symmetries, and how many of these lead to it."""
    sources, shifts, signs, orders, turning, digits, named, moves, deciding, pieces, twists = tables
    size = len(orders)
    for i in range(len(keys)):
        twist = np.int64(keys[i]) // size
        order = np.int64(keys[i]) - twist * size
        least_order, least_twist = np.int64(size), np.int64(0)
        count = 0
        for symmetry in numbers:
            decided = twists[twist, deciding[order, symmetry]]
            after = np.int64(orders[order, symmetry, decided])
            if after > least_order:
                continue
            move = moves[order, symmetry, decided]
            turned = np.int64(0)
            for place in digits:
                source = sources[move, place]
                moved = signs[move] * np.int64(twists[twist, source]) + shifts[move, source]
                turned = turned * turning[place] + (moved - shifts[symmetry, pieces[order, source]]) % turning[place]
            if after < least_order or turned < least_twist:
                least_order, least_twist, count = after, turned, 0
            count += turned == least_twist
        least[i] = np.int64(named[least_twist]) * size + least_order
        counts[i] = count
