"""A failover: Redis is a replica for some seconds, or lets nobody in; runs and workers wait for it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control
from hakoiri.errors import RedisRefusedError, RedisUnavailableError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.worker.transport.connection import connect, is_away, living_hosts, living_workers
from hakoiri.worker.transport.data_redis import free_port
from tests.support.commands import FinishedRuns, Hakoiri, wait_until
from tests.support.runs import Notes
from tests.support.servers import RedisServer
from tests.system.conftest import StartWorkers


def be_replica(client: redis.Redis) -> None:
    """Make a Redis the replica of a server that does not exist."""
    client.replicaof("127.0.0.1", free_port("127.0.0.1"))


def be_master(client: redis.Redis) -> None:
    """Again."""
    client.replicaof("NO", "ONE")


def let_nobody_in(client: redis.Redis) -> None:
    """But who is in already, here only this client."""
    client.config_set("requirepass", "another")
    client.client_kill_filter(_type="normal", skipme=True)


def let_all_in(client: redis.Redis) -> None:
    """Again."""
    client.config_set("requirepass", "")


#: What becomes of Redis, and what ends that.
FAILOVERS = {"replica": (be_replica, be_master), "password": (let_nobody_in, let_all_in)}
#: Both of them wait for workers that are taken for dead.
one_failover = pytest.mark.parametrize(
    ("begin", "end"),
    [FAILOVERS["replica"], pytest.param(*FAILOVERS["password"], marks=pytest.mark.slow)],
    ids=FAILOVERS,
)
Change = Callable[[redis.Redis], None]


def living_workers_of(client: redis.Redis) -> set[str]:
    """Those whose beats have not expired; it removes nothing, which a replica would refuse."""
    return {key.decode().rpartition(":")[2] for key in client.scan_iter("hakoiri:worker:*") if client.exists(key)}


@pytest.mark.slow
@one_failover
def test_a_failover_is_waited_for(
    begin: Change, end: Change, hakoiri: Hakoiri, redis_server: RedisServer, workers: StartWorkers,
    finished: FinishedRuns,
) -> None:  # fmt: skip
    """By a run and by the workers, none of which ends."""
    with (
        workers(redis_server.url, 1) as team,
        redis.Redis.from_url(redis_server.url, single_connection_client=True) as one,
    ):
        first, (name,) = team.pids(), living_workers(one)
        # While the worker waits for a job.
        begin(one)
        wait_until(lambda: name not in living_workers_of(one))
        end(one)
        # In hundreds of chunks.
        farmed = ("--farm", "0", "--chunk", "100", "--redis", redis_server.url)
        running = hakoiri.start("run", "klotski", "--whole", *farmed, "--json")
        wait_until(lambda: one.keys("hakoiri:*:in:*"), what="chunks")
        begin(one)
        running.wait_for("Redis is away (")
        end(one)
        ended = running.finish()
        assert ended.json["digest"] == finished.counted["digest"]
        wait_until(lambda: [name for name in living_workers(redis_server.client) if name != "nobody"])
        assert team.pids() == first


@pytest.mark.parametrize(
    ("begin", "error"), [(be_replica, RedisUnavailableError), (let_nobody_in, RedisRefusedError)], ids=FAILOVERS
)
def test_a_failover_that_does_not_end_is_told(begin: Change, error: type[Exception], redis_server: RedisServer) -> None:
    """After the patience of a run, by what Redis says."""
    puzzle, notes = Klotski(), Notes()
    resources = Resources(redis=redis_server.url, tuning=Tuning(patience=0.2))
    said: dict[type[Exception], str] = {
        RedisUnavailableError: "does not answer commands: You can't write",
        RedisRefusedError: "rejects the user or password",
    }
    with open_context(puzzle, PuzzleSpec("klotski"), resources, Control(), notes) as context:
        begin(redis_server.client)
        with pytest.raises(error, match=said[error]):
            list(context.farm.map(context.farm.plan_of(None), "neighbours", [[puzzle.keys([puzzle.start])]]))
    assert any("waiting up to 0 s" in text for text in notes.texts)


@pytest.mark.parametrize(
    ("said", "away"),
    [
        ("MISCONF Redis is configured to save RDB snapshots", True),
        ("Command # 1 (SET a b) of pipeline caused error: NOREPLICAS Not enough good replicas to write.", True),
        ("BUSY Redis is busy running a script.", True),
        ("UNBLOCKED force unblock from blocking operation", True),
        ("BUSYGROUP Consumer Group name already exists", False),
        ("Command # 1 (SET BUSY b) of pipeline caused error: WRONGTYPE Operation against a key", False),
    ],
)  # fmt: skip
def test_refusals_that_are_waited_for(said: str, away: bool) -> None:
    assert is_away(redis.ResponseError(said)) == away


def test_a_run_that_waits_for_a_failover_can_be_stopped(redis_server: RedisServer) -> None:
    puzzle, control = Klotski(), Control()
    with open_context(puzzle, PuzzleSpec("klotski"), Resources(redis=redis_server.url), control, Notes()) as context:
        be_replica(redis_server.client)
        control.interrupt("enough")
        with pytest.raises(StopRun):
            list(context.farm.map(context.farm.plan_of(None), "neighbours", [[puzzle.keys([puzzle.start])]]))


# Encryption


def certified(directory: Path) -> dict[str, Path]:
    """An authority, and a certificate of it for 127.0.0.1, each with its key, in new files."""
    files = {name: directory / name for name in ("ca.pem", "ca.key", "server.pem", "server.key", "server.csr", "san")}
    files["san"].write_text("subjectAltName=IP:127.0.0.1\n", encoding="ascii")
    key = ("-newkey", "rsa:2048", "-nodes", "-keyout")
    for line in (
        ("req", "-x509", *key, files["ca.key"], "-out", files["ca.pem"], "-subj", "/CN=authority", "-days", "2"),
        ("req", *key, files["server.key"], "-out", files["server.csr"], "-subj", "/CN=127.0.0.1"),
        ("x509", "-req", "-in", files["server.csr"], "-CA", files["ca.pem"], "-CAkey", files["ca.key"],
         "-CAcreateserial", "-days", "2", "-extfile", files["san"], "-out", files["server.pem"]),
    ):  # fmt: skip
        subprocess.run(["openssl", *line], check=True, capture_output=True)
    return files


@pytest.mark.slow
def test_both_kinds_of_redis_by_tls(tmp_path: Path, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    """With an authority of one's own; without its certificate nobody talks to them."""
    files = certified(tmp_path)
    with (
        RedisServer(tmp_path / "main", "hidden", certificates=files) as main,
        RedisServer(tmp_path / "data", "hidden", certificates=files) as data,
    ):
        environment = {"HAKOIRI_REDIS": main.url, "SSL_CERT_FILE": str(files["ca.pem"])}
        refused = hakoiri("health", env={"HAKOIRI_REDIS": main.url}, check=False)
        assert refused.code == 1
        hosts = [
            hakoiri.start("worker", "--store", str(tmp_path / name), env=environment | more)
            for name, more in (("one", {"HAKOIRI_DATA_REDIS": data.url}), ("two", {}))
        ]
        wait_until(lambda: len(living_hosts(main.client)) == 2)
        ended = hakoiri("run", "klotski", "--farm", "1", "--hosts", "all", "--json", env=environment)
        assert ended.json["digest"] == finished.explored["digest"]
        assert data.client.info("commandstats")["cmdstat_rpush"]["calls"]
        assert all(host["sent"] for host in hakoiri.json("status", "last")["work_log"]["kept"]["hosts"])
        for host in hosts:
            host.end()


def test_a_redis_that_goes_in_the_first_second_of_a_run_is_waited_for(tmp_path: Path) -> None:
    """It has answered this process; one that has not may have a wrong address."""
    server, notes = RedisServer(tmp_path), Notes()
    connect(server.url).close()
    server.close()
    for url in (server.url, "redis://127.0.0.1:1/0"):
        resources = Resources(redis=url, tuning=Tuning(patience=0.2))
        opening = open_context(Klotski(), PuzzleSpec("klotski"), resources, Control(), notes)
        with pytest.raises(RedisUnavailableError), opening:
            pass
        assert sum("waiting up to" in text for text in notes.texts) == 1
