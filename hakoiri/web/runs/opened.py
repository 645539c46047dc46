"""The runs that this process has open: a data file must not be open twice in one process, so each is opened here.

A run stays open between questions, so that the next one is answered at once; of too many the one that was longest not
asked is closed. What is known of a run is looked at again whenever its file has changed.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hakoiri.api import Run
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.executors.opening import open_store
from hakoiri.coordinator.runs.catalogue import RunStatus, base_of, find_run, listed_status
from hakoiri.coordinator.session.resources import Resources
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.user.files import known
from hakoiri.storage.engine.translation import gone
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import ENDED, Manifest, State
from hakoiri.storage.names import DATA_FILE, run_directories

_WHOLE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")
#: Open at the same time, at most.
_MOST_OPEN = 32


@dataclass
class Opened:
    """One run: `lock` is held while it is asked. `memory` holds what answers of this run keep, until it changes."""

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
    """The runs of a data directory; layers that hosts keep are asked of them over `redis`."""

    def __init__(self, data: Path, resources: Resources, redis: str | None = None) -> None:
        self.data, self._resources, self._redis = data, resources, redis
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, Opened] = OrderedDict()
        #: How runs stand that have ended, by the version of their file.
        self._ended: dict[Path, tuple[tuple[int, int], RunStatus]] = {}

    def named(self, name: str) -> Path | None:
        """The directory of a run by its whole name."""
        directory = self.data / name
        return directory if _WHOLE_NAME.fullmatch(name) and (directory / DATA_FILE).is_file() else None

    def find(self, name: str) -> Path:
        """The directory of a run by its name, a unique prefix, or ``last``; `UnknownRunError`."""
        return self.named(name) or find_run(self.data, name)

    def base(self, name: str) -> Path:
        """The same; of a run of goal distances the run that they are of."""
        directory = self.find(name)
        return directory.with_name(base_of(directory) or directory.name)

    def directories(self) -> list[Path]:
        return run_directories(self.data)

    @contextmanager
    def asked(self, directory: Path) -> Iterator[tuple[Run, dict[str, Any]]]:
        """A run to be asked by this thread alone, open and up to date, and what answers keep of it in memory.

        Raises as `hakoiri.api.open_run` does, and `UnanswerableError` where its puzzle is a file that the server was
        not started with: no request may have it executed.
        """
        with self._mine(directory) as mine:
            now = _version(directory)
            if mine.run is None:
                mine.run = Run(self._admitted(directory), self._resources)
            elif mine.seen != now:
                if mine.seen[0] == now[0]:
                    mine.run.store.state = mine.run.store.read_state()
                    mine.memory = {}
                else:
                    mine.close()
                    mine.run = Run(self._admitted(directory), self._resources)
            mine.seen = now
            yield mine.run, mine.memory

    @contextmanager
    def at_once(self, directory: Path) -> Iterator[tuple[Run, dict[str, Any]] | None]:
        """What `asked` gives, where that takes no time: nobody else asks, and the file is as it was; else ``None``."""
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
        """The books of a run, as `Ledger` opens them, whatever this process has open."""
        with self._mine(directory) as mine:
            if mine.run is not None and not writable:
                mine.run.store.state = mine.run.store.read_state()
                yield mine.run.store
                return
            mine.close()
            with Ledger(directory, writable) as ledger:
                yield ledger

    def status(self, directory: Path) -> RunStatus:
        """How a run stands; `GoneError` where it is not there any more."""
        version = _version(directory)
        if (kept := self._ended.get(directory)) is not None and kept[0] == version:
            return kept[1]
        found = listed_status(directory, opening=self.books)
        if found is None:
            raise gone(directory)
        if found.state.status in ENDED and found.holder is None and not found.fault:
            self._ended[directory] = version, found
        return found

    def release(self, directory: Path) -> None:
        """Close a run, which is to be changed or deleted, and the one that it belongs to, which may have it open."""
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
            # One that is being asked stays for now.
            if other.lock.acquire(blocking=False):
                try:
                    other.close()
                finally:
                    other.lock.release()
        with mine.lock:
            yield mine

    def require_admitted(self, directory: Path) -> State:
        """The state of a run; `UnanswerableError` where its puzzle is a file that the server was not started with.

        IMPORTANT: before any child is started for it, and before it is queued.
        """
        with self.books(directory) as books:
            _require_admitted(books.manifest)
            return books.state

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
            known(name, digest)
    except PuzzleError as error:
        text = f"run {manifest.run} is of a puzzle that this server was not started with: {error}"
        raise UnanswerableError(text) from error


def _version(directory: Path) -> tuple[int, int]:
    """Which data file this is, and when it was written last; `GoneError` if there is none."""
    try:
        found = (directory / DATA_FILE).stat()
    except FileNotFoundError:
        raise gone(directory) from None
    return found.st_ino, found.st_mtime_ns
