"""The route for the events of a run, as server-sent events."""

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Header, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from hakoiri.coordinator.runs.summary import layer_row
from hakoiri.puzzles.errors import HakoiriError
from hakoiri.rows.runs import status_row
from hakoiri.web.asking import RunName, Runs
from hakoiri.web.runs.opened import OpenRuns
from hakoiri.web.runs.streams import LOOK_SECONDS, Streams, event

router = APIRouter(prefix="/api/runs/{run}", tags=["events"])

#: The most layers sent between two polls of the run.
_MOST_LAYERS = 500


@router.get("/events", summary="Server-sent events: state, progress, layer.", response_class=Response)
async def events(
    request: Request, opened: Runs, run: RunName, last_event_id: Annotated[str | None, Header(max_length=200)] = None
) -> StreamingResponse:
    """The id of an event names the layers sent and the commit; `Last-Event-ID` continues after it."""
    directory = await run_in_threadpool(opened.find, run)
    streams: Streams = request.app.state.streams
    return streams.answer(EventStream(opened, directory, last_event_id or "").look)


class EventStream:
    """The events of a run for one client, from where it left off."""

    def __init__(self, opened: OpenRuns, directory: Path, last: str) -> None:
        self._opened, self._directory = opened, directory
        layers, _, rest = last.partition("-")
        self._layers = int(layers) if layers.isdecimal() else 0
        self._commit, _, self._status = rest.partition("-")

    def look(self) -> tuple[list[str], float | None]:
        try:
            told = self._look()
        except HakoiriError as error:
            return [event("gone", {"detail": str(error)})], None
        return told, 0 if len(told) >= _MOST_LAYERS else LOOK_SECONDS

    def _look(self) -> list[str]:
        found = self._opened.status(self._directory)
        told = []
        end = min(found.state.depth + 1, self._layers + _MOST_LAYERS)
        if self._layers > end:
            # The client's layers are of another run, or damaged layers were erased.
            self._layers = 0
        if self._layers < end:
            with self._opened.books(self._directory) as books:
                rows = [layer_row(books.layer_record(depth)) for depth in range(self._layers, end)]
            for row in rows:
                self._layers += 1
                told.append(event("layer", row, self._id))
        commit = f"{found.state.updated:.6f}"
        if found.status != self._status:
            self._status, self._commit = found.status, commit
            told.append(event("state", status_row(found), self._id))
        elif commit != self._commit:
            self._commit = commit
            told.append(event("progress", status_row(found), self._id))
        return told

    @property
    def _id(self) -> str:
        return f"{self._layers}-{self._commit}-{self._status}"
