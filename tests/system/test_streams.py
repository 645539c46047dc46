"""Standard streams as users have them: closed, full, of plain ASCII, and shared with a puzzle that prints."""

import io
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import psutil
import pytest
from typer.testing import CliRunner

from campaigns.mayhem.works import WORKS, Undisturbed, Work, standing
from hakoiri.cli import app
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.worker.transport.connection import living_workers
from tests.support.commands import START_OF_2, FinishedRuns, Hakoiri, Running, wait_until
from tests.support.disks import small_disk
from tests.support.seeds import first_usual, usual
from tests.support.servers import RedisServer
from tests.support.user_puzzles import changed, written

BOARD = "ABBC/ABBC/DEEF/DGHF/I..J"
LOUD = changed(
    ("return 0x800", "print('a start'); return 0x800"),
    ("        found = []", "        print('successors'); found = []"),
    ("        return keys == 0x440", "        print('a goal?'); return keys == 0x440"),
    ('        return "/".join', "        print('drawing'); return \"/\".join"),
)


def ascii_streams() -> None:
    sys.stdout = open(1, "w", encoding="ascii", closefd=False)  # noqa: SIM115


def closed_stdout() -> None:
    os.close(1)
    sys.stdout = None


def full_stdout() -> None:
    os.dup2(os.open("/dev/full", os.O_WRONLY), 1)


def full_stderr() -> None:
    os.dup2(os.open("/dev/full", os.O_WRONLY), 2)


def unread_stderr() -> None:
    reader, writer = os.pipe()
    os.dup2(writer, 2)
    os.close(reader)
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


@pytest.mark.parametrize("log", [full_stderr, pytest.param(unread_stderr, marks=pytest.mark.ci_slow)])
def test_a_log_that_cannot_be_written_ends_no_service(
    log: Callable[[], None], hakoiri: Hakoiri, redis_server: RedisServer
) -> None:
    hakoiri("enqueue", "klotski")
    done = hakoiri("coordinator", "--threads", "--burst", "--json", before=log)
    assert [end["status"] for end in done.json["runs"]] == ["complete"]

    supervisor = hakoiri.start("worker", "-n", "1", env={"HAKOIRI_REDIS": redis_server.url}, before=log)
    (first,) = wait_until(lambda: living_workers(redis_server.client))
    (worker,) = wait_until(supervisor.children)
    worker.kill()
    wait_until(lambda: set(living_workers(redis_server.client)) - {first}, what="another worker")
    supervisor.send(signal.SIGTERM)
    assert supervisor.finish().code == 0


def unread_stdout() -> None:
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(reader)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_run_that_stops_is_no_success_when_nobody_reads_what_it_found(
    form: tuple[str, ...], hakoiri: Hakoiri
) -> None:
    running = hakoiri.start("run", "peg-solitaire", *form, before=unread_stdout)
    wait_until(lambda: hakoiri.state().depth > 1, what="layers")
    running.send(signal.SIGINT)
    assert running.finish().code == 128 + signal.SIGINT


