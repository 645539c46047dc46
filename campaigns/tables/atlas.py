"""The page `docs/reports/atlas.md`, made of the results alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from campaigns.tables.entries import TO_FILE, Part
from campaigns.tables.picture import points

Lines = Mapping[str, Mapping[str, Any]]
PICTURE = "atlas.svg"
_SAME, _NONE = "✓", "°"
_BEGINS = f"""\
# Atlas

Tables of puzzles, made by Hakoiri's own commands. This page is made of `campaigns/tables/results.json`; no figure is
put in by hand. The smallest rows are made again in CI.

```sh
python -m campaigns.tables tiles pancakes        # two parts; run it again to continue where it was stopped
python -m campaigns.tables pancakes --until 30   # one part, for half an hour
python -m campaigns.tables --publish             # write this page and that of the papers
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
_COSTS = f"""\
## What it cost

On {{machine}}, beside other work, so that seconds of the clock say little. *CPU s* are of all threads of the
commands together, *computing* is what the run itself tells, peak memory and disk are the most at any
moment. What a stopped or killed process took is counted with it. `-` was not measured.

![Configurations a second, memory and disk, by the size of a run]({PICTURE})
"""
#: The head of the table of costs.
_HEADS = ["command", "s", "CPU s", "computing s", "peak MB", "disk MB", "kills", "digest", "verified", "CPU s"]


def certificate_of(part: str, entry: str) -> str:
    """The file of a certificate, beside the page."""
    return f"atlas/{part}-{entry.replace(',', '').replace(' ', '-')}.json"


def page(parts: Sequence[Part], results: Mapping[str, Lines], machine: str) -> str:
    """The page, as Markdown."""
    told = [_BEGINS]
    for part in parts:
        told += _told(part, results.get(part.name, {}))
    told += [_COSTS.format(machine=machine), *_rates(parts, results)]
    for part in parts:
        if lines := results.get(part.name, {}):
            rows = (row for name, line in lines.items() for row in _costs_of(part.name, name, line))
            told += [f"### {part.title}\n", table(_HEADS, rows)]
    return "\n".join(told) + "\n"


def _told(part: Part, lines: Lines) -> Iterator[str]:
    yield f"## {part.title}\n\n{part.text}\n"
    if lines:
        yield table(["", *part.columns.values()], (
            [name, *(_cell(part, name, line["row"], column) for column in part.columns)] for name, line in lines.items()
        ))  # fmt: skip
    for name, line in lines.items():
        if name in part.layers:
            yield f"Layers of {name}: {', '.join(f'{size:,}' for size in line['row']['layers'])}.\n"
    if sources := sorted({f"{part.columns[column]}: {source}" for column, source, _ in part.known}):
        yield f"Published: {'; '.join(sources)}.\n"
    for where in dict.fromkeys(part.searched.values()):
        columns = ", ".join(part.columns[column] for column, place in part.searched.items() if place == where)
        yield f"{_NONE} {columns}: looked for in {where}.\n"
    if missing := [entry for entry in part.entries if entry.name not in lines]:
        yield "Not run yet:\n"
        for entry in missing:
            command = next(command for command in entry.commands() if f" {TO_FILE} " not in command)
            yield f"- {entry.name}: `{command}`"
        yield ""


def _cell(part: Part, entry: str, row: Mapping[str, Any], column: str) -> str:
    value, known = row.get(column), part.published(entry).get(column)
    text = plain(len(row["layers"]) if column == "layers" else value)
    if known is None or value is None:
        return f"{text} {_NONE}" if column in part.searched else text
    return f"{text} {_SAME}" if known[0] == value else f"{text} (published: {plain(known[0])})"


def plain(value: object) -> str:
    """A value of a cell."""
    if value is None:
        return "open"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


def _rates(parts: Sequence[Part], results: Mapping[str, Lines]) -> Iterator[str]:
    """Yield the cost of a configuration in the smallest, the cheapest and the largest run of each kind."""
    by_series: dict[str, list[dict[str, Any]]] = {}
    for series, point in points(parts, results):
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


def _costs_of(part: str, entry: str, line: Mapping[str, Any]) -> Iterator[list[str]]:
    """A row for each command of an entry; the first also has what is of all, and how that was verified."""
    *made, verified = line["commands"]
    checked = ", ".join(f"{number:,} {what}" for what, number in line["verified"]["checked"].items())
    by = f"`{verified.removeprefix('hakoiri ')}`: {checked}"
    digest = f"`{line['digest'][:12]}`"
    if line["certified"]:
        digest = f"[{digest}]({certificate_of(part, entry)})"
    rest = [digest, by, f"{line['verified']['cost']['cpu_seconds']:,.1f}"]
    for number, (command, cost) in enumerate(zip(made, line["costs"], strict=True)):
        took = [_known(each) for each in (cost["seconds"], cost["cpu_seconds"], None if number else line["seconds"])]
        sizes = [_known(each and each / 1e6, 0) for each in (cost["peak_bytes"], cost["disk_bytes"])]
        yield [
            f"`{command.removeprefix('hakoiri ')}`",
            *took,
            *sizes,
            f"{cost['kills']}",
            *([""] * 3 if number else rest),
        ]


def _known(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def table(heads: list[str], rows: Iterable[list[str]], others: str = "--:") -> str:
    """A table in Markdown; `others` aligns all columns but the first."""
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([f"| {' | '.join(heads)} |", f"|---{f'|{others}' * (len(heads) - 1)}|", *lines, ""])
