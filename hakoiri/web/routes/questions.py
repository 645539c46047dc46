"""Long questions: how they stand, and stopping them; the proof of a run."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from hakoiri.web.asking import AskedRun, pending
from hakoiri.web.runs import commands
from hakoiri.web.runs.questions import Question
from hakoiri.web.runs.streams import Streams

router = APIRouter(prefix="/api/runs/{run}", tags=["long questions"])

_Number = Annotated[str, Path(max_length=32)]
_LOOK_SECONDS, _HEARTBEAT_SECONDS = 0.25, 10.0


@router.post("/verify", status_code=HTTPStatus.ACCEPTED, summary="Derive again what is stored.")
def verify(asked: AskedRun, full: bool = False) -> Response:
    """A long question; `full` looks at every configuration instead of a sample."""
    return pending(asked.long(commands.verify(full)))


@router.get("/questions/{number}", summary="How a long question stands, and its answer.")
def question(asked: AskedRun, number: _Number) -> dict[str, Any]:
    """`status` is running, answered or failed."""
    return asked.question(number).row()


@router.delete("/questions/{number}", summary="Stop a long question.")
def stop(asked: AskedRun, number: _Number) -> dict[str, Any]:
    """What was proved of a diameter up to then is kept, and the same question again goes on from there."""
    found = asked.question(number)
    found.stop()
    return found.row()


@router.get("/questions/{number}/events", summary="The same as server-sent events.", response_class=Response)
def events(request: Request, asked: AskedRun, number: _Number) -> StreamingResponse:
    """Progress, and at the end state."""
    streams: Streams = request.app.state.streams
    return streams.answer(_told(asked.question(number)))


async def _told(question: Question) -> AsyncIterator[str]:
    said, sent = None, time.monotonic()
    while True:
        row = await run_in_threadpool(question.row)
        if row != said:
            said, sent = row, time.monotonic()
            kind = "progress" if row["status"] == "running" else "state"
            yield f"event: {kind}\ndata: {json.dumps(row)}\n\n"
        if row["status"] != "running":
            return
        if time.monotonic() - sent > _HEARTBEAT_SECONDS:
            sent = time.monotonic()
            yield ": alive\n\n"
        await asyncio.sleep(_LOOK_SECONDS)
