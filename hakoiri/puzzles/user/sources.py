"""The source of a user's puzzle: its outline, parsed and not executed, and puzzles given as classes or functions.

A run pins a file. The source of ``__main__``, a script or the cells of a notebook, also calls what is not part of the
puzzle, such as `explore`. So the statements that bind the names that a definition uses, and what changes their values
in place, are taken from it, and nothing else; names of plain data are bound to their present values. The file is in the
user state folder, by the digest of its text, and the modules beside it that it imports are copied there.
"""

import ast
import hashlib
import inspect
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from operator import itemgetter
from pathlib import Path
from symtable import SymbolTable, symtable
from types import ModuleType
from typing import Any

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.user.files import owned_folder, owned_state_folder
from hakoiri.puzzles.user.forms import literal
from hakoiri.puzzles.user.modules import Modules, absolute, modules_beside

_ROOT = Path(__file__).parents[3]
#: Numbers that anybody would look through.
_MOST_NUMBERS = 30


def source_of(module: str) -> Path:
    """The file of a module of Hakoiri."""
    return (_ROOT / module.replace(".", "/")).with_suffix(".py")


def classes_in(file: Path) -> list[str]:
    """The classes of a file that imports from Hakoiri; none where it cannot be read."""
    tree = _parsed_file(file)
    imports = any(isinstance(node, ast.ImportFrom) and node.module == "hakoiri" for node in tree.body)
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and imports]


def options_in(file: Path, name: str) -> dict[str, list[str]]:
    """Return the options of a class by name, each with its allowed values: empty if there are many, or any.

    None for a file or class that cannot be understood.
    """
    tree = _parsed_file(file)
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    try:
        options: dict[str, list[str]] = _named(ast.Module([*tree.body, *found[0].body], []), "options")
    except (LookupError, RecursionError, TypeError, ValueError):
        return {}
    return options


