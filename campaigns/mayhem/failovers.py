"""Failovers of Redis: for some seconds it is a read-only replica, or requires another password."""

import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import ClassVar

import redis

from campaigns.mayhem.queues import ends
from campaigns.mayhem.scene import Disturbed, Scene
from campaigns.mayhem.trials import TWICE, Measure
from campaigns.mayhem.works import FOR_WORKERS

#: The failovers in a run, and the most seconds that one takes.
_FAILOVERS, _FAILOVER_SECONDS = 3, 6.0


def be_replica(client: redis.Redis, chance: Random) -> None:
    """Make Redis a read-only replica for up to six seconds."""
    client.replicaof("127.0.0.1", "1")
    time.sleep(chance.uniform(0, _FAILOVER_SECONDS))
    client.replicaof("NO", "ONE")


def be_locked(client: redis.Redis, chance: Random) -> None:
    """Require another password for up to six seconds, and close all connections."""
    client.config_set("requirepass", "another")
    client.client_kill_filter(_type="normal", skipme=True)
    time.sleep(chance.uniform(0, _FAILOVER_SECONDS))
    client.config_set("requirepass", "")


def _failovers(scene: Scene, fail: Callable[[redis.Redis, Random], None]) -> None:
    """Fail over while the run is under way. No worker may end, and no run that has begun."""
    scene.farm()
    before = {child.pid for child in scene.children(data_redis=False)}
    running = scene.drive()
    with redis.Redis.from_url(scene.one_redis.url, single_connection_client=True) as client:
        for _ in range(_FAILOVERS):
            if not scene.let_work(running, scene.seconds):
                break
            fail(client, scene.chance)
            scene.outcome.figures["harms"] += 1
    ends(scene, running)
    if before != {child.pid for child in scene.children(data_redis=False)}:
        scene.outcome.faults.append("workers have ended")


class Failovers(Disturbed):
    """A trial is a run by workers and one kind of failover."""

    name, usual, short = "failover", 40, (0,)
    headings = ("Redis", "run")
    works = FOR_WORKERS
    ways: ClassVar = {
        "is a replica for seconds": partial(_failovers, fail=be_replica),
        "has another password for seconds": partial(_failovers, fail=be_locked),
    }
    measures: ClassVar = {
        "harms": Measure("failovers"),
        "refused": Measure("runs refused with a reason, and resumed"),
        **TWICE,
    }
    text = """\
During a run by two workers, Redis is a read-only replica, or requires another password, for up to six seconds and up to
three times. No worker may end. The run must continue by itself and find the same as an undisturbed run; one that has
just begun may be refused with one line that gives the reason."""
