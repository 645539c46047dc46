"""Compiled kernels on disk: used again for the same sources wherever they stand, and never for others."""

import fcntl
import importlib
import os
import pickle
import pkgutil
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FunctionType, ModuleType

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError

from hakoiri import compiling, timing
from hakoiri.compiling import cache_directory, telling
from hakoiri.fingerprint import UnknownGlobalError, fingerprint

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("puzzles", "storage", "worker", "coordinator")
SOURCES = {
    "unrelated_here": "LIMIT = 3\n",
    "constants_here": "STEP = 2\nTABLE = __import__('numpy').array([5, 7])\n",
    "callee_here": """
from typing import NamedTuple
from constants_here import STEP, TABLE
from hakoiri.compiling import jit

class Pair(NamedTuple):
    first: int
    second: int

@jit
def inner(number):
    return number * STEP + TABLE[1]

@jit
def inner_most(pair):
    return pair.first - pair.second
""",
    "kernel_here": """
import unrelated_here
from callee_here import Pair, inner, inner_most
from hakoiri.compiling import jit

@jit
def outer(number, step=1):
    if number > 100:
        return outer(number - 100)
    return inner(number) + inner_most(Pair(step, 4))
""",
}


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ModuleType]]:
    """Writes `SOURCES`, one of them changed, and imports them anew as another process would; the cache is empty."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    cache_directory.cache_clear()

    def forget() -> None:
        for name in SOURCES:
            sys.modules.pop(name, None)

    def write_and_import(where: str = "", **changed: tuple[str, str]) -> ModuleType:
        place = tmp_path / f"{where}-{len(list(tmp_path.iterdir()))}"
        place.mkdir()
        for name, text in SOURCES.items():
            old, new = changed.get(name, ("", ""))
            assert old in text
            (place / f"{name}.py").write_text(text.replace(old, new, 1), encoding="utf-8")
        forget()
        with monkeypatch.context() as context:
            context.syspath_prepend(str(place))
            return importlib.import_module("kernel_here")

    yield write_and_import
    forget()
    cache_directory.cache_clear()


def compiled(module: ModuleType) -> bool:
    """Return whether `outer` was compiled when it was called."""
    said: list[str] = []
    with telling(lambda count: said.append("compiling")):
        module.outer(10)
    return bool(said)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("changed", "anew", "value"),
    [
        ({}, False, 24),
        ({"unrelated_here": ("3", "4")}, False, 24),
        ({"constants_here": ("STEP", "# A remark.\nSTEP")}, False, 24),
        ({"kernel_here": ("import unrelated", '"""A text."""\n\nimport unrelated')}, False, 24),
        ({"constants_here": ("2", "3")}, True, 34),
        ({"constants_here": ("7", "8")}, True, 25),
        ({"callee_here": ("number *", "number +")}, True, 16),
        ({"callee_here": ("pair.first - pair.second", "pair.second - pair.first")}, True, 30),
        ({"callee_here": ("first: int\n    second: int", "second: int\n    first: int")}, True, 30),
        ({"kernel_here": ("step=1", "step=2")}, True, 25),
        ({"kernel_here": ("(step, 4)", "(step, 5)")}, True, 23),
    ],
)
def test_only_what_a_kernel_depends_on_compiles_it_anew(
    imported: Callable[..., ModuleType], changed: dict[str, tuple[str, str]], anew: bool, value: int
) -> None:
    first = imported("here")
    assert compiled(first)
    assert first.outer(10) == 24
    second = imported("elsewhere", **changed)
    assert compiled(second) == anew
    assert second.outer(10) == value
    assert not compiled(imported("here"))


@pytest.mark.ci_slow
def test_a_damaged_file_is_compiled_anew(imported: Callable[..., ModuleType]) -> None:
    assert compiled(imported())
    (kept,) = (cache_directory() / "kernel_here").iterdir()
    for raw in (b"", kept.read_bytes()[:-1], kept.read_bytes()[:60] + b"?" + kept.read_bytes()[61:]):
        kept.write_bytes(raw)
        again = imported()
        assert compiled(again)
        assert again.outer(10) == 24
        assert not compiled(imported())


@pytest.mark.ci_slow
def test_a_full_disk_costs_time_and_nothing_else(
    imported: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    cache_directory()
    monkeypatch.setattr(tempfile, "NamedTemporaryFile", full)
    assert compiled(imported())
    again = imported()
    assert compiled(again)
    assert again.outer(10) == 24


def test_what_cannot_be_told_is_not_kept(imported: Callable[..., ModuleType]) -> None:
    outer = imported().outer.py_func
    code = outer.__code__.replace(co_names=("held",))
    with pytest.raises(UnknownGlobalError, match=r"\[1, 2\]"):
        fingerprint(FunctionType(code, outer.__globals__ | {"held": [1, 2]}))


@pytest.mark.ci_slow
def test_a_kept_kernel_that_names_a_module_that_is_gone_is_compiled_anew(imported: Callable[..., ModuleType]) -> None:
    assert compiled(imported())
    (kept,) = (cache_directory() / "kernel_here").iterdir()
    raw = pickle.dumps((True, GoneModule()))
    kept.write_bytes(compiling._sealed(kept.name, raw))
    again = imported()
    assert compiled(again)
    assert again.outer(10) == 24
    assert not compiled(imported())


class GoneModule:
    """Pickled as a call of `import_module` for a module that there is not."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return importlib.import_module, ("hakoiri.gone",)


