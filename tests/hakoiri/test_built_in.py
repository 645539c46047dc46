"""The kernels of all built-in puzzles, compiled in advance."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from hakoiri.compiling import cache_directory
from tests.support.commands import ROOT, await_end

#: A process of the pool says that it is there, and would wait for work for ever.
_WAITING = """
import os, time
from hakoiri.cli.built_in import _processes
if __name__ == "__main__":
    with _processes() as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(600)
"""


@pytest.mark.slow
def test_what_is_compiled_is_not_compiled_again() -> None:
    def compile_all() -> set[Path]:
        subprocess.run([sys.executable, "-m", "hakoiri.cli.built_in"], check=True, capture_output=True, cwd=ROOT)
        return set(cache_directory().glob("hakoiri.*/*"))

    compiled = compile_all()
    assert compile_all() == compiled


@pytest.mark.ci_slow
def test_a_kill_leaves_nobody_who_compiles(tmp_path: Path) -> None:
    program = tmp_path / "waiting.py"
    program.write_text(_WAITING, encoding="utf-8")
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE, text=True, cwd=ROOT) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    assert await_end([child]) == []
