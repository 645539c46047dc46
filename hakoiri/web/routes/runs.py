"""Routes for runs: listing, creating, their life, and their events."""

import asyncio
import fcntl
import json
import stat
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from weakref import WeakSet

from fastapi import APIRouter, Body, Depends, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, WithJsonSchema
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from hakoiri.coordinator.graphs.bounding import KIND as ECCENTRICITIES
from hakoiri.coordinator.runs.catalogue import belonging_to, cancel_run, delete_run, queue_again
from hakoiri.coordinator.runs.create import make_planned, plan_for, plan_run
from hakoiri.coordinator.runs.kinds import KINDS, kind_class, kind_of
from hakoiri.coordinator.runs.summary import layer_row
from hakoiri.coordinator.session.job import Request as Asked
from hakoiri.coordinator.session.kind import EccentricitiesKind, documented
from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import GoneError, HakoiriError, remarks
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.rows.runs import status_row
from hakoiri.storage.engine.environment import translated
from hakoiri.storage.engine.files import Given
from hakoiri.storage.ledger.manifest import ENDED, Manifest
from hakoiri.storage.names import MOST_TITLE, REQUESTS_FOLDER, TITLE_FILE, by_age
from hakoiri.web.asking import RunName, Runs, named_puzzle
from hakoiri.web.runs.opened import OpenRuns
from hakoiri.web.server import ENDING

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

    def answer(self, request: Request, look: Look) -> StreamingResponse:
        """Return a response that sends the events of `look`; raise `HTTPException` if too many streams are open."""
        if len(self._open) >= self._most:
            raise HTTPException(HTTPStatus.SERVICE_UNAVAILABLE, "too many event streams are open; close some")
        texts = _texts(look, request.scope.get(ENDING, lambda: False))
        self._open.add(texts)
        return StreamingResponse(self._told(texts), media_type="text/event-stream")

    async def _told(self, texts: AsyncIterator[str]) -> AsyncIterator[str]:
        try:
            async for text in texts:
                yield text
        finally:
            self._open.discard(texts)


async def _texts(look: Look, ending: Callable[[], bool]) -> AsyncIterator[str]:
    """Yield the text of a stream until the server ends; slow clients get fewer events, and miss only progress."""
    sent = time.monotonic()
    yield "retry: 1000\n\n"
    while not ending():
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


#: A list of runs opens more of them, to see what they can answer, until this time has passed.
_LIST_SECONDS = 0.3
_LOCK, _MOST_RECORD = "lock", 10_000
#: A key is forgotten after a week.
_KEPT_SECONDS = 7 * 24 * 3600.0


def made_once(
    opened: OpenRuns, key: str, request: Mapping[str, Any], plan: Callable[[], Manifest],
    make: Callable[[Manifest], Path],
) -> Path:  # fmt: skip
    """Return the run of an earlier request with this key, else a new one: `make` of the result of `plan`.

    Its name is durable before it is made, so that a kill in between makes no second one. A key that was used for
    another request is refused, and one whose run was deleted while another run took the name.
    """
    asked = sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
    with _locked(opened.data) as folder:
        record = sha256(key.encode()).hexdigest()
        known = json.loads(folder.read(record, _MOST_RECORD)) if record in folder.names() else None
        if known is not None and known["request"] != asked:
            text = "this Idempotency-Key came with another request before; take a new one"
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, text)
        if known is not None and ((there := opened.named(known["run"])) or known["made"]):
            manifest = opened.status(there).manifest if there else None
            if manifest and known.get("identity") not in (None, manifest.identity):
                text = f"the run of this Idempotency-Key was deleted, and {known['run']} is another one; take a new key"
                raise HTTPException(HTTPStatus.GONE, text)
            return opened.data / str(known["run"])
        manifest = plan()
        if known is not None:
            manifest = replace(manifest, run=known["run"])
        for made in (False, True):
            if made:
                make(manifest)
            fields = {"request": asked, "run": manifest.run, "made": made, "identity": manifest.identity}
            folder.write(record, [json.dumps(fields).encode()])
        return opened.data / manifest.run


