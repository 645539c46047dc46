"""Runs that hosts keep: equal to those by threads, whatever is killed, cut off or lost in their midst."""

import re
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil
import pytest
import redis

from hakoiri.api import open_run
from hakoiri.coordinator.runs.catalogue import queue_again
from hakoiri.coordinator.session.resources import Resources
from hakoiri.keys.layout import ints
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import run_directories
from hakoiri.worker import program
from hakoiri.worker.transport.connection import ALIVE_SECONDS, DRAINING, input_key, living_hosts, worker_key
from tests.support.commands import Finished, Hakoiri, Running, wait_until
from tests.support.disks import FILLER, small_disk
from tests.support.process_setup import stand_still_after_layer, stand_still_after_round, stand_still_at_hosts
from tests.support.published import TILES as DISTANCES
from tests.support.servers import RedisServer, Workers, started_host
from tests.support.web import ADDRESS, ENVIRONMENT, Server

pytestmark = pytest.mark.timeout(300)
SLOW = pytest.mark.slow

#: 20,160 configurations in 37 layers, of which those named here take many rounds.
TILES, MIDDLE = ("tiles", "-o", "rows=2", "-o", "columns=4"), 20
AFTER_LAYER = partial(stand_still_after_layer, MIDDLE)
#: Directed; undirected, dense and sparse; directed; wide keys; mirror images merged; up to the goal.
GAP = ("gap", "-o", "ranks=5")
MORE_SPACES = [
    ("pancakes", "-o", "n=8"), ("tiles", "-o", "rows=3", "-o", "columns=3"), ("klotski",),
    ("klotski", "--merge-mirrors"), ("klotski", "--until-goal"), ("hanoi", "-o", "discs=6", "-o", "pegs=4"),
    ("topspin", "-o", "n=8", "-o", "k=4"),
]  # fmt: skip


class Hosts:
    """Hosts of one Redis, each with a directory of its own."""

    def __init__(self, hakoiri: Hakoiri, url: str, directory: Path, stack: ExitStack) -> None:
        self._hakoiri, self.url, self._directory, self._stack = hakoiri, url, directory, stack
        self.started: list[Workers] = []

    def store(self, number: int) -> Path:
        """The directory of a host."""
        return self._directory / f"host-{number}"

    def name(self, number: int) -> str:
        """The name of a host."""
        return (self.store(number) / "host").read_text(encoding="utf-8").strip()

    def start(self, number: int, *options: str, before: Callable[[], object] | None = None) -> None:
        """Start the host of a number, or start it again; it calls `before` first."""
        host = started_host(self._hakoiri, self.url, self.store(number), *options, before=before)
        self.started[number : number + 1] = [self._stack.enter_context(host)]

    def arguments(self, *more: str) -> list[str]:
        """Return the options that give all layers of a run to these hosts."""
        return ["--redis", self.url, "--hosts", "all", "--farm", "1", *more]


@pytest.fixture
def hosts(hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path) -> Iterator[Hosts]:
    """Two hosts of one thread, the second with a data Redis of its own."""
    with ExitStack() as stack:
        found = Hosts(hakoiri, redis_server.url, tmp_path / "hosts", stack)
        found.start(0)
        found.start(1, "--data-redis", "auto")
        yield found


def digests(hakoiri: Hakoiri, run: str) -> list[str]:
    """The digests of the layers of a run."""
    return [layer["digest"] for layer in hakoiri.ask("layers", run)["layers"]]


def assert_as_by_threads(hakoiri: Hakoiri, hosts: Hosts, run: str, *words: str) -> None:
    """The run is complete, whole where it is kept, and has the layers of one by threads."""
    alone = hakoiri.ask("run", *words)["run"]
    assert hakoiri.ask("status", run)["status"] == "complete"
    assert digests(hakoiri, run) == digests(hakoiri, alone)
    assert hakoiri.ask("verify", run, "--redis", hosts.url)["faults"] == []


@pytest.mark.ci_slow
@pytest.mark.parametrize("words", [GAP, *(pytest.param(words, marks=SLOW) for words in MORE_SPACES)], ids=str)
def test_runs_that_hosts_keep_are_those_by_threads(words: tuple[str, ...], hakoiri: Hakoiri, hosts: Hosts) -> None:
    found = hakoiri.ask("run", *words, *hosts.arguments())
    work_log = hakoiri.ask("status", found["run"])["work_log"]
    made = work_log["layers"]["hosts"]
    assert made["layers"] > 3
    assert sum(host["configurations"] for host in work_log["kept"]["hosts"]) == made["configurations"]
    assert all(host["ranges"] and host["sent"] for host in work_log["kept"]["hosts"])
    sent, received = ([host[what] for host in work_log["kept"]["hosts"]] for what in ("sent", "received"))
    # What one sends, the other receives.
    assert sent == received[::-1]
    assert work_log["kept"]["slowest_over_mean"] >= 1
    assert 0 < work_log["kept"]["slowest_layer"]["mean"] <= work_log["kept"]["slowest_layer"]["seconds"]
    assert_as_by_threads(hakoiri, hosts, found["run"], *words)
    assert_comes_home(hakoiri, hosts, found["run"])


