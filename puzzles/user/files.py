"""User puzzles: a user's file, executed only in a process whose own user asked for it, and found again by digest.

On the command line such a puzzle is ``PATH/my_puzzle.py:Name``. What a run pins and what travels through Redis is data
alone: ``my_puzzle.py:Name`` and the SHA-256 of the file. `known` looks these two up among the files that this process
has loaded and never loads any, so nobody who writes to Redis can have a file executed. Who may load:

- a command on which the user names the file, and a worker what `FILES` and its user name: `load`, `load_file`;
- whoever opens a run: `find_again`, and only the very file that the run was begun with.
"""

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from hakoiri.puzzles.errors import PuzzleError, Step

if TYPE_CHECKING:
    from hakoiri.puzzles.contract import Puzzle

#: The environment variable that names files with puzzles, separated by ``:``. A worker loads them when it starts;
#: other processes search them for the file of a run that is not where it was.
FILES = "HAKOIRI_PUZZLE_FILES"
#: Prefix of the names of the modules that user files become.
_MODULE = "own_puzzle_"
_NAMED = re.compile(r"(?P<path>.+\.py)(?::(?P<name>[^:/]*))?", re.DOTALL)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_SHOWN_DIGITS = 12


@dataclass(frozen=True)
class OwnPuzzle:
    """A puzzle of a loaded file: its class as the user wrote it, and the same under guard (`puzzles.user.guard`)."""

    path: Path
    plain: "type[Puzzle]"
    guarded: "type[Puzzle]"


class _Content(NamedTuple):
    raw: bytes
    digest: str


@dataclass(frozen=True)
class _File:
    path: Path
    module: ModuleType


#: What this process has loaded, by the file's name and digest.
_files: dict[tuple[str, str], _File] = {}
_puzzles: dict[tuple[str, str], OwnPuzzle] = {}


def is_own(word: str) -> bool:
    """Whether a user's word for a puzzle names a user puzzle: ``FILE.py:NAME``."""
    return _NAMED.fullmatch(word) is not None


def is_own_module(name: str) -> bool:
    """Whether a module of that name is a user's file of puzzles."""
    return name.startswith(_MODULE)


def load(word: str) -> tuple[str, str]:
    """Execute the file of ``PATH/FILE.py:NAME``; returns ``FILE.py:NAME`` and the file's digest, for `known`.

    Only for words that the user typed. Raises `PuzzleError` that says what is wrong with the file or the class.
    """
    match = _NAMED.fullmatch(word)
    if match is None:
        raise PuzzleError(f"{word!r} names no user puzzle; write FILE.py:NAME")
    path = Path(match["path"])
    digest = load_file(path)
    if not match["name"]:
        raise PuzzleError(f"{path.name}: say which class, {path}:NAME; it has {_classes_in(_files[path.name, digest])}")
    name = f"{path.name}:{match['name']}"
    known(name, digest)
    return name, digest


def load_file(path: Path) -> str:
    """Execute a file with puzzles, at most once in this process; returns its digest."""
    content = _read(path)
    if (path.name, content.digest) not in _files:
        _files[path.name, content.digest] = _run(path.absolute(), content)
    return content.digest


def known(name: str, digest: str) -> OwnPuzzle:
    """The puzzle ``FILE.py:NAME`` of a file with this digest, if this process has loaded it. Loads nothing.

    Raises `PuzzleError` if it has not, or if the class is no puzzle.
    """
    if (name, digest) not in _puzzles:
        file, _, class_name = name.rpartition(":")
        if (file, digest) not in _files:
            raise PuzzleError(_unknown(name, file, digest), Step("worker with", name))
        _puzzles[name, digest] = _checked(_files[file, digest], class_name)
    return _puzzles[name, digest]