@pytest.mark.ci_slow
def test_a_kernel_that_numba_refuses_lets_others_be_compiled(imported: Callable[..., ModuleType]) -> None:
    with pytest.raises(TypingError):
        imported().outer("ten")
    assert not compiling._compilation.goes_on
    assert imported().outer(10) == 24


@pytest.mark.ci_slow
def test_a_kernel_is_compiled_where_the_folder_of_kernels_is_gone(imported: Callable[..., ModuleType]) -> None:
    folder = cache_directory()
    shutil.rmtree(folder)
    assert imported().outer(10) == 24
    assert (folder / "kernel_here").is_dir()


@pytest.mark.ci_slow
def test_the_clock_of_estimates_stands_still_while_kernels_are_compiled(imported: Callable[..., ModuleType]) -> None:
    module, spent, began, ticked = imported(), timing.compiling_seconds(), time.perf_counter(), timing.clock()
    assert module.outer(10) == 24
    compiled_for, passed = timing.compiling_seconds() - spent, time.perf_counter() - began
    assert 0 < compiled_for < passed
    assert timing.clock() - ticked <= time.perf_counter() - began - compiled_for
    spent = timing.compiling_seconds()
    assert module.outer(10) == 24
    assert timing.compiling_seconds() == spent


@pytest.mark.ci_slow
def test_overlapping_tellers_take_only_themselves_away(imported: Callable[..., ModuleType]) -> None:
    said = list[str]()
    one, other = telling(lambda count: said.append("one")), telling(lambda count: said.append("other"))
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(one)
        second.enter_context(other)
        first.close()
        module = imported()
        assert module.outer(10) == 24
    assert module.outer(10, np.int32(1)) == 24
    assert said == ["other"]


@pytest.mark.ci_slow
def test_whoever_compiles_is_told_how_many_and_can_be_stopped(imported: Callable[..., ModuleType]) -> None:
    """Between kernels: `outer` compiles two others on its way, which are not told of one by one."""

    class StopError(Exception):
        pass

    def stop_after_some(count: int) -> None:
        said.append(count)
        if count:
            raise StopError

    module, said = imported(), list[int]()

    with open(cache_directory() / f"compiling-{module.__name__}", "w", encoding="utf-8") as held:
        # As by another process, which compiles.
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StopError), telling(stop_after_some):
            module.outer(10)
    assert (said, compiled_versions(module)) == ([0, 1], (0, 0))
    said.clear()
    with pytest.raises(StopError), telling(stop_after_some):
        module.outer(10)
        module.outer(10, np.int32(1))
    assert said == [0, 1]
    assert compiled_versions(module) == (1, 1)
    with telling(lambda count: None):
        assert module.outer(10, np.int32(1)) == 24


def compiled_versions(module: ModuleType) -> tuple[int, int]:
    """Return the numbers of compiled versions of `outer` and `inner`."""
    return len(module.outer.overloads), len(module.inner.overloads)


@pytest.mark.ci_slow
def test_a_literal_is_an_integer_like_any_other(imported: Callable[..., ModuleType]) -> None:
    text = "inner(number) + inner_most"
    module = imported(kernel_here=(text, f"inner(7) + {text}"))
    assert module.outer(10) == 24 + 21
    assert compiled_versions(module) == (1, 1)


