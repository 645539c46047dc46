"""The campaign of mutants: what it changes, which tests it chooses, and in CI two mutants in earnest."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from campaigns.mutants.entered import read_entered
from campaigns.mutants.page import PAGE, RESULTS, judged, page
from campaigns.mutants.sites import mutants
from tests.support.commands import ROOT

SOURCE = '''\
"""A module."""

LIMIT = 3 + 4


class Thing:
    def inside(self, first: int | None, höhe: int) -> bool:
        return (first is None or
                höhe < LIMIT)


@jit
def kernel(a: int) -> int:
    a += 1
    return a if not a else f"{a + 1}"


def calls(a: int) -> int:
    return kernel(a)
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for room in ("storage", "puzzles"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "thing.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def test_one_operator_in_a_function_is_changed_and_all_lines_stay(tree: Path) -> None:
    found = mutants(1, tree)
    in_kernel = {"kernel: a += 1 -> a -= 1", "kernel: not a -> a"}
    inside = "Thing.inside: first is None or höhe < LIMIT -> first is None and höhe < LIMIT"
    plain = {inside, "Thing.inside: first is None -> first is not None", "Thing.inside: höhe < LIMIT -> höhe <= LIMIT"}
    assert {mutant.name for mutant in found} == {
        *(f"storage/thing.py {name}" for name in plain | in_kernel), *(f"puzzles/thing.py {name}" for name in in_kernel)
    }  # fmt: skip
    assert {mutant.name for mutant in found if mutant.is_kernel} == {
        f"{room}/thing.py {name}" for room in ("storage", "puzzles") for name in in_kernel
    }
    for mutant in found:
        changed = ast.unparse(ast.parse(mutant.text))
        assert changed == ast.unparse(ast.parse(SOURCE)).replace(mutant.before, mutant.after, 1)
        assert len(mutant.text.splitlines()) == len(SOURCE.splitlines())


def test_the_shortest_tests_that_enter_a_function_are_chosen(tree: Path) -> None:
    entered = {
        "a::long": {"seconds": 9, "functions": ["storage/thing.py calls", "storage/thing.py Thing.inside", "a"]},
        "a::short": {"seconds": 1, "functions": ["storage/thing.py calls"]},
        "a::other": {"seconds": 1, "functions": ["puzzles/thing.py calls"]},
        "a::importing": {"seconds": 5, "functions": ["storage/importing.py far", "storage/importing.py near"]},
    }
    importing = "from hakoiri.storage.thing import kernel as other\n\n\ndef far():\n    return other(1)\n"
    (tree / "storage" / "importing.py").write_text(importing, encoding="utf-8")
    direct = "from hakoiri.puzzles.thing import kernel\n\n\ndef test_direct():\n    kernel(1)\n"
    (tree / "tests" / "storage").mkdir(parents=True)
    (tree / "tests" / "storage" / "test_thing.py").write_text(direct, encoding="utf-8")
    entered["tests/storage/test_thing.py::test_direct[1]"] = {"seconds": 2, "functions": []}
    (tree / "a.json").write_text(json.dumps(entered), encoding="utf-8")
    found = read_entered(tree, tree)
    by_name = {mutant.name.partition(":")[0]: mutant for mutant in mutants(1, tree)}
    inside, kernel = by_name["storage/thing.py Thing.inside"], by_name["storage/thing.py kernel"]
    assert found.of(inside, 0) == ["a::long"]
    # Compiled code is not entered: `calls` names it, and `far`; `calls` of puzzles names another of that name.
    assert found.of(kernel, 5) == ["a::short"]
    assert found.of(kernel, 15) == ["a::short", "a::importing", "a::long"]
    # A test may call it, too.
    in_puzzles = by_name["puzzles/thing.py kernel"]
    assert found.of(in_puzzles, 9) == ["tests/storage/test_thing.py::test_direct[1]", "a::other"]
    assert found.of(inside._replace(function="nobody"), 10) == []


def test_the_page_is_made_from_the_results_and_names_tests_that_exist() -> None:
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert PAGE.read_text(encoding="utf-8") == page(rows, judged())
    for test in {test for judgement in judged().values() for test in judgement.get("tests", [])}:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8"), test


@pytest.mark.slow
def test_mutants_in_earnest(tmp_path: Path) -> None:
    """A commit is taken out: its tests notice, others do not; the sources are not touched."""
    source = ROOT / "coordinator" / "session" / "session.py"
    before = source.stat().st_mtime_ns
    for tests, outcome, code in (("session", "noticed", 0), ("estimate", "survived", 1)):
        ended = subprocess.run(
            [sys.executable, "-m", "campaigns.mutants", "--only", "Session.commit_staged", "--place", str(tmp_path),
             "--tests", f"tests/coordinator/test_{tests}.py"],
            cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False,
        )  # fmt: skip
        said = [line.partition(":")[0] for line in ended.stdout.splitlines()]
        assert (said, ended.returncode) == ([outcome, outcome], code), ended.stderr
    assert source.stat().st_mtime_ns == before
