"""Counts of the work by host and worker, kept with every commit for `status`; empty while threads here do all.

    {"layers": {"workers": [9, 3521340], "small": [12, 107460]},
     "hosts": {"host-a": {"workers": 2, "chunks": {"expand": 18}}},
     "expanders": {"": [2, 40000, 0.8, 0, 0], "host-a-12": [18, 360000, 7.1, 380112, 1120554]}, "repeated": 1,
     "audit": {"chunks": 3, "untrusted": ["host-b-17"], "answered": ["host-a-12"]}}

`layers` counts layers and their configurations by maker (`Maker`). `expanders` counts what threads of this process
(""), each worker and each host have expanded: chunks, configurations, seconds, bytes sent to it and received; `layer`
the same for the layer under way. `repeated` is the number of chunks that were sent again. `hosts` counts chunks by
task; this process, if it computes chunks because no worker lives, is the host "". `workers` is the greatest number of
workers in any session. Hosts that keep ranges are in `kept`. Each has its `ranges` and `threads`, and as sums over all
layers its `configurations`, the bytes `stored`, `spilled`, `sent` and `received`, and the seconds it `waited` for other
hosts. `slowest` and `mean` are the seconds that the slowest host and the average host took to expand, summed over the
layers. `worst` is the layer in which these differ most: {"depth": 37, "host": "host-b", "seconds": 1.9, "mean": 1.3}.
`audit` has the number of chunks computed again, the faulty workers, and the others that answered.
`here` says why this session sends nothing to the workers that live, with the option that changes it, if any.

Older runs have "cheaper" for layers made here, and hosts with a data Redis.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Literal, cast

from hakoiri.storage.ledger.manifest import Expanded, WorkCounts

#: Hosts that keep ranges, RQ workers with threads, child processes of this one with it, this process at once because
#: the layer is small, or its threads.
Maker = Literal["hosts", "workers", "processes", "small", "threads"]


def expander_rows(work: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what each expander has done, of a run or of a layer; the name ``None`` is threads of the run's process."""
    rows = []
    for name, (chunks, configurations, seconds, sent, received) in sorted(work.items()):
        row = {"name": str(name) or None, "chunks": int(chunks), "configurations": int(configurations)}
        rows.append(row | {"seconds": float(seconds), "sent": int(sent), "received": int(received)})
    return rows


class WorkLog:
    """The counts of a run, those of earlier sessions included. Attributes have the names of the fields."""

    def __init__(self, own: bool = False) -> None:
        #: Whether only child processes of this one take chunks: the log is empty until they have.
        self._own = own
        self._seen: dict[str, set[str]] = {}
        self.layers: dict[str, list[int]] = {}
        self.hosts: dict[str, dict[str, Any]] = {}
        self.expanders: dict[str, list[float]] = {}
        self.layer: dict[str, list[float]] = {}
        self.repeated, self.here = 0, ""
        self.kept: dict[str, dict[str, float]] = {}
        self.slowest, self.mean, self.worst = 0.0, 0.0, dict[str, Any]()
        #: The number of chunks computed again, the faulty workers, and those whose answers were used.
        self.audited, self.untrusted, self.answered = 0, list[str](), set[str]()

    def go_on(self, earlier: Mapping[str, Any]) -> None:
        """Continue from the counts that `as_dict` returned in an earlier session, if there are any."""
        found = deepcopy({name: value for name, value in earlier.items() if name in vars(self) and name != "here"})
        vars(self).update(found)
        if audit := earlier.get("audit"):
            self.audited, self.untrusted = audit["chunks"], [*audit["untrusted"]]
            # Older versions kept the first layer of each.
            self.answered = {*audit.get("answered", audit.get("first_layers", ()))}

    def add_layer(self, maker: Maker, size: int) -> None:
        """Count a layer of `size` configurations."""
        layers, configurations = self.layers.get(maker, (0, 0))
        self.layers[maker] = [layers + 1, configurations + size]

    def add_expansion(self, depth: int, seconds: Mapping[str, float]) -> None:
        """Record the seconds that each host took to expand for layer `depth`."""
        most, host = max((each, host) for host, each in seconds.items())
        mean = sum(seconds.values()) / len(seconds)
        self.slowest += most
        self.mean += mean
        layer = {"depth": depth, "host": host, "seconds": most, "mean": mean}
        self.worst = max(self.worst or layer, layer, key=lambda each: each["seconds"] - each["mean"])

    def add_kept(self, host: str, **figures: float) -> None:
        """Add the figures of a host's part of a layer; `ranges` and `threads` replace the earlier values."""
        found = self.kept.setdefault(host, {})
        for name, value in figures.items():
            found[name] = value if name in ("ranges", "threads") else found.get(name, 0) + value

    def add_expanded(self, expander: str, size: int, seconds: float, sent: int = 0, received: int = 0) -> None:
        """Count a chunk of `size` configurations; `sent` and `received` are bytes; ``""`` is this process."""
        for found in (self.expanders, self.layer):
            done = zip(found.get(expander, (0, 0, 0.0, 0, 0)), (1, size, seconds, sent, received), strict=True)
            found[expander] = list(map(sum, done))

    def take_layer(self) -> Mapping[str, Expanded]:
        """Return what each expander has done since the last call, for the record of a layer."""
        found, self.layer = self.layer, {}
        return cast(Mapping[str, Expanded], found)

    def add_chunk(self, task: str, host: str = "", worker: str = "") -> None:
        """Count a chunk as done, by a worker of a host or by this process."""
        found = self.hosts.setdefault(host, {"workers": 0, "chunks": {}})
        found["chunks"][task] = found["chunks"].get(task, 0) + 1
        known = self._seen.setdefault(host, set())
        known |= {worker} - {""}
        found["workers"] = max(found["workers"], len(known))

    def as_dict(self) -> WorkCounts:
        """Return the counts as plain values; empty if nothing was counted."""
        if not (self.hosts or self.expanders or (self.layers and not self._own)):
            return {}
        found: dict[str, Any] = {"layers": self.layers, "hosts": self.hosts} | (
            {"here": self.here} if self.here else {}
        )
        if self.expanders:
            found |= {"expanders": dict(self.expanders), "layer": dict(self.layer), "repeated": self.repeated}
        if self.kept:
            found |= {"kept": self.kept, "slowest": self.slowest, "mean": self.mean, "worst": self.worst}
        audit = {"chunks": self.audited, "untrusted": self.untrusted, "answered": sorted(self.answered)}
        return cast(WorkCounts, found | ({"audit": audit} if any(audit.values()) else {}))
