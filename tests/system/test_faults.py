"""Faults outside of Hakoiri: directories that refuse, Redis absent or locked, two drivers, other puzzles, secrets.

Each time one line that names the next step, an exit code that is not 0, nothing left behind, nothing lost.
"""

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import FORMAT_VERSION, HOLDER_FILE, MANIFEST_KEY, META
from tests.support.commands import HAKOIRI, START_OF_2, START_OF_248, FinishedRuns, Hakoiri, wait_until
from tests.support.process_setup import obey_permissions
from tests.support.servers import RedisServer, held_run, started_workers

KLOTSKI = {"name": "klotski", "options": {}, "start": "ABBC/ABBC/DEEF/DGHF/I..J", "merge_mirrors": False}
PASSWORD = "open-sesame-4711"  # noqa: S105  (of a server that lives as long as a test)


@pytest.fixture(scope="module")
def locked_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis server with a password."""
    with RedisServer(tmp_path_factory.mktemp("locked"), password=PASSWORD) as server:
        yield server


# Directories


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """A directory that every user can reach; pytest's own are private."""
    directory = Path(tempfile.mkdtemp(prefix="hakoiri-test-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.parametrize("command", ["run klotski", "enqueue klotski", "coordinator", "health"])
@pytest.mark.parametrize("kind", ["below a file", "read-only", "/proc"])
def test_a_data_directory_that_cannot_be_written(
    command: str, kind: str, hakoiri: Hakoiri, public_directory: Path, locked_redis: RedisServer
) -> None:
    runs = public_directory / "runs"
    runs.mkdir()
    (runs / "file").touch()
    data = {"below a file": runs / "file" / "runs", "/proc": Path("/proc/runs")}.get(kind, runs)
    if kind == "read-only":
        runs.chmod(0o555)
    needs_redis = ["--redis", locked_redis.url] if command in ("coordinator", "health") else []
    refused = hakoiri(*command.split(), *needs_redis, "--data", str(data), check=False, before=obey_permissions)
    assert (refused.code, refused.stdout) == (1, "")
    assert f"the data directory {data} is not writable; choose another with --data or HAKOIRI_DATA" in refused.error
    runs.chmod(0o755)
    assert [entry.name for entry in runs.iterdir()] == ["file"]


def test_a_finished_run_that_cannot_be_written_can_be_read(
    hakoiri: Hakoiri, public_directory: Path, finished: FinishedRuns
) -> None:
    runs = public_directory / "runs"
    runs.mkdir()
    directory = finished.copy(finished.explored, runs)
    directory.chmod(0o555)
    for file in directory.iterdir():
        file.chmod(0o444)
    assert hakoiri.json("status", "last", data=runs, before=obey_permissions)["configurations"] == 25_955
    layers = hakoiri.json("layers", "last", data=runs, before=obey_permissions)["layers"]
    assert [layer["digest"] for layer in layers] == finished.digests()
    refused = hakoiri("resume", "last", data=runs, check=False, before=obey_permissions)
    assert refused.code == 1
    assert "not writable" in refused.error
    directory.chmod(0o755)


# Redis


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("run klotski", "wrong password"), ("run klotski", "no password"), ("run klotski", "no URL"),
        ("run klotski", "no port"), ("resume last", "no password"), ("coordinator", "absent"),
        ("coordinator", "wrong password"), ("worker", "absent"), ("worker", "no password"), ("health", "absent"),
        ("health", "wrong password"),
    ],
)  # fmt: skip
def test_redis_that_cannot_be_had(command: str, kind: str, hakoiri: Hakoiri, locked_redis: RedisServer) -> None:
    if command == "resume last":
        hakoiri.here("enqueue", "klotski")
    url, said = {
        "absent": (f"redis://:{PASSWORD}@127.0.0.1:{closed_port()}/0", "start one with redis-server"),
        "wrong password": (locked_redis.url.replace(PASSWORD, "wrong" + PASSWORD), "set HAKOIRI_REDIS="),
        "no password": (locked_redis.url_without_password, "set HAKOIRI_REDIS="),
        "no URL": (f"nonsense://:{PASSWORD}@here", "expected redis://HOST:PORT/0"),
        "no port": (f"redis://:{PASSWORD}@127.0.0.1:port/0", "expected redis://HOST:PORT/0"),
    }[kind]
    refused = hakoiri.here(*command.split(), env={"HAKOIRI_REDIS": url}, check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert said in refused.error
    assert PASSWORD not in refused.stderr
    runs = hakoiri.ask("runs")["runs"]
    assert [run["status"] for run in runs] == (["queued"] if command == "resume last" else [])
    if runs:
        assert hakoiri.ask("resume", "last")["configurations"] == 25_955


@pytest.mark.parametrize("command", ["run klotski", "resume last"])
def test_a_redis_left_over_in_the_environment_does_not_stop_a_run(command: str, hakoiri: Hakoiri) -> None:
    """One that an option names does."""
    hakoiri.here("enqueue", "klotski")
    url = f"redis://:{PASSWORD}@127.0.0.1:{closed_port()}/0"
    refused = hakoiri.here(*command.split(), "--redis", url.replace(f":{PASSWORD}@", ""), check=False)
    assert refused.code == 1 and "start one with redis-server" in refused.error
    insists = hakoiri.here(*command.split(), "--hosts", "all", env={"HAKOIRI_REDIS": url}, check=False)
    assert insists.code == 1 and "start one with redis-server" in insists.error
    done = hakoiri.here(*command.split(), env={"HAKOIRI_REDIS": url})
    assert "going on by threads, --redis URL would insist" in done.stderr and PASSWORD not in done.stderr
    assert "25,955" in done.stdout


def test_a_run_is_queued_although_redis_is_absent(hakoiri: Hakoiri) -> None:
    """The data directory is the queue; Redis only wakes the coordinator sooner."""
    queued = hakoiri.here("enqueue", "klotski", "--redis", f"redis://127.0.0.1:{closed_port()}/0", "--json")
    assert queued.json["status"] == "queued"
    assert "no coordinator could be woken" in queued.stderr
    assert hakoiri.ask("status", "last")["status"] == "queued"


# Two drivers


@pytest.mark.parametrize("command", ["resume last", "delete last --yes"])
def test_a_second_driver_is_refused(command: str, hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    running = held_run(hakoiri, redis_server)
    status = hakoiri.ask("status", "last")
    assert status["status"] == "running"
    refused = hakoiri.here(*command.split(), check=False)
    assert (refused.code, refused.stdout) == (75, "")
    for words in (status["run"], f"process {running.pid} on host {socket.gethostname()}", "hakoiri cancel"):
        assert words in refused.error
    assert running.process.poll() is None


@pytest.mark.ci_slow
def test_a_run_is_free_again_when_its_driver_dies(
    hakoiri: Hakoiri, redis_server: RedisServer, finished: FinishedRuns
) -> None:
    running = held_run(hakoiri, redis_server)
    assert hakoiri.here("resume", "last", check=False).code == 75
    running.kill()
    status = hakoiri.ask("status", "last")
    assert (status["status"], status["holder"]) == ("interrupted", "")
    found = hakoiri.ask("resume", "last")
    assert [found[name] for name in ("digest", "components")] == [
        finished.counted[name] for name in ("digest", "components")
    ]


# Another puzzle


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-o metric=finger", "has metric unit, and cannot resume with finger"),
        ("--puzzle sokoban", "has puzzle klotski, and cannot resume with sokoban"),
        (f"--from {START_OF_2}", f"has start {START_OF_248}, and cannot resume with {START_OF_2}"),
    ],
)
def test_resume_as_something_else_is_refused(line: str, said: str, hakoiri: Hakoiri) -> None:
    hakoiri.here("enqueue", "klotski", "--from", START_OF_248)
    refused = hakoiri.here("resume", "last", *line.split(), check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert said in refused.error
    same = ("-o", "metric=unit", "--puzzle", "klotski", "--from", START_OF_248)
    assert hakoiri.ask("resume", "last", *same)["configurations"] == 248


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("format", 99, f"has storage format 99, expected {FORMAT_VERSION}"),
        ("puzzle_version", 99, "the puzzle's version was 99, and is 1 here"),
        ("layout", "u64", "the key layout was u64, and is u32 here"),
        ("puzzle", KLOTSKI | {"name": "sokoban"}, "no puzzle 'sokoban'"),
        ("puzzle", KLOTSKI | {"options": {"colour": "red"}}, "klotski has no option 'colour'"),
        ("puzzle", KLOTSKI, "the parameters was {}, and is {'metric': 'unit'} here"),
    ],
)
def test_a_run_of_another_version_is_refused(field: str, value: Any, said: str, hakoiri: Hakoiri) -> None:
    """As if a program that differs in `field` had begun the run."""
    hakoiri.here("enqueue", "klotski")
    directory = hakoiri.run_directory()
    with Ledger(directory, writable=True) as ledger:
        ledger.stage_record(META, MANIFEST_KEY, ledger.manifest.as_dict() | {field: value})
        ledger.commit(ledger.state)
    for command in ("resume last", "path last") if field == "puzzle_version" else ("resume last",):
        refused = hakoiri.here(*command.split(), check=False)
        assert (refused.code, refused.stdout) == (1, ""), refused
        assert said in refused.error
    listed, lines = hakoiri.ask("runs")["runs"][0]["status"], hakoiri.here("runs").stderr
    assert listed == ("another format" if field == "format" else "queued")
    assert ("1 run of another storage format: use the Hakoiri that made" in lines) == (field == "format")


