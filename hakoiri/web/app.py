"""The application: guard, routes, page and description of the interface."""

import gc
import logging
import os
import re
import signal
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from traceback import clear_frames
from typing import Any

from fastapi import Depends, FastAPI
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hakoiri.coordinator.session.resources import Resources
from hakoiri.logs import set_up
from hakoiri.memory import available_memory
from hakoiri.web.asking import BuiltPuzzles, known_query
from hakoiri.web.guard import Guard, Passes
from hakoiri.web.problems import HANDLERS, PROBLEMS
from hakoiri.web.routes import answers, puzzles, runs, server
from hakoiri.web.routes.runs import Streams
from hakoiri.web.routes.server import ServerMetrics
from hakoiri.web.runs.opened import OpenRuns
from hakoiri.web.runs.questions import Questions
from hakoiri.web.settings import SERVER, Settings

_STATIC = Path(__file__).with_name("static")
_LOOK_SECONDS = 0.5
#: Tables of puzzles for single boards take one part in this many of the memory.
_BOARDS_PART = 4
#: The first is requested most, and matched first.
_ROUTERS = (
    puzzles.positions, puzzles.router, runs.router, answers.router, answers.questions, runs.events_router,
    puzzles.boards, puzzles.probes, server.router,
)  # fmt: skip


class _Compressed(GZipMiddleware):
    """Compresses answers, except for those of requests for a part of a file."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        whole = scope["type"] != "http" or "range" not in Headers(scope=scope)
        await (super().__call__ if whole else self.app)(scope, receive, send)


class _HeadSent(Exception):  # noqa: N818
    """Ends a GET whose head was sent in answer to HEAD."""


class _Heads:
    """Answers HEAD as GET, without the body; a file is not read then, nor a stream followed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.start":
                await send({"type": "http.response.body"})
                raise _HeadSent

        try:
            await self._app(dict(scope, method="GET"), receive, send_head)
        except _HeadSent as sent:
            # Else its frames would hold a stream, which counts until it is collected.
            clear_frames(sent.__traceback__)


class _Versioned(StaticFiles):
    """Files whose address changes with them, so that browsers keep them without asking."""

    def file_response(self, *given: Any, **more: Any) -> Response:
        response = super().file_response(*given, **more)
        response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
        return response


class _App(FastAPI):
    """The application; its description says how clients show the token."""

    def openapi(self) -> dict[str, Any]:
        found = super().openapi()
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        return found | {"security": [{"token": []}]}


def _index() -> HTMLResponse:
    """Return the page; its scripts and styles have the time of the last change in their addresses."""
    version = max(path.stat().st_mtime_ns for path in _STATIC.rglob("*"))
    page = re.sub(r'"((?:js|style)/)', rf'"v/{version:x}/\1', (_STATIC / "index.html").read_text("utf-8"))
    return HTMLResponse(page, headers={"Cache-Control": "no-cache"})


def create() -> FastAPI:
    """Return the application of a process that was started with `Settings.to_environment`."""
    set_up()
    # Its warnings are about refused requests, which anybody can send by the thousand.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    if os.environ[SERVER] != str(os.getpid()):
        threading.Thread(target=_end_with_server, name="server", daemon=True).start()
    app = make_app(Settings.from_environment())
    # The objects created so far are permanent: collecting them again delayed one answer in thousands, by 16 ms.
    gc.collect()
    gc.freeze()
    return app


def _end_with_server() -> None:
    """End this process when its parent, the server, is gone."""
    while os.environ[SERVER] == str(os.getppid()):
        time.sleep(_LOOK_SECONDS)
    signal.raise_signal(signal.SIGTERM)


def make_app(settings: Settings) -> FastAPI:
    """Return the application."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        app.state.questions.close()
        app.state.runs.close()

    app = _App(
        title="Hakoiri",
        version=version("hakoiri"),
        responses=PROBLEMS,
        description="Enumerate every configuration of a puzzle, and answer exactly.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        middleware=[Middleware(Guard, settings=settings), Middleware(_Heads), Middleware(_Compressed, compresslevel=6)],
        exception_handlers=HANDLERS,
    )
    app.state.settings, app.state.streams = settings, Streams(settings.processes)
    app.state.passes = Passes(settings)
    app.state.own_puzzles = settings.own_puzzles()
    app.state.questions = Questions(settings)
    memory = settings.memory or available_memory() // 2
    app.state.built = BuiltPuzzles(memory // (_BOARDS_PART * settings.processes))
    app.state.runs = OpenRuns(settings.data, Resources(memory=settings.memory), settings.redis)
    app.state.metrics = ServerMetrics(app.state.runs, app.state.streams, settings.redis)
    for router in _ROUTERS:
        app.include_router(router, dependencies=[Depends(known_query)])
    app.get("/", include_in_schema=False)(_index)
    app.mount("/v/{version}", _Versioned(directory=_STATIC, check_dir=False), "versioned")
    app.mount("/", StaticFiles(directory=_STATIC, html=True, check_dir=False), "page")
    return app
