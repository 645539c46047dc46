"""Whoever can write to Redis can annoy, but runs no code: raw attacks on living workers and on a living coordinator."""

import hashlib
import json
import pickle
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import pytest
import redis

from hakoiri.puzzles.user.files import FILES
from hakoiri.worker.transport.connection import QUEUE, living_workers, own_queue
from hakoiri.worker.transport.payload import TaskRequest
from tests.support.commands import HAKOIRI, ROOT, FinishedRuns, Hakoiri, clean_environment, wait_until
from tests.support.servers import RedisServer, Workers, by_workers, started_workers

#: A module in the workers' path that leaves a mark when it is imported, and again when it is called.
TRAP = """
import os, pathlib
def spring(*_, **__):
    with pathlib.Path(os.environ["TRAP_MARK"]).open("a") as mark:
        mark.write("sprung\\n")
spring()
"""
QUEUE_KEY, JOB_KEY = "rq:queue:{}", "rq:job:{}"
WORKERS = 8
PLAIN_JOB = {"created_at": "2026-11-21T00:00:00.000000Z", "origin": "hakoiri", "status": "queued", "timeout": "60"}
#: A puzzle file that the workers are told of, and what stands in it besides.
OWN = """
import pathlib
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.sliding_blocks.klotski import Klotski

class Named(Puzzle):
    pass
class spring:
    def __init__(self, *_):
        import trap
"""
TRAP_DIGEST, OWN_DIGEST = (hashlib.sha256(text.encode()).hexdigest() for text in (TRAP, OWN))
KLOTSKI: dict[str, Any] = {"name": "klotski", "options": {}, "start": None, "merge_mirrors": False}


class Listener:
    """A port that counts who calls."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.calls = 0
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def close(self) -> None:
        """Let go of the port."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _listen(self) -> None:
        try:
            while True:
                caller, _ = self._socket.accept()
                caller.close()
                self.calls += 1
        except OSError:
            pass


@dataclass(frozen=True)
class Victims:
    """Workers with the trap in their path."""

    team: Workers
    client: redis.Redis
    trap: Path
    mark: Path
    listener: Listener

    def smuggle(self, *attacks: dict[str, Any]) -> None:
        """Put jobs into the queue, and wait until the workers are done with them: each has taken an honest one since.

        A worker pauses for a second after each job that it refuses, so there are several workers.
        """
        for number, fields in enumerate(attacks):
            self._put(QUEUE, f"attack-{number}", fields)
        wait_until(lambda: not self.client.exists(QUEUE_KEY.format(QUEUE)), what="an empty queue")
        for worker in living_workers(self.client):
            self._put(own_queue(worker), f"honest-{worker}", {"data": GOOD})
        wait_until(lambda: not any(map(self._waits, living_workers(self.client))), what="honest jobs")

    def _waits(self, worker: str) -> bool:
        """Return whether the honest job of a worker is still to be done."""
        return bool(self.client.exists(JOB_KEY.format(f"honest-{worker}")))

    def _put(self, queue: str, name: str, fields: dict[str, Any]) -> None:
        self.client.delete(JOB_KEY.format(name))
        self.client.hset(JOB_KEY.format(name), mapping=PLAIN_JOB | fields)
        self.client.rpush(QUEUE_KEY.format(queue), name)

    def unharmed(self) -> None:
        """No code ran, nobody was called, a worker lives."""
        assert not self.mark.exists()
        assert not self.listener.calls
        wait_until(lambda: living_workers(self.client), what="a living worker")
        assert self.team.supervisor.process.poll() is None


@pytest.fixture(scope="module")
def victims(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victims]:
    directory = tmp_path_factory.mktemp("victims")
    trap, mark = directory / "path", directory / "mark"
    trap.mkdir()
    (trap / "trap.py").write_text(TRAP, encoding="utf-8")
    command, listener = Hakoiri(directory), Listener()
    (directory / "own.py").write_text(OWN, encoding="utf-8")
    environment = {"PYTHONPATH": str(trap), "TRAP_MARK": str(mark), FILES: str(directory / "own.py")}
    with (
        RedisServer(directory / "redis") as server,
        started_workers(command, server.url, WORKERS, environment, HAKOIRI) as team,
    ):
        yield Victims(team, server.client, trap, mark, listener)
    listener.close()
    command.close()


class Evil:
    """Pickled, it calls the trap where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import trap; trap.spring()",)


def called(function: str, *arguments: Any, instance: Any = None, **named: Any) -> bytes:
    """The data of a job in this project's serializer."""
    return zlib.compress(msgpack.packb([function, instance, list(arguments), named]))


def order(**changes: Any) -> dict[str, Any]:
    return TaskRequest("feed", "1.0", 1, -1, 60, KLOTSKI, {}).as_dict() | changes


def own_puzzle(name: str, digest: Any) -> bytes:
    return called("neighbours", **order(puzzle=KLOTSKI | {"name": name, "digest": digest}))


