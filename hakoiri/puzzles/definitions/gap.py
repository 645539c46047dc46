"""Reads permutations for GAP (``.g``, ``.gap``), as PuzzleGeometry writes them and people type them.

A file has assignments, ``U := (1,2,3)(4,5);``, of permutations, lists and groups. Permutations may be multiplied,
``a*b``, inverted and repeated, ``a^-1``, ``a^2``, and conjugated, ``a^b``. The moves are those of the list ``Gen``, or
of the only group, or of the only list of permutations, or all. A list ``ip`` names identical pieces by one sticker of
each; as in GAP itself, all pieces are distinct unless the user asks for identical ones. Place i takes the piece of the
place that follows it in its cycle: so does PuzzleGeometry. As ``a*b`` takes point i to (i^a)^b, it is the algorithm
``b a``. Calls of functions that only look at a group are passed over; anything else is an error.

Lines that begin with ``gap>`` or ``>`` are what was typed in a session; what GAP answered between them is not read.
"""

import re
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.definitions.definition import MOST_LABEL, MOST_MOVES, MOST_STICKERS, Definition, is_name
from hakoiri.puzzles.definitions.stickers import from_permutations
from hakoiri.puzzles.definitions.tokens import Tokens, shown

_TOKEN = re.compile(r'(?P<skip>(?:\s|\\\n|#[^\n]*)+)|"(?:[^"\\\n]|\\.)*"|\d+|[A-Za-z_@][\w@]*|:=|\.\.|[-()\[\],;:^*/]')
#: What a line of a session begins with.
_PROMPT = re.compile(r"\s*(?:gap> ?|> )")
_GROUPS = ("Group", "GroupWithGenerators", "GroupByGenerators")
#: Functions that make no moves.
_LOOKS = re.compile(
    r"Size|Order|Orbit|Orbits|OrbitLength|OrbitLengths|Blocks|AllBlocks|MaximalBlocks|Factors|FactorsInt|"
    r"Collected|Print|Display|View|Factorization|StructureDescription|EpimorphismFromFreeGroup|IsTransitive|"
    r"IsPrimitive|IsAbelian|IsSolvable|IsSimple|IsPerfect|Stabilizer|Action|Center|Centre|Length|"
    r"MovedPoints|NrMovedPoints|LargestMovedPoint|Transitivity|LoadPackage|SetName"
)
#: Brackets that are open at once, and steps of products together: points times permutations.
_MOST_DEPTH, _MOST_STEPS = 20, 1_000_000

#: For each point that is moved its image.
_Permutation = dict[int, int]
#: What functions return that are passed over.
_SEEN = object()


class _Generated(NamedTuple):
    generators: list[Any]


