"""The service as it is meant to run: queue, coordinator and workers as processes that come, go and die."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from storage.ledger.ledger import Ledger
from storage.ledger.lock import holder_of
from storage.names import DATA_FILE, MANIFEST_KEY, META, QUEUED_FILE
from tests.system.conftest import StartWorkers
from tests.system.helpers import START_OF_2, START_OF_201, START_OF_248, FinishedRuns, Hakoiri, Running, wait_until
from tests.system.servers import RedisServer, Workers


def start_coordinator(hakoiri: Hakoiri, url: str, *arguments: str) -> Running:
    coordinator = hakoiri.start("coordinator", *arguments, env={"HAKOIRI_REDIS": url})
    coordinator.wait_for("coordinator ready")
    return coordinator


def stop(coordinator: Running) -> None:
    """SIGTERM is how a service is stopped: it leaves in good order, whatever it does."""
    coordinator.send(signal.SIGTERM)
    ended = coordinator.finish(seconds=30)
    assert ended.code == 0, ended
    assert "coordinator stopped" in ended.stderr
    assert "Traceback" not in ended.stderr


def status_of(hakoiri: Hakoiri, run: str) -> str:
    """As of the last commit, without a process for each look."""
    with Ledger(hakoiri.data / run) as ledger:
        return ledger.state.status


def wait_for_status(hakoiri: Hakoiri, run: str, status: str) -> None:
    wait_until(lambda: status_of(hakoiri, run) == status, what=f"{run} being {status}")


def enqueue(hakoiri: Hakoiri, *arguments: str) -> str:
    queued = hakoiri.ask("enqueue", "klotski", *arguments)
    assert queued["status"] == "queued"
    return str(queued["run"])


def held_by(hakoiri: Hakoiri, run: str) -> int | None:
    holder = holder_of(hakoiri.data / run)
    return None if holder is None else int(holder["pid"])


def test_queued_runs_are_driven_one_after_another(farm: Workers, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    """The oldest first; a run that is queued while the coordinator works or sleeps is taken up as well."""
    runs = [
        enqueue(hakoiri, "--farm-from", "0", "--chunk", "200"),
        enqueue(hakoiri, "--whole", "--farm-from", "1000"),
        enqueue(hakoiri, "--from", START_OF_248, "--chunk", "7", "--farm-from", "0"),
    ]
    coordinator = start_coordinator(hakoiri, farm.url)
    wait_for_status(hakoiri, runs[-1], "complete")
    runs.append(enqueue(hakoiri, "--from", START_OF_201, "--redis", farm.url))
    wait_for_status(hakoiri, runs[-1], "complete")
    wait_until(lambda: coordinator.stderr.count("complete") == len(runs))
    stop(coordinator)
    told = [line.split("run ")[1] for line in coordinator.stderr.splitlines() if " run " in line]
    assert [line.partition(":")[0] for line in told] == [run for run in runs for _ in ("taken up", "complete")]
    found = {row["run"]: row for row in hakoiri.ask("runs")["runs"]}
    assert list(found) == runs
    assert [found[run]["configurations"] for run in runs] == [25_955, 65_880, 248, 201]
    assert hakoiri.ask("layers", runs[0])["layers"][-1]["digest"] == finished.digests()[-1]
    assert hakoiri.ask("resume", runs[0])["digest"] == finished.explored["digest"]
    assert hakoiri.ask("resume", runs[1])["digest"] == finished.counted["digest"]
    assert not list(hakoiri.data.glob(f"*/{QUEUED_FILE}"))


def test_a_queued_run_wakes_the_coordinator(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    """By Redis, where it is named; a coordinator looks for itself, too."""
    start_coordinator(hakoiri, redis_server.url)
    named = enqueue(hakoiri, "--from", START_OF_2, "--redis", redis_server.url)
    wait_for_status(hakoiri, named, "complete")
    wait_until(lambda: not redis_server.client.exists("hakoiri:wake"), what="the wake-up being heard")
    unnamed = enqueue(hakoiri, "--from", START_OF_2)
    wait_for_status(hakoiri, unnamed, "complete")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_the_next_coordinator_finishes_what_one_left(
    end: signal.Signals, hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    redis_server.pretend_worker()
    run = enqueue(hakoiri, "--farm-from", "300", "--chunk", "100")
    first = start_coordinator(hakoiri, redis_server.url)
    wait_until(redis_server.waiting_jobs, what="the first farmed layer")
    assert held_by(hakoiri, run) == first.pid
    if end == signal.SIGTERM:
        stop(first)
        assert status_of(hakoiri, run) == "interrupted"
    else:
        first.kill()
    assert held_by(hakoiri, run) is None
    assert hakoiri.ask("status", run)["status"] == "interrupted"
    assert (hakoiri.data / run / QUEUED_FILE).exists()
    with workers(redis_server.url, 1):
        second = start_coordinator(hakoiri, redis_server.url, "--burst")
        assert second.finish().code == 0
    assert [layer["digest"] for layer in hakoiri.ask("layers", run)["layers"]] == finished.digests()
    assert hakoiri.ask("status", run)["status"] == "complete"


def test_two_coordinators_share_a_directory(hakoiri: Hakoiri, farm: Workers) -> None:
    """A run's lock lets one of them drive it; together they do all."""
    small = ("--from", START_OF_248, "--chunk", "20")
    runs = [enqueue(hakoiri, "--farm-from", "0", *which) for which in (("--chunk", "500"), small, small, small)]
    coordinators = [start_coordinator(hakoiri, farm.url) for _ in range(2)]
    for run in runs:
        wait_for_status(hakoiri, run, "complete")
    for coordinator in coordinators:
        stop(coordinator)
    for run in runs:
        assert any(f"run {run}: complete" in coordinator.stderr for coordinator in coordinators)
        assert hakoiri.ask("status", run)["configurations"] == (25_955 if run == runs[0] else 248)
        assert {layer["session"] for layer in hakoiri.ask("layers", run)["layers"]} == {1}


