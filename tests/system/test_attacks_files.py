"""A run that somebody else has made runs no code: its puzzle file is executed only where this user has named it."""

import hashlib
import json
import os
import pickle
import shutil
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from hakoiri import compiling
from hakoiri.errors import PuzzleError, PuzzleWarning
from hakoiri.owned import NotOwnedError, read_owned
from hakoiri.puzzles.user import files
from hakoiri.puzzles.user import files as made
from hakoiri.puzzles.user.files import FILES, find_again
from tests.support.commands import Hakoiri
from tests.support.servers import RedisServer
from tests.support.user_puzzles import JUGS, written

TRAP = JUGS + "\nimport os\nwith open({mark!r}, 'a') as mark:\n    mark.write('x')\n"
#: What can be asked of a finished run.
QUESTIONS = (
    "verify {}", "layers {}", "layers {} --depth 1", "path {}", "path {} --count", "distance {} 4/4/0", "components {}",
    "component-of {} 4/4/0", "diameter {}", "hardest {}", "solutions {}", "export {} --to {}.csv", "map {} --to {}.svg",
    "resume {}", "resume {} --repair",
)  # fmt: skip
#: An account that is not ours.
STRANGER = 12_345
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs to give files away")


class Given:
    """A run that somebody else made, unpacked here, with its puzzle file beside its data."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mark, self.stranger, self.hakoiri = place / "mark", Hakoiri(place / "stranger"), Hakoiri(place / "mine")
        self.word = written(place / "theirs", TRAP.format(mark=str(self.mark)))
        state = {"XDG_STATE_HOME": str(place / "their-state")}
        run = self.stranger.json("run", self.word, env=state)["run"]
        self.directory = self.hakoiri.data / run
        shutil.copytree(self.stranger.data / run, self.directory)
        self.file = shutil.copy(place / "theirs" / "jugs.py", self.directory / "jugs.py")
        self.word = f"{self.file}:Jugs"
        self.mark.unlink()
        monkeypatch.setenv("XDG_STATE_HOME", str(place / "my-state"))

    @property
    def executed(self) -> int:
        """The number of times that its file was executed."""
        return len(self.mark.read_text(encoding="ascii")) if self.mark.exists() else 0


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Given]:
    found = Given(tmp_path, monkeypatch)
    yield found
    found.stranger.close()
    found.hakoiri.close()


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has loaded nothing."""
    monkeypatch.setattr(files, "_files", {})
    monkeypatch.setattr(files, "_puzzles", {})
    monkeypatch.setattr(made, "_added", set())


