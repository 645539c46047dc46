"""Where the work of a run is done: kept with every commit, for `status`; empty while all is done by threads here.

    {"layers": {"workers": [9, 3521340], "small": [12, 107460]}, "why_here": "",
     "hosts": {"host-a": {"workers": 2, "data_redis": ["redis://10.0.0.2:38121/0"], "chunks": {"gather": 18}}},
     "audit": {"chunks": 3, "untrusted": ["host-b-17"], "first_layers": {"host-a-12": 40}}}

`layers` counts layers and their configurations, by who made them (`Maker`); `why_here` says what was weighed when last
one stayed here. `hosts` counts chunks by task; this process, where it does them for want of workers, is the host "".
`workers` are those that did any, in the session that had most of them. `audit`, where there was one, says how many
chunks were made again, which workers were wrong, and the first layer that each of the others had to do with.
"""

from collections.abc import Mapping
from typing import Any, Literal

#: Hosts that keep ranges; workers; this process, for the layer is small, handing it out costs more, or by threads.
Maker = Literal["hosts", "workers", "small", "cheaper", "threads"]


class Places:
    """What is known of it, `earlier` sessions included."""

    def __init__(self) -> None:
        self._workers: dict[str, set[str]] = {}
        self._layers: dict[str, list[int]] = {}
        self._hosts: dict[str, dict[str, Any]] = {}
        self.why_here = ""
        #: Chunks made again, the workers that were wrong, and since which layer the answers of the others count.
        self.audited = 0
        self.untrusted: list[str] = []
        self.first_layers: dict[str, int] = {}

    def go_on(self, earlier: Mapping[str, Any]) -> None:
        """Count on from what `as_dict` gave in an earlier session."""
        self._layers |= {maker: list(counts) for maker, counts in earlier.get("layers", {}).items()}
        self._hosts |= {
            name: host | {"data_redis": list(host["data_redis"]), "chunks": dict(host["chunks"])}
            for name, host in earlier.get("hosts", {}).items()
        }
        self.why_here = earlier.get("why_here", self.why_here)
        audit = earlier.get("audit", {})
        self.audited += audit.get("chunks", 0)
        self.untrusted += audit.get("untrusted", [])
        self.first_layers |= audit.get("first_layers", {})

    def add_layer(self, maker: Maker, size: int) -> None:
        """A layer of some configurations is made."""
        layers, configurations = self._layers.get(maker, (0, 0))
        self._layers[maker] = [layers + 1, configurations + size]

    def add_chunk(self, task: str, host: str = "", worker: str = "", data_redis: str = "") -> None:
        """A chunk is done: by a worker of a host, which leaves pieces in a data Redis if it has one, or here."""
        found = self._hosts.setdefault(host, {"workers": 0, "data_redis": [], "chunks": {}})
        found["chunks"][task] = found["chunks"].get(task, 0) + 1
        if data_redis and data_redis not in found["data_redis"]:
            found["data_redis"].append(data_redis)
        known = self._workers.setdefault(host, set())
        known |= {worker} - {""}
        found["workers"] = max(found["workers"], len(known))

    def as_dict(self) -> dict[str, Any]:
        """Plain values; nothing where nothing was counted."""
        if not (self._layers or self._hosts):
            return {}
        found: dict[str, Any] = {"layers": self._layers, "hosts": self._hosts, "why_here": self.why_here}
        audit = {"chunks": self.audited, "untrusted": self.untrusted, "first_layers": self.first_layers}
        return found | ({"audit": audit} if any(audit.values()) else {})
