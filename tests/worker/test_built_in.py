"""The kernels of all built-in puzzles, compiled in advance."""

import subprocess
import sys

from tests.system.helpers import ROOT


def test_what_is_compiled_is_not_compiled_again() -> None:
    def compile_all() -> str:
        argv = [sys.executable, "-m", "worker.built_in"]
        return subprocess.run(argv, check=True, capture_output=True, text=True, cwd=ROOT).stderr

    said = compile_all()
    if said:
        assert "preparing the kernels" in said
        said = compile_all()
    assert said == ""
