"""Digests of the code that answers requests: the same wherever it is the same, another one after any edit."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec, with_own_file
from hakoiri.worker import program
from hakoiri.worker.program import differing_parts, program_of
from tests.support.commands import ROOT, clean_environment

#: Those that have no usual start.
BOARDS = {"sliding": "AB/C."}
#: Says the programs of all puzzles, the second time having copied them, called all of their kernels, and read a result.
ALL = """\
import copy
import json
import hakoiri.worker.main
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.worker.program import program_of
if {warm}:
    from hakoiri import api
    import hakoiri.cli.driving
    from hakoiri.storage.results import DealFigures
    from hakoiri.worker.transport.payload import packed, unpacked
    unpacked(packed({{"positions": 1, "moves": 1, "depth": 1}}), DealFigures)
    for name in PUZZLES:
        puzzle = PuzzleSpec(name, start={boards}.get(name)).build()
        puzzle.expand(puzzle.keys([puzzle.start]))
        copy.copy(puzzle)
print(json.dumps({{name: dict(program_of(PuzzleSpec(name, start={boards}.get(name)).build())) for name in {names}}}))
"""


#: A user's puzzle, and the modules that it imports, one of them within a function.
OWN = {
    "own.py": """
import rows_beside
from own_package import sides
from hakoiri import Puzzle
from hakoiri.keys.layout import U32

class Own(Puzzle):
    name, layout, undirected, most_successors = 'own', U32, True, 1

    def usual_start(self):
        return 0

    def successors(self, key):
        from late_beside import LATE
        return rows_beside.moves(key) + LATE
