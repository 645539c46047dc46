"""Counts of the work by host and worker, kept with every commit for `status`; empty while threads here do all.

    {"layers": {"workers": [9, 3521340], "small": [12, 107460]},
     "hosts": {"host-a": {"workers": 2, "chunks": {"expand": 18}}},
     "expanders": {"": [2, 40000, 0.8, 0, 0], "host-a-12": [18, 360000, 7.1, 380112, 1120554]}, "repeated": 1,
     "audit": {"chunks": 3, "untrusted": ["host-b-17"], "answered": ["host-a-12"]}}

`layers` counts layers and their configurations by maker (`Maker`). `expanders` counts what threads of this process
(""), each worker and each host have expanded (`Expanded`), `layer` the same for the layer under way. `repeated` is the
number of chunks that were sent again. `hosts` counts chunks by task; this process, if it computes chunks because no
worker lives, is the host "". `workers` is the greatest number of workers in any session. Hosts that keep ranges are in
`kept`. Each has its `ranges` and `threads`, and as sums over all layers its `configurations`, the bytes `stored`,
`spilled`, `sent` and `received`, and the seconds it `waited` for other hosts. `slowest` and `mean` are the seconds that
the slowest host and the average host took to expand, summed over the layers. `worst` is the layer in which these differ
most: {"depth": 37, "host": "host-b", "seconds": 1.9, "mean": 1.3}. `audit`, if there was one, has the number of chunks
computed again, the faulty workers, and the others that answered.

Older runs have "cheaper" for layers made here, and hosts with a data Redis.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

#: Hosts that keep ranges, RQ workers with threads, this process at once because the layer is small, or its threads.
Maker = Literal["hosts", "workers", "small", "threads"]


class Expanded(NamedTuple):
    """The chunks of an expander, their configurations, the seconds it took, and the bytes sent to it and received."""

    chunks: int = 0
    configurations: int = 0
    seconds: float = 0.0
    sent: int = 0
    received: int = 0


def expander_rows(work: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what each expander has done, of a run or of a layer; the name ``None`` is threads of the run's process."""
    rows = []
    for name, (chunks, configurations, seconds, sent, received) in sorted(work.items()):
        row = {"name": str(name) or None, "chunks": int(chunks), "configurations": int(configurations)}
        rows.append(row | {"seconds": float(seconds), "sent": int(sent), "received": int(received)})
    return rows


class WorkLog:
    """The counts of a run, those of earlier sessions included."""

    def __init__(self) -> None:
        self._workers: dict[str, set[str]] = {}
        self._layers: dict[str, list[int]] = {}
        self._hosts: dict[str, dict[str, Any]] = {}
        self._kept: dict[str, dict[str, float]] = {}
        #: The expansion seconds of the slowest host and of the average host, summed over the layers.
        self.slowest, self.mean = 0.0, 0.0
        self._worst: dict[str, Any] = {}
        #: By expander: all of the run, and the layer under way.
        self._expanders: dict[str, Expanded] = {}
        self._layer: dict[str, Expanded] = {}
        #: The number of chunks sent again.
        self.repeated = 0
        #: The number of chunks computed again, the faulty workers, and those whose answers were used.
        self.audited = 0
        self.untrusted: list[str] = []
        self.answered = set[str]()

    def go_on(self, earlier: Mapping[str, Any]) -> None:
        """Add the counts that `as_dict` returned in an earlier session."""
        self._layers |= {maker: list(counts) for maker, counts in earlier.get("layers", {}).items()}
        self._hosts |= {
            name: {"workers": host["workers"], "chunks": dict(host["chunks"])}
            for name, host in earlier.get("hosts", {}).items()
        }
        self._kept |= {name: dict(figures) for name, figures in earlier.get("kept", {}).items()}
        self.slowest += earlier.get("slowest", 0.0)
        self.mean += earlier.get("mean", 0.0)
        self._worst = earlier.get("worst", self._worst)
        for name, found in (("expanders", self._expanders), ("layer", self._layer)):
            found |= {expander: Expanded(*figures) for expander, figures in earlier.get(name, {}).items()}
        self.repeated += earlier.get("repeated", 0)
        audit = earlier.get("audit", {})
        self.audited += audit.get("chunks", 0)
        self.untrusted += audit.get("untrusted", [])
        # Older versions kept the first layer of each.
        self.answered |= {*audit.get("answered", audit.get("first_layers", ()))}

    def add_layer(self, maker: Maker, size: int) -> None:
        """Count a layer of `size` configurations."""
        layers, configurations = self._layers.get(maker, (0, 0))
        self._layers[maker] = [layers + 1, configurations + size]

    def add_expansion(self, depth: int, seconds: Mapping[str, float]) -> None:
        """Record the seconds that each host took to expand for layer `depth`."""
        most, host = max((each, host) for host, each in seconds.items())
        mean = sum(seconds.values()) / len(seconds)
        self.slowest += most
        self.mean += mean
        layer = {"depth": depth, "host": host, "seconds": most, "mean": mean}
        self._worst = max(self._worst or layer, layer, key=lambda each: each["seconds"] - each["mean"])

    def add_kept(self, host: str, **figures: float) -> None:
        """Add the figures of a host's part of a layer; `ranges` and `threads` replace the earlier values."""
        found = self._kept.setdefault(host, {})
        for name, value in figures.items():
            found[name] = value if name in ("ranges", "threads") else found.get(name, 0) + value

    def add_expanded(self, expander: str, size: int, seconds: float, sent: int = 0, received: int = 0) -> None:
        """Count a chunk of `size` configurations; `sent` and `received` are bytes; ``""`` is this process."""
        for found in (self._expanders, self._layer):
            done = found.get(expander, Expanded())
            found[expander] = Expanded(
                done.chunks + 1, done.configurations + size, done.seconds + seconds, done.sent + sent,
                done.received + received,
            )  # fmt: skip

    def take_layer(self) -> dict[str, list[float]]:
        """Return what each expander has done since the last call, for the record of a layer."""
        found = {expander: list(figures) for expander, figures in self._layer.items()}
        self._layer.clear()
        return found

    def add_chunk(self, task: str, host: str = "", worker: str = "") -> None:
        """Count a chunk as done, by a worker of a host or by this process."""
        found = self._hosts.setdefault(host, {"workers": 0, "chunks": {}})
        found["chunks"][task] = found["chunks"].get(task, 0) + 1
        known = self._workers.setdefault(host, set())
        known |= {worker} - {""}
        found["workers"] = max(found["workers"], len(known))

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as plain values; empty if nothing was counted."""
        if not (self._layers or self._hosts or self._expanders):
            return {}
        found: dict[str, Any] = {"layers": self._layers, "hosts": self._hosts}
        if self._expanders:
            found |= {"expanders": dict(self._expanders), "layer": dict(self._layer), "repeated": self.repeated}
        if self._kept:
            found |= {"kept": self._kept, "slowest": self.slowest, "mean": self.mean, "worst": self._worst}
        audit = {"chunks": self.audited, "untrusted": self.untrusted, "answered": sorted(self.answered)}
        return found | ({"audit": audit} if any(audit.values()) else {})
