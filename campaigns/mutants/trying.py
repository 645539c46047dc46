"""One mutant against its tests, in a copy of the sources and a process of its own."""

import importlib.util
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Literal

import platformdirs

from campaigns.mutants.entered import TESTS, Entered
from campaigns.mutants.sites import ROOT, Mutant

#: What takes most of a short test's time, imported once: each mutant is tried in a fork. Nothing of the product is.
_ONCE = ("lmdb", "msgpack", "networkx", "numba", "numpy", "pytest", "redis", "rich", "rq", "scipy.sparse")
_PYTEST = ("-n0", "-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider")
#: Seconds on the wall for one of the processor, at most: the machine may be busy.
_WALL = 6
Outcome = Literal["noticed", "too long", "survived", "not entered"]


class Copy:
    """A copy of the sources and of the compiled kernels, where one file at a time is changed."""

    def __init__(self, place: Path) -> None:
        self.tree, self.entered, self._kernels = place / "tree", place / "entered", place / "kernels"
        self._log = place / "log"
        shutil.rmtree(self.tree, ignore_errors=True)
        shutil.copytree(ROOT, self.tree, symlinks=True, ignore=shutil.ignore_patterns(".venv", ".git", "*_cache"))
        usual = Path(platformdirs.user_cache_dir("hakoiri")) / "kernels"
        if usual.exists() and not self._kernels.exists():
            shutil.copytree(usual, self._kernels)
        for name in _ONCE:
            importlib.import_module(name)

    def note_entered(self) -> None:
        """Write down which functions each test enters, a file of tests after the other, where that is not there yet."""
        self.entered.mkdir(exist_ok=True)
        for path in sorted(path for folder in TESTS for path in (self.tree / folder).glob("test_*.py")):
            into = self.entered / f"{path.parent.name}-{path.stem}.json"
            if not into.exists():
                self._pytest([str(path.relative_to(self.tree)), "--maxfail=99"], 900, partial(Entered, self.tree, into))

    def outcome(self, mutant: Mutant, tests: Sequence[str], seconds: float) -> Outcome:
        """The outcome of tests that may take so many seconds of processor time, and six times that on the wall."""
        if not tests:
            return "not entered"
        path = self.tree / mutant.file
        original, times = path.read_bytes(), path.stat()
        path.write_text(mutant.text, encoding="utf-8")
        try:
            code = self._pytest(tests, seconds)
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            # The next mutant of this file may be of the same second and size.
            Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
        return "survived" if code == 0 else "too long" if code in {None, -signal.SIGXCPU} else "noticed"

    def _pytest(self, tests: Sequence[str], seconds: float, plugin: Callable[[], object] | None = None) -> int | None:
        """The exit code of pytest in a fork; ``None`` if it was ended because it took longer."""
        if (child := os.fork()) == 0:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
            self._run(tests, plugin)
        end, code = time.monotonic() + _WALL * seconds, None
        while code is None and time.monotonic() < end:
            ended, status = os.waitpid(child, os.WNOHANG)
            code = os.waitstatus_to_exitcode(status) if ended else None
            time.sleep(0.05)
        # What the tests have started ends with them, even if they did not come so far as to end it.
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if code is None:
            os.waitpid(child, 0)
        return code

    def _run(self, tests: Sequence[str], plugin: Callable[[], object] | None) -> None:
        import pytest

        output = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(self.tree)
        os.environ |= {"NUMBA_CACHE_DIR": str(self._kernels), "PYTHONPATH": str(self.tree)}
        # The tests' own `campaigns` and `hakoiri` are those of the copy.
        sys.path[:] = [str(self.tree), *(each for each in sys.path if Path(each or ".").resolve() != ROOT)]
        # What tests spawn with multiprocessing would run this program again, as their main module.
        sys.modules["__main__"] = ModuleType("__main__")
        made = [] if plugin is None else [plugin()]
        for name in [each for each in sys.modules if each.split(".")[0] in {"campaigns", "hakoiri", "tests"}]:
            del sys.modules[name]
        os._exit(int(pytest.main([*_PYTEST, *tests], plugins=made)))
