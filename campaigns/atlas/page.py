"""The results of the atlas as JSON, and as the page `docs/reports/atlas.md`, which is made of them alone."""

import json
import platform
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from campaigns.atlas.entries import TO_FILE, Part, file_name
from campaigns.atlas.picture import draw, points

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reports" / "atlas.md"
CERTIFICATES = PAGE.with_name("atlas")
_PICTURE = "atlas.svg"
_SAME, _NONE = "✓", "°"
_BEGINS = f"""\
# Atlas

Tables of puzzles, made by Hakoiri's own commands. This page is made of `campaigns/atlas/results.json`; no figure is put
in by hand. The smallest rows are made again in CI.

```sh
python -m campaigns.atlas                        # every part; started again, it goes on where it was stopped
python -m campaigns.atlas pancakes --until 30    # one part, for half an hour
python -m campaigns.atlas --publish              # this page
```

**{_SAME}** marks a value that was published before and is the same; a published value that differs is named.
**{_NONE}** marks a value for which no published one was found, though there may be one. Other values were not looked
up. `open` was not measured. The first column is the size, or which row it is. *So far
away*: how many configurations lie at the greatest distance. *Layers*: how many there are, that of the start among them;
a mark there is of all their sizes. *Capped*: deals that were given up, after as many positions as the search was
allowed. *Deciles*: a tenth of the deals lie below the first, two tenths below the second, and so on.

What was found is verified by the command that is told, before large runs are removed;
digests are those of runs, or of the rows of a table (SHA-256 of their JSON). A digest that is a link leads to a
certificate, which holds size and digest of each layer, but no diameters:
`hakoiri verify docs/reports/atlas/NAME.json` makes the run again, from nothing, and compares.
"""
_RATES = """\
**Where the rate falls, and why.** A process takes its time to start, so small runs are slow for their size, and the
rate rises with it. Then it is the puzzle's own: how many moves a configuration has, and what its key costs. It falls
where the bitmap of a layer's successors, a bit for each possible key, does not fit into the memory allowed, because
successors are then sorted. `run tiles -o rows=3 -o columns=4`, whose bitmap has 60 MB, took 21 ns of CPU a
configuration with `--memory 8GB`, 28 with 400MB and 59 with 200MB. That of the 2x7 tiles would have 10.9 GB, where 9 GB
were allowed. If the sorted ones do not fit either, pieces of them go to the disk and come back, range by range. The
files then take more at some moment than is stored in the end (the last two columns, bytes a configuration of the
largest run). Memory grows with the widest layers until it reaches what is allowed; the disk takes about a byte a
configuration.
"""
#: The head of the table of costs.
_HEADS = ["command", "s", "CPU s", "computing s", "peak MB", "disk MB", "kills", "digest", "verified", "CPU s"]


def published() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the published results of each entry, by its part and name."""
    parts = json.loads(RESULTS.read_text(encoding="utf-8"))["parts"]
    return {(name, entry["entry"]): entry for name, part in parts.items() for entry in part["entries"]}


def summary(
    lines: Iterable[Mapping[str, Any]],
    parts: Mapping[str, Part],
    before: Mapping[tuple[str, str], Mapping[str, Any]],
) -> dict[str, Any]:
    """By part: the lines of its entries with what is published of each row, and the commands that were not run.

    `before` has what is `published` of entries that no line is of.
    """
    done = {**before, **{(line["part"], line["entry"]): _result(line) for line in lines}}
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return {"machine": machine, "parts": {name: _of(part, done) for name, part in parts.items()}}


def _of(part: Part, done: Mapping[tuple[str, str], Mapping[str, Any]]) -> dict[str, Any]:
    entries, not_run = [], []
    for entry in part.entries:
        line = done.get((part.name, entry.name))
        if line is None:
            not_run.append({"entry": entry.name, "commands": entry.commands()})
            continue
        rows = [row | {"published": part.published(row)} for row in line["rows"]]
        entries.append({**line, "rows": rows})
    return {"title": part.title, "entries": entries, "not run": not_run}


def _result(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the books without its part, and without the text of its certificate."""
    result = {name: value for name, value in line.items() if name not in ("part", "certificate")}
    return result | {"certified": "certificate" in line}


def publish(results: Mapping[str, Any], parts: Mapping[str, Part], lines: Iterable[Mapping[str, Any]]) -> None:
    """Write the results, the page, its picture, and the certificates."""
    CERTIFICATES.mkdir(exist_ok=True)
    for line in lines:
        if "certificate" in line:
            (CERTIFICATES / _file_of(line["part"], line["entry"])).write_text(line["certificate"], encoding="utf-8")
    RESULTS.write_text(f"{json.dumps(results, indent=1)}\n", encoding="utf-8")
    PAGE.write_text(page(results, parts), encoding="utf-8")
    draw(results, PAGE.with_name(_PICTURE))


def _file_of(part: str, entry: str) -> str:
    return f"{part}-{file_name(entry)}.json"