@pytest.mark.slow
def test_hosts_keep_a_run_from_several_starts(hakoiri: Hakoiri, hosts: Hosts) -> None:
    words = ("tiles", "-o", "rows=3", "-o", "columns=3", "--from", "1*2/***/***", "--goal", "87*/***/***")
    found = hakoiri.ask("run", *words, *hosts.arguments())
    assert found["configurations"] == 181_440
    assert hakoiri.ask("status", "last")["work_log"]["layers"]["hosts"]["layers"] > 5
    path = hakoiri.ask("path", "last", env={"HAKOIRI_REDIS": hosts.url})
    assert (len(path["moves"]), path["configurations"][0][::2][:2]) == (found["goal_depth"], "12")
    assert_as_by_threads(hakoiri, hosts, found["run"], *words)
    assert_comes_home(hakoiri, hosts, found["run"])


def assert_comes_home(hakoiri: Hakoiri, hosts: Hosts, run: str) -> None:
    """The run is kept by its hosts; brought home it is whole, and nothing is left where it was."""
    parts = [len(list(hosts.store(number).glob("run-*"))) for number in range(2)]
    known = digests(hakoiri, run)
    home = hakoiri.ask("collect", run, "--redis", hosts.url)
    assert home["layers"] > 3
    assert [1 + len(home["belonging"])] * 2 == parts
    assert [list(hosts.store(number).glob("run-*")) for number in range(2)] == [[], []]
    assert hakoiri.ask("verify", run, "--full")["faults"] == []
    assert digests(hakoiri, run) == known
    status = hakoiri.here("status", run).stdout
    assert "was kept" in status and "kept by" not in status
    assert "no host keeps layers" in hakoiri.here("collect", run, "--redis", hosts.url, check=False).error


def be_edited() -> None:
    """Be a host of other code."""
    known = program._source
    vars(program)["_source"] = lambda name: (known(name)[0] + "edited" * name.endswith("hosts.part"), known(name)[1])


@pytest.mark.ci_slow
def test_a_host_of_other_code_stops_no_run(hakoiri: Hakoiri, hosts: Hosts) -> None:
    """Neither one that asks for all hosts, nor one that asks for none, nor one that comes home, nor a drain."""
    hosts.start(2, "-n", "64", before=be_edited)
    excluded = f"host {hosts.name(2)} is excluded from this run: its code differs from the run's: tasks"
    made = hakoiri("run", *GAP, *hosts.arguments(), "--json")
    assert (made.code, made.stderr.count(excluded)) == (0, 1), made
    assert hakoiri.ask("status", made.json["run"])["keepers"] == sorted([hosts.name(0), hosts.name(1)])
    too_few = hakoiri("run", *GAP, "--redis", hosts.url, "--hosts", "3", "--farm", "1", check=False)
    assert (too_few.code, "2 hosts live, 3 are wanted" in too_few.error) == (1, True), too_few
    free = hakoiri("run", *GAP, "--redis", hosts.url, "--memory", "200MB", "--farm", "1", "--json")
    assert (free.code, free.stderr.count(excluded)) == (0, 1), free
    assert hakoiri.ask("status", free.json["run"])["keepers"] == []
    assert_comes_home(hakoiri, hosts, made.json["run"])
    for number in range(2):
        hakoiri("drain", hosts.name(number), "--redis", hosts.url)


@pytest.mark.slow
def test_hosts_find_the_components_of_a_space(hakoiri: Hakoiri, hosts: Hosts) -> None:
    """Hakoiri-musume, as published (Goto, Kawai and Sasaki): asked at its hosts, then brought home."""
    words, env = ("klotski", "--whole", "--diameters", "below=1000"), {"HAKOIRI_REDIS": hosts.url}
    found, alone = hakoiri.ask("run", *words, *hosts.arguments()), hakoiri.ask("run", *words)
    assert (found["configurations"], found["components"]) == (65_880, 898)
    assert found["digest"] == alone["digest"]
    kept = hakoiri.ask("status", found["run"])["work_log"]["kept"]["hosts"]
    assert [host["configurations"] for host in kept] == [65_536, 344]
    assert kept[0]["sent"] == kept[1]["received"] > 0
    far = hakoiri.ask("layers", alone["run"], "--depth", "0")["configurations"][-1]
    for name, *options in [("components",), ("component-of", far), ("diameter", "--component", "7")]:
        asked = [hakoiri.ask(name, each["run"], *options, env=env) for each in (found, alone)]
        assert {**asked[0], "run": ""} == {**asked[1], "run": ""}, name
    assert hakoiri.ask("verify", found["run"], env=env)["faults"] == []
    hakoiri.ask("collect", found["run"], env=env)
    assert [list(hosts.store(number).glob("run-*")) for number in range(2)] == [[], []]
    assert hakoiri.ask("verify", found["run"])["faults"] == []


