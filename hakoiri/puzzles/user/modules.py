"""Modules beside a user's file: those of its folder, or of its package, that it imports.

They are found in the text of the file, without executing anything, so that their digest is known before. An import
that is computed, or of another folder, is not covered; nor are modules of the standard library or installed ones.
What was read is what is executed. A process has one module of a name: another one of the same name is refused.
"""

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.abc import SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from hakoiri.errors import PuzzleError

#: Modules by their dotted names: their files and contents.
Modules = Mapping[str, tuple[Path, bytes]]


def package_of(path: Path) -> tuple[Path, str]:
    """Return the folder from which a file's modules are imported, and the package of the file: empty for none."""
    folder, names = path.parent, list[str]()
    while (folder / "__init__.py").is_file():
        names.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(names)


def modules_beside(path: Path, raw: bytes, read: Callable[[Path], bytes]) -> Modules:
    """Return the modules beside a file with the content `raw` that it imports, and those that these import."""
    root, package = package_of(path)
    found, queue = dict[str, tuple[Path, bytes]](), [*_imported(raw, package)]
    for name in queue:
        top = name.partition(".")[0]
        if name in found or top in sys.stdlib_module_names or top == "hakoiri" or not (file := _file(root, name)):
            continue
        found[name] = (file, read(file))
        queue += _imported(found[name][1], name if file.name == "__init__.py" else name.rpartition(".")[0])
        # Its packages; those without a file are empty.
        for end in (place for place, letter in enumerate(name) if letter == "."):
            queue.append(name[:end])
            if not _file(root, name[:end]):
                found[name[:end]] = (root.joinpath(*name[:end].split("."), "__init__.py"), b"")
    return found


def _file(root: Path, name: str) -> Path | None:
    place = root.joinpath(*name.split("."))
    return next(filter(Path.is_file, (place / "__init__.py", place.with_name(f"{place.name}.py"))), None)


def _imported(raw: bytes, package: str) -> Iterator[str]:
    """Yield the dotted names that a source may import."""
    with suppress(SyntaxError, ValueError, RecursionError):
        for node in ast.walk(ast.parse(raw)):
            match node:
                case ast.Import():
                    yield from (alias.name for alias in node.names)
                case ast.ImportFrom():
                    origin = absolute(node, package)
                    yield from filter(None, [origin, *(f"{origin}.{alias.name}".lstrip(".") for alias in node.names)])


def absolute(node: ast.ImportFrom, package: str) -> str:
    """Return the module that a statement imports from, by its full name."""
    within = package.split(".")[: 1 - node.level or None] if node.level and package else []
    return ".".join(filter(None, [*within, node.module]))


class _Beside(SourceLoader):
    """Imports the modules that were read, from the bytes that were read."""

    def __init__(self) -> None:
        self.modules: dict[str, tuple[Path, bytes]] = {}

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in self.modules:
            return None
        return spec_from_file_location(fullname, self.modules[fullname][0], loader=self)

    def get_filename(self, fullname: str) -> str:
        return str(self.modules[fullname][0])

    def get_data(self, path: str | bytes) -> bytes:
        return next(raw for file, raw in self.modules.values() if str(file) == path)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__source__"] = self.modules[module.__name__][1]  # For `worker.program`.
        super().exec_module(module)


_beside: Any = _Beside()


def admit_modules(modules: Modules) -> None:
    """Let this process import modules; `PuzzleError` if it has imported others of their names."""
    for name, (file, raw) in modules.items():
        there = sys.modules.get(name)
        known = _beside.modules.get(name, (None, None))[1] if there is None else vars(there).get("__source__")
        if there is not None and known is None:
            with suppress(OSError, TypeError):
                known = Path(str(there.__file__)).read_bytes() if there.__file__ else b""
        if (there is not None or known is not None) and known != raw:
            raise PuzzleError(f"{file}: this process has imported another module {name}; rename one, or start it again")
    _beside.modules.update(modules)
    if modules and _beside not in sys.meta_path:
        sys.meta_path.insert(0, _beside)


def execute(module: ModuleType, raw: bytes, modules: Modules) -> None:
    """Execute a user's file as `module`, which has its `__file__`, with the modules beside it."""
    admit_modules(modules)
    path = str(module.__file__)
    module.__package__ = package_of(Path(path))[1]
    sys.modules[module.__name__] = module  # Dataclasses and numba look for it there.
    exec(compile(raw, path, "exec", dont_inherit=True), vars(module))  # noqa: S102  (the user's own file)
