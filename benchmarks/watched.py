"""`hakoiri`, and after each layer of a run a look at what everybody who takes part has spent up to then.

    python -m benchmarks.watched FILE TEAM run tiles --redis ...

TEAM is the JSON of `Watched`. FILE gets a JSON list of `Moment`.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import redis

from hakoiri.__main__ import main as hakoiri
from hakoiri.coordinator.session.session import Session
from hakoiri.storage.ledger.manifest import Progress


class Watched(NamedTuple):
    """Who takes part: process numbers by role, and the URLs of the control Redis and of the data Redis."""

    processes: dict[str, list[int]]
    control: list[str]
    data: list[str]

    def cpu(self) -> dict[str, float]:
        """The processor time of each role up to now, of processes and threads that live."""
        return {role: sum(map(_seconds, each)) for role, each in self.processes.items()}


#: A run by threads.
ALONE = Watched({}, [], [])


class Moment(NamedTuple):
    """What was spent up to the end of layer `depth`: seconds by the clock, and of processors by role, without looking.

    What came into data Redis in bytes; how many jobs there were, and stretches that were fetched.
    """

    depth: int
    clock: float
    cpu: dict[str, float]
    received: int
    jobs: int
    fetches: int


#: So many looks before the run show what a look costs the servers.
_LOOKS = 10


class _Watch:
    def __init__(self, team: Watched) -> None:
        self._team = team
        self._control, self._data = (list(map(redis.Redis.from_url, urls)) for urls in (team.control, team.data))
        self._looking, self._count = 0.0, 0
        self._cost = dict.fromkeys(team.processes, 0.0)
        self.look(-1)
        before = [self.look(-1) for _ in range(_LOOKS)]
        for role in ("control", "data") if team.control else ():
            self._cost[role] = (before[-1].cpu[role] - before[0].cpu[role]) / (_LOOKS - 1)
        self.moments: list[Moment] = []

    def look(self, depth: int) -> Moment:
        began = time.process_time()
        cpu = {role: spent - self._count * self._cost[role] for role, spent in self._team.cpu().items()}
        control, data = ([server.info("all") for server in servers] for servers in (self._control, self._data))
        received = sum(info["total_net_input_bytes"] for info in data)
        cpu["coordinator"] = began - self._looking
        moment = Moment(depth, time.monotonic(), cpu, received, calls(control, "rpush"), calls(data, "getrange"))
        self._count += 1
        self._looking += time.process_time() - began
        return moment


def _seconds(process: int) -> float:
    """The processor time of all threads of a process, and of its children."""
    total = 0.0
    for task in Path(f"/proc/{process}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0]) / 1e9
        total += sum(_seconds(int(child)) for child in (task / "children").read_text().split())
    return total


def calls(infos: Sequence[dict[str, Any]], command: str) -> int:
    """How often a command came to some servers, by what INFO says of each."""
    return sum(int(info.get(f"cmdstat_{command}", {"calls": 0})["calls"]) for info in infos)


def main() -> None:
    """Run `hakoiri`, watched."""
    target, team, *arguments = sys.argv[1:]
    watch, tell = _Watch(Watched(*json.loads(team))), Session.tell

    def told(session: Session, progress: Progress) -> None:
        tell(session, progress)
        if " new" in progress.headline:
            watch.moments.append(watch.look(int(progress.headline.split()[1].rstrip(":"))))

    Session.tell = told  # type: ignore[method-assign]
    sys.argv = ["hakoiri", *arguments]
    try:
        hakoiri()
    finally:
        Path(target).write_text(json.dumps(watch.moments))


if __name__ == "__main__":
    main()
