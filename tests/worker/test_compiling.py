"""Kernels that are compiled for a run: few of them, told of, and stopped between two."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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
        assert run.stderr.readline() == "compiling the kernels of hanoi, once: takes some seconds\n"
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
        assert run.wait(PATIENCE_SECONDS) == 128 + signal.SIGINT
    assert said.startswith("interrupted: stopped by SIGINT")
