"""The service as it is meant to run: queue, coordinator and workers as processes that come, go and die."""

import os
import random
import re
import shlex
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.service import serve
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import Hint, TakenOverError
from hakoiri.guests.nakuron.board import random_board
from hakoiri.guests.nakuron.optimise import best_of
from hakoiri.keys.layout import U32
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock, holder_of, is_served, serving
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.names import DATA_FILE, HOLDER_FILE, MANIFEST_KEY, META, QUEUED_FILE, SPILL_FOLDER
from hakoiri.worker.machine import usable_cores
from hakoiri.worker.transport.connection import living_workers
from tests.support.commands import START_OF_2, START_OF_201, START_OF_248, FinishedRuns, Hakoiri, Running, wait_until
from tests.support.process_setup import be_starved, stand_still, stand_still_beyond
from tests.support.published import HAKOIRI as KNOWN
from tests.support.refusals import refused
from tests.support.runs import opened
from tests.support.servers import RedisServer, Workers, started_workers
from tests.system.conftest import StartWorkers


def start_coordinator(
    hakoiri: Hakoiri, url: str, *arguments: str, before: Callable[[], object] | None = None
) -> Running:
    coordinator = hakoiri.start("coordinator", *arguments, env={"HAKOIRI_REDIS": url}, before=before)
    coordinator.wait_for("coordinator ready")
    return coordinator


def stop(coordinator: Running) -> None:
    """SIGTERM is how a service is stopped: it leaves in good order, whatever it does."""
    coordinator.send(signal.SIGTERM)
    ended = coordinator.finish()
    assert ended.code == 0, ended
    assert "coordinator stopped" in ended.stderr
    assert "Traceback" not in ended.stderr


def status_of(hakoiri: Hakoiri, run: str) -> str:
    """As of the last commit, without a process for each look."""
    with Ledger(hakoiri.data / run) as ledger:
        return ledger.state.status


def wait_for_status(hakoiri: Hakoiri, run: str, status: str) -> None:
    wait_until(lambda: status_of(hakoiri, run) == status, what=f"{run} being {status}")


ROOT = Path(__file__).resolve().parents[2]
#: All of Hakoiri-musume, in chunks for workers.
CHUNKS = ("--whole", "--farm", "0", "--chunk", "5000")


def enqueue(hakoiri: Hakoiri, *arguments: str) -> str:
    queued = hakoiri.ask("enqueue", "klotski", *arguments)
    assert queued["status"] == "queued"
    return str(queued["run"])


def held_by(hakoiri: Hakoiri, run: str) -> int | None:
    holder = holder_of(hakoiri.data / run)
    return None if holder is None else int(holder["pid"])


