"""The outline of a puzzle's source, parsed and not executed: for completion, which must be fast and trusts no file."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[3]
#: Numbers that anybody would look through.
_MOST_NUMBERS = 30


def source_of(module: str) -> Path:
    """The file of a module of Hakoiri."""
    return (_ROOT / module.replace(".", "/")).with_suffix(".py")


def classes_in(file: Path) -> list[str]:
    """The classes of a file that imports from Hakoiri; none where it cannot be read."""
    tree = _parsed(file)
    imports = any(isinstance(node, ast.ImportFrom) and node.module == "hakoiri" for node in tree.body)
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and imports]


def options_in(file: Path, name: str) -> dict[str, list[str]]:
    """Return the options of a class by name, each with its allowed values: empty if there are many, or any.

    None for a file or class that cannot be understood.
    """
    tree = _parsed(file)
    found = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    try:
        options: dict[str, list[str]] = _named(ast.Module([*tree.body, *found[0].body], []), "options")
    except (LookupError, RecursionError, TypeError, ValueError):
        return {}
    return options


def _parsed(file: Path) -> ast.Module:
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
                    return _named(_parsed(source_of(node.module)), alias.name)
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
            return list(_values(tree, node.elts))
        case ast.Dict():
            return {
                _value(tree, key): _value(tree, value) for key, value in zip(node.keys, node.values, strict=True) if key
            }
        case ast.BinOp(op=ast.FloorDiv()):
            return _value(tree, node.left) // _value(tree, node.right)
        case ast.Call(func=ast.Name(id=kind), args=[*given]):
            return _called(kind, [_value(tree, each) for each in given])
    raise ValueError(ast.dump(node))


def _values(tree: ast.Module, nodes: list[ast.expr]) -> Iterator[Any]:
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from _value(tree, node.value)
        else:
            yield _value(tree, node)


def _called(kind: str, given: list[Any]) -> Any:
    match kind, given:
        case (("Choice" | "tuple"), [values]):
            return list(values)
        case "Number", [_, least, most]:
            return [str(number) for number in range(least, most + 1)] if most - least < _MOST_NUMBERS else []
        case "Text", _:
            return []
    raise ValueError(kind)
