"""A host: a directory with its parts of runs, threads, and the answer to each request of a coordinator."""

import hashlib
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from hakoiri.errors import Hint, PayloadError, RunHeldError, StorageError, TaskError
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.engine.environment import refuse_network_file_system, require_writable
from hakoiri.storage.engine.files import naming, write_file
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import Manifest, pack_record
from hakoiri.worker.hosts import layers
from hakoiri.worker.hosts.copies import begin_part
from hakoiri.worker.hosts.part import RunPart
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.hosts.wire import DEFAULT, HostTuning
from hakoiri.worker.pool import ThreadPool
from hakoiri.worker.tasks import fits
from hakoiri.worker.transport.connection import HostBeat, is_host_name
from hakoiri.worker.transport.data_redis import DataRedisPool
from hakoiri.worker.transport.payload import Array, Arrays, packed

#: The variables of a host's environment: its directory, and how many threads it has.
STORE, THREADS = "HAKOIRI_STORE", "HAKOIRI_THREADS"
_Made = TypeVar("_Made")
_NAME_FILE = "host"
_MOST_NAME = 40
#: A part deleted by a coordinator gets this prefix before its name, and stays on disk for so many seconds.
_DELETED, _STAYS_SECONDS = "deleted-", 86_400.0


class HostTask(NamedTuple):
    """One task of hosts: its handler, which takes the part of the run, a request, and arrays of some form beside it.

    For `arguments`, the form of these arrays, see `worker.tasks`.
    If it is `durable`, what an answer says is on disk. If it `may_repeat`, an equal request of the same attempt is
    answered equally. A task that `begins` joint work may take another amount of memory than the work before; one that
    `moves` changes the layers of a finished run.
    """

    handler: Callable[..., list[Array]]
    arguments: str = ""
    durable: bool = False
    may_repeat: bool = False
    begins: bool = False
    moves: bool = False


#: All tasks of hosts; `Host.perform` itself drops the part of a run.
HOST_TASKS = {
    # Layers: take the first ones, expand for a round, keep the round, go back to a round, merge.
    "host-take": HostTask(RunPart.take, "layer[K]", durable=True, may_repeat=True, begins=True, moves=True),
    "host-expand": HostTask(RunPart.expand, begins=True),
    "host-keep": HostTask(RunPart.keep, durable=True),
    "host-back": HostTask(RunPart.back, may_repeat=True, begins=True),
    "host-merge": HostTask(RunPart.merge, durable=True),
    # Ranges: propose cuts, send blocks to other hosts, receive blocks, put them where they belong.
    "host-cut": HostTask(RunPart.cut, may_repeat=True),
    "host-send": HostTask(RunPart.send),
    "host-receive": HostTask(RunPart.receive, durable=True),
    "host-settle": HostTask(RunPart.settle, durable=True, may_repeat=True, moves=True),
    # Reads: list blocks, return blocks, find keys, check layers. And: drop the part of a run.
    "host-index": HostTask(lambda part, *given: layers.index(part.stores, *given), may_repeat=True),
    "host-give": HostTask(lambda part, *given: layers.give(part.stores, *given), "batch[F]", may_repeat=True),
    "host-find": HostTask(lambda part, *given: layers.find(part.stores, *given), "sorted[K]", may_repeat=True),
    "host-check": HostTask(RunPart.check, "sorted[K]"),
    "host-leave": HostTask(lambda *_: [], durable=True, may_repeat=True),
    # A whole space: list it, join it, send moves to other hosts, return edges to their trees, number it, return labels.
    "host-list": HostTask(lambda part, request: part.census(request).list_own(request), durable=True, begins=True),
    "host-join": HostTask(lambda part, request: part.census(request).join_own(request), durable=True),
    "host-hand": HostTask(lambda part, request: part.census(request).hand_over(request)),
    "host-edges": HostTask(lambda part, request: part.census(request).edges(request)),
    "host-number": HostTask(
        lambda part, request, given: part.census(request).number(request, given), "u4[R]", durable=True
    ),
    "host-labels": HostTask(
        lambda part, *given: layers.labels(part.store, *given), "i8[S]<4294967296", may_repeat=True
    ),
}  # fmt: skip


class _NoGuard:
    """A guard that never stops work: a host finishes each request, and drops the result if it is out of date."""

    def check(self) -> None:
        """Do nothing."""

    def compute(self, puzzle: Puzzle, work: Callable[[], _Made]) -> _Made:
        """Return the result of `work`."""
        return work()

    def break_off(self) -> None:
        """Do nothing."""


