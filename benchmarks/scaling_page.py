"""Write the results of `benchmarks/scaling.py` as the tables and the picture of docs/reports/scaling.md."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HOSTS = (1, 2, 4, 8, 16, 32, 64)
GIGABITS = (1, 10, 100)
#: The cores of a host.
CORES = 8
#: The factor between the layers of a measured run and of a larger run of the same space.
LARGER = 10
_TIMES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def as_text(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the tables of docs/reports/scaling.md."""
    spaces = found["spaces"]
    if spaces:
        yield from _fixed(spaces)
        yield ""
        yield from _growing(spaces)
        yield ""
        yield from _moved(spaces)
    for name, space in spaces.items():
        yield ""
        yield from _speed_ups(name, space)
    if found["test"]:
        yield ""
        yield from _head("run", "hosts", "Mbit/s", "without a limit s", "took s", "predicted s", "ratio", "MB sent")
        for row in found["test"]:
            yield f"| {' | '.join(str(value) for value in row.values())} |"


def _fixed(spaces: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of the fixed costs of a run, of a layer, and of a host in a layer."""
    hosts = ("a host: expand", "and another host", "waiting", "merge", "and another host", "waiting")
    yield from _head("", "start s", "dealing ms", "coordinator ms", "and a host", "control Redis", "data Redis", *hosts)
    for name, space in spaces.items():
        costs, roles = space["costs"], space["costs"]["roles"]
        ms = [costs["dealing"], roles["coordinator"]["layer"], roles["coordinator"]["host"]]
        ms += [roles[role]["host"] for role in ("control", "data")]
        for phase in _phases(costs):
            ms += [phase["threads"]["fixed"] + phase["main"]["fixed"], phase["threads"]["host"], phase["waits"]]
        yield f"| {name} | {costs['start']:.2f} | {' | '.join(f'{1e3 * each:.1f}' for each in ms)} |"


def _growing(spaces: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of the costs of a configuration and of a byte sent, in ns."""
    hosts = ("expand", "alone", "a byte sent", "merge", "alone", "an older one")
    yield from _head("ns", "one core of threads", *hosts)
    for name, space in spaces.items():
        expand, merge = _phases(space["costs"])
        seconds = (
            space["costs"]["threads"], expand["threads"]["each"], expand["main"]["each"], expand["threads"]["byte"],
            merge["threads"]["each"], merge["main"]["each"], merge["threads"]["older"],
        )  # fmt: skip
        yield f"| {name} | {' | '.join(f'{1e9 * each:.2f}' for each in seconds)} |"


def _moved(spaces: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of bytes per configuration, and of how uneven the hosts are."""
    seen = [hosts for hosts in next(iter(spaces.values()))["costs"]["sent"]["seen"] if hosts > 1]
    kinds = {"sent": "bytes sent", "uneven": "slowest over mean", "uneven_sent": "bytes of the one that sends most"}
    yield from _head("", *(f"{title}, {hosts} hosts" for title in kinds.values() for hosts in seen), "stored")
    for name, space in spaces.items():
        numbers = [f"{space['costs'][kind]['seen'][hosts]:.2f}" for kind in kinds for hosts in seen]
        yield f"| {name} | {' | '.join(numbers)} | {space['stored']:.2f} |"


def _speed_ups(name: str, space: Mapping[str, Any]) -> Iterator[str]:
    yield from _head(name, *map(str, HOSTS))
    for kind, title in (("this", "as measured"), ("larger", f"{LARGER} times as large"), ("limit", "at most")):
        for rate, rows in space["predicted"].items():
            yield f"| {title}, {rate} | {' | '.join(map(_times, rows[kind]))} |"
    for rate, rows in space["predicted"].items():
        yield f"| configurations for half of that, {rate} | {' | '.join(map(_power, rows['half']))} |"


def _phases(costs: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    return costs["expand"], costs["merge"]


def _head(*names: str) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"


def _times(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


def _power(number: float) -> str:
    return f"{number:.0e}".replace("e+0", "e").replace("e+", "e")


def draw(found: Mapping[str, Any], target: Path) -> None:
    """Draw the speed-ups by the number of hosts: of the larger runs as solid lines, the limits as dashed ones."""
    from hakoiri.render.plots import drawn_into

    colours = dict(zip(GIGABITS, ("#d55e00", "#e69f00", "#0072b2"), strict=True))
    with drawn_into(target, (12, 3.4)) as figure:
        panels = figure.subplots(1, len(found["spaces"]), sharex=True, sharey=True, squeeze=False)[0]
        for panel, (name, space) in zip(panels, found["spaces"].items(), strict=True):
            for kind, style, title in (("larger", "-", f"{LARGER} times as large"), ("limit", "--", "at most")):
                for rate, colour in colours.items():
                    times = space["predicted"][f"{rate} Gbit/s"][kind]
                    label = f"{rate} Gbit/s, {title}"
                    panel.plot(HOSTS, times, style, color=colour, marker=".", markersize=4, label=label)
            panel.set_xscale("log", base=2)
            panel.set_yscale("log", base=2)
            panel.set_xticks(HOSTS, [str(number) for number in HOSTS], fontsize=7)
            panel.set_yticks(_TIMES, [str(number) for number in _TIMES], fontsize=7)
            panel.set_title(name, fontsize=9)
            panel.set_xlabel(f"hosts of {CORES} cores", fontsize=8)
        panels[0].set_ylabel("times as fast as one core of threads", fontsize=8)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