""",
    "rows_beside.py": "def moves(key):\n    return [key ^ 1]\n",
    "late_beside.py": "LATE = []\n",
    "own_package/__init__.py": "",
    "own_package/sides.py": "from .inner import (\n    INNER as inner,\n)\n",
    "own_package/inner.py": "INNER = 3\n",
}


@pytest.mark.ci_slow
def test_the_modules_that_a_users_file_imports_are_covered(tmp_path: Path) -> None:
    """As they were when the file was loaded. The file itself is told by its SHA-256, which says nothing of others."""
    for name, text in OWN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    text = (
        "import json, sys\nfrom hakoiri.puzzles.registry import PuzzleSpec, with_own_file\n"
        "import hakoiri.worker.program as program\npuzzle = with_own_file(PuzzleSpec(sys.argv[1])).build()\n"
        "print('loaded', flush=True)\ninput()\nprint(json.dumps(dict(program.program_of(puzzle))))"
    )
    argv, started = [sys.executable, "-c", text, f"{tmp_path / 'own.py'}:Own"], []
    for edited in ("", "rows_beside.py", "own_package/__init__.py", "own_package/sides.py", "own_package/inner.py"):
        if edited:
            with (tmp_path / edited).open("a", encoding="utf-8") as file:
                file.write("MORE = 1\n")
        process = subprocess.Popen(
            argv, env=clean_environment(PYTHONPATH=str(tmp_path)), text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "loaded\n"
        started.append(process)
    found = [json.loads(process.communicate("\n")[0]) for process in started]
    assert [differing_parts(each, found[0]) for each in found[1:]] == 4 * [["puzzle"]]
    assert len({each["puzzle"] for each in found}) == 5


def test_a_module_that_is_imported_later_is_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in OWN.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    puzzle = with_own_file(PuzzleSpec(f"{tmp_path / 'own.py'}:Own")).build()

    def read_again() -> program.Digests:
        program._program_of.cache_clear()
        program._source.cache_clear()
        return program_of(puzzle)

    try:
        before = read_again()
        with (tmp_path / "late_beside.py").open("a", encoding="utf-8") as file:
            file.write("MORE = 1\n")
        assert differing_parts(read_again(), before) == ["puzzle"]
    finally:
        for name in ("rows_beside", "own_package", "own_package.sides", "own_package.inner"):
            sys.modules.pop(name, None)


#: Kernels of guests: the puzzles and the work that a run of klotski does not have.
GUESTS = (
    "puzzles.definitions.kernels", "puzzles.hanoi", "guests.boards.mixes", "guests.nakuron.kernels",
    "puzzles.peg_solitaire",
    "puzzles.permutation.pancakes", "guests.deals.kernels", "guests.stars.strategies", "puzzles.twisty.base",
    "guests.nakuron.moving", "guests.nakuron.tilting", "guests.deals.hunting", "guests.deals.solving_kernels",
    "guests.cosets.filling", "guests.deals.searching", "guests.boards.designing", "guests.boards.family",
    "guests.stars.counting",
)  # fmt: skip


def _digests(puzzle: Puzzle, task: str, edited: str, monkeypatch: pytest.MonkeyPatch) -> program.Digests:
    """The digests if a comment were added to a module."""
    read, there = program._read, list[str]()

    def reading(name: str) -> tuple[bytes | None, str]:
        raw, package = read(name)
        if name == f"hakoiri.{edited}":
            there.append(name)
            return (raw or b"") + b"# A comment.\n", package
        return raw, package

    program._program_of.cache_clear()
    program._source.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(program, "_read", reading)
        found = program_of(puzzle, task)
        program._source(f"hakoiri.{edited}")
    assert there or not edited
    program._program_of.cache_clear()
    program._source.cache_clear()
    return found


@pytest.mark.parametrize("guest", GUESTS)
def test_a_comment_in_a_guest_changes_no_digest_of_a_search(guest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    klotski = PuzzleSpec("klotski").build()
    assert _digests(klotski, "expand", guest, monkeypatch) == _digests(klotski, "expand", "", monkeypatch)


@pytest.mark.parametrize(
    ("puzzle", "task", "edited", "part"),
    [
        ("klotski", "expand", "worker.layers.kernels", "tasks"),
        ("klotski", "expand", "puzzles.sliding_blocks.pieces", "puzzle"),
        ("klotski", "expand", "storage.layers.codec", "coding"),
        ("klotski", "searches", "worker.graphs.searches", "tasks"),
        ("gap", "solve", "guests.deals.solving_kernels", "puzzle"),
        ("gap", "solve", "guests.deals.kernels", "puzzle"),
        ("gap", "hunt", "guests.deals.hunting", "puzzle"),
        ("nakuron", "move", "guests.nakuron.tilting", "puzzle"),
        ("nakuron", "move", "guests.nakuron.kernels", "puzzle"),
        ("magic-star", "subtrees", "guests.stars.counting", "puzzle"),
        ("magic-star", "subtrees", "guests.stars.strategies", "puzzle"),
        ("pyraminx", "coset", "guests.cosets.filling", "puzzle"),
        ("klotski", "start", "guests.deals.searching", "puzzle"),
        ("klotski", "design", "guests.boards.designing", "puzzle"),
        ("klotski", "member", "guests.boards.family", "puzzle"),
    ],
)
def test_a_comment_in_what_a_task_calls_changes_its_digest(
    puzzle: str, task: str, edited: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = PuzzleSpec(puzzle).build()
    before, after = (_digests(built, task, name, monkeypatch) for name in ("", edited))
    assert differing_parts(after, before) == [part]


@pytest.mark.ci_slow
def test_a_run_of_klotski_imports_no_guest_and_at_most_80_modules(tmp_path: Path) -> None:
    """All that the command imports, in a process of its own."""
    text = (
        "import sys\nsys.argv = ['hakoiri', 'run', 'klotski', '--layers', '3']\n"
        "from hakoiri.__main__ import main\ntry:\n    main()\nfinally:\n"
        "    print(*(name for name, each in sys.modules.items() if name.startswith('hakoiri.')"
        " and not str(each.__file__).endswith('__init__.py')), file=sys.stderr)"
    )
    environment = clean_environment(HAKOIRI_DATA=str(tmp_path))
    told = subprocess.run([sys.executable, "-c", text], env=environment, check=True, capture_output=True, text=True)
    modules = [name for name in told.stderr.split() if name.startswith("hakoiri.")]
    assert 40 < len(modules) <= 80, sorted(modules)
    assert not [name for name in modules if name.startswith("hakoiri.guests.")]


@pytest.mark.ci_slow
def test_a_process_that_is_older_than_an_edit_differs(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "hakoiri", tmp_path / "hakoiri")
    text = (
        "import json, sys\nimport hakoiri.worker.program as program\nprint('imported', flush=True)\ninput()\n"
        "from hakoiri.puzzles.hanoi import Hanoi\nprint(json.dumps(dict(program.program_of(Hanoi()))))"
    )
    started = []
    for edited in ([], ["api.py"], ["worker/tasks.py", "storage/layers/codec.py", "puzzles/hanoi.py"]):
        for name in edited:
            with (tmp_path / "hakoiri" / name).open("a", encoding="utf-8") as file:
                file.write("\n# An edit.\n")
        process = subprocess.Popen(
            [sys.executable, "-c", text], env=clean_environment(PYTHONPATH=str(tmp_path)), cwd=tmp_path, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "imported\n"
        started.append(process)
    first, second, third = (json.loads(process.communicate("\n")[0]) for process in started)
    assert differing_parts(second, first) == []
    assert differing_parts(third, first) == ["puzzle", "coding", "tasks"]
    assert differing_parts(third, first | {"Python": "cpython 2.7"}) == [f"Python ({third['Python']}, not cpython 2.7)"]


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
