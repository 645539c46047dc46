"""A study, a hunt and an optimisation as queued runs: coordinators and workers die, and what is found is the same."""

import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hakoiri.coordinator.deals.hunt import legs_of
from hakoiri.coordinator.deals.study import kept_deals
from hakoiri.coordinator.families.mixes import read_members
from hakoiri.coordinator.families.sizes import read_rows
from hakoiri.coordinator.plays.optimise import best_of, rounds_of
from hakoiri.puzzles.nakuron.board import random_board
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import QUEUED_FILE
from tests.support.commands import Hakoiri, wait_until
from tests.support.process_setup import stand_still_beyond
from tests.support.runs import opened
from tests.support.servers import RedisServer
from tests.system.conftest import StartWorkers
from tests.system.test_service import start_coordinator, status_of, wait_for_status


class Kind(NamedTuple):
    """A kind of run: commands for a long one and a short one, what tells how far it is, and all that it finds.

    Without what the clock says.
    """

    line: tuple[str, ...]
    short: tuple[str, ...]
    done: str
    found: Callable[[Any], Any]
    name: str


def deals(job: Any) -> Any:
    return [replace(deal, seconds=0.0) for found in kept_deals(job.study, job.store).values() for deal in found]


def legs(job: Any) -> Any:
    return [replace(leg, seconds=0.0, when="") for leg in legs_of(job.store).values()]


def plays(job: Any) -> Any:
    rounds = [replace(ended, seconds=0.0) for ended in rounds_of(job.store).values()]
    return replace(best_of(job.store), seconds=0.0), rounds


def mixes(job: Any) -> Any:
    return read_members(job.store)


def starts(job: Any) -> Any:
    return list(job.rows())


def designs(job: Any) -> Any:
    return job.boards()


def members(job: Any) -> Any:
    return read_rows(job.store)


#: The name of a file that is there when a test begins.
BOARD = "board.txt"
CARS = "IBBxooIooLDDJAALooJoKEEMFFKooMGGHHHM"
KINDS = {
    "study": Kind(
        ("study", "deals", "superpuzz", "--sizes", "4,5", "--deals", "40", "--seed", "3"),
        ("study", "deals", "superpuzz", "--sizes", "4,5", "--deals", "5", "--seed", "3"),
        "deals_done",
        deals,
        "study",
    ),
    "hunt": Kind(
        ("hunt", "gap", "-o", "ranks=6", "--legs", "20", "--seed", "2"),
        ("hunt", "gap", "-o", "ranks=4", "--legs", "10", "--seed", "2"),
        "legs",
        legs,
        "hunt",
    ),
    "optimise": Kind(
        ("optimise", "nakuron", "--from", BOARD, "--width", "40", "--rounds", "2"),
        ("optimise", "nakuron", "--from", BOARD, "--width", "40", "--rounds", "2"),
        "moves_tried",
        plays,
        "optimise",
    ),
    "boards": Kind(
        ("study", "boards", "--size", "4x4", "--pieces", "2x2:* 1x2:* 2x1:* 1x1:*", "--empty", "2..4", "--pairs"),
        ("study", "boards", "--size", "3x4", "--pieces", "1x2:* 2x1:* 1x1:*", "--empty", "2", "--goal", "1x1@4,3"),
        "mixes_done",
        mixes,
        "boards",
    ),
    "starts": Kind(
        ("study", "starts", f"60 {CARS} 2332\n" * 30, "-o", "axis=rows-and-columns"),
        ("study", "starts", "one AB/..\ntwo ABC/.D.", "-o", "goal=A@1,2"),
        "starts_done",
        starts,
        "starts",
    ),
    "generate": Kind(
        (
            "generate",
            "sliding",
            "--size",
            "3x4",
            "--pieces",
            "2x1:1..2 1x2:1..2 1x1:2..4",
            "--goal",
            "2x1@4,1",
            "--boards",
            "9",
            "--hunt",
            "20",
        ),
        (
            "generate",
            "sliding",
            "--size",
            "3x3",
            "--pieces",
            "2x1:1 1x2:1 1x1:2..3",
            "--goal",
            "2x1@3,1",
            "--boards",
            "2",
        ),
        "tried",
        designs,
        "generate",
    ),
    "hunt of boards": Kind(
        ("hunt", "sliding", "--from", CARS, "-o", "axis=rows-and-columns", "--maximise", "moves", "--legs", "24"),
        ("hunt", "sliding", "--from", CARS, "-o", "axis=rows-and-columns", "--maximise", "moves", "--legs", "8"),
        "legs",
        legs,
        "hunt",
    ),
}
#: Its members are runs by themselves, whose small layers are given to nobody.
SIZES = Kind(("study", "sizes", "tiles", "--sizes", "4..10"), (), "members_done", members, "sizes")
#: What the default suite has no time for: they are queued as the others are.
SLOW = ("study", "optimise", "boards", "starts", "generate", "hunt of boards")
every_kind = pytest.mark.parametrize(
    "kind", [pytest.param(KINDS[name], marks=[pytest.mark.slow] * (name in SLOW)) for name in KINDS], ids=KINDS
)


