"""Puzzles from definitions: permutations and orientations of pieces, in files of other programs or given from Python.

A text has a row for each orbit, joined by ``/``: the pieces by place, with a plus and a number where one is turned:
``1 3+1 2+2``. Identical pieces have the same number. Algorithms are read too: with the names of the definition's moves,
multiples such as ``U2``, inverses ``U'``, and groups as `algorithms` reads them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import Key, Keys, Mask, ints, key_at
from hakoiri.keys.order import equal_rows
from hakoiri.puzzles.contract import Expansion, Matching, Numbered, Puzzle
from hakoiri.puzzles.definitions.algorithms import joined_turns
from hakoiri.puzzles.definitions.definition import METRICS, Definition, Move
from hakoiri.puzzles.definitions.numbering import PositionKeys, Table
from hakoiri.puzzles.options import Choice, Text

#: Keys that are looked at together.
_BLOCK = 4096
#: A piece in a text, and how often it is turned.
_PIECE = re.compile(r"(?P<piece>\d{1,4}|\?)(?:\+(?P<twist>\d{1,3}|\?))?")
#: Turns of the whole puzzle: a dodecahedron has 60. If there are more, none is used.
_MOST_TURNS = 60
#: For each place a piece, and how often it is turned; ``None`` for any.
_Pattern = tuple[list[int | None], list[int | None]]


class Defined(Numbered):
    """The puzzle of a definition. Its keys are numbers without gaps, unless there are too many positions (`numbering`).

    Option `moves` has the names of the moves used, separated by blanks or commas: by default all but turns of the whole
    puzzle. By `metric` ``half`` every multiple of one is a move, by ``quarter`` it and its inverse, by ``given`` it
    alone. A definition that names pieces like others has the option `pieces`: ``identical`` makes them so.
    """

    name = "definition"
    summary = "a puzzle of a file: twsearch (.tws), KPuzzle (.json) or GAP permutations (.g, .gap)"
    goal_summary = "the solved position"
    notation = "turns"
    undirected = True
    options = {"metric": Choice(METRICS), "moves": Text(what="names of moves")}
    definition: Definition

    def prepare(self, start: str | None) -> None:
        if self.parameters.get("pieces") == "identical":
            self.definition = self.definition.identical()
        given = self.definition
        named = self.parameters.get("moves", "").replace(",", " ").split()
        self._moves = given.multiples(named or given.usual, self.parameters.get("metric", METRICS[0]))
        self.most_successors = len(self._moves)
        self.undirected = self.paired = {given.inverse(move) for move in self._moves.values()} <= {
            *self._moves.values()
        }
        self._numbering = made = self._numbered(tuple(self._moves.values()))
        self.layout, self.numbers, self.version = made.layout, made.numbers, made.version
        self.size, self.total = made.size, None if given.illegal else made.total
        self._solved = np.array(given.pieces), np.array(given.twists)
        self._solved_key = made.pack(self._solved[0][None], self._solved[1][None])
        #: Places whose piece, and whose orientation, no move changes.
        self._still = [[place for place in range(len(given.pieces)) if place not in each] for each in made.varying]
        pieces = self._rows(given.pieces)
        distinct = all(len({*row}) == len(row) for row in pieces)
        self.vertex_transitive = distinct and given.seen == given.orientations and not given.illegal
        self._seen = {
            (orbit, piece): most
            for orbit, row in enumerate(zip(pieces, self._rows(given.seen), strict=True))
            for piece, most in zip(*row, strict=True)
        }

    def _numbered(self, moves: tuple[Move, ...]) -> PositionKeys:
        # Imported late because built-in puzzles need no chains.
        from hakoiri.puzzles.definitions.chained import numbered

        return numbered(self.definition.text(), moves)

    def _rows(self, row: list[int]) -> list[list[int]]:
        """Return the part of each orbit."""
        return [row[begin:end] for begin, end in pairwise(self.definition.begins)]

    def expand(self, keys: Keys) -> Expansion:
        room = self._numbering.expand(keys)
        if not self.definition.illegal:
            return Expansion(room, np.full(len(keys), self.most_successors, dtype=np.uint16))
        legal = self._are_legal(room)
        return Expansion(room[legal], legal.reshape(len(keys), self.most_successors).sum(axis=1, dtype=np.uint16))

    def _are_legal(self, keys: Keys) -> Mask:
        """Return which keys have no piece where the definition forbids it."""
        found = np.ones(len(keys), dtype=np.bool_)
        for begin in range(0, len(keys) if self.definition.illegal else 0, _BLOCK):
            pieces, _ = self.unpack(keys[begin : begin + _BLOCK])
            for place, piece in self.definition.illegal:
                found[begin : begin + _BLOCK] &= pieces[:, place] != piece
        return found

    def coset_sizes(self) -> list[int]:
        """The sizes of sets of positions that every move leads to one set; the outermost coordinates tell the set."""
        # A position that is illegal has no moves to it, so the others of its set may have.
        return [] if self.definition.illegal else self._numbering.coset_sizes()

    def usual_start(self) -> Key:
        return key_at(self._solved_key, 0)

    def are_keys(self, keys: Keys) -> Mask:
        found = self._numbering.are_keys(keys)
        if self.definition.illegal:
            found[found] = self._are_legal(keys[found])
        return found

    @property
    def only_goal(self) -> Key:  # type: ignore[override]
        return self.usual_start()

    def is_goal(self, keys: Keys) -> Mask:
        return equal_rows(keys, self._solved_key)

    def goal_text(self) -> str:
        return Puzzle.goal_text(self) or self.render(self.usual_start())

    def check_key(self, key: Key) -> None:
        if not 0 <= key <= self.layout.greatest or not self.are_keys(self.keys([key]))[0]:
            raise ConfigurationError(f"{key:#x} is not a key of {self.name}")
        if self.numbers is None:
            self.pack(*self.unpack(self.keys([key])))

    @property
    def lists_all(self) -> bool:
        """False if there are too many positions, or if their numbers have gaps."""
        return self.numbers is not None

    def configurations(self) -> Iterator[Keys]:
        found = super().configurations() if self.lists_all else Puzzle.configurations(self)
        return (keys[self._are_legal(keys)] for keys in found) if self.definition.illegal else found

    def successors(self, key: Key) -> list[Key]:
        return [after for _, after in self._made(key)]

    def _made(self, key: Key) -> Iterator[tuple[str, Key]]:
        """Return the legal moves and what they lead to."""
        pieces, twists = (rows[0].tolist() for rows in self.unpack(self.keys([key])))
        legal = {
            name: move for name, move in self._moves.items()
            if all(pieces[move.source[place]] != piece for place, piece in self.definition.illegal)
        }  # fmt: skip
        rows = np.array([self._after(move, pieces, twists) for move in legal.values()], dtype=np.int64)
        return zip(legal, ints(self.pack(rows[:, 0], rows[:, 1])) if legal else [], strict=True)

    def _after(self, move: Move, pieces: Sequence[int], twists: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the pieces and the twists after a move."""
        after = [pieces[place] for place in move.source]
        turned = [twists[place] + twist for place, twist in zip(move.source, move.twist, strict=True)]
        seen = (self._seen[orbit, piece] for orbit, row in enumerate(self._rows(after)) for piece in row)
        return after, [twist % most for twist, most in zip(turned, seen, strict=True)]

    def _pack_one(self, pieces: Sequence[int], twists: Sequence[int]) -> Key:
        return key_at(self.pack(np.array([pieces]), np.array([twists])), 0)

    def unpack(self, keys: Keys) -> tuple[Table, Table]:
        """Return for each key and place the piece there, and how often it is turned."""
        return self._numbering.unpack(keys)

    def pack(self, pieces: Table, twists: Table) -> Keys:
        """Return the keys of positions; `ConfigurationError` if no moves lead to one."""
        for place, piece in self.definition.illegal:
            if (pieces[:, place] == piece).any():
                at = f"piece {piece + self.definition.first} at place {place + 1} of all"
                raise ConfigurationError(f"this position cannot be reached: {at} is illegal")
        for rows, solved, places in zip((pieces, twists), self._solved, self._still, strict=True):
            if (wrong := (rows[:, places] != solved[places]).any(axis=0)).any():
                place = places[int(wrong.argmax())] + 1
                raise ConfigurationError(f"this position cannot be reached: no move changes place {place}")
        return self._numbering.pack(pieces, twists)

    def mirrors(self) -> Sequence[Callable[[Keys], Keys]]:
        """Images by turns of the whole puzzle, given besides its usual moves, if they keep those moves."""
        return self._mirrors

    @cached_property
    def _mirrors(self) -> list[Callable[[Keys], Keys]]:
        given, moves = self.definition, {*self._moves.values()}
        if not self.vertex_transitive or any(given.twists):
            return []
        others = [given.move_of(turn) for name, turn in given.turns().items() if name not in given.usual]
        usual = {*given.multiples(given.usual, self.parameters["metric"]).values()}
        turns, found = [turn for turn in others if self._keeps(turn, usual)], [given.unmoved]
        for turn in found:
            found += {given.after(turn, each) for each in turns} - {*found}
            if len(found) > _MOST_TURNS:
                return []
        start = self.keys([self.start])
        images = [partial(self._turned, turn) for turn in found[1:] if self._keeps(turn, moves)]
        return [image for image in images if np.array_equal(image(start), start)]

    def _keeps(self, turn: Move, moves: set[Move]) -> bool:
        """Return whether a turn of the whole puzzle takes moves to moves."""
        return {self._conjugate(turn, move) for move in moves} == moves

    def _conjugate(self, turn: Move, move: Move) -> Move:
        return self.definition.after(self.definition.after(self.definition.inverse(turn), move), turn)

    def _turned(self, turn: Move, keys: Keys) -> Keys:
        """Return the keys after the whole puzzle was turned and its pieces renamed: the solved one stays solved."""
        pieces, twists = self.unpack(keys)
        most, back = np.array(self.definition.orientations), self.definition.inverse(turn)
        # A position is what the moves to it do: to each place comes the piece of a home, turned.
        source = self._homes[np.arange(pieces.shape[1]), pieces]
        twists = np.array(back.twist)[source] + twists
        source, places = np.array(back.source)[source], list(turn.source)
        twists = (twists[:, places] + np.array(turn.twist)) % most
        return self.pack(np.array(self.definition.pieces)[source[:, places]], twists)

    @cached_property
    def _homes(self) -> Table:
        """For each place and each piece of its orbit the place that the piece has in the solved position."""
        homes = np.zeros((len(self.definition.pieces), max(self.definition.pieces) + 1), dtype=np.int64)
        for begin, end in pairwise(self.definition.begins):
            homes[begin:end, self.definition.pieces[begin:end]] = np.arange(begin, end)
        return homes

    def render(self, key: Key) -> str:
        first = self.definition.first
        rows = zip(*(self._rows(row[0].tolist()) for row in self.unpack(self.keys([key]))), strict=True)
        return "/".join(
            " ".join(f"{piece + first}" + f"+{twist}" * bool(twist) for piece, twist in zip(*row, strict=True))
            for row in rows
        )

    def parse_text(self, text: str) -> Key:
        """Return the key of the pieces of each orbit, or of an algorithm made from the solved position on."""
        words = joined_turns(text).split()
        rows = [row.replace(",", " ").split() for row in text.split("/")]
        # Moves may be named by numbers, too: what has the form of a position is one.
        formed = [len(row) for row in rows] == [orbit.places for orbit in self.definition.orbits]
        formed = formed and all(_PIECE.fullmatch(word) for row in rows for word in row)
        if words and not formed and (words[0] in self._moves or not _PIECE.fullmatch(words[0].rstrip(","))):
            move = self.definition.algorithm(" ".join(words), self._moves)
            return self._pack_one(*self._after(move, self.definition.pieces, self.definition.twists))
        pieces, twists = self._read(text)
        return self._pack_one([piece or 0 for piece in pieces], [twist or 0 for twist in twists])

    def match(self, pattern: str) -> Matching | None:
        pieces, twists = self._read(pattern, "?")
        asked = zip((pieces, twists), self._solved, self._still, strict=True)
        if any(row[place] not in (None, solved[place]) for row, solved, places in asked for place in places):
            return lambda keys: np.zeros(len(keys), dtype=np.bool_)
        return self._numbering.match(pieces, twists)

    def _read(self, text: str, anything: str = "") -> _Pattern:
        """Return what a text has; ``None`` for `anything`. `ConfigurationError` names the orbit and the place."""
        rows, given = text.split("/"), self.definition
        if len(rows) != len(given.orbits):
            names = ", ".join(orbit.name for orbit in given.orbits)
            raise ConfigurationError(f"expected {len(given.orbits)} rows joined by '/' ({names}), or moves; {text!r}")
        pieces, twists = list[int | None](), list[int | None]()
        for number, (orbit, row, solved) in enumerate(zip(given.orbits, rows, self._rows(given.pieces), strict=True)):
            words = row.replace(",", " ").split()
            if len(words) != orbit.places:
                raise ConfigurationError(
                    f"{orbit.name} {row.strip()!r} has {len(words)} pieces, expected {orbit.places}"
                )
            there = list[int | None]()
            for place, word in enumerate(words, 1):
                match = _PIECE.fullmatch(word)
                if not match or ("?" in word and not anything):
                    raise ConfigurationError(f"{orbit.name}, place {place}: {word!r} is not a piece such as 2 or 2+1")
                piece = None if match["piece"] == "?" else int(match["piece"]) - given.first
                twist = None if (match["twist"] or ("?" if piece is None else "0")) == "?" else int(match["twist"] or 0)
                if piece is not None and solved.count(piece) <= there.count(piece):
                    there_are = f"only {solved.count(piece)} of piece" if piece in solved else "no piece"
                    raise ConfigurationError(f"{orbit.name}, place {place}: there is {there_are} {match['piece']}")
                most = orbit.orientations if piece is None else self._seen[number, piece]
                if twist is not None and twist >= most:
                    raise ConfigurationError(f"{orbit.name}, place {place}: {word!r} is turned 0 to {most - 1} times")
                there.append(piece)
                twists.append(twist)
            pieces += there
        return pieces, twists

    def describe_move(self, before: Key, after: Key) -> str:
        """Return the name of the move, as the definition and its metric have it."""
        return next(name for name, key in self._made(before) if key == after)


@lru_cache(maxsize=8)
def definition_class(file: str, text: str) -> type[Defined]:
    """Return the class of the puzzle of a definition, given as its `Definition.text`, from a file of this name."""
    name = re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-")[:40] or Defined.name
    given = Definition.read(text)
    choice = {"pieces": Choice(("distinct", "identical"))} if given.alike else {}
    about = {"name": name, "definition": given, "options": {**Defined.options, **choice}, "__doc__": Defined.__doc__}
    return type("Defined", (Defined,), about)