@pytest.mark.parametrize(
    ("plan", "said"),
    [({"layers": "3"}, "Expected `int | null`, got `str` - at `$.layers`"), ({"further": 1}, "further is not known")],
)
def test_a_run_of_another_plan_than_its_kind_has_is_refused(plan: dict[str, Any], said: str, hakoiri: Hakoiri) -> None:
    hakoiri.here("enqueue", "klotski")
    with Ledger(hakoiri.run_directory(), writable=True) as ledger:
        ledger.stage_record(META, MANIFEST_KEY, ledger.manifest.as_dict() | {"plan": plan})
        ledger.commit(ledger.state)
    refused = hakoiri.here("resume", "last", check=False)
    assert (refused.code, refused.stdout) == (1, ""), refused
    assert f"its plan is malformed: {said}" in refused.error


# Secrets


@pytest.mark.ci_slow
def test_the_password_of_redis_is_told_to_nobody(hakoiri: Hakoiri, locked_redis: RedisServer) -> None:
    """Not in what is printed, not in the arguments of any process, not on disk, not in Redis itself."""
    environment = {"HAKOIRI_REDIS": locked_redis.url}
    with started_workers(hakoiri, locked_redis.url, 1, executable=HAKOIRI) as team:
        coordinator = hakoiri.start("coordinator", env=environment, executable=HAKOIRI)
        coordinator.wait_for("coordinator ready")
        hakoiri.here("enqueue", "klotski", "--whole", "--farm", "0", "--chunk", "5000", env=environment)
        seen: set[str] = set()
        holder = hakoiri.run_directory() / HOLDER_FILE

        def ended() -> bool:
            family = [psutil.Process(running.pid) for running in (coordinator, team.supervisor)]
            family += coordinator.children() + team.supervisor.children()
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    seen.update(process.cmdline())
            with suppress(FileNotFoundError):
                seen.add(holder.read_text(encoding="utf-8"))
            return bool(hakoiri.ask("status", "last")["status"] == "complete")

        wait_until(ended)
        assert {"worker", "coordinator"} <= seen
        assert "hakoiri.worker.main" in seen
        for running in (coordinator, team.supervisor):
            seen.update((running.stdout, running.stderr))
        for key in locked_redis.client.scan_iter():
            seen.add(repr(key))
            seen.add(repr(locked_redis.client.dump(key)))
    for file in hakoiri.data.rglob("*"):
        if file.is_file():
            assert PASSWORD.encode() not in file.read_bytes(), file
    assert not [text for text in seen if PASSWORD in text]


@pytest.mark.ci_slow
def test_cancel_stops_a_driver_for_good(hakoiri: Hakoiri, redis_server: RedisServer) -> None:
    running = held_run(hakoiri, redis_server)
    assert hakoiri.ask("cancel", "last")["status"] == "cancelled"
    ended = running.finish()
    assert ended.code == 1
    assert "cancelled" in ended.stderr
    assert "on request" in ended.stderr
    assert hakoiri.ask("status", "last")["status"] == "cancelled"