@pytest.mark.ci_slow
def test_a_run_at_its_hosts_answers_as_one_by_threads(hakoiri: Hakoiri, hosts: Hosts) -> None:
    env = {"HAKOIRI_REDIS": hosts.url}
    words = ("pancakes", "-o", "n=7")
    run, alone = hakoiri.ask("run", *words, *hosts.arguments())["run"], hakoiri.ask("run", *words)["run"]
    far = hakoiri.ask("layers", alone, "--depth", "8")["configurations"][0]
    questions = [
        ("layers", "--depth", "5"), ("path", "--to", "farthest"), ("distance", far), ("diameter",),
        ("hardest",), ("path", "--to", far),
    ]  # fmt: skip
    assert re.search(rf"{run} .*kept\s+by\s+2\s+hosts", hakoiri.here("runs").stdout, re.DOTALL)
    for name, *options in questions:
        asked = [hakoiri.ask(name, each, *options, env=env) for each in (run, alone)]
        # Their goal distances are two runs, of which hosts keep one, too.
        own = {"run": alone, "distances": ""}
        assert {**asked[0], **own} == {**asked[1], **own}, name
    assert len(list(hosts.store(0).glob("run-*"))) == 2
    assert_comes_home(hakoiri, hosts, run)


@pytest.mark.ci_slow
@pytest.mark.parametrize("copies", ["1", pytest.param("2", marks=SLOW)])
def test_goal_distances_of_a_kept_run_are_found_where_they_are_asked_for(
    copies: str, hakoiri: Hakoiri, hosts: Hosts
) -> None:
    """By hosts, as many as the run has, also where no move can be taken back."""
    kept = {}
    for words in (("pancakes", "-o", "n=7"), ("superpuzz", "-o", "columns=4")):
        name = hakoiri.ask("run", *words, *hosts.arguments("--copies", copies))["run"]
        alone = hakoiri.ask("run", *words)["run"]
        with (
            open_run(name, hakoiri.data, Resources(redis=hosts.url)) as run,
            open_run(alone, hakoiri.data, Resources()) as other,
        ):
            found, expected = run.hardest(), other.hardest()
            assert (found.layers, found.dead) == (expected.layers, expected.dead)
            assert ints(found.configurations) == ints(expected.configurations)
            kept[words[0]] = hakoiri.ask("status", found.distances)["keepers"]
    assert {name: len(names) for name, names in kept.items()} == {"pancakes": 2, "superpuzz": 2}


@pytest.mark.ci_slow
def test_a_run_that_is_not_complete_comes_home_and_goes_on_by_threads(hakoiri: Hakoiri, hosts: Hosts) -> None:
    stopped(hakoiri, hosts, signal.SIGINT)
    run = hakoiri.run_directory().name
    assert hakoiri.ask("collect", run, "--redis", hosts.url)["layers"] >= MIDDLE
    hakoiri.here("resume", run, "--hosts", "none")
    assert_as_by_threads(hakoiri, hosts, run, *TILES)


def standing(hakoiri: Hakoiri, hosts: Hosts, before: Callable[[], object], *more: str) -> Running:
    """A run of TILES that hosts keep, and that stands still where `before` has it."""
    running = hakoiri.start("run", *TILES, *hosts.arguments("--json", *more), before=before)
    running.stands_still()
    return running


def stopped(hakoiri: Hakoiri, hosts: Hosts, signal_number: int, *more: str) -> None:
    """A run of TILES that a signal has ended in its midst."""
    running = standing(hakoiri, hosts, AFTER_LAYER, *more)
    running.send(signal_number)
    running.send(signal.SIGCONT)
    running.finish()
    assert hakoiri.state().status != "complete"


@contextmanager
def waited_for(hosts: Hosts, number: int, running: Running) -> Iterator[psutil.Process]:
    """A host's process that stands still while a run, which stood still, waits for its answer; it goes on after."""
    (process,) = (child for child in hosts.started[number].supervisor.children() if "redis" not in child.name())
    process.suspend()
    running.send(signal.SIGCONT)
    with redis.Redis.from_url(hosts.url) as client:
        wait_until(lambda: client.keys(input_key("*", "*")), what="the requests")
    yield process
    with suppress(psutil.NoSuchProcess):
        process.resume()


