"""Hosts make the large layers of a run if the user says so, or if they have twice the threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.executors import remote, worker_pool
from hakoiri.coordinator.hosts import hosts as hosts_module
from hakoiri.coordinator.hosts.hosts import (
    HostGoneError,
    HostLostError,
    HostPool,
    HostRefusedError,
    TooFewHostsError,
)
from hakoiri.coordinator.runs import opening
from hakoiri.coordinator.session.resources import DEFAULT, Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import WorkerError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker import supervisor
from hakoiri.worker.transport.connection import HostBeat
from tests.support.runs import Notes


def pool_of(wanted: int | None) -> HostPool:
    made = HostPool.__new__(HostPool)
    vars(made).update(wanted=wanted, _redis=None, _mute={}, _refusing={}, copies=1)
    return made


@pytest.mark.parametrize(
    ("wanted", "threads", "pays"),
    [
        (None, [], False), (None, [3, 4], False), (None, [4, 4], True), (None, [8], True), (None, [7], False),
        (0, [1], True), (0, [], True), (3, [1], True),
    ],
)  # fmt: skip
def test_hosts_pay_with_twice_the_threads_or_where_they_are_asked_for(
    wanted: int | None, threads: list[int], pays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    living = {f"host-{number}": HostBeat("1-a", count, "") for number, count in enumerate(threads)}
    monkeypatch.setattr(hosts_module, "living_hosts", lambda connection: living)
    monkeypatch.setattr(hosts_module, "draining_hosts", lambda connection: set())
    assert pool_of(wanted).pays(4, 0.3) == pays
    assert pool_of(wanted).pays(4, 0.2) == (pays and wanted is not None)


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> HostPool:
    """A pool of three hosts of four threads: `a` has refused, and `b` is to leave."""
    living = {name: HostBeat(f"1-{name}", 4, "") for name in "abc"}
    monkeypatch.setattr(hosts_module, "living_hosts", lambda connection: living)
    monkeypatch.setattr(hosts_module, "draining_hosts", lambda connection: {"b"})
    made, retry = pool_of(None), SimpleNamespace(call=lambda call: call())
    vars(made).update(_observer=Notes(), _control=Control(), _redis_retry=retry)
    made.exclude(HostRefusedError("a", "1-a", "its code differs"))
    return made


def test_hosts_that_refuse_or_are_to_leave_do_not_pay(three: HostPool) -> None:
    assert three.pays(2, 9.0)
    assert not three.pays(3, 9.0)
    assert vars(three)["_observer"].texts == ["host a is excluded from this run: its code differs"]


def test_hosts_that_refuse_or_are_to_leave_are_not_chosen(three: HostPool) -> None:
    """A member stays one, whatever it refuses."""
    assert three.choose() == ["c"]
    assert three.living().keys() == {*"abc"}
    three.wanted = 2
    with pytest.raises(TooFewHostsError, match="1 host live, 2 are wanted; b are to leave; excluded: a"):
        three.choose(again=True)


@pytest.mark.parametrize("error", [redis.ConnectionError("cut"), redis.TimeoutError("slow")])
def test_threads_need_not_wait_for_redis(error: redis.RedisError, monkeypatch: pytest.MonkeyPatch) -> None:
    def living(connection: object) -> None:
        raise error

    monkeypatch.setattr(hosts_module, "living_hosts", living)
    assert not pool_of(None).pays(4, 9.0)


@pytest.mark.parametrize(
    ("asked", "by_hosts", "wanted"),
    [(None, True, "None"), (0, True, "0"), (3, True, "3"), (-1, True, "none"), (None, False, "none")],
)
def test_a_search_that_hosts_may_keep_asks_for_them_unless_it_is_told_not_to(
    asked: int | None, by_hosts: bool, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def no_workers(*_: Any) -> Iterator[Any]:
        yield set

    made = SimpleNamespace(close=lambda: None, work_log=None)
    monkeypatch.setattr(remote, "remote_executor", lambda *_: made)
    monkeypatch.setattr(worker_pool, "await_redis", lambda *_: None)
    monkeypatch.setattr(supervisor, "supervised", no_workers)
    monkeypatch.setattr(hosts_module, "HostPool", lambda *given: str(given[-3]))
    spec, resources = PuzzleSpec("hanoi"), Resources(redis="redis://den", hosts=asked)
    with opening.open_context(spec.build(), spec, resources, Control(), SilentObserver(), by_hosts) as context:
        assert (context.hosts or "none") == wanted


def test_what_is_lost_again_and_again_ends_the_session() -> None:
    """Unless more rounds are kept each time."""
    made, kept, lost = pool_of(0), [0], list[int]()
    tuning = replace(DEFAULT, most_losses=3, host_pause=0.0)
    vars(made).update(_control=Control(), _observer=SilentObserver(), tuning=tuning)

    def work() -> None:
        lost.append(kept[0])
        if len(lost) < 6:
            kept[0] += 1
        raise HostLostError("host a is away")

    with pytest.raises(WorkerError, match="layer 5 was lost 3 times, the last time because host a is away"):
        made.insist("layer 5", work, lambda: kept[0])
    assert lost == [0, 1, 2, 3, 4, 5, 5]


@pytest.mark.parametrize(
    ("others_wait", "dispensable", "ends"),
    [(True, [], WorkerError), (True, ["b"], HostGoneError), (False, [], StopRun), (False, ["b"], HostGoneError)],
)
def test_a_run_that_waits_for_a_host_makes_room_for_others_that_are_queued(
    others_wait: bool, dispensable: list[str], ends: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run waits for ten seconds; if no other run is queued, or other hosts have copies, until these limits end."""
    made, control, now = pool_of(0), Control(), [0.0]
    monkeypatch.setattr(hosts_module, "living_hosts", lambda connection: {"a": HostBeat("1-a", 1, "")})
    monkeypatch.setattr(HostPool, "draining", lambda pool: set())
    control.others_wait = lambda: others_wait

    def sleep(seconds: float) -> None:
        now[0] += seconds
        if now[0] > 2 * DEFAULT.away:
            control.interrupt("the end of the test")

    monkeypatch.setattr(hosts_module, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    retry = SimpleNamespace(call=lambda call: call())
    vars(made).update(_control=control, _observer=SilentObserver(), tuning=DEFAULT, _redis_retry=retry)
    with pytest.raises(ends) as raised:
        made.await_all(["a", "b"], dispensable)
    assert raised.type is ends
    if ends is WorkerError:
        assert str(raised.value).startswith("host b is away, and other runs are queued")
        assert DEFAULT.place < now[0] < DEFAULT.place + 1
