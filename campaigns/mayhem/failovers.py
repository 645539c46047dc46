"""Failovers of Redis: it is a replica for seconds, or lets nobody in who has not another password."""

import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import ClassVar

import redis

from campaigns.mayhem.queues import ends
from campaigns.mayhem.scene import Disturbed, Scene
from campaigns.mayhem.trials import Measure

#: How many failovers there are in a run, and how long one takes at most.
_FAILOVERS, _FAILOVER_SECONDS = 3, 6.0


def be_replica(client: redis.Redis, chance: Random) -> None:
    """A failover: it is a replica of nobody for a while."""
    client.replicaof("127.0.0.1", "1")
    time.sleep(chance.uniform(0, _FAILOVER_SECONDS))
    client.replicaof("NO", "ONE")


def be_locked(client: redis.Redis, chance: Random) -> None:
    """Another password for a while, which nobody knows, and all connections are closed."""
    client.config_set("requirepass", "another")
    client.client_kill_filter(_type="normal", skipme=True)
    time.sleep(chance.uniform(0, _FAILOVER_SECONDS))
    client.config_set("requirepass", "")


def _failovers(scene: Scene, fail: Callable[[redis.Redis, Random], None]) -> None:
    """One after the other while the run is under way. No worker ends of it, and no run that has begun."""
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
    """A trial is a farmed run of one kind, and one kind of failover."""

    name, usual, short = "failover", 32, (9,)
    headings = ("Redis", "run")
    ways: ClassVar = {
        "is a replica for seconds": partial(_failovers, fail=be_replica),
        "has another password for seconds": partial(_failovers, fail=be_locked),
    }
    measures: ClassVar = {
        "harms": Measure("failovers"),
        "refused": Measure("runs ended by name, and gone on with"),
        "twice": Measure("made twice"),
    }
    text = """\
A run by two workers, in the midst of which Redis is a replica, so that nobody can write, or has another password, so
that it lets nobody in, for up to six seconds and up to three times. No worker may end, and the run must go on by itself
and end as one that nobody disturbed; one that has just begun may be refused with one line that says why."""