class Host:
    """The host whose directory is `directory`: one process at a time, with this number of `threads`.

    Attributes: `name`, which stays with the directory; `place`, which differs for each copy of the directory; `tasks`,
    the requests that it answers. Raises `TaskError` if another process has the directory, and storage errors.
    """

    tasks = HOST_TASKS.keys()

    def __init__(self, directory: Path, threads: int, tuning: HostTuning = DEFAULT) -> None:
        require_store(directory)
        self._directory, self._threads, self._tuning = directory, threads, tuning
        boot, there = Path("/proc/sys/kernel/random/boot_id"), directory.stat()
        machine = boot.read_text(encoding="ascii") if boot.exists() else socket.gethostname()
        #: A text for this directory on this machine, until it starts anew.
        self.place = hashlib.sha256(f"{machine} {there.st_dev} {there.st_ino}".encode()).hexdigest()[:12]
        self._parts = dict[Path, RunPart]()
        self._process = f"{os.getpid()}-{secrets.token_hex(4)}-{self.place}"
        with ExitStack() as stack:
            try:
                stack.enter_context(RunLock(directory))
            except RunHeldError as error:
                raise TaskError(
                    f"directory {directory} is in use by another host process", Hint("change", "store")
                ) from error
            self.name = name_in(directory)
            self._resources = stack.pop_all()

    def beat(self, url: str, idle: bool) -> str:
        """Return the text of its heartbeat; `url` is that of its data Redis."""
        return str(HostBeat(self._process, self._threads, url, idle))

    def perform(
        self, name: str, puzzle: Puzzle, session: str, shared: Arrays, chunk: Arrays, data_pool: DataRedisPool
    ) -> list[Array]:
        """Return the answer to a request of the task `name`.

        Raises `PayloadError` if the layer has to be made anew, and storage errors.
        """
        request, task = HostRequest.read(shared, chunk, session), HOST_TASKS[name]
        directory = self._directory_of(request.manifest)
        with _named(directory.name, str(request.manifest.get("run"))):
            if name == "host-leave":
                self._close(directory)
                if directory.exists():
                    os.utime(directory)
                    directory.rename(self._directory / f"{_DELETED}{secrets.token_hex(3)}-{directory.name}")
                return packed({})
            if not directory.exists():
                if name != "host-take":
                    raise request.missing(f"it keeps nothing of run {request.manifest.get('run')}")
                begin_part(directory, Manifest.from_dict(request.manifest))
            part = self._part(directory, request, puzzle, data_pool, task)
            if not all(task.arguments and fits(task.arguments, puzzle, array, {}) for array in chunk[1:]):
                raise PayloadError(f"a request is not readable: {name} takes {task.arguments or 'no arrays'}")
            if request.base and (name == "host-back" or (name == "host-expand" and not request.round)):
                part.look_within(self._base(request, puzzle, data_pool), request)
            if task.moves:
                self._forget(part)
            try:
                return task.handler(part, request, *chunk[1:])
            except Exception:
                # IMPORTANT: a failed write poisons an open store for good; the next request reads the last commit.
                self._close(directory)
                raise

    def remove_deleted(self) -> None:
        """Remove the parts that were deleted a day ago; any thread may call this."""
        for part in self._directory.glob(f"{_DELETED}*"):
            with suppress(FileNotFoundError):  # The user has removed it.
                if part.stat().st_mtime < time.time() - _STAYS_SECONDS:
                    shutil.rmtree(part, ignore_errors=True)

    def close(self) -> None:
        """Close all parts; committed data stays."""
        for part in self._parts.values():
            part.close()
        self._resources.close()

    def _directory_of(self, manifest: dict[str, Any]) -> Path:
        """Return the directory of the part of a run; equal names of two coordinators give two directories.

        IMPORTANT: the name comes from Redis, and must not lead out of the directory.
        """
        digest = hashlib.sha256(pack_record(manifest, b"")).hexdigest()[:12]
        readable = re.sub(r"[^\w-]", "-", str(manifest.get("run", "")), flags=re.ASCII)[:_MOST_NAME]
        return self._directory / f"run-{readable}-{digest}"

    def _part(
        self, directory: Path, request: HostRequest, puzzle: Puzzle, data_pool: DataRedisPool,
        task: HostTask | None = None,
    ) -> RunPart:  # fmt: skip
        """Return the open part of a run.

        Open it again if a step may take another amount of memory, or a check has another metric of the puzzle.
        """
        part = self._parts.get(directory)
        if part is not None:
            larger = task is not None and task.begins and part.memory != request.memory
            if larger or (task is HOST_TASKS["host-check"] and part.puzzle.parameters != puzzle.parameters):
                self._close(directory)
                part = None
        if part is None:
            threads = ThreadPool(puzzle, self._threads, _NoGuard())
            part = self._parts[directory] = RunPart(directory, puzzle, threads, request.memory, data_pool, self._tuning)
        return part

    def _base(self, request: HostRequest, puzzle: Puzzle, data_pool: DataRedisPool) -> RunPart | None:
        """Return the open part of the run that goal distances belong to, if this host has one."""
        directory = self._directory_of(request.base)
        return self._part(directory, request, puzzle, data_pool) if directory.exists() else None

    def _close(self, directory: Path) -> None:
        """Close a part if it is open."""
        if part := self._parts.pop(directory, None):
            self._forget(part)
            part.close()

    def _forget(self, base: RunPart) -> None:
        """Make parts that are filtered by `base` read it again."""
        for each in self._parts.values():
            each.forget_within(base)


@contextmanager
def _named(own: str, run: str) -> Iterator[None]:
    """Name a run in storage errors and their hints by its name at the coordinator, which its user knows."""
    try:
        yield
    except StorageError as error:
        error.args = (str(error).replace(f"run {own}", f"run {run}"),)
        error.hints = tuple(hint._replace(what=run) if hint.what == own else hint for hint in error.hints)
        raise


def require_store(directory: Path) -> None:
    """Make the directory of a host; `NotWritableError` if it cannot be one."""
    refuse_network_file_system(directory)
    with naming(directory):
        directory.mkdir(parents=True, exist_ok=True)
    require_writable(directory)


def is_host(directory: Path) -> bool:
    """Return whether a host has been in a directory before."""
    return (directory / _NAME_FILE).exists()


def name_in(directory: Path) -> str:
    """Return the name of the host with this directory; make it for a new one."""
    file = directory / _NAME_FILE
    if not is_host(directory):
        write_file(file, f"{socket.gethostname()}-{secrets.token_hex(3)}\n")
    name = file.read_text(encoding="utf-8", errors="replace").strip()
    if not is_host_name(name):
        raise TaskError(f"file {file} does not hold a host name; remove it to get a new name")
    return name
