"""A puzzle under test, with some of its configurations."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hakoiri.puzzles.conformance.checks import describe_key
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Hint, PuzzleError
from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.splitmix import random_words

#: The steps of each walk from the start.
_WALKS = (5, 10, 20)
#: The number of configurations taken from the whole space.
_LISTED = 30
#: Spaces up to this size are listed whole.
_SMALL = 4_000
#: The number of configurations, of a key and its successors, that are passed to `check_key`.
_CHECKED = 6

Successors = dict[Key, list[Key]]


class RefusedError(PuzzleError):
    """A puzzle breaks a promise; the message says how, in a clause."""


@dataclass(frozen=True)
class Case:
    """A puzzle under test: its constructor and arguments, and the text of one of its goals, if one is known.

    `vague`: two moves of a configuration may have the same words.
    """

    build: Callable[[Mapping[str, str], str | None], Puzzle]
    options: Mapping[str, str]
    start: str | None = None
    goal: str | None = None
    vague: bool = False


@dataclass(frozen=True)
class Pool:
    """A puzzle with some of its configurations, and their successors by the reference rules.

    `paths` are the walks; `blocks` are the first ones of the whole space, or all, if the puzzle can list it.
    """

    case: Case
    puzzle: Puzzle
    paths: list[list[Key]]
    blocks: list[Keys]
    successors: Successors

    @property
    def keys(self) -> list[Key]:
        """The configurations whose successors are known."""
        return list(self.successors)

    @property
    def whole(self) -> bool:
        """True if the blocks are the whole space."""
        return sum(map(len, self.blocks)) <= _SMALL

    @property
    def arcs(self) -> Iterator[tuple[Key, Key]]:
        """Each move of these, once."""
        return ((key, after) for key, found in self.successors.items() for after in dict.fromkeys(found))


def explored(case: Case) -> Pool:
    """Return the pool of a puzzle. `RefusedError` if the reference rules lead to a key that is not a configuration."""
    puzzle = case.build(case.options, case.start)
    chance = random_words(len(_WALKS))
    successors: Successors = {}

    def expanded(key: Key) -> list[Key]:
        if key not in successors:
            successors[key] = puzzle.successors(key)
            _check_keys(puzzle, key, successors[key])
        return successors[key]

    paths = []
    for steps in _WALKS:
        path = [puzzle.start]
        while len(path) <= steps and (found := expanded(path[-1])):
            path.append(found[next(chance) % len(found)])
        paths.append(path)
    blocks = _first_blocks(puzzle)
    for block in filter(puzzle.layout.holds, blocks):
        for _ in range(_LISTED // len(blocks) if len(block) else 0):
            expanded(key_at(block, next(chance) % len(block)))
    return Pool(case, puzzle, paths, blocks, successors)


def _check_keys(puzzle: Puzzle, key: Key, successors: list[Key]) -> None:
    found = [key, *successors]
    for each in found:
        if not 0 <= each <= puzzle.layout.greatest:
            raise RefusedError(f"{each:#x} is outside layout {puzzle.layout.name}, which has {puzzle.layout.bits} bits")
    for each in found[:: len(found) // _CHECKED + 1]:
        try:
            puzzle.check_key(each)
        except PuzzleError as error:
            what = "" if each == key else f"a successor of {describe_key(puzzle, key)}: "
            raise RefusedError(f"{what}{error}") from error


def _first_blocks(puzzle: Puzzle) -> list[Keys]:
    """Return the first blocks of the whole space, enough for `_SMALL` keys; none if the puzzle cannot list it."""
    blocks: list[Keys] = []
    try:
        for block in puzzle.configurations():
            blocks.append(block)
            if sum(map(len, blocks)) > _SMALL:
                break
    except PuzzleError as error:
        if Hint("leave out", "whole") not in error.hints:
            raise RefusedError(f"configurations: {error}") from error
    return blocks


def check_line(text: str) -> None:
    """`RefusedError` unless a text is one line."""
    if not text.isprintable():
        raise RefusedError(f"{text!r} is not a single line")
    if text != text.strip():
        raise RefusedError(f"{text!r} begins or ends with a blank")
