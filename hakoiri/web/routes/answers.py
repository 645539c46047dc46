"""Routes for a run's results: layers, components, distances, paths, goal distances, solutions, plays, tables.

Also for runs as files for other programs, for maps of components, and for long questions, `verify` among them.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from inspect import Parameter, Signature
from itertools import islice
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_type_hints

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from hakoiri.api import Run
from hakoiri.coordinator.graphs.distances import RUN_FROM
from hakoiri.export.graphs import ENDING
from hakoiri.keys.layout import ints
from hakoiri.questions.question import Question, Route
from hakoiri.questions.registry import QUESTIONS, question_class
from hakoiri.rows import answers
from hakoiri.rows.positions import SMALL, picture_row, play_row
from hakoiri.rows.puzzles import key_text
from hakoiri.run.paths import FARTHEST, GOAL
from hakoiri.web.asking import Asked, AskedRun, RunName, Runs, computed, pending
from hakoiri.web.routes.runs import LOOK_SECONDS, Streams, event
from hakoiri.worker.graphs.searches import MOST_VERTICES

router = APIRouter(prefix="/api/runs/{run}", tags=["answers"])

_End = Annotated[str, Query(max_length=10_000)]
_Begin = Annotated[str | None, Query(alias="from", max_length=10_000)]


def _endpoint(kind: type[Question], route: Route) -> Callable[..., Response]:
    """Return the function of a route: its parameters are those fields of the question that clients may set."""

    def answer(asked: Asked, **given: Any) -> Response:
        return asked.ask(kind(**given))

    hints = get_type_hints(kind)
    parameters = [Parameter("asked", Parameter.KEYWORD_ONLY, annotation=AskedRun)]
    for name, told in route.query.items():
        more = dict(told)
        default = more.pop("default", Parameter.empty if f"/{{{name}}}" in route.path else None)
        hint = hints[name] if default is None else _without_none(hints[name])
        place = Path if default is Parameter.empty else Query
        parameters.append(
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, place(**more)])
        )
    answer.__name__, answer.__doc__ = route.name, route.text
    answer.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return answer


def _without_none(hint: Any) -> Any:
    """Return the type of a value that is always given."""
    return next((each for each in get_args(hint) if each is not NoneType), hint)


for _question in QUESTIONS:
    for _route in (_kind := question_class(_question)).routes:
        if _route.begins:
            computed(router, _route.path, _route.summary)(_endpoint(_kind, _route))
        else:
            router.get(_route.path, summary=_route.summary)(_endpoint(_kind, _route))


@computed(router, "/components", "The components, the largest first, with their exact distances.")
def components(asked: AskedRun, limit: Annotated[int, Query(ge=1, le=10_000)] = 100) -> Response:
    """Components of a directed puzzle have no distances. A long question if a large run must be measured first."""
    with asked.opened() as run:
        if _is_unmeasured(run):
            return pending(asked.long("components"))
        row = answers.components_row(run, limit)
        return asked.answer(run, row, all(map(_is_settled, row["components"])))


@computed(router, "/components/strong", "The strong components: in one, every configuration reaches every other.")
def strong(asked: AskedRun, limit: Annotated[int, Query(ge=1, le=10_000)] = 100) -> Response:
    """Only for directed puzzles. A long question for a large run."""
    with asked.opened() as run:
        if is_long(run):
            return pending(asked.long("components", strong=True, limit=limit))
        return asked.answer(run, answers.strong_row(run, run.strong_components(), limit))


@computed(router, "/components/{component}", "One component.")
def component(asked: AskedRun, component: Annotated[int, Path(ge=0, le=MOST_VERTICES)]) -> Response:
    """Return a component as in the list of all."""
    with asked.opened() as run:
        if _is_unmeasured(run):
            return pending(asked.long("diameter", component=component))
        row = answers.one_component_row(run, component)
        return asked.answer(run, row, _is_settled(row))


@computed(router, "/components/{component}/diameter", "The exact diameter, and the pairs that attain it.")
def diameter(
    asked: AskedRun,
    component: Annotated[int, Path(ge=0, le=MOST_VERTICES)],
    every: Annotated[bool, Query(alias="all", description="Compute the eccentricity of each configuration.")] = False,
) -> Response:
    """A long question for a large run that is not a census, and with `all` for any large run.

    For `all` of a large component, POST queues a run of its own: 202, with its address in `Location`.
    """
    with asked.opened() as run:
        run.component_asked(component)
        if run.known_diameter(component, every) is None:
            if every and not run.may_be_symmetry(component) and run.needs_run(component, every):
                return asked.queued(run.eccentricity_run(component), every=every)
            if is_long(run, not run.is_census) or (every and _is_large(run)):
                return pending(asked.long("diameter", component=component, all=every))
        row = answers.diameter_row(run, run.diameter(component, every=every))
        return asked.answer(run, row, _is_settled(row))


@computed(router, "/distance", "The number of moves between two configurations.")
def distance(asked: AskedRun, to: _End = "goal", source: _Begin = None) -> Response:
    """`to` may be `goal` or `farthest`; `from` is by default the start of the run."""
    return _path(asked, to, source)


@computed(router, "/path", "A shortest path between two configurations.")
def path(asked: AskedRun, to: _End = "goal", source: _Begin = None) -> Response:
    """`to` may be `goal` or `farthest`. A long question for a large run if `from` is not its start."""
    return _path(asked, to, source)


def _path(asked: Asked, to: str, source: str | None) -> Response:
    with asked.opened() as run:
        begin = None if source is None else run.puzzle.parse(source)
        if is_long(run, run.is_census or begin not in (None, run.puzzle.start), SMALL):
            end = to if to in (GOAL, FARTHEST) else key_text(run.puzzle, run.puzzle.parse(to))
            source = None if begin is None else key_text(run.puzzle, begin)
            return pending(asked.long("path", to=end, from_=source))
        return asked.answer(run, answers.path_row(run.path(to, source)))


@computed(router, "/statistics", "The statistics of a board: its shortest solutions, forced moves, idle pieces.")
def statistics(asked: AskedRun, source: _Begin = None) -> Response:
    """`from` is by default the start of the run. A long question for a large run."""
    with asked.opened() as run:
        if is_long(run, most=SMALL):
            begin = None if source is None else key_text(run.puzzle, run.puzzle.parse(source))
            return pending(asked.long("path", statistics=True, from_=begin))
        return asked.answer(run, answers.statistics_row(run, source))


@computed(router, "/hardest", "The configurations farthest from their nearest goal.")
def hardest(
    request: Request, opened: Runs, run: RunName, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Response:
    """If goal distances are unknown, POST queues a run that finds them: 202, with its address in `Location`."""
    asked = Asked(request, run, opened.base(run))
    with asked.opened() as found:
        found.require_goals()
        if found.known_distances() is not None:
            return asked.answer(found, answers.hardest_row(found, found.hardest(limit)))
        return asked.queued(found.distances_run())


@router.get("/summary", summary="All results of a run: the JSON of `run`, and its tables.")
def summary(asked: AskedRun) -> Response:
    """The tables of a study, a hunt or an optimisation grow while it is running."""
    with asked.opened() as run:
        tables = [table._asdict() for table in run.kind(run.store, run.puzzle).tables()]
        return asked.answer(run, run.summary() | {"tables": tables})


@router.get("/solutions", summary="The stored solutions of a tree, one per orbit.")
def solutions(asked: AskedRun, limit: Annotated[int, Query(ge=1, le=200)] = 24) -> Response:
    """Return solutions in increasing order, each with its picture."""
    with asked.opened() as run:
        keys = list(islice((key for batch in run.solutions() for key in ints(batch)), limit))
        row: dict[str, Any] = {
            "orbits": run.store.state.figures.get("orbits"),
            "symmetries": run.tree.symmetries,
            "solutions": [run.tree.render(key) for key in keys],
            "pictures": [picture_row(run.tree.picture(key)) for key in keys],
        }
        return asked.answer(run, row)


@router.get("/play", summary="The best play of a run whose moves score, board by board.")
def play(asked: AskedRun, limit: Annotated[int, Query(ge=1, le=500)] = 200) -> Response:
    """Return the first `limit` boards of a long play."""
    with asked.opened() as run:
        return asked.answer(run, play_row(run, limit))


def _is_settled(component: Mapping[str, Any]) -> bool:
    """Return whether its distances are known; later questions may find them."""
    return component["radius"] is not None


def _is_unmeasured(run: Run) -> bool:
    """Return whether the only component of a search from a start is unmeasured, and takes long to measure."""
    return is_long(run, run.puzzle.undirected and not run.is_census) and run.known_diameter(0, False) is None


def _is_large(run: Run) -> bool:
    """Return whether every eccentricity of some component takes long."""
    return is_long(run, most=SMALL) or run.components(1)[0].size >= RUN_FROM


def is_long(run: Run, searches: bool = True, most: int = RUN_FROM) -> bool:
    """Return whether a question that `searches` the whole run takes long: with more than `most` configurations."""
    return searches and run.store.state.figures.get("configurations", 0) > most


_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "npz": "application/zip",
    "graphml": "application/graphml+xml",
    "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf",
}


@computed(router, "/export.{ending}", "All configurations as a file, with their moves if the format has moves.")
def export(asked: AskedRun, ending: Literal["csv", "npz", "graphml", "parquet", "pdf"]) -> Response:
    """POST writes the file: 202, with an address to poll in `Location`. GET supports `Range`.

    A .pdf has boards to print, with their solutions.
    """
    return asked.file(_TYPES[ending], "export", ending)


@computed(router, "/map", "The map of a component: its state graph laid out.", response_class=Response)
def map_of(
    asked: AskedRun,
    component: Annotated[int | None, Query(ge=0, le=MOST_VERTICES, description="By default that of the start.")] = None,
    axes: Annotated[int, Query(alias="dim", ge=2, le=3)] = 3,
) -> Response:
    """POST computes the binary file (`hakoiri.export.graphs`): 202, with an address to poll in `Location`."""
    with asked.opened() as run:
        number = run.mapped_component(component)
    return asked.file("application/octet-stream", "map", ENDING, component=number, dim=axes)


questions = APIRouter(prefix="/api/runs/{run}", tags=["long questions"])

_Number = Annotated[str, Path(max_length=32)]


@questions.post("/verify", status_code=HTTPStatus.ACCEPTED, summary="Verify a run: derive its results again.")
def verify(asked: AskedRun, full: bool = False) -> Response:
    """A long question; `full` checks every configuration instead of a sample."""
    return pending(asked.long("verify", full=full))


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

    return streams.answer(look)