def _parsed_file(file: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _named(tree: ast.Module, name: str) -> Any:
    """The value of a name, as the top level of a module assigns or imports it; `LookupError` for others."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target, value in _assigned(node):
                if isinstance(target, ast.Name) and target.id == name:
                    return _value(tree, value)
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _named(_parsed_file(source_of(node.module)), alias.name)
    raise LookupError(name)


def _assigned(node: ast.Assign | ast.AnnAssign) -> Iterator[tuple[ast.expr, ast.expr]]:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        elif node.value is not None:
            yield target, node.value


def _value(tree: ast.Module, node: ast.expr) -> Any:
    """Return the value of an expression: texts, numbers, collections, kinds of option; `ValueError` for others."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return _named(tree, node.id)
        case ast.Tuple() | ast.List():
            spread = ((each.value, True) if isinstance(each, ast.Starred) else (each, False) for each in node.elts)
            parts = (_value(tree, each) if whole else [_value(tree, each)] for each, whole in spread)
            return list(chain.from_iterable(parts))
        case ast.Dict():
            return {
                _value(tree, key): _value(tree, value) for key, value in zip(node.keys, node.values, strict=True) if key
            }
        case ast.BinOp(op=ast.FloorDiv()):
            return _value(tree, node.left) // _value(tree, node.right)
        case ast.Call(func=ast.Name(id=kind), args=[*given]):
            return _called(kind, [_value(tree, each) for each in given])
    raise ValueError(ast.dump(node))


def _called(kind: str, given: list[Any]) -> Any:
    match kind, given:
        case (("Choice" | "tuple"), [values]):
            return list(values)
        case "Number", [_, least, most]:
            return [str(number) for number in range(least, most + 1)] if most - least < _MOST_NUMBERS else []
        case "Text", _:
            return []
    raise ValueError(kind)


_NOTEBOOK = "notebook.py"
#: Characters of plain data; the statements that make more than this are executed again instead.
_MOST_DATA = 1 << 20


def file_of(kind: type) -> Path:
    """Return a file that defines a class: that of its module, or one with its part of ``__main__``."""
    if (guarded := getattr(kind, "guarded_file", None)) is not None:
        return Path(guarded)
    if kind.__module__ != "__main__" and (path := inspect.getsourcefile(kind)) is not None:
        return Path(path)
    return written(*definition([kind]))


class NoSourceError(PuzzleError):
    """The source of a class or function is not known, or cannot be executed elsewhere."""


def definition(its: "Sequence[type | Callable[..., Any]]", expression: str = "None") -> tuple[str, str, Modules]:
    """Return the name for a file with top-level classes or functions of one module, and the part that defines them.

    The part also defines what an `expression` uses; plain data has its present values. The modules are those beside the
    file that the part imports. Raises `NoSourceError` if a source is not known, or not at the top level of that module,
    and if the expression is not one.
    """
    module = sys.modules.get(getattr(its[0], "__module__", "")) or ModuleType("")
    path = getattr(module, "__file__", None)
    cells, known = getattr(module, "In", None) if path is None else None, vars(module)
    try:
        texts = cells if isinstance(cells, list) else ["" if path is None else Path(path).read_text(encoding="utf-8")]
    except (OSError, UnicodeError):
        texts = []
    file, statements = Path(path or _NOTEBOOK).name, [each for text in texts for each in _parsed(text)]
    bound: dict[str, list[ast.stmt]] = {}
    for statement in statements:
        for target in _bound_by(statement):
            bound.setdefault(target, []).append(statement)
    names = [getattr(it, "__qualname__", "") for it in its]
    for name, it in zip(names, its, strict=True):
        if name not in bound or getattr(it, "__module__", "") != its[0].__module__ or known.get(name) is not it:
            what = f"the source of {name or it!r} is not known"
            raise NoSourceError(f"{what}; define it at the top level of one file or notebook, or give FILE.py:NAME")
    try:
        queue = [*names, *_used_by(symtable(expression, file, "eval"))]
    except SyntaxError:
        said = f"{expression} cannot be written as Python; its repr must be an expression for it"
        raise NoSourceError(said) from None
    chosen, values = _needed(queue, bound, vars(module))
    chosen += [each for each in statements if _is_future(each) and each not in chosen]
    chosen.sort(key=statements.index)
    package = str(getattr(module, "__package__", None) or "")
    again = [(0, values[name][1]) for name in dict.fromkeys(chain(*map(_bound_by, chosen))) if name in values]
    if path is None:
        chosen.sort(key=lambda each: not _is_future(each))
        parts = [(0, ast.unparse(each)) for each in chosen]
        begin = sum(map(_is_future, chosen))
        parts[begin:begin] = [(0, value) for _, value in values.values()]
    else:
        lines = texts[0].split("\n")
        parts = sorted([*values.values(), *(_written(each, lines, package) for each in chosen)], key=itemgetter(0))
    text = _laid_out([*parts, *again])
    beside = {} if path is None else modules_beside(Path(path).absolute(), text.encode(), Path.read_bytes)
    return file, text, beside


def _needed(
    queue: list[str], bound: Mapping[str, list[ast.stmt]], known: Mapping[str, Any]
) -> tuple[list[ast.stmt], dict[str, tuple[int, str]]]:
    """Return the statements that define names and what these use; for plain data its first line and assignment."""
    chosen, values = dict[int, ast.stmt](), dict[str, tuple[int, str]]()
    for wanted in queue:
        if wanted in values or wanted not in bound:
            continue
        with suppress(KeyError, TypeError, ValueError, RecursionError):
            if len(value := literal(known[wanted])) <= _MOST_DATA:
                values[wanted] = bound[wanted][0].lineno, f"{wanted} = {value}"
                continue
        for statement in bound[wanted]:
            if id(statement) not in chosen:
                chosen[id(statement)] = statement
                queue += _used_by(symtable(ast.unparse(statement), "", "exec"))
    return [*chosen.values()], values


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _written(statement: ast.stmt, lines: list[str], package: str) -> tuple[int, str]:
    """Return the first line of a statement and its text, with the full names of what it imports."""
    begin = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
    text = "\n".join(lines[begin - 1 : statement.end_lineno])
    nearby = [node for node in ast.walk(statement) if isinstance(node, ast.ImportFrom) and node.level]
    for node in nearby:
        node.module, node.level = absolute(node, package), 0
    # Other statements may share its lines.
    whole = not nearby and len(_parsed(text)) == 1
    return begin, text if whole else ast.unparse(statement)


def _laid_out(parts: Iterable[tuple[int, str]]) -> str:
    """Return a text with each part at its line, if the parts before leave room: errors name lines of the original."""
    text, line = "", 1
    for place, part in parts:
        before = "\n" * (place - line)
        text += f"{before}{part}\n"
        line += len(before) + part.count("\n") + 1
    return text


def _parsed(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError):
        return []


def _used_by(table: SymbolTable) -> Iterator[str]:
    """Yield the names of the module that a statement uses."""
    outer = table.get_type() == "module"
    yield from (symbol.get_name() for symbol in table.get_symbols() if outer or symbol.is_global())
    for inner in table.get_children():
        yield from _used_by(inner)


def _bound_by(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a top-level statement binds, or whose values it changes in place."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
            return
        case ast.Import() | ast.ImportFrom():
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in statement.names)
            return
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return
    for node in ast.walk(statement):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                yield name
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))):
                yield name
            case ast.Import() | ast.ImportFrom():
                yield from _bound_by(node)


def written(name: str, text: str, modules: Modules) -> Path:
    """Write a file of this name and text, and the modules beside it, to the user state folder; return its path."""
    files = {name: text.encode()}
    for module, (path, raw) in modules.items():
        place = Path(*module.split("."))
        files[str(place / path.name if path.name == "__init__.py" else place.with_name(path.name))] = raw
    identity = text if not modules else repr(sorted(files.items()))
    folder = owned_state_folder()
    for part in ("sources", hashlib.sha256(identity.encode()).hexdigest()[:16]):
        folder = owned_folder(folder / part)
    for each, raw in files.items():
        place = folder
        for part in Path(each).parent.parts:
            place = owned_folder(place / part)
        with tempfile.NamedTemporaryFile("wb", dir=place, delete=False) as file:
            file.write(raw)
        Path(file.name).replace(folder / each)
    return folder / name
