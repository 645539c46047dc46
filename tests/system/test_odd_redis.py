"""Data of other programs in Redis: workers go on beside it, or say which name is taken and are given up."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import numpy as np
import pytest

from hakoiri.coordinator.executors import worker_pool
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import WorkerError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.worker import supervisor
from hakoiri.worker.rq_worker import TaskQueue
from hakoiri.worker.supervisor import Supervisor
from hakoiri.worker.transport.connection import (
    QUEUE,
    SHARED_TYPES,
    WORKERS,
    connect,
    require_own_names,
    worker_key,
)
from tests.support.commands import wait_until
from tests.support.runs import Notes
from tests.support.servers import RedisServer
from tests.system.conftest import StartWorkers


def test_a_name_that_is_taken_is_told(redis_server: RedisServer) -> None:
    client = redis_server.client
    require_own_names(client, redis_server.url)
    for name, kind in SHARED_TYPES.items():
        client.set(name, "something else")
        words = f"holds a string under '{name}', expected a {kind}; use a Redis"
        with pytest.raises(WorkerError, match=words):
            require_own_names(client, redis_server.url)
        client.delete(name)


@pytest.fixture
def exits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The codes with which worker processes end as soon as they have begun, in turn, the last one ever after."""
    codes = [1]

    def start(_: Supervisor) -> "subprocess.Popen[bytes]":
        code = codes.pop(0) if len(codes) > 1 else codes[0]
        return subprocess.Popen([sys.executable, "-S", "-E", "-c", f"import os; os._exit({code})"])

    monkeypatch.setattr(Supervisor, "_start", start)
    monkeypatch.setattr(supervisor, "_RESTART_SECONDS", 0.0)
    # However slowly this machine starts them.
    monkeypatch.setattr(supervisor, "_EARLY_SECONDS", 1e9)
    monkeypatch.setattr(supervisor, "_POLL_SECONDS", 0.01)
    return codes


@contextmanager
def running(team: Supervisor) -> Iterator[None]:
    team.start()
    keeper = Thread(target=team.run)
    keeper.start()
    try:
        yield
    finally:
        team.request_stop()
        keeper.join()


def test_workers_that_only_end_are_never_given_up(redis_server: RedisServer, exits: list[int]) -> None:
    """It is said once, however many they are and in which order they end; the name that is taken, too."""
    notes: list[str] = []
    team = Supervisor(redis_server.url, 2, notes.append)
    with running(team):
        wait_until(lambda: team.replaced > 30)
    assert sum("ended with code 1; starting another" in note for note in notes) < 10
    (given,) = [note for note in notes if "in a row" in note]
    assert given.endswith("see what they have said; trying again after growing pauses")
    redis_server.client.set("rq:queues", "something else")
    team = Supervisor(redis_server.url, 1, notes.append)
    with running(team):
        wait_until(lambda: "holds a string under 'rq:queues'" in notes[-1])


def test_a_run_whose_own_workers_only_end_works_alone(redis_server: RedisServer, exits: list[int]) -> None:
    """It would have waited for them for ever."""
    puzzle, resources, notes = Klotski(), Resources(redis=redis_server.url, workers=1), Notes()
    with open_context(puzzle, PuzzleSpec("klotski"), resources, Control(), notes) as context:
        ((_, found),) = context.executor.map("neighbours", [[puzzle.keys([puzzle.start])]])
    assert np.array_equal(np.unique(found[0]), np.unique(puzzle.expand(puzzle.keys([puzzle.start]))[0]))
    assert any("this process works alone" in text for text in notes.texts)


def test_what_others_leave_under_names_of_rq_ends_no_worker(redis_server: RedisServer, workers: StartWorkers) -> None:
    """Registries of another type, suspended workers, and entries of the queue that name no job, or a wrong one."""
    client = redis_server.client
    for name in ("rq:groups", "rq:rl-keys", f"rq:failed:{QUEUE}", f"rq:finished:{QUEUE}"):
        client.set(name, "something else")
    client.set("rq:suspended", 1)
    client.set("rq:job:other", "something else")
    client.hset("rq:job:empty", mapping={"status": "queued"})
    client.rpush(f"rq:queue:{QUEUE}", b"\xff\xfe", "other", "empty", "nobody", "a:b c")
    puzzle, spec = Klotski(), PuzzleSpec("klotski")
    with workers(redis_server.url, 1) as team:
        first = team.pids()
        resources = Resources(redis=redis_server.url)
        with open_context(puzzle, spec, resources, Control(), SilentObserver()) as context:
            ((_, found),) = context.executor.map("neighbours", [[puzzle.keys([puzzle.start])]])
        assert team.pids() == first
    assert np.array_equal(np.unique(found[0]), np.unique(puzzle.expand(puzzle.keys([puzzle.start]))[0]))
    assert connect(redis_server.url).get("rq:suspended") is not None
    assert not TaskQueue(connection=client).count


def test_a_worker_that_hangs_stalls_no_run(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its heartbeat goes on, it answers nothing, and it is waited for once."""
    monkeypatch.setattr(worker_pool, "_SILENCE_SECONDS", 0.3)
    redis_server.client.sadd(WORKERS, "hangs-1")
    redis_server.client.set(worker_key("hangs-1"), b"")
    puzzle, notes = Klotski(), Notes()
    resources = Resources(redis=redis_server.url)
    with open_context(puzzle, PuzzleSpec("klotski"), resources, Control(), notes) as context:
        start = puzzle.keys([puzzle.start])
        for _ in range(3):
            assert len(list(context.executor.map("neighbours", [[start]] * 20))) == 20
        assert context.executor.workers == 1
    (said,) = notes.texts
    assert said == "no worker answers, so this process works alone"
