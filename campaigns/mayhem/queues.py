"""Trouble with the one Redis, with what lies in it, with clocks, and with who else uses it."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import redis

from campaigns.mayhem.proxies import Proxy
from campaigns.mayhem.scene import Scene
from campaigns.mayhem.shim import be_on_clock, require_preloaded
from campaigns.mayhem.trials import Measure, Outcome, Part, Trial
from campaigns.mayhem.works import WORKS, undisturbed_in
from tests.system.helpers import ROOT, Running, clean_environment
from worker.transport.names import QUEUE

_MOST_SECONDS = 180
#: How often somebody does harm while a run is under way, and how long he waits in between at most.
_HARMS, _PAUSE_SECONDS = 40, 0.1
_HOUR = 3600
#: A program that is no worker of this version.
_OTHER = {
    "number": "from puzzles.sliding_blocks.klotski import Klotski; Klotski.version = 0",
    "task": "from worker.tasks import SHUFFLES, TASKS; SHUFFLES.clear(); TASKS.clear()",
    "field": "from worker.transport import rq_worker; rq_worker.TaskRequest = lambda session, token: None",
}


def _little_room(scene: Scene, policy: str) -> None:
    client = scene.one_redis.client
    used = client.info("memory")["used_memory"]
    client.config_set("maxmemory", used + scene.chance.choice((200_000, 1_000_000, 3_000_000)))
    client.config_set("maxmemory-policy", policy)
    _ends(scene, scene.drive())


def _through(scene: Scene, **options: Any) -> None:
    """All but the harm itself goes through a door; workers too."""
    with Proxy(scene.one_redis.port, scene.chance, **options) as proxy:
        scene.url = proxy.url
        scene.hosts.append(scene.start_host(1, {}))
        running = scene.drive()
        _ends(scene, running)
        scene.outcome.figures["harms"] += proxy.cuts


def _ends(scene: Scene, running: Running) -> None:
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


def _beside(scene: Scene, harm: Callable[[redis.Redis, Random], bool]) -> None:
    """Somebody does harm now and then while the run is under way."""
    running = scene.drive()
    for _ in range(_HARMS):
        if not scene.let_work(running, _PAUSE_SECONDS):
            break
        scene.outcome.figures["harms"] += harm(scene.one_redis.client, scene.chance)
    _ends(scene, running)


def _double_jobs(client: redis.Redis, chance: Random) -> bool:
    """Jobs of the queue stand there twice, in another order."""
    queue = f"rq:queue:{QUEUE}"
    if not (jobs := client.lrange(queue, 0, -1)):
        return False
    jobs = [*jobs, *chance.sample(jobs, chance.randint(1, len(jobs)))]
    chance.shuffle(jobs)
    pipeline = client.pipeline(transaction=True)
    pipeline.delete(queue)
    pipeline.rpush(queue, *jobs)
    pipeline.execute()
    return True


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
    return True


def _jump(scene: Scene, seconds: int) -> None:
    """The clock of all processes jumps while they are at work, and later back."""
    require_preloaded()
    clock = scene.place / "clock"
    clock.write_bytes(bytes(8))
    scene.before = partial(be_on_clock, scene.work.before, clock)
    running = scene.drive()
    if scene.let_work(running, scene.seconds):
        clock.write_bytes(seconds.to_bytes(8, sys.byteorder, signed=True))
        scene.outcome.figures["harms"] += 1
    if scene.let_work(running, scene.seconds):
        clock.write_bytes(bytes(8))
        scene.outcome.figures["harms"] += 1
    scene.finish(running)
    scene.before = scene.work.before


@contextmanager
def _other_worker(scene: Scene, change: str) -> Iterator[None]:
    program = f"{change}\nfrom worker.main import main\nmain()"
    environment = clean_environment(HAKOIRI_REDIS=scene.one_redis.url)
    other = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, cwd=ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        other.kill()
        other.wait()


def _with_other_version(scene: Scene) -> None:
    with _other_worker(scene, _OTHER[scene.chance.choice(sorted(_OTHER))]):
        time.sleep(scene.chance.uniform(0, 3))
        scene.outcome.figures["harms"] += 1
        scene.finish(scene.drive())


def _protocol(scene: Scene, number: int) -> None:
    scene.url = f"{scene.one_redis.url}?protocol={number}"
    scene.hosts.append(scene.start_host(1, {}))
    scene.finish(scene.drive())


TROUBLES: dict[str, Callable[[Scene], None]] = {
    "no room (noeviction)": partial(_little_room, policy="noeviction"),
    "eviction (allkeys-random)": partial(_little_room, policy="allkeys-random"),
    "slow": partial(_through, pause=0.002),
    "connections cut": partial(_through, most=2_000_000),
    "jobs doubled and reordered": partial(_beside, harm=_double_jobs),
    "garbage in keys": partial(_beside, harm=_spoil_key),
    "keys of other programs": partial(_beside, harm=_other_keys),
    "clock an hour ahead": partial(_jump, seconds=_HOUR),
    "clock an hour behind": partial(_jump, seconds=-_HOUR),
    "worker of another version": _with_other_version,
    "RESP2": partial(_protocol, number=2),
    "RESP3": partial(_protocol, number=3),
}


class Queues(Part):
    """A trial is a farmed run of one kind, and one kind of trouble."""

    name, usual, short = "redis", 288, (5,)
    headings = ("trouble", "run")
    measures: ClassVar = {
        "harms": Measure("harms done"),
        "refused": Measure("runs ended by name, and gone on with"),
        "twice": Measure("made twice"),
    }
    text = """\
A run by two workers, and a Redis with little room, one that throws keys away, that is slow or whose connections are cut
after some bytes; jobs that are in the queue twice and in another order; values that are overwritten, of another kind or
gone; keys of other programs; clocks that jump by an hour and back; a worker of another version. The run must end as
one that nobody disturbed, at once or, where it was ended with one line that says why, when it is gone on with."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._undisturbed = undisturbed_in(place / "undisturbed")

    def run(self, trial: Trial) -> Outcome:
        troubles, works = list(TROUBLES), list(WORKS.values())
        trouble = troubles[trial.number % len(troubles)]
        work = works[(trial.number + trial.number // len(troubles)) % len(works)]
        scene = Scene(work, self._undisturbed, self.place / trial.name, trial.chance())
        scene.outcome = Outcome(f"{trouble} / {work.name}", dict.fromkeys(self.measures, 0))
        with scene.ended:
            scene.farm(hosts=1, workers=2)
            TROUBLES[trouble](scene)
            return scene.judge()
