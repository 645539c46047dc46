"""Routes for long questions: their status, and stopping them; the verification of a run."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response, StreamingResponse

from hakoiri.web.asking import AskedRun, pending
from hakoiri.web.runs.streams import LOOK_SECONDS, Streams, event

router = APIRouter(prefix="/api/runs/{run}", tags=["long questions"])

_Number = Annotated[str, Path(max_length=32)]


@router.post("/verify", status_code=HTTPStatus.ACCEPTED, summary="Verify a run: derive its results again.")
def verify(asked: AskedRun, full: bool = False) -> Response:
    """A long question; `full` checks every configuration instead of a sample."""
    return pending(asked.long("verify", full=full))


@router.get("/questions/{number}", summary="The status of a long question, and its answer.")
def question(asked: AskedRun, number: _Number) -> dict[str, Any]:
    """`status` is `running`, `answered` or `failed`."""
    return asked.question(number).row()


@router.delete("/questions/{number}", summary="Stop a long question.")
def stop(asked: AskedRun, number: _Number) -> dict[str, Any]:
    """Proved bounds of a diameter are kept, and the same question continues from them."""
    found = asked.question(number)
    found.stop()
    return found.row()


@router.get(
    "/questions/{number}/events",
    summary="The status of a long question as server-sent events.",
    response_class=Response,
)
def events(request: Request, asked: AskedRun, number: _Number) -> StreamingResponse:
    """Sends `progress` events, and `state` at the end."""
    streams: Streams = request.app.state.streams
    question, said = asked.question(number), dict[str, Any]()

    def look() -> tuple[list[str], float | None]:
        row = question.row()
        running, told = row["status"] == "running", [] if row == said else [row]
        said.update(row)
        return [event("progress" if running else "state", one) for one in told], LOOK_SECONDS if running else None

    return streams.answer(look)
