"""Routes for runs: listing, creating, and their life."""

from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError, validate_call
from starlette.responses import Response

from hakoiri.coordinator.graphs.bounding import KIND as ECCENTRICITIES
from hakoiri.coordinator.runs.belonging import plan_for
from hakoiri.coordinator.runs.catalogue import belonging_to, cancel_run, delete_run, queue_again
from hakoiri.coordinator.runs.create import make_planned, plan_run
from hakoiri.coordinator.runs.kinds import kind_of, usual_kind
from hakoiri.coordinator.session.job import Request as Asked
from hakoiri.coordinator.session.resources import Resources
from hakoiri.puzzles.errors import remarks
from hakoiri.puzzles.registry import PuzzleSpec, puzzle_class
from hakoiri.rows.runs import status_row
from hakoiri.storage.errors import GoneError
from hakoiri.storage.ledger.manifest import Manifest
from hakoiri.storage.names import by_age
from hakoiri.web.asking import RunName, Runs, named_puzzle
from hakoiri.web.runs.keys import made_once
from hakoiri.web.runs.opened import OpenRuns

router = APIRouter(prefix="/api/runs", tags=["runs"])

_Text = Annotated[str, Field(max_length=10_000)]
#: A board of Nakuron has up to 256 rows of 256.
_MOST_BOARD = 100_000
_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)


class NewRun(BaseModel):
    """A new run, with the field names of the answers. Each kind of run has further fields.

    `hardest` and `eccentricities` have `base`, a finished run, instead of a puzzle. `eccentricities` also has
    `component` and `every`: if false, the diameter is enough. `census` has `diameters`. `study` has `sizes`, `deals`,
    `seed`, `strategy`, `cap` and `shorten`. `sizes` has `sizes`. `boards` has `size`, `pieces`, `empty`, `goal`,
    `pairs` and `hardest`. `starts` has `starts`, a text with one per line, and `cap`. `generate` has `size`, `pieces`,
    `empty`, `goal`, `least`, `most`, `unique`, `no_idle`, `each`, `cap`, `seed`, `hunt`, `boards` and `seconds`. `hunt`
    has `objective`, `seed`, `cap`, `pool`, and `seconds` or `legs`. `optimise` has `strategy`, `seed`, `width`, and
    `seconds` or `rounds`.
    """

    model_config = ConfigDict(extra="allow")

    puzzle: Annotated[str, Field(max_length=200, examples=["klotski"])] | None = None
    options: dict[_Text, _Text] = {}
    start: Annotated[str, Field(max_length=_MOST_BOARD)] | None = None
    kind: Annotated[str, Field(max_length=40)] | None = None
    base: Annotated[str, Field(max_length=100)] | None = None
    until_goal: bool = False
    merge_mirrors: bool = False
    name: Annotated[str, Field(max_length=64)] | None = None


@router.get("", summary="The runs, the newest first.")
def runs(
    opened: Runs,
    status: str | None = None,
    puzzle: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str | None, Query(max_length=100, description="The last run of the previous page.")] = None,
) -> dict[str, Any]:
    """`next` is the `after` of the next page, or null."""
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
            if len(found) > limit:
                break
    more = len(found) > limit
    return {"runs": found[:limit], "next": found[limit - 1]["run"] if more else None}


@router.post("", status_code=HTTPStatus.ACCEPTED, summary="Queue a run of any kind.")
def make(
    request: Request,
    response: Response,
    opened: Runs,
    wanted: NewRun,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> dict[str, Any]:
    """The same `Idempotency-Key` again gives the same run, also after a restart.

    `notes` are what the puzzle remarks on the options.
    """
    limits: dict[str, Any] = {}
    notes: list[str] = []

    def plan() -> Manifest:
        with remarks() as found:
            asked = _asked(*(_named(request, wanted) if wanted.base is None else _of_base(opened, wanted)), wanted)
            manifest = plan_run(opened.data, asked.spec, wanted.kind, asked.plan, Resources(), wanted.name)
        limits.update(asked.limits)
        notes.extend(found)
        return manifest

    def made(manifest: Manifest) -> Path:
        opened.release(opened.data / manifest.run)
        return make_planned(opened.data, manifest, True, limits)

    if idempotency_key is None:
        directory = made(plan())
    else:
        directory = made_once(opened.data, idempotency_key, wanted.model_dump(), plan, made)
    response.headers["Location"] = f"/api/runs/{directory.name}"
    return _row(opened, directory.name) | {"notes": notes}


def _named(request: Request, wanted: NewRun) -> tuple[PuzzleSpec, dict[str, Any]]:
    """Return the named puzzle, and the further arguments of the kind of run."""
    if wanted.puzzle is None:
        raise _unfit("puzzle", "Field required")
    spec = named_puzzle(request, wanted.puzzle, wanted.options, wanted.start)
    words = {"until_goal": True} if wanted.until_goal else {}
    return replace(spec, merge_mirrors=wanted.merge_mirrors), words


def _of_base(opened: OpenRuns, wanted: NewRun) -> tuple[PuzzleSpec, dict[str, Any]]:
    """Return the same for a run derived from another one, whose puzzle it has."""
    if said := wanted.model_fields_set & {"puzzle", "options", "start", "merge_mirrors", "until_goal"}:
        raise _unfit(min(said), "the base run sets it; leave it out")
    with opened.asked(opened.base(wanted.base or "")) as (run, _):
        if wanted.kind == ECCENTRICITIES:
            run.component_asked(None)
        else:
            run.require_goals()
        return run.spec, plan_for(run.store)


def _asked(spec: PuzzleSpec, words: dict[str, Any], wanted: NewRun) -> Asked:
    """Return the request in the terms of the kind of run, with names and types checked."""
    job = kind_of(wanted.kind or usual_kind(puzzle_class(spec.name, spec.digest)))
    words = dict(wanted.model_extra or {}) | words
    try:
        asked: Asked = validate_call(job.parse_request, config=_STRICT)(spec, **words)  # type: ignore[call-overload]
    except ValidationError as error:
        raise RequestValidationError([fault | {"loc": ("body", *fault["loc"])} for fault in error.errors()]) from None
    return asked


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


@router.post("/{run}/cancel", summary="Cancel a run; its results stay.")
def cancel(opened: Runs, run: RunName) -> dict[str, Any]:
    """Only `resume` continues it."""
    directory = opened.find(run)
    return {"run": directory.name, "status": cancel_run(directory, opened.books)}


@router.post("/{run}/resume", status_code=HTTPStatus.ACCEPTED, summary="Continue a stopped run from its last commit.")
def resume(opened: Runs, run: RunName) -> dict[str, Any]:
    """Queues the run for the coordinator."""
    directory = opened.find(run)
    opened.require_admitted(directory)
    queue_again(directory, opened.books)
    return _row(opened, directory.name)


def _row(opened: OpenRuns, name: str) -> dict[str, Any]:
    found = opened.status(opened.find(name))
    return status_row(found) | {"stored_bytes": found.state.stored_bytes}
