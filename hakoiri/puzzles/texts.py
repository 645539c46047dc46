"""One reader of boards and orders as texts, whose errors name the line, the row or the place that is wrong.

A text of several lines is read by `board_in`, wherever it comes from: a file, a request, a page, a string in Python.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from hakoiri.errors import ConfigurationError, Hint

#: A comment, which ends a row.
_COMMENT = re.compile(r"(^|\s)(;|//).*|(;|//)(\s.*)?$")
#: A comment before the first row, if no other line is as long; a wall may be the first mark of a row.
_PREFACE = re.compile(r"\s*#+\s.*?(?!(.)\1\1)[A-Za-z]{3}(?=.)")
#: A board of one line in a list, with numbers.
_LISTED = re.compile(r"\d+\s+\S{25,64}(\s+\d+)*|\S{25,64}(\s+\d+)+")
#: The size of a board: one number or two. What follows a level, such as ``Title: one``.
_SIZE, _ABOUT = re.compile(r"\d{1,4}([\s,x]+\d{1,4})?[\s,]*"), re.compile(r"[A-Za-z][\w -]*:\s")
#: The marks of levels of Sokoban, where a blank is floor.
_SOKOBAN = "#@+$*. -_"
#: Marks the exit beside a row, as a letter may that is nowhere else.
EXIT = ">"
_BAR, _RULE = re.compile("[|│┃║]"), re.compile("[-+=_─━═┌┬┐├┼┤└┴┘╔╦╗╠╬╣╚╩╝]{2,}")


class _Line(NamedTuple):
    number: int
    text: str
    block: int

    @property
    def words(self) -> list[str]:
        return re.split(r"[\s,]+", self.text.strip(" \t,"))

    @property
    def margin(self) -> int:
        """The number of blanks before it."""
        return len(self.text) - len(self.text.lstrip())

    @property
    def shape(self) -> tuple[int, int]:
        """The number of words, and the length of a single one."""
        return len(self.words), len(self.text.strip()) if len(self.words) == 1 else 0

    @property
    def is_prose(self) -> bool:
        return len(self.words) > 1 and any(re.fullmatch(r"[^\W\d]{3,}[.:!,']*", word) for word in self.words)

    def refused(self, why: str) -> ConfigurationError:
        return ConfigurationError(f"line {self.number} {self.text.strip()!r} {why}")


def board_in(text: str) -> str:
    """Return the rows of the one board in lines of `text`, joined by ``/``, without blanks around them.

    A comment begins with ``;`` or ``//`` and ends a row. Left out are the size before the board, and titles: lines that
    could be no row, with a blank line or the end behind them. Blanks in levels of Sokoban are floor, ``-``.
    `ConfigurationError` names a line that may be a title or a row, or a size that is wrong.
    """
    lines, block = list[_Line](), 0
    lengths = Counter(map(len, text.splitlines()))
    for number, line in enumerate(text.splitlines(), 1):
        row = _COMMENT.sub("", line).rstrip()
        if row and (lines or not _PREFACE.match(row) or row.endswith("#") or lengths[len(line)] > 1):
            lines.append(_Line(number, row, block))
        block += not line.strip()
    if lines and all(_LISTED.fullmatch(line.text.strip()) for line in lines):
        raise lines[0].refused("is of a list; give one board alone, or search them all by a study of starts")
    lines = _without_size(_levels(_without_titles(lines)))
    if len({line.shape for line in lines}) == 1 and len(lines[0].words) == 1 and (shifted := _shifted(lines)):
        raise shifted.refused("begins at another column than other rows; write '.' for an empty cell")
    rows = [line.text.strip() for line in lines]
    return "/".join([*(row.removesuffix("/") for row in rows[:-1]), *rows[-1:]])


def one_line(text: str) -> str:
    """Return the text of a configuration as one line: the board in several (`board_in`), or without its comment."""
    return board_in(text) if len(text.strip().splitlines()) > 1 else _COMMENT.sub("", text).strip()


def _without_titles(lines: list[_Line]) -> list[_Line]:
    """Return the lines that are not titles."""
    blocks = [[*block] for _, block in groupby(lines, key=lambda line: line.block)]
    while blocks and len(blocks[-1]) > 1 and _ABOUT.match(blocks[-1][-1].text):
        blocks[-1].pop()
    boards = [block for block in blocks if len(block) > 1 and not all(line.is_prose for line in block)]
    if len(boards) > 1:
        where = " and ".join(str(block[0].number) for block in boards)
        raise ConfigurationError(f"{len(boards)} boards, at lines {where}: which? give one of them alone")
    if not boards:
        first, others = lines[:1], lines[1:]
        titled = first and len(blocks) > 1 and (first[0].is_prose or {"/" in each.text for each in others} == {True})
        return others if titled and first[0].shape not in {each.shape for each in others} else lines
    shapes, named = {line.shape for line in boards[0]}, not any(line.is_prose for line in boards[0])
    for line in (line for block in blocks if block is not boards[0] for line in block):
        if line.shape in shapes and not _SIZE.fullmatch(line.text.strip()) and not (named and line.is_prose):
            raise line.refused("may be a title or a row of the board; begin a title with ';'")
    head, *rest = boards[0]
    if head.is_prose and head.shape not in {line.shape for line in rest} and not any(line.is_prose for line in rest):
        raise head.refused("is not a row like the others; leave a blank line behind a title")
    kept = {line.number for line in boards[0]}
    return [line for line in lines if line.number in kept or _SIZE.fullmatch(line.text.strip())]


def _levels(lines: list[_Line]) -> list[_Line]:
    """Return the rows of a level of Sokoban with ``-`` for its floor, and a wall outside; other lines as they are."""
    spaced = _shifted(lines) or any(" " in line.text.strip() for line in lines)
    if not spaced or any("#" not in line.text or line.text.strip(_SOKOBAN) for line in lines):
        return lines
    width = max(len(line.text) for line in lines)
    marks = [line.text.lstrip().replace(" ", "-") for line in lines]
    inner = ("#" * line.margin + each for line, each in zip(lines, marks, strict=True))
    return [line._replace(text=text.ljust(width, "#")) for line, text in zip(lines, inner, strict=True)]


def _shifted(lines: list[_Line]) -> _Line | None:
    """Return a row that begins at another column than others. The first one may stand behind a quotation mark."""
    if len(lines) < 2:
        return None
    first, column = lines[0], lines[1].margin
    return first if first.margin > column else next((line for line in lines[2:] if line.margin != column), None)


def _without_size(lines: list[_Line]) -> list[_Line]:
    """Return the lines without the size of the board before it, and without the number of its pieces behind that."""
    if len(lines) < 3 or not _SIZE.fullmatch(lines[0].text.strip()):
        return lines
    size, rest = lines[0], lines[1:]
    stated = sorted(map(int, re.findall(r"\d+", size.text)))
    stated *= 3 - len(stated)
    letters = {mark for line in rest[1:] for mark in line.text if mark.isalpha()}
    pieces = rest[0].text.strip()
    # Without the piece that leaves, and the letter of the exit.
    counted = re.fullmatch(r"\d{1,4}", pieces) and len(letters) - 2 <= int(pieces) <= len(letters)
    for rows in (rest, rest[1:] if counted else []):
        wide = Counter(max(line.shape) for line in rows).most_common(1)
        if rows and sorted((len(rows), wide[0][0])) == stated:
            if size.shape in {line.shape for line in rows} and size.block == rows[0].block:
                raise size.refused("may be the size or a row of the board; leave a blank line behind a size")
            return rows
    if len(re.findall(r"\d+", size.text)) > 1 and size.shape not in {line.shape for line in rest}:
        wide = Counter(max(line.shape) for line in rest).most_common(1)
        raise size.refused(f"is not the size of the board below it, {len(rest)} rows of {wide[0][0]}")
    return lines


def plain_rows(text: str) -> str:
    """Return a board, its rows joined by ``/``, without a printed frame and without the brackets of lists.

    What was between bars or commas has blanks between it, and ``.`` for nothing. A row without the bar at its right end
    has `EXIT` there. Other texts are returned as they are.
    """
    if re.fullmatch(r"""[\[(]\s*(["'])[^"']{2,}\1(\s*+,\s*+/?\s*+\1[^"']{2,}\1)*[\s,/]*[\])]""", text):
        return "/".join(re.split("[\"']", text)[1::2])
    if re.fullmatch(r"[\[(].*[\])]", text):
        # Possessive: texts of the length that a request may have took hours otherwise.
        inner = re.sub(r"[\])]\s*+,?\s*+/?\s*+[\[(]", "/", text.strip("[]() "))
        return re.sub(r"['\"]", "", inner)
    rows = text.split("/")
    framed = [row for row in rows if not _RULE.fullmatch(row)]
    if len(rows) < 2 or not framed or not all(_BAR.match(row) and row[2:] for row in framed):
        return text
    wide = Counter(map(len, framed)).most_common(1)[0][0]
    ends = [row[-1] if len(row) == wide else EXIT for row in framed]
    if (open_ends := [end for end in ends if not _BAR.match(end)])[1:]:
        return text
    cells = [_BAR.split(row[1 : wide - 1]) for row in framed]
    if open_ends:
        at = next(number for number, end in enumerate(ends) if not _BAR.match(end))
        cells[at][-1] += open_ends[0] if open_ends[0] != " " else EXIT
    return "/".join(" ".join(each.strip() or "." for each in row) if len(row) > 1 else row[0] for row in cells)


def rows_in(
    text: str, height: int, width: int = 0, *, name: str = "row", names: Sequence[str] = (), unit: str = "cells",
    form: str = "", folded: bool = False, hints: Sequence[Hint] = (),
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Yield the name of each row of a text, "row 1" by default, and the row; `ConfigurationError` for a wrong text.

    Without a `width` rows may have any length. A `folded` board may be one line; `form` describes the rows further.
    """
    rows = text.split("/")
    if folded and len(rows) == 1 and len(text) == height * width:
        rows = [text[begin : begin + width] for begin in range(0, len(text), width)]
    if len(rows) != height:
        there = f"{len(text)} {unit}" if folded and len(rows) == 1 else f"{len(rows)}"
        raise ConfigurationError(f"expected {height} rows joined by '/'{form}; {text!r} has {there}", *hints)
    for where, row in zip(names or [f"{name} {number}" for number in range(1, height + 1)], rows, strict=True):
        if width and len(row) != width:
            raise ConfigurationError(f"{where} {row!r} has {len(row)} {unit}, expected {width}")
        yield where, row


