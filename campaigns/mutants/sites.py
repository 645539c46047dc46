"""The places where one operator can be changed, in the functions of coordinator, storage and worker, and in kernels."""

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
#: Only compiled functions of puzzles: their rules in plain Python are compared with the kernels all the time.
ROOMS = ("coordinator", "storage", "worker", "puzzles")
_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Mutant(NamedTuple):
    """A file with one operator changed."""

    file: str
    #: The outermost function that holds the operator, with its class.
    function: str
    line: int
    before: str
    after: str
    #: Tells equal changes in one function apart.
    nth: int
    text: str
    is_kernel: bool

    @property
    def name(self) -> str:
        """The same as long as the function has this expression, wherever it stands in the file."""
        return f"{self.file} {self.function}: {self.before} -> {self.after}" + (f" #{self.nth}" if self.nth else "")


def mutants(seed: int, root: Path = ROOT) -> list[Mutant]:
    """All mutants in the order of `seed`: that of one does not depend on others, so edits elsewhere keep it."""
    found = (
        mutant for room in ROOMS for path in sorted((root / room).rglob("*.py")) for mutant in _of_file(root, path)
    )
    return sorted(found, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.name}".encode()).digest())


def is_kernel(function: ast.AST) -> bool:
    """Return whether a function is compiled, so that Python never enters it."""
    return isinstance(function, _Function) and any(
        ast.unparse(each).startswith("jit") for each in function.decorator_list
    )


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, _Function]]:
    """The outermost functions of a module, those of its classes with them, by their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _Function):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")


def _of_file(root: Path, path: Path) -> Iterator[Mutant]:
    text, file = path.read_text(encoding="utf-8"), str(path.relative_to(root))
    for name, function in functions(ast.parse(text)):
        compiled = is_kernel(function)
        if file.startswith("puzzles/") and not compiled:
            continue
        seen = Counter[tuple[str, str]]()
        for node, changed in _changes(function):
            before, after = ast.unparse(node), ast.unparse(changed)
            yield Mutant(
                file, name, node.lineno, before, after, seen[before, after], _replaced(text, node, after), compiled
            )
            seen[before, after] += 1


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """The expressions below a node that have an operator, each with the same but for that operator."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            # Types are never evaluated for their own sake; what stands in an f-string has no place of its own.
            if (
                isinstance(child, ast.AST)
                and field not in {"annotation", "returns"}
                and not isinstance(child, ast.JoinedStr)
            ):
                yield from _changed(child)
                yield from _changes(child)


def _changed(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, node.operand
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        for place, operator in enumerate(node.ops):
            changed = copy.deepcopy(node)
            changed.ops[place] = _SWAPS[type(operator)]()  # type: ignore[call-overload]
            yield node, changed
    elif isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign) and type(node.op) in _SWAPS:
        other = copy.deepcopy(node)
        other.op = _SWAPS[type(node.op)]()  # type: ignore[assignment]
        yield node, other


def _replaced(text: str, node: ast.expr | ast.stmt, after: str) -> str:
    """The text with other words in a node's place, and as many lines as before."""
    lines = text.encode().splitlines(keepends=True)
    assert node.end_lineno is not None and node.end_col_offset is not None
    begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    if isinstance(node, ast.expr):
        after = f"({after}{chr(10) * (node.end_lineno - node.lineno)})"
    return (text.encode()[:begin] + after.encode() + text.encode()[end:]).decode()
