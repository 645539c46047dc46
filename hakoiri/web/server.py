"""A server with its processes, and HTTP of uvicorn with limits.

A connection is a stranger's until a request on it has passed the guard (`KNOWN`). Strangers have a share of the
connections: if it is full, the oldest stranger makes room for the next. So no number of strangers keeps out a client
with the token.
"""

import asyncio
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from http import HTTPStatus
from threading import Thread
from typing import Any, ClassVar

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.supervisors.multiprocess import SIGNALS, Multiprocess

from hakoiri.web.settings import SERVER, Settings
from hakoiri.worker.machine import REDIS, end, start_child

#: The key in the scope of a request for the function to call when it has passed the guard, and for the function that
#: returns whether the server is ending.
KNOWN, ENDING = "hakoiri.known", "hakoiri.ending"
_HEADER_SECONDS = 10.0
#: The most bytes of the request line and all headers of a request together, its trailers included.
_MOST_HEAD = 65_536
#: The bytes fed to the parser at a time, between two checks of the limits.
_PIECE = 8_192
#: The most requests of one connection that wait until the one before is answered.
_MOST_WAITING = 32
#: The most connections of strangers per process.
_MOST_STRANGERS = 250
_TOO_LARGE = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
_BOUNDS = f"a request has {_MOST_HEAD:,} bytes of headers at most, and {_MOST_WAITING} wait on a connection"
#: The bytes around the name and the value of a header: colon, space, line end.
_AROUND = 4


class Connection(HttpToolsProtocol):
    """A connection of one client; uvicorn closes it when no further request comes."""

    _strangers: ClassVar[dict["Connection", None]] = {}

    _deadline: asyncio.TimerHandle | None = None
    #: The request being answered, or the last one answered.
    _answered: RequestResponseCycle | None = None
    _is_ending = False
    #: The parsed bytes of the head of this request, and the most bytes that the parser still keeps.
    _head, _unparsed = 0, 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._begin()
        if len(self._strangers) >= _MOST_STRANGERS:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.transport.abort()
        self._strangers[self] = None

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request, or of several."""
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._begin()
        for begin in range(0, len(data), _PIECE):
            if self.transport.is_closing():
                return
            piece = data[begin : begin + _PIECE]
            self._unparsed += len(piece)
            super().data_received(piece)
            if self._head + self._unparsed > _MOST_HEAD + _PIECE:
                self._say(_TOO_LARGE, _BOUNDS)

    def send_400_response(self, msg: str) -> None:
        self._say(HTTPStatus.BAD_REQUEST, msg)

    def on_message_begin(self) -> None:
        """Begin to count; the guard reports its consent through the scope."""
        self._head = 0
        super().on_message_begin()
        self.scope[KNOWN] = lambda: self._strangers.pop(self, None)  # type: ignore[literal-required]
        self.scope[ENDING] = lambda: self._is_ending  # type: ignore[literal-required]

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header; a trailer, which comes after the body, is left out."""
        self._count(len(name) + len(value or b"") + _AROUND)
        if self.cycle is None or self.cycle.scope is not self.scope:
            super().on_header(name, value or b"")

    def on_headers_complete(self) -> None:
        self._end()
        self._require(len(self.pipeline) < _MOST_WAITING)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed = 0
        super().on_message_complete()

    def shutdown(self) -> None:
        """Close the connection after the answer in progress; a stream of events ends it when it looks here."""
        self._is_ending = True
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        self._strangers.pop(self, None)
        self._drop()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def _drop(self) -> None:
        """Stop all further writing: uvicorn itself stops only the last request, whichever is being answered."""
        waiting = [cycle for cycle, _ in self.pipeline]
        for cycle in [*waiting, *([] if self._answered is None else [self._answered])]:
            cycle.disconnected = True
            cycle.message_event.set()
        self.pipeline.clear()

    def _count(self, more: int) -> None:
        self._head, self._unparsed = self._head + more, 0
        self._require(self._head <= _MOST_HEAD)

    def _require(self, within: bool) -> None:
        """Refuse a request beyond the limits, and end the parser's work."""
        if not within:
            self._say(_TOO_LARGE, _BOUNDS)
            raise httptools.HttpParserError(_BOUNDS)

    def _say(self, status: HTTPStatus, text: str) -> None:
        """Respond in place of the application, unless it is responding, and close."""
        if self.transport.is_closing():
            return
        if self._answered is None or self._answered.response_complete:
            headers = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\nconnection: close"
            self.transport.write(STATUS_LINE[status] + f"{headers}\r\n\r\n{text}".encode())
        self._drop()
        self.transport.close()

    def _begin(self) -> None:
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self.transport.close)

    def _end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None