def assert_goes_on(hakoiri: Hakoiri, hosts: Hosts, running: Running) -> None:
    """The run ends as one by threads would, and said that a layer was begun anew."""
    finished = running.finish()
    assert finished.code == 0, finished
    assert "restarts" in finished.stderr
    assert_as_by_threads(hakoiri, hosts, finished.json["run"], *TILES)


@pytest.mark.ci_slow
def test_a_killed_host_comes_back_and_its_layer_is_made_again(hakoiri: Hakoiri, hosts: Hosts) -> None:
    running = standing(hakoiri, hosts, AFTER_LAYER)
    with waited_for(hosts, 0, running) as process:
        process.kill()
    assert_goes_on(hakoiri, hosts, running)


@pytest.mark.ci_slow
def test_a_host_killed_in_the_third_round_of_a_layer_costs_that_round(hakoiri: Hakoiri, hosts: Hosts) -> None:
    running = standing(hakoiri, hosts, partial(stand_still_after_round, MIDDLE, 2))
    with waited_for(hosts, 1, running) as process:
        process.kill()
    finished = running.finish()
    assert finished.code == 0, finished
    assert finished.stderr.count(f"; layer {MIDDLE} goes on after round 2\n") == 1, finished
    assert "restarts" not in finished.stderr
    assert_as_by_threads(hakoiri, hosts, finished.json["run"], *TILES)


@pytest.mark.ci_slow
def test_a_coordinator_killed_between_rounds_goes_on_after_the_last(hakoiri: Hakoiri, hosts: Hosts) -> None:
    standing(hakoiri, hosts, partial(stand_still_after_round, MIDDLE, 3)).kill()
    for number in range(2):
        for process in hosts.started[number].supervisor.children():
            process.kill()
    run = hakoiri.run_directory().name
    resumed = hakoiri("resume", run, "--redis", hosts.url)
    assert f"layer {MIDDLE} goes on after round 3\n" in resumed.stderr
    assert "restarts" not in resumed.stderr
    assert_as_by_threads(hakoiri, hosts, run, *TILES)


@pytest.mark.slow
def test_a_data_redis_that_dies_takes_no_more_than_a_layer(hakoiri: Hakoiri, hosts: Hosts) -> None:
    running = standing(hakoiri, hosts, AFTER_LAYER)
    (server,) = (child for child in hosts.started[1].supervisor.children() if "redis" in child.name())
    with waited_for(hosts, 1, running):
        server.kill()
    assert_goes_on(hakoiri, hosts, running)


@pytest.mark.ci_slow
def test_a_host_that_has_lost_its_disk_ends_the_session_with_its_name(hakoiri: Hakoiri, hosts: Hosts) -> None:
    stopped(hakoiri, hosts, signal.SIGINT)
    hosts.started[1].supervisor.end()
    (lost,) = hosts.store(1).glob("run-*")
    shutil.rmtree(lost)
    name = hosts.name(1)
    hosts.start(1)
    refused = hakoiri.here("resume", hakoiri.run_directory().name, *hosts.arguments(), check=False)
    assert f"host {name}" in refused.error
    assert "start a new run" in refused.error
    assert hakoiri.state().status == "interrupted"
    # The part of the other one stays, and who deletes the run hears of it.
    (left,) = hosts.store(0).glob("run-*")
    deleted = hakoiri.here("delete", "last", "--yes")
    assert f"remove {left.name.rpartition('-')[0]}-* from their directories" in deleted.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("klotski", "--hosts", "2"), "hosts need a Redis; choose another with --redis or HAKOIRI_REDIS; leave out"),
        (("klotski", "--copies", "2"), "hosts need a Redis"),
        (("magic-star", "--hosts", "2", "--redis", "URL"), "hosts can keep explorations"),
        (("klotski", "--whole", "--hosts", "2", "--copies", "2", "--redis", "URL"), "0 hosts live, 2 are wanted"),
    ],
)
def test_what_hosts_cannot_do_is_said(
    arguments: tuple[str, ...], said: str, hakoiri: Hakoiri, redis_server: RedisServer
) -> None:
    words = [redis_server.url if word == "URL" else word for word in arguments]
    assert said in hakoiri.here("run", *words, check=False).error
    assert hakoiri.json("runs")["runs"] == [] or said.startswith("0 hosts")


def test_a_number_of_hosts_is_between_1_and_many(hakoiri: Hakoiri) -> None:
    for wrong in ("0", "few", "1025", "-1"):
        assert (
            "must be between 1 and 1,024, all or none"
            in hakoiri.here("run", "klotski", "--hosts", wrong, check=False).stderr
        )


def test_a_directory_has_one_host(hakoiri: Hakoiri, hosts: Hosts) -> None:
    again = hakoiri.start("worker", "--store", str(hosts.store(0)), "--redis", hosts.url)
    again.wait_for("in use by another host process")
    again.end()


