"""The scripts of examples/slurm, with real processes and stand-ins for the commands of Slurm."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

import psutil
import pytest

from hakoiri.errors import StorageError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.worker.transport.data_redis import free_port
from tests.support.commands import PATIENCE_SECONDS, ROOT, Hakoiri, clean_environment, wait_until

FOLDER = ROOT / "examples" / "slurm"
#: 1,814,400 configurations in 56 layers, nearly all of them kept by hosts.
PUZZLE = ("tiles", "-o", "rows=2", "-o", "columns=5")
#: 239,500,800 configurations: more than a host is through with in ten seconds.
LONG = ("tiles", "-o", "rows=3", "-o", "columns=4")
STAND_INS = {
    "srun": 'while [ "${1#--}" != "$1" ]; do shift; done; exec "$@"',
    "scontrol": '[ "$1" = show ] && echo "NodeAddr=127.0.0.1" && exit; echo "scontrol $*" >> calls; kill "$PPID"',
    "squeue": 'date --date="$LEFT seconds" +%FT%T',
    "scancel": 'echo "scancel $*" >> calls',
    "sbatch": 'echo "sbatch $*" >> calls',
}


class Cluster:
    """A copy of the scripts whose jobs run here, on one node."""

    def __init__(self, directory: Path, puzzle: Sequence[str] = PUZZLE) -> None:
        self._folder, self.shared, self.local = directory / "slurm", directory / "shared", directory / "local"
        shutil.copytree(FOLDER, self._folder)
        self._port = free_port("127.0.0.1")
        settings = self._folder / "settings.sh"
        text = settings.read_text(encoding="utf-8")
        assert "\nPUZZLE=(tiles -o rows=3 -o columns=4)\n" in text
        smaller = f"\nPUZZLE=({' '.join(puzzle)} --farm 1)\n"
        settings.write_text(text.replace("\nPUZZLE=(tiles -o rows=3 -o columns=4)\n", smaller), encoding="utf-8")
        commands = directory / "bin"
        commands.mkdir()
        for name, script in STAND_INS.items():
            (commands / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            (commands / name).chmod(0o755)
        self._environment = clean_environment(
            PATH=f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}", NODE="node1", PORT=str(self._port),
            SHARED=str(self.shared), LOCAL=str(self.local), USER="user", SLURM_SUBMIT_DIR=str(self._folder),
            SLURMD_NODENAME="node1", SLURM_JOB_ID="7", SLURM_ARRAY_JOB_ID="7", SLURM_CPUS_PER_TASK="1",
        )  # fmt: skip

    @contextmanager
    def job(self, script: str, task: int = 0, left: int = 3600) -> Iterator["Job"]:
        """A job that has so many seconds left when the block begins."""
        more = {"SLURM_ARRAY_TASK_ID": str(task), "LEFT": str(left)}
        with Job(self._folder, script, self._environment | more) as job:
            yield job

    def calls(self) -> list[str]:
        """Return what was asked of Slurm."""
        calls = self._folder / "calls"
        return calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []

    def has_no_redis(self) -> bool:
        """Return whether the Redis of the last coordinator has ended."""
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", self._port)) != 0

    def depth(self) -> int:
        """Return how far the run is."""
        with suppress(StorageError, ValueError, FileNotFoundError), Ledger(self.local / "data" / "tiles") as ledger:
            return ledger.state.depth
        return -1


class Job:
    """The script of a job at work, with what it has started."""

    def __init__(self, folder: Path, script: str, environment: dict[str, str]) -> None:
        self.output = folder / f"{script}-{environment['SLURM_ARRAY_TASK_ID']}.log"
        with self.output.open("ab") as log:
            self._process = subprocess.Popen(["bash", script], cwd=folder, env=environment, stdout=log, stderr=log)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._family():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.kill()
        self._process.wait()

    def _family(self) -> list[psutil.Process]:
        return psutil.Process(self._process.pid).children(recursive=True) if self._process.poll() is None else []

    def terminate_step(self) -> None:
        """Send SIGTERM to its step, as Slurm does some time before the limit."""
        (step,) = (each for each in self._family() if each.ppid() == self._process.pid and "redis" not in each.name())
        step.send_signal(signal.SIGTERM)

    def finish(self) -> int:
        """Return the exit code of the script."""
        return self._process.wait(PATIENCE_SECONDS)


@pytest.mark.slow
def test_a_run_is_queued_again_and_comes_home(tmp_path: Path, hakoiri: Hakoiri) -> None:
    cluster = Cluster(tmp_path)
    with ExitStack() as stack:
        hosts = [stack.enter_context(cluster.job("hosts.sbatch", task)) for task in range(2)]
        with cluster.job("coordinator.sbatch") as coordinator:
            wait_until(lambda: cluster.depth() > 5, what="layers")
            coordinator.terminate_step()
            assert coordinator.finish() == -signal.SIGTERM, coordinator.output.read_text()
        assert cluster.calls() == ["scontrol requeue 7"]
        wait_until(cluster.has_no_redis, what="the end of Redis")
        assert 5 < cluster.depth() < 55
        with cluster.job("coordinator.sbatch") as coordinator:
            assert coordinator.finish() == 0, coordinator.output.read_text()
        assert cluster.calls()[1:] == ["scancel --user=user --name=hakoiri-hosts"]
        for host in hosts:
            host.terminate_step()
            assert host.finish() == 0, host.output.read_text()
    assert len(cluster.calls()) == 2
    assert hakoiri.ask("verify", "tiles", data=cluster.local / "data")["faults"] == []
    made = hakoiri.ask("layers", "tiles", data=cluster.local / "data")["layers"]
    alone = hakoiri.ask("layers", hakoiri.ask("run", *PUZZLE)["run"])["layers"]
    assert [layer["digest"] for layer in made] == [layer["digest"] for layer in alone]
    for secret in ("password", "redis-url"):
        assert (cluster.shared / secret).stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_host_whose_time_is_up_has_a_successor_on_its_node(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, LONG)
    with cluster.job("coordinator.sbatch"), cluster.job("hosts.sbatch", 3, left=70) as host:
        assert host.finish() == 0, host.output.read_text()
    assert cluster.calls() == ["sbatch --nodelist=node1 --array=3 hosts.sbatch"]
