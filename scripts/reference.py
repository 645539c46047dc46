"""Writes the generated parts of the reference; a hook of mkdocs refuses pages that load from another server.

``python scripts/reference.py`` replaces what is between ``<!-- generated -->`` and ``<!-- end -->`` in
`docs/reference/command-line.md`, `python.md` and `http.md`, and between ``<!-- messages: NAMES -->``, for the messages
of these errors, and ``<!-- end -->`` in `troubleshooting.md`. It writes the page of man, `hakoiri/cli/hakoiri.1`. A
test compares the pages with the code.
"""

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from textwrap import wrap
from typing import Any

from mkdocs.exceptions import PluginError
from typer.main import get_command

import hakoiri
from hakoiri.cli.app import PANELS, app
from hakoiri.coordinator.runs.kinds import KINDS, kind_class
from hakoiri.coordinator.session.kind import documented
from hakoiri.errors import OUTCOMES, Hint
from hakoiri.hints import WORDS, in_command_line, worded

_ROOT = Path(__file__).parent.parent
#: A generated part of a page, with its marks.
_PART = re.compile(r"(<!-- (?:generated|messages: (.*?)) -->\n).*?(?=<!-- end -->)", re.DOTALL)
#: How annotations print the types of arrays.
_ARRAY = re.compile(r"numpy\.ndarray\[tuple\[Any, \.\.\.\], numpy\.dtype\[numpy\.(\w+)(?:\[Any\])?\]\]")
_CODE = re.compile(r"`[^`]+`")
_TYPES = (int, str, float, bool)
#: A resource that a browser would fetch from another server, unlike a link; the theme fetches what draws Mermaid.
_FOREIGN = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//[^"' >]+"""
    r"""|<link\b(?![^>]*\brel=["']?canonical)[^>]*\bhref=["']?(?:https?:)?//[^"' >]+"""
    r"""|class=["']?mermaid|url\(["']?(?:https?:)?//[^"')]+|@import\s+["'](?:https?:)?//[^"']+""",
    re.IGNORECASE,
)


def command_line() -> Iterator[str]:
    """Yield the lines of the reference of all commands, by the panels of ``hakoiri --help``."""
    group: Any = get_command(app)
    panels: dict[str, list[str]] = {}
    for name in group.commands:
        panels.setdefault(group.commands[name].rich_help_panel, []).append(name)
    for panel, names in panels.items():
        yield f"\n## {panel}\n"
        for name in names:
            yield from _command(f"hakoiri {name}", group.commands[name])


def _command(words: str, command: Any) -> Iterator[str]:
    if inner := getattr(command, "commands", None):
        for name in inner:
            yield from _command(f"{words} {name}", inner[name])
        return
    context: Any = command.make_context(words, [], resilient_parsing=True)
    params = [
        each for each in command.get_params(context) if each.name != "help" and not getattr(each, "hidden", False)
    ]
    given = " ".join(_metavar(each, context) for each in params if each.param_type_name == "argument")
    yield f"\n### `{words}`\n\n```console\n$ {words} [OPTIONS] {given}".rstrip()
    yield f"```\n\n{_text(command.help)}\n"
    if command.epilog:
        yield f"{_text(command.epilog)}\n"
    yield "| option | meaning | default |\n|---|---|---|"
    for param in params:
        names = ", ".join(f"`{name}`" for name in param.opts if name != param.name) or f"`{_metavar(param, context)}`"
        metavar = "" if param.param_type_name == "argument" or param.is_flag else f" `{_metavar(param, context)}`"
        yield f"| {names}{_cell(metavar)} | {_cell(_text(param.help or ''))} | {_cell(_default(param))} |"


def _metavar(param: Any, context: Any) -> str:
    return str(param.metavar or param.make_metavar(context)).strip("{}")


def _default(param: Any) -> str:
    if isinstance(param.show_default, str):
        return param.show_default
    shown = isinstance(param.default, _TYPES) and param.default not in (False, "")
    return f"`{param.default}`" if shown else ""


