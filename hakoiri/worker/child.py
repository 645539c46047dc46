"""A child process that does tasks for the process that started it, which has rules in plain Python.

A child is a new interpreter, because a fork is not safe beside threads. It executes no ``__main__``: it builds the
puzzle from its spec and the file that the run was begun with, as an RQ worker does, so a script needs no guard.

Messages are bytes after their length, over a socket; arrays are packed as for RQ workers (`worker.transport.payload`):

    <- `ChildStart`                                   -> nothing, or why this child cannot work
    <- `ChildRequest`, the chunk; what it shares      -> an `Event`, and the result if it has one

It works with the code that the parent has: it refuses once a file of its modules has changed since the run was begun.
It is in a process group of its own: Ctrl-C is for the parent. It ends with the parent, or when the socket is closed.
"""

import os
import socket
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hakoiri.errors import WorkerError
from hakoiri.worker.machine import SUPERVISOR, end_with

_LENGTH_BYTES = 8


@dataclass(frozen=True)
class ChildStart:
    """The puzzle that a child builds by its `spec`, from its `file` if it has one; `path` is where modules are.

    No module may have changed `since` the run was begun, and none of Hakoiri since its parent was `started`. Digests of
    the code would take both processes a tenth of a second.
    """

    path: list[str]
    file: str
    spec: dict[str, Any]
    since: float
    started: float


@dataclass(frozen=True)
class ChildRequest:
    """One attempt at a chunk; if it `has_shared` arrays, new ones follow."""

    task: str
    token: str
    attempt: int
    has_shared: bool


def send(connection: socket.socket, message: bytes, check: Callable[[], None]) -> None:
    """Send a message. `check` is called at each timeout of the connection, and may raise."""
    left = memoryview(len(message).to_bytes(_LENGTH_BYTES, "big") + message)
    while left:
        try:
            left = left[connection.send(left) :]
        except TimeoutError:
            check()


def receive(connection: socket.socket, check: Callable[[], None]) -> bytes:
    """Return the next message, as `send` sends it; ``EOFError`` at the end."""
    return _received(connection, int.from_bytes(_received(connection, _LENGTH_BYTES, check), "big"), check)


def _received(connection: socket.socket, size: int, check: Callable[[], None]) -> bytes:
    found = bytearray(size)
    left = memoryview(found)
    while left:
        try:
            count = connection.recv_into(left)
        except TimeoutError:
            check()
            continue
        if not count:
            raise EOFError
        left = left[count:]
    return bytes(found)


@cache
def _require_unchanged(since: float, started: float, modules: int) -> None:
    """Raise `WorkerError` if a file of the modules, of which there are so many now, has changed since these times.

    IMPORTANT: by the time at which the entry of the file was changed, which no program sets back.
    """
    for name, module in [*sys.modules.items()]:
        # The parent may have imported its own modules long before the run.
        most = started if name.partition(".")[0] in ("hakoiri", "__main__") else since
        with suppress(OSError):
            if (file := getattr(module, "__file__", None)) and Path(file).stat().st_ctime > most:
                raise WorkerError(f"{file} has changed since the run was begun")


def main(descriptor: str) -> None:
    """Serve the parent until it closes the socket."""
    end_with(int(os.environ[SUPERVISOR]))
    with socket.socket(fileno=int(descriptor)) as parent:
        try:
            _serve(parent)
        except (EOFError, OSError):
            return


def _serve(parent: socket.socket) -> None:
    from hakoiri.storage.ledger.manifest import read_msgpack
    from hakoiri.worker.doing import Doer, TaskOutcome
    from hakoiri.worker.transport.payload import Arrays, Event, unpack_arrays

    def never() -> None:
        """Do nothing: this socket has no timeout."""

    begun = read_msgpack(receive(parent, never), ChildStart)
    sys.path[:] = begun.path
    try:
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            doer = Doer.built(begun.spec, begun.file)
        _require_unchanged(begun.since, begun.started, len(sys.modules))
    except BaseException as error:
        send(parent, f"{type(error).__name__}: {error}".encode(), never)
        return
    send(parent, b"", never)
    shared: Arrays = ()
    while True:
        request, raw = read_msgpack(receive(parent, never), ChildRequest), receive(parent, never)
        if request.has_shared:
            shared = unpack_arrays(receive(parent, never))

        def answer(request: ChildRequest = request, raw: bytes = raw, shared: Arrays = shared) -> Arrays:
            found = doer.answer(request.task, raw, shared)
            # The task may have been imported now.
            _require_unchanged(begun.since, begun.started, len(sys.modules))
            return found

        outcome = TaskOutcome.of(answer)
        event = Event(outcome.kind, request.token, request.attempt, str(os.getpid()), str(outcome.detail))
        send(parent, event.pack(), never)
        send(parent, outcome.result or b"", never)


if __name__ == "__main__":
    main(sys.argv[1])
