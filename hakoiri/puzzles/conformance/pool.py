"""A puzzle under test with some of its configurations, and the checks of a result against a promise."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from hakoiri.errors import Hint, PuzzleError
from hakoiri.keys.layout import Key, Keys, ints, key_at
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.contract import Expansion, Puzzle

_MOST_DETAIL = 300


#: Successors of the start whose texts are read back.
_MOST_TRIED = 8


def try_out(puzzle: Puzzle, texts: bool = False) -> None:
    """Raise `PuzzleError` unless kernel and reference rules agree on the start: before a puzzle is used.

    With `texts`, the texts of the start and of some of its successors must be read as these, too.
    """
    if said := disagreement_among(puzzle, [puzzle.start]):
        raise PuzzleError(said)
    after = puzzle.successors(puzzle.start) if texts else []
    for key in [puzzle.start, *after[:: max(1, len(after) // _MOST_TRIED)]] if texts else []:
        text = puzzle.render(key)
        if (found := puzzle.parse(text)) != key:
            raise PuzzleError(f"{puzzle.name}: {text!r} is the text of {key:#x} and is read as {found:#x}")


def disagreement_among(puzzle: Puzzle, keys: Iterable[Key]) -> str:
    """Return the first disagreement of kernel and reference rules at these keys; empty if they agree."""
    for key in keys:
        fast = puzzle.expand(puzzle.keys([key])).successors
        if said := disagreement(puzzle, key, fast, puzzle.successors(key)):
            return said
    return ""


def disagreement(puzzle: Puzzle, key: Key, fast: Keys, plain: Iterable[Key]) -> str:
    """Return how kernel (`fast`) and reference rules (`plain`) differ in the successors of a key; empty if equal."""
    ours, theirs = set(ints(fast)), set(plain)
    if ours == theirs:
        return ""
    stray = min(ours ^ theirs)
    if not puzzle.has_kernel:
        said = f"gives {describe_key(puzzle, stray)} at one call and not at another; it must depend on the key alone"
        return f"{named_with(puzzle, 'successors')}: successors of {describe_key(puzzle, key)} {said}"
    more, less = ("expand", "successors") if stray in ours else ("successors", "expand")
    return (
        f"{named_with(puzzle, more)}: {more} of {describe_key(puzzle, key)} returns {describe_key(puzzle, stray)}, "
        f"{less} does not; the two must agree"
    )


def check_expansion(puzzle: Puzzle, keys: Keys, expansion: Expansion) -> None:
    """Raise `PuzzleError` unless an expansion has the shape and layout that its puzzle promises."""
    if fault := _fault_in(puzzle, keys, expansion):
        begin = f" ({describe_key(puzzle, key_at(keys, 0))} first)" if len(keys) else ""
        raise PuzzleError(f"{puzzle.name}: expand of {len(keys)} configurations{begin} returned {fault}")
    if len(keys) and int(expansion.counts.max()) > puzzle.most_successors:
        worst = key_at(keys, int(expansion.counts.argmax()))
        raise too_many(puzzle, worst, int(expansion.counts.max()))


def _fault_in(puzzle: Puzzle, keys: Keys, expansion: Expansion) -> str:
    if not isinstance(expansion, tuple) or len(expansion) != 2:
        return f"{kind_of(expansion)}, expected Expansion(successors, counts)"
    successors, counts = expansion
    if not puzzle.layout.holds(successors):
        layout = puzzle.layout
        wanted = f"{layout.dtype}" if layout.words == 1 else f"{layout.dtype} of shape (n, {layout.words})"
        return f"successors as {kind_of(successors)}; layout {layout.name} is {wanted}"
    if not isinstance(counts, np.ndarray) or counts.ndim != 1 or counts.dtype.kind not in "iu":
        return f"counts as {kind_of(counts)}, expected uint16"
    total = int(counts.sum(dtype=np.int64))
    if len(counts) != len(keys) or total != len(successors):
        return f"{len(successors)} successors and {len(counts)} counts whose sum is {total}"
    return ""


def describe_key(puzzle: Puzzle, key: Key) -> str:
    """Return a configuration for an error message: its text, or its key if the puzzle fails to render it."""
    try:
        text = puzzle.render(key)
    except Exception:
        return f"{key:#x}"
    if text == f"{key:#x}":
        return text
    return f"{text if text.isprintable() else repr(text)} ({key:#x})"


def error_line(error: BaseException, file: str = "") -> str:
    """Return an exception as one line: its line in `file`, if any, its type and the start of its message."""
    line = _line_of(error, file)
    words = " ".join((error.msg if isinstance(error, SyntaxError) else str(error)).split())
    if len(words) > _MOST_DETAIL:
        words = words[:_MOST_DETAIL] + "..."
    where = f"line {line}, " if line else ""
    return f"{where}{type(error).__name__}: {words}" if words else f"{where}{type(error).__name__}"


def too_many(puzzle: Puzzle, key: Key, count: int) -> PuzzleError:
    """The error for a configuration with more successors than the puzzle promises."""
    return PuzzleError(
        f"{named_with(puzzle, 'successors')}: {describe_key(puzzle, key)} has {count} successors, "
        f"more than most_successors, {puzzle.most_successors}"
    )


def named_with(puzzle: Puzzle, method: str) -> str:
    """Return the name of a puzzle; for one of a user with its file, and the line of a method that is in this file."""
    file = getattr(puzzle, "guarded_file", "")
    code = (vars(kind)[method].__code__ for kind in type(puzzle).__mro__ if hasattr(vars(kind).get(method), "__code__"))
    lines = (f", line {each.co_firstlineno}" for each in code if each.co_filename == file)
    return f"{puzzle.name} of {Path(file).name}{next(lines, '')}" if file else puzzle.name


def kind_of(value: Any) -> str:
    """Return a value for an error message: type and shape of an array, else the beginning of its ``repr``."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return f"{value!r} ({type(value).__name__})"[:100]


def _line_of(error: BaseException, file: str) -> int | None:
    """The line of `file` that an exception came from, the innermost one; ``None`` if it came from elsewhere."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    found, frame = None, error.__traceback__
    while isinstance(frame, TracebackType):
        if frame.tb_frame.f_code.co_filename == file:
            found = frame.tb_lineno
        frame = frame.tb_next
    return found


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

    paths, blocks = [], list[Keys]()
    for steps in _WALKS:
        path = [puzzle.start]
        while len(path) <= steps and (found := expanded(path[-1])):
            path.append(found[next(chance) % len(found)])
        paths.append(path)
    try:
        # The first ones of the whole space, enough for `_SMALL` keys; none if the puzzle cannot list it.
        for block in puzzle.configurations():
            blocks.append(block)
            if sum(map(len, blocks)) > _SMALL:
                break
    except PuzzleError as error:
        if Hint("leave out", "whole") not in error.hints:
            raise RefusedError(f"configurations: {error}") from error
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


def check_line(text: str) -> None:
    """`RefusedError` unless a text is one line."""
    if not text.isprintable():
        raise RefusedError(f"{text!r} is not a single line")
    if text != text.strip():
        raise RefusedError(f"{text!r} begins or ends with a blank")