def _text(text: str) -> str:
    """Return a help text as Markdown."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text.strip()).replace("<", "&lt;").replace("*", "\\*")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def python() -> Iterator[str]:
    """Yield the lines of the reference of all names that ``hakoiri`` offers."""
    found = {name: getattr(hakoiri, name) for name in dir(hakoiri)}
    # Not the classes of others under other names, such as an integer that is a key.
    classes = {name: it for name, it in found.items() if inspect.isclass(it) and it.__module__.startswith("hakoiri")}
    kinds = {
        "Functions": [name for name, it in found.items() if inspect.isfunction(it)],
        "Classes": [name for name, it in classes.items() if not issubclass(it, Exception)],
        "Errors": [name for name, it in classes.items() if issubclass(it, Exception)],
    }
    rest = [name for name in found if not any(name in names for names in kinds.values())]
    for title, names in kinds.items():
        yield f"\n## {title}\n"
        for name in sorted(names, key=str.lower):
            yield from _name(name, found[name])
    yield f"\n## Types and values\n\n{', '.join(f'`{name}`' for name in rest)}"


def _name(name: str, it: Any) -> Iterator[str]:
    yield f"\n### `{name}`\n\n```py\n{name}{_wrapped(_signature(it))}\n```\n\n{_docstring(it)}\n"
    if not inspect.isclass(it):
        return
    if dataclasses.is_dataclass(it) and (fields := [field.name for field in dataclasses.fields(it)]):
        yield f"Fields: {', '.join(f'`{field}`' for field in fields)}\n"
    for part, value in vars(it).items():
        plain = getattr(value, "__func__", value)
        if part.startswith("_") or not (inspect.isfunction(plain) or isinstance(value, property)):
            continue
        if inspect.getdoc(value):
            shown = part if isinstance(value, property) else f"{part}{_signature(plain)}"
            yield f"`{shown}`\n\n:   {_docstring(value).replace(chr(10), chr(10) + '    ')}\n"


def _signature(it: Any) -> str:
    try:
        text = str(inspect.signature(it))
    except (TypeError, ValueError):
        return ""
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Z])|~", "", text)
    # A number with bounds, such as a depth.
    text = re.sub(r"Annotated\[(\w+), Meta\([^()]*\)\]", r"\1", text)
    text = re.sub(r"\((?:self|run: OpenRun)(?:, |(?=\)))", "(", text)
    return _ARRAY.sub(lambda found: "Keys" if found[1] == "unsignedinteger" else "ndarray", text)


def _wrapped(signature: str) -> str:
    """Return a signature with a line for each parameter, if it is long."""
    if len(signature) < 80:
        return signature
    return re.sub(r"(\(|,) ?(?=\*|\w+:)", r"\1\n    ", signature).replace(") -> ", ",\n) -> ")


def _docstring(it: Any) -> str:
    """Return a docstring as Markdown."""
    return (inspect.getdoc(it) or "").replace("``", "`")


def http() -> Iterator[str]:
    """Yield the lines of the table of the fields that each kind of run has."""
    yield "| `kind` | field | meaning |\n|---|---|---|"
    for name in KINDS:
        kind = kind_class(name)
        yield f"| {name} | | {(kind.__doc__ or '').splitlines()[0]} |"
        for field, text in documented(kind).items():
            yield f"| | `{field}` | {_cell(text)} |"


def outcomes() -> Iterator[str]:
    """Yield the lines of the table of errors."""
    yield "| error | exit code | HTTP status | resumable |\n|---|---|---|---|"
    for name, (status, exit_code, resumes, _) in OUTCOMES.items():
        yield f"| `{name}` | {exit_code} | {status} | {'yes' if resumes else 'no'} |"


_GENERATED = {
    "reference/command-line.md": command_line, "reference/python.md": python, "reference/http.md": http,
    "reference/exit-codes.md": outcomes,
}  # fmt: skip
#: What is shown for a value in a message.
_VALUE = "…"
_TOLD = {"note": "note", "report": "note", "_note": "note", "log": "note", "BadParameter": "option"}
_TOLD |= {"problem": "problem", "HTTPException": "problem", "fault": "fault", "mistake": "fault", "damage": "fault"}


@cache
def messages() -> dict[str, set[str]]:
    """Return the messages that the product has, with their hints, by the error or by how they are told."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted((_ROOT / "hakoiri").rglob("*.py"))]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    kinds = {node.name: node.name for node in classes}
    kinds |= {
        node.name: ast.unparse(node.returns).strip("'").rpartition("errors.")[2]
        for node in functions
        if node.returns is not None
    }
    kinds = {name: kind for name, kind in kinds.items() if kind.endswith("Error")} | _TOLD
    owners = {id(part): node.name for node in classes if node.name in kinds for part in node.body}
    found: dict[str, set[str]] = {}
    for function in functions:
        inside = list(ast.walk(function))
        local = {
            target.id: node.value
            for node in inside
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in inside:
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if kind := owners.get(id(function)) if name == "__init__" else kinds.get(name):
                texts = [text for each in node.args for text in _templates(each, local) if " " in text.strip()][:2]
                hints = "".join(f"; {hint}" for each in node.args for hint in _hints(each))
                found.setdefault(kind, set()).update(f"{text}{hints}" for text in texts)
    # What `Job.puzzle_kind` raises.
    found["PuzzleError"] |= {
        worded(
            re.sub(r"{.*?}", _VALUE, run.misfit), [hint._replace(what=hint.what.format("NAME")) for hint in run.instead]
        )
        for run in map(kind_class, KINDS)
    }
    return found


def _templates(node: ast.expr, local: dict[str, ast.expr]) -> list[str]:
    """Return the texts that an expression may have, with `_VALUE` for each value in them."""
    if isinstance(node, ast.Name) and node.id in local:
        return _templates(local[node.id], {})
    if isinstance(node, ast.IfExp):
        return _templates(node.body, local) + _templates(node.orelse, local)
    if isinstance(node, ast.JoinedStr):
        parts = [
            _templates(part.value if isinstance(part, ast.FormattedValue) else part, local) or [_VALUE]
            for part in node.values
        ]
        return [re.sub(f"{_VALUE}+", _VALUE, "".join(chosen)) for chosen in product(*parts)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _hints(node: ast.expr) -> Iterator[str]:
    """Yield a hint as a command."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Hint":
        values: list[Any] = [each.value if isinstance(each, ast.Constant) else "" for each in node.args]
        do, what, value = [*values, "", ""][:3]
        of_run = "{run}" in WORDS[do][1]
        yield in_command_line(Hint(do, what or ("RUN" if of_run else "NAME"), value or ("" if of_run else "VALUE")))


#: The parts of the page of man around its commands, as roff.
_MAN_BEGIN = r""".TH HAKOIRI 1 "" "Hakoiri {version}" "User Commands"
.SH NAME
hakoiri \- enumerate every configuration of a puzzle
.SH SYNOPSIS
.B hakoiri
.I COMMAND
.RI [ OPTIONS ]
.SH DESCRIPTION
{description}
Begin with
.BR "hakoiri run klotski" ,
then
.BR "hakoiri path last" .
.B hakoiri COMMAND \-\-help
describes the options of a command,
.B hakoiri \-\-install\-completion bash
(or zsh, fish) has the Tab key complete commands, options, puzzles and names of runs.
"""
_MAN_END = r""".SH EXIT STATUS
0: done, and the run is complete. 1: an error, with the next step on stderr. 2: the command line is wrong. 75: another
process drives the run. 128 and more: ended by a signal;
.B hakoiri resume
continues.
.SH ENVIRONMENT
.TP
.B HAKOIRI_DATA
Directory of the runs.
.TP
.B HAKOIRI_REDIS
Redis of coordinator, workers and hosts.
.TP
.B HAKOIRI_TOKEN
Token of the page and the HTTP interface.
"""


def first_lines() -> dict[str, str]:
    """Return the first line of the help of each command, in the order of ``hakoiri --help``."""
    group: Any = get_command(app)
    return {name: group.commands[name].help.split("\n\n")[0] for name in group.commands}


_LISTED = '''"""The first line of the help of each command, made by ``scripts/reference.py``.

The list of commands is printed from this table, because importing all commands takes as long as all the rest of it.
"""

LINES = {{
{lines}
}}
'''


def listed() -> str:
    """Return the text of the module that has the first lines of the commands."""
    lines = []
    for name, line in first_lines().items():
        pieces = [f"{piece} " for piece in wrap(line, 100)]
        pieces[-1] = pieces[-1].rstrip()
        lines.append(f'    "{name}": ' + "\n    ".join(f'"{piece}"' for piece in pieces) + ",")
    return _LISTED.format(lines="\n".join(lines))


def man() -> Iterator[str]:
    """Yield the lines of the page of man."""
    yield _MAN_BEGIN.format(version=version("hakoiri"), description=app.info.help).rstrip()
    lines = first_lines()
    for panel, names in PANELS.items():
        yield f".SH {panel.upper()}"
        for name in names.split():
            yield f".TP\n.B hakoiri {_roff(name)}\n{_roff(lines[name])}"
    yield _MAN_END.rstrip()


def _roff(text: str) -> str:
    return re.sub(r"^([.'])", r"\\&\1", text.replace("\\", r"\e").replace("-", r"\-"))


def _listed(names: str) -> str:
    """Return the messages of some errors as a list."""
    found = messages()
    texts = sorted({text for name in names.split() for text in found.get(name, ())}, key=str.lower)
    return "\n".join(f"- ``{text}``" for text in texts)


def filled(page: str, markdown: str) -> str:
    """Return a page of ``reference/`` with its generated parts as the code has them."""
    make = _GENERATED.get(f"reference/{page}")
    return _PART.sub(lambda found: f"{found[1]}{_listed(found[2]) if found[2] else _lines(make)}\n\n", markdown)


def _lines(make: Any) -> str:
    return "\n".join(make()).strip("\n")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Unescape bars: most Markdown wants one in the code of a table escaped, Python's shows the backslash."""
    return re.sub(r"(?m)^\|.*$", lambda row: _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), markdown)


def foreign(text: str) -> list[str]:
    """Return what a page or a style sheet loads from other servers."""
    return _FOREIGN.findall(text)


def on_post_build(config: Any, **_: Any) -> None:
    """Refuse a site that loads anything from another server."""
    for path in sorted(Path(config.site_dir).rglob("*")):
        if path.suffix in (".html", ".css") and (found := foreign(path.read_text(encoding="utf-8"))):
            raise PluginError(f"{path} loads from another server: {found[0]}")


if __name__ == "__main__":
    (_ROOT / "hakoiri" / "cli" / "listed.py").write_text(listed(), encoding="utf-8")
    (_ROOT / "hakoiri" / "cli" / "hakoiri.1").write_text("\n".join(man()) + "\n", encoding="utf-8")
    for path in sorted((_ROOT / "docs" / "reference").glob("*.md")):
        path.write_text(filled(path.name, path.read_text(encoding="utf-8")), encoding="utf-8")
