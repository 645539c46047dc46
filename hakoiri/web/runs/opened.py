"""The runs that this process has open: a data file must not be open twice in one process, so each is opened here.

A run stays open between requests, so that the next one is answered at once; if too many are open, the least recently
used is closed. Cached facts about a run are read again whenever its file has changed.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hakoiri.api import Run
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.catalogue import RunStatus, base_of, find_run, listed_status
from hakoiri.coordinator.runs.opening import open_store
from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import DamagedError, FormatError, HakoiriError, Hint, PuzzleError
from hakoiri.puzzles.user.files import known as known_file
from hakoiri.questions.abilities import abilities
from hakoiri.storage.engine.environment import gone
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import ENDED, Manifest, State
from hakoiri.storage.names import DATA_FILE, run_directories, title_of

_WHOLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")
#: The most runs open at the same time.
_MOST_OPEN = 32


@dataclass
class Opened:
    """One run: `lock` is held while it is queried. `memory` caches parts of its answers until it changes."""

    directory: Path
    lock: threading.RLock = field(default_factory=threading.RLock)
    run: Run | None = None
    seen: tuple[int, int] = (0, 0)
    memory: dict[str, Any] = field(default_factory=dict)

    def close(self) -> None:
        if self.run is not None:
            self.run.close()
        self.run, self.memory = None, {}


class OpenRuns:
    """The runs of a data directory; layers that hosts keep are read from them over `redis`."""

    def __init__(self, data: Path, resources: Resources, redis: str | None = None) -> None:
        self.data, self._resources, self._redis = data, resources, redis
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, Opened] = OrderedDict()
        #: The status of ended runs, and what runs can answer, by the version of their file.
        self._ended: dict[Path, tuple[tuple[int, int], RunStatus]] = {}
        self._able: dict[Path, tuple[tuple[int, int], list[str]]] = {}

    def named(self, name: str) -> Path | None:
        """Return the directory of a run by its whole name, or ``None``."""
        directory = self.data / name
        return directory if _WHOLE_NAME.fullmatch(name) and (directory / DATA_FILE).is_file() else None

    def find(self, name: str) -> Path:
        """Return the directory of a run by its name, a unique prefix, or ``last``; `UnknownRunError`."""
        return self.named(name) or find_run(self.data, name)

    def base(self, name: str) -> Path:
        """Return the same, but the base run for a derived run."""
        directory = self.find(name)
        return directory.with_name(base_of(directory) or directory.name)

    def directories(self) -> list[Path]:
        return run_directories(self.data)

    @contextmanager
    def asked(self, directory: Path) -> Iterator[tuple[Run, dict[str, Any]]]:
        """Yield a run for this thread alone, open and up to date, and the cache of its answers.

        Raises as `hakoiri.api.open_run` does, and `UnanswerableError` if its puzzle is a file that the server was
        not started with: no request may have it executed.
        """
        with self._mine(directory) as mine:
            now = _version(directory)
            if mine.seen[0] != now[0]:
                mine.close()
            if mine.run is None:
                mine.run = Run(self._admitted(directory), self._resources)
            elif mine.seen != now:
                mine.run.store.state = mine.run.store.read_state()
                mine.memory = {}
            mine.seen = now
            yield mine.run, mine.memory

    @contextmanager
    def at_once(self, directory: Path) -> Iterator[tuple[Run, dict[str, Any]] | None]:
        """Yield the result of `asked` if it needs no waiting: the run is idle and its file unchanged; else ``None``."""
        mine = self._known.get(directory)
        if mine is None or not mine.lock.acquire(blocking=False):
            yield None
            return
        try:
            yield (mine.run, mine.memory) if mine.run is not None and mine.seen == _version(directory) else None
        finally:
            mine.lock.release()

    @contextmanager
    def books(self, directory: Path, writable: bool = False) -> Iterator[Ledger]:
        """Yield the ledger of a run, as `Ledger` opens it, whatever this process has open."""
        with self._mine(directory) as mine:
            # IMPORTANT: another run may have the name by now, and the file that is open is one that was deleted.
            if mine.run is not None and not writable and mine.seen[0] == _version(directory)[0]:
                mine.run.store.state = mine.run.store.read_state()
                yield mine.run.store
                return
            mine.close()
            with Ledger(directory, writable) as ledger:
                yield ledger

    def status(self, directory: Path) -> RunStatus:
        """Return the status of a run; `GoneError` if it is deleted."""
        version = _version(directory)
        if (kept := self._ended.get(directory)) is not None and kept[0] == version:
            # A title is no part of the run's data.
            return replace(kept[1], title=title_of(directory))
        found = listed_status(directory, opening=self.books)
        if found is None:
            raise gone(directory)
        if found.state.status in ENDED and found.holder is None and not found.fault:
            self._ended[directory] = version, found
        return found

    def abilities(self, directory: Path, known: bool = False) -> list[str] | None:
        """Return what a run can answer (`hakoiri.questions.abilities`), nothing if it cannot be opened.

        With `known`, what this process knows without opening it, else ``None``.
        """
        version = _version(directory)
        able, found = self._able.get(directory, (None, None))
        if able != version and not known:
            found, manifest = [], self.status(directory).manifest
            # IMPORTANT: a derived run stays closed, because its base run may have it open.
            if manifest and "base" not in manifest.plan:
                try:
                    with self.asked(directory) as (run, _):
                        found = abilities(run)
                except (PuzzleError, UnanswerableError, DamagedError, FormatError):
                    pass
                except HakoiriError:
                    # A later look may succeed.
                    return found
            self._able[directory] = version, found
        return found

    def release(self, directory: Path) -> None:
        """Close a run, which is to be changed or deleted, and its base run, which may have it open."""
        for found in {directory, directory.with_name(base_of(directory) or directory.name)}:
            with self._mine(found) as mine:
                mine.close()

    def close(self) -> None:
        for mine in list(self._known.values()):
            with mine.lock:
                mine.close()

    @contextmanager
    def _mine(self, directory: Path) -> Iterator[Opened]:
        with self._lock:
            mine = self._known.setdefault(directory, Opened(directory))
            self._known.move_to_end(directory)
            idle = [other for other in list(self._known.values())[:-_MOST_OPEN] if other.run is not None]
        for other in idle:
            # A run being queried stays open for now.
            if other.lock.acquire(blocking=False):
                try:
                    other.close()
                finally:
                    other.lock.release()
        with mine.lock:
            yield mine

    def require_admitted(self, directory: Path) -> tuple[str, State]:
        """Return a run's identity and state; `UnanswerableError` if its puzzle file was not named to the server.

        IMPORTANT: call it before any child is started for the run, and before it is queued.
        """
        with self.books(directory) as books:
            _require_admitted(books.manifest)
            return books.manifest.identity, books.state

    def _admitted(self, directory: Path) -> RunStore:
        store = open_store(directory, self._redis)
        try:
            _require_admitted(store.manifest)
        except UnanswerableError:
            store.close()
            raise
        return store


def _require_admitted(manifest: Manifest) -> None:
    name, digest = manifest.puzzle["name"], manifest.puzzle.get("digest", "")
    try:
        if digest:
            known_file(name, digest)
    except PuzzleError as error:
        text = f"run {manifest.run} is of a puzzle that this server was not started with: {error}"
        raise UnanswerableError(text, Hint("serve with", name)) from error


def _version(directory: Path) -> tuple[int, int]:
    """Return inode and modification time of the data file; `GoneError` if the file is missing."""
    try:
        found = (directory / DATA_FILE).stat()
    except FileNotFoundError:
        raise gone(directory) from None
    return found.st_ino, found.st_mtime_ns