@pytest.mark.ci_slow
def test_the_service_as_the_readme_types_it(
    hakoiri: Hakoiri, redis_server: RedisServer, finished: FinishedRuns
) -> None:  # fmt: skip
    """With the port of this test's Redis; the workers' logs tell of the chunks that the status counts."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"## As a service\n\n```sh\n(.*?)```", text, re.DOTALL)
    assert block is not None
    lines = [
        shlex.split(line.replace("--data runs", f"--data {hakoiri.data}"), comments=True)
        for line in block[1].splitlines()
    ]
    assert [line[:2] for line in lines] == [
        ["export", "HAKOIRI_REDIS=redis://127.0.0.1:6379/0"], ["hakoiri", "worker"], ["hakoiri", "coordinator"],
        ["hakoiri", "enqueue"], ["hakoiri", "status"],
    ]  # fmt: skip
    env = {"HAKOIRI_REDIS": redis_server.url}
    worker, coordinator = (hakoiri.start(*line[1:-1], env=env) for line in lines[1:3])
    worker.wait_for("worker processes for")
    coordinator.wait_for("coordinator ready")
    wait_until(lambda: len(living_workers(redis_server.client)) == len(usable_cores()), what="the workers")
    hakoiri(*lines[3][1:], env=env)
    said = hakoiri(*lines[4][1:], env=env).stdout
    found = re.search(r"315 layers: 2 here, 313 by (\d+) workers? in (\d+) chunks", said)
    assert found is not None, said
    row = hakoiri.ask("status", "last")
    assert (row["components"], row["digest"]) == (KNOWN["components"], finished.counted["digest"])
    stop(coordinator)
    worker.send(signal.SIGTERM)
    log = worker.finish().stderr
    # An attempt that took too long was made again, and may have ended all the same.
    repeated = hakoiri.ask("status", "last")["work_log"]["repeated"]
    expanded = re.findall(r" (\S+-\d+): .*?(\d+) expand\b", log)
    assert 0 <= sum(int(number) for _, number in expanded) - int(found[2]) <= repeated
    assert len({name for name, _ in expanded}) == int(found[1]) == len(usable_cores())
    assert re.search(r"\b\d+ components\b", log)


@pytest.mark.ci_slow
def test_queued_runs_are_driven_one_after_another(farm: Workers, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    """The oldest first; a run that is queued while the coordinator works or sleeps is taken up as well."""
    runs = [
        enqueue(hakoiri, "--farm", "500", "--chunk", "200"),
        enqueue(hakoiri, "--whole", "--farm", "20000"),
        enqueue(hakoiri, "--from", START_OF_248, "--chunk", "3", "--farm", "5"),
    ]
    coordinator = start_coordinator(hakoiri, farm.url)
    wait_for_status(hakoiri, runs[-1], "complete")
    runs.append(enqueue(hakoiri, "--from", START_OF_201, "--redis", farm.url))
    wait_for_status(hakoiri, runs[-1], "complete")
    wait_until(lambda: coordinator.stderr.count("complete") == len(runs))
    stop(coordinator)
    told = [line.split(" run ")[1] for line in coordinator.stderr.splitlines() if " run " in line]
    told = [line for line in told if re.search(r": (started|complete)", line)]
    assert [line.partition(":")[0] for line in told] == [run for run in runs for _ in ("taken up", "complete")]
    found = {row["run"]: row for row in hakoiri.ask("runs")["runs"]}
    assert list(found) == runs
    assert [found[run]["configurations"] for run in runs] == [25_955, 65_880, 248, 201]
    assert hakoiri.ask("layers", runs[0])["layers"][-1]["digest"] == finished.digests()[-1]
    assert hakoiri.ask("resume", runs[0])["digest"] == finished.explored["digest"]
    assert hakoiri.ask("resume", runs[1])["digest"] == finished.counted["digest"]
    assert not list(hakoiri.data.glob(f"*/{QUEUED_FILE}"))


@pytest.mark.ci_slow
def test_a_queued_run_wakes_the_coordinator(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    """By Redis, where it is named; a coordinator looks for itself, too."""
    start_coordinator(hakoiri, redis_server.url)
    named = enqueue(hakoiri, "--from", START_OF_2, "--redis", redis_server.url)
    wait_for_status(hakoiri, named, "complete")
    wait_until(lambda: not redis_server.client.exists("hakoiri:wake"), what="the wake-up being heard")
    unnamed = enqueue(hakoiri, "--from", START_OF_2)
    wait_for_status(hakoiri, unnamed, "complete")


@pytest.mark.ci_slow
@pytest.mark.parametrize("end", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_the_next_coordinator_finishes_what_one_left(
    end: signal.Signals, hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    redis_server.pretend_worker()
    run = enqueue(hakoiri, *CHUNKS)
    first = start_coordinator(hakoiri, redis_server.url)
    wait_until(redis_server.waiting_jobs, what="the first chunks")
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
    assert hakoiri.ask("resume", run)["digest"] == finished.counted["digest"]
    assert hakoiri.ask("status", run)["status"] == "complete"


@pytest.mark.ci_slow
def test_a_running_run_is_cancelled_and_the_next_taken_up(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    redis_server.pretend_worker()
    runs = [enqueue(hakoiri, *CHUNKS), enqueue(hakoiri, "--from", START_OF_2)]
    coordinator = start_coordinator(hakoiri, redis_server.url)
    wait_until(redis_server.waiting_jobs, what="the first chunks")
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
    assert hakoiri.ask("resume", runs[0])["configurations"] == 65_880, "a user may go on with it all the same"


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


@pytest.mark.parametrize(
    "kind",
    ["damaged", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("too little memory", "other version"))],
)
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
    lines = [line for line in coordinator.stderr.splitlines() if f"run {bad}: " in line]
    (said,) = (line for line in lines if not re.search("started|expanded here", line))
    assert {"damaged": "damaged", "too little memory": "--memory", "other version": "version"}[kind] in said
    rows = {row["run"]: row["status"] for row in hakoiri.ask("runs")["runs"]}
    assert rows[good] == "complete"
    assert rows[bad] in ("damaged", "interrupted", "queued")


def change_version(directory: Path) -> None:
    """As if a program with another version of the puzzle had begun the run."""
    with Ledger(directory, writable=True) as ledger:
        ledger.stage_record(META, MANIFEST_KEY, ledger.manifest.as_dict() | {"puzzle_version": 99})
        ledger.commit(ledger.state)


@pytest.mark.ci_slow
def test_the_service_outlives_redis(
    hakoiri: Hakoiri, tmp_path: Path, workers: StartWorkers, finished: FinishedRuns
) -> None:
    """Coordinator and workers stay while Redis is away, and work on when it is back, empty."""
    with RedisServer(tmp_path / "dying") as server, workers(server.url, 1) as team:
        coordinator = start_coordinator(hakoiri, server.url)
        server.kill()
        run = enqueue(hakoiri, *CHUNKS)
        server.start()
        wait_for_status(hakoiri, run, "complete")
        assert team.supervisor.process.poll() is None
        stop(coordinator)
    assert hakoiri.ask("resume", run)["digest"] == finished.counted["digest"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_workers_are_stopped_in_good_order(
    number: signal.Signals, redis_server: RedisServer, workers: StartWorkers
) -> None:
    with workers(redis_server.url, 2) as team:
        family = team.supervisor.children()
        assert len(family) == 2
        team.supervisor.send(number)
        ended = team.supervisor.finish()
        assert ended.code == 0
        assert "workers stopped" in ended.stderr
        assert "Traceback" not in ended.stderr
        assert not [process for process in family if process.is_running()]


def test_health_counts_the_living(farm: Workers, hakoiri: Hakoiri, tmp_path: Path) -> None:
    healthy: dict[str, Any] = hakoiri.ask("health", "--redis", farm.url, data=None)
    hosts = [{"host": socket.gethostname(), "workers": 2}]
    assert healthy == {"ok": True, "workers": 2, "coordinator": None, "hosts": hosts, "keepers": []}
    alone = hakoiri.here("health", "--redis", farm.url, data=None).stdout
    assert alone.startswith("ok: Redis answers, 2 workers alive; the coordinator was not checked")
    missing = hakoiri.here("health", "--redis", farm.url, "--data", str(tmp_path / "new"), check=False)
    assert (missing.code, missing.stdout) == (1, "")
    assert f"start one with: hakoiri coordinator --data {tmp_path / 'new'} --redis {farm.url}" in missing.error
    assert "no worker" not in missing.error
    by_environment = hakoiri.here("health", env={"HAKOIRI_REDIS": farm.url}, check=False)
    assert (by_environment.code, by_environment.stdout) == (1, "")
    assert f"hakoiri coordinator --data {hakoiri.data} --redis {farm.url}" in by_environment.error
    told = hakoiri.here("health", "--redis", farm.url, "--data", str(tmp_path / "new"), "--json", check=False)
    assert (told.code, told.json) == (
        1,
        {"ok": False, "workers": 2, "coordinator": False, "hosts": hosts, "keepers": []},
    )
    few = hakoiri.here("health", "--redis", farm.url, "--workers", "3", data=None, check=False)
    assert "2 workers alive, 3 wanted: start some with" in few.error


def test_health_is_not_content_without_workers(redis_server: RedisServer, hakoiri: Hakoiri) -> None:
    start_workers = f"no worker is alive: start some with: hakoiri worker -n 4 --redis {redis_server.url}"
    alone = hakoiri.here("health", "--redis", redis_server.url, data=None, check=False)
    assert (alone.code, alone.stdout, alone.error) == (1, "", f"hakoiri: {start_workers}")
    forsaken = hakoiri.here("health", "--redis", redis_server.url, check=False)
    assert f"{start_workers}; no coordinator serves {hakoiri.data}: start one with" in forsaken.error
    with serving(hakoiri.data):
        served = hakoiri.here("health", "--redis", redis_server.url, "--json", check=False)
        content = hakoiri.ask("health", "--redis", redis_server.url, "--workers", "0")
    assert (served.code, served.json) == (
        1,
        {"ok": False, "workers": 0, "coordinator": True, "hosts": [], "keepers": []},
    )
    assert content == served.json | {"ok": True}, "it works alone then"


def test_a_coordinator_by_threads_is_healthy_without_redis(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    told = {"ok": True, "workers": 0, "coordinator": True, "hosts": [], "keepers": []}
    coordinator = hakoiri.start("coordinator", "--threads")
    coordinator.wait_for("coordinator ready")
    wait_until(lambda: is_served(hakoiri.data, by_threads=True))
    for known in ({}, {"HAKOIRI_REDIS": redis_server.url}, {"HAKOIRI_REDIS": "redis://127.0.0.1:1/0"}):
        healthy = hakoiri.here("health", env=known)
        assert healthy.stdout == f"ok: a coordinator serves {hakoiri.data} by threads, without Redis\n"
        assert hakoiri.here("health", "--json", env=known).json == told
    # Who asks for workers, or names a server, is told of them.
    assert hakoiri.here("health", "--workers", "1", check=False).code == 2
    assert "no worker is alive" in hakoiri.here("health", "--redis", redis_server.url, check=False).error
    coordinator.send(signal.SIGKILL)
    coordinator.finish()
    gone = hakoiri.here("health", check=False)
    served_by_nobody = f"hakoiri: no coordinator serves {hakoiri.data}: start one with: "
    assert (gone.code, gone.error.startswith(served_by_nobody), gone.error.endswith(" --threads")) == (1, True, True)


# Nobody serves


def test_a_queued_run_says_that_nobody_will_take_it(hakoiri: Hakoiri) -> None:
    here = f"no coordinator serves {hakoiri.data}: start one with: hakoiri coordinator --data {hakoiri.data}"
    assert f"{here} --threads\n" in hakoiri.here("enqueue", "klotski").stderr
    assert f"{here} --threads\n" in hakoiri.here("status", "last").stderr
    assert f"{here} --threads\n" in hakoiri.here("runs").stderr
    command = f"{here} --redis"
    with_password, plain = "redis://me:secret@127.0.0.1:1/0", "redis://127.0.0.1:1/0"
    for line in ("runs", "status last", "enqueue klotski --name again"):
        assert f"{command} {plain}\n" in hakoiri.here(*line.split(), env={"HAKOIRI_REDIS": plain}).stderr
    given = hakoiri.here("enqueue", "klotski", "--name", "given", "--redis", with_password).stderr
    assert f"{command} {plain}\n" in given
    hidden = hakoiri.here("runs", env={"HAKOIRI_REDIS": with_password}).stderr
    assert hidden.endswith(f"hakoiri coordinator --data {hakoiri.data}\n"), "it takes the password from there"
    hakoiri.here("delete", "again", "given", "--yes")
    assert hakoiri.ask("status", "last")["served"] is False
    with serving(hakoiri.data):
        assert hakoiri.here("enqueue", "klotski").stderr == ""
        assert hakoiri.ask("enqueue", "klotski")["served"] is True
        assert hakoiri.here("status", "last").stderr == ""
        assert hakoiri.here("runs").stderr == ""
    hakoiri.here("cancel", "last")
    assert hakoiri.here("status", "last").stderr == "", "it waits for nobody"


def test_threads_drive_what_is_queued_with_no_redis(hakoiri: Hakoiri) -> None:
    run = hakoiri.ask("enqueue", "hanoi")["run"]
    assert hakoiri.ask("coordinator", "--threads", "--burst") == {"runs": [{"run": run, "status": "complete"}]}
    both = hakoiri.here("coordinator", "--threads", "--redis", "redis://127.0.0.1:1/0", check=False)
    assert (both.code, "cannot be combined" in both.stderr) == (2, True)


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_watched_through_a_pipe(json: list[str], hakoiri: Hakoiri) -> None:
    run = hakoiri.ask("enqueue", "klotski")["run"]
    watching = hakoiri.start("status", "last", "--watch", *json)
    watching.wait_for(f"{run}: queued, 0 configurations; no coordinator serves")
    hakoiri.here("cancel", "last")
    ended = watching.finish()
    assert ended.code == 0
    lines = (ended.stderr if json else ended.stdout).splitlines()
    assert len([line for line in lines if line.startswith(f"{run}: queued")]) == 1, "a line for each change"
    assert f"{run}: cancelled, 0 configurations" in lines
    assert not json or ended.json["status"] == "cancelled"


def test_each_run_of_a_coordinator_has_a_clock_of_its_own(hakoiri: Hakoiri) -> None:
    for _ in range(2):
        hakoiri.ask("enqueue", "klotski", "--from", START_OF_2)
    made: list[SilentObserver] = []

    def observed() -> SilentObserver:
        made.append(SilentObserver())
        return made[-1]

    ends = serve(hakoiri.data, Resources(), redis.Redis(), Control(), lambda _: observed(), lambda *_: None, burst=True)
    assert [end.status for end in ends] == ["complete", "complete"]
    assert len(made) == 2


# A hunt as a queued run: coordinators and workers die, and what is found is the same. Mayhem kills all other kinds


LONG = ("hunt", "gap", "-o", "ranks=6", "--legs", "20", "--seed", "2")
SHORT = ("hunt", "gap", "-o", "ranks=4", "--legs", "10", "--seed", "2")


def found_by(directory: Path) -> Any:
    """All that a hunt finds, without what the clock says."""
    with opened(directory) as job:
        return [replace(leg, seconds=0.0, when="") for leg in job.stored().values()]


def done_by(hakoiri: Hakoiri, run: str) -> int:
    with Ledger(hakoiri.data / run) as ledger:
        return int(ledger.state.figures.get("legs") or 0)


@pytest.mark.ci_slow
def test_what_is_found_is_the_same_whoever_dies(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, tmp_path: Path
) -> None:
    alone = hakoiri.ask(*LONG, data=tmp_path / "alone")["run"]
    queued = hakoiri.ask(*LONG, "--queue", "--redis", redis_server.url)
    run = str(queued["run"])
    assert (run, queued["status"]) == (alone, "queued")
    with workers(redis_server.url, 2) as team:
        first = start_coordinator(hakoiri, redis_server.url, before=partial(stand_still_beyond, "legs", 0))
        first.stands_still()
        before = done_by(hakoiri, run)
        first.kill()
        assert hakoiri.ask("status", run)["status"] == "interrupted"
        assert (hakoiri.data / run / QUEUED_FILE).exists()
        more = partial(stand_still_beyond, "legs", before)
        second = start_coordinator(hakoiri, redis_server.url, "--burst", before=more)
        second.stands_still()
        assert status_of(hakoiri, run) == "running", "all of it was found before a worker could be killed"
        team.kill_one()
        second.send(signal.SIGCONT)
        assert second.finish().code == 0
    assert status_of(hakoiri, run) == "complete"
    assert not (hakoiri.data / run / QUEUED_FILE).exists()
    assert found_by(hakoiri.data / run) == found_by(tmp_path / "alone" / run)
    assert hakoiri.ask("verify", run)["ok"]
    (row,) = hakoiri.ask("runs")["runs"]
    assert (row["run"], row["kind"], row["status"]) == (run, "hunt", "complete")


def test_a_queued_one_is_watched_cancelled_resumed_and_deleted(
    hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path
) -> None:
    redis_server.pretend_worker()
    run = str(hakoiri.ask(*SHORT, "--queue")["run"])
    start_coordinator(hakoiri, redis_server.url)
    wait_until(lambda: redis_server.waiting_jobs() > 0, what="chunks that wait")
    watcher = hakoiri.start("status", run, "--watch", "--json")
    refused = hakoiri.here(*SHORT, check=False)
    assert f"run {run} is held by process" in refused.error
    assert hakoiri.ask("cancel", run) == {"run": run, "status": "cancelled"}
    assert watcher.finish().json["status"] == "cancelled"
    assert hakoiri.ask("resume", run)["status"] == "complete"
    hakoiri.ask(*SHORT, data=tmp_path / "alone")
    assert found_by(hakoiri.data / run) == found_by(tmp_path / "alone" / run)
    hakoiri.here("delete", run, "--yes")
    assert hakoiri.ask("runs")["runs"] == []


def test_two_processes_on_one_plan_lose_no_better_play(hakoiri: Hakoiri, tmp_path: Path) -> None:
    """The second is refused while the first is at work, and cannot put a worse play in the place of a better one."""
    board = tmp_path / "board.txt"
    board.write_text("\n".join(random_board(24, 1, 4).lines()), encoding="ascii")
    line = ("optimise", "nakuron", "--from", str(board), "--strategy", "random")
    running = hakoiri.start(*line, "--time", "1h")
    wait_until(lambda: any(hakoiri.data.glob("*-nakuron")), what="a run")
    (directory,) = hakoiri.data.glob("*-nakuron")

    def score() -> int:
        with Ledger(directory) as ledger:
            return best_of(ledger).score

    wait_until(lambda: score() > 0, what="a play")
    before = score()
    second = hakoiri.here(*line, "--rounds", "1", check=False)
    assert second.code == 75
    assert f"run {directory.name} is held by process {running.pid}" in second.error
    running.send(signal.SIGTERM)
    assert running.finish().code == 143
    wait_for_status(hakoiri, directory.name, "interrupted")
    assert score() >= before
    assert hakoiri.ask(*line, "--rounds", "1")["score"] >= before


def test_two_processes_that_begin_at_once_make_one_run(hakoiri: Hakoiri) -> None:
    line = ("hunt", "gap", "-o", "ranks=4", "--time", "1h")
    both = [hakoiri.start(*line) for _ in range(2)]
    wait_until(lambda: any(each.process.poll() is not None for each in both), what="one of them being refused")
    (ended,) = [each.finish() for each in both if each.process.poll() is not None]
    assert ended.code == 75
    assert "is held by process" in ended.error
    (row,) = hakoiri.ask("runs")["runs"]
    assert row["kind"] == "hunt"
    wait_for_status(hakoiri, row["run"], "running")


# A process that stands still while its lock is removed and another drives its run: it writes nothing, and says so


def stand_still_starved() -> None:
    """Stop as SIGSTOP does in the midst of a layer, of which something lies in spill files."""
    be_starved()
    stand_still(30, "expanded")


@pytest.mark.ci_slow
def test_the_one_that_lost_its_run_is_told_and_writes_nothing(hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    first = hakoiri.start("run", "klotski", "--memory", "1MB", "--chunk", "100", "--farm", "1",
                          before=stand_still_starved)  # fmt: skip
    first.stands_still()
    directory = hakoiri.run_directory()
    (directory / HOLDER_FILE).unlink()
    second = hakoiri.here("resume", directory.name)
    left = (directory / DATA_FILE).read_bytes()
    first.send(signal.SIGCONT)
    lost = first.finish()
    assert (second.code, lost.code) == (0, 1)
    assert f"run {directory.name} was taken over by another process while this one was stopped" in lost.error
    assert f"hakoiri status {directory.name}" in lost.error
    assert "hakoiri resume" not in lost.error
    assert (directory / DATA_FILE).read_bytes() == left
    assert not list(directory.glob(f"{SPILL_FOLDER}/*"))
    assert hakoiri.ask("status", directory.name)["digest"] == finished.explored["digest"]


def test_spill_files_are_written_by_the_holder_alone(tmp_path: Path) -> None:
    """No transaction guards these."""
    run = tmp_path / "a-run"
    run.mkdir()
    spill, keys = Spill(run, U32, 3), code_keys(3, U32.pack([1, 2]))
    with RunLock(run):
        spill.append(0, keys)
        (run / HOLDER_FILE).unlink()
        with refused(TakenOverError, "was taken over by another process", Hint("status", "a-run")):
            spill.append(0, keys)
        (run / HOLDER_FILE).touch()
        with pytest.raises(TakenOverError):
            spill.append(0, keys)
    assert [path.stat().st_size for path in (run / SPILL_FOLDER).iterdir()] == [spill.stored_bytes]


class Removing(SilentObserver):
    """Removes the lock of a run that has begun, as somebody would who means to drive it himself."""

    def __init__(self, directory: Path) -> None:
        self._lock = directory / HOLDER_FILE

    def progress(self, progress: Progress) -> None:
        self._lock.unlink(missing_ok=True)


def test_a_coordinator_leaves_a_run_that_it_has_lost(hakoiri: Hakoiri) -> None:
    directory = hakoiri.data / hakoiri.ask("study", "sizes", "hanoi", "--sizes", "2..3", "--queue")["run"]
    said: list[tuple[Any, ...]] = []
    ends = serve(hakoiri.data, Resources(workers=1), None, Control(), lambda _: Removing(directory),
                 lambda *words: said.append(words), burst=True)  # fmt: skip
    assert ends == []
    assert "was taken over by another process" in said[-1][1]
    assert said[-1][2:] == (Hint("status", directory.name),)


@pytest.mark.ci_slow
def test_two_coordinators_share_a_directory(hakoiri: Hakoiri, farm: Workers) -> None:
    """A run's lock lets one of them drive it; together they do all."""
    small = ("--from", START_OF_248, "--chunk", "10")
    runs = [enqueue(hakoiri, *which) for which in (("--chunk", "400"), small, small, small)]
    coordinators = [start_coordinator(hakoiri, farm.url) for _ in range(2)]
    for run in runs:
        wait_for_status(hakoiri, run, "complete")
    for coordinator in coordinators:
        stop(coordinator)
    for run in runs:
        assert any(f"run {run}: complete" in coordinator.stderr for coordinator in coordinators)
        assert hakoiri.ask("status", run)["configurations"] == (25_955 if run == runs[0] else 248)
        assert {layer["session"] for layer in hakoiri.ask("layers", run)["layers"]} == {1}


