"""What `benchmarks/scaling.py` finds, as tables and as a picture: those of docs/scaling.md."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.costs import ROLES
from benchmarks.roles import EACH, ONE

WORKERS = (1, 2, 4, 8, 16, 32, 64, 128)
GIGABITS = (1, 10, 100)
#: Workers of a host.
CORES = 8
#: A larger run of the same kind has so many times as large layers.
LARGER = 10


def as_text(found: Mapping[str, Any]) -> Iterator[str]:
    """Tables, as docs/scaling.md has them."""
    yield from _shared(found)
    yield ""
    yield from _own(found)
    for name, space in found["spaces"].items():
        yield ""
        yield from _head(f"{name}, {LARGER} times as large", *map(str, WORKERS), "at most", "by")
        for place, times in space["larger"].items():
            limit, most = min(space["ceilings"][place].items(), key=lambda item: item[1][0])
            yield f"| {place} | {' | '.join(map(str, times))} | {_interval(most)} | {limit} |"
    if found["test"]:
        yield ""
        yield from _head(
            "run",
            "data Redis",
            "Mbit/s",
            "without a limit s",
            "kept",
            "took s",
            "reckoned s",
            "ratio",
            "MB sent",
            "reckoned",
        )
        for row in found["test"]:
            yield f"| {' | '.join(str(value) for value in row.values())} |"


def _shared(found: Mapping[str, Any]) -> Iterator[str]:
    """What is the same for any space."""
    space = next(iter(found["spaces"].values()))
    yield from _head("role", "job ms", "fetch us", "layers of a kind by this in relation to what they took")
    for role in ROLES:
        job, fetch = (_with_error(space, role, name, unit) for name, unit in (("job", 1e3), ("fetch", 1e6)))
        least, most = found["fit"][role]
        yield f"| {role} | {job} | {fetch} | {least} to {most} |"


def _own(found: Mapping[str, Any]) -> Iterator[str]:
    chunks = [f"pieces, {number} chunks" for number in next(iter(found["spaces"].values()))["pieces"]]
    yield from _head("ns of a configuration", "threads", *ROLES, "start s", "layer ms", *chunks, "stored", "kept")
    for name, space in found["spaces"].items():
        each = " | ".join(_each_and_known(space, role) for role in ROLES)
        layer = _with_error(space, "coordinator", "layer", 1e3)
        moved = " | ".join(f"{number:.2f}" for number in (*space["pieces"].values(), space["stored"], space["kept"]))
        yield f"| {name} | {space['threads'] * 1e9:.1f} | {each} | {space['start']:.2f} | {layer} | {moved} |"


def _head(*names: str) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"


def _each_and_known(space: Mapping[str, Any], role: str) -> str:
    each, known = (_with_error(space, role, name, 1e9) for name in ("each", "known"))
    return f"{each}; {known} an older one" if space["errors"][role]["known"] else each


def _with_error(space: Mapping[str, Any], role: str, name: str, unit: float) -> str:
    return f"{space['factors'][role][name] * unit:.2f} ± {space['errors'][role][name] * unit:.2f}"


def _interval(limit: tuple[float, float, float]) -> str:
    times, least, most = limit
    if least == most:
        return f"{times:.1f}"
    return f"{times:.1f} ({least:.1f} to {most:.1f})" if most < float("inf") else f"{least:.1f} and more"


def draw(found: Mapping[str, Any], target: Path) -> None:
    """The speed-ups of the larger runs by workers."""
    from hakoiri.render.plots import drawn_into

    colours = dict(zip(GIGABITS, ("#d55e00", "#e69f00", "#0072b2"), strict=True))
    with drawn_into(target, (12, 3.4)) as figure:
        panels = figure.subplots(1, len(found["spaces"]), sharex=True, squeeze=False)[0]
        for panel, (name, space) in zip(panels, found["spaces"].items(), strict=True):
            for depots, style in ((EACH, "-"), (ONE, "--")):
                for rate, colour in colours.items():
                    times = space["larger"][f"{depots}, {rate} Gbit/s"]
                    label = f"{rate} Gbit/s, {'a data Redis on each host' if depots == EACH else 'one data Redis'}"
                    panel.plot(WORKERS, times, style, color=colour, marker=".", markersize=4, label=label)
            panel.set_xscale("log", base=2)
            panel.set_xticks(WORKERS, [str(number) for number in WORKERS], fontsize=7)
            panel.set_ylim(bottom=0)
            panel.set_title(name, fontsize=9)
            panel.set_xlabel(f"workers, {CORES} on a host", fontsize=8)
        panels[0].set_ylabel("times as fast as one core of threads", fontsize=8)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
