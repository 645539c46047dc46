"""Hakoiri by threads without what only Linux has: imported, run, asked and verified in a process that lacks it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import ROOT, clean_environment

#: What macOS lacks is taken away where each module guards it; other packages are imported before, as they are.
WITHOUT = """
import os, pkgutil, signal, sys
from importlib import import_module
from pathlib import Path
import fastapi, lmdb, matplotlib.pyplot, msgspec, numba, obstore, prometheus_client, psutil, pyarrow, redis, rq, uvicorn

for name in ("posix_fallocate", "sched_getaffinity", "sched_setaffinity", "pidfd_open", "O_PATH", "sync_file_range"):
    delattr(os, name) if hasattr(os, name) else None
del signal.pidfd_send_signal
sys.platform, linux = "darwin", sys.platform
from hakoiri import memory
from hakoiri.worker import machine
from hakoiri.storage.engine import pages
sys.platform = linux
assert machine._prctl is None
machine.groups = memory.groups = lambda *_: iter(())
here = Path.exists
Path.exists = lambda path: not str(path).startswith("/proc") and here(path)

import hakoiri
for module in pkgutil.walk_packages(hakoiri.__path__, "hakoiri."):
    if not module.name.endswith("__main__"):
        import_module(module.name)

from hakoiri.storage.layers.store import file_array
from hakoiri.storage.ledger.lock import interrupt_holder

run = hakoiri.explore("klotski", data=sys.argv[1])
directory = run.store.directory
assert sum(run.layer_sizes) == 25_955
assert len(run.path("goal").moves) == 116
numbers = file_array(directory, "u4", 3 << 20)
numbers[-1] = 7
assert int(numbers.sum()) == 7
run.close()
assert hakoiri.verify_run(directory.name, data=sys.argv[1]).ok
interrupt_holder(directory)
print("complete")
"""


@pytest.mark.slow
def test_a_run_without_what_only_linux_has(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["complete"]), done.stderr
