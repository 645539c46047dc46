"""Runs archived to a folder and to a real server of S3, and restored; what is half made or damaged is refused."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

import pytest

from hakoiri.coordinator.runs import archive
from hakoiri.coordinator.runs.archive import archive_run, restore_run
from hakoiri.errors import NameTakenError, RunHeldError
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import run_directories
from hakoiri.worker.transport.data_redis import free_port
from tests.support.commands import FinishedRuns, Hakoiri, wait_until

#: Of 30 MB, so that it is uploaded in parts.
_LARGE = os.urandom(1 << 20) * 30


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str], Path]]:
    """A bucket at a server of S3 that checks signatures: its address, the environment to use it, and its files."""
    folder, port = tmp_path_factory.mktemp("s3"), free_port("127.0.0.1")
    (folder / "data" / "puzzles").mkdir(parents=True)
    keys = {"NANIO_ACCESS_KEY": "key", "NANIO_SECRET_KEY": "a-secret-of-tests"}
    command = [str(Path(sys.executable).with_name("nanio")), "serve", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--data-dir", str(folder / "data")]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, env=os.environ | keys, stdout=log, stderr=log)

    def answers() -> bool:
        assert server.poll() is None, (folder / "log").read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        return False

    try:
        wait_until(answers, what="the server of S3")
        env = {
            "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "a-secret-of-tests", "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ALLOW_HTTP": "true",
        }  # fmt: skip
        yield "s3://puzzles/runs", env, folder / "data" / "puzzles" / "runs"
    finally:
        server.terminate()
        server.wait()


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_a_run_is_archived_and_restored(
    kind: str, hakoiri: Hakoiri, finished: FinishedRuns, bucket: tuple[str, dict[str, str], Path], tmp_path: Path
) -> None:
    """With the goal distances that belong to it; `verify` checks what is restored."""
    where, env, files = bucket if kind == "s3" else (str(tmp_path / "shelf"), {}, tmp_path / "shelf")
    hakoiri.data.mkdir()
    run = finished.copy(finished.explored, hakoiri.data).name
    (hakoiri.data / run / "notes").write_bytes(_LARGE)
    hakoiri("hardest", run)
    done = hakoiri.json("archive", run, "--to", where, env=env)
    (derived,) = {each.name for each in run_directories(hakoiri.data)} - {run}
    assert done["runs"] == [run, derived]
    index = json.loads((files / run / "archive.json").read_bytes())
    assert done["bytes"] == sum(size for size, _ in index["files"].values()) > len(_LARGE)
    assert not {Path(name).name for name in index["files"]} & {"lock.mdb", "holder"}
    again = hakoiri("archive", run, "--to", where, env=env, check=False)
    assert again.code == 1 and "there is an archive of run" in again.error

    digests = [hakoiri.ask("layers", name)["layers"] for name in (run, derived)]
    taken = hakoiri("restore", run, "--from", where, env=env, check=False)
    assert taken.code == 1 and "there is a run" in taken.error
    hakoiri("delete", run, "--yes")
    assert hakoiri.json("restore", run, "--from", where, env=env)["files"] == done["files"]
    assert sorted(row["run"] for row in hakoiri.ask("runs")["runs"]) == sorted([run, derived])
    assert [hakoiri.ask("layers", name)["layers"] for name in (run, derived)] == digests
    for name in (run, derived):
        assert hakoiri.json("verify", name)["ok"]
    assert (hakoiri.data / run / "notes").read_bytes() == _LARGE
    assert not [*hakoiri.data.glob(".creating-*")]
    missing = hakoiri("restore", "nothing", "--from", where, env=env, check=False)
    assert missing.code == 1 and "there is no whole archive of run nothing" in missing.error


def test_wrong_keys_are_refused(
    hakoiri: Hakoiri, finished: FinishedRuns, bucket: tuple[str, dict[str, str], Path]
) -> None:
    hakoiri.data.mkdir()
    run = finished.copy(finished.counted, hakoiri.data).name
    where, env, _ = bucket
    refused = hakoiri("archive", run, "--to", where, env=env | {"AWS_SECRET_ACCESS_KEY": "other"}, check=False)
    assert refused.code == 1 and "403" in refused.error


@pytest.fixture
def shelf(hakoiri: Hakoiri, finished: FinishedRuns, tmp_path: Path) -> tuple[Path, str]:
    """A folder with an archive of a run, and the name of the run."""
    hakoiri.data.mkdir()
    run = finished.copy(finished.explored, hakoiri.data)
    archive_run(run, str(tmp_path / "shelf"))
    shutil.rmtree(run)
    return tmp_path / "shelf", run.name


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


HARMS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a byte flipped": (lambda files: flipped(files / "data.mdb"), "SHA-256"),
    "cut short": (lambda files: os.truncate(files / "data.mdb", 4096), "SHA-256"),
    "missing": (lambda files: (files / "created").unlink(), "No such file"),
    "index cut short": (lambda files: os.truncate(files.parents[1] / "archive.json", 40), "archive.json is damaged"),
    "leads out": (
        lambda files: (files.parents[1] / "archive.json").write_text(
            (files.parents[1] / "archive.json").read_text().replace("/created", "/../created")
        ),
        "of none of its runs",
    ),
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_damaged_archive_leaves_no_run(harm: str, hakoiri: Hakoiri, shelf: tuple[Path, str]) -> None:
    where, run = shelf
    do, said = HARMS[harm]
    do(where / run / "files" / run)
    refused = hakoiri("restore", run, "--from", str(where), check=False)
    assert refused.code == 1 and said in refused.error
    assert not [entry for entry in hakoiri.data.iterdir() if entry.name.startswith(".creating-") or entry.name == run]


def die_before_write(number: int) -> None:
    """Be killed before the write with this number to a folder."""
    write, left = archive._Folder.write, iter(range(number))

    def killed(self: archive._Folder, name: str, source: IO[bytes]) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, name, source)

    archive._Folder.write = killed  # type: ignore[method-assign]


def test_a_half_made_archive_is_none(hakoiri: Hakoiri, finished: FinishedRuns, tmp_path: Path) -> None:
    """Killed before any of its writes; the same command then makes it whole."""
    hakoiri.data.mkdir()
    run = finished.copy(finished.explored, hakoiri.data)
    where, number = tmp_path / "shelf", 0
    while True:
        before = partial(die_before_write, number)
        ended = hakoiri.start("archive", run.name, "--to", str(where), before=before).finish()
        if ended.code == 0:
            break
        assert ended.code == -signal.SIGKILL
        refused = hakoiri("restore", run.name, "--from", str(where), data=tmp_path / "other", check=False)
        assert refused.code == 1 and "there is no whole archive" in refused.error
        number += 1
    assert number == 3, "two files and the index"
    assert restore_run(tmp_path / "third", run.name, str(where)).runs == [run.name]


def test_a_run_under_way_is_not_archived(hakoiri: Hakoiri, finished: FinishedRuns, tmp_path: Path) -> None:
    hakoiri.data.mkdir()
    run = finished.copy(finished.explored, hakoiri.data)
    with RunLock(run), pytest.raises(RunHeldError):
        archive_run(run, str(tmp_path / "shelf"))
    archive_run(run, str(tmp_path / "shelf"))
    with pytest.raises(NameTakenError):
        restore_run(hakoiri.data, run.name, str(tmp_path / "shelf"))