@usual(1, "line", ["verify {}", "verify {} --json", "health --json", "try {}", "try {} --json"])
def test_what_is_wrong_is_no_success_when_nobody_reads_it(line: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    damaged = hakoiri.data / hakoiri.ask("run", "klotski", "--from", START_OF_2)["run"]
    with RunLock(damaged), Ledger(damaged, writable=True) as ledger:
        ledger.commit(replace(ledger.state, digest="0" * 64))
    wrong = written(tmp_path, changed(("        found = []", "        found = [1 << 40]")))
    named = wrong if line.startswith("try") else damaged.name
    assert hakoiri(*line.format(named).split(), before=unread_stdout, check=False).code == 1


def test_what_a_users_puzzle_prints_does_not_mix_with_the_results(tmp_path: Path, hakoiri: Hakoiri) -> None:
    loud = written(tmp_path, LOUD)
    ran = hakoiri.here("run", loud, "--json")
    assert ran.json["configurations"] == 16
    assert {"a start", "successors", "a goal?"} <= set(ran.stderr.splitlines())
    for line in ("path last", "layers last", "verify last --full", "resume last", "export last --to {}/jugs.csv"):
        assert hakoiri.ask(*line.format(tmp_path).split())["run"] == ran.json["run"], line
    assert hakoiri.here("distance", "last", "4/4/0").stdout == "7 moves from 8/0/0 to 4/4/0\n"


def test_what_a_puzzle_has_printed_by_others_does_not_mix_with_the_results(tmp_path: Path, hakoiri: Hakoiri) -> None:
    calling = changed(("        found = []", "        import os; os.write(1, b'aloud\\n'); found = []"))
    ran = hakoiri("run", written(tmp_path, calling), "--json")
    assert ran.json["configurations"] == 16
    assert ran.stderr.splitlines().count("aloud") >= 16
    assert hakoiri("path", "last").stdout.endswith("7 moves\n")


def test_control_characters_in_a_text_leave_an_export_xml(tmp_path: Path, hakoiri: Hakoiri) -> None:
    odd = changed(('        return "/".join', '        return "\\x1b\\x00<&>" + "/".join'))
    hakoiri.here("run", written(tmp_path, odd.replace("def parse_text", "def unread")))
    hakoiri.here("export", "last", "--to", str(tmp_path / "jugs.graphml"))
    texts = [node.text for node in xml.etree.ElementTree.parse(tmp_path / "jugs.graphml").getroot().iter()]  # noqa: S314
    assert "\\x1b\\x00<&>8/0/0" in texts


@usual(1, "line", ["show {}", "layers last", "run --help"])
def test_plain_ascii_is_drawn_with_lookalikes(line: str, finished: FinishedRuns) -> None:
    drawn = finished.hakoiri(
        *line.replace("last", finished.explored["run"]).format(BOARD).split(), before=ascii_streams
    )
    assert drawn.stdout.isascii()
    assert "?" not in drawn.stdout.replace("[default", "")
    if line == "show {}":
        assert drawn.stdout.startswith("+---+-------+---+\n| A | B     | C |\n")


@usual(1, "line", ["runs --json", "show {}", "deal gap", "--help"])
@usual(
    1,
    ("before", "code", "said"),
    [(closed_stdout, 0, ""), (full_stdout, 1, "hakoiri: the output cannot be written: No space left on device\n")],
)
def test_stdout_closed_or_full(
    line: str, before: Callable[[], None], code: int, said: str, finished: FinishedRuns
) -> None:
    done = finished.hakoiri(*line.format(BOARD).split(), before=before, check=False)
    assert (done.code, done.stdout, done.stderr) == (code, "", said)


def test_no_file_takes_the_place_of_a_closed_stream(tmp_path: Path) -> None:
    """Else what is logged is written into it: a data file of a run."""
    program = (
        "import os, sys; from hakoiri.render.streams import prepare_streams; prepare_streams()\n"
        f"with open({str(tmp_path / 'file')!r}, 'w') as file: print('a log', file=sys.stderr, flush=True)"
    )
    subprocess.run(["sh", "-c", '"$0" -c "$1" <&- >&- 2>&-', sys.executable, program], check=True)
    assert (tmp_path / "file").read_bytes() == b""


# Configurations from stdin and from pipes


@usual(1, "how", ["-", "pipe"])
@usual(1,
    "line",
    [
        "run klotski --from {}", "enqueue klotski --from {}", "show {}", "distance last {}",
        "path last --from {} --to {}",
    ],
)  # fmt: skip
def test_a_configuration_comes_from_a_pipe(how: str, line: str, hakoiri: Hakoiri) -> None:
    if "last" in line:
        hakoiri.here("run", "klotski", "--from", START_OF_2)
    board = f"; a comment\n{START_OF_2}\n".replace("/", "\n").encode()
    ends = [os.pipe() for _ in range(line.count("{}"))]
    for _, writer in ends:
        os.write(writer, board)
        os.close(writer)
    # The second of two is a pipe: stdin can be read once.
    names = [f"/dev/fd/{reader}" for reader, _ in ends]
    with patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(board))):
        done = hakoiri.ask(*line.format(*(["-", *names[1:]] if how == "-" else names)).split())
    for reader, _ in ends:
        os.close(reader)
    assert START_OF_2 in str(done) or done["status"] == "queued"


