"""Goal distances as queued runs, through Redis: coordinators and workers die, and what is found is the same."""

from pathlib import Path

import pytest

from storage.ledger.ledger import Ledger
from tests.system.conftest import StartWorkers
from tests.system.helpers import Hakoiri, wait_until
from tests.system.servers import RedisServer
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


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_goal_distances_are_the_same_whoever_dies(
    base: tuple[str, ...], hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, tmp_path: Path
) -> None:
    run = hakoiri.ask("run", *base)["run"]
    hakoiri.ask("run", *base, data=tmp_path / "alone")
    alone = hakoiri.ask("hardest", "last", data=tmp_path / "alone")
    queued = hakoiri.ask("hardest", run, "--queue", "--chunk", "150", "--farm-from", "1", "--redis", redis_server.url)
    distances = str(queued["run"])
    with workers(redis_server.url, 2) as team:
        first = start_coordinator(hakoiri, redis_server.url)
        wait_until(lambda: depth_of(hakoiri, distances) >= 1, what="a layer")
        before = depth_of(hakoiri, distances)
        first.kill()
        assert hakoiri.ask("status", distances)["status"] == "interrupted"
        second = start_coordinator(hakoiri, redis_server.url, "--burst")
        wait_until(lambda: depth_of(hakoiri, distances) > before, what="another layer")
        assert status_of(hakoiri, distances) == "running", "all layers were there before a worker could be killed"
        team.kill_one()
        assert second.finish().code == 0
    found = hakoiri.ask("hardest", run)
    assert [found[name] for name in SAME] == [alone[name] for name in SAME]
    assert digest_of(hakoiri.data / distances) == digest_of(tmp_path / "alone" / alone["distances"])
    assert hakoiri.ask("verify", distances)["ok"]


def test_goal_distances_of_a_directed_run_are_the_same_whoever_dies(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, tmp_path: Path
) -> None:
    """All its moves are looked at, in a thousand chunks, before there is a layer beyond the goals."""
    run = hakoiri.ask("run", *DIRECTED)["run"]
    hakoiri.ask("run", *DIRECTED, data=tmp_path / "alone")
    alone = hakoiri.ask("hardest", "last", data=tmp_path / "alone")
    queued = hakoiri.ask("hardest", run, "--queue", "--chunk", "18", "--farm-from", "1", "--redis", redis_server.url)
    distances = str(queued["run"])
    with workers(redis_server.url, 2) as team:
        first = start_coordinator(hakoiri, redis_server.url)
        wait_until(lambda: depth_of(hakoiri, distances) == 0, what="the goals")
        first.kill()
        assert hakoiri.ask("status", distances)["status"] == "interrupted"
        second = start_coordinator(hakoiri, redis_server.url, "--burst")
        wait_until(lambda: status_of(hakoiri, distances) == "running", what="the run to go on")
        team.kill_one()
        assert second.finish().code == 0
    found = hakoiri.ask("hardest", run)
    assert [found[name] for name in SAME] == [alone[name] for name in SAME]
    assert digest_of(hakoiri.data / distances) == digest_of(tmp_path / "alone" / alone["distances"])
    assert hakoiri.ask("verify", distances)["ok"]
