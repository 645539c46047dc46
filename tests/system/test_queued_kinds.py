"""A hunt as a queued run: coordinators and workers die, and what is found is the same. Mayhem kills all other kinds."""

import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hakoiri.coordinator.plays.optimise import best_of
from hakoiri.coordinator.studies.hunt import legs_of
from hakoiri.puzzles.nakuron.board import random_board
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import QUEUED_FILE
from tests.support.commands import Hakoiri, wait_until
from tests.support.process_setup import stand_still_beyond
from tests.support.runs import opened
from tests.support.servers import RedisServer
from tests.system.conftest import StartWorkers
from tests.system.test_service import start_coordinator, status_of, wait_for_status

LONG = ("hunt", "gap", "-o", "ranks=6", "--legs", "20", "--seed", "2")
SHORT = ("hunt", "gap", "-o", "ranks=4", "--legs", "10", "--seed", "2")


def found_by(directory: Path) -> Any:
    """All that a hunt finds, without what the clock says."""
    with opened(directory) as job:
        return [replace(leg, seconds=0.0, when="") for leg in legs_of(job.store).values()]


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
    assert second.code == 1
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
    assert ended.code == 1
    assert "is held by process" in ended.error
    (row,) = hakoiri.ask("runs")["runs"]
    assert row["kind"] == "hunt"
    wait_for_status(hakoiri, row["run"], "running")