_APPLICATION = "hakoiri.web.app:create"
#: The pause before a coordinator that died is started again, at first and at most.
_RESTART_SECONDS, _MOST_RESTART_SECONDS = 0.5, 30.0
_LOOK_SECONDS = 0.1
#: The seconds that a stopped coordinator may take to commit.
_GRACE_SECONDS = 60.0
_MOST_AT_ONCE = 1_000
#: The limit of open files: connections, and files of runs.
_OPEN_FILES = 4_096
#: The seconds that answers in progress may take at the end.
_LAST_SECONDS = 0.5
#: The options of uvicorn.
OPTIONS: dict[str, Any] = {
    "http": Connection, "ws": "none", "log_config": None, "access_log": False, "server_header": False,
    "proxy_headers": False, "limit_concurrency": _MOST_AT_ONCE, "timeout_keep_alive": 15,
    "timeout_graceful_shutdown": _LAST_SECONDS,
}  # fmt: skip


def serve(settings: Settings, host: socket.socket, driver: list[str], note: Callable[[str], None]) -> None:
    """Answer on a bound socket until a signal arrives; ``KeyboardInterrupt`` of one that does so earlier stops it, too.

    `driver` is the command that drives queued runs meanwhile, or empty.
    """
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(allowed, min(_OPEN_FILES, most)), most))
    os.environ.update(settings.to_environment() | {SERVER: str(os.getpid())})
    config = uvicorn.Config(_APPLICATION, factory=True, workers=settings.processes, **OPTIONS)
    stopping = _Stopping()
    with _driving(settings, driver, note, stopping) if driver else nullcontext():
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        try:
            if settings.processes == 1:
                server = _Server(config, stopping)
                signal.signal(signal.SIGHUP, server.handle_exit)
                answer: Callable[[], object] = partial(server.run, [host])
            else:
                answer = _Processes(config, [host]).run
            if handlers[signal.SIGHUP] == signal.SIG_IGN:
                # A command started by nohup outlives its terminal.
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
            answer()
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)


class _Stopping:
    """True once the server is to stop. A signal handler sets it: it has no lock, unlike a `threading.Event`."""

    is_set = False

    def wait(self, seconds: float) -> None:
        """Return after so many seconds, or soon after it is set."""
        until = time.monotonic() + seconds
        while not self.is_set and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)


class _Server(uvicorn.Server):
    """A server whose coordinator stops at the same time as it does."""

    def __init__(self, config: uvicorn.Config, stopping: _Stopping) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: Any) -> None:
        self._stopping.is_set = True
        super().handle_exit(sig, frame)


class _Processes(Multiprocess):
    """Several processes that answer. SIGHUP ends them, as it ends a single one."""

    handle_hup = Multiprocess.handle_term


@contextmanager
def _driving(
    settings: Settings, driver: list[str], note: Callable[[str], None], stopping: _Stopping
) -> Iterator[None]:  # fmt: skip
    """Run a coordinator for the data directory during the block until `stopping` is set; restart it if it dies."""
    environment = settings.for_children() | ({REDIS: settings.redis} if settings.redis else {})

    def drive() -> str:
        """Run a coordinator until it ends; return how it ended."""
        try:
            # A group of its own: Ctrl-C on the terminal reaches only the server, which ends the coordinator.
            process = start_child(
                "hakoiri", *driver, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr, process_group=0
            )
        except OSError as error:
            return f"cannot be started ({error})"
        while process.poll() is None and not stopping.is_set:
            time.sleep(_LOOK_SECONDS)
        end(process, _GRACE_SECONDS)
        return f"ended with code {process.returncode}"

    def keep_alive() -> None:
        pause = _RESTART_SECONDS
        while not stopping.is_set:
            begun = time.monotonic()
            how = drive()
            if not stopping.is_set:
                long = time.monotonic() - begun > _MOST_RESTART_SECONDS
                pause = _RESTART_SECONDS if long else min(2 * pause, _MOST_RESTART_SECONDS)
                note(f"the coordinator {how}; another one starts in {pause:.0f} s")
                stopping.wait(pause)

    thread = Thread(target=keep_alive, name="coordinator")
    try:
        # IMPORTANT: here, as a signal may raise before this returns; the process would wait for the thread for ever.
        thread.start()
        yield
    finally:
        stopping.is_set = True
        if thread.is_alive():
            thread.join()
