"""Routes for a run's answers, made from the questions of `hakoiri.questions`.

Also for runs as files for other programs, for maps of components, and for long questions, `verify` among them.
"""

from collections.abc import Callable
from http import HTTPStatus
from inspect import Parameter, Signature
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_type_hints

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from hakoiri.export.graphs import ENDING
from hakoiri.questions.question import QUESTIONS, Long, Question, Route, question_class
from hakoiri.web.asking import Asked, AskedRun, computed, pending
from hakoiri.web.routes.runs import LOOK_SECONDS, Streams, event
from hakoiri.worker.graphs.searches import MOST_VERTICES

router = APIRouter(prefix="/api/runs/{run}", tags=["answers"])


def _endpoint(kind: type[Question], route: Route) -> Callable[..., Response]:
    """Return the function of a route: its parameters are those fields of the question that clients may set."""

    def answer(asked: Asked, **given: Any) -> Response:
        return asked.ask(kind(**given))

    hints = get_type_hints(kind)
    parameters = [Parameter("asked", Parameter.KEYWORD_ONLY, annotation=AskedRun)]
    for name, told in route.query.items():
        more = dict(told)
        default = more.pop("default", Parameter.empty if f"/{{{name}}}" in route.path else None)
        hint = hints[name]
        if default is not None:
            # The type of a value that is always given.
            hint = next((each for each in get_args(hint) if each is not NoneType), hint)
        place = Path if default is Parameter.empty else Query
        parameters.append(
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, place(**more)])
        )
    answer.__name__, answer.__doc__ = route.name, route.text
    answer.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return answer


for _kind in map(question_class, QUESTIONS):
    if (_route := _kind.route) is not None:
        computed(router, _route.path, _route.summary, _route.begins)(_endpoint(_kind, _route))


_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "npz": "application/zip",
    "graphml": "application/graphml+xml",
    "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf",
    "html": "text/html; charset=utf-8",
}


@computed(router, "/export.{ending}", "All configurations as a file, with their moves if the format has moves.")
def export(asked: AskedRun, ending: Literal["csv", "npz", "graphml", "parquet", "pdf", "html"]) -> Response:
    """POST writes the file: 202, with an address to poll in `Location`. GET supports `Range`.

    A .pdf has boards to print, with their solutions; an .html is a page to play.
    """
    return asked.file(_TYPES[ending], Long("export", {}), ending)


@computed(router, "/film.gif", "A film of a shortest path to the nearest goal.", response_class=Response)
def film(asked: AskedRun, source: Annotated[str, Query(alias="from", max_length=10_000)]) -> Response:
    """POST writes the film: 202, with an address to poll in `Location`."""
    with asked.opened() as run:
        key = run.puzzle.layout.text(run.puzzle.parse(source))
    return asked.file("image/gif", Long("path", {"from": key}), "gif")


@computed(router, "/map", "The map of a component: its state graph laid out.", response_class=Response)
def map_of(
    asked: AskedRun,
    component: Annotated[int | None, Query(ge=0, le=MOST_VERTICES, description="By default that of the start.")] = None,
    axes: Annotated[int, Query(alias="dim", ge=2, le=3)] = 3,
) -> Response:
    """POST computes the binary file (`hakoiri.export.graphs`): 202, with an address to poll in `Location`."""
    with asked.opened() as run:
        number = run.mapped_component(component)
    return asked.file("application/octet-stream", Long("map", {"component": number, "dim": axes}), ENDING)


questions = APIRouter(prefix="/api/runs/{run}", tags=["long questions"])

_Number = Annotated[str, Path(max_length=32)]


@questions.post("/verify", status_code=HTTPStatus.ACCEPTED, summary="Verify a run: derive its results again.")
def verify(asked: AskedRun, full: bool = False) -> Response:
    """A long question; `full` checks every configuration instead of a sample."""
    return pending(asked.long(Long("verify", {"full": full})))


@questions.get("/questions/{number}", summary="The status of a long question, and its answer.")
def question(asked: AskedRun, number: _Number) -> dict[str, Any]:
    """`status` is `running`, `answered` or `failed`."""
    return asked.question(number).row()


@questions.delete("/questions/{number}", summary="Stop a long question.")
def stop(asked: AskedRun, number: _Number) -> dict[str, Any]:
    """Proved bounds of a diameter are kept, and the same question continues from them."""
    found = asked.question(number)
    found.stop()
    return found.row()


@questions.get(
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

    return streams.answer(request, look)