def test_hosts_alone_are_a_healthy_service(hakoiri: Hakoiri, hosts: Hosts) -> None:
    names = {hosts.name(number) for number in range(2)}
    found = hakoiri.ask("health", "--redis", hosts.url, data=None)
    assert (found["ok"], found["workers"]) == (True, 0)
    assert {(host["host"], host["threads"]) for host in found["keepers"]} == {(name, 1) for name in names}
    assert "2 hosts that keep runs alive" in hakoiri.here("health", "--redis", hosts.url, data=None).stdout
    assert (
        "no worker is alive"
        in hakoiri.here("health", "--redis", hosts.url, "--workers", "1", data=None, check=False).error
    )


# Hosts whose disks are small: a run that none of them could hold


#: 239.5 million configurations, 244 MB; the digest is that of runs by threads.
LARGE = ("tiles", "-o", "rows=3", "-o", "columns=4")
DIGEST = "c24b42a1411328d3786524acb5541c0709150ca7cd11efe1f3c8f391a4206e2b"


@pytest.mark.slow
def test_four_hosts_keep_a_run_that_none_of_them_could_hold(
    hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path
) -> None:
    """Each has a disk of 80 MB, of which a third at most is left; the third gets half of it at first. 85 s."""
    with ExitStack() as stack:
        hosts = Hosts(hakoiri, redis_server.url, tmp_path / "hosts", stack)
        hosts.store(0).parent.mkdir()
        for number in range(4):
            stack.enter_context(small_disk("mounted", hosts.store(number), 80_000_000))
            hosts.start(number, "--data-redis", "auto")
        (hosts.store(2) / FILLER).write_bytes(bytes(40_000_000))
        limits = ("--redis", hosts.url, "--hosts", "4", "--memory", "200MB")
        refused = hakoiri.here("run", *LARGE, *limits, check=False)
        assert f"host {hosts.name(2)}: the disk under {hosts.store(2)} is full" in refused.error
        (hosts.store(2) / FILLER).unlink()
        run, env = hakoiri.run_directory().name, {"HAKOIRI_REDIS": hosts.url}
        found = hakoiri.ask("resume", run, "--redis", hosts.url, "--memory", "200MB")
        assert (found["status"], found["digest"]) == ("complete", DIGEST)
        assert len(hakoiri.ask("path", run, "--to", "farthest", env=env)["moves"]) == 53
        distances = hakoiri.ask("diameter", run, env=env)
        assert {name: distances[name] for name in ("diameter", "radius", "pair_count")} == DISTANCES[
            "tiles -o rows=3 -o columns=4"
        ]
        assert hakoiri.ask("verify", run, "--redis", hosts.url)["faults"] == []


# Hosts that leave a run for good, in its midst or when it is complete: others keep what they kept


#: A census of 2,633 components. Its labels are three slabs, so that each of three hosts has a range.
SPACE = ("sliding", "--from", "mas-puzzle", "--whole", "--diameters", "below=1000")


@pytest.fixture
def hosts_that_leave(hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path) -> Iterator[Hosts]:
    """Three hosts of one thread, the second with a data Redis of its own."""
    with ExitStack() as stack:
        found = Hosts(hakoiri, redis_server.url, tmp_path / "hosts", stack)
        for number, options in enumerate([(), ("--data-redis", "auto"), ()]):
            found.start(number, *options)
        yield found


def keepers(hakoiri: Hakoiri) -> list[str]:
    """The hosts of the run."""
    with Ledger(hakoiri.run_directory()) as ledger:
        return ledger.keepers()


def await_absence(hosts_that_leave: Hosts, host: str) -> None:
    """Return when a host that has ended is no more said to live."""
    with redis.Redis.from_url(hosts_that_leave.url) as client:
        wait_until(lambda: host not in living_hosts(client), what="its absence")


def drained_by(hakoiri: Hakoiri, hosts_that_leave: Hosts, host: str, running: Running) -> tuple[Finished, Finished]:
    """Drain a host while a run stands still; let the run go on, and return how both commands ended.

    Redis comes back empty meanwhile, and knows again which host is to leave.
    """
    drain = hakoiri.start("drain", host, "--redis", hosts_that_leave.url, "--json")
    drain.wait_for("is in progress; its ranges move as soon as it allows")
    with redis.Redis.from_url(hosts_that_leave.url) as client:
        client.delete(DRAINING)
        wait_until(lambda: client.sismember(DRAINING, host), what="the mark of the host that leaves")
    running.send(signal.SIGCONT)
    drained, finished = drain.finish(), running.finish()
    assert drained.code == 0, drained
    return drained, finished


