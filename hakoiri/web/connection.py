"""HTTP as uvicorn speaks it, but that who begins a request must come to the end of its headers in time."""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_HEADER_SECONDS = 10.0


class Connection(HttpToolsProtocol):
    """A connection, closed where the headers of a request take too long; uvicorn closes it where none comes."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """It is there, and a request is awaited."""
        super().connection_made(transport)
        self._begin()

    def data_received(self, data: bytes) -> None:
        """Some of a request is there."""
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._begin()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Its headers are."""
        self._end()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._end()
        super().connection_lost(exc)

    def _begin(self) -> None:
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self.transport.close)

    def _end(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None
