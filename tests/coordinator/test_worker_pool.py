"""The workers of a run by a clock: when the coordinator is alone, and who is left out."""

from typing import cast

import pytest
import redis

from hakoiri.coordinator.executors import worker_pool
from hakoiri.coordinator.executors.worker_pool import WorkerPool
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.errors import Hint
from tests.support.runs import Notes


class Made:
    """A company, its Redis, the clock that it goes by, and what it has said."""

    def __init__(self) -> None:
        self.now, self.notes, self.work_log = 100.0, Notes(), WorkLog()
        self.living, self.coming = set[str](), set[str]()

    def monotonic(self) -> float:
        """The time."""
        return self.now

    def look(self) -> None:
        """See who lives."""
        self.company.look(cast(redis.Redis, None), None)

    def begin(self) -> None:
        """The company of a run that begins now."""
        self.company = WorkerPool(self.notes, self.work_log)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    found = Made()
    monkeypatch.setattr(worker_pool, "time", found)
    monkeypatch.setattr(worker_pool, "living_workers", lambda connection: dict.fromkeys(found.living, ""))
    found.begin()
    return found


def test_the_coordinator_is_alone_two_seconds_after_it_saw_a_worker_last(made: Made) -> None:
    for moment, is_away in ((0, False), (1.9, False), (2.0, True)):
        made.now = 100 + moment
        assert made.company.is_away == is_away
    made.living = {"one", "two"}
    made.look()
    assert (made.company.living, made.company.is_away) == ({"one", "two"}, False)
    made.living = set()
    made.now += 1.9
    made.look()
    assert (made.company.living, made.company.is_away) == (set(), False)
    made.now += 0.1
    assert made.company.is_away
    made.company.expect_all()
    assert not made.company.is_away


def test_the_coordinator_is_not_alone_while_its_own_workers_are_still_to_come(made: Made) -> None:
    made.coming = {"own"}
    made.company.expect(lambda: made.coming)
    made.now += 60
    assert not made.company.is_away
    made.look()
    assert not made.company.is_away
    made.living = {"own"}
    made.look()
    made.living = set()
    made.now += 60
    made.look()
    assert made.company.is_away, "it came and went"


def test_a_worker_that_is_left_out_is_told_once_and_is_no_company(made: Made) -> None:
    made.living = {"good", "odd", "liar"}
    made.work_log.untrusted.append("liar")
    made.look()
    assert made.company.living == {"good", "odd"}
    for _ in range(2):
        made.company.exclude("odd", "it has other code")
    assert made.company.living == {"good"}
    assert made.notes.texts == ["worker odd is excluded from this run: it has other code"]
    made.living.remove("good")
    made.now += 2
    made.look()
    assert (made.company.living, made.company.is_away) == (set(), True)


@pytest.mark.parametrize("which", ["no worker", "no other worker"])
def test_that_the_coordinator_works_alone_is_said_once_each_time(which: str, made: Made) -> None:
    if which == "no other worker":
        made.company.exclude("odd", "it has other code")
        made.notes.texts.clear()
    said = f"{which} listens on Redis, so this process works alone"
    for _ in range(2):
        made.company.say_alone("redis://:secret@host:1/0")
    assert made.notes.texts == [said]
    made.living = {"good"}
    made.look()
    made.company.say_alone("redis://:secret@host:1/0")
    assert made.notes.texts == [said, said]
    assert made.notes.hints[-1] == (Hint("worker", "redis://host:1/0"),)