@pytest.fixture
def board(tmp_path: Path) -> Path:
    """The board of the optimisation."""
    file = tmp_path / BOARD
    file.write_text("\n".join(random_board(24, 1, 4).lines()), encoding="ascii")
    return file


def with_board(line: tuple[str, ...], board: Path) -> tuple[str, ...]:
    return tuple(str(board) if word == BOARD else word for word in line)


def found_by(kind: Kind, directory: Path) -> Any:
    with opened(directory) as job:
        return kind.found(job)


def done_by(hakoiri: Hakoiri, run: str, kind: Kind) -> int:
    with Ledger(hakoiri.data / run) as ledger:
        return int(ledger.state.figures.get(kind.done) or 0)


@pytest.mark.slow
def test_a_study_of_sizes_is_the_same_whoever_dies(
    board: Path, hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, tmp_path: Path
) -> None:
    test_what_is_found_is_the_same_whoever_dies(SIZES, board, hakoiri, redis_server, workers, tmp_path)


@pytest.mark.slow
@every_kind
def test_what_is_found_is_the_same_whoever_dies(
    kind: Kind, board: Path, hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, tmp_path: Path
) -> None:
    line = with_board(kind.line, board)
    alone = hakoiri.ask(*line, data=tmp_path / "alone")["run"]
    queued = hakoiri.ask(*line, "--queue", "--redis", redis_server.url)
    run = str(queued["run"])
    assert (run, queued["status"]) == (alone, "queued")
    with workers(redis_server.url, 2) as team:
        first = start_coordinator(hakoiri, redis_server.url, before=partial(stand_still_beyond, kind.done, 0))
        first.stands_still()
        before = done_by(hakoiri, run, kind)
        first.kill()
        assert hakoiri.ask("status", run)["status"] == "interrupted"
        assert (hakoiri.data / run / QUEUED_FILE).exists()
        more = partial(stand_still_beyond, kind.done, before)
        second = start_coordinator(hakoiri, redis_server.url, "--burst", before=more)
        second.stands_still()
        assert status_of(hakoiri, run) == "running", "all of it was found before a worker could be killed"
        team.kill_one()
        second.send(signal.SIGCONT)
        assert second.finish().code == 0
    assert status_of(hakoiri, run) == "complete"
    assert not (hakoiri.data / run / QUEUED_FILE).exists()
    assert found_by(kind, hakoiri.data / run) == found_by(kind, tmp_path / "alone" / run)
    assert hakoiri.ask("verify", run)["ok"]
    (row,) = hakoiri.ask("runs")["runs"]
    assert (row["run"], row["kind"], row["status"]) == (run, kind.name, "complete")


@every_kind
def test_a_queued_one_is_watched_cancelled_resumed_and_deleted(
    kind: Kind, board: Path, hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path
) -> None:
    line = with_board(kind.short, board)
    redis_server.pretend_worker()
    run = str(hakoiri.ask(*line, "--queue")["run"])
    start_coordinator(hakoiri, redis_server.url)
    wait_until(lambda: redis_server.waiting_jobs() > 0, what="chunks that wait")
    watcher = hakoiri.start("status", run, "--watch", "--json")
    refused = hakoiri.here(*line, check=False)
    assert f"run {run} is held by process" in refused.error
    assert hakoiri.ask("cancel", run) == {"run": run, "status": "cancelled"}
    assert watcher.finish().json["status"] == "cancelled"
    assert hakoiri.ask("resume", run)["status"] == "complete"
    hakoiri.ask(*line, data=tmp_path / "alone")
    assert found_by(kind, hakoiri.data / run) == found_by(kind, tmp_path / "alone" / run)
    hakoiri.here("delete", run, "--yes")
    assert hakoiri.ask("runs")["runs"] == []


def test_two_processes_on_one_plan_lose_no_better_play(board: Path, hakoiri: Hakoiri) -> None:
    """The second is refused while the first is at work, and cannot put a worse play in the place of a better one."""
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
