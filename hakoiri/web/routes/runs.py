"""Runs: listed, made, and their life."""

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from coordinator.runs.catalogue import cancel_run, delete_run, queue_again
from coordinator.runs.create import make_planned, plan_run
from coordinator.session.resources import Resources
from hakoiri.rows.runs import status_row
from hakoiri.web.asking import Runs, named_puzzle
from hakoiri.web.opened import OpenRuns
from puzzles.registry import PuzzleSpec
from storage.names import created_at

router = APIRouter(prefix="/api/runs", tags=["runs"])

_Text = Annotated[str, Field(max_length=10_000)]


class NewRun(BaseModel):
    """What is to be explored, by the names that the answers have, too. What a kind of run needs besides is its `plan`.

    `limits` say how far a run goes that may be extended later.
    """

    model_config = ConfigDict(extra="forbid")

    puzzle: Annotated[str, Field(max_length=200, examples=["klotski"])]
    options: dict[_Text, _Text] = {}
    start: _Text | None = None
    mode: Annotated[str, Field(max_length=40)] | None = None
    until_goal: bool = False
    merge_mirrors: bool = False
    name: Annotated[str, Field(max_length=64)] | None = None
    plan: dict[_Text, Any] = {}
    limits: dict[_Text, Any] = {}


@router.get("", summary="The runs, the newest first.")
def runs(
    opened: Runs,
    status: str | None = None,
    puzzle: str | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str | None, Query(max_length=100, description="The last run of the page before.")] = None,
) -> dict[str, Any]:
    """`next` is the `after` of the next page, or null."""
    names = sorted(opened.directories(), key=lambda directory: (created_at(directory), directory.name), reverse=True)
    if after is not None:
        names = names[1 + next((place for place, found in enumerate(names) if found.name == after), len(names)) :]
    found: list[dict[str, Any]] = []
    for directory in names:
        row = status_row(opened.status(directory))
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
    """The same `Idempotency-Key` again gives the same run, also after a restart."""
    spec = named_puzzle(request, wanted.puzzle, wanted.options, wanted.start)
    spec = PuzzleSpec(spec.name, spec.options, spec.start, wanted.merge_mirrors, spec.digest)
    plan = dict(wanted.plan) | ({"until_goal": True} if wanted.until_goal else {})
    manifest = plan_run(opened.data, spec, wanted.mode, plan, Resources(), wanted.name)
    directory = make_planned(opened.data, manifest, True, wanted.limits)
    response.headers["Location"] = f"/api/runs/{directory.name}"
    return status_row(opened.status(directory))


@router.get("/{run}", summary="How a run stands.")
def status(opened: Runs, run: str) -> dict[str, Any]:
    """The JSON of `status`, with the run's digest."""
    return _row(opened, run)


@router.delete("/{run}", summary="Remove a run and all its data.")
def delete(opened: Runs, run: str) -> dict[str, Any]:
    """Refused while somebody drives it."""
    directory = opened.find(run)
    opened.release(directory)
    delete_run(directory)
    return {"runs": [directory.name], "status": "deleted"}


@router.post("/{run}/cancel", summary="Stop a run; what it has found stays.")
def cancel(opened: Runs, run: str) -> dict[str, Any]:
    """Only resume takes it up again."""
    directory = opened.find(run)
    return {"run": directory.name, "status": cancel_run(directory, opened.books)}


@router.post("/{run}/resume", status_code=HTTPStatus.ACCEPTED, summary="Go on with a run that has stopped.")
def resume(opened: Runs, run: str) -> dict[str, Any]:
    """From its last commit; the coordinator takes it up."""
    directory = opened.find(run)
    queue_again(directory, opened.books)
    return _row(opened, directory.name)


def _row(opened: OpenRuns, name: str) -> dict[str, Any]:
    found = opened.status(opened.find(name))
    return status_row(found) | {"digest": found.state.digest, "stored_bytes": found.state.stored_bytes}
