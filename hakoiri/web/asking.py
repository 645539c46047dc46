"""Shared by the routes: the run or puzzle that a request names, and answers that clients may cache."""

import json
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, TypeVar

import numpy as np
from fastapi import APIRouter, Depends, Request
from fastapi import Path as InPath
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import (
    FileResponse,
    JSONResponse,
    MalformedRangeHeader,
    RangeNotSatisfiable,
    RedirectResponse,
    Response,
)

from hakoiri.api import Run
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.create import Derived
from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import Hint, PuzzleError, RunHeldError, did_you_mean
from hakoiri.memory import limited_tables
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec, puzzle_class
from hakoiri.puzzles.user.files import is_own
from hakoiri.questions.question import Long, Means, Question
from hakoiri.rows.runs import status_row
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import DATA_FILE
from hakoiri.web.problems import Unbegun, Unchanged
from hakoiri.web.runs.opened import OpenRuns
from hakoiri.web.runs.questions import LongQuestion, Questions

_FOR_EVER = "private, max-age=31536000, immutable"
#: The most cached puzzles with options, as built for single boards.
_MOST_BUILT = 64
#: The statuses of a run that has yet to find its results.
_UNDER_WAY = ("queued", "running")
_Route = TypeVar("_Route", bound=Callable[..., Any])

RunName = Annotated[str, InPath(max_length=100, description="A run's name, a unique prefix of it, or `last`.")]


# Async, because starting a thread costs more than most answers.
async def open_runs(request: Request) -> OpenRuns:
    """Return the open runs of the server."""
    found: OpenRuns = request.app.state.runs
    return found


Runs = Annotated[OpenRuns, Depends(open_runs)]


def _queried(dependant: Dependant) -> dict[str, bool]:
    """Return the query parameters of a route, and of all that it depends on; true for one that may be repeated."""
    found = {field.alias: "list" in str(field.field_info.annotation) for field in dependant.query_params}
    return found | dict(chain.from_iterable(_queried(each).items() for each in dependant.dependencies))


async def known_query(request: Request) -> None:
    """Refuse a query parameter that the route does not have, or twice what it has once: neither would have effect."""
    given = [name for name, _ in request.query_params.multi_items()]
    known = _queried(request.scope["route"].dependant) if given else {}
    texts = {name: f"there is no such parameter{did_you_mean(name, known)}" for name in given if name not in known}
    texts |= {name: "given more than once; send it once" for name in known if given.count(name) > 1 and not known[name]}
    if texts:
        raise RequestValidationError([{"loc": ("query", name), "msg": texts[name]} for name in sorted(texts)])


class _FileAnswer(FileResponse):
    """A file response that supports ranges; an invalid range is a problem response like all others."""

    @classmethod
    def _parse_range_header(cls, http_range: str, file_size: int) -> list[tuple[int, int]]:
        try:
            return super()._parse_range_header(http_range, file_size)
        except MalformedRangeHeader as error:
            raise HTTPException(HTTPStatus.BAD_REQUEST, error.content) from None
        except RangeNotSatisfiable:
            size = {"Content-Range": f"bytes */{file_size}"}
            text = f"the file has {file_size:,} bytes"
            raise HTTPException(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, text, size) from None


def computed(
    router: APIRouter, path: str, summary: str, begins: bool = True, **options: Any
) -> Callable[[_Route], _Route]:
    """Register a route whose answer may need a process or a run of its own, if it `begins` one.

    IMPORTANT: only POST begins one. GET, which any foreign page may make a browser send, returns what exists.
    """

    def register(route: _Route) -> _Route:
        router.get(path, summary=summary, **options)(route)
        if begins:
            router.post(path, summary=f"{summary.rstrip('.')}; computed if it is not there.", **options)(route)
        return route

    return register


