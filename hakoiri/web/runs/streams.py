"""The open streams of events of a process, of all kinds, up to its share of those of the server."""

from collections.abc import AsyncIterator
from http import HTTPStatus
from weakref import WeakSet

from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

#: Of all processes of a server together.
_MOST_STREAMS = 256


class Streams:
    """The streams of one of so many processes."""

    def __init__(self, processes: int) -> None:
        self._most = max(1, _MOST_STREAMS // processes)
        # One that is dropped before it begins is forgotten by itself.
        self._open: WeakSet[AsyncIterator[str]] = WeakSet()

    def __len__(self) -> int:
        return len(self._open)

    def answer(self, texts: AsyncIterator[str]) -> StreamingResponse:
        """The response that tells them; `HTTPException` where too many streams are open."""
        if len(self._open) >= self._most:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "too many streams of events are open; close some")
        self._open.add(texts)
        return StreamingResponse(self._told(texts), media_type="text/event-stream")

    async def _told(self, texts: AsyncIterator[str]) -> AsyncIterator[str]:
        try:
            async for text in texts:
                yield text
        finally:
            self._open.discard(texts)
