"""User puzzles: a user's file, executed only in a process whose own user asked for it, and found again by its digest.

``<user state folder>/puzzles.json`` holds a list of ``[SHA-256, path]``, the oldest first. The folder has mode 0700,
the file 0600. It is replaced as a whole, by one process at a time; a list that others can write is not used. A run
holds only the digest of its file; this list holds the path.

On the command line such a puzzle is ``PATH/my_puzzle.py:Name``. Runs and messages in Redis contain data alone:
``my_puzzle.py:Name`` and the SHA-256 of the file. `known` looks these two up among the files that this process has
loaded and never loads any, so write access to Redis, or to a run, cannot have a file executed. Files are loaded by:

- a command on which the user names the file, and a service what `FILES` and its user name: `load`, `load_file`;
- a command that opens a run: `find_again`, and only a file with the run's digest that the user names, or has made runs
  of. The run does not say where it is.

A file is opened once; what was checked is what is executed. Its code may end the process: a program that must report
this calls `prefer`. Then the first file of a user is not executed, and `StartAgain` is raised instead, so that the
caller starts the same program again in a process of its own.
"""

import fcntl
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from contextlib import redirect_stdout, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import platformdirs

from hakoiri.errors import Hint, PuzzleError
from hakoiri.owned import NotOwnedError, read_named, read_owned, require_owned_directory

if TYPE_CHECKING:
    from hakoiri.puzzles.contract import Puzzle
    from hakoiri.puzzles.user.modules import Modules

#: If this environment variable is set, the list is not used: a service's children execute named files alone.
ONLY_NAMED = "HAKOIRI_ONLY_NAMED_PUZZLES"
_FILE = "puzzles.json"
_MOST = 1_000
#: The entries that this process has added, so that thousands of runs of one puzzle read the list once.
_added: set[tuple[str, str]] = set()


def made_at(digest: str) -> list[Path]:
    """Return where the files with this digest were when this user made runs of them, the latest first."""
    if os.environ.get(ONLY_NAMED):
        return []
    return [Path(path) for known, path in reversed(_read_list(state_folder())) if known == digest]


def remember(digest: str, path: Path) -> None:
    """Add a file; durable on return. Where the list cannot be written, the file has to be named each time."""
    entry = (digest, str(path))
    if entry in _added:
        return
    with suppress(OSError, UnicodeError):
        _add(entry)
    _added.add(entry)


def _add(entry: tuple[str, str]) -> None:
    folder = owned_state_folder()
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(place, 0o700)
        fcntl.flock(place, fcntl.LOCK_EX)
        entries = _read_list(folder)
        if entries[-1:] == [entry]:
            return
        kept = [*(other for other in entries if other != entry), entry][-_MOST:]
        # A temporary file has mode 0600.
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
            json.dump(kept, file, indent=0)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(folder / _FILE)
        os.fsync(place)
    finally:
        os.close(place)


def _read_list(folder: Path) -> list[tuple[str, str]]:
    try:
        found = json.loads(read_owned(folder / _FILE))
        return [(str(digest), str(path)) for digest, path in found]
    except (OSError, ValueError, TypeError, RecursionError):
        return []


def owned_state_folder() -> Path:
    """Return `state_folder`, made if it is missing; `NotOwnedError` if others can write to it."""
    folder = state_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    return owned_folder(folder)


def owned_folder(folder: Path) -> Path:
    """Return a folder, made if it is missing; `NotOwnedError` if others can write to it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    require_owned_directory(folder)
    return folder


def state_folder() -> Path:
    """Return the folder for what Hakoiri keeps of this user's puzzles."""
    return Path(platformdirs.user_state_dir("hakoiri"))


class StartAgain(BaseException):
    """A user's file was about to be executed in a process that must outlive it."""


_preferred = False


def prefer(wanted: bool) -> None:
    """Set whether this process must outlive the code that it executes."""
    global _preferred  # noqa: PLW0603
    _preferred = wanted


def require() -> None:
    """Return if a user's file may be executed here; else raise `StartAgain`."""
    if _preferred:
        raise StartAgain


