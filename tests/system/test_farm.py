"""Runs by RQ workers: the same figures and digests as by threads, whatever happens to Redis, and nothing left in it."""

import os
import random
import re
import signal
import subprocess
import sys
import time
import zlib
from contextlib import ExitStack
from dataclasses import fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from socket import gethostname
from typing import Any

import msgpack
import psutil
import pytest
import redis
from rq import Worker

from hakoiri.api import explore
from hakoiri.coordinator.hosts.hosts import HostPool
from hakoiri.coordinator.layers.memory_maker import LayersMaker
from hakoiri.coordinator.session.resources import Budget, Resources, Tuning
from hakoiri.worker.transport.connection import QUEUE, living_workers
from hakoiri.worker.transport.payload import TaskRequest
from tests.support.commands import START_OF_201, START_OF_248, FinishedRuns, Hakoiri, await_end, wait_until
from tests.support.published import HAKOIRI as KNOWN
from tests.support.servers import RedisServer, Workers, by_workers, comes_out_right, held_run, started_host
from tests.support.toy_runs import be_quick, before_call
from tests.system.conftest import StartWorkers

SLOW = pytest.mark.slow
#: What Redis says of a key without a time to live.
FOR_EVER = -1
#: What may stay in Redis: who lives, and RQ's list of workers and queues.
BOOKKEEPING = re.compile(rb"hakoiri:workers?(:.+)?|rq:workers?(:.+)?|rq:queues")
#: What RQ keeps to look after its queue, and must let pass.
HOUSEKEEPING = re.compile(rb"rq:clean_(registries|groups).*|rq:queue:hakoiri:intermediate:first_seen:.+")


def leftovers(client: redis.Redis) -> list[bytes]:
    """The keys that belong to a run or to a job."""
    others = [key for key in client.scan_iter() if not BOOKKEEPING.fullmatch(key)]
    return [key for key in others if not HOUSEKEEPING.fullmatch(key) or client.ttl(key) == FOR_EVER]


# The figures