def test_a_running_run_is_cancelled_and_the_next_taken_up(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    redis_server.pretend_worker()
    runs = [enqueue(hakoiri, "--farm-from", "300"), enqueue(hakoiri, "--from", START_OF_2)]
    coordinator = start_coordinator(hakoiri, redis_server.url)
    wait_until(redis_server.waiting_jobs, what="the first farmed layer")
    watcher = hakoiri.start("status", runs[0], "--watch", "--json")
    assert hakoiri.ask("cancel", runs[0]) == {"run": runs[0], "status": "cancelled"}
    wait_for_status(hakoiri, runs[1], "complete")
    watched = watcher.finish()
    assert (watched.code, watched.json["status"]) == (0, "cancelled")
    assert coordinator.process.poll() is None
    stop(coordinator)
    again = start_coordinator(hakoiri, redis_server.url, "--burst")
    assert again.finish().code == 0
    assert runs[0] not in again.stderr, "a cancelled run was taken up again"
    assert hakoiri.ask("resume", runs[0])["configurations"] == 25_955, "a user may go on with it all the same"


def test_watching_ends_with_the_run(farm: Workers, hakoiri: Hakoiri) -> None:
    run = enqueue(hakoiri, "--from", START_OF_248)
    watcher = hakoiri.start("status", run, "--watch")
    assert start_coordinator(hakoiri, farm.url, "--burst").finish().code == 0
    watched = watcher.finish()
    assert watched.code == 0
    assert "complete" in watched.stdout
    assert "248" in watched.stdout


def test_burst_with_nothing_to_do_ends(farm: Workers, hakoiri: Hakoiri) -> None:
    assert start_coordinator(hakoiri, farm.url, "--burst").finish().code == 0
    hakoiri.here("run", "klotski", "--from", START_OF_2)
    assert start_coordinator(hakoiri, farm.url, "--burst").finish().code == 0
    assert len(hakoiri.ask("runs")["runs"]) == 1


@pytest.mark.parametrize("kind", ["damaged", "too little memory", "other version"])
def test_a_run_that_fails_does_not_stop_the_queue(kind: str, farm: Workers, hakoiri: Hakoiri) -> None:
    memory = ("--whole", "--memory", "1K") if kind == "too little memory" else ()
    bad, good = enqueue(hakoiri, *memory), enqueue(hakoiri, "--from", START_OF_248)
    if kind == "damaged":
        file = hakoiri.data / bad / DATA_FILE
        os.truncate(file, file.stat().st_size // 2)
    if kind == "other version":
        change_version(hakoiri.data / bad)
    coordinator = start_coordinator(hakoiri, farm.url)
    wait_for_status(hakoiri, good, "complete")
    wait_until(lambda: f"run {bad}: " in coordinator.stderr)
    stop(coordinator)
    (said,) = (line for line in coordinator.stderr.splitlines() if f"run {bad}: " in line and "taken up" not in line)
    assert {"damaged": "damaged", "too little memory": "--memory", "other version": "version"}[kind] in said
    rows = {row["run"]: row["status"] for row in hakoiri.ask("runs")["runs"]}
    assert rows[good] == "complete"
    assert rows[bad] in ("damaged", "interrupted", "queued")


def change_version(directory: Path) -> None:
    """As if a program with another version of the puzzle had begun the run."""
    with Ledger(directory, writable=True) as ledger:
        ledger.stage_record(META, MANIFEST_KEY, ledger.manifest.as_dict() | {"puzzle_version": 99})
        ledger.commit(ledger.state)


def test_the_service_outlives_redis(
    hakoiri: Hakoiri, tmp_path: Path, workers: StartWorkers, finished: FinishedRuns
) -> None:
    """Coordinator and workers stay while Redis is away, and work on when it is back, empty."""
    with RedisServer(tmp_path / "dying") as server, workers(server.url, 1) as team:
        coordinator = start_coordinator(hakoiri, server.url)
        server.kill()
        run = enqueue(hakoiri, "--farm-from", "300")
        server.start()
        wait_for_status(hakoiri, run, "complete")
        assert team.supervisor.process.poll() is None
        stop(coordinator)
    assert hakoiri.ask("resume", run)["digest"] == finished.explored["digest"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_workers_are_stopped_in_good_order(
    number: signal.Signals, redis_server: RedisServer, workers: StartWorkers
) -> None:
    with workers(redis_server.url, 2) as team:
        family = team.supervisor.children()
        assert len(family) == 2
        team.supervisor.send(number)
        ended = team.supervisor.finish(seconds=60)
        assert ended.code == 0
        assert "workers stopped" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert not [process for process in family if process.is_running()]


def test_health_counts_the_living(farm: Workers, hakoiri: Hakoiri, tmp_path: Path) -> None:
    healthy: dict[str, Any] = hakoiri.ask("health", "--redis", farm.url, "--data", str(tmp_path / "new"))
    assert healthy == {"ok": True, "workers": 2}
    assert "2 workers live" in hakoiri.here("health", "--redis", farm.url).stdout
