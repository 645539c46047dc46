"""A run of another user executes no code: its puzzle file is executed only if this user has named it."""

import fcntl
import hashlib
import json
import os
import pickle
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import redis

from hakoiri import compiling
from hakoiri.errors import DamagedError, PuzzleError, PuzzleWarning
from hakoiri.keys.layout import U32
from hakoiri.logs import LOG, log, set_up
from hakoiri.owned import NotOwnedError, read_owned
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.user import files
from hakoiri.puzzles.user.files import FILES, find_again
from hakoiri.render.streams import print_error
from hakoiri.render.tables import facts, stderr, stdout, table
from hakoiri.storage.engine.files import Given as GivenDirectory
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.spill import NO_FILES, Spill, SpillFiles
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import holder_of, interrupt_holder
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import CREATED_FILE, HOLDER_FILE, META, SPILL_FOLDER, created_at
from hakoiri.worker.transport import connection
from tests.support.commands import PATIENCE_SECONDS, START_OF_2, Finished, Hakoiri
from tests.support.forged import ALL_NAMES, STRANGE
from tests.support.runs import driven
from tests.support.servers import RedisServer
from tests.support.user_puzzles import JUGS, ruled, written
from tests.support.web import ADDRESS, ENVIRONMENT, Server

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
    """A run of another user, unpacked here, with its puzzle file beside its data."""

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
    monkeypatch.setattr(files, "_added", set())


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


@pytest.mark.ci_slow
def test_a_coordinator_executes_what_it_was_started_with(given: Given, redis_server: RedisServer) -> None:
    """A mark in a run's directory queues it; so it is for everybody who can write there."""
    queued = given.stranger.json("enqueue", given.word)["run"]
    shutil.copytree(given.stranger.data / queued, given.hakoiri.data / queued)
    # This user has made runs of it, too.
    given.hakoiri.json("run", given.word)
    known = given.executed
    tried = given.hakoiri("coordinator", "--threads", "--burst", check=False)
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


@pytest.mark.ci_slow
def test_kernels_that_others_can_write_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, mark, raw = tmp_path / "kernels", tmp_path / "mark", pickle.dumps(Evil(tmp_path / "mark"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(kernels))
    monkeypatch.setattr(compiling, "cache_directory", cache(compiling.cache_directory.__wrapped__))
    assert compiling.jit(one_more)(1) == 2
    (kept,) = (file for file in kernels.rglob("one_more-*") if file.is_file())
    # As the product writes it: whoever can read the sources knows how.
    forged = hashlib.sha256(kept.name.encode() + b"\0" + raw).digest() + raw
    for place in (kept, kept.parent):
        kept.write_bytes(forged)
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
    kept.write_bytes(forged)
    with pytest.raises(TypeError):
        compiling.jit(one_more)(1)
    assert mark.exists()


# A run directory that somebody else has made: no link in it is followed, and no number in it is sent a signal


PRECIOUS = "all that I have\n"
COMMANDS = ("status {}", "verify {}", "resume {} --repair", "cancel {}", "delete {} --yes")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file of the user's own, in a folder with another."""
    (tmp_path / "home").mkdir()
    for name in ("precious", "other"):
        (tmp_path / "home" / name).write_text(PRECIOUS, encoding="ascii")
    return tmp_path / "home" / "precious"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run of two configurations."""
    command = Hakoiri(tmp_path_factory.mktemp("small"))
    command.ask("run", "klotski", "--from", START_OF_2)
    return command.run_directory()


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("name", ALL_NAMES)
def test_nothing_outside_a_run_is_touched(name: str, kind: str, precious: Path, hakoiri: Hakoiri, small: Path) -> None:
    """Whatever is asked of a run in the directory of which one name is something else."""
    hakoiri.data.mkdir()
    run = shutil.copytree(small, hakoiri.data / "given")
    place = hakoiri.data if name.startswith(".") else run
    with suppress(FileNotFoundError):
        (place / name).unlink()
    STRANGE[kind](place / name, precious)
    before = precious.stat().st_mtime_ns
    for command in COMMANDS:
        hakoiri.here(*command.format("given").split(), check=False)
        assert [file.read_text(encoding="ascii") for file in sorted(precious.parent.iterdir())] == [PRECIOUS] * 2
    assert precious.stat().st_mtime_ns == before


def test_spill_files_behind_a_link_are_neither_written_nor_removed(tmp_path: Path, precious: Path) -> None:
    """A stopped long layer takes its files up again, and removes the others in their folder."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / SPILL_FOLDER).symlink_to(precious.parent)
    spill, keys = Spill(tmp_path / "run", U32, 3), np.arange(9, dtype=np.uint32)
    for use in (
        lambda: spill.restore(NO_FILES),
        lambda: spill.restore(SpillFiles(2, {"0": 9}, {"0": 9})),
        lambda: spill.append(0, code_keys(3, keys)),
    ):
        with pytest.raises(DamagedError, match="plain folder"):
            use()
    spill.clear()
    assert sorted(file.name for file in precious.parent.iterdir()) == ["other", "precious"]


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("name", ["file", "folder/file"])
@pytest.mark.parametrize("mode", ["r", "a+", "w", "r+b"])
def test_only_plain_files_of_the_directory_are_opened(
    mode: str, name: str, kind: str, tmp_path: Path, precious: Path
) -> None:
    (tmp_path / "run" / "folder").mkdir(parents=True)
    STRANGE[kind](tmp_path / "run" / name, precious)
    if (mode, kind) == ("r", "hard link"):
        with GivenDirectory(tmp_path / "run").open(name, mode) as file:
            assert file.read() == PRECIOUS
        return
    with pytest.raises((DamagedError, IsADirectoryError)):
        GivenDirectory(tmp_path / "run").open(name, mode)
    assert precious.read_text(encoding="ascii") == PRECIOUS
    assert not (precious.parent / "nothing").exists()


@pytest.mark.parametrize("text", ["9" * 5_000, "-5", "1e9", "", "\x00"])
def test_a_time_of_making_that_makes_no_sense_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / CREATED_FILE).write_text(text, encoding="ascii")
    assert created_at(tmp_path) == 0