@pytest.mark.ci_slow
@pytest.mark.parametrize("count", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_short_runs_are_done_beside_a_long_one(hakoiri: Hakoiri, farm: Workers, count: int) -> None:
    """A census that would take minutes, and some runs of a second; then it is cancelled."""
    space = ("hanoi", "-o", "pegs=4", "-o", "discs=14", "--whole", "--memory", "1GB")
    long = hakoiri.ask("enqueue", *space)["run"]
    short = [enqueue(hakoiri, "--from", START_OF_248, "--farm", "always") for _ in range(count)]
    coordinator = start_coordinator(hakoiri, farm.url, "--runs", "2")
    for run in short:
        wait_for_status(hakoiri, run, "complete")
    assert status_of(hakoiri, long) == "running"
    hakoiri("cancel", long)
    wait_for_status(hakoiri, long, "cancelled")
    stop(coordinator)
    assert {hakoiri.ask("status", run)["configurations"] for run in short} == {248}


@pytest.mark.slow
def test_sixty_queued_runs_outlive_kills(hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers) -> None:
    """None is lost, and no layer is made twice. Coordinators with all their runs, and workers, are killed at random."""
    runs, chance = [enqueue(hakoiri, "--from", START_OF_201, "--farm", "always") for _ in range(60)], random.Random(65)

    def are_done(count: int) -> bool:
        return sum(status_of(hakoiri, run) == "complete" for run in runs) >= count

    with workers(redis_server.url, 2) as team:
        wanted = 0
        while not are_done(len(runs)):
            coordinator = start_coordinator(hakoiri, redis_server.url, "--runs", "3")
            wanted = min(len(runs), wanted + chance.randint(3, 12))
            wait_until(partial(are_done, wanted), what=f"{wanted} complete runs")
            os.kill(chance.choice(team.pids()), signal.SIGKILL)
            coordinator.send(signal.SIGKILL)
            coordinator.finish()
    assert not list(hakoiri.data.glob(f"*/{QUEUED_FILE}"))
    digests = {hakoiri.ask("status", run)["digest"] for run in runs}
    assert len(digests) == 1
    for run in runs:
        layers = hakoiri.ask("layers", run)["layers"]
        assert [layer["depth"] for layer in layers] == [*range(len(layers))]
        assert sum(layer["size"] for layer in layers) == 201


@pytest.mark.slow
def test_services_that_compile_say_so_in_their_logs(
    hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path
) -> None:  # fmt: skip
    url, program = redis_server.url, Path(sys.executable).parent / "hakoiri"
    run = hakoiri.ask("enqueue", "hanoi", "-o", "discs=3", "--farm", "always")["run"]
    kernels = [{"NUMBA_CACHE_DIR": str(tmp_path / name)} for name in ("worker", "coordinator")]
    with started_workers(hakoiri, url, 1, env=kernels[0], executable=program) as team:
        coordinator = hakoiri.start(
            "coordinator", "--burst", env={"HAKOIRI_REDIS": url} | kernels[1], executable=program
        )
        assert coordinator.finish().code == 0
        team.supervisor.send(signal.SIGTERM)
        said = team.supervisor.finish().stderr
    assert status_of(hakoiri, run) == "complete"
    assert re.search(r"compiling about \d+ kernels for hanoi, once", coordinator.stderr)
    assert "compiling kernels, once: takes some seconds" in said


def test_what_another_measures_of_a_study_is_left_alone(hakoiri: Hakoiri) -> None:
    """A member's own run lies where whoever goes on with the study finds it."""
    directory = hakoiri.data / hakoiri.ask("study", "sizes", "hanoi", "--sizes", "2..3", "--queue")["run"]
    with pytest.raises(TakenOverError):
        drive(directory, Resources(workers=1), Control(), Removing(directory))
    assert list(directory.glob(f"members/*/member/{DATA_FILE}"))
