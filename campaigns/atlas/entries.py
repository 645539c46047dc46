"""The parts of the atlas, their entries, which are commands, and the rows made of the answers."""

import hashlib
import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Answer = Mapping[str, Any]
#: A row of a table: what it is of (``row``), and values by column; plain, for JSON.
Row = dict[str, Any]
VERIFY = ("verify", "last")
#: Before the last word of a line: what the command prints goes into that file, for lines to come.
TO_FILE = ">"
#: Begins a line that is no command of Hakoiri, but a program of the campaign that prints JSON.
PYTHON = "python"


@dataclass(frozen=True)
class Entry:
    """Command lines of Hakoiri, and how their answers become rows. The first may be killed, see `Desk.answers`.

    `short` ones go into CI. `verify` derives again what was found; of what is `certified` the certificate is kept, too.
    """

    name: str
    lines: tuple[tuple[str, ...], ...]
    rows: Callable[[Sequence[Answer]], list[Row]]
    short: bool = False
    kills: tuple[int, ...] = ()
    verify: tuple[str, ...] = VERIFY
    certified: bool = False

    @property
    def file_name(self) -> str:
        """For files and folders: ``3x3-single``."""
        return file_name(self.name)

    def commands(self) -> list[str]:
        """As one types them."""
        return [typed(line) for line in (*self.lines, self.verify)]


def typed(line: tuple[str, ...]) -> str:
    """A line as one types it."""
    if TO_FILE in line:
        return f"{typed(line[:-2])} {TO_FILE} {line[-1]}"
    return shlex.join(line if line[0] == PYTHON else ("hakoiri", *line))


@dataclass(frozen=True)
class Known:
    """The published values of a column, by row, and their source."""

    column: str
    source: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """One table. `columns` are names of values with their headings; `layers` says of which rows these are told.

    `searched` says of columns where published values were looked for: a value with neither these nor a `Known` is not
    said to be anything.
    """

    name: str
    title: str
    text: str
    columns: Mapping[str, str]
    entries: tuple[Entry, ...]
    known: tuple[Known, ...] = ()
    searched: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[str, ...] = ()

    def published(self, row: Row) -> dict[str, dict[str, Any]]:
        return {
            known.column: {"value": known.values[row["row"]], "source": known.source}
            for known in self.known if row["row"] in known.values
        }  # fmt: skip


def file_name(entry: str) -> str:
    """That of an entry of this name."""
    return entry.replace(",", "").replace(" ", "-")


def in_order(first: int, *values: Any, name: str = "{}") -> dict[str, Any]:
    """Values of rows that are called by numbers, from `first` on."""
    return {name.format(number): value for number, value in enumerate(values, first)}


def explored(name: str) -> Callable[[Sequence[Answer]], list[Row]]:
    """The row of a run by layers; of the first answer."""

    def rows(answers: Sequence[Answer]) -> list[Row]:
        run = answers[0]
        found = {key: run[key] for key in ("configurations", "depth", "layers", "digest")}
        return [{"row": name} | found | {"farthest": run["layers"][-1]}]

    return rows


def exploring(name: str, *line: str, short: bool = False, kills: tuple[int, ...] = ()) -> Entry:
    """An entry that is one run by layers."""
    return Entry(name, (("run", *line),), explored(name), short, kills, certified=True)


def digest_of(rows: list[Row]) -> str:
    """Return a digest of what has none of its own: SHA-256 of its rows as JSON, keys in order."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
