"""The data file: for each table its commands, the fields of their JSON, and what papers or other sources have.

`data.toml` is a list of parts, one table each. A part has entries: command lines, with a `$name` for each value that
its `each` runs through, and expressions of their answers. `a` is the list of answers, JSON objects whose fields are
attributes; the functions of `figures` may be called. A part of the page ``atlas`` has `row`, an expression by column,
and `known`, published values by column and entry. One of the page ``papers`` has `claims`; see `Claim`.
"""

import hashlib
import json
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from string import Template
from typing import Any

from campaigns.tables import figures

DATA = Path(__file__).with_name("data.toml")
#: Before the last word of a line: what the command prints goes into that file, for lines to come.
TO_FILE = ">"
#: Begins a line that is a program of the campaign and prints JSON.
PYTHON = "python"
_BUILTINS = (abs, all, any, len, max, min, round, sorted, zip)
_FUNCTIONS = {each.__name__: each for each in _BUILTINS} | {"figures": figures}
#: Two figures of random samples agree if chance alone sets them so far apart this often.
CHANCE = 0.05


def _verdict_of_samples(chance: float, figures: Mapping[str, Any]) -> str:
    # A figure that no deal of ours reaches is `wide` or less probable, however far out it is.
    if figures.get("sure") is False and 2 * figures["wide"] >= CHANCE:
        return "too few deals"
    return "agrees" if chance >= CHANCE else "unexplained"


class Answer(dict[str, Any]):
    """An object of JSON whose fields are attributes."""

    def __getattribute__(self, name: str) -> Any:
        return self[name] if name in self else super().__getattribute__(name)


def answer_of(text: str) -> Any:
    """Read the JSON that a command has printed."""
    return json.loads(text, object_hook=Answer)


def evaluated(expression: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression of the data file.

    ``1:components.0.size`` is a field of answer 1, ``0:window all`` an object of two of answer 0. All else is Python
    with `names` and `figures`.
    """
    if fields := re.fullmatch(r"(\d):([\w. -]+)", expression):
        found = {path.rpartition(".")[2]: _at(names["a"][int(fields[1])], path) for path in fields[2].split()}
        return found if len(found) > 1 else next(iter(found.values()))
    return eval(expression, {"__builtins__": {}, **_FUNCTIONS, **names})  # noqa: S307  (the campaign's own file)


def _at(value: Any, path: str) -> Any:
    for step in path.split("."):
        value = value[int(step) if isinstance(value, list) else step]
    return value


@dataclass(frozen=True)
class Claim:
    """A figure or sentence of a paper, and an expression for ours. The verdict follows from both.

    - A figure of the paper agrees if ours is equal, else it differs.
    - A sentence has a condition on ours, `holds`, and differs where this is false. `always` is the condition of a
      sentence about all cases, which one counterexample refutes.
    - A figure of a random sample has `chance`, the probability that another sample is so far off. It agrees inside
      95 %, else it is unexplained. Too few deals: ours could not contradict any figure on that side.
    - What the paper asks (`asked`) is answered; what is `cited` is proved elsewhere; without `ours` it cannot be known.

    `beyond` marks a figure of ours that goes beyond the paper. `shown` is the format of ours, `why` a note.
    """

    place: str
    said: str
    paper: Any
    ours: str = ""
    shown: str | None = None
    holds: str | None = None
    always: str | None = None
    chance: str | None = None
    asked: bool = False
    cited: bool = False
    beyond: bool = False
    why: str = ""

    @property
    def name(self) -> str:
        return f"{self.place}: {self.said}"

    def verdict(self, ours: Any) -> str:
        """The verdict, from the figures of both; `ours` is ``None`` before the commands have run."""
        if not self.ours:
            return "cited" if self.cited else "cannot be known"
        if ours is None:
            return "not run"
        if self.asked or self.beyond:
            return "answered"
        names = {"paper": self.paper, "ours": ours} | (ours if isinstance(ours, dict) else {})
        if self.chance:
            return _verdict_of_samples(evaluated(self.chance, names), names)
        if self.always:
            return "agrees" if evaluated(self.always, names) else "refuted"
        return "agrees" if (evaluated(self.holds, names) if self.holds else ours == self.paper) else "differs"

    def expressions(self) -> Iterator[str]:
        yield from filter(None, (self.ours, self.holds, self.always, self.chance))


@dataclass(frozen=True)
class Entry:
    """Command lines, and expressions that make figures of their answers. The first line may be killed on purpose.

    `short` ones run in CI. `verify` derives again what was found; `certified` runs leave their certificate, too.
    """

    name: str
    lines: tuple[tuple[str, ...], ...]
    row: Mapping[str, str]
    claims: tuple[Claim, ...] = ()
    short: bool = False
    verify: tuple[str, ...] = ()
    kills: tuple[int, ...] = ()
    certified: bool = False

    @property
    def file_name(self) -> str:
        """The name for files and folders: ``3x3-single``."""
        return self.name.replace(",", "").replace(" ", "-")

    def commands(self) -> list[str]:
        """The lines as one types them."""
        return [typed(line) for line in (*self.lines, self.verify) if line]

    @property
    def asked(self) -> str:
        """A digest of commands and expressions: what has another one is done again."""
        return hashlib.sha256(json.dumps([self.commands(), dict(self.row)]).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Part:
    """A table. `columns` are values of `row` with their headings; `layers` are the entries whose layers are listed.

    `searched` says where published values of a column were looked for.
    """

    page: str
    name: str
    title: str
    text: str
    entries: tuple[Entry, ...]
    columns: Mapping[str, str] = field(default_factory=dict)
    known: tuple[tuple[str, str, Mapping[str, Any]], ...] = ()
    searched: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[str, ...] = ()
    after: str = ""

    def published(self, entry: str) -> dict[str, tuple[Any, str]]:
        """The published values of an entry by column, each with its source."""
        return {column: (values[entry], source) for column, source, values in self.known if entry in values}


def typed(line: Sequence[str]) -> str:
    """A line as one types it."""
    if TO_FILE in line:
        return f"{typed(line[:-2])} {TO_FILE} {line[-1]}"
    return shlex.join(line if line[0] == PYTHON else ("hakoiri", *line))


def read_parts(text: str | None = None) -> dict[str, Part]:
    """Return all parts of the data file, by name."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8") if text is None else text)
    return {given["name"]: _part(given, data) for given in data["part"]}


