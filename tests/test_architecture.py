"""Limits on what the source calls: nothing that would run data as code, and no command line below the face.

That imports run one way and in no circle is checked by import-linter (`pyproject.toml`).
"""

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest
from typer.main import get_command

from hakoiri.cli.app import app
from hakoiri.coordinator.runs.kinds import KINDS
from hakoiri.errors import Hint
from hakoiri.hints import WORDS, in_command_line
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.storage.effects import EFFECTS
from tests.support.commands import ROOT

PACKAGE = ROOT / "hakoiri"
#: Calls that remove or rename: each function that has one is in the table of effects.
EFFECTS_BY = {"unlink", "rename", "rmtree", "rmdir", "remove_folder", "fallocate", "free"}
#: Who opens files by a path of its own, not below a directory that others may have filled: files of the program, of
#: the machine, of a host's own directory, and those that the user names.
OWN_PATHS = {
    "hakoiri.coordinator.runs.certificate", "hakoiri.storage.engine.files", "hakoiri.web.app", "hakoiri.web.guard",
    "hakoiri.worker.hosts.host", "hakoiri.worker.machine", "hakoiri.worker.program",
}  # fmt: skip
#: What opens by a descriptor, or no file at all.
OPENERS = {"lmdb.open", "GoalDistances.open", "self._shelf.open", "data.open"}
#: Directories under construction, which the process has just made; and files that were opened by a descriptor.
OWN_MADE = {
    "hakoiri.storage.ledger.ledger:create_run", "hakoiri.storage.ledger.lock:RunLock.__init__",
    "hakoiri.storage.ledger.lock:making", "hakoiri.storage.ledger.lock:abandoned",
    "hakoiri.storage.names:_first_bytes", "hakoiri.coordinator.runs.archive:_copied",
    "hakoiri.coordinator.runs.archive:restore_run",
}  # fmt: skip
#: Who may turn a name or a text into code all the same: of Hakoiri's own table, and of a file that the user named.
TRUSTED = {
    # Compiled kernels in the user's own cache directory, as numba writes them: code by nature, and of this user alone.
    "hakoiri.compiling": {"imports pickle"},
    "hakoiri.loading": {"imports importlib", "calls import_module"},
    "hakoiri.puzzles.registry": {"calls loaded"},
    "hakoiri.coordinator.layers.search": {"calls loaded"},
    "hakoiri.coordinator.runs.kinds": {"calls loaded"},
    "hakoiri.coordinator.runs.verify": {"calls loaded"},
    "hakoiri.coordinator.runs.certificate": {"calls loaded"},
    "hakoiri.worker.tasks": {"calls loaded"},
    "hakoiri.questions.question": {"calls loaded"},
    "hakoiri.questions.abilities": {"calls loaded"},
    "hakoiri.api": {"calls loaded"},
    "hakoiri.export.graphs": {"calls loaded"},
    "hakoiri.render.files": {"calls loaded"},
    "hakoiri.cli.puzzles.choosing": {"calls loaded"},
    "hakoiri.guests.deals.commands": {"calls loaded"},
    "hakoiri.rows.positions": {"calls loaded"},
    "hakoiri.rows.puzzles": {"calls loaded"},
    "hakoiri.cli.starting": {"calls loaded"},
    "hakoiri.coordinator.layers.job": {"calls loaded"},
    "hakoiri.worker.program": {"imports importlib.machinery"},
    # The bytes of a user's file and of the modules beside it, read and digested by `puzzles.user.files`.
    "hakoiri.puzzles.user.modules": {
        "imports importlib.abc",
        "imports importlib.machinery",
        "imports importlib.util",
        "calls exec",
        "calls compile",
    },
    "hakoiri": {"imports importlib", "calls import_module"},
    "hakoiri.cli.app": {"imports importlib", "calls import_module"},
}
#: Who may have files of users run: no module that reads what others write into Redis.
LOADERS = {"load", "load_file", "find_again", "with_own_file"}
MAY_LOAD = {
    "hakoiri.api", "hakoiri.cli.options", "hakoiri.coordinator.runs.drive", "hakoiri.puzzles.registry",
    "hakoiri.reading", "hakoiri.worker.doing", "hakoiri.worker.main",
    # Only files that this user's process has just written, and in a process of their own.
    "hakoiri.puzzles.user.reopening",
}  # fmt: skip
#: Who may ask `hakoiri.reading` for that: commands that open a run, and services when they start.
MAY_ADMIT = {"hakoiri.api", "hakoiri.cli.runs.running", "hakoiri.cli.runs.serving", "hakoiri.web.settings"}
#: Who words next steps as commands, and how a command or a flag looks in a text.
WORDED = (
    "hakoiri.cli", "hakoiri.rows", "hakoiri.hints", "hakoiri.questions", "hakoiri.web.runs.questions",
    "hakoiri.guests",
)  # fmt: skip
COMMAND = re.compile(r"\bhakoiri (?!import)[a-z]|(?<![\w-])--[a-z]|(?<![\w-])-[on] \w")
#: Modules that turn bytes or names into code, and the calls that do.
DANGEROUS_MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "importlib"}
DANGEROUS_CALLS = {"eval", "exec", "compile", "__import__", "import_module", "import_attribute", "runpy", "loaded"}


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """The modules of the source, parsed, by name."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        found.append((name, ast.parse(path.read_text(encoding="utf-8"), str(path))))
    return found


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    """All of a piece of source: walked once, for many ask."""
    return list(ast.walk(tree))


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield every import of a piece of source: modules of this project as ``hakoiri.module.name``."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            ours = str(node.module).partition(".")[0] == "hakoiri"
            yield from (f"{node.module}.{alias.name}" for alias in node.names) if ours else [str(node.module)]


def dangers(tree: ast.AST) -> Iterator[str]:
    """Whatever in a piece of source could run data as code."""
    for name in imported(tree):
        if name.partition(".")[0] in DANGEROUS_MODULES and not name.startswith("importlib.metadata"):
            yield f"imports {name}"
    for node in nodes(tree):
        if isinstance(node, ast.Call):
            function = node.func
            bare = function.id if isinstance(function, ast.Name) else ""
            attribute = function.attr if isinstance(function, ast.Attribute) else ""
            if bare in DANGEROUS_CALLS or attribute in DANGEROUS_CALLS - {"compile", "exec", "eval"}:
                yield f"line {node.lineno} calls {bare or attribute}"
            for keyword in node.keywords:
                allows = isinstance(keyword.value, ast.Constant) and keyword.value.value is True
                if (keyword.arg, allows) in (("allow_pickle", True), ("shell", True)):
                    yield f"line {node.lineno} passes {keyword.arg}"


@pytest.mark.ci_slow
def test_nothing_runs_data_as_code() -> None:
    found = [(name, danger) for name, tree in modules() for danger in dangers(tree)]
    trusted = {(name, what) for name, all_of_it in TRUSTED.items() for what in all_of_it}
    assert not [pair for pair in found if (pair[0], re.sub(r"^line \d+ ", "", pair[1])) not in trusted]


def test_only_who_listens_to_the_user_runs_a_file_of_his() -> None:
    used = {(name, used) for name, tree in modules() for used in imported(tree)}
    loads = {f"hakoiri.puzzles.{module}.{loader}" for module in ("user.files", "registry") for loader in LOADERS}
    assert {name for name, what in used if what in loads} == MAY_LOAD
    assert {name for name, what in used if what.startswith("hakoiri.reading.admit")} == MAY_ADMIT


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import pickle", 1),
        ("from importlib import import_module\nimport_module(name)", 2),
        ("eval(text)", 1),
        ("exec(compile(text))", 2),
        ("__import__(name)", 1),
        ("np.load(file, allow_pickle=True)", 1),
        ("subprocess.run(command, shell=True)", 1),
        ("np.load(file, allow_pickle=False)\nre.compile(text)\nimport json", 0),
    ],
)
def test_dangers_are_seen(source: str, count: int) -> None:
    assert len(list(dangers(ast.parse(source)))) == count


def test_nobody_compares_kinds_of_run_or_puzzles_by_name() -> None:
    names = {*KINDS, *PUZZLES}
    compared = [
        (name, node.lineno)
        for name, tree in modules()
        if not name.startswith(("hakoiri.puzzles", "hakoiri.worker", "hakoiri.guests"))
        for node in nodes(tree)
        if isinstance(node, ast.Compare)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and part.value in names
    ]
    assert compared == []


def test_one_table_says_what_is_in_the_guests() -> None:
    """And `hakoiri/__init__.py`, the names that it offers."""
    naming = {
        name
        for name, tree in modules()
        for node in nodes(tree)
        if isinstance(node, ast.Constant) and str(node.value).startswith("hakoiri.guests")
    }
    assert {name for name in naming if not name.startswith("hakoiri.guests")} == {"hakoiri", "hakoiri.guest_table"}


def test_every_folder_of_modules_is_a_package() -> None:
    """Python imports a folder without `__init__.py` too; import-linter does not look into it."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def commands(tree: ast.AST) -> Iterator[str]:
    """The texts of a piece of source that name a command or a flag of the command line."""
    for node in nodes(tree):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
        if COMMAND.search(text):
            yield text