@pytest.mark.slow
def test_a_lost_disk_in_the_midst_of_a_run_with_copies_costs_no_layer(
    hakoiri: Hakoiri, hosts_that_leave: Hosts
) -> None:
    running, lost = standing(hakoiri, hosts_that_leave, AFTER_LAYER, "--copies", "2"), hosts_that_leave.name(1)
    assert lost in keepers(hakoiri)
    hosts_that_leave.started[1].supervisor.end()
    shutil.rmtree(hosts_that_leave.store(1))
    await_absence(hosts_that_leave, lost)
    # Else it would be waited for for a minute.
    drained, finished = drained_by(hakoiri, hosts_that_leave, lost, running)
    assert drained.json == {"host": lost, "runs": [finished.json["run"]]}
    assert len(keepers(hakoiri)) == 2
    assert finished.code == 0, finished
    assert re.search(rf"host {lost} is away: others take over its \d+ ranges from their copies", finished.stderr)
    assert_as_by_threads(hakoiri, hosts_that_leave, finished.json["run"], *TILES)


@pytest.mark.slow
def test_a_host_is_drained_in_the_midst_of_a_run_and_after_it(hakoiri: Hakoiri, hosts_that_leave: Hosts) -> None:
    running, names = (
        standing(hakoiri, hosts_that_leave, AFTER_LAYER),
        [hosts_that_leave.name(number) for number in range(3)],
    )
    _, finished = drained_by(hakoiri, hosts_that_leave, names[2], running)
    assert not list(hosts_that_leave.store(2).glob("run-*"))
    assert (finished.code, keepers(hakoiri)) == (0, sorted(names[:2])), finished
    told = hakoiri.here("drain", names[0], "--redis", hosts_that_leave.url).stdout
    assert f"{names[0]} keeps nothing of 1 run; you can stop it" in told
    assert keepers(hakoiri) == [names[1]]
    assert not list(hosts_that_leave.store(0).glob("run-*"))
    refused = hakoiri("drain", names[1], "--redis", hosts_that_leave.url, check=False)
    assert (refused.code, "is the only host of the run" in refused.error) == (1, True)
    assert "unknown host host-x" in hakoiri.here("drain", "host-x", "--redis", hosts_that_leave.url, check=False).error
    # One that is started again may keep runs again, and others are still left out.
    hosts_that_leave.started[0].supervisor.end()
    hosts_that_leave.start(0)
    with closing(redis.Redis.from_url(hosts_that_leave.url)) as client:
        assert {*client.smembers(DRAINING)} == {names[2].encode(), names[1].encode()}
    hakoiri("drain", names[1], "--redis", hosts_that_leave.url)
    assert keepers(hakoiri) == [names[0]]
    run = hakoiri.ask("run", "pancakes", "-o", "n=8", *hosts_that_leave.arguments())["run"]
    assert [host["host"] for host in hakoiri.ask("status", run)["work_log"]["kept"]["hosts"]] == [names[0]]
    assert_as_by_threads(hakoiri, hosts_that_leave, finished.json["run"], *TILES)


def lost(hosts_that_leave: Hosts, number: int) -> str:
    """End a host, and lose its disk; return its name when it is no more said to live."""
    name = hosts_that_leave.name(number)
    hosts_that_leave.started[number].supervisor.end()
    shutil.rmtree(hosts_that_leave.store(number))
    await_absence(hosts_that_leave, name)
    return name


@pytest.mark.slow
def test_a_census_is_labelled_anew_without_a_host_that_is_lost_when_it_is_complete(
    hakoiri: Hakoiri, hosts_that_leave: Hosts
) -> None:
    env = {"HAKOIRI_REDIS": hosts_that_leave.url}
    found = hakoiri.ask("run", *SPACE, *hosts_that_leave.arguments("--copies", "2"))
    run, alone = found["run"], hakoiri.ask("run", *SPACE)
    assert found["digest"] == alone["digest"]
    with open_run(alone["run"], hakoiri.data, Resources()) as opened:
        least = opened.puzzle.render(ints(opened.configurations()[0])[0])
    known = hakoiri.ask("path", run, "--to", least, env=env)
    # The first of them by name has the first range.
    name = lost(hosts_that_leave, min(range(3), key=hosts_that_leave.name))
    assert hakoiri.ask("path", run, "--to", least, env=env) == known
    refused = hakoiri.here("component-of", run, least, env=env, check=False)
    assert f"{name} do not answer, and keep layers of run {run}" in refused.error
    assert f"hakoiri drain {name}" in refused.error
    drained = hakoiri.here("drain", name, env=env)
    assert "its components are to be found again" in drained.stderr
    assert f"hakoiri resume {run}" in drained.stderr
    status = hakoiri.ask("status", run, env=env)
    assert (status["status"], status["away"], len(status["keepers"])) == ("interrupted", [], 2)
    assert "is not complete" in hakoiri.here("component-of", run, least, env=env, check=False).error
    assert hakoiri.ask("resume", run, env=env)["digest"] == alone["digest"]
    assert hakoiri.ask("verify", run, env=env)["faults"] == []
    asked = [hakoiri.ask("component-of", each, least, env=env) for each in (run, alone["run"])]
    assert {**asked[0], "run": ""} == {**asked[1], "run": ""}
    hakoiri.ask("collect", run, env=env)
    assert not [part for number in range(3) for part in hosts_that_leave.store(number).glob("run-*")]
    assert hakoiri.ask("verify", run)["faults"] == []