def find_again(name: str, digest: str, pinned: str) -> None:
    """Load the file that a run was begun with: `pinned`, where it was then, else the one in `FILES` with its name.

    Raises `PuzzleError` if no file there has this digest. No file with another digest is executed.
    """
    file = name.rpartition(":")[0]
    if (file, digest) in _files:
        return
    named = [path for path in configured_files() if path.name == file]
    reasons = []
    for path in dict.fromkeys([Path(pinned), *named]):
        try:
            content = _read(path)
        except PuzzleError as error:
            reasons.append(str(error))
            continue
        if content.digest != digest:
            reasons.append(
                f"{path} has changed since (its digest was {_short(digest)}, it is {_short(content.digest)})"
            )
        elif path not in named and not _is_ours(path):
            # IMPORTANT: a run says where its file is, and whoever can write to the run could have us execute any file.
            reasons.append(f"{path} belongs to somebody else and is loaded only if {FILES} names it")
        else:
            _files[file, digest] = _run(path, content)
            return
    raise PuzzleError(
        f"its puzzle {name} is not available: {'; '.join(reasons)}; restore the file, name where it is now in {FILES}, "
        "or start a new run"
    )


def configured_files() -> list[Path]:
    """The files that `FILES` names."""
    return [Path(text).absolute() for text in os.environ.get(FILES, "").split(os.pathsep) if text]


def files_variable(paths: Iterable[Path]) -> dict[str, str]:
    """`FILES` for a child process that is to load these."""
    return {FILES: os.pathsep.join(dict.fromkeys(str(path) for path in paths))}


def _read(path: Path) -> _Content:
    try:
        raw = path.read_bytes()
        return _Content(raw, hashlib.sha256(raw).hexdigest())
    except FileNotFoundError:
        raise PuzzleError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise PuzzleError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _run(path: Path, content: _Content) -> _File:
    """Executes what was read: the file may have changed since."""
    from hakoiri.puzzles.checks import error_line

    # The name says where compiled kernels lie (`puzzles.jit`); it is the same for the same file on every machine.
    identity = hashlib.sha256(repr((path.name, content.digest)).encode())
    module = ModuleType(f"{_MODULE}{identity.hexdigest()[:16]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # Dataclasses and numba look for it there.
    try:
        # What the file prints must not mix with the results.
        with redirect_stdout(sys.stderr):
            exec(compile(content.raw, str(path), "exec", dont_inherit=True), vars(module))  # noqa: S102  (the user's own file)
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise PuzzleError(f"{path}: {error_line(error, str(path))}") from error
    return _File(path, module)


def _checked(file: _File, name: str) -> OwnPuzzle:
    """A class of a loaded file; `PuzzleError` unless it is a puzzle that can be made."""
    from hakoiri.puzzles.contract import Puzzle
    from hakoiri.puzzles.user.guard import guarded

    found: Any = vars(file.module).get(name)
    where = f"{name} of {file.path.name}"
    if not isinstance(found, type) or found.__module__ != file.module.__name__:
        raise PuzzleError(f"{file.path.name} has no class {name}; it has {_classes_in(file)}")
    if not issubclass(found, Puzzle):
        raise PuzzleError(f"{where} is no puzzle: a puzzle begins with 'class {name}(Puzzle)' (hakoiri.Puzzle)")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise PuzzleError(f"{where} does not define: {missing} (see docs/own-puzzle.md)")
    called: Any = getattr(found, "name", None)
    if called is None:
        raise PuzzleError(f"{where} does not say: name (see docs/own-puzzle.md)")
    if not isinstance(called, str) or not _NAME.fullmatch(called):
        raise PuzzleError(f"{where}: name is {called!r}; it is made of up to 40 lower-case letters, digits and '-'")
    return OwnPuzzle(file.path, found, guarded(found, str(file.path)))


def _classes_in(file: _File) -> str:
    from hakoiri.puzzles.contract import Puzzle

    own = (value for value in vars(file.module).values() if isinstance(value, type) and issubclass(value, Puzzle))
    return ", ".join(found.__name__ for found in own if found.__module__ == file.module.__name__) or "no puzzle"


def _unknown(name: str, file: str, digest: str) -> str:
    others = [_short(other) for known_file, other in _files if known_file == file]
    if others:
        return f"this worker has another {file} (digest {', '.join(others)}) than the run ({_short(digest)})"
    return f"this worker does not know the puzzle {name} (digest {_short(digest)})"


def _is_ours(path: Path) -> bool:
    """Whether a file belongs to this user, or to the system."""
    return path.stat().st_uid in (0, os.geteuid())


def _short(digest: str) -> str:
    return digest[:_SHOWN_DIGITS]