class Asked:
    """A run that a request queries."""

    def __init__(self, request: Request, name: str, directory: Path) -> None:
        self._request, self._name, self.directory = request, name, directory
        self.runs: OpenRuns = request.app.state.runs
        self._questions: Questions = request.app.state.questions

    @contextmanager
    def opened(self) -> Iterator[Run]:
        with self.runs.asked(self.directory) as (run, _):
            yield run

    def ask(self, question: Question) -> Response:
        """Return the answer to a question, or the address of what finds it."""
        # A component has its number in the run that is named.
        if question.has_own_run and "component" not in self._request.path_params:
            self.directory = self.runs.base(self.directory.name)
        with self.opened() as run:
            cost = question.cost(run)
            if isinstance(cost, Long):
                return pending(self.long(cost))
            if cost == "own run":
                derived, limits = question.own_run(run)
                return self.queued(derived, **limits)
            row = question.row(run, question.ask(run, Means()))
            # Later requests may find the distances of a component.
            listed = row["components"] if isinstance(row.get("components"), list) else []
            settled = all(one.get("radius", 0) is not None for one in (row, *listed))
            return self.answer(run, row, settled)

    def long(self, asked: Long, ending: str = "") -> LongQuestion:
        """Return a long question (`Questions.named`); POST starts it, GET raises `Unbegun` unless it was started."""
        question = self._questions.named(self.directory.name, *self._admitted(), asked, ending)
        if self._begins:
            self._questions.begin(question)
        elif question.has_to_begin:
            raise Unbegun(self._address)
        return question

    def file(self, media_type: str, asked: Long, ending: str) -> Response:
        """Return a file that a command writes: POST starts the command and then redirects, GET sends the file."""
        question = self.long(asked, ending)
        if question.status != "answered":
            return pending(question)
        if self._begins:
            return RedirectResponse(self._address, HTTPStatus.SEE_OTHER)
        name, headers = f"{question.run}.{ending}", self._kept(*self._admitted())
        return _FileAnswer(question.file, media_type=media_type, filename=name, headers=headers)

    def question(self, number: str) -> LongQuestion:
        return self._questions.known(self.directory.name, number, self._admitted()[0])

    def queued(self, derived: Derived, **limits: Any) -> Response:
        """Return 202 and the address of the run that finds the answer; POST queues it, GET raises `Unbegun`."""
        directory = derived.directory
        if self._begins:
            # A held run is in progress.
            with suppress(RunHeldError):
                derived.make(Resources(), queued=True, **limits)
        elif not (directory / DATA_FILE).is_file() or self.runs.status(directory).status not in _UNDER_WAY:
            raise Unbegun(self._address)
        where = {"Location": f"/api/runs/{directory.name}"}
        return JSONResponse(status_row(self.runs.status(directory)), HTTPStatus.ACCEPTED, where)

    @property
    def _begins(self) -> bool:
        return self._request.method == "POST"

    @property
    def _address(self) -> str:
        path, query = self._request.scope["raw_path"].decode(), self._request.url.query
        return f"{path}?{query}" if query else path

    def _admitted(self) -> tuple[str, State]:
        """Return the run's identity and state, if the server may query it: long questions execute the run's puzzle."""
        return self.runs.require_admitted(self.directory)

    def answer(self, run: Run, row: Mapping[str, Any], settled: bool = True) -> Response:
        """Return a response; that of a complete run, requested by its whole name, never changes and may be cached.

        If not all of it is `settled` it may not be cached, because later requests may settle it.
        """
        return self.content(run, self.encoded(row), settled)

    def encoded(self, row: Mapping[str, Any]) -> bytes:
        return json.dumps({"run": self.directory.name} | dict(row)).encode()

    def content(self, run: Run, content: bytes, settled: bool = True) -> Response:
        """Return encoded content as a response, as `answer` does."""
        headers = self._kept(run.store.manifest.identity, run.store.state) if settled else {}
        return Response(content, headers=headers, media_type="application/json")

    def require_changed(self) -> None:
        """Raise `Unchanged` if the client has the answer, without computing it: its tag names run and question."""
        found = self.runs.status(self.directory)
        headers = self._kept(found.manifest.identity if found.manifest else "", found.state)
        if headers and self._request.headers["if-none-match"] == headers["ETag"]:
            raise Unchanged(headers)

    def _kept(self, identity: str, state: State) -> dict[str, str]:
        if state.status != "complete" or not state.digest or self._name != self.directory.name:
            return {}
        asked = zlib.crc32(f"{self._request.url.path}?{self._request.url.query}".encode())
        return {"ETag": f'"{identity[:16]}-{state.digest[:32]}-{asked:08x}"', "Cache-Control": _FOR_EVER}


