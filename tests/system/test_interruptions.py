"""Kill everything that can be killed, at seeded moments, with real signals: nothing is lost, nothing computed twice."""

import os
import random
import signal
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hakoiri.errors import StorageError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import LayerRecord, State
from tests.support.commands import FinishedRuns, Hakoiri, Running, wait_until
from tests.support.process_setup import stand_still_beyond
from tests.support.servers import RedisServer
from tests.system.conftest import StartWorkers

#: Chunks so small that most layers have several.
SLOW_THREADS = ("--chunk", "50")
SLOW_REDIS = ("--chunk", "200")
LAYERS = 168
EXPLORE, WHOLE = ("run", "klotski"), ("run", "klotski", "--whole")
#: A census in chunks for workers.
FARMED = ("--farm", "0", "--chunk", "1000")


@pytest.fixture(scope="module")
def undisturbed(finished: FinishedRuns) -> dict[str, Any]:
    """Results of undisturbed runs: the digests of all layers, and of an exploration and a census as a whole."""
    explored, whole = finished.explored["digest"], finished.counted["digest"]
    return {"explore": explored, "layers": finished.digests(), "whole": whole}


def layers_of(hakoiri: Hakoiri) -> list[LayerRecord]:
    """The layers of the only run's last commit."""
    try:
        with Ledger(hakoiri.run_directory()) as ledger:
            return ledger.layer_records()
    except (ValueError, FileNotFoundError, StorageError):
        return []


def reaches(hakoiri: Hakoiri, reached: Callable[[State], bool], running: Running) -> Callable[[], bool]:
    """Return whether the run has come so far, or its driver has ended."""
    return lambda: reached(hakoiri.state()) or running.process.poll() is not None


def stand_still_at(*depths: int) -> Callable[[], None]:
    """Have a driver stop, as by SIGSTOP, when these layers are committed: otherwise it may be at its end."""
    return partial(stand_still_beyond, "depth", *(depth - 1 for depth in depths))


def stand_still_in_census(times: int) -> Callable[[], None]:
    """To stop when all is listed, before workers have a chunk; then at each of the commits that follow."""
    return partial(stand_still_beyond, "configurations", *[0] * times)


def moments(seed: int, count: int, most: int = LAYERS - 68) -> list[int]:
    """Seeded depths, increasing."""
    return sorted(random.Random(seed).sample(range(1, most), count))


def assert_undisturbed(hakoiri: Hakoiri, undisturbed: dict[str, Any]) -> None:
    """The only run is complete, and each of its layers is what it would have been."""
    summary = hakoiri.ask("resume", "last")
    assert (summary["status"], summary["configurations"], summary["goal_depth"]) == ("complete", 25_955, 116)
    rows = hakoiri.ask("layers", "last")["layers"]
    assert [row["digest"] for row in rows] == undisturbed["layers"]
    assert summary["digest"] == undisturbed["explore"]


def assert_kept(before: list[LayerRecord], after: list[LayerRecord]) -> None:
    """Check that all committed layers are unchanged, by the session that first computed them: none lost or twice."""
    assert after[: len(before)] == before
    assert all(one.session <= other.session for one, other in pairwise(after))


@pytest.mark.ci_slow
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.ci_slow)])
@pytest.mark.parametrize("seed", [1])
def test_foreground_run_killed_again_and_again(
    hakoiri: Hakoiri, undisturbed: dict[str, Any], seed: int, number: signal.Signals
) -> None:
    command = [*EXPLORE, *SLOW_THREADS]
    before: list[LayerRecord] = []
    for depth in moments(seed, 2, most=60):
        running = hakoiri.start(*command, before=stand_still_at(max(depth, len(before))))
        running.stands_still()
        # Else it may be at its end before the signal comes.
        running.send(number)
        running.send(signal.SIGCONT)
        code = running.finish().code
        kept = layers_of(hakoiri)
        assert_kept(before, kept)
        before = kept
        assert code == (-number if number == signal.SIGKILL else 128 + number), running.finish()
        row = hakoiri.ask("status", "last")
        assert (row["status"], row["depth"]) == ("interrupted", len(kept) - 1)
        command = ["resume", "last", *SLOW_THREADS]
    hakoiri.here("resume", "last")
    assert_kept(before, layers_of(hakoiri))
    assert_undisturbed(hakoiri, undisturbed)