@contextmanager
def _locked(data: Path) -> Iterator[Given]:
    """Yield the folder of all keys, locked for this process and thread."""
    with translated(data / REQUESTS_FOLDER):
        data.mkdir(parents=True, exist_ok=True)
        Given(data).make_folder(REQUESTS_FOLDER)
        with Given(data).open(f"{REQUESTS_FOLDER}/{_LOCK}", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            folder, oldest = Given(data / REQUESTS_FOLDER), time.time() - _KEPT_SECONDS
            for name in folder.names():
                found = (folder.directory / name).lstat()
                if not stat.S_ISREG(found.st_mode) or (name != _LOCK and found.st_mtime < oldest):
                    folder.unlink(name)
            yield folder


router = APIRouter(prefix="/api/runs", tags=["runs"])

_Text = Annotated[str, Field(max_length=10_000)]
#: The value of an option is a text; a number is taken for its digits.
_Option = Annotated[
    _Text,
    BeforeValidator(lambda value: str(value) if type(value) in (int, float) else value),
    WithJsonSchema({"type": ["string", "number"], "maxLength": 10_000}),
]
#: A board of Nakuron has up to 256 rows of 256.
_MOST_BOARD, _MOST_DEFINITION = 100_000, 1_000_000


class NewRun(BaseModel):
    """Fields of every new run, named as in the answers; its kind has further ones."""

    model_config = ConfigDict(extra="forbid")

    puzzle: Annotated[str, Field(max_length=200, examples=["klotski"])] | None = None
    options: dict[_Text, _Option] = {}
    definition: Annotated[str, Field(max_length=_MOST_DEFINITION)] | None = None
    start: Annotated[str, Field(max_length=_MOST_BOARD)] | None = None
    kind: Annotated[str, Field(max_length=40)] | None = None
    base: Annotated[str, Field(max_length=100)] | None = None
    merge_mirrors: bool = False
    name: Annotated[str, Field(max_length=64)] | None = None
    priority: Annotated[int, Field(ge=-1000, le=1000)] | None = None


def _schema() -> dict[str, Any]:
    """Return the schema of a new run: for each kind the fields of every run, and its own."""
    common = NewRun.model_json_schema()["properties"]
    schemas = []
    for name in KINDS:
        found, words = TypeAdapter(kind_class(name)).json_schema(), documented(kind_class(name))
        own = {field: found["properties"][field] | {"description": text} for field, text in words.items()}
        own |= {"kind": {"const": name}}
        needed = [] if name == Puzzle.usual_kind else ["kind"]
        summary = (kind_class(name).__doc__ or "").split("\n", 1)[0]
        schemas.append(
            {"title": name, "description": summary, "type": "object", "properties": common | own, "required": needed,
             "additionalProperties": False}
        )  # fmt: skip
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": {"anyOf": schemas}}}}}


class RunRequest(NamedTuple):
    """A request for a new run: the fields of every run, and the further ones of its kind, unchecked."""

    run: NewRun
    own: dict[str, Any]


def _wanted(body: Annotated[dict[str, Any], Body()]) -> RunRequest:
    """Return the request; its `kind` decides about the fields that are not those of every run."""
    common = {name: value for name, value in body.items() if name in NewRun.model_fields}
    with _refused():
        return RunRequest(NewRun.model_validate(common), {name: body[name] for name in body.keys() - common})


@contextmanager
def _refused() -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise RequestValidationError([fault | {"loc": ("body", *fault["loc"])} for fault in error.errors()]) from None


@router.get("", summary="The runs, the newest first.")
def runs(
    opened: Runs,
    status: str | None = None,
    puzzle: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str | None, Query(max_length=100, description="The last run of the previous page.")] = None,
) -> dict[str, Any]:
    """`next` is the `after` of the next page, or null. `can` of a run is null until the server has looked at it."""
    deadline = time.monotonic() + _LIST_SECONDS
    names = sorted(opened.directories(), key=by_age, reverse=True)
    if after is not None:
        names = names[1 + next((place for place, found in enumerate(names) if found.name == after), len(names)) :]
    found: list[dict[str, Any]] = []
    for directory in names:
        try:
            row = status_row(opened.status(directory))
        except GoneError:
            continue
        if (status or row["status"]) == row["status"] and (puzzle or row["puzzle"]) == row["puzzle"]:
            found.append(row)
            with suppress(GoneError):
                row["can"] = opened.abilities(directory, known=time.monotonic() > deadline)
            if len(found) > limit:
                break
    more = len(found) > limit
    return {"runs": found[:limit], "next": found[limit - 1]["run"] if more else None}