#: The environment variable with the names of puzzle files, separated by ``:``. A service loads them when it starts;
#: other processes search them for the file of a run.
FILES = "HAKOIRI_PUZZLE_FILES"
#: Prefix of the names of the modules that user files become.
_MODULE = "own_puzzle_"
_NAMED = re.compile(r"(?P<path>.+\.py)(?::(?P<name>[^:/]*))?", re.DOTALL)
_PINNED = re.compile(r"[^/\x00-\x1f\x7f-\x9f]{1,255}\.py:[^\W\d]\w{0,99}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_SHOWN_DIGITS = 12


#: The modules of the loaded files of this process, and their puzzles under guard, by name and digest.
_files: dict[tuple[str, str], ModuleType] = {}
_puzzles: "dict[tuple[str, str], type[Puzzle]]" = {}
#: The files that are being executed.
_loading: list[Path] = []


_UNDER_MAIN = "while it is loaded; put the call under if __name__ == '__main__':"


class _CalledError(PuzzleError):
    """A file of puzzles began a run while it was executed."""


def require_loaded() -> None:
    """Raise `PuzzleError` if a file of puzzles is being executed, which must not begin a run."""
    if _loading:
        name = _loading[-1].name
        raise _CalledError(f"{name} calls explore {_UNDER_MAIN}")


def is_own(word: str) -> bool:
    """Return whether a user's word for a puzzle names a user puzzle: ``FILE.py:NAME``."""
    return _NAMED.fullmatch(word) is not None


def is_own_module(name: str) -> bool:
    """Return whether a module of that name is a user's file of puzzles."""
    return name.startswith(_MODULE)


def load(word: str) -> tuple[str, str]:
    """Execute the file of ``PATH/FILE.py:NAME``; returns ``FILE.py:NAME`` and the file's digest, for `known`.

    Only for words that the user typed. Raises `PuzzleError` that says what is wrong with the file or the class.
    """
    path, class_name = _parts(word)
    digest = load_file(path)
    if not class_name:
        raise PuzzleError(
            f"{path.name} needs a class, as in {path}:NAME; it has {_classes_in(_files[path.name, digest])}"
        )
    name = f"{path.name}:{class_name}"
    known(name, digest)
    return name, digest


def load_file(path: Path) -> str:
    """Execute a file with puzzles, at most once in this process; returns its digest."""
    content = _read(path)
    if (path.name, digest := content.digest) not in _files:
        _files[path.name, digest] = _run(path.absolute(), content)
    return digest


def loaded_files() -> list[Path]:
    """The files that this process has loaded."""
    return list(map(_path, _files.values()))


def loaded_from(name: str, digest: str) -> Path:
    """Return the file of a puzzle that is `known`."""
    return _path(_files[name.rpartition(":")[0], digest])


def _path(module: ModuleType) -> Path:
    return Path(str(module.__file__))


def known(name: str, digest: str) -> "type[Puzzle]":
    """Return the puzzle ``FILE.py:NAME`` of a file with this digest, under guard, if this process has loaded it.

    Loads nothing. Raises `PuzzleError` if it has not, or if the class is not a puzzle.
    """
    if (name, digest) not in _puzzles:
        file, _, class_name = name.rpartition(":")
        if (file, digest) not in _files:
            others = ", ".join(other[:_SHOWN_DIGITS] for known_file, other in _files if known_file == file)
            said = f"this worker does not know the puzzle {name} (digest {digest[:_SHOWN_DIGITS]})"
            if others:
                said = f"this worker has another {file} (digest {others}) than the run ({digest[:_SHOWN_DIGITS]})"
            raise PuzzleError(said, Hint("worker with", name))
        _puzzles[name, digest] = _checked(_files[file, digest], class_name)
    return _puzzles[name, digest]


def is_known(name: str, digest: str) -> bool:
    """Return whether this process has loaded a file of this name and digest."""
    return (name.rpartition(":")[0], digest) in _files


def find_again(name: str, digest: str, word: str | None = None) -> None:
    """Load the file that a run was begun with: the one of ``word``, else of `FILES`, else of `made_at`.

    Raises `PuzzleError` if none of them has this digest. No file with another digest is executed.
    """
    if not (isinstance(name, str) and _PINNED.fullmatch(name) and _DIGEST.fullmatch(str(digest))):
        raise PuzzleError("its puzzle is neither built in nor a FILE.py:NAME with a SHA-256")
    file = name.rpartition(":")[0]
    if (file, digest) in _files:
        return
    named = [path for path in configured_files() if path.name == file]
    named = named if word is None else [_parts(word)[0]]
    made = [] if word is not None else [path for path in made_at(digest) if path not in named]
    reasons = []
    for path in [*named, *made]:
        try:
            content = _read(path, owned=path not in named)
        except PuzzleError as error:
            reasons.append(str(error))
            continue
        if content.digest == digest:
            _files[file, digest] = _run(path.absolute(), content)
            return
        was, now = digest[:_SHOWN_DIGITS], content.digest[:_SHOWN_DIGITS]
        which = f"{path}, or a module beside it," if content.modules else path
        reasons.append(f"{which} has changed since (its digest was {was}, it is {now})")
    reasons = reasons or ["no file with this digest was named, and you have not made a run of one"]
    raise PuzzleError(
        f"its puzzle is {name}, SHA-256 {digest}: {'; '.join(reasons)}; restore the file, or name it in {FILES} if you "
        "trust it",
        Hint("name file", name),
    )


def configured_files() -> list[Path]:
    """The files that `FILES` names."""
    return [Path(text).absolute() for text in os.environ.get(FILES, "").split(os.pathsep) if text]


def files_variable(paths: Iterable[Path]) -> dict[str, str]:
    """The environment of a child process that may load these files and no others."""
    return {FILES: os.pathsep.join(dict.fromkeys(str(path) for path in paths)), ONLY_NAMED: "1"}


def _parts(word: str) -> tuple[Path, str]:
    """The file and the class in ``PATH/FILE.py:NAME``; the class may be missing."""
    match = _NAMED.fullmatch(word)
    if match is None:
        raise PuzzleError(f"{word!r} is not a puzzle file; expected FILE.py:NAME")
    return Path(match["path"]), match["name"] or ""


class _Content(NamedTuple):
    """The bytes of a file, and the modules beside it that it imports."""

    raw: bytes
    modules: "Modules"

    @property
    def digest(self) -> str:
        """The SHA-256 of the file; with modules, of their names and digests and that of the file."""
        alone = hashlib.sha256(self.raw).hexdigest()
        if not self.modules:
            return alone
        parts = sorted((name, hashlib.sha256(raw).hexdigest()) for name, (_, raw) in self.modules.items())
        return hashlib.sha256(repr([alone, *parts]).encode()).hexdigest()


def _read(path: Path, owned: bool = False) -> _Content:
    """Return the content of a file and of the modules beside it."""
    from hakoiri.puzzles.user.modules import modules_beside

    read = read_owned if owned else read_named
    try:
        raw = read(path)
        return _Content(raw, modules_beside(path.absolute(), raw, read))
    except NotOwnedError as error:
        where = "" if error.filename == str(path) else f" ({error.filename})"
        raise PuzzleError(f"{path} is not loaded unless it is named: {error.strerror}{where}") from None
    except FileNotFoundError:
        raise PuzzleError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise PuzzleError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _run(path: Path, content: _Content) -> ModuleType:
    """Execute the bytes that were read: the file may have changed since."""
    from hakoiri.puzzles.conformance.pool import error_line
    from hakoiri.puzzles.user.modules import execute
    from hakoiri.puzzles.user.watch import watch

    require()
    if path in _loading:
        raise _CalledError(f"{path.name} opens a run of itself {_UNDER_MAIN}")
    # The name says where compiled kernels lie (`hakoiri.compiling`); it is the same for the same file on every machine.
    identity = hashlib.sha256(repr((path.name, content.digest)).encode())
    module = ModuleType(f"{_MODULE}{identity.hexdigest()[:16]}")
    module.__file__ = str(path)
    vars(module)["__source__"] = content.raw  # For what it imports (`worker.program`).
    watch(str(path))
    _loading.append(path)
    known = set(sys.modules)
    try:
        # Output of the file must not mix with the results.
        with redirect_stdout(sys.stderr):
            execute(module, content.raw, content.modules)
        # Keep the sources of imported modules that are not installed (`worker.program`): their files may be edited.
        for other in map(sys.modules.get, set(sys.modules) - known):
            file = getattr(other, "__file__", None) or ""
            if file.endswith(".py") and not is_installed(file):
                with suppress(OSError):
                    vars(other)["__source__"] = Path(file).read_bytes()
    except KeyboardInterrupt:
        raise
    except _CalledError as error:
        sys.modules.pop(module.__name__, None)
        raise PuzzleError(str(error)) from None
    except BaseException as error:
        sys.modules.pop(module.__name__, None)
        raise PuzzleError(f"{path}: {error_line(error, str(path))}") from error
    finally:
        _loading.pop()
    return module


def _checked(module: ModuleType, name: str) -> "type[Puzzle]":
    """Return a class of a loaded file, under guard; `PuzzleError` unless it is a puzzle that can be made."""
    from hakoiri.puzzles.contract import Puzzle
    from hakoiri.puzzles.user.guard import guarded

    found, file = vars(module).get(name), _path(module).name
    where = f"{name} of {file}"
    if not isinstance(found, type) or found.__module__ != module.__name__:
        raise PuzzleError(f"{file} has no class {name}; it has {_classes_in(module)}")
    if not issubclass(found, Puzzle):
        raise PuzzleError(f"{where} is not a puzzle; expected 'class {name}(Puzzle)', a subclass of hakoiri.Puzzle")
    called: Any = getattr(found, "name", None)
    if missing := sorted(found.__abstractmethods__) or ["name"] * (called is None):
        raise PuzzleError(f"{where} does not define: {', '.join(missing)} (see help(hakoiri.Puzzle))")
    if not isinstance(called, str) or not _NAME.fullmatch(called):
        raise PuzzleError(f"{where}: name {called!r} is not allowed; use up to 40 lower-case letters, digits and '-'")
    return guarded(found, str(module.__file__))


def _classes_in(module: ModuleType) -> str:
    from hakoiri.puzzles.contract import Puzzle

    own = (value for value in vars(module).values() if isinstance(value, type) and issubclass(value, Puzzle))
    return ", ".join(found.__name__ for found in own if found.__module__ == module.__name__) or "no puzzle"


@cache
def _installed() -> tuple[str, ...]:
    import sysconfig

    return tuple({sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")})


def is_installed(file: str) -> bool:
    """Return whether a file is of the standard library or of an installed package."""
    return file.startswith(_installed())
