"""Goal distances as queued runs, through Redis: coordinators and workers die, and what is found is the same."""

import signal
from functools import partial
from pathlib import Path

import pytest

from hakoiri.storage.ledger.ledger import Ledger
from tests.support.commands import Hakoiri, wait_until
from tests.support.process_setup import stand_still_beyond
from tests.support.servers import RedisServer
from tests.system.conftest import StartWorkers
from tests.system.test_service import start_coordinator, status_of

pytestmark = pytest.mark.slow

#: An undirected puzzle, its whole space, with mirror images merged.
BASES = {
    "undirected": ("klotski",),
    "whole": ("klotski", "--whole"),
    "merged": ("klotski", "-o", "metric=straight", "--merge-mirrors"),
}
DIRECTED = ("superpuzz", "-o", "columns=4", "--from", "C4 H3 S4 HA/S3 H4 S2 H2/D3 CA D2 C3/DA C2 D4 SA")
SAME = ("distance", "count", "configurations", "layers", "dead")


def depth_of(hakoiri: Hakoiri, run: str) -> int:
    with Ledger(hakoiri.data / run) as ledger:
        return ledger.state.depth


def digest_of(directory: Path) -> str:
    with Ledger(directory) as ledger:
        return ledger.state.digest


class Twins:
    """A run whose goal distances are queued, and the same by threads alone, in a data directory of its own."""

    def __init__(self, hakoiri: Hakoiri, url: str, chunk: str, base: tuple[str, ...], elsewhere: Path) -> None:
        self._hakoiri, self._alone = hakoiri, elsewhere
        self._run = hakoiri.ask("run", *base)["run"]
        hakoiri.ask("run", *base, data=elsewhere)
        self._expected = hakoiri.ask("hardest", "last", data=elsewhere)
        resources = ("--queue", "--chunk", chunk, "--farm", "1", "--redis", url)
        self.distances = str(hakoiri.ask("hardest", self._run, *resources)["run"])

    def assert_alike(self) -> None:
        """The queued one has found the same, and is sound."""
        found = self._hakoiri.ask("hardest", self._run)
        assert [found[name] for name in SAME] == [self._expected[name] for name in SAME]
        alone = self._alone / self._expected["distances"]
        assert digest_of(self._hakoiri.data / self.distances) == digest_of(alone)
        assert self._hakoiri.ask("verify", self.distances)["ok"]


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_goal_distances_are_the_same_whoever_dies(
    base: tuple[str, ...], hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, tmp_path: Path
) -> None:
    twins = Twins(hakoiri, redis_server.url, "150", base, tmp_path / "alone")
    distances = twins.distances
    with workers(redis_server.url, 2) as team:
        first = start_coordinator(hakoiri, redis_server.url, before=partial(stand_still_beyond, "depth", 0))
        first.stands_still()
        before = depth_of(hakoiri, distances)
        first.kill()
        assert hakoiri.ask("status", distances)["status"] == "interrupted"
        more = partial(stand_still_beyond, "depth", before)
        second = start_coordinator(hakoiri, redis_server.url, "--burst", before=more)
        second.stands_still()
        assert status_of(hakoiri, distances) == "running", "all layers were there before a worker could be killed"
        team.kill_one()
        second.send(signal.SIGCONT)
        assert second.finish().code == 0
    twins.assert_alike()


def test_goal_distances_of_a_directed_run_are_the_same_whoever_dies(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, tmp_path: Path
) -> None:
    """All its moves are looked at, in some hundred chunks, before there is a layer beyond the goals."""
    twins = Twins(hakoiri, redis_server.url, "60", DIRECTED, tmp_path / "alone")
    with workers(redis_server.url, 2) as team:
        first = start_coordinator(hakoiri, redis_server.url, before=partial(stand_still_beyond, "depth", -1))
        first.stands_still()
        first.kill()
        assert hakoiri.ask("status", twins.distances)["status"] == "interrupted"
        second = start_coordinator(hakoiri, redis_server.url, "--burst")
        wait_until(redis_server.waiting_jobs, what="moves that are still to be looked at")
        team.kill_one()
        assert second.finish().code == 0
    twins.assert_alike()