@router.post("", status_code=HTTPStatus.ACCEPTED, summary="Queue a run of any kind.", openapi_extra=_schema())
def make(
    request: Request,
    response: Response,
    opened: Runs,
    asked: Annotated[RunRequest, Depends(_wanted)],
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> dict[str, Any]:
    """The same `Idempotency-Key` again gives the same run, also after a restart.

    `notes` are what the puzzle remarks on the options.
    """
    limits: dict[str, Any] = {}
    notes: list[str] = []
    wanted = asked.run

    def plan() -> Manifest:
        with remarks() as found:
            spec, own = (_named(request, wanted), {}) if wanted.base is None else _of_base(opened, asked)
            resources = Resources(priority=wanted.priority)
            planned = _planned(spec, wanted.kind or spec.kind().usual_kind, own | asked.own)
            manifest = plan_run(opened.data, planned.spec, wanted.kind, planned.plan, resources, wanted.name)
        limits.update(planned.limits)
        notes.extend(found)
        return manifest

    def made(manifest: Manifest) -> Path:
        opened.release(opened.data / manifest.run)
        return make_planned(opened.data, manifest, True, limits)

    if idempotency_key is None:
        directory = made(plan())
    else:
        directory = made_once(opened, idempotency_key, wanted.model_dump() | asked.own, plan, made)
    response.headers["Location"] = f"/api/runs/{directory.name}"
    return _row(opened, directory.name) | {"notes": notes}


def _named(request: Request, wanted: NewRun) -> PuzzleSpec:
    """Return the named puzzle."""
    if wanted.puzzle is None:
        raise _unfit("puzzle", "Field required")
    spec = named_puzzle(request, wanted.puzzle, wanted.options, wanted.start, wanted.definition)
    return replace(spec, merge_mirrors=wanted.merge_mirrors)


def _of_base(opened: OpenRuns, asked: RunRequest) -> tuple[PuzzleSpec, dict[str, Any]]:
    """Return the puzzle and the first fields of a run derived from another one, whose puzzle it has."""
    wanted = asked.run
    of_base = {"puzzle", "options", "definition", "start", "merge_mirrors", "until_goal"}
    if said := of_base & {*wanted.model_fields_set, *asked.own}:
        raise _unfit(min(said), "the base run sets it; leave it out")
    with opened.asked(opened.base(wanted.base or "")) as (run, _):
        if wanted.kind == ECCENTRICITIES:
            # Another type is refused with the other fields.
            number = asked.own.get("component", EccentricitiesKind.component)
            run.component_asked(number if type(number) is int else None)
        else:
            run.require_goals()
        return run.spec, plan_for(run.store)


def _planned(spec: PuzzleSpec, kind: str, own: dict[str, Any]) -> Asked:
    """Return the request in the terms of the kind of run, with the names and types of its fields checked."""
    with _refused():
        return kind_of(kind).request(spec, TypeAdapter(kind_class(kind)).validate_json(json.dumps(own)))


def _unfit(name: str, fault: str) -> RequestValidationError:
    return RequestValidationError([{"loc": ("body", name), "msg": fault}])


@router.get("/{run}", summary="The status of a run.")
def status(opened: Runs, run: RunName) -> dict[str, Any]:
    """Return the JSON of `status`, with the digest of the run."""
    return _row(opened, run)


@router.delete("/{run}", summary="Delete a run and all its data.")
def delete(opened: Runs, run: RunName) -> dict[str, Any]:
    """Refused while a process drives the run."""
    directory = opened.find(run)
    for found in (directory, *belonging_to(directory)):
        opened.release(found)
    return {"runs": delete_run(directory), "status": "deleted"}


class NewTitle(BaseModel):
    """The title of a run; empty for none."""

    title: Annotated[str, Field(max_length=MOST_TITLE)]


@router.post("/{run}/title", summary="Set the title shown for a run.")
def set_title(opened: Runs, run: RunName, wanted: NewTitle) -> dict[str, Any]:
    """Commands still take its name."""
    with translated(directory := opened.find(run)):
        Given(directory).write(TITLE_FILE, [" ".join(wanted.title.split()).encode()])
    return _row(opened, run)


@router.post("/{run}/cancel", summary="Cancel a run; its results stay.")
def cancel(opened: Runs, run: RunName, response: Response) -> dict[str, Any]:
    """Only `resume` continues it. With 202 it has been told to stop, and is still finishing what it is doing."""
    directory = opened.find(run)
    status = cancel_run(directory, opened.books, insists=False)
    if status not in ENDED:
        response.status_code = HTTPStatus.ACCEPTED
    return {"run": directory.name, "status": status}


@router.post("/{run}/resume", status_code=HTTPStatus.ACCEPTED, summary="Continue a stopped run from its last commit.")
def resume(opened: Runs, run: RunName) -> dict[str, Any]:
    """Queues the run for the coordinator."""
    directory = opened.find(run)
    opened.require_admitted(directory)
    queue_again(directory, opened.books)
    return _row(opened, directory.name)


def _row(opened: OpenRuns, name: str) -> dict[str, Any]:
    found = opened.status(opened.find(name))
    own = {"stored_bytes": found.state.stored_bytes, "can": opened.abilities(opened.find(name))}
    return status_row(found) | own


events_router = APIRouter(prefix="/api/runs/{run}", tags=["events"])

#: The most layers sent between two polls of the run.
_MOST_LAYERS = 500


@events_router.get("/events", summary="Server-sent events: state, progress, layer.", response_class=Response)
async def events(
    request: Request, opened: Runs, run: RunName, last_event_id: Annotated[str | None, Header(max_length=200)] = None
) -> StreamingResponse:
    """The id of an event names the layers sent and the commit; `Last-Event-ID` continues after it."""
    directory = await run_in_threadpool(opened.find, run)
    streams: Streams = request.app.state.streams
    return streams.answer(request, EventStream(opened, directory, last_event_id or "").look)


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