GOOD = called("neighbours", **order())
ATTACKS: dict[str, dict[str, Any]] = {
    "trap": {"data": called("trap.spring")},
    "eval": {"data": called("builtins.eval", "__import__('trap')")},
    "own inside": {"data": called("hakoiri.worker.rq_worker._perform", "trap")},
    "instance": {"data": called("spring", instance="trap")},
    "pickled evil": {"data": zlib.compress(pickle.dumps(Evil()))},
    "pickled evil beside": {"data": GOOD, "meta": pickle.dumps(Evil()), "result": pickle.dumps(Evil())},
    "garbage": {"data": b"\x00\xff\xc1" * 50},
    "success callback": {"data": GOOD, "success_callback_name": "trap.spring"},
    "stopped callback": {"data": called("os.system"), "stopped_callback_name": "trap.spring"},
    "puzzle by path": {"data": called("neighbours", **order(puzzle=KLOTSKI | {"name": "trap.py:spring"}))},
    "puzzle by file": {"data": own_puzzle("trap.py:spring", TRAP_DIGEST)},
    "puzzle by path and digest": {"data": own_puzzle("/tmp/evil.py:X", TRAP_DIGEST)},
    "own file, not its own": {"data": own_puzzle("own.py:Klotski", OWN_DIGEST)},
    "own file, dunder": {"data": own_puzzle("own.py:__builtins__", OWN_DIGEST)},
    "fields too many": {"data": called("neighbours", **order(trap="spring"))},
    "arguments": {"data": called("neighbours", "trap", "spring", **order())},
    "huge counts": {
        "data": called("neighbours", **order(attempt=2**63, shared=2**62, pieces=[2**62], program=-(2**63)))
    },
    "times of another type": {"data": GOOD, "timeout": "trap", "result_ttl": "trap", "failure_ttl": "trap"},
    "state of another type": {"data": GOOD, "status": "trap"},
    "dependency": {"data": GOOD, "dependency_ids": json.dumps(["trap"])},
}


@pytest.mark.parametrize("some", [slice(WORKERS), pytest.param(slice(WORKERS, None), marks=pytest.mark.ci_slow)])
def test_smuggled_jobs_run_nothing(some: slice, victims: Victims) -> None:
    """And no webhook is called."""
    attacks = [fields for _, fields in sorted(ATTACKS.items())][some]
    if some.stop is None:
        for status, data in (("finished", GOOD), ("failed", called("os.system"))):
            hook = {"url": f"http://127.0.0.1:{victims.listener.port}/", "job_status": status, "method": "GET"}
            attacks.append({"data": data, "webhooks": json.dumps([hook])})
    for first in range(0, len(attacks), WORKERS):
        victims.smuggle(*attacks[first : first + WORKERS])
        victims.unharmed()


@pytest.mark.parametrize("command", ["shutdown", "stop-job", "kill-horse", "trap.spring", None])
def test_a_command_to_a_worker_ends_no_service(command: str | None, victims: Victims) -> None:
    """RQ's own channel can end a worker; the supervisor starts another."""
    for worker in sorted(living_workers(victims.client)):
        message = json.dumps({"command": command, "job_id": "trap"}) if command else "\x00not json"
        victims.client.publish(f"rq:pubsub:{worker}", message)
    victims.unharmed()


@pytest.mark.ci_slow
def test_after_all_attacks_the_workers_do_their_work(
    victims: Victims, finished: FinishedRuns, hakoiri: Hakoiri
) -> None:
    """Not only alive: whatever was smuggled before, what they do of a run comes out right."""
    attacks = ("trap", "pickled evil", "garbage", "success callback", "state of another type")
    victims.smuggle(*map(ATTACKS.__getitem__, attacks))
    with by_workers():
        found = hakoiri.ask("run", "klotski", "--whole", "--chunk", "5000", "--redis", victims.team.url)
    assert found["digest"] == finished.counted["digest"]
    victims.unharmed()


@pytest.mark.ci_slow
def test_the_trap_would_spring(victims: Victims, tmp_path: Path) -> None:
    """RQ's own worker, with its own serializer, walks into it: the attacks are real."""
    program = (
        "import redis, rq, sys\n"
        "with redis.Redis.from_url(sys.argv[1]) as client:\n"
        "    queue = rq.Queue('plain', connection=client)\n"
        "    queue.enqueue('trap.spring')\n"
        "    rq.SimpleWorker([queue], connection=client).work(burst=True)\n"
    )
    mark = tmp_path / "mark"
    environment = clean_environment(PYTHONPATH=str(victims.trap), TRAP_MARK=str(mark))
    subprocess.run(
        [sys.executable, "-c", program, victims.team.url], env=environment, cwd=ROOT, check=True, capture_output=True
    )
    assert mark.read_text(encoding="utf-8").count("sprung") == 2
