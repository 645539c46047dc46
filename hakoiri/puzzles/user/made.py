"""The puzzle files that this user has made runs of: only these are executed without being named again.

``<user state folder>/puzzles.json`` holds a list of ``[SHA-256, path]``, the oldest first. The folder has mode 0700,
the file 0600. It is replaced as a whole, by one process at a time; a list that others can write is not used. A run
holds only the digest of its file; this list holds the path.
"""

import fcntl
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import platformdirs

from hakoiri.puzzles.owned.reading import read_owned, require_owned_directory

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
    return [Path(path) for known, path in reversed(_read(state_folder())) if known == digest]


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
        entries = _read(folder)
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


def _read(folder: Path) -> list[tuple[str, str]]:
    try:
        found = json.loads(read_owned(folder / _FILE))
        return [(str(digest), str(path)) for digest, path in found]
    except (OSError, ValueError, TypeError, RecursionError):
        return []


def owned_state_folder() -> Path:
    """Return `state_folder`, made if it is missing; `NotOwnedError` if others can write to it."""
    folder = state_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    require_owned_directory(folder)
    return folder


def state_folder() -> Path:
    """Return the folder for what Hakoiri keeps of this user's puzzles."""
    return Path(platformdirs.user_state_dir("hakoiri"))
