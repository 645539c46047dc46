"""Kernels that are compiled for a run: told of, timed apart from the work, and stopped between two."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hakoiri import timing
from hakoiri.api import Run
from hakoiri.coordinator.session.session import Session
from tests.support.commands import PATIENCE_SECONDS, ROOT


def environment(cache: Path) -> dict[str, str]:
    """Return the environment of a process that finds no kernels but those in `cache`."""
    return os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}


@pytest.mark.slow
def test_ctrl_c_stops_between_kernels(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "hakoiri", "run", "hanoi", "--whole", "--data", str(tmp_path / "data")]
    with subprocess.Popen(
        argv, cwd=ROOT, env=environment(tmp_path / "cache"), stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        assert run.stderr.readline() == "compiling about 14 kernels for hanoi, once, about 9 s\n"
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
        assert run.wait(PATIENCE_SECONDS) == 128 + signal.SIGINT
    assert said.startswith("interrupted: stopped by SIGINT")


def test_the_clock_of_a_session_stands_still_while_kernels_are_compiled(small_run: Run) -> None:
    with small_run.context() as context:
        session = Session(small_run.store, context)
        began, before = time.monotonic(), session.seconds

        def compiling() -> None:
            until = time.monotonic() + 0.2
            while time.monotonic() < until:
                pass

        timing.timed(compiling)
        counted = session.seconds - before
        assert counted <= time.monotonic() - began - 0.2


@pytest.mark.slow
def test_compiling_has_a_line_of_its_own_and_is_no_computing(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "hakoiri", "run", "hanoi", "-o", "discs=2", "--data", str(tmp_path / "data")]

    def ask(*more: str) -> str:
        done = subprocess.run(
            [*argv, *more], cwd=ROOT, env=environment(tmp_path / "cache"), check=True, capture_output=True, text=True
        )
        return done.stdout

    cold, warm = (json.loads(ask("--json")) for _ in range(2))
    assert warm["compiling"] == 0
    assert cold["seconds"] < cold["compiling"] / 4
    assert "\ncompiling " not in ask()


@pytest.mark.ci_slow
def test_where_kernels_cannot_be_kept_one_line_says_so_and_nothing_is_left(tmp_path: Path) -> None:
    code = "from hakoiri.compiling import jit\n@jit\ndef one_more(n): return n + 1\nprint(one_more(1))"
    (tmp_path / "used.py").write_text(code, encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    more = {"NUMBA_CACHE_DIR": "/proc/none", "TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "always", tmp_path / "used.py"],
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "2\n"
    said = "compiled kernels cannot be kept in /proc/none: No such file or directory; each command compiles its own"
    assert done.stderr.count(said) == 1
    assert list((tmp_path / "temporary").iterdir()) == []