def page(results: Mapping[str, Any], parts: Mapping[str, Part]) -> str:
    """The page, as Markdown."""
    told = [_BEGINS]
    for name, found in results["parts"].items():
        told += _told(parts[name], found)
    return "\n".join([*told, *_costs(results)]) + "\n"


def _told(part: Part, found: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {part.title}\n\n{part.text}\n"
    rows = [row for line in found["entries"] for row in line["rows"]]
    if rows:
        yield table(["", *part.columns.values()], (
            [row["row"], *(_cell(part, row, column) for column in part.columns)] for row in rows
        ))  # fmt: skip
    for row in rows:
        if row["row"] in part.layers:
            yield f"Layers of {row['row']}: {', '.join(f'{size:,}' for size in row['layers'])}.\n"
    if sources := sorted({f"{part.columns[known.column]}: {known.source}" for known in part.known}):
        yield f"Published: {'; '.join(sources)}.\n"
    for where in dict.fromkeys(part.searched.values()):
        columns = ", ".join(part.columns[column] for column, place in part.searched.items() if place == where)
        yield f"{_NONE} {columns}: looked for in {where}.\n"
    if found["not run"]:
        yield "Not run yet:\n"
        yield from (f"- {line['entry']}: `{_telling(line['commands'])}`" for line in found["not run"])
        yield ""


def _telling(commands: list[str]) -> str:
    """The first one that does more than write a file."""
    return next(command for command in commands if f" {TO_FILE} " not in command)


def _cell(part: Part, row: Mapping[str, Any], column: str) -> str:
    value, known = row.get(column), row["published"].get(column)
    text = plain(len(row["layers"]) if column == "layers" else value)
    if known is None or value is None:
        return f"{text} {_NONE}" if column in part.searched else text
    return f"{text} {_SAME}" if known["value"] == value else f"{text} (published: {plain(known['value'])})"


def plain(value: object) -> str:
    """A value of a cell."""
    if value is None:
        return "open"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


def _costs(results: Mapping[str, Any]) -> Iterator[str]:
    yield f"""\
## What it cost

On {results["machine"]}, beside other work, so that seconds of the clock say little. *CPU s* are of all threads of the
commands together, *computing* is what the run itself tells, peak memory and disk are the most at any
moment. What a stopped or killed process took is counted with it. `-` was not measured.

![Configurations a second, memory and disk, by the size of a run]({_PICTURE})
"""
    yield from _rates(results)
    for name, part in results["parts"].items():
        if part["entries"]:
            yield f"### {part['title']}\n"
            yield table(_HEADS, (row for line in part["entries"] for row in _costs_of(name, line)))


def _rates(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield the cost of a configuration in the smallest, the cheapest and the largest run of each kind."""
    by_series: dict[str, list[dict[str, Any]]] = {}
    for series, point in points(results):
        if point["a CPU second"]:
            by_series.setdefault(series, []).append(point | {"ns": 1e9 / point["a CPU second"]})
    yield _RATES
    rows = []
    for series, found in by_series.items():
        found.sort(key=lambda point: point["configurations"])
        shown = (found[0], min(found, key=lambda point: point["ns"]), found[-1])
        cells = [f"{point['configurations']:,}: {point['ns']:,.1f}" for point in shown]
        large = found[-1]
        disk = (f"{large[what] * 1e6 / large['configurations']:.2f}" for what in ("stored", "disk"))
        rows.append([series, *cells, *disk])
    yield table(["ns of CPU a configuration", "smallest", "cheapest", "largest", "bytes stored", "at most"], rows)


def _costs_of(part: str, line: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row for each command of an entry; the first also has what is of all, and how that was verified."""
    *made, verified = line["commands"]
    checked = ", ".join(f"{number:,} {what}" for what, number in line["verified"]["checked"].items())
    by = f"`{verified.removeprefix('hakoiri ')}`: {checked}"
    digest = f"`{line['digest'][:12]}`"
    if line["certified"]:
        digest = f"[{digest}]({CERTIFICATES.name}/{_file_of(part, line['entry'])})"
    rest = [digest, by, f"{line['verified']['cost']['cpu_seconds']:,.1f}"]
    for number, (command, cost) in enumerate(zip(made, line["costs"], strict=True)):
        computing = None if number else line["computing_seconds"]
        took = [_known(each) for each in (cost["seconds"], cost["cpu_seconds"], computing)]
        sizes = [_known(each and each / 1e6, 0) for each in (cost["peak_bytes"], cost["disk_bytes"])]
        shown = ["", "", ""] if number else rest
        yield [f"`{command.removeprefix('hakoiri ')}`", *took, *sizes, f"{cost['kills']}", *shown]


def _known(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def table(heads: list[str], rows: Iterable[list[str]], others: str = "--:") -> str:
    """A table in Markdown; `others` aligns all columns but the first."""
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([f"| {' | '.join(heads)} |", f"|---{f'|{others}' * (len(heads) - 1)}|", *lines, ""])
