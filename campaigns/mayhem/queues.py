"""Trouble with the one Redis, with what lies in it, and with who else uses it."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, ClassVar

import redis

from campaigns.mayhem.proxies import Proxy
from campaigns.mayhem.scene import Disturbed, Scene
from campaigns.mayhem.trials import TWICE, Measure
from campaigns.mayhem.works import FOR_WORKERS
from hakoiri.worker.transport.connection import QUEUE, SHARED_TYPES, own_queue, worker_key
from tests.support.commands import Running

_MOST_SECONDS = 180
#: The number of harms while a run is under way, and the most seconds between two.
_HARMS, _PAUSE_SECONDS = 40, 0.1
#: How often to look for what exists for a moment only.
_LOOKS = 50
#: Names of RQ's that Hakoiri has no need of.
_OF_RQ = ("rq:groups", "rq:rl-keys", f"rq:failed:{QUEUE}", f"rq:finished:{QUEUE}", f"rq:ready:{QUEUE}")


def _little_room(scene: Scene, policy: str) -> None:
    scene.farm()
    _limit(scene.one_redis.client, scene.chance, policy)
    running = scene.drive()
    running.finish(_MOST_SECONDS)
    scene.outcome.figures["harms"] += _missed(scene.one_redis.client)
    ends(scene, running)


def _limit(client: redis.Redis, chance: Random, policy: str) -> None:
    used = client.info("memory")["used_memory"]
    client.config_set("maxmemory-policy", policy)
    client.config_set("maxmemory", used + chance.choice((5_000, 50_000, 300_000)))


def _missed(client: redis.Redis) -> int:
    """Return the number of keys that Redis evicted and of commands that it refused."""
    refused = client.info("errorstats").get("errorstat_OOM", {}).get("count", 0)
    return int(client.info("stats")["evicted_keys"]) + int(refused)


def _through(scene: Scene, **options: Any) -> None:
    """All but the harm itself goes through a door; a worker too."""
    scene.farm()
    with Proxy(scene.one_redis.port, scene.chance, **options) as proxy:
        scene.url = proxy.url
        scene.hosts.append(scene.start_host())
        running = scene.drive()
        ends(scene, running)
        scene.outcome.figures["harms"] += proxy.cuts


def ends(scene: Scene, running: Running) -> None:
    """Right, or refused by name; then it is gone on with, when what was wrong is put right."""
    ended = running.finish(_MOST_SECONDS)
    if ended.code == 1 and "hakoiri: " in ended.stderr and "Traceback" not in ended.stderr:
        scene.outcome.figures["refused"] += 1
        for host in scene.hosts[1:]:
            host.end()
        scene.url = scene.one_redis.url
        scene.one_redis.client.config_set("maxmemory", 0)
        scene.one_redis.flush()
        running = scene.drive()
    scene.finish(running)


def _beside(scene: Scene, harm: Callable[[redis.Redis, Random], bool], **hosts: Any) -> None:
    """Do harm now and then while the run is under way."""
    scene.farm(**hosts)
    running = scene.drive()
    for _ in range(_HARMS):
        if not scene.let_work(running, _PAUSE_SECONDS):
            break
        scene.outcome.figures["harms"] += harm(scene.one_redis.client, scene.chance)
    ends(scene, running)


def _double_jobs(client: redis.Redis, chance: Random) -> bool:
    """Jobs stand in a queue twice, in another order: in that for all, or in one for a worker, perhaps another's."""
    queues = sorted(client.scan_iter(f"rq:queue:{QUEUE}*", count=1000, _type="list"))
    return bool(queues) and _double(client, chance, chance.choice(queues), chance.choice(queues))


def _double(client: redis.Redis, chance: Random, queue: bytes, into: bytes) -> bool:
    if not (entries := client.lrange(queue, 0, -1)):
        return False
    entries = [*entries, *chance.sample(entries, chance.randint(1, len(entries)))]
    chance.shuffle(entries)
    pipeline = client.pipeline(transaction=True)
    pipeline.delete(queue)
    pipeline.rpush(into, *entries)
    pipeline.execute()
    return True


def _double_events(client: redis.Redis, chance: Random) -> bool:
    """The same of what workers tell, which is there for a moment only."""
    for _ in range(_LOOKS):
        for events in client.scan_iter("hakoiri:*:events", count=1000):
            if _double(client, chance, events, events):
                return True
    return False


