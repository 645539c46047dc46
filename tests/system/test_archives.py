"""Runs archived to a folder and to a real server of S3, and restored; what is half made or damaged is refused."""

import errno
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from hakoiri.api import explore, open_run
from hakoiri.coordinator.runs import archive
from hakoiri.coordinator.runs.archive import archive_run, list_archives, restore_run
from hakoiri.errors import DiskFullError, NameTakenError, RunHeldError, StorageError
from hakoiri.storage.engine import environment
from hakoiri.storage.engine.files import Given
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import DATA_FILE, TITLE_FILE, run_directories
from hakoiri.worker.transport.data_redis import free_port
from tests.support.commands import FinishedRuns, Hakoiri, wait_until
from tests.support.forged import bounded, snapshot

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


@pytest.mark.parametrize("damage", [False, True], ids=["passing", "damaged"])
def test_a_run_that_cannot_be_read_now_stays_in_the_archive(
    damage: bool, finished: FinishedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal distances, which belong to another run."""
    (data := tmp_path / "data").mkdir()
    base = finished.copy(finished.explored, data)
    with open_run(base.name, data=data) as run:
        run.hardest()
    (derived,) = {*run_directories(data)} - {base}
    shelf, failures = str(tmp_path / "shelf"), [OSError(errno.EMFILE, "too many open files")]
    first = archive_run(base, shelf)
    assert first.runs == [base.name, derived.name]
    descriptor = Given.descriptor

    def opened(given: Given, name: str, flags: int) -> int:
        if given.directory.name == derived.name and name == DATA_FILE and failures:
            raise failures.pop()
        return descriptor(given, name, flags)

    if damage:
        os.truncate(derived / DATA_FILE, 100)
    else:
        monkeypatch.setattr(Given, "descriptor", opened)
    with pytest.raises(StorageError, match="cannot be read" if damage else "too many open files"):
        archive_run(base, shelf)
    (kept,) = list_archives(shelf).values()
    assert kept is not None
    assert kept.runs == first.runs


@pytest.mark.ci_slow
@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_a_run_is_archived_and_restored(
    kind: str, hakoiri: Hakoiri, finished: FinishedRuns, bucket: tuple[str, dict[str, str], Path], tmp_path: Path
) -> None:
    """With the goal distances that belong to it; `verify` checks what is restored."""
    where, env, files = bucket if kind == "s3" else (str(tmp_path / "shelf"), {}, tmp_path / "shelf")
    hakoiri.data.mkdir()
    run = finished.copy(finished.explored, hakoiri.data).name
    with (hakoiri.data / run / DATA_FILE).open("ab") as file:
        # Pages that LMDB has not used yet.
        file.write(_LARGE)
    hakoiri("hardest", run)
    done = hakoiri.json("archive", run, "--to", where, env=env)
    (derived,) = {each.name for each in run_directories(hakoiri.data)} - {run}
    assert done["runs"] == [run, derived]
    index = json.loads((files / run / "archive.json").read_bytes())
    assert done["bytes"] == sum(size for size, _ in index["files"].values()) > len(_LARGE)
    assert not {Path(name).name for name in index["files"]} & {"lock.mdb", "holder"}
    assert hakoiri.json("archive", run, "--to", where, env=env) == done | {"status": "unchanged"}
    Given(hakoiri.data / run).write(TITLE_FILE, [b"boxes"])
    changed = hakoiri.json("archive", run, "--to", where, env=env)
    assert (changed["status"], changed["files"]) == ("archived", done["files"] + 1)
    folder = json.loads((files / run / "archive.json").read_bytes())["folder"]
    assert {each.name for each in (files / run).iterdir() if each.name.startswith("files")} == {folder}
    (listed,) = hakoiri.json("archives", where, env=env)["archives"]
    assert listed == {"run": run, **{name: changed[name] for name in ("runs", "files", "bytes")}}

    digests = [hakoiri.ask("layers", name)["layers"] for name in (run, derived)]
    taken = hakoiri("restore", run, "--from", where, env=env, check=False)
    assert taken.code == 1 and "there is a run" in taken.error
    hakoiri("delete", run, "--yes")
    assert hakoiri.json("restore", run, "--from", where, env=env)["files"] == changed["files"]
    assert sorted(row["run"] for row in hakoiri.ask("runs")["runs"]) == sorted([run, derived])
    assert [hakoiri.ask("layers", name)["layers"] for name in (run, derived)] == digests
    for name in (run, derived):
        assert hakoiri.json("verify", name)["ok"]
    assert not [*hakoiri.data.glob(".creating-*")]
    missing = hakoiri("restore", "nothing", "--from", where, env=env, check=False)
    assert missing.code == 1 and "there is no whole archive of run nothing" in missing.error


@pytest.mark.ci_slow
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


def in_place(file: Path, make: Callable[[Path], object]) -> None:
    """Make something else in the place of a file."""
    file.unlink()
    make(file)


def named(files: Path, name: str) -> None:
    """Give a file another name in the index."""
    index = files.parents[1] / "archive.json"
    index.write_text(index.read_text().replace("/created", f"/{name}"))


HARMS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a byte flipped": (lambda files: flipped(files / "data.mdb"), "SHA-256"),
    "cut short": (lambda files: os.truncate(files / "data.mdb", 4096), "SHA-256"),
    "missing": (lambda files: (files / "created").unlink(), "created is missing in the archive"),
    "no data": (
        lambda files: (files.parents[1] / "archive.json").write_text(
            re.sub(r'"[^"]*/data.mdb":\[[^]]*\],?', "", (files.parents[1] / "archive.json").read_text())
        ),
        "has no data.mdb of run",
    ),
    "a hole": (lambda files: os.truncate(files / "data.mdb", 200 << 30), "SHA-256"),
    "a pipe": (lambda files: in_place(files / "data.mdb", os.mkfifo), "is not a plain file"),
    "a link": (lambda files: in_place(files / "data.mdb", lambda at: at.symlink_to("created")), "is not a plain file"),
    "an index that is a hole": (lambda files: os.truncate(files.parents[1] / "archive.json", 200 << 30), "too long"),
    "a null character": (lambda files: named(files, "cre\\u0000ated"), "of none of its runs"),
    "a dot": (lambda files: named(files, "./created"), "of none of its runs"),
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
    assert [*list_archives(str(where))] == [run]
    assert not [entry for entry in hakoiri.data.iterdir() if entry.name.startswith(".creating-") or entry.name == run]


def die_before_write(number: int) -> None:
    """Be killed before the write with this number to a folder."""
    write, left = archive._Folder.write, iter(range(number))

    def killed(self: archive._Folder, name: str, chunks: Iterable[bytes]) -> None:
        if next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        write(self, name, chunks)

    archive._Folder.write = killed  # type: ignore[method-assign]


@pytest.mark.ci_slow
def test_a_half_made_archive_is_none(hakoiri: Hakoiri, finished: FinishedRuns, tmp_path: Path) -> None:
    """Killed before any of its writes; the same command then makes it whole, as one that takes the place of another."""
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
    Given(run).write(TITLE_FILE, [b"boxes"])
    for number in range(5):
        ended = hakoiri.start(
            "archive", run.name, "--to", str(where), before=partial(die_before_write, number)
        ).finish()
        assert ended.code == (0 if number == 4 else -signal.SIGKILL)
        restored = restore_run(tmp_path / str(number), run.name, str(where), "again")
        assert (restored.runs, restored.files) == (["again"], 3 if number == 4 else 2)
    assert len([*(where / run.name).iterdir()]) == 2, "the index and one folder"


def test_all_runs_at_rest_are_archived(hakoiri: Hakoiri, finished: FinishedRuns, tmp_path: Path) -> None:
    """Those that cannot be, and another run of the name of an archived one, are named."""
    hakoiri.data.mkdir()
    runs = [finished.copy(each, hakoiri.data) for each in (finished.explored, finished.counted)]
    shelf = str(tmp_path / "shelf")
    with RunLock(runs[0]):
        rows = hakoiri.json("archive", "--all", "--to", shelf)["runs"]
    assert {row["run"]: row["status"] for row in rows} == {runs[0].name: "left out", runs[1].name: "archived"}
    for expected in (["archived", "unchanged"], ["unchanged", "unchanged"]):
        found = {row["run"]: row["status"] for row in hakoiri.json("archive", "--all", "--to", shelf)["runs"]}
        assert [found[run.name] for run in runs] == expected
    shutil.rmtree(runs[1])
    shutil.copytree(runs[0], runs[1])
    refused = hakoiri("archive", "--all", "--to", shelf, check=False)
    assert refused.code == 1 and f"there is an archive of another run {runs[1].name} in" in refused.stderr
    assert set(list_archives(shelf)) == {run.name for run in runs}


def test_a_hole_that_does_not_fit_on_the_disk_is_not_copied(
    hakoiri: Hakoiri, finished: FinishedRuns, shelf: tuple[Path, str]
) -> None:
    """The data file of a given run is longer than the disk, or the index of an archive says so."""
    where, run = shelf
    given, size = finished.copy(finished.explored, hakoiri.data), shutil.disk_usage(where).free + 1
    os.truncate(given / DATA_FILE, size)
    index = where / run / "archive.json"
    index.write_text(re.sub(rf'("{run}/data.mdb":\[)\d+', rf"\g<1>{size}", index.read_text("ascii")), "ascii")
    before = snapshot(where)
    with bounded("holes"):
        for command in (
            ["archive", given.name, "--to", str(where.parent / "new")],
            ["restore", run, "--from", str(where)],
        ):
            if "restore" in command:
                shutil.rmtree(given)
            refused = hakoiri.here(*command, check=False)
            assert (refused.code, refused.stdout) == (1, "") and "is full" in refused.error, refused
            assert "copying 2 files, " in refused.stderr
    assert (snapshot(where), [*hakoiri.data.iterdir()]) == (before, [])
    assert not (where.parent / "new").exists()


def test_what_is_archived_already_needs_no_room(
    hakoiri: Hakoiri, finished: FinishedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hakoiri.data.mkdir()
    run = finished.copy(finished.explored, hakoiri.data)
    assert archive_run(run, str(tmp_path / "shelf")).is_new
    monkeypatch.setattr(environment, "RESERVE_BYTES", 1 << 60)
    assert not archive_run(run, str(tmp_path / "shelf")).is_new
    Given(run).write(TITLE_FILE, [b"boxes"])
    with pytest.raises(DiskFullError, match=r"/shelf is full \(.* free\); free some space and try again$") as caught:
        archive_run(run, str(tmp_path / "shelf"))
    # There is no run to resume, neither there nor where one was to be made.
    assert caught.value.hints == ()
    with pytest.raises(DiskFullError, match=r"free some space and try again$") as caught:
        explore("hanoi", data=hakoiri.data)
    assert caught.value.hints == ()


def test_a_run_under_way_is_not_archived(hakoiri: Hakoiri, finished: FinishedRuns, tmp_path: Path) -> None:
    hakoiri.data.mkdir()
    run = finished.copy(finished.explored, hakoiri.data)
    with RunLock(run), pytest.raises(RunHeldError):
        archive_run(run, str(tmp_path / "shelf"))
    archive_run(run, str(tmp_path / "shelf"))
    with pytest.raises(NameTakenError):
        restore_run(hakoiri.data, run.name, str(tmp_path / "shelf"))


@pytest.mark.ci_slow
def test_only_the_files_that_an_archive_has_are_restored(hakoiri: Hakoiri, shelf: tuple[Path, str]) -> None:
    """Not the mark of a queued run, a lock, spill files or modules; twenty thousand of them cost nothing."""
    where, run = shelf
    index, files = where / run / "archive.json", where / run / "files" / run
    found = json.loads(index.read_bytes())
    others = ["queued", "holder", "spill/3-0", "jugs.py", *(f"file-{number}" for number in range(20_000))]
    (files / "spill").mkdir()
    for name in others[:4]:
        (files / name).write_text("theirs", "ascii")
    found["files"] |= {f"{run}/{name}": [6, "0" * 64] for name in others}
    index.write_text(json.dumps(found), "ascii")
    assert restore_run(hakoiri.data, run, str(where)).files == 2
    assert sorted(each.name for each in (hakoiri.data / run).iterdir()) == ["created", "data.mdb"]
    assert hakoiri.ask("status", run)["status"] == "complete"


@pytest.mark.parametrize("words", ["archive last", "archive --all", "restore klotski"])
def test_a_place_must_be_named(words: str, hakoiri: Hakoiri) -> None:
    flag = "--from" if words.startswith("restore") else "--to"
    missing = hakoiri.here(*words.split(), check=False)
    assert (missing.code, missing.stdout) == (2, "") and f"Missing option '{flag}'" in missing.stderr
    if "--all" not in words:
        assert hakoiri.here(*words.split(), flag, "", check=False).code == 1