@pytest.mark.slow
def test_the_redis_that_is_named_is_that_of_all_who_ask(hakoiri: Hakoiri, hosts: Hosts) -> None:
    """By an option alone: by a run that belongs to it, and by a process that answers a long question of the page."""
    words = ("pancakes", "-o", "n=7")
    run, alone = hakoiri.ask("run", *words, *hosts.arguments())["run"], hakoiri.ask("run", *words)["run"]
    hardest = [hakoiri.ask("hardest", each, "--redis", hosts.url) for each in (run, alone)]
    assert {**hardest[0], "run": "", "distances": ""} == {**hardest[1], "run": "", "distances": ""}
    served = Server(hakoiri.start("serve", *ADDRESS, "--no-drive", "--redis", hosts.url, env=ENVIRONMENT))
    with closing(served.client) as client:
        layers = [client.get(f"/api/runs/{each}/layers/6").json() for each in (run, alone)]
        assert layers[0]["configurations"] == layers[1]["configurations"]
        files = [f"/api/runs/{each}/export.csv" for each in (run, alone)]
        assert client.post(files[0]).status_code == 202
        wait_until(lambda: all(client.post(each).status_code == 303 for each in files), what="the files")
        assert client.get(files[0]).content == client.get(files[1]).content


@pytest.mark.slow
@pytest.mark.parametrize("stays_away", [False, pytest.param(True, marks=SLOW)])
def test_a_run_goes_on_when_a_host_dies_while_it_receives_its_ranges(
    stays_away: bool, hakoiri: Hakoiri, hosts: Hosts
) -> None:
    (process,) = (child for child in hosts.started[1].supervisor.children() if "redis" not in child.name())
    beat = worker_key(hosts.name(1))

    def is_suspended_while_it_waits() -> bool:
        """Otherwise the request would stay in the queue, for the process that is started next."""
        process.suspend()
        if client.info("clients")["blocked_clients"] == len(hosts.started):
            return True
        process.resume()
        return False

    with redis.Redis.from_url(hosts.url) as client:
        wait_until(is_suspended_while_it_waits, what="a host that waits for a request")
        # However long the command takes to start, it must choose this host.
        assert client.persist(beat)
        running = hakoiri.start("run", *GAP, *hosts.arguments("--json"))
        wait_until(lambda: client.keys(input_key("*", "*")), what="the requests")
        client.expire(beat, ALIVE_SECONDS)
    if stays_away:
        hosts.started[1].supervisor.end()
    else:
        process.kill()
    finished = running.finish()
    assert (finished.code, "dealing out restarts" in finished.stderr) == (0, True), finished
    assert_as_by_threads(hakoiri, hosts, finished.json["run"], *GAP)


@pytest.mark.slow
@SLOW
def test_a_host_that_is_away_is_waited_for(hakoiri: Hakoiri, hosts: Hosts) -> None:
    running = standing(hakoiri, hosts, AFTER_LAYER)
    with waited_for(hosts, 1, running):
        hosts.started[1].supervisor.end()
    running.wait_for("waiting for ")
    hosts.start(1)
    assert_goes_on(hakoiri, hosts, running)


@pytest.mark.slow
@SLOW
def test_the_redis_of_the_queue_may_come_back_empty(hakoiri: Hakoiri, hosts: Hosts, redis_server: RedisServer) -> None:
    running = standing(hakoiri, hosts, AFTER_LAYER)
    with waited_for(hosts, 1, running):
        redis_server.kill()
        redis_server.start()
    finished = running.finish()
    assert finished.code == 0, finished
    assert_as_by_threads(hakoiri, hosts, finished.json["run"], *TILES)


@pytest.mark.slow
@SLOW
def test_a_queued_run_is_kept_by_hosts_too(hakoiri: Hakoiri, hosts: Hosts) -> None:
    run = hakoiri.ask("enqueue", *TILES, *hosts.arguments())["run"]
    coordinator = hakoiri.start("coordinator", "--redis", hosts.url)
    wait_until(lambda: hakoiri.state().status == "complete")
    coordinator.send(signal.SIGTERM)
    coordinator.finish()
    assert hakoiri.ask("status", run)["work_log"]["layers"]["hosts"]["layers"] > 3
    assert_as_by_threads(hakoiri, hosts, run, *TILES)


