"""Several starts of one search: configurations and patterns, one in a line; and lists of starts in general."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TypeVar

from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import Key, Keys, Mask, ints
from hakoiri.keys.order import members
from hakoiri.puzzles.contract import Matching, Puzzle
from hakoiri.puzzles.goals import read_matching

#: A line that is left out. A wall may be the first mark of a board, but no blank follows it there.
_COMMENT = re.compile(r"\s*(;|#(\s|$)|$)")
#: What makes a text that is no configuration a pattern.
MARKS = {"*", "?"}
#: Starts of a study, and of one search.
_MOST_STARTS, _MOST_TOGETHER = 10_000, 50_000
#: Configurations among which those like a pattern are looked for.
_MOST_LISTED = 1 << 32
#: Configurations compared with patterns before a search may be stopped.
_COMPARED = 1 << 16
_Parsed = TypeVar("_Parsed")


def read_starts(
    text: str, parse: Callable[[str], _Parsed], most: int = _MOST_STARTS
) -> list[tuple[str, str, _Parsed]]:  # fmt: skip
    """Return the name and the text of each start in lines of `text`, and what `parse` returns of it.

    `parse` raises `PuzzleError` for any other text. A line is a start, or a word and a start, or has a start as the one
    word that has rows or is most of it. Everything before the start is its name. Comments begin with ``;``, or with
    ``#`` and a blank. `ConfigurationError` names the line that is wrong.
    """
    found = list(islice(each_start(text, parse), most + 1))
    if not 1 <= len(found) <= most:
        raise ConfigurationError(f"{'no starts' if not found else 'more starts'} found, expected 1 to {most:,}")
    return found


def each_start(text: str, parse: Callable[[str], _Parsed]) -> Iterator[tuple[str, str, _Parsed]]:
    """Yield the same start by start, as many as there are."""
    for number, line in enumerate(text.splitlines(), 1):
        if not _COMMENT.match(line):
            try:
                yield _read_line(line.strip(), parse)
            except PuzzleError as error:
                raise ConfigurationError(f"line {number}: {error}", *error.hints) from None


def _read_line(line: str, parse: Callable[[str], _Parsed]) -> tuple[str, str, _Parsed]:
    words = line.split()
    word = max(words, key=_rank)
    is_most = _rank(word) > (0, len(line) / 2)
    parts = [line[len(words[0]) :].strip()] * (len(words) > 1) + [word] * is_most
    errors = {}
    for part in dict.fromkeys([line, *sorted(parts, key=_rank, reverse=True)]):
        try:
            found = parse(part)
        except PuzzleError as error:
            errors[part] = error
            continue
        if part != line and any(_rank(each)[0] == _rank(part)[0] > 0 for each in words if each not in part):
            raise ConfigurationError(f"{line!r} may be two starts; give each a line of its own")
        return line[: line.rindex(part)].strip(), part, found
    raise errors[word if is_most else line]


def _rank(part: str) -> tuple[int, int]:
    return part.count("/") + part.count("|"), len(part)


class Starts:
    """The starts of a search of `puzzle`: the configurations, and those like the patterns, in lines of `text`."""

    def __init__(self, puzzle: Puzzle, text: str) -> None:
        self._puzzle, self._text = puzzle, text

    def blocks(self) -> Iterator[Keys]:
        """Yield the starts in batches, in any order, perhaps some twice, and also empty batches.

        For patterns the whole space is listed. `PuzzleError` if it is too large.
        """
        puzzle, (keys, patterns), seen = self._puzzle, self.parts, 0
        yield keys
        for block in puzzle.configurations() if patterns else ():
            seen += len(block)
            if seen > _MOST_LISTED:
                raise PuzzleError(f"{puzzle.name} has over {_MOST_LISTED:,} configurations to compare with a pattern")
            # Some patterns are compared text by text.
            for begin in range(0, len(block), _COMPARED):
                yield (part := block[begin : begin + _COMPARED])[self.hold(part)]

    def hold(self, keys: Keys) -> Mask:
        """Return for each key whether it is a start."""
        listed, patterns = self.parts
        found = members(listed, keys)
        for holds in patterns.values():
            found |= holds(keys)
        return found

    def written(self) -> str:
        """Return the lines in normal form: configurations in the order of their keys, then patterns."""
        return "\n".join([*map(self._text_of, ints(self.parts[0])), *sorted(self.parts[1])])

    @cached_property
    def parts(self) -> tuple[Keys, dict[str, Matching]]:
        """The starts that are no patterns, in key order, and what matches each pattern."""
        keys, patterns = set[Key](), dict[str, Matching]()
        for _, text, found in read_starts(self._text, self._parsed, _MOST_TOGETHER):
            if isinstance(found, int):
                keys.add(found)
            else:
                patterns[text] = found
        return self._puzzle.keys(sorted(keys)), patterns

    def _parsed(self, text: str) -> Key | Matching:
        puzzle = self._puzzle
        try:
            return puzzle.parse(text)
        except ConfigurationError as error:
            if not MARKS & {*text}:
                raise
            if not puzzle.lists_all or (puzzle.total or 0) > _MOST_LISTED:
                why = f"{puzzle.name} lists no configurations, or over {_MOST_LISTED:,}"
                raise ConfigurationError(f"{error}; {why}, so a start cannot be a pattern") from None
        return read_matching(puzzle, text)[0]

    def _text_of(self, key: Key) -> str:
        with suppress(PuzzleError):
            if self._puzzle.parse(text := self._puzzle.render(key)) == key and not _COMMENT.match(text):
                return text
        return f"{key:#x}"