def test_only_the_face_knows_the_command_line() -> None:
    """Others say what may be done next as data (`hakoiri.errors.Hint`); so do the answers that Python asks for, too."""
    found = [(name, text) for name, tree in modules() if not name.startswith(WORDED) for text in commands(tree)]
    assert found == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("DamagedError('run x is damaged; \\'hakoiri resume x\\' goes on')", 1),
        ("def f():\n    '''As of ``--whole``.'''\n    note(f'lower --{option}')", 2),
        ("f'hakoiri {verb}'", 1),
        ("'make it again with -o solutions=keep'", 1),
        ("'hakoiri.Puzzle, a word-by-word text -- with dashes, 3 -o'\n# hakoiri run klotski", 0),
    ],
)
def test_commands_are_seen(source: str, count: int) -> None:
    assert len(list(commands(ast.parse(source)))) == count


def test_only_flags_that_there_are_are_named() -> None:
    groups = list(get_command(app).commands.values())  # type: ignore[attr-defined]
    commands = [each for group in groups for each in (group, *getattr(group, "commands", {}).values())]
    flags = {flag for each in commands for option in each.params for flag in option.opts}
    naming = {do for do, words in WORDS.items() if "{setting}" in words[1]}
    settings = {
        str(node.args[1].value)
        for _, tree in modules()
        for node in nodes(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Hint"
        if isinstance(node.args[0], ast.Constant) and node.args[0].value in naming
        if isinstance(node.args[1], ast.Constant)
    }
    assert {"data", "memory", "option", "start", "until_goal"} <= settings
    assert {in_command_line(Hint("leave out", name)).split()[2] for name in settings} <= flags


def test_no_test_patches_by_a_dotted_name() -> None:
    """Times and sizes are injected (`coordinator.session.resources`); what is replaced is named as Python names it."""
    patches = re.compile(r"""(setattr|patch)\(\s*[rf]?["'][a-z]""")
    for file in (ROOT / "tests").rglob("*.py"):
        assert not patches.findall(file.read_text(encoding="utf-8")), file


def calls_in(tree: ast.AST, names: set[str], inside: tuple[str, ...] = ()) -> Iterator[tuple[str, ast.Call]]:
    """The calls of functions with these names, or of methods, and where each is."""
    for child in ast.iter_child_nodes(tree):
        within = (*inside, child.name) if isinstance(child, ast.FunctionDef | ast.ClassDef) else inside
        if isinstance(child, ast.Call):
            called = child.func
            named = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if named in names:
                yield ".".join(inside), child
        yield from calls_in(child, names, within)


def test_every_effect_outside_the_commits_is_in_the_table() -> None:
    """With the commit that precedes it."""
    found = {
        f"{module.removeprefix('hakoiri.')}:{where}"
        for module, tree in modules()
        if module.split(".")[1:2] in (["storage"], ["coordinator"], ["worker"], ["web"], ["guests"])
        for where, _ in calls_in(tree, EFFECTS_BY)
    }
    assert found == EFFECTS.keys()


def test_nothing_below_a_data_directory_is_opened_by_its_path() -> None:
    """But by `Given`, which follows no link."""
    opening = {"open", "read_text", "read_bytes", "write_text", "write_bytes", "touch", "rmtree", "mkdir"}
    for module, tree in modules():
        if module.split(".")[1:2] not in (["storage"], ["coordinator"], ["web"]) or module in OWN_PATHS:
            continue
        for where, call in calls_in(tree, opening):
            named = call.func.attr if isinstance(call.func, ast.Attribute) else "open"
            by = ast.unparse(call.func)
            is_folder_of_the_user = named == "mkdir" and by in ("data.mkdir", "self._shelf.directory.mkdir")
            by_descriptor = named == "open" and ("given" in by.lower() or by in OPENERS)
            assert by_descriptor or is_folder_of_the_user or f"{module}:{where}" in OWN_MADE, (module, where, by)