class _Gap:
    """The values that a file assigns by name, their lines, and the generators of its groups."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens, self._steps, self._depth = tokens, 0, 0
        self.names, self.at, self.groups = dict[str, Any](), dict[str, int](), list[list[Any]]()
        while tokens.ahead not in ("", "quit", "QUIT"):
            self._statement()
            if tokens.ahead:
                tokens.expect(";")

    def _statement(self) -> None:
        tokens, name = self.tokens, self.tokens.ahead
        if name == ";":
            return
        if not name.isidentifier():
            self._product(self._atom())
        elif tokens.take() and not tokens.accept(":="):
            self._product(self._named(name))
        elif name in self.names:
            raise tokens.wrong(f"{shown(name)} is assigned already, in line {self.at[name]}")
        else:
            self.at[name] = tokens.line
            self.names[name] = self._product(self._atom())

    def _product(self, first: Any) -> Any:
        found = self._power(first)
        while self.tokens.ahead in ("*", "/"):
            sign, other = self.tokens.take(), self._power(self._atom())
            found = self._times(found, self._repeated(other, -1) if sign == "/" else other)
        return found

    def _power(self, base: Any) -> Any:
        while self.tokens.accept("^"):
            sign, other = -1 if self.tokens.accept("-") else 1, self._atom()
            if isinstance(other, int):
                base = self._repeated(base, sign * other)
            else:
                base = self._times(self._times(self._repeated(other, -1), base), self._repeated(other, sign))
        return base

    def _atom(self) -> Any:
        tokens = self.tokens
        word = tokens.take()
        if word == "(" and (tokens.ahead == ")" or tokens.ahead.isdecimal()):
            return self._cycles()
        if word in ("(", "["):
            values = self._until({"(": ")", "[": "]"}[word])
            if word == "(" and len(values) != 1:
                raise tokens.wrong(f"{len(values)} values in brackets, which are no cycle")
            return values if word == "[" else values[0]
        if word.isdecimal():
            return tokens.number(word)
        if word.startswith('"'):
            return word
        if word.isidentifier():
            return self._named(word)
        raise tokens.wrong(f"{shown(word)} where a permutation, a list or a group is expected")

    def _until(self, closing: str) -> list[Any]:
        """Return the values up to a bracket, separated by commas, or those of a range."""
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise self.tokens.wrong(f"more than {_MOST_DEPTH} brackets are open")
        values = list[Any]()
        while not self.tokens.accept(closing):
            if values and self.tokens.expect(",", closing) == closing:
                break
            values.append(self._product(self._atom()))
            if closing == "]" and self.tokens.accept(".."):
                values = self._range(values, self._product(self._atom()))
                self.tokens.expect(closing)
                break
            if closing == ")" and self.tokens.accept(":"):
                while self.tokens.ahead not in (")", ""):
                    self.tokens.take()
        self._depth -= 1
        return values

    def _range(self, begin: list[Any], last: Any) -> list[Any]:
        """Return the numbers of ``[a..last]``, or of ``[a, b..last]`` in steps from a to b."""
        if len(begin) > 2 or not all(isinstance(each, int) for each in [*begin, last]):
            raise self.tokens.wrong("a range is not [first..last] or [first, second..last]")
        step = begin[-1] - begin[0] or 2 - len(begin)
        if not step or (last - begin[0]) % step or abs(last - begin[0]) > MOST_LABEL:
            raise self.tokens.wrong(f"a range from {begin[0]} does not get to {last}, or has too many numbers")
        return [*range(begin[0], last + (1 if step > 0 else -1), step)]

    def _cycles(self) -> _Permutation:
        tokens, found = self.tokens, _Permutation()
        while True:
            cycle = list[int]()
            while not tokens.accept(")"):
                if cycle:
                    tokens.expect(",")
                cycle.append(tokens.number(tokens.take()))
            for point, after in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True):
                if point in found or not 1 <= point < MOST_LABEL:
                    what = "is in these cycles twice" if point in found else f"is not 1 to {MOST_LABEL - 1}"
                    raise tokens.wrong(f"point {point} {what}")
                found[point] = after
            if not tokens.accept("("):
                return {point: after for point, after in found.items() if point != after}

    def _named(self, name: str) -> Any:
        if self.tokens.accept("("):
            return self._called(name, self._until(")"))
        if name not in self.names:
            raise self.tokens.wrong(f"{shown(name)} has no value yet")
        return self.names[name]

    def _called(self, name: str, values: list[Any]) -> Any:
        first = values[0] if values else None
        if name in _GROUPS:
            found = first if isinstance(first, list) else values
            self.groups.append([self._checked(each) for each in found])
            return _Generated(found)
        if name == "GeneratorsOfGroup" and isinstance(first, _Generated):
            return first.generators
        if (
            name == "PermList"
            and isinstance(first, list)
            and sorted(map(str, first)) == sorted(map(str, range(1, len(first) + 1)))
        ):
            return {point: after for point, after in enumerate(first, 1) if point != after}
        if not _LOOKS.fullmatch(name):
            raise self.tokens.wrong(f"{shown(name)}(...) is not read; expected permutations in cycles, lists or Group")
        return _SEEN

    def _checked(self, value: Any) -> _Permutation:
        """Return a value that is a permutation; raise an error for another, and for too many steps."""
        if not isinstance(value, dict):
            raise self.tokens.wrong("a permutation is expected there, such as (1,2,3)(4,5)")
        self._steps += len(value)
        if self._steps > _MOST_STEPS:
            raise self.tokens.wrong("the products of permutations up to there are too long")
        return value

    def _times(self, first: Any, second: Any) -> _Permutation:
        one, two = self._checked(first), self._checked(second)
        images = {point: two.get(after, after) for point, after in [*((p, p) for p in two), *one.items()]}
        return {point: after for point, after in images.items() if point != after}

    def _repeated(self, value: Any, times: int) -> _Permutation:
        found, met = _Permutation(), set[int]()
        for first in self._checked(value):
            cycle, here = list[int](), first
            while here not in met:
                met.add(here)
                cycle.append(here)
                here = value[here]
            found |= {point: cycle[(at + times) % len(cycle)] for at, point in enumerate(cycle)}
        return {point: after for point, after in found.items() if point != after}

    def generators(self) -> list[_Permutation]:
        """Return the moves: ``Gen``, the only group, the only list of permutations, or all."""
        lists = {
            name: value for name, value in self.names.items()
            if isinstance(value, list) and name != "ip" and any(isinstance(each, dict) for each in value)
        }  # fmt: skip
        if isinstance(self.names.get("Gen"), list):
            found = [self.names["Gen"]]
        else:
            groups = [each for number, each in enumerate(self.groups) if each not in self.groups[:number]]
            found = groups or list(lists.values()) or [[each for each in self.names.values() if isinstance(each, dict)]]
        if len(found) > 1:
            what = "groups" if self.groups else f"lists of permutations, {', '.join(lists)}"
            raise self.tokens.wrong(f"there are {len(found)} {what}: name the list of the moves Gen")
        return [self._checked(each) for each in found[0]]


def _typed(text: str) -> str:
    """Return what was typed in a session; a text that is not a session, whole."""
    lines = text.split("\n")
    if not any(line.lstrip().startswith("gap>") for line in lines):
        return text
    return "\n".join(_PROMPT.sub("", line, count=1) if _PROMPT.match(line) else "" for line in lines)


def read_gap(text: str, file: str, name: str) -> Definition:
    """Return the definition of a text; `PuzzleError` names the line."""
    tokens = Tokens(_typed(text), file, _TOKEN)
    read = _Gap(tokens)
    moves = {called.removeprefix("M_"): each for called, each in read.names.items() if isinstance(each, dict)}
    usual = list[str]()
    for number, generator in enumerate(read.generators(), 1):
        called = next((each for each, value in moves.items() if value == generator), f"g{number}")
        while moves.get(called, generator) != generator:
            called += "_"
        moves[called] = generator
        usual.append(called)
    if not usual:
        raise PuzzleError(f"{file} has no permutations; expected lines such as M_U:=(1,2,3)(4,5);")
    if unfit := [called for called in moves if not is_name(called)]:
        raise PuzzleError(f"{file}, line {read.at[unfit[0]]}: {shown(unfit[0])} is too long for the name of a move")
    count = max((point for each in moves.values() for point in each), default=1)
    if len(moves) > MOST_MOVES or len(moves) * count > MOST_STICKERS:
        raise PuzzleError(f"{file} has {len(moves):,} permutations of {count:,} points, which is too many")
    permutations = {
        called: [each.get(point, point) - 1 for point in range(1, count + 1)] for called, each in moves.items()
    }
    alike = read.names.get("ip", [])
    for each in alike if isinstance(alike, list) else [None]:
        if not isinstance(each, list) or not all(isinstance(point, int) and 1 <= point <= count for point in each):
            what = f"ip is not a list of lists of points from 1 to {count}"
            raise PuzzleError(f"{file}, line {read.at['ip']}: {what}")
    identical = [[point - 1 for point in each] for each in alike]
    try:
        found = from_permutations(name, permutations, identical, 1, by_piece=True).using([*dict.fromkeys(usual)])
    except PuzzleError as error:
        raise PuzzleError(f"{file}: {error}") from None
    rows = [found.pieces[begin:end] for begin, end in pairwise(found.begins)]
    distinct = [piece for row in rows for piece in range(len(row))]
    return found if found.pieces == distinct else msgspec.structs.replace(found, pieces=distinct, alike=found.pieces)