def _spoil_key(client: redis.Redis, chance: Random) -> bool:
    """A value is other bytes than it was, of another kind, or gone."""
    keys = sorted(client.scan_iter(count=1000))
    if not keys:
        return False
    key = chance.choice(keys)
    how, kind = chance.randrange(4), client.type(key)
    if how == 0:
        client.delete(key)
    elif how == 1 and kind == b"string" and (length := client.strlen(key)):
        client.setrange(key, chance.randrange(length), chance.randbytes(1))
    elif how == 2 and kind == b"hash" and (names := sorted(client.hkeys(key))):
        client.hset(key, chance.choice(names), chance.randbytes(chance.randrange(40)))
    elif kind == b"list":
        client.lpush(key, chance.randbytes(chance.randrange(60)))
    else:
        client.delete(key)
        client.rpush(key, chance.randbytes(20)) if kind == b"string" else client.set(key, chance.randbytes(20))
    return True


def _other_keys(client: redis.Redis, chance: Random) -> bool:
    """Another program that uses RQ, and one that uses names like ours."""
    number = chance.randrange(1 << 20)
    client.hset(f"rq:job:{number}", mapping={"data": chance.randbytes(30), "status": "queued"})
    client.rpush("rq:queue:default", f"{number}")
    client.sadd("rq:queues", "rq:queue:default")
    client.set(f"hakoiri:{number}:in:0.1", chance.randbytes(50))
    client.lpush(f"hakoiri:{number}:events", chance.randbytes(50))
    client.sadd("hakoiri:workers", f"stranger-{number}")
    client.set("rq:suspended", 1)
    client.delete(name := chance.choice(_OF_RQ))
    client.set(name, "something else")
    client.rpush(f"rq:queue:{QUEUE}", chance.randbytes(9), f"{number}")
    return True


def _taken_names(client: redis.Redis, chance: Random) -> bool:
    """A name that Hakoiri needs holds a value of another type, until it is removed."""
    beats = [beat.decode() for beat in client.scan_iter(worker_key("*"), count=1000)]
    own = [name for beat in beats for name in (beat, f"rq:queue:{own_queue(beat.rpartition(':')[2])}")]
    name = chance.choice([*sorted(SHARED_TYPES), *sorted(own)])
    client.delete(name)
    if chance.random() < 0.5:
        client.set(name, "something else") if name in SHARED_TYPES else client.sadd(name, "something else")
    return True


def _protocol(scene: Scene, number: int) -> None:
    scene.farm(options=f"?protocol={number}")
    scene.finish(scene.drive())


class Queues(Disturbed):
    """A trial is a farmed run of one kind, and one kind of trouble."""

    name, usual, short = "redis", 260, (8,)
    headings = ("trouble", "run")
    works = FOR_WORKERS
    ways: ClassVar = {
        "no room (noeviction)": partial(_little_room, policy="noeviction"),
        "eviction (allkeys-random)": partial(_little_room, policy="allkeys-random"),
        "eviction (allkeys-lru)": partial(_little_room, policy="allkeys-lru"),
        "eviction (volatile-ttl)": partial(_little_room, policy="volatile-ttl"),
        "slow": partial(_through, pause=0.002),
        "connections cut": partial(_through, most=2_000_000),
        "jobs doubled and reordered": partial(_beside, harm=_double_jobs),
        "garbage in keys": partial(_beside, harm=_spoil_key),
        "keys of other programs": partial(_beside, harm=_other_keys),
        "names of Hakoiri's taken": partial(_beside, harm=_taken_names),
        "RESP2": partial(_protocol, number=2),
        "RESP3": partial(_protocol, number=3),
        "events doubled and reordered": partial(_beside, harm=_double_events),
    }
    measures: ClassVar = {
        "harms": Measure("harms done"),
        "refused": Measure("runs ended by name, and gone on with"),
        **TWICE,
    }
    text = """\
Each trial is a run by two workers, and a Redis that does harm. It has little room, throws keys away, is slow, or cuts
connections after some bytes. Jobs are in the queues twice, in another order or in that of another worker, and events
come twice and in another order. Values are overwritten, of another type or gone. Other programs have keys there, under
names of RQ and of Hakoiri, too, and suspend the workers. *Harms done* counts these, connections cut, keys thrown away
and commands refused. The run must find the same as an undisturbed run, at once or, if it ended with one line that gives
the reason, when it is resumed."""