def _part(given: dict[str, Any], data: Mapping[str, Any]) -> Part:
    verify, rows = ("verify last" if given["page"] == "atlas" else ""), data.get("rows", {})
    entries = tuple(
        _entry({"verify": verify} | _filled(entry, data.get("texts", {}) | names), rows)
        for entry in given.pop("entry")
        for names in _each(entry.pop("each", {}), entry.pop("with", {}))
    )
    known = tuple((column, source, _by_entry(*values)) for column, source, *values in given.pop("known", ()))
    searched = {column: where for where, columns in given.pop("searched", {}).items() for column in columns}
    return Part(entries=entries, known=known, searched=searched, layers=tuple(given.pop("layers", ())), **given)


def _each(each: Any, computed: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield values by name: the product of lists and ranges such as ``2..13``, and what is `computed` of each."""
    for values in each if isinstance(each, list) else [each]:
        for chosen in product(*map(_listed, values.values())):
            names = dict(zip(values, chosen, strict=True))
            yield names | {name: evaluated(expression, names) for name, expression in computed.items()}


def _listed(values: Any) -> list[Any]:
    if isinstance(values, str) and (ends := re.fullmatch(r"(\d+)\.\.(\d+)", values)):
        return list(range(int(ends[1]), int(ends[2]) + 1))
    return values if isinstance(values, list) else [values]


def _filled(value: Any, names: Mapping[str, Any]) -> Any:
    """Fill in each ``$name``; a text that is one name alone becomes its value."""
    if isinstance(value, str):
        return names[value[1:]] if value[:1] == "$" and value[1:] in names else Template(value).safe_substitute(names)
    if isinstance(value, dict):
        return {_filled(key, names): _filled(each, names) for key, each in value.items()}
    return [_filled(each, names) for each in value] if isinstance(value, list) else value


def _entry(given: dict[str, Any], rows: Mapping[str, Mapping[str, str]]) -> Entry:
    name, row, verify = str(given["name"]), given.get("row", {}), given["verify"]
    claims = [Claim(*said[:4], **(said[4] if len(said) > 4 else {})) for said in given.get("claims", ())]
    claims += [
        Claim("", said, None, ours, beyond=True, **(rest[0] if rest else {}))
        for said, ours, *rest in given.get("beyond", ())
    ]
    row = {key: value for name in row.pop("as", ()) for key, value in rows[name].items()} | row
    lines = [
        _filled(line, {"seed": seed}) for seed in _listed(given.get("seeds", 0)) for line in given.get("lines", ())
    ]
    if lines and lines[-1] == verify:
        lines.pop()
    short = given.get("short", False)
    return Entry(
        name,
        tuple(tuple(shlex.split(line)) for line in lines),
        {**row, **{claim.name: claim.ours for claim in claims if claim.ours}},
        tuple(claims),
        short if isinstance(short, bool) else name in short,
        tuple(shlex.split(verify)),
        tuple(given.get("kills", {}).get(name, ())),
        given.get("certified", False),
    )


def _by_entry(values: Any, *listed: Any) -> Mapping[str, Any]:
    """Published values by entry: given so, or as a pattern with ``#`` for a number, the first number, and a list."""
    if isinstance(values, dict):
        return values
    first, found = listed
    return {values.replace("#", str(number)): value for number, value in enumerate(found, first)}
