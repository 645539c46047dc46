"""Routes for the server itself: its health, its figures for Prometheus, and the description of the interface."""

from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fastapi_offline
from fastapi import APIRouter, Request, Response
from prometheus_client import Counter as Counting
from prometheus_client import Histogram, generate_latest
from starlette.responses import FileResponse, PlainTextResponse

from hakoiri.errors import GoneError, HakoiriError
from hakoiri.metrics import Add, Metrics, add_runs, add_team
from hakoiri.rows.runs import living_rows
from hakoiri.storage.ledger.lock import is_served
from hakoiri.web.asking import Runs
from hakoiri.web.problems import LATER
from hakoiri.web.settings import Settings

if TYPE_CHECKING:
    from hakoiri.coordinator.runs.catalogue import RunStatus
    from hakoiri.web.routes.runs import Streams
    from hakoiri.web.runs.opened import OpenRuns

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)


class ServerMetrics(Metrics):
    """The metrics of one process that answers requests; `streams` are its streams of events."""

    def __init__(self, runs: "OpenRuns", streams: "Streams", redis: str | None) -> None:
        def collect(add: Add) -> None:
            add_runs(add, runs.data, statuses(runs))
            add("event_streams", len(streams))
            if redis:
                add_team(add, redis)

        super().__init__(collect)
        self._requests = Counting(
            "hakoiri_http_requests", "Requests that this process has answered.", ["method", "status"],
            registry=self.registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "hakoiri_http_request_seconds", "How long they took.", buckets=_SECONDS, registry=self.registry
        )

    def count(self, method: str, status: int, seconds: float) -> None:
        known = method if method in ("GET", "HEAD", "POST", "DELETE") else "other"
        self._requests.labels(known, str(status)).inc()
        self._seconds.observe(seconds)

    def text(self) -> bytes:
        """Return all figures, in the format of Prometheus."""
        return generate_latest(self.registry)


def statuses(runs: "OpenRuns") -> "list[RunStatus]":
    """Return the status of all runs."""
    found = []
    for directory in runs.directories():
        try:
            found.append(runs.status(directory))
        except GoneError:
            continue
    return found


router = APIRouter(tags=["server"])

#: Swagger UI, which the page of the description loads from here and nowhere else.
_SWAGGER = Path(fastapi_offline.__file__).with_name("static")
_SWAGGER_FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
_DOCS = Path(__file__).parents[1] / "static" / "docs.html"


@router.get("/api/health", summary="The health of the service: coordinator, workers, hosts, queue.")
def health(request: Request, response: Response, opened: Runs) -> dict[str, Any]:
    """`ok` if a coordinator takes queued runs; else the status is 503."""
    settings: Settings = request.app.state.settings
    known, served, reason = statuses(opened), is_served(opened.data), ""
    hosts: list[dict[str, Any]] = []
    keepers: list[dict[str, Any]] | None = None
    if settings.redis is not None:
        try:
            hosts, keepers = living_rows(settings.redis)
        except HakoiriError as error:
            reason = str(error)
    if not served:
        reason = reason or "no coordinator takes queued runs"
    if reason:
        response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
        response.headers.update(LATER)
    return {
        "ok": not reason,
        "reason": reason,
        "coordinator": served,
        "workers": sum(host["workers"] for host in hosts),
        "hosts": hosts,
        "keepers": keepers,
        "queue": [found.run for found in known if found.status == "queued"],
        "runs": dict(Counter(found.status for found in known)),
    }


@router.post("/api/logout", summary="Log out: the browser forgets its pass.")
def logout(request: Request, response: Response) -> dict[str, str]:
    """A copy of the pass stays valid until it expires, or the server has another token."""
    request.app.state.passes.take(response, request.headers)
    return {"status": "logged out"}


@router.get("/metrics", summary="Metrics for Prometheus.", response_class=PlainTextResponse)
def metrics(request: Request) -> Response:
    """Requests are counted by the process that answers."""
    return Response(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/docs", include_in_schema=False)
def docs() -> Response:
    """Return the page that describes the interface and sends requests."""
    return FileResponse(_DOCS)


@router.get("/docs/{name}", include_in_schema=False)
def swagger(name: str) -> Response:
    """Return a file of the page of the description."""
    if name not in _SWAGGER_FILES:
        return Response(status_code=HTTPStatus.NOT_FOUND)
    return FileResponse(_SWAGGER / name, media_type=_SWAGGER_FILES[name], headers={"Cache-Control": "max-age=86400"})