async def asked_run(request: Request, run: RunName) -> Asked:
    """Return the run that a request names; `UnknownRunError`."""
    runs: OpenRuns = request.app.state.runs
    directory = runs.named(run)
    if directory is None:
        directory = await run_in_threadpool(runs.find, run)
    asked = Asked(request, run, directory)
    if request.method == "GET" and "if-none-match" in request.headers:
        await run_in_threadpool(asked.require_changed)
    return asked


AskedRun = Annotated[Asked, Depends(asked_run)]


def pending(question: LongQuestion) -> Response:
    """Return the answer to a long question if it exists, else its address; raise its error if it failed."""
    status, where = question.status, f"/api/runs/{question.run}/questions/{question.number}"
    if status == "running":
        return JSONResponse(question.row(), HTTPStatus.ACCEPTED, {"Location": where, "Retry-After": "1"})
    if status == "failed":
        raise UnanswerableError(question.row()["reason"])
    return JSONResponse(question.answer)


def named_puzzle(
    request: Request, name: str, options: Mapping[str, str], start: str | None = None, definition: str | None = None
) -> PuzzleSpec:  # fmt: skip
    """Return the puzzle that a request names: a built-in one, or a user's that the server was started with.

    With the text of a `definition` it is that puzzle, and the name is that of the file.

    IMPORTANT: no file is executed here, whatever the name.
    """
    if definition is not None:
        from hakoiri.puzzles.definitions.formats import definition_of

        return PuzzleSpec(Path(name).name, dict(options), start, definition=definition_of(definition, name).text())
    own: dict[str, PuzzleSpec] = request.app.state.own_puzzles
    digest = own[name].digest if name in own else ""
    if not digest and is_own(name):
        raise PuzzleError(f"this server was not started with the puzzle {name}", Hint("serve with", name))
    puzzle_class(name, digest)
    return PuzzleSpec(name, dict(options), start, digest=digest)


class BuiltPuzzles:
    """Puzzles built for single boards, the last ones used, whose tables take up to `most` bytes in all."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._kept = OrderedDict[str, tuple[Puzzle, int]]()

    @property
    def bytes(self) -> int:
        """The bytes of the tables of the puzzles that are kept."""
        return sum(size for _, size in self._kept.values())

    def of(self, spec: PuzzleSpec) -> Puzzle:
        """Return the puzzle of `PuzzleSpec.build`."""
        name = repr(spec.as_dict() | {"options": sorted(spec.options.items())})
        # IMPORTANT: one at a time, or all requests would make their tables at once.
        with self._lock:
            if name not in self._kept:
                with limited_tables(self._most):
                    puzzle = replace(spec, quiet=True).build()
                parts = (each if isinstance(each, tuple) else [each] for each in vars(puzzle).values())
                tables = (each for each in chain.from_iterable(parts) if isinstance(each, np.ndarray))
                self._kept[name] = puzzle, sum(each.nbytes for each in tables)
            puzzle, _ = self._kept[name]
            self._kept.move_to_end(name)
            while self.bytes > self._most or len(self._kept) > _MOST_BUILT:
                self._kept.popitem(last=False)
        return puzzle