# Signals


@pytest.mark.parametrize("number", [-1, 0, 1, True, 2**31, 2**70, 1.5, "1", None, [], {}])
def test_no_signal_goes_to_a_number_that_is_no_process(
    number: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(os, "kill", lambda *given: sent.append(given))
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda *given: sent.append(given))
    with held(tmp_path, number):
        assert holder_of(tmp_path) is not None
        interrupt_holder(tmp_path)
    assert sent == []


class held:  # noqa: N801
    """While the block runs somebody holds a lock, and names a process of this user that has nothing to do with it."""

    def __init__(self, directory: Path, number: object) -> None:
        self._file = (directory / HOLDER_FILE).open("w+", encoding="utf-8")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        json.dump({"pid": number}, self._file)
        self._file.flush()

    def __enter__(self) -> "held":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


_ANSWERING = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
print(flush=True)
raise SystemExit(signal.sigwait({signal.SIGINT}))
"""


def test_only_who_has_the_lock_file_open_is_interrupted(tmp_path: Path) -> None:
    # Where tests run in the background SIGINT may be ignored, which programs inherit.
    program = ["env", "--default-signal=INT", sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(program, **pipes) as bystander, held(tmp_path, bystander.pid):
        assert bystander.stdout and bystander.stdin
        bystander.stdout.readline()
        interrupt_holder(tmp_path)
        # It would have been there before what is written now.
        bystander.stdin.close()
        assert bystander.wait(PATIENCE_SECONDS) == 0
    # Blocked until it is waited for: one that came just before a read would not end that.
    program = [sys.executable, "-c", _ANSWERING]
    with held(tmp_path, 0) as lock, subprocess.Popen(program, **pipes, pass_fds=[lock._file.fileno()]) as answering:
        assert answering.stdout is not None
        answering.stdout.readline()
        lock._file.seek(0)
        json.dump({"pid": answering.pid}, lock._file)
        lock._file.truncate()
        lock._file.flush()
        interrupt_holder(tmp_path)
        assert answering.wait(PATIENCE_SECONDS) == signal.SIGINT


# Texts of somebody else on a terminal: shown, and nothing else; a malformed run ends no list


TILES = PuzzleSpec("tiles", {"rows": "2", "columns": "2"})
#: Sets the title of a terminal, clears it, answers as if typed; as bytes of C1 too; and turns the direction of writing.
EVIL = "\x1b]0;mine\x07\x1b[2J\x1b[6n\x9b2J\x08\x7f\u202e\u2066\u2028 [red]x[/] [/nothing] [link=http://evil]y :smile:"
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def shown(finished: Finished) -> str:
    """Return the output, after a check that it does nothing to a terminal."""
    printed = finished.stdout + finished.stderr
    assert not _ACTS.findall(printed), printed
    assert "Traceback" not in printed
    return printed


def changed(directory: Path, record: str, **fields: Any) -> None:
    """A record of a run, whoever wrote it; its checksum is right."""
    with Ledger(directory, writable=True) as ledger:
        known = ledger.manifest.as_dict() if record == "manifest" else ledger.state.as_dict()
        if record == "manifest":
            ledger.stage_record(META, b"manifest", known | fields)
            ledger.commit(ledger.state)
        else:
            ledger.commit(State(**vars(ledger.state) | fields))


@pytest.fixture
def directory(hakoiri: Hakoiri) -> Path:
    """One run beside another, which is as it should be."""
    driven(hakoiri.data, TILES, "explore", {}, {})
    return driven(hakoiri.data, TILES, "census", {}, {})


@pytest.mark.ci_slow
def test_a_run_of_somebody_else_is_listed_and_shown(hakoiri: Hakoiri, directory: Path) -> None:
    changed(directory, "manifest", created=EVIL, mode=EVIL, puzzle=TILES.as_dict() | {"name": EVIL})
    changed(directory, "state", status="failed", reason=EVIL)
    assert "explore" in shown(hakoiri.here("runs"))
    said = shown(hakoiri.here("status", directory.name))
    assert "\\x1b]0;mine" in said and "\\u202e" in said
    assert "[red]x[/] [/nothing] [link=http://evil]y :smile:" in said
    for command in ("resume", "verify", "layers", "path", "cancel"):
        shown(hakoiri.here(command, directory.name, check=False))


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ("manifest", {"created": 5}),
        ("manifest", {"created": None}),
        ("manifest", {"puzzle": {}}),
        ("manifest", {"puzzle": {"name": "tiles", "options": 3, "start": None, "merge_mirrors": False}}),
        ("manifest", {"plan": [1]}),
        ("manifest", {"plan": {"created": ["x"], "puzzle": {"a": 1}, "mode": [1], "run": 7}}),
        ("manifest", {"mode": {}}),
        ("state", {"status": "dancing"}),
        ("state", {"reason": 7}),
        ("state", {"seconds": float("nan")}),
        ("state", {"seconds": float("inf")}),
        ("state", {"depth": "deep"}),
        ("state", {"work_log": {"layers": {"workers": ["x", None]}}}),
        ("state", {"work_log": {"layers": {"unknown": [1, 2]}, "hosts": {"a": {}}, "why_here": 5}}),
        ("state", {"figures": {"depth": {"a": 1}, "configurations": "many", "status": 4}}),
    ],
    ids=str,
)
def test_a_malformed_run_ends_no_list(hakoiri: Hakoiri, directory: Path, record: str, fields: dict[str, Any]) -> None:
    changed(directory, record, **fields)
    assert "explore" in shown(hakoiri.here("runs"))
    assert len(hakoiri.here("runs", "--json").json["runs"]) == 2
    shown(hakoiri.here("status", directory.name, check=False))


def test_names_of_workers_are_shown(hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch) -> None:
    living = {f"{EVIL}-1": "", f"b{EVIL}-2": f"redis://{EVIL}"}
    monkeypatch.setattr(connection, "connect", lambda _: redis.Redis())
    monkeypatch.setattr(connection, "living_workers", lambda *_: living)
    assert "\\x1b[2J" in shown(hakoiri.here("health", "--redis", "redis://127.0.0.1:1/0", data=None))


def test_everything_that_is_printed_is_made_visible(capsys: pytest.CaptureFixture[str]) -> None:
    for console in (stdout(), stderr()):
        console.print(EVIL)
        console.print(facts({EVIL: EVIL}))
        console.print(EVIL, style="red")
    printed = "".join(capsys.readouterr())
    assert not _ACTS.findall(printed)
    assert printed.count("[link=http://evil]y :smile:") >= 6


def test_a_line_feed_in_a_text_of_others_forges_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    text = "x\n2026-11-21 10:00:00+01:00 info den run a: complete"
    made = table("worker", "runs")
    made.add_row(text, text)
    stdout().print(made)
    stdout().print(facts({"reason": text}))
    print_error(text)
    before = LOG.handlers, LOG.propagate
    try:
        set_up("text", "den")
        log(text)
        try:
            raise ValueError(text)
        except ValueError:
            LOG.exception("broken off")
    finally:
        LOG.handlers, LOG.propagate = before
    lines = "".join(capsys.readouterr()).split("\n")
    assert [line for line in lines if line.startswith("2026-11-21")] == []
    assert sum("x\\n2026-11-21" in line for line in lines) >= 3


def test_a_folder_on_the_way_is_no_link(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "folder").symlink_to(precious.parent)
    with pytest.raises(DamagedError, match="plain folder"):
        GivenDirectory(tmp_path / "run").open("folder/precious", "w")
    assert precious.read_text(encoding="ascii") == PRECIOUS


IMPORTS = """
from hakoiri import U32, Label, Part, Picture, Puzzle
EVIL = "</title><script>alert(1)</script><img src=x onerror='a'>\\"&"