@pytest.mark.ci_slow
@pytest.mark.parametrize("seed", [4, pytest.param(5, marks=pytest.mark.slow)])
def test_census_killed_again_and_again(hakoiri: Hakoiri, undisturbed: dict[str, Any], seed: int) -> None:
    """When all is listed, when the components are found, and when some of them are measured."""
    stages = (("configurations", 0), ("components", 0), ("components_done", random.Random(seed).randrange(2)))
    command, done = [*WHOLE, "--chunk", "200"], 0
    for figure, number in stages:
        running = hakoiri.start(*command, before=partial(stand_still_beyond, figure, number))
        running.stands_still()
        running.kill()
        figures = hakoiri.state().figures
        assert figures[figure] > number
        assert figures.get("components_done", 0) >= done
        done = figures.get("components_done", 0)
        command = ["resume", "last", "--chunk", "200"]
    summary = hakoiri.ask(*command)
    assert (summary["status"], summary["digest"]) == ("complete", undisturbed["whole"])
    assert (summary["configurations"], summary["edges"], summary["components"]) == (65_880, 103_390, 898)


@pytest.mark.ci_slow
@pytest.mark.parametrize("seed", [6])
def test_coordinator_killed_again_and_again(
    hakoiri: Hakoiri, redis_server: RedisServer, undisturbed: dict[str, Any], seed: int
) -> None:
    hakoiri.here("enqueue", "klotski", *SLOW_REDIS)
    before: list[LayerRecord] = []
    for depth in moments(seed, 3):
        still = stand_still_at(max(depth, len(before)))
        service = hakoiri.start("coordinator", "--redis", redis_server.url, before=still)
        service.stands_still()
        service.send(signal.SIGCONT)
        assert service.kill().code == -signal.SIGKILL, service.stderr
        kept = layers_of(hakoiri)
        assert_kept(before, kept)
        before = kept
    hakoiri.here("coordinator", "--redis", redis_server.url, "--burst")
    assert_kept(before, layers_of(hakoiri))
    assert_undisturbed(hakoiri, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [400])
def test_workers_killed_in_mid_chunk(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, undisturbed: dict[str, Any], seed: int
) -> None:
    """While they look at the moves, and while they measure components."""
    chance = random.Random(seed)
    with workers(redis_server.url, 2) as team:
        running = hakoiri.start(*WHOLE, "--farm", "0", "--chunk", "100", "--redis", redis_server.url)
        for stage in (lambda state: state.depth == 0, lambda state: state.figures.get("components") is not None):
            wait_until(reaches(hakoiri, stage, running), what=f"a stage, seed {seed}")
            assert running.process.poll() is None, running.finish()
            os.kill(chance.choice(wait_until(team.pids)), signal.SIGKILL)
        assert running.finish().code == 0, running.finish()
    state = hakoiri.state()
    assert (state.session, state.status, state.digest) == (1, "complete", undisturbed["whole"])


def assert_counted(hakoiri: Hakoiri, undisturbed: dict[str, Any]) -> None:
    """The only run is a census that was made in one session, and is what it would have been."""
    state = hakoiri.state()
    assert (state.session, state.status, state.digest) == (1, "complete", undisturbed["whole"])


@pytest.mark.ci_slow
def test_redis_killed_again_and_again(
    hakoiri: Hakoiri, workers: StartWorkers, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    with RedisServer(tmp_path / "redis", appendonly=True) as server, workers(server.url, 2):
        running = hakoiri.start(*WHOLE, *FARMED, "--redis", server.url, before=stand_still_in_census(2))
        for _ in range(2):
            running.stands_still()
            running.send(signal.SIGCONT)
            server.kill()
            server.start()
        assert running.finish().code == 0, running.finish()
    assert any(host["workers"] for host in hakoiri.ask("status", "last")["work_log"]["hosts"])
    assert_counted(hakoiri, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("successors", [0, 2], ids=["nobody-follows", "others-follow"])
def test_all_workers_killed(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, undisturbed: dict[str, Any], successors: int
) -> None:
    with workers(redis_server.url, 2) as team:
        running = hakoiri.start(*WHOLE, *FARMED, "--redis", redis_server.url, before=stand_still_in_census(1))
        running.stands_still()
        team.supervisor.end()
        running.send(signal.SIGCONT)
    if successors:
        with workers(redis_server.url, successors):
            assert running.finish().code == 0, running.finish()
    else:
        assert running.finish().code == 0, running.finish()
        assert "no worker" in running.stderr
    assert_counted(hakoiri, undisturbed)


@pytest.mark.slow
def test_everything_killed_at_once(
    hakoiri: Hakoiri, workers: StartWorkers, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    with RedisServer(tmp_path / "redis", appendonly=True) as server, workers(server.url, 2) as team:
        running = hakoiri.start(*WHOLE, *FARMED, "--redis", server.url, before=stand_still_in_census(2))
        running.stands_still()
        running.send(signal.SIGCONT)
        running.stands_still()
        running.send(signal.SIGCONT)
        running.kill()
        team.supervisor.end()
        server.kill()
    assert hakoiri.state().figures["configurations"] == 65_880
    hakoiri.here("resume", "last")
    state = hakoiri.state()
    assert (state.session, state.status, state.digest) == (2, "complete", undisturbed["whole"])
    assert hakoiri.ask("verify", "last")["ok"]