def test_a_run_that_one_was_given_executes_nothing(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the run's file lies where it lay when the run was made."""
    forget(monkeypatch)
    run = given.directory.name
    for question in QUESTIONS:
        refused = given.hakoiri.here(*question.replace("{}", run).split(), check=False)
        assert refused.code == 1 and not refused.stdout, refused
        assert "jugs.py:Jugs, SHA-256 " in refused.error and "--puzzle PATH/jugs.py:Jugs" in refused.error, refused
    for harmless in ("runs", f"status {run}"):
        assert given.hakoiri.here(*harmless.split()).stdout
    assert given.executed == 0


def test_a_run_that_one_was_given_is_asked_by_naming_its_file(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    for question in ("path {}", "layers {}", "verify {}", "components {}"):
        forget(monkeypatch)
        assert given.hakoiri.ask(*question.format(given.directory.name).split(), "--puzzle", given.word)
    asked = given.executed
    assert asked == 4
    forget(monkeypatch)
    assert given.hakoiri.ask("path", "last", env={FILES: str(given.file)})["length"] == 7
    forget(monkeypatch)
    # To name it once is not to have made a run of it.
    assert given.hakoiri.here("path", "last", check=False).code == 1
    written(given.directory, JUGS + "\n# another\n")
    another = given.hakoiri.here("path", "last", "--puzzle", given.word, check=False)
    assert "has changed since" in another.error
    assert given.executed == asked + 1


def test_runs_of_ones_own_need_no_naming(tmp_path: Path, hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    forget(monkeypatch)
    for name in ("one", "other"):
        hakoiri.ask("run", written(tmp_path / name))
        forget(monkeypatch)
    kept = tmp_path / "state" / "hakoiri"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (kept, kept / "puzzles.json")]
    assert modes == [0o700, 0o600]
    assert [path for _, path in json.loads((kept / "puzzles.json").read_bytes())] == [
        str(tmp_path / name / "jugs.py") for name in ("one", "other")
    ]
    shutil.rmtree(tmp_path / "other")
    assert hakoiri.ask("path", "last")["length"] == 7


# The file is what was looked at


def test_a_pipe_in_place_of_a_puzzle_file_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes into it could give another content to each who reads, after any check of its name."""
    forget(monkeypatch)
    pipe = tmp_path / "jugs.py"
    os.mkfifo(pipe)
    monkeypatch.setattr(files, "made_at", lambda _: [pipe])
    with pytest.raises(PuzzleError, match="not a regular file"):
        find_again("jugs.py:Jugs", "0" * 64)
    with pytest.raises(PuzzleError, match="not a regular file"):
        files.load(f"{pipe}:Jugs")


@pytest.mark.parametrize("exchanged", ["mine", "mine/jugs.py"])
def test_a_link_that_is_exchanged_after_the_check_is_not_followed(
    exchanged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the way to a file and its opening, a folder or the file becomes a link."""
    for folder, text in (("mine", JUGS), ("theirs", "import trap")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "jugs.py").write_text(text, encoding="utf-8")
    resolve = Path.resolve

    def resolved(path: Path, strict: bool = False) -> Path:
        found = resolve(path, strict)
        (tmp_path / exchanged).rename(tmp_path / "away")
        (tmp_path / exchanged).symlink_to(tmp_path / exchanged.replace("mine", "theirs"))
        return found

    monkeypatch.setattr(Path, "resolve", resolved)
    with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
        read_owned(tmp_path / "mine" / "jugs.py")


@pytest.mark.parametrize(("path", "mode"), [("in", 0o777), ("in/jugs.py", 0o666), ("in/jugs.py", 0o602)])
def test_what_others_can_write_is_not_owned(path: str, mode: int, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "jugs.py").write_text(JUGS, encoding="utf-8")
    assert read_owned(tmp_path / "in" / "jugs.py").decode() == JUGS
    (tmp_path / path).chmod(mode)
    with pytest.raises(NotOwnedError, match="other users may write to it"):
        read_owned(tmp_path / "in" / "jugs.py")


@needs_root
@pytest.mark.parametrize("path", ["in", "in/jugs.py"])
def test_what_belongs_to_somebody_else_is_not_owned(path: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "jugs.py").write_text(JUGS, encoding="utf-8")
    os.chown(tmp_path / path, STRANGER, STRANGER)
    with pytest.raises(NotOwnedError, match="another user"):
        read_owned(tmp_path / "in" / "jugs.py")


# Services


def test_a_coordinator_executes_what_it_was_started_with(given: Given, redis_server: RedisServer) -> None:
    """A mark in a run's directory queues it; so it is for everybody who can write there."""
    queued = given.stranger.json("enqueue", given.word)["run"]
    shutil.copytree(given.stranger.data / queued, given.hakoiri.data / queued)
    # This user has made runs of it, too.
    given.hakoiri.json("run", given.word)
    known = given.executed
    tried = given.hakoiri("coordinator", "--threads", "--burst", seconds=20, check=False)
    assert "which was not named when this process started; type --puzzle PATH/jugs.py:Jugs" in tried.stderr
    tried = given.hakoiri("coordinator", "--redis", redis_server.url, "--burst", check=False)
    assert given.executed == known
    assert given.hakoiri.json("status", queued)["status"] == "queued"
    given.hakoiri("coordinator", "--threads", "--burst", "--puzzle", given.word)
    assert given.hakoiri.json("status", queued)["status"] == "complete"


# Compiled kernels are code


class Evil:
    """Pickled, it leaves a mark where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return exec, (f"open({str(self.mark)!r}, 'w').close()",)


def one_more(number: int) -> int:
    return number + 1


def test_kernels_that_others_can_write_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, mark, raw = tmp_path / "kernels", tmp_path / "mark", pickle.dumps(Evil(tmp_path / "mark"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(kernels))
    monkeypatch.setattr(compiling, "cache_directory", cache(compiling.cache_directory.__wrapped__))
    assert compiling.jit(one_more)(1) == 2
    (kept,) = (file for file in kernels.rglob("one_more-*") if file.is_file())
    for place in (kept, kept.parent):
        kept.write_bytes(hashlib.sha256(raw).digest() + raw)
        place.chmod(0o777)
        assert compiling.jit(one_more)(1) == 2
        place.chmod(0o700)
    kernels.chmod(0o777)
    compiling.cache_directory.cache_clear()
    with pytest.warns(PuzzleWarning, match="other users may write to it"):
        assert compiling.cache_directory() != kernels
    assert not mark.exists()
    # Were it this user's alone, it would be taken for a kernel.
    kernels.chmod(0o700)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(kernels))
    compiling.cache_directory.cache_clear()
    kept.write_bytes(hashlib.sha256(raw).digest() + raw)
    with pytest.raises(TypeError):
        compiling.jit(one_more)(1)
    assert mark.exists()
