"""Streams of server-sent events, and a limit on their number."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from http import HTTPStatus
from typing import Any
from weakref import WeakSet

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

#: The most streams of all processes of a server together.
_MOST_STREAMS = 256
#: The interval of polling; after the second interval without an event a comment keeps the connection open.
LOOK_SECONDS, _HEARTBEAT_SECONDS = 0.25, 10.0
#: Returns the events since the last call, and the seconds until the next call; ``None`` ends the stream.
Look = Callable[[], tuple[list[str], float | None]]


class Streams:
    """The open streams of one of `processes` processes."""

    def __init__(self, processes: int) -> None:
        self._most = max(1, _MOST_STREAMS // processes)
        # Weak, so that a stream dropped before it begins is removed.
        self._open: WeakSet[AsyncIterator[str]] = WeakSet()

    def __len__(self) -> int:
        return len(self._open)

    def answer(self, look: Look) -> StreamingResponse:
        """Return a response that sends the events of `look`; raise `HTTPException` if too many streams are open."""
        if len(self._open) >= self._most:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "too many event streams are open; close some")
        texts = _texts(look)
        self._open.add(texts)
        return StreamingResponse(self._told(texts), media_type="text/event-stream")

    async def _told(self, texts: AsyncIterator[str]) -> AsyncIterator[str]:
        try:
            async for text in texts:
                yield text
        finally:
            self._open.discard(texts)


async def _texts(look: Look) -> AsyncIterator[str]:
    """Yield the text of a stream; slow clients get fewer events, and miss nothing but progress."""
    sent = time.monotonic()
    yield "retry: 1000\n\n"
    while True:
        told, pause = await run_in_threadpool(look)
        for text in told:
            sent = time.monotonic()
            yield text
        if pause is None:
            return
        if time.monotonic() - sent > _HEARTBEAT_SECONDS:
            sent = time.monotonic()
            yield ": alive\n\n"
        await asyncio.sleep(pause)


def event(kind: str, row: Mapping[str, Any], number: str = "") -> str:
    """Return the text of an event."""
    return f"event: {kind}\n" + (f"id: {number}\n" if number else "") + f"data: {json.dumps(row)}\n\n"
