"""Ctrl-C before a command has come to its work: in its first moment, while modules are imported, while workers start.

Each signal is sent at a point of the program, not after a time.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.commands import HAKOIRI, PATIENCE_SECONDS, ROOT, FinishedRuns, Hakoiri, clean_environment, wait_until
from tests.support.servers import Workers

#: Interrupts itself where a module is looked for, or a function is called first.
INTERRUPTED = """\
import os, signal, sys

kind, target, *sys.argv[1:] = sys.argv[1:]

def interrupt():
    sys.setprofile(None)
    os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(self, name, *_):
        if name == target:
            sys.meta_path.remove(self)
            interrupt()

def called(frame, event, _):
    if event == "call" and frame.f_code.co_name == target:
        interrupt()

if kind == "import":
    sys.meta_path.insert(0, Finder())
else:
    sys.setprofile(called)
import runpy
runpy.run_module("hakoiri", run_name="__main__", alter_sys=False)
"""
#: Says on the pipe that Ctrl-C is seen to, in the program's first moment.
AWAKE = """\
import os, signal, sys

pipe, *sys.argv[1:] = sys.argv[1:]
seen_to = signal.signal

def see_to(number, handler):
    before = seen_to(number, handler)
    signal.signal = seen_to
    os.write(int(pipe), b"!")
    return before

signal.signal = see_to
import runpy
runpy.run_module("hakoiri", run_name="__main__", alter_sys=False)
"""
SLOW = pytest.mark.slow


def interrupted(*words: str, data: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *words], cwd=ROOT, env=clean_environment(HAKOIRI_DATA=str(data)),
        check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("hakoiri.cli.app", "runs"),
        ("numpy", "show 0x17038bbb"),
        *(
            pytest.param(module, line, marks=SLOW)
            for module, line in (
                ("typer", "--help"),
                ("rich.live", "status last --watch"),
                ("lmdb", "runs"),
                ("numpy", "path last"),
                ("numba", "run klotski"),
                ("llvmlite.binding", "run klotski"),
                ("hakoiri.puzzles.sliding_blocks.klotski", "run klotski"),
                ("redis", "health --redis redis://127.0.0.1:1/0"),
            )
        ),
    ],
)
def test_ctrl_c_while_a_module_is_imported(module: str, line: str, finished: FinishedRuns) -> None:
    ended = interrupted("import", module, *line.split(), data=finished.hakoiri.data)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, "", "")


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("function", "line"),
    [
        ("find_run", "status last"),
        *(
            pytest.param(function, line, marks=SLOW)
            for function, line in (
                ("data_directory", "runs"),
                ("parse_options", "show 0x17038bbb"),
                ("print_json", "runs --json"),
                ("start_run", "run klotski"),
                ("plan_run", "enqueue klotski"),
                ("_watch", "status last --watch"),
            )
        ),
    ],
)
def test_ctrl_c_before_there_is_work_in_hand(function: str, line: str, finished: FinishedRuns) -> None:
    ended = interrupted("call", function, *line.split(), data=finished.hakoiri.data)
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + signal.SIGINT, "", "")


@pytest.mark.parametrize(
    "line", ["run klotski", *(pytest.param(line, marks=SLOW) for line in ["status last", "worker --redis {redis}"] * 5)]
)
def test_ctrl_c_in_the_first_moment(line: str, tmp_path: Path, farm: Workers) -> None:
    ours, theirs = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", AWAKE, str(theirs), *line.format(redis=farm.url).split()], cwd=ROOT, pass_fds=[theirs],
        env=clean_environment(HAKOIRI_DATA=str(tmp_path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        os.close(theirs)
        assert os.read(ours, 1) == b"!"
        os.close(ours)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=PATIENCE_SECONDS) == (b"", b"")
    assert process.returncode in (-signal.SIGINT, 128 + signal.SIGINT)


@pytest.mark.ci_slow
@pytest.mark.parametrize("begun", [pytest.param(False, marks=SLOW), True])
def test_ctrl_c_at_once_ends_workers_cleanly(begun: bool, hakoiri: Hakoiri, farm: Workers) -> None:
    """As a terminal does it: the signal goes to all processes of the group, the workers that have just begun, too."""
    with subprocess.Popen(
        [HAKOIRI, "worker", "-n", "1", "--redis", farm.url], env=clean_environment(), stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        assert "1 worker process" in process.stderr.readline()
        if begun:
            # It has begun, and takes longer than this to import what it needs.
            wait_until(lambda: psutil.Process(process.pid).children())
        os.killpg(process.pid, signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 0
    assert rest.endswith("workers stopped\n")
    assert "Traceback" not in rest
    assert rest.count("\n") == 1, rest
