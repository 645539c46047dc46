"""Chunks on their way to workers: which are sent again, to whom, and which are done here."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hakoiri.coordinator.executors import remote
from hakoiri.coordinator.executors.in_flight import Chunk
from hakoiri.coordinator.executors.remote import RemoteExecutor
from hakoiri.coordinator.runs import opening
from hakoiri.coordinator.session.resources import DEFAULT, Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import TaskError
from hakoiri.hints import worded
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker import supervisor
from hakoiri.worker.transport import connection
from hakoiri.worker.transport.payload import Event

LONG_AGO = 60.0


def chunk_of(number: int, begun_by: str = "") -> Chunk:
    """One that was sent a minute ago."""
    begun = {1: begun_by} if begun_by else {}
    return Chunk(number, f"1.{number}", b"", 9.0, 1, time.monotonic() - LONG_AGO, begun=begun)


def executor_of(**parts: Any) -> RemoteExecutor:
    """An executor that consists of these parts alone."""
    made = RemoteExecutor.__new__(RemoteExecutor)
    vars(made).update(parts)
    return made


def test_a_job_in_no_queue_that_no_worker_has_begun_is_lost() -> None:
    executor = executor_of(_workers=SimpleNamespace(living={"a"}), _queued_at=0.0)
    now = time.monotonic()
    assert executor._why_lost(chunk_of(0), True, now) == "its job is in no queue and no worker has begun it"
    assert executor._why_lost(chunk_of(0, begun_by="a"), True, now) == ""
    assert executor._why_lost(chunk_of(0), True, now - LONG_AGO) == ""
    assert executor._why_lost(chunk_of(0, begun_by="b"), True, now) == "worker b died"
    assert executor._why_lost(chunk_of(0), False, now) == "Redis lost its data"


def test_a_run_that_loses_its_workers_says_how_much_memory_they_take() -> None:
    executor = executor_of(_tuning=DEFAULT, _in_flight=SimpleNamespace(task="forest"))
    chunk = chunk_of(2)
    chunk.losses = DEFAULT.most_losses - 1
    with pytest.raises(TaskError, match=r"lost 25 times.*worker b died;.* 400 MB for each worker") as raised:
        executor._lose(chunk, "worker b died")
    assert re.search("; leave out --redis or HAKOIRI_REDIS; set --memory [0-9]+MB$", worded("", raised.value.hints))


@pytest.mark.parametrize(("worker", "result"), [("good", None), ("bad", [np.arange(3)])])
def test_a_result_that_is_gone_or_of_a_worker_that_is_left_out_is_asked_for_again(worker: str, result: Any) -> None:
    sent: list[Chunk] = []
    flight, chunk = SimpleNamespace(fetch=lambda *_: result, send=sent.append), chunk_of(0, begun_by=worker)
    executor = executor_of(_in_flight=flight, work_log=SimpleNamespace(untrusted=["bad"]))
    assert list(executor._take_in(chunk, Event("done", chunk.token, 1, worker))) == []
    assert sent == [chunk]


@pytest.mark.parametrize(("is_away", "chunks"), [(True, {}), (False, {"1.0": chunk_of(0)}), (False, {})])
def test_nothing_is_done_here_while_there_are_workers_or_where_nothing_is_left(is_away: bool, chunks: Any) -> None:
    executor = executor_of(_workers=SimpleNamespace(is_away=is_away), _in_flight=SimpleNamespace(chunks=chunks))
    assert list(executor._work_alone()) == []


@pytest.mark.parametrize(("deadline", "expected"), [(None, DEFAULT.deadline), (7.0, 7.0)])
def test_the_deadline_of_a_chunk_is_the_users_or_the_usual_one(
    deadline: float | None, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def nobody(*_: Any) -> Iterator[Any]:
        yield set

    made = SimpleNamespace(expect=lambda names: None, close=lambda: None)
    given: list[Any] = []
    monkeypatch.setattr(remote, "RemoteExecutor", lambda *parts: given.extend(parts) or made)
    monkeypatch.setattr(connection, "connect", lambda url: None)
    monkeypatch.setattr(supervisor, "supervised", nobody)
    spec, resources = PuzzleSpec("hanoi"), Resources(redis="redis://den", deadline=deadline)
    with opening.open_context(spec.build(), spec, resources, Control(), SilentObserver()) as context:
        assert context.executor is made
    assert [part.deadline for part in given if isinstance(part, type(DEFAULT))] == [expected]
