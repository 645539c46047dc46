"""Routes for the server itself: its health, its figures, and the description of the interface."""

from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import Any

import fastapi_offline
from fastapi import APIRouter, Request, Response
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse

from hakoiri.puzzles.errors import HakoiriError
from hakoiri.rows.hosts import living_rows
from hakoiri.storage.ledger.lock import is_served
from hakoiri.web.asking import Runs
from hakoiri.web.metrics import statuses
from hakoiri.web.settings import Settings

router = APIRouter(tags=["server"])

#: Swagger UI, which the page of the description loads from here and nowhere else.
_SWAGGER = Path(fastapi_offline.__file__).with_name("static")
_SWAGGER_FILES = {"swagger-ui-bundle.js": "text/javascript", "swagger-ui.css": "text/css"}
_DOCS = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Hakoiri: the HTTP interface</title>
<link rel="stylesheet" href="/docs/swagger-ui.css"></head>
<body><div id="swagger-ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script></body></html>
"""
_START = 'SwaggerUIBundle({url: "/api/openapi.json", dom_id: "#swagger-ui", deepLinking: true});\n'


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
    return HTMLResponse(_DOCS)


@router.get("/docs/start.js", include_in_schema=False)
def start() -> Response:
    """Return the script that starts the page of the description."""
    return Response(_START, media_type="text/javascript")


@router.get("/docs/{name}", include_in_schema=False)
def swagger(name: str) -> Response:
    """Return a file of the page of the description."""
    if name not in _SWAGGER_FILES:
        return Response(status_code=HTTPStatus.NOT_FOUND)
    return FileResponse(_SWAGGER / name, media_type=_SWAGGER_FILES[name], headers={"Cache-Control": "max-age=86400"})
