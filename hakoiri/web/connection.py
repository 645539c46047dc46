"""HTTP as uvicorn speaks it, within bounds: of each request's head, of requests that wait, of time, of connections.

A connection is a stranger's until a request on it has passed the guard (`KNOWN`). Strangers have a share of the
connections: where it is full, the oldest of them makes room for the next, so that any number of them keeps nobody out
who shows a token.
"""

import asyncio
from http import HTTPStatus
from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

#: In the scope of a request: to be called when it has passed the guard.
KNOWN = "hakoiri.known"
_HEADER_SECONDS = 10.0
#: Of the request line and all headers of a request together, its trailers too.
_MOST_HEAD = 65_536
#: Fed to the parser at a time: what is between two looks at the bounds.
_PIECE = 8_192
#: Requests of one connection that wait until the one before is answered.
_MOST_WAITING = 32
#: Connections of one process that have shown nothing yet.
_MOST_STRANGERS = 250
_TOO_LARGE = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
_BOUNDS = f"a request has {_MOST_HEAD:,} bytes of headers at most, and {_MOST_WAITING} wait on a connection"
#: What the parser adds to the name and the value of a header: colon, space, line end.
_AROUND = 4


class Connection(HttpToolsProtocol):
    """A connection of one client; uvicorn closes it where no further request comes."""

    _strangers: ClassVar[dict["Connection", None]] = {}

    _deadline: asyncio.TimerHandle | None = None
    #: The request that is being answered, or was last.
    _answered: RequestResponseCycle | None = None
    #: Bytes of the head of this request that are parsed; bytes that the parser still keeps, at most.
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
        """Take in a part of a request, or of several."""
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
        """Begin to count; the guard tells of its consent by the scope."""
        self._head = 0
        super().on_message_begin()
        self.scope[KNOWN] = self._become_known  # type: ignore[literal-required]

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count; a trailer, which comes after the body, is left out."""
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

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()
        self._strangers.pop(self, None)
        self._drop()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def _drop(self) -> None:
        """Have nothing more written: uvicorn sees to the last request alone, whichever is being answered."""
        waiting = [cycle for cycle, _ in self.pipeline]
        for cycle in [*waiting, *([] if self._answered is None else [self._answered])]:
            cycle.disconnected = True
            cycle.message_event.set()
        self.pipeline.clear()

    def _count(self, more: int) -> None:
        self._head, self._unparsed = self._head + more, 0
        self._require(self._head <= _MOST_HEAD)

    def _require(self, within: bool) -> None:
        """Refuse what is beyond the bounds, and end the parser's work."""
        if not within:
            self._say(_TOO_LARGE, _BOUNDS)
            raise httptools.HttpParserError(_BOUNDS)

    def _say(self, status: HTTPStatus, text: str) -> None:
        """Answer in place of the application, unless it is answering, and close."""
        if self.transport.is_closing():
            return
        if self._answered is None or self._answered.response_complete:
            headers = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\nconnection: close"
            self.transport.write(STATUS_LINE[status] + f"{headers}\r\n\r\n{text}".encode())
        self._drop()
        self.transport.close()

    def _become_known(self) -> None:
        self._strangers.pop(self, None)

    def _begin(self) -> None:
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self.transport.close)

    def _end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None
