"""A picture of the speed and the cost of runs of any size, made of the results of the atlas."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from campaigns.tables.entries import Part

#: Smaller runs are over before they have begun.
LEAST = 100_000
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def points(
    parts: Sequence[Part], results: Mapping[str, Mapping[str, Mapping[str, Any]]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the series and the point of each run by layers of at least `LEAST` configurations."""
    for part in parts:
        for entry, line in results.get(part.name, {}).items():
            explored = line["stored_bytes"] and "layers" in line["row"]
            if explored and line["configurations"] >= LEAST:
                count, cost = line["configurations"], line["costs"][0]
                used, peak = cost["cpu_seconds"], cost["peak_bytes"]
                yield (
                    _series(part.title, entry),
                    {
                        "configurations": count,
                        "a second": count / line["seconds"],
                        "a CPU second": count / used if used else None,
                        "memory": peak and peak / 1e6,
                        "disk": cost["disk_bytes"] / 1e6,
                        "stored": line["stored_bytes"] / 1e6,
                    },
                )


def _series(title: str, entry: str) -> str:
    """``2x6 single`` and ``12 discs, 4 pegs`` are alike but for their sizes to others that are single, of 4 pegs."""
    rest = entry.rpartition(", ")[2] if ", " in entry else entry.partition(" ")[2]
    return f"{title}, {rest}" if rest else title


def draw(parts: Sequence[Part], results: Mapping[str, Mapping[str, Mapping[str, Any]]], target: Path) -> None:
    """Three panels over the number of configurations: rates, memory, disk; both axes logarithmic."""
    from hakoiri.render.plots import drawn_into

    by_series: dict[str, list[dict[str, Any]]] = {}
    for series, point in points(parts, results):
        by_series.setdefault(series, []).append(point)
    headings = {"a second": "configurations a second", "memory": "MB of memory, at most", "disk": "MB on disk, at most"}
    with drawn_into(target, (12, 4)) as figure:
        panels = dict(zip(headings, figure.subplots(1, len(headings), sharex=True), strict=True))
        for colour, (series, found) in zip(cycle(_COLOURS), sorted(by_series.items()), strict=False):
            found.sort(key=lambda point: point["configurations"])
            for what, panel in panels.items():
                _line(panel, found, what, "-", colour, series)
            _line(panels["a second"], found, "a CPU second", ":", colour, "")
        for what, panel in panels.items():
            panel.set(xscale="log", yscale="log", xlabel="configurations", title=headings[what])
            panel.grid(alpha=0.3)
        panels["a second"].plot([], [], ":", color="grey", label="of processor time")
        figure.legend(*panels["a second"].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8)


def _line(panel: Any, found: list[dict[str, Any]], what: str, style: str, colour: str, label: str) -> None:
    known = [point for point in found if point[what]]
    panel.plot(
        [point["configurations"] for point in known], [point[what] for point in known], style, color=colour, marker=".",
        label=label or "_",
    )  # fmt: skip
