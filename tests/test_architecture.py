"""Limits on imports and calls of the source: one way between the folders, and nothing that would run data as code."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx
import pytest
from typer.main import get_command

from hakoiri.cli.app import app
from hakoiri.coordinator.runs.kinds import KINDS
from hakoiri.hints import WORDS, in_command_line
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.registry import PUZZLES
from tests.support.commands import ROOT
from tests.support.house_picture import picture

#: The folders of the source. All but `hakoiri` itself are imported below that name, through the links in it; here they
#: are called by the folder alone.
PACKAGES = ("puzzles", "storage", "worker", "coordinator", "hakoiri")
BELOW = re.compile(r"^hakoiri\.(?=(puzzles|storage|worker|coordinator)\b)")
#: What a folder may import of the others: a folder, or single modules of it.
ALLOWED = {
    "puzzles": {"puzzles"},
    "storage": {"storage", "puzzles.errors", "puzzles.keys", "puzzles.jit"},
    "worker": {"worker", "storage", "puzzles"},
    "coordinator": {"coordinator", "worker", "storage", "puzzles"},
    "hakoiri": set(PACKAGES),
}
#: Who may turn a name or a text into code all the same: of Hakoiri's own table, and of a file that the user named.
TRUSTED = {
    # Compiled kernels in the user's own cache directory, as numba writes them: code by nature, and of this user alone.
    "puzzles.jit": {"imports pickle"},
    "puzzles.registry": {"imports importlib", "calls import_module"},
    "coordinator.runs.kinds": {"imports importlib", "calls import_module"},
    "puzzles.user.files": {"calls exec", "calls compile"},
    "hakoiri": {"imports importlib", "calls import_module"},
    "hakoiri.cli.app": {"imports importlib", "calls import_module"},
}
#: Who may have files of users run: no module that reads what others write into Redis.
LOADERS = {"load", "load_file", "find_again", "with_own_file"}
MAY_LOAD = {"puzzles.registry", "coordinator.runs.apart", "hakoiri.admission", "hakoiri.api", "hakoiri.cli.options"}
MAY_LOAD |= {"worker.main"}
#: Who may ask `hakoiri.admission` for that: commands that open a run, and services when they start.
MAY_ADMIT = {"hakoiri.api", "hakoiri.cli.runs.running", "hakoiri.cli.runs.serving", "hakoiri.cli.runs.verifying"}
MAY_ADMIT |= {"hakoiri.cli.runs.collecting", "hakoiri.web.settings"}
#: No module has more lines, no folder more modules.
MOST_LINES, MOST_MODULES = 350, 12
#: Folders that offer names instead of modules.
FACES = {ROOT / "hakoiri", ROOT / "hakoiri" / "cli"}
#: Who words next steps as commands, and how a command or a flag looks in a text.
WORDED = ("hakoiri.cli", "hakoiri.rows", "hakoiri.hints", "hakoiri.web.runs.questions")
COMMAND = re.compile(r"\bhakoiri (?!import)[a-z]|(?<![\w-])--[a-z]|(?<![\w-])-[on] \w")
#: Modules that turn bytes or names into code, and the calls that do.
DANGEROUS_MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "importlib"}
DANGEROUS_CALLS = {"eval", "exec", "compile", "__import__", "import_module", "import_attribute", "runpy"}


@cache
def modules(package: str) -> list[tuple[str, ast.Module]]:
    """The modules of a folder, parsed, by their paths: ``storage.layers.codec`` is ``hakoiri.storage.layers.codec``."""
    found = []
    for path in sorted((ROOT / "hakoiri").rglob("*.py")):
        below = path.relative_to(ROOT / "hakoiri")
        if (below.parts[0] if below.parts[0] in PACKAGES else "hakoiri") != package:
            continue
        place = path.relative_to(ROOT) if package == "hakoiri" else below
        name = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
        found.append((name, ast.parse(path.read_text(encoding="utf-8"), str(path))))
    return found


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    """All of a piece of source: walked once, for many ask."""
    return list(ast.walk(tree))


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield every import of a piece of source: modules of this project as ``folder.module.name``, relative imports as
    ``.``, and a folder of this project without ``hakoiri.`` before it as ``outside hakoiri``."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            ours = str(node.module).partition(".")[0] == "hakoiri"
            names = [f"{node.module}.{alias.name}" for alias in node.names] if ours else [str(node.module)]
        else:
            names = ["."] if isinstance(node, ast.ImportFrom) else []
        yield from (
            "outside hakoiri" if name.partition(".")[0] in PACKAGES[:-1] else BELOW.sub("", name) for name in names
        )


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


def may_import(package: str, name: str) -> bool:
    """Return whether the design lets a folder import a module."""
    if name.partition(".")[0] not in PACKAGES:
        return name not in (".", "outside hakoiri") and name.partition(".")[0] not in (
            "tests",
            "benchmarks",
            "campaigns",
        )
    return any(name == allowed or name.startswith(f"{allowed}.") for allowed in ALLOWED[package])


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_run_one_way(package: str) -> None:
    found = [(name, used) for name, tree in modules(package) for used in imported(tree)]
    assert found
    assert not [pair for pair in found if not may_import(package, pair[1])]


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_runs_data_as_code(package: str) -> None:
    found = [(name, danger) for name, tree in modules(package) for danger in dangers(tree)]
    trusted = {(name, what) for name, all_of_it in TRUSTED.items() for what in all_of_it}
    assert not [pair for pair in found if (pair[0], re.sub(r"^line \d+ ", "", pair[1])) not in trusted]


def test_only_who_listens_to_the_user_runs_a_file_of_his() -> None:
    used = {(name, used) for package in PACKAGES for name, tree in modules(package) for used in imported(tree)}
    loads = {f"puzzles.{module}.{loader}" for module in ("user.files", "registry") for loader in LOADERS}
    assert {name for name, what in used if what in loads} == MAY_LOAD
    assert {name for name, what in used if what.startswith("hakoiri.admission.")} == MAY_ADMIT


def test_modules_do_not_import_in_circles() -> None:
    known = {name: tree for package in PACKAGES for name, tree in modules(package)}
    graph: nx.DiGraph = nx.DiGraph()
    for name, tree in known.items():
        typing_only = {id(node) for block in nodes(tree) if _is_for_typing(block) for node in ast.walk(block)}
        for node in nodes(tree):
            if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in typing_only:
                for used in imported(node):
                    module = used if used in known else used.rpartition(".")[0]
                    graph.add_edges_from([(name, module)] if module in known else [])
    assert graph.number_of_edges() > 100
    assert not list(nx.simple_cycles(graph))


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


@pytest.mark.parametrize(
    ("package", "source", "allowed"),
    [
        ("puzzles", "from hakoiri.storage.layers.store import RunStore", False),
        ("storage", "from hakoiri.puzzles.registry import PUZZLES", False),
        ("storage", "from hakoiri.puzzles import klotski", False),
        ("storage", "from hakoiri.puzzles.keys.layout import Key", True),
        ("worker", "def late():\n    from hakoiri.coordinator.runs.catalogue import find_run", False),
        ("worker", "from . import tasks", False),
        ("worker", "from storage.layers.codec import encode", False),
        ("coordinator", "from hakoiri.worker.tasks import TASKS\nimport numpy", True),
        ("coordinator", "import tests.support.commands", False),
        ("hakoiri", "import campaigns.mayhem.works", False),
    ],
)
def test_wrong_imports_are_seen(package: str, source: str, allowed: bool) -> None:
    assert all(may_import(package, used) for used in imported(ast.parse(source))) is allowed


def _is_for_typing(block: ast.AST) -> bool:
    return isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"


def room_of(module: str, folders: set[str]) -> str:
    """Return the end of an arrow: the folder of a module, or the module where it stands on its floor alone."""
    parts = module.split(".")
    return ".".join(parts[:2]) if ".".join(parts[:2]) in folders else module


def arrows() -> nx.DiGraph:
    """The imports between the rooms, those for types alone too."""
    known = {name: tree for package in PACKAGES for name, tree in modules(package)}
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in ROOT.glob("*/*/__init__.py")
        if not path.parent.is_symlink()
    }
    graph: nx.DiGraph = nx.DiGraph()
    for name, tree in known.items():
        for used in imported(tree):
            module = used if used in known else used.rpartition(".")[0]
            here, there = room_of(name, folders), room_of(module, folders)
            if module in known and here != there:
                graph.add_edge(here, there)
    return graph


def folders() -> list[Path]:
    """The folders of the source, those of the packages themselves too."""
    return sorted(path.parent for package in PACKAGES for path in (ROOT / package).rglob("__init__.py"))


def test_modules_are_short() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for folder in folders() for path in folder.glob("*.py")}
    assert len(lines) > 100
    assert not {path: count for path, count in lines.items() if count > MOST_LINES}


@pytest.mark.parametrize("folder", folders(), ids=lambda folder: str(folder.relative_to(ROOT)))
def test_folders_are_small_and_say_what_they_are_for(folder: Path) -> None:
    assert len({path.stem for path in folder.glob("*.py")} - {"__init__"}) <= MOST_MODULES
    source = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    assert ast.get_docstring(source)
    assert folder in FACES or len(source.body) == 1


def test_rooms_do_not_import_in_circles() -> None:
    graph = arrows()
    assert {"coordinator.runs", "storage.layers", "puzzles.keys"} <= set(graph)
    assert not list(nx.simple_cycles(graph))


@pytest.mark.parametrize("package", ["coordinator", "storage"])
def test_the_engine_asks_for_no_puzzle_by_name(package: str) -> None:
    families = {".".join(BELOW.sub("", module).split(".")[:2]) for module, _ in PUZZLES.values()} | {"puzzles.quotient"}
    assert "puzzles.stars" in families
    found = [(name, used) for name, tree in modules(package) for used in imported(tree)]
    assert not [pair for pair in found if ".".join(pair[1].split(".")[:2]) in families]


@pytest.mark.parametrize("package", ["coordinator", "storage", "hakoiri"])
def test_nobody_compares_kinds_of_run_or_puzzles_by_name(package: str) -> None:
    names = {*KINDS, *PUZZLES}
    compared = [
        (name, node.lineno)
        for name, tree in modules(package)
        for node in nodes(tree)
        if isinstance(node, ast.Compare)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and part.value in names
    ]
    assert compared == []


def commands(tree: ast.AST) -> Iterator[str]:
    """The texts of a piece of source that name a command or a flag of the command line."""
    for node in nodes(tree):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
        if COMMAND.search(text):
            yield text


@pytest.mark.parametrize("package", PACKAGES)
def test_only_the_face_knows_the_command_line(package: str) -> None:
    """Others say what may be done next as data (`puzzles.errors.Hint`); so do the answers that Python asks for, too."""
    found = [(name, text) for name, tree in modules(package) if not name.startswith(WORDED) for text in commands(tree)]
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
        for package in PACKAGES
        for _, tree in modules(package)
        for node in nodes(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Hint"
        if isinstance(node.args[0], ast.Constant) and node.args[0].value in naming
        if isinstance(node.args[1], ast.Constant)
    }
    assert {"data", "memory", "option", "start", "until_goal"} <= settings
    assert {in_command_line(Hint("leave out", name)).split()[2] for name in settings} <= flags


def rooms() -> str:
    """Return the rooms as docs/explanation/architecture.md lists them, with their first lines."""
    lines = []
    for package in reversed(PACKAGES):
        told = [(name, str(ast.get_docstring(tree)).splitlines()[0]) for name, tree in modules(package)]
        lines += [f"**`{package}/`**", ""]
        lines += [f"- `{name.partition('.')[2]}`: {line}" for name, line in told if name.count(".") == 1]
        lines.append("")
    return "\n".join(lines)


def house() -> str:
    """Return the picture of the rooms, without imports that follow from others."""
    return picture(nx.transitive_reduction(arrows()), PACKAGES[::-1])


def test_the_list_and_the_picture_of_the_rooms_are_true() -> None:
    folder = ROOT / "docs" / "explanation"
    text = (folder / "architecture.md").read_text(encoding="utf-8")
    assert rooms() in text, f"docs/explanation/architecture.md shows other rooms than these:\n{rooms()}"
    drawn = (folder / "architecture.svg").read_text(encoding="utf-8")
    assert drawn == house(), (
        "draw it anew: .venv/bin/python -m tests.test_architecture > docs/explanation/architecture.svg"
    )


def test_the_packages_are_all_there() -> None:
    assert {path.parent.name for path in Path(ROOT).glob("*/__init__.py")} == set(PACKAGES)


def test_no_test_patches_by_a_dotted_name() -> None:
    """Times and sizes are injected (`coordinator.session.tuning`), and what is replaced is named as Python names it."""
    patches = re.compile(r"""(setattr|patch)\(\s*[rf]?["'][a-z]""")
    for file in (ROOT / "tests").rglob("*.py"):
        assert not patches.findall(file.read_text(encoding="utf-8")), file


if __name__ == "__main__":
    print(house(), end="")
