"""A pytest plugin that records the functions that each test enters, and the tests chosen from that for a function.

Python's own trace function is called once for each call, as no line is traced: no other package is needed, and the
tests take about twice as long. A session's fixture counts for every test that uses it. Compiled functions are not
entered: theirs are the tests that name them, and those of the functions that do.
"""

import ast
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

from campaigns.mutants.sites import ROOMS, Mutant, functions, is_kernel

#: The tests that enter the product in their own process.
TESTS = ("tests/coordinator", "tests/storage", "tests/worker", "tests/puzzles")


#: What pytest takes for any test.
_LEAST_SECONDS = 0.1


class Entered:
    """Notes the functions that tests enter, and their seconds, into a file of JSON."""

    def __init__(self, root: Path, file: Path) -> None:
        self._prefixes = {f"{root / top / room}/": f"{room}/" for room in ROOMS for top in (".", "hakoiri")}
        self._file, self._now = file, set[str]()
        self._of_code: dict[Any, str] = {}
        self._fixtures = defaultdict[str, set[str]](set)
        self._tests: dict[str, tuple[float, set[str], list[str]]] = {}
        self._failed = set[str]()

    def _trace(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if (name := self._of_code.get(code)) is None:
            name = self._of_code[code] = self._named(code.co_filename, code.co_qualname)
        if name:
            self._now.add(name)

    def _named(self, file: str, function: str) -> str:
        for prefix, room in self._prefixes.items():
            if file.startswith(prefix):
                return f"{room}{file.removeprefix(prefix)} {function.partition('.<locals>')[0]}"
        return ""

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        outer, self._now = self._now, set()
        made = yield
        if fixturedef.scope != "function":
            self._fixtures[fixturedef.argname] |= self._now
        self._now |= outer
        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Iterator[None]:
        self._now, began = set(), time.process_time()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        done = yield
        sys.settrace(None)
        threading.settrace(None)
        self._tests[item.nodeid] = time.process_time() - began, self._now, item.fixturenames
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A test that fails where nothing is changed says nothing of a mutant.
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        found = {
            test: {
                "seconds": round(seconds, 2),
                "functions": sorted(own.union(*(self._fixtures[name] for name in names))),
            }
            for test, (seconds, own, names) in self._tests.items()
            if test not in self._failed
        }
        self._file.write_text(json.dumps(found), encoding="utf-8")


class Choice(NamedTuple):
    """The tests of each function, and who names whom."""

    tests: dict[str, list[str]]
    seconds: dict[str, float]
    #: How many functions a test enters: one that enters few is about these.
    entered: dict[str, int]
    #: By compiled function: the functions that name it, those of its own file and of files that import it.
    named_in: dict[str, set[str]]
    kernels: set[str]

    def of(self, mutant: Mutant, most_seconds: float) -> list[str]:
        """The tests that enter a mutant's function, up to so many seconds together, and at least one.

        In turn the one that enters the fewest other functions, and the shortest.
        """
        function, total = f"{mutant.file} {mutant.function}", 0.0
        chosen: list[str] = []
        found = self._entering(function, set())
        orders = (sorted(found, key=order.__getitem__) for order in (self.entered, self.seconds))
        for test in dict.fromkeys(chain.from_iterable(zip(*orders, strict=True))):
            total += max(self.seconds[test], _LEAST_SECONDS)
            if chosen and total > most_seconds:
                break
            chosen.append(test)
        return chosen

    def _entering(self, function: str, seen: set[str]) -> set[str]:
        seen.add(function)
        found = {*self.tests.get(function, [])}
        if function not in self.kernels:
            return found
        by = self.named_in.get(function, set()) - seen
        return found.union(*(self._entering(each, seen) for each in by if each not in seen))


def read_entered(root: Path, folder: Path) -> Choice:
    """Return what `Entered` has written into the files of a folder, by function."""
    tests, named_in = defaultdict[str, list[str]](list), defaultdict[str, set[str]](set)
    seconds, entered = dict[str, float](), dict[str, int]()
    kernels = set[str]()
    noted = (json.loads(file.read_text(encoding="utf-8")).items() for file in sorted(folder.glob("*.json")))
    for test, row in chain.from_iterable(noted):
        seconds[test], entered[test] = row["seconds"], len(row["functions"])
        for function in row["functions"]:
            tests[function].append(test)
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            file, tree = str(path.relative_to(root)), ast.parse(path.read_text(encoding="utf-8"))
            named = _imported(tree) | {name: f"{file} {name}" for name, _ in functions(tree)}
            for name, function in functions(tree):
                if is_kernel(function):
                    kernels.add(f"{file} {name}")
                for node in ast.walk(function):
                    if isinstance(node, ast.Name) and node.id in named:
                        named_in[named[node.id]].add(f"{file} {name}")
    for path in sorted(path for folder in TESTS for path in (root / folder).glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = _imported(tree)
        for name, function in functions(tree):
            for called in {
                named.get(node.id, "") for node in ast.walk(function) if isinstance(node, ast.Name)
            } & kernels:
                test = f"{path.relative_to(root)}::{name}"
                tests[called] += [each for each in seconds if each.partition("[")[0] == test]
    return Choice(tests, seconds, entered, named_in, kernels)


def _imported(tree: ast.Module) -> dict[str, str]:
    """By the name that a module imports it under: the file and the name of what may be a function."""
    return {
        each.asname or each.name: f"{node.module.removeprefix('hakoiri.').replace('.', '/')}.py {each.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
    }
