"""The memory of the process that others are forked from: Hakoiri, and the kernels of the usual puzzle."""

import gc
import os
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

import hakoiri.worker.main  # noqa: F401
from hakoiri.cli import app
from hakoiri.worker.machine import end_with

# What every command imports when it comes to it, and what most runs do.
with TemporaryDirectory() as directory:
    for words in ("run klotski --until-goal", "run klotski --whole", "diameter last", "layers last"):
        assert CliRunner().invoke(app, [*words.split(), "--data", directory, "--json"]).exit_code == 0
gc.freeze()
# What it forks has its ends of the pipes by which it would know that there is nobody any more to fork for.
end_with(os.getppid())
