"""Hosts that leave a run for good, in its midst or when it is complete: others keep what they kept."""

import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import redis

from hakoiri.api import open_run
from hakoiri.coordinator.session.resources import Resources
from hakoiri.keys.layout import ints
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.worker.transport.connection import DRAINING, living_hosts
from tests.support.commands import Finished, Hakoiri, Running, wait_until
from tests.support.servers import RedisServer
from tests.system.test_hosts_that_keep import AFTER_LAYER, TILES, Hosts, assert_as_by_threads, standing

pytestmark = pytest.mark.timeout(300)
#: A census of 2,633 components. Its labels are three slabs, so that each of three hosts has a range.
SPACE = ("sliding", "--from", "mas-puzzle", "--whole", "--diameters", "below=1000")


@pytest.fixture
def hosts(hakoiri: Hakoiri, redis_server: RedisServer, tmp_path: Path) -> Iterator[Hosts]:
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


def await_absence(hosts: Hosts, host: str) -> None:
    """Return when a host that has ended is no more said to live."""
    with redis.Redis.from_url(hosts.url) as client:
        wait_until(lambda: host not in living_hosts(client), what="its absence")


def drained_by(hakoiri: Hakoiri, hosts: Hosts, host: str, running: Running) -> tuple[Finished, Finished]:
    """Drain a host while a run stands still; let the run go on, and return how both commands ended."""
    drain = hakoiri.start("drain", host, "--redis", hosts.url, "--json")
    drain.wait_for("is in progress; its ranges move as soon as it allows")
    running.send(signal.SIGCONT)
    drained, finished = drain.finish(), running.finish()
    assert drained.code == 0, drained
    return drained, finished


@pytest.mark.ci_slow
def test_a_lost_disk_in_the_midst_of_a_run_with_copies_costs_no_layer(hakoiri: Hakoiri, hosts: Hosts) -> None:
    running, lost = standing(hakoiri, hosts, AFTER_LAYER, "--copies", "2"), hosts.name(1)
    assert lost in keepers(hakoiri)
    hosts.started[1].supervisor.end()
    shutil.rmtree(hosts.store(1))
    await_absence(hosts, lost)
    # Else it would be waited for for a minute.
    drained, finished = drained_by(hakoiri, hosts, lost, running)
    assert drained.json == {"host": lost, "runs": [finished.json["run"]]}
    assert len(keepers(hakoiri)) == 2
    assert finished.code == 0, finished
    assert re.search(rf"host {lost} is away: others take over its \d+ ranges from their copies", finished.stderr)
    assert_as_by_threads(hakoiri, hosts, finished.json["run"], *TILES)


@pytest.mark.ci_slow
def test_a_host_is_drained_in_the_midst_of_a_run_and_after_it(hakoiri: Hakoiri, hosts: Hosts) -> None:
    running, names = standing(hakoiri, hosts, AFTER_LAYER), [hosts.name(number) for number in range(3)]
    _, finished = drained_by(hakoiri, hosts, names[2], running)
    assert not list(hosts.store(2).glob("run-*"))
    assert (finished.code, keepers(hakoiri)) == (0, sorted(names[:2])), finished
    told = hakoiri.here("drain", names[0], "--redis", hosts.url).stdout
    assert f"{names[0]} keeps nothing of 1 run; you can stop it" in told
    assert keepers(hakoiri) == [names[1]]
    assert not list(hosts.store(0).glob("run-*"))
    refused = hakoiri("drain", names[1], "--redis", hosts.url, check=False)
    assert (refused.code, "is the only host of the run" in refused.error) == (1, True)
    assert "unknown host host-x" in hakoiri.here("drain", "host-x", "--redis", hosts.url, check=False).error
    # One that is started again may keep runs again, and others are still left out.
    hosts.started[0].supervisor.end()
    hosts.start(0)
    with closing(redis.Redis.from_url(hosts.url)) as client:
        assert {*client.smembers(DRAINING)} == {names[2].encode(), names[1].encode()}
    hakoiri("drain", names[1], "--redis", hosts.url)
    assert keepers(hakoiri) == [names[0]]
    run = hakoiri.ask("run", "pancakes", "-o", "n=8", *hosts.arguments())["run"]
    assert [host["host"] for host in hakoiri.ask("status", run)["work_log"]["kept"]["hosts"]] == [names[0]]
    assert_as_by_threads(hakoiri, hosts, finished.json["run"], *TILES)


def lost(hosts: Hosts, number: int) -> str:
    """End a host, and lose its disk; return its name when it is no more said to live."""
    name = hosts.name(number)
    hosts.started[number].supervisor.end()
    shutil.rmtree(hosts.store(number))
    await_absence(hosts, name)
    return name


@pytest.mark.ci_slow
def test_a_census_is_labelled_anew_without_a_host_that_is_lost_when_it_is_complete(
    hakoiri: Hakoiri, hosts: Hosts
) -> None:
    env = {"HAKOIRI_REDIS": hosts.url}
    found = hakoiri.ask("run", *SPACE, *hosts.arguments("--copies", "2"))
    run, alone = found["run"], hakoiri.ask("run", *SPACE)
    assert found["digest"] == alone["digest"]
    with open_run(alone["run"], hakoiri.data, Resources()) as opened:
        least = opened.puzzle.render(ints(opened.configurations()[0])[0])
    known = hakoiri.ask("path", run, "--to", least, env=env)
    # The first of them by name has the first range.
    name = lost(hosts, min(range(3), key=hosts.name))
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
    assert not [part for number in range(3) for part in hosts.store(number).glob("run-*")]
    assert hakoiri.ask("verify", run)["faults"] == []