def test_stdin_without_a_board_is_named(hakoiri: Hakoiri) -> None:
    with patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"; nothing\n"))):
        assert hakoiri.here("show", "-", check=False).error == "hakoiri: stdin holds no board"


# Memory


@usual(1, "line", ["run klotski", "enqueue klotski", "study deals gap --sizes 3", "diameter last"])
@usual(1, "memory", ["1", "1K", "99MB"])
def test_memory_that_cannot_be_kept_to_is_refused(line: str, memory: str) -> None:
    refused = CliRunner().invoke(app, [*line.split(), "--memory", memory])
    assert refused.exit_code == 2
    assert "is below the minimum of 100MB" in " ".join(refused.output.replace("│", " ").split())


# The exit code is 0 if and only if the run is complete: each kind of run, ended in each way


_MOST_COMMITS, _LEAST_BYTES, _MOST_BYTES = 8, 100_000, 400_000
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: These are part of the default suite.
_USUAL = ("explore", "study")
_WORKS = [pytest.param(work, id=name, marks=[] if name in _USUAL else pytest.mark.slow) for name, work in WORKS.items()]


def stand_still_at(number: int, before: Callable[[], object] | None) -> None:
    """In a forked process: stop as SIGSTOP does after so many commits."""
    if before is not None:
        before()
    commit, left = Ledger.commit, [number]

    def counted(ledger: Ledger, *arguments: Any, **named: Any) -> None:
        commit(ledger, *arguments, **named)
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGSTOP)

    Ledger.commit = counted  # type: ignore[assignment, method-assign]


def agree(work: Work, hakoiri: Hakoiri, code: int) -> None:
    status = standing(work, hakoiri.data).state.status
    assert (code == 0) == (status == "complete"), f"exit code {code}, the run is {status}"


def stands_or_ended(running: Running) -> bool:
    with suppress(psutil.NoSuchProcess):
        return running.process.poll() is not None or psutil.Process(running.pid).status() == psutil.STATUS_STOPPED
    return True


@pytest.mark.parametrize("work", _WORKS)
@pytest.mark.parametrize("number", first_usual(1, *_SIGNALS), ids=lambda number: number.name)
def test_a_run_that_a_signal_stops_is_no_success(
    number: signal.Signals, work: Work, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    Undisturbed(tmp_path / "base").prepare(work, hakoiri.data)
    commits = Random(f"{work.name} {number.name}").randint(1, _MOST_COMMITS)
    running = hakoiri.start(*work.begin, before=partial(stand_still_at, commits, work.before))
    wait_until(partial(stands_or_ended, running), what="the commit, or the end")
    running.send(number)
    running.send(signal.SIGCONT)
    ended = running.finish()
    if number == signal.SIGHUP and ended.code == -number:
        return  # It ended the process at once, perhaps between the last commit and the end: no success, either way.
    assert ended.code in (0, 128 + number), ended
    agree(work, hakoiri, ended.code)


@usual(1, "work", _WORKS)
@usual(1, "part", range(3))
def test_a_run_on_a_full_disk_is_no_success(part: int, work: Work, hakoiri: Hakoiri, tmp_path: Path) -> None:
    chance = Random(f"{work.name} {part}")
    with small_disk("mounted", tmp_path / "disk", 8_000_000) as disk:
        hakoiri.data = disk.place / "data"
        Undisturbed(tmp_path / "base").prepare(work, hakoiri.data)
        left = chance.randint(_LEAST_BYTES, _MOST_BYTES)
        room = os.statvfs(disk.place)
        with (disk.place / "ballast").open("wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, room.f_bavail * room.f_frsize - left)
        ended = hakoiri(*work.begin, before=work.before, check=False)
        assert ended.code in (0, 1), ended
        agree(work, hakoiri, ended.code)