@pytest.mark.slow
@pytest.mark.parametrize("places", [1, 2])
def test_a_queued_run_that_waits_for_a_host_frees_its_place(places: int, hakoiri: Hakoiri, hosts: Hosts) -> None:
    """Another run is driven meanwhile, and the first goes on by itself when the host is back."""
    away = hosts.name(1)
    for _ in range(places):
        stopped(hakoiri, hosts, signal.SIGINT)
    waiting = run_directories(hakoiri.data)
    hosts.started[1].supervisor.end()
    await_absence(hosts, away)
    for directory in waiting:
        queue_again(directory)
    other = hakoiri.ask("enqueue", "hanoi", "-o", "discs=3")["run"]
    coordinator = hakoiri.start("coordinator", "--redis", hosts.url, "--runs", str(places))
    wait_until(lambda: hakoiri.ask("status", other)["status"] == "complete")
    wait_until(lambda: coordinator.stderr.count(f"host {away} is away, and other runs are queued") > 0)
    hosts.start(1)
    wait_until(lambda: all(hakoiri.ask("status", run.name)["status"] == "complete" for run in waiting))
    coordinator.send(signal.SIGTERM)
    coordinator.finish()
    for directory in waiting:
        assert_as_by_threads(hakoiri, hosts, directory.name, *TILES)


@pytest.mark.slow
def test_answers_of_a_run_with_copies_need_not_all_hosts(hakoiri: Hakoiri, hosts_that_leave: Hosts) -> None:
    run = hakoiri.ask("run", "pancakes", "-o", "n=8", *hosts_that_leave.arguments("--copies", "2"))["run"]
    env = {"HAKOIRI_REDIS": hosts_that_leave.url}
    known = hakoiri.ask("path", run, "--to", "farthest", env=env)
    lost = hosts_that_leave.name(0)
    hosts_that_leave.started[0].supervisor.end()
    await_absence(hosts_that_leave, lost)
    assert hakoiri.ask("path", run, "--to", "farthest", env=env) == known
    hosts_that_leave.started[2].supervisor.end()
    refused = hakoiri.here("path", run, "--to", "farthest", env=env, check=False)
    assert (refused.code, f"hakoiri delete {run}" in refused.error) == (1, True)
    refused = hakoiri.here("drain", lost, "--redis", hosts_that_leave.url, check=False)
    assert (
        refused.code,
        f"{hosts_that_leave.name(2)} do not answer, and keep layers of run {run}" in refused.error,
    ) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "least", "number"),
    [
        pytest.param("configurations", 1, 0, marks=pytest.mark.slow),
        pytest.param("depth", 0, 1, marks=pytest.mark.slow),
        pytest.param("components", 1, 2, marks=pytest.mark.slow),
        ("components_done", 300, 1),
    ],
)
def test_a_lost_disk_costs_a_census_with_copies_no_configuration(
    figure: str, least: int, number: int, hakoiri: Hakoiri, hosts_that_leave: Hosts
) -> None:
    """Before it is listed, when it is copied, when it is labelled, and in the midst of its measures."""
    arguments, before = (
        hosts_that_leave.arguments("--copies", "2", "--json"),
        partial(stand_still_at_hosts, figure, least),
    )
    running = hakoiri.start("run", *SPACE, *arguments, before=before)
    running.stands_still()
    assert len(keepers(hakoiri)) == 3
    _, finished = drained_by(hakoiri, hosts_that_leave, lost(hosts_that_leave, number), running)
    assert finished.code == 0, finished
    assert len(keepers(hakoiri)) == 2
    assert finished.json["digest"] == hakoiri.ask("run", *SPACE)["digest"]
    assert hakoiri.ask("verify", finished.json["run"], "--redis", hosts_that_leave.url)["faults"] == []


@pytest.mark.slow
def test_a_census_under_way_goes_on_without_a_host_that_leaves(hakoiri: Hakoiri, hosts_that_leave: Hosts) -> None:
    arguments, before = hosts_that_leave.arguments("--json"), partial(stand_still_at_hosts, "depth", 0)
    running = hakoiri.start("run", *SPACE, *arguments, before=before)
    running.stands_still()
    _, finished = drained_by(hakoiri, hosts_that_leave, hosts_that_leave.name(0), running)
    assert (finished.code, len(keepers(hakoiri))) == (0, 2), finished
    assert not list(hosts_that_leave.store(0).glob("run-*"))
    assert finished.json["digest"] == hakoiri.ask("run", *SPACE)["digest"]
    assert hakoiri.ask("verify", finished.json["run"], "--redis", hosts_that_leave.url)["faults"] == []
