"""Digests of the code that answers requests: the same wherever it is the same, another one after any edit."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec, with_own_file
from hakoiri.worker import program
from hakoiri.worker.program import differing_parts, program_of
from tests.support.commands import ROOT, clean_environment

SOURCE = """\
import math
from functools import cache, partial

import numpy as np
from hakoiri.compiling import jit

MOVES = {"left": (1, 2), "right": [3]}
TABLE = np.arange(4)
SIDES = frozenset({"a", "b", "c"})
_seen = []

@jit
def kernel(keys):
    return keys + 1

@cache
def cached(number):
    return number * 2

def plain(keys, most=3):
    \"\"\"What it does.\"\"\"
    return [math.sqrt(key) for key in keys[:most]]

bound = partial(plain, most=5)

class Rules:
    version = 1

    def moves(self, key):
        return [key - 1]

    @property
    def size(self):
        return 9

    @staticmethod
    def side():
        return "a"
"""
EDITS = {
    "kernel": ("keys + 1", "keys + 2"),
    "cached function": ("number * 2", "number * 3"),
    "function": ("math.sqrt", "math.cbrt"),
    "default": ("most=3", "most=4"),
    "comprehension": ("for key in keys[:most]", "for key in keys[most:]"),
    "partial": ("most=5", "most=6"),
    "class attribute": ("version = 1", "version = 2"),
    "method": ("key - 1", "key + 1"),
    "property": ("return 9", "return 8"),
    "static method": ('return "a"', 'return "b"'),
    "table": ("arange(4)", "arange(5)"),
    "constant": ("[3]", "[4]"),
    "set": ('"c"})', '"d"})'),
}
SAME = {
    "lines": ("import math", "\n\n# A remark.\nimport math"),
    "state": ("_seen = []", "_seen = [1, 2]"),
    "order": ('"left": (1, 2), "right": [3]', '"right": [3], "left": (1, 2)'),
}
#: Those that have no usual start.
BOARDS = {"sliding": "AB/C."}
#: Says the programs of all puzzles, the second time having copied them, called all of their kernels, and read a result.
ALL = """\
import copy
import json
import hakoiri.worker.main
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.worker.program import program_of
from hakoiri.worker.warm import load_host_kernels
if {warm}:
    from hakoiri import api
    import hakoiri.cli.driving
    from hakoiri.worker.studies.deals import DealFigures
    from hakoiri.worker.transport.payload import packed, unpacked
    unpacked(packed({{"positions": 1, "moves": 1, "depth": 1}}), DealFigures)
    for name in PUZZLES:
        puzzle = PuzzleSpec(name, start={boards}.get(name)).build()
        load_host_kernels(puzzle)
        copy.copy(puzzle)
print(json.dumps({{name: dict(program_of(PuzzleSpec(name, start={boards}.get(name)).build())) for name in {names}}}))
"""


@pytest.fixture
def digest() -> Iterator[Callable[..., str]]:
    """Gives the digest of a module with some source."""
    made = []

    def of(source: str, folder: str = "/here") -> str:
        module = ModuleType("edited_by_test")
        module.__file__ = f"{folder}/edited_by_test.py"
        sys.modules[module.__name__] = module
        made.append(module)
        exec(compile(source, module.__file__, "exec"), vars(module))  # noqa: S102
        return program._of_module(module)[0]

    yield of
    del sys.modules[made[0].__name__]


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edit_changes_the_digest(edit: tuple[str, str], digest: Callable[..., str]) -> None:
    assert edit[0] in SOURCE
    assert digest(SOURCE.replace(*edit)) != digest(SOURCE)


@pytest.mark.parametrize("edit", SAME.values(), ids=SAME)
def test_what_changes_no_answer_does_not(edit: tuple[str, str], digest: Callable[..., str]) -> None:
    assert edit[0] in SOURCE
    assert digest(SOURCE.replace(*edit)) == digest(SOURCE)


OTHER = """\
from dataclasses import dataclass

@dataclass
class Limit:
    most: int

def least(number):
    return number - 1

LIMIT = Limit(3)
"""


def test_what_is_of_another_module_is_covered_by_the_digest_of_that(digest: Callable[..., str]) -> None:
    other = ModuleType("other_of_test")
    other.__file__ = "/there/other_of_test.py"
    sys.modules[other.__name__] = other
    try:
        found = []
        for source in (OTHER, OTHER.replace("number - 1", "number - 2"), OTHER.replace("most: int", "most: int = 9")):
            exec(compile(source, other.__file__, "exec"), vars(other))  # noqa: S102
            for using in ("from other_of_test import least", "from other_of_test import LIMIT"):
                found.append(digest(using))
                assert program._of_module(sys.modules["edited_by_test"])[1] == [other]
        assert found[:2] == found[2:4] == found[4:]
        assert found[0] != found[1]
    finally:
        del sys.modules[other.__name__]


def test_where_a_users_module_lies_does_not_matter(digest: Callable[..., str]) -> None:
    source = f"{SOURCE}\nHOME = __file__\n"
    assert digest(source, "/here") == digest(source, "/there/too")


def test_what_a_users_file_imports_is_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file itself is told by its SHA-256, which says nothing of another file beside it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "rows_beside.py").write_text("def moves(key):\n    return [key ^ 1]\n", encoding="utf-8")
    file = tmp_path / "own.py"
    file.write_text(
        "import rows_beside\nfrom hakoiri import Puzzle\nfrom hakoiri.keys.layout import U32\n\n\n"
        "class Own(Puzzle):\n    name, layout, undirected, most_successors = 'own', U32, True, 1\n\n"
        "    def usual_start(self):\n        return 0\n\n    def successors(self, key):\n"
        "        return rows_beside.moves(key)\n",
        encoding="utf-8",
    )
    puzzle = with_own_file(PuzzleSpec(f"{file}:Own")).build()
    before = program_of(puzzle)
    program._program_of.cache_clear()
    program._of_module.cache_clear()
    assert differing_parts(program_of(puzzle), before) == []
    monkeypatch.setattr(sys.modules["rows_beside"], "moves", lambda key: [key ^ 2])
    program._program_of.cache_clear()
    program._of_module.cache_clear()
    assert "puzzle" in differing_parts(program_of(puzzle), before)


@pytest.mark.ci_slow
def test_it_is_the_same_in_each_process_whatever_that_has_done() -> None:
    """For every puzzle, one after the other or alone, before and after it was copied and its kernels were called."""
    found = []
    for warm, names, seed in ((False, list(PUZZLES), "1"), (True, list(PUZZLES)[::-1], "2")):
        # One of them never collects garbage.
        text = ("import gc; gc.disable()\n" if warm else "") + ALL.format(warm=warm, names=names, boards=BOARDS)
        told = subprocess.run(
            [sys.executable, "-c", text], env=clean_environment(PYTHONHASHSEED=seed), cwd=ROOT, check=True,
            capture_output=True, text=True,
        ).stdout  # fmt: skip
        found.append(json.loads(told))
    assert found[0] == found[1]
    assert all(set(each) == {"Python", "puzzle", "tasks", "coding"} for each in found[0].values())
    assert len({each["puzzle"] for each in found[0].values()}) == len(PUZZLES)