@pytest.mark.ci_slow
def test_of_processes_that_start_together_one_compiles(tmp_path: Path) -> None:
    for name, text in SOURCES.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    code = (
        "from kernel_here import inner, outer\nfrom hakoiri.compiling import telling\n"
        "with telling(lambda count: count or print('said', flush=True) or input()):\n    assert outer(10) == 24\n"
        "print('compiled', len(inner.overloads))"
    )
    environment = {
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
    }
    both = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "said\n"
    # Both have found nothing on disk; only now they go on.
    assert sorted(process.communicate("\n")[0] for process in reversed(both)) == ["compiled 0\n", "compiled 1\n"]


@pytest.mark.ci_slow
def test_what_compiled_code_needs_of_numba_is_there_when_it_is_loaded(tmp_path: Path) -> None:
    """Symbols that numba defines only when it is about to compile; without any, half of numba is not imported."""
    kernels = "import numpy as np\nfrom hakoiri.compiling import jit\n\n@jit\ndef dot(a):\n    return np.dot(a, a)\n\n"
    kernels += "@jit\ndef total(a):\n    return a[0] + a[1]\n"
    (tmp_path / "two_here.py").write_text(kernels, encoding="utf-8")
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PATH": ""}

    def ask(name: str, loaded: int) -> str:
        code = (
            f"import sys\nimport numpy as np\nfrom two_here import {name}\nvalue = {name}(np.array([1.5, 2.0]))\n"
            f"assert {name}.stats.cache_hits.total() == {loaded}\nprint(value, 'scipy.linalg' in sys.modules)"
        )
        argv = [sys.executable, "-c", code]
        return subprocess.run(argv, env=environment, check=True, capture_output=True, text=True).stdout

    assert (ask("dot", 0), ask("total", 0)) == ("6.25 True\n", "3.5 True\n")
    assert (ask("dot", 1), ask("total", 1)) == ("6.25 True\n", "3.5 False\n")


@pytest.mark.ci_slow
def test_every_kernel_can_be_kept() -> None:
    found = 0
    for package in PACKAGES:
        for info in pkgutil.walk_packages([str(ROOT / package)], f"hakoiri.{package}."):
            if "__main__" not in info.name:
                for value in vars(importlib.import_module(info.name)).values():
                    if isinstance(value, Dispatcher):
                        assert fingerprint(value.py_func)
                        found += 1
    assert found > 100


@pytest.mark.slow
def test_an_edit_of_what_is_no_kernel_compiles_nothing(tmp_path: Path) -> None:
    """With the true sources: those of another place, each of them changed where no kernel depends on it."""

    def run(place: Path, cache: Path) -> bool:
        """Return whether a run by the sources at `place` compiles."""
        argv = [sys.executable, "-P", "-m", "hakoiri", "run", "hanoi", "--data", str(tmp_path / "data"), "--json"]
        environment = {"PYTHONPATH": str(place), "NUMBA_CACHE_DIR": str(cache), "PATH": ""}
        said = subprocess.run(argv, env=environment, check=True, capture_output=True, text=True).stderr
        return "kernels for hanoi" in said

    run(ROOT, cache_directory())
    shutil.copytree(cache_directory(), tmp_path / "cache", copy_function=os.symlink)
    shutil.copytree(ROOT / "hakoiri", tmp_path / "copy" / "hakoiri")
    for path in (tmp_path / "copy").rglob("*.py"):
        path.write_text(path.read_text(encoding="utf-8") + "\n\ndef unused() -> None:\n    pass\n", encoding="utf-8")
    assert not run(tmp_path / "copy", tmp_path / "cache")
    order = tmp_path / "copy" / "hakoiri" / "keys" / "order.py"
    comparison = "keys[index] < others[other]"
    assert comparison in order.read_text(encoding="utf-8")
    order.write_text(order.read_text(encoding="utf-8").replace(comparison, f"{comparison} + 0"), encoding="utf-8")
    assert run(tmp_path / "copy", tmp_path / "cache")


def test_a_kept_kernel_in_the_place_of_another_is_compiled_anew(imported: Callable[..., ModuleType]) -> None:
    assert compiled(imported())
    (kept,) = (cache_directory() / "kernel_here").iterdir()
    other = kept.with_name("inner-0")
    raw = compiling._sealed(other.name, pickle.dumps((True, ())))
    kept.write_bytes(raw)
    again = imported()
    assert compiled(again)
    assert again.outer(10) == 24
