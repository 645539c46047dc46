"""Heartbeats of hosts: two hosts of one name find each other, and what only seems to be a host is left out."""

import os
import secrets
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from hakoiri.coordinator.hosts import hosts
from hakoiri.coordinator.hosts.hosts import HostLostError, HostPool
from hakoiri.coordinator.session.resources import DEFAULT
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import WorkerError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.transport import connection
from hakoiri.worker.transport.connection import (
    HOSTS,
    HostBeat,
    living_hosts,
    require_own_name,
    start_heartbeat,
    worker_key,
)
from tests.support.servers import RedisServer


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisServer]:
    """A Redis; heartbeats are fast."""
    monkeypatch.setattr(connection, "BEAT_SECONDS", 0.02)
    with RedisServer(tmp_path / "redis") as found:
        yield found


def beat_of(place: str) -> str:
    return str(HostBeat(f"{os.getpid()}-{secrets.token_hex(4)}-{place}", 2, "", idle=True))


def test_a_copied_directory_has_no_second_host(server: RedisServer) -> None:
    end = start_heartbeat("one", server.client, None, lambda: beat_of("here"), HOSTS, "here")
    require_own_name(server.client, "one", "here")
    with pytest.raises(WorkerError, match="two hosts have the name one, because a directory was copied"):
        require_own_name(server.client, "one", "there")
    end()
    require_own_name(server.client, "one", "there")
    # A dead one is waited for.
    server.client.set(worker_key("one"), beat_of("here"), px=200)
    require_own_name(server.client, "one", "there")
    assert server.client.get(worker_key("one")) is None


def test_two_hosts_of_one_name_that_begin_at_once_end(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    ended, one_has = list[int](), threading.Event()

    def end(code: int) -> None:
        ended.append(code)
        one_has.set()

    monkeypatch.setattr(os, "_exit", end)
    begin = partial(start_heartbeat, "one", server.client, None)
    ends = [begin(partial(beat_of, place), HOSTS, place) for place in ("here", "there")]
    assert one_has.wait(10)
    assert {*ended} == {1}
    for stop in ends:
        stop()


def test_the_names_of_hosts_match_one_pattern(server: RedisServer) -> None:
    for name in ("host-1.lan", "with blank", "a/../b", "", "x" * 201):
        server.client.sadd(HOSTS, name)
        server.client.set(worker_key(name), beat_of("here"))
    assert [*living_hosts(server.client)] == ["host-1.lan"]


def test_who_is_idle_and_takes_no_request_counts_as_away(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("_WAIT_SECONDS", 0.01), ("_LOOK_SECONDS", 0.0), ("_TAKEN_SECONDS", 0.0)):
        monkeypatch.setattr(hosts, name, seconds)
    server.client.sadd(HOSTS, "ghost")
    server.client.set(worker_key("ghost"), beat_of("nowhere"))
    spec = PuzzleSpec("klotski")
    pool = HostPool(server.url, server.client, spec.build(), spec, Control(), SilentObserver(), DEFAULT, 0)
    assert pool.choose() == ["ghost"]
    with pytest.raises(HostLostError, match="host ghost is alive, but takes no requests"):
        pool.ask("host-take", {"ghost": []}, pool.living())
    with pytest.raises(HostLostError, match="0 hosts live, 1 are wanted"):
        pool.choose(again=True)
    # Another process by this name is another host.
    server.client.set(worker_key("ghost"), beat_of("somewhere"))
    assert pool.choose() == ["ghost"]