@pytest.mark.ci_slow
def test_an_exploration_by_workers(farm: Workers, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    """All but the first layer, and each says by whom."""
    found = hakoiri.ask("run", "klotski", "--redis", farm.url, "--farm", "always")
    assert_explored(found, hakoiri, finished)
    work_log = hakoiri.ask("status", "last")["work_log"]
    assert work_log["layers"] == {
        "small": {"layers": 1, "configurations": 1}, "workers": {"layers": 167, "configurations": 25_954}
    }  # fmt: skip
    expanders, (host,) = work_log["expanders"], work_log["hosts"]
    assert len(expanders) == host["workers"] == 2
    assert sum(row["chunks"] for row in expanders) == host["chunks"]["expand"] >= 168
    assert sum(row["configurations"] for row in expanders) == KNOWN["reachable"]
    assert all(row["name"] and min(row["seconds"], row["sent"], row["received"]) > 0 for row in expanders)
    layers = hakoiri.ask("layers", "last")["layers"]
    for before, layer in pairwise(layers):
        assert sum(row["configurations"] for row in layer["expanded_by"]) == before["size"]
        # Each has a chunk, unless it would have fewer configurations than some 64. Whether a smaller layer is cut
        # depends on the seconds that its sample takes: tests of the plan give them.
        assert sum(row["chunks"] for row in layer["expanded_by"]) > 1 or before["size"] < 128, before
    assert any(len(layer["expanded_by"]) == 2 for layer in layers)
    said = hakoiri("status", "last").stdout
    assert f"168 layers: 1 here, 167 by 2 workers in {sum(row['chunks'] for row in expanders)} chunks" in said


@pytest.mark.parametrize("farm_", ["auto", "never"])
def test_compiled_rules_are_expanded_here_unless_asked_for(
    farm_: str, farm: Workers, hakoiri: Hakoiri, finished: FinishedRuns
) -> None:
    with redis.Redis.from_url(farm.url) as client:
        client.config_resetstat()
        ended = hakoiri("run", "klotski", "--redis", farm.url, "--farm", farm_, "--json")
        assert "cmdstat_rpush" not in client.info("commandstats")
    assert_explored(ended.json, hakoiri, finished)
    # On a busy machine expanding may take almost as long as sending would.
    whys = re.findall("layers are expanded here: (sending would take|the largest layer takes)", ended.stderr)
    assert len(whys) == (farm_ == "auto")
    # Who looks later is told, too.
    log, said = hakoiri.ask("status", "last")["work_log"], " ".join(hakoiri("status", "last").stdout.split())
    watched = hakoiri("status", "last", "--watch").stdout
    assert all(whys[0] in text for text in (log["here"], said, watched)) if whys else log["here"] is None
    assert f"168 layers: 168 here{', because' * (farm_ == 'auto')}" in said


#: Layers are made in bitmaps from the first one on.
EARLY_BITMAPS = Tuning(bitmaps_from=1, bitmaps_within=1 << 20)


def digest_by_ranges(hakoiri: Hakoiri) -> str | None:
    """Return the digest of the layers of 7 pancakes, which threads make in ranges of keys."""
    resources = Resources(tuning=Tuning(bitmaps_from=1 << 40))
    with explore("pancakes", options={"n": "7"}, data=hakoiri.data / "ranges", resources=resources) as run:
        return run.store.state.digest


def test_layers_that_are_never_sent_are_made_in_bitmaps(
    redis_server: RedisServer, hakoiri: Hakoiri, workers: StartWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So is each layer once the cost of one is known, and the run says why workers idle. `always` sends all."""
    be_quick(monkeypatch)
    found, expected = list[int](), digest_by_ranges(hakoiri)
    before_call(monkeypatch, LayersMaker, "_merge", lambda *given: found.append(given[2]))
    for farm, layers in (("auto", [*range(2, 10)]), ("always", [])):
        resources = Resources(workers=2, redis=redis_server.url, farm=farm, tuning=EARLY_BITMAPS)
        with (
            workers(redis_server.url, 1),
            explore("pancakes", options={"n": "7"}, data=hakoiri.data / farm, resources=resources) as run,
        ):
            assert run.store.state.digest == expected
            why = run.store.state.work_log.get("here")
            assert (why is None) == (farm == "always")
            assert why is None or re.match("sending would take|the largest layer takes", why)
        assert found == layers
        found.clear()


def test_hosts_that_come_late_go_on_from_bitmaps(
    redis_server: RedisServer, hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_quick(monkeypatch)
    found, ended, expected = list[int](), ExitStack(), digest_by_ranges(hakoiri)

    def come(*given: Any) -> None:
        found.append(given[2])
        if given[2] == 4:
            ended.enter_context(started_host(hakoiri, redis_server.url, hakoiri.data.parent / "host"))

    before_call(monkeypatch, LayersMaker, "_merge", come)
    # However short the layers are.
    monkeypatch.setattr(HostPool, "pays", lambda pool, *_: bool(pool.living()))
    monkeypatch.setattr(Budget, "is_large", lambda *_: True)
    resources = Resources(workers=2, redis=redis_server.url, tuning=EARLY_BITMAPS)
    with ended, explore("pancakes", options={"n": "7"}, data=hakoiri.data, resources=resources) as run:
        assert run.store.state.digest == expected
        assert found == [2, 3, 4]
    assert hakoiri.ask("status", "last")["work_log"]["layers"]["hosts"]["layers"] == 4


SLOW_RULES = """
from hakoiri import U32, Puzzle


class Spinning(Puzzle):
    \"\"\"Numbers, each of which leads to its double and its successor, modulo a prime.\"\"\"

    name = "spinning"
    summary = "plain rules that take a millisecond"
    layout = U32
    most_successors = 2
    undirected = False

    def usual_start(self):
        return 1

    def successors(self, key):
        for _ in range(20_000):
            pass
        return [2 * key % 3_001, (key + 1) % 3_001]

    def render(self, key):
        return str(key)

    def parse_text(self, text):
        return int(text)
"""


@pytest.mark.ci_slow
def test_slow_rules_are_farmed_without_being_asked_for(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    """By two workers that the run starts, and a thread."""
    file = hakoiri.data.parent / "spinning.py"
    puzzle = f"{file}:Spinning"
    file.write_text(SLOW_RULES.replace("20_000", "20"))
    alone = hakoiri.ask("run", puzzle)
    file.write_text(SLOW_RULES)
    ended = hakoiri("run", puzzle, "--redis", redis_server.url, "--workers", "2", "--json")
    assert "expanded here" not in ended.stderr
    for name in ("layers", "digest", "configurations"):
        assert ended.json[name] == alone[name]
    work_log = hakoiri.ask("status", "last")["work_log"]
    assert work_log["layers"]["workers"]["layers"] > 0
    assert {row["name"] is None for row in work_log["expanders"]} == {False, True}
    assert hakoiri.ask("verify", "last")["ok"]


@pytest.mark.ci_slow
def test_a_worker_killed_with_chunks_of_a_frontier_is_replaced_by_others(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers
) -> None:
    """The pancakes of 9 in chunks of 40 milliseconds and more."""
    expected = hakoiri.ask("run", "pancakes", "-o", "n=9")["digest"]
    farmed = ("--redis", redis_server.url, "--farm", "always", "--chunk", "1500", "--json")
    with workers(redis_server.url, 2) as team:
        running = hakoiri.start("run", "pancakes", "-o", "n=9", *farmed)

        def at_work() -> bool:
            log = [row["work_log"] for row in hakoiri.ask("runs")["runs"] if row["status"] == "running"]
            return bool(log and log[0] and sum(row["chunks"] for row in log[0]["expanders"]) > 20)

        wait_until(lambda: at_work() or running.process.poll() is not None, what="chunks done")
        team.kill_one()
        ended = running.finish()
    assert (ended.code, ended.json["digest"]) == (0, expected)


@pytest.mark.ci_slow
def test_the_log_of_a_worker_tells_its_chunks(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers
) -> None:  # fmt: skip
    with workers(redis_server.url, 1) as team:
        hakoiri.ask("run", "klotski", "--redis", redis_server.url, "--farm", "always")
        (pid,) = team.pids()
        team.supervisor.send(signal.SIGTERM)
        said = team.supervisor.finish().stderr
    log = hakoiri.ask("status", "last")["work_log"]
    # A layer that seems slow is cut into several, and a chunk may be sent again.
    chunks = sum(row["chunks"] for row in log["expanders"] if row["name"])
    told = sum(int(number) for number in re.findall(rf"-{pid}: (\d+) expand\n", said))
    assert 168 <= chunks <= told <= chunks + log["repeated"]


def assert_explored(found: dict[str, Any], hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    """Require the figures of the run by threads, and its layers."""
    for name in ("layers", "digest", "depth", "goal_depth", "largest_window", "largest_window_at", "configurations"):
        assert found[name] == finished.explored[name], name
    assert found["configurations"] == KNOWN["reachable"]
    assert [layer["digest"] for layer in hakoiri.ask("layers", "last")["layers"]] == finished.digests()


@pytest.mark.ci_slow
def test_a_census_by_workers(farm: Workers, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    with by_workers():
        found = hakoiri.ask("run", "klotski", "--whole", "--redis", farm.url, "--farm", "0", "--chunk", "5000")
    for name in ("configurations", "components", "edges", "digest"):
        assert found[name] == finished.counted[name], name
    assert (found["configurations"], found["components"]) == (KNOWN["configurations"], KNOWN["components"])
    rows = hakoiri.ask("components", "last")["components"]
    assert rows == finished.hakoiri.ask("components", finished.counted["run"])["components"]


# What lies in Redis


@pytest.mark.ci_slow
def test_nothing_is_left_in_redis(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    running = held_run(hakoiri, redis_server)
    assert leftovers(redis_server.client)
    with workers(redis_server.url, 2):
        comes_out_right(running, finished)
        wait_until(lambda: not leftovers(redis_server.client), what=f"an empty Redis: {leftovers(redis_server.client)}")


@pytest.mark.slow
def test_tools_of_rq_show_who_works(hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers) -> None:
    def shown() -> list[tuple[str, str, str]]:
        tool = [str(Path(sys.executable).with_name("rq")), "info", "--raw", "--url", redis_server.url]
        text = subprocess.run(tool, check=True, capture_output=True, text=True).stdout
        return sorted(
            re.findall(rf"worker {re.escape(gethostname())}-(\d+) .* (\w+) {QUEUE}.*jobs: (\d+) finished", text)
        )

    with workers(redis_server.url, 2) as team:
        hakoiri.ask("run", "klotski", "--redis", redis_server.url, "--farm", "always")
        known = partial(Worker.all, connection=redis_server.client)
        wait_until(lambda: sum(each.successful_job_count for each in known()) >= 168, what="168 chunks")
        assert sum(int(done) for *_, done in shown()) >= 168
        assert [(pid, state) for pid, state, _ in shown()] == sorted((str(pid), "idle") for pid in team.pids())
    # They are killed, and pass from RQ's registry.
    wait_until(lambda: not known())
    assert not shown()


@pytest.mark.ci_slow
def test_what_an_interrupted_run_leaves_in_redis_passes(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    running = held_run(hakoiri, redis_server)
    running.send(signal.SIGTERM)
    assert running.finish().code == 128 + signal.SIGTERM
    client = redis_server.client
    left = leftovers(client)
    assert not [key for key in left if key.startswith(b"hakoiri:")], "arrays stay behind"
    assert not [key for key in left if key.startswith(b"rq:job:") and client.ttl(key) == FOR_EVER]
    assert hakoiri.ask("status", "last")["status"] == "interrupted"


@pytest.mark.ci_slow
def test_jobs_are_small_and_plain(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    """Arrays travel in keys of their own; the job is a task's name and a few words in msgpack."""
    held_run(hakoiri, redis_server)
    client: Any = redis_server.client
    jobs = [client.hgetall(f"rq:job:{job.decode()}") for job in client.lrange("rq:queue:hakoiri", 0, -1)]
    assert len(jobs) == 4
    for job in jobs:
        raw = zlib.decompress(job[b"data"])
        task, instance, arguments, order = msgpack.unpackb(raw, raw=False)
        assert (task, instance, arguments) == ("forest", None, [])
        assert set(order) == {field.name for field in fields(TaskRequest)}
        assert len(raw) < 1_000
        assert sum(len(value) for value in job.values()) < 2_000
    inputs = list(client.scan_iter("hakoiri:*:in:*"))
    assert len(inputs) == 4
    assert all(0 < client.ttl(key) <= 1_000 for key in inputs)


# Without workers, without Redis


@pytest.mark.ci_slow
def test_a_run_without_workers_works_alone_and_says_so(
    hakoiri: Hakoiri, redis_server: RedisServer, finished: FinishedRuns
) -> None:
    resources = ("--redis", redis_server.url, "--farm", "0", "--json")
    running = hakoiri.start("run", "klotski", "--whole", *resources)
    assert "works alone" in comes_out_right(running, finished)
    assert not [key for key in leftovers(redis_server.client) if key.startswith(b"hakoiri:")]


@pytest.mark.ci_slow
def test_workers_that_come_late_are_used(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    running = held_run(hakoiri, redis_server)
    with workers(redis_server.url, 1):
        wait_until(lambda: not redis_server.waiting_jobs(), what="a job taken")
        assert "works alone" not in comes_out_right(running, finished)


@pytest.mark.ci_slow
@pytest.mark.parametrize("empty", [True, pytest.param(False, marks=SLOW)])
def test_a_redis_that_dies_and_comes_back(
    empty: bool, hakoiri: Hakoiri, tmp_path: Any, workers: StartWorkers, finished: FinishedRuns
) -> None:
    with RedisServer(tmp_path / "kept", appendonly=True) as server:
        running = held_run(hakoiri, server)
        server.kill()
        running.wait_for("Redis is away")
        server.start(wipe=empty)
        running.wait_for("Redis is back")
        with workers(server.url, 1):
            comes_out_right(running, finished)


#: In some dozens of chunks.
SLOW_CENSUS = ("run", "klotski", "--whole", "--farm", "0", "--chunk", "1000", "--json")


@pytest.mark.ci_slow
def test_strong_components_by_workers(farm: Workers, hakoiri: Hakoiri) -> None:
    hakoiri.ask("run", "superpuzz", "-o", "columns=4", "--farm", "0")
    by_threads = hakoiri.ask("components", "last", "--strong")
    assert by_threads["components"]
    with redis.Redis.from_url(farm.url) as client:
        client.config_resetstat()
        assert hakoiri.ask("components", "last", "--strong", "--redis", farm.url) == by_threads
        # The moves, and the components.
        assert client.info("commandstats")["cmdstat_rpush"]["calls"] > 1


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("chunk", "start"),
    [
        ("1", START_OF_201),
        ("7", START_OF_248),
        pytest.param("1", START_OF_248, marks=SLOW),
        pytest.param("7", KNOWN["start"], marks=SLOW),
        pytest.param("100", KNOWN["start"], marks=SLOW),
        pytest.param("1000", KNOWN["start"], marks=SLOW),
    ],
)
def test_layers_do_not_depend_on_the_chunks(chunk: str, start: str, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    expected = hakoiri.ask("run", "klotski", "--from", start)["digest"]
    assert start != KNOWN["start"] or expected == finished.explored["digest"]
    for threads in ("1", "3"):
        cut = ("--chunk", chunk, "--farm", "0", "--workers", threads)
        assert hakoiri.ask("run", "klotski", "--from", start, *cut)["digest"] == expected, threads


@pytest.mark.ci_slow
@pytest.mark.parametrize("chunk", ["1", pytest.param("7", marks=SLOW)])
def test_components_do_not_depend_on_the_chunks(chunk: str, farm: Workers, hakoiri: Hakoiri) -> None:
    space = ("run", "sliding", "--from", "AAB/C../DEE", "--whole")
    expected = hakoiri.ask(*space)["digest"]
    cut = (*space, "--chunk", chunk, "--farm", "0")
    with by_workers():
        assert hakoiri.ask(*cut, "--redis", farm.url)["digest"] == expected
    for threads in ("1", "3"):
        assert hakoiri.ask(*cut, "--workers", threads)["digest"] == expected, threads


@pytest.mark.ci_slow
@pytest.mark.parametrize("count", ["2", *(pytest.param(count, marks=SLOW) for count in ("1", "3"))])
def test_digests_do_not_depend_on_the_number_of_workers(
    count: str, hakoiri: Hakoiri, redis_server: RedisServer, finished: FinishedRuns
) -> None:
    """A run that starts workers for itself ends them, too."""
    resources = ("--redis", redis_server.url, "--workers", count, "--farm", "0", "--chunk", "5000")
    running = hakoiri.start("run", "klotski", "--whole", "--json", *resources)
    family: list[psutil.Process] = []
    wait_until(lambda: family.extend(running.children()) or running.process.poll() is not None or len(family) > 2)
    comes_out_right(running, finished)
    assert any(host["workers"] for host in hakoiri.ask("status", "last")["work_log"]["hosts"])
    assert await_end(family) == []


@pytest.mark.ci_slow
def test_workers_that_are_stopped_are_not_waited_for(redis_server: RedisServer, workers: StartWorkers) -> None:
    """Their heartbeats, which would live for some seconds, end with them."""
    with workers(redis_server.url, 2) as team:
        assert len(living_workers(redis_server.client)) == 2
        team.supervisor.send(signal.SIGTERM)
        assert team.supervisor.finish().code == 0
        assert not living_workers(redis_server.client)


@pytest.mark.ci_slow
def test_a_flushed_redis(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    """Everything in it is lost: chunks, jobs, and who lives."""
    running = held_run(hakoiri, redis_server)
    redis_server.flush()
    with workers(redis_server.url, 1):
        comes_out_right(running, finished)


@SLOW
def test_a_chunk_that_takes_too_long_goes_to_another_worker(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    """The first worker stands still with its chunk and answers after another worker has."""
    with workers(redis_server.url, 2) as team:
        client = redis_server.client
        wait_until(lambda: client.info("clients")["blocked_clients"] == 2, what="two workers that wait for a job")
        # Redis serves those that wait in turn, so this one is given a chunk, and never begins it.
        sleeper = psutil.Process(team.pids()[0])
        sleeper.suspend()
        try:
            running = hakoiri.start(*SLOW_CENSUS, "--redis", redis_server.url, "--deadline", "0.5")
            assert "is sent again" in comes_out_right(running, finished)
        finally:
            sleeper.resume()
        wait_until(
            lambda: not client.llen("rq:queue:hakoiri") and list(client.scan_iter("hakoiri:*:events")), what="late"
        )
        # The job itself is there until it is done.
        wait_until(
            lambda: all(client.ttl(key) != FOR_EVER for key in leftovers(client)), what="what came late to have an end"
        )


def test_every_face_shows_the_layers_of_components(hakoiri: Hakoiri) -> None:
    """Components found by joins have none."""
    words = ("run", "hanoi", "-o", "discs=3", "-o", "pegs=3", "--whole")
    hakoiri.ask(*words)
    assert "layers" not in hakoiri.ask("components", "last")["components"][0]
    hakoiri.ask(*words, "--by", "layers")
    (only,) = hakoiri.ask("components", "last")["components"]
    assert (sum(only["layers"]), only["layers"][:3]) == (27, [1, 2, 2])
    assert hakoiri.ask("layers", "last")["by_distance"] == only["layers"]
    shown, listed = (hakoiri.here(question, "last").stdout for question in ("layers", "components"))
    assert len(re.findall(r"^ *\d+ +\d+ *$", shown, re.MULTILINE)) == len(only["layers"])
    assert "widest" in listed


@SLOW
def test_a_census_by_layers_outlives_fifty_kills(
    hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers, finished: FinishedRuns
) -> None:
    """Workers and its own process are killed at random moments."""
    chance, kills = random.Random(65), 50
    words, farmed = ("run", "klotski", "--whole", "--by", "layers"), ("--redis", redis_server.url, "--farm", "always")
    by_threads = hakoiri.ask(*words)
    expected = hakoiri.ask("components", "last")["components"]
    with workers(redis_server.url, 2) as team:
        begin: tuple[str, ...] = (*words, *farmed)
        while kills:
            run = hakoiri.start(*begin, "--json")
            while kills and run.process.poll() is None:
                time.sleep(chance.uniform(0.1, 3.0))
                kills -= 1
                if chance.random() < 0.3:
                    run.send(signal.SIGKILL)
                    run.finish()
                else:
                    os.kill(chance.choice(team.pids()), signal.SIGKILL)
            begin = ("resume", "last", "--redis", redis_server.url)
            if run.process.poll() == 0:
                begin = (*words, *farmed)
        ended = hakoiri.ask("resume", "last", "--redis", redis_server.url)
    assert ended["digest"] == by_threads["digest"] == finished.counted["digest"]
    assert hakoiri.ask("components", "last")["components"] == expected