def marks_in(rows: Iterable[tuple[str, str]], known: Collection[str], expected: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name of its row, the row and each mark; `ConfigurationError` for a mark that is not `known`."""
    for where, row in rows:
        for mark in row:
            if mark not in known:
                raise ConfigurationError(f"{where} {row!r}: {mark!r} is not {expected}")
            yield where, row, mark


def numbers_in(
    text: str, count: int, thing: str, *, form: str = "", signed: bool = False, blank: str = ""
) -> list[int]:
    """Return the numbers 1 to `count` in the order of a text, each once; 0 for a `blank`, which may come repeatedly.

    `signed` ones may have a minus. `ConfigurationError` names the place of a word that is wrong.
    """
    words, found = text.replace(",", " ").split(), list[int]()
    if len(words) != count:
        raise ConfigurationError(f"expected {count} {thing}s{form}; {text!r} has {len(words)}")
    for place, word in enumerate(words, 1):
        number = int(word) if re.fullmatch(r"-?[1-9][0-9]?" if signed else r"[1-9][0-9]?", word) else 0
        if not 1 <= abs(number) <= count and word != blank:
            more = ", with a minus if the burnt side is up" if signed else f", or {blank!r}" if blank else ""
            raise ConfigurationError(f"place {place}: {word!r} is not a {thing}; expected 1 to {count}{more}")
        if number and abs(number) in map(abs, found):
            raise ConfigurationError(f"place {place}: {thing} {abs(number)} appears twice")
        found.append(number)
    return found