"""
MARKUP = ruled("Ring", imports=IMPORTS, undirected=True, rules="""\
    def successors(self, key):
        return [(key + 1) % 7, (key - 1) % 7]

    def is_goal(self, keys):
        return keys == 3

    def render(self, key):
        return f"{EVIL}{key}"

    def parse_text(self, text):
        return int(text[-1])

    def describe_moves(self, path):
        return [EVIL] * (len(path) - 1)

    def same_text(self, text, written):
        return True

    def pictures(self, path):
        return [Picture(9, 9, (Part(EVIL, (Label(1, 1, EVIL, 4, EVIL),), 1, 1),)) for key in path]
""")  # fmt: skip


@pytest.mark.ci_slow
@pytest.mark.parametrize("ending", ["html", "svg"])
def test_markup_in_the_names_of_a_puzzle_is_text_in_its_films(ending: str, tmp_path: Path, hakoiri: Hakoiri) -> None:
    (tmp_path / "ring.py").write_text(MARKUP, encoding="utf-8")
    hakoiri.ask("run", f"{tmp_path / 'ring.py'}:Ring")
    film = tmp_path / f"film.{ending}"
    hakoiri.here("path", "last", "--film", str(film))
    hakoiri.here("show", "3", "--puzzle", f"{tmp_path / 'ring.py'}:Ring", "--plot", str(tmp_path / "board.svg"))
    hakoiri.here("layers", "last", "--plot", str(tmp_path / "layers.svg"))
    for file in (film, tmp_path / "board.svg", tmp_path / "layers.svg"):
        text = file.read_text(encoding="utf-8")
        assert "<script>alert" not in text and "<img" not in text, file
        if file.suffix == ".svg":
            ElementTree.fromstring(text)  # noqa: S314  (our own)


@pytest.mark.parametrize("harm", ["folder", "file", "link", "garbage", "deep"])
def test_a_list_that_others_may_have_written_is_not_used(
    harm: str, tmp_path: Path, hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    forget(monkeypatch)
    hakoiri.ask("run", written(tmp_path / "mine"))
    kept = tmp_path / "state" / "hakoiri" / "puzzles.json"
    if harm == "folder":
        kept.parent.chmod(0o777)
    elif harm == "file":
        kept.chmod(0o666)
    elif harm == "link":
        kept.rename(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").chmod(0o666)
        kept.symlink_to(tmp_path / "elsewhere")
    else:
        kept.write_text("[[1, 2], 3" if harm == "garbage" else "[" * 100_000, encoding="ascii")
    forget(monkeypatch)
    refused = hakoiri.here("path", "last", check=False)
    assert "no file with this digest was named" in refused.error


@pytest.mark.ci_slow
def test_a_server_has_no_child_execute_what_it_was_not_started_with(given: Given) -> None:
    """Not even a file that its user has made runs of: a server executes what it was started with."""
    own = given.hakoiri.json("run", given.word)["run"]
    known = given.executed
    server = Server(given.hakoiri.start("serve", *ADDRESS, env=ENVIRONMENT))
    try:
        for run in (given.directory.name, own):
            for method, path in (
                ("POST", "resume"), ("POST", "verify"), ("POST", "verify?full=true"), ("POST", "export.npz"),
                ("GET", "export.npz"), ("POST", "map"), ("POST", "hardest"), ("GET", "map"), ("GET", "layers"),
                ("GET", "hardest"), ("GET", "components/0/diameter?all=true"),
            ):  # fmt: skip
                answer = server.client.request(method, f"/api/runs/{run}/{path}")
                assert (answer.status_code, answer.json()["type"]) == (409, "urn:hakoiri:unanswerable"), (path, answer)
            assert server.client.get(f"/api/runs/{run}").json()["status"] == "complete"
    finally:
        server.client.close()
    assert given.executed == known
