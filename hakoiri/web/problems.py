"""Errors as problem details (RFC 9457), with hints as data, as text and, if possible, as a request."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.responses import Response

from hakoiri.errors import OUTCOMES, HakoiriError, Hint, outcome_of
from hakoiri.hints import in_command_line

#: With every 503: the seconds after which to try again.
LATER = {"Retry-After": "1"}
#: Hints that are a request: method and path.
_REQUESTS: dict[str, tuple[str, str]] = {
    "resume": ("POST", "/api/runs/{}/resume"),
    "wait": ("GET", "/api/runs/{}/events"),
    "cancel": ("POST", "/api/runs/{}/cancel"),
    "verify": ("POST", "/api/runs/{}/verify"),
    "delete": ("DELETE", "/api/runs/{}"),
    "status": ("GET", "/api/runs/{}"),
    "runs": ("GET", "/api/runs"),
    "run": ("POST", "/api/runs"),
}
_QUESTIONS = {"path": "path?to=goal", "farthest": "path?to=farthest", "diameter": "components/0/diameter"}


class Unchanged(Exception):  # noqa: N818
    """The client has the answer; `headers` identify it and give its lifetime."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__()
        self.headers = headers


class Unbegun(Exception):  # noqa: N818
    """GET of what has to be computed first; POST to `address` begins that."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address


def problem(
    status: int, detail: str, kind: str = "", hints: tuple[dict[str, Any], ...] = (), **more: Any
) -> JSONResponse:
    """Return a problem as a response; `kind` names the fault, such as ``unknown-run``."""
    title = HTTPStatus(status).phrase
    body = {"type": f"urn:hakoiri:{kind}" if kind else "about:blank", "title": title, "status": status}
    body |= {"detail": detail, "hints": list(hints)} | more
    headers = LATER if status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return JSONResponse(body, status, headers, "application/problem+json")


_FIELDS = {name: {"type": "string"} for name in ("type", "title", "detail")} | {
    "status": {"type": "integer"}, "hints": {"type": "array", "items": {"type": "object"}},
}  # fmt: skip
#: The responses to all errors, for the description of the interface.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {"application/problem+json": {"schema": {"type": "object", "properties": _FIELDS}}},
    }
    for status in sorted({401, 403, *(each.status for each in OUTCOMES.values())})
}


#: The application's handlers, which turn exceptions into responses.
HANDLERS: dict[int | type[Exception], Any] = {
    HakoiriError: lambda _, error: refused(error),
    Unchanged: lambda _, error: Response(status_code=HTTPStatus.NOT_MODIFIED, headers=error.headers),
    Unbegun: lambda _, error: _unbegun(error.address),
    MemoryError: lambda _, error: problem(HTTPStatus.INSUFFICIENT_STORAGE, str(error) or "not enough memory"),
    RequestValidationError: lambda _, error: _unfit(error),
    HTTPException: lambda _, error: _plain(error),
}


def refused(error: HakoiriError) -> JSONResponse:
    """Return the response to an error that Hakoiri raised on purpose."""
    return problem(outcome_of(type(error)).status, str(error), _name(type(error)), tuple(map(_hint, error.hints)))


def _unbegun(address: str) -> JSONResponse:
    hint = {"do": "ask", "what": "", "value": "", "text": f"POST {address}", "method": "POST", "href": address}
    detail = "this is not computed yet; POST to the same address starts it"
    return problem(HTTPStatus.CONFLICT, detail, "not-computed", hints=(hint,))


def _plain(error: HTTPException) -> JSONResponse:
    response = problem(error.status_code, str(error.detail))
    response.headers.update(error.headers or {})
    return response


def _unfit(error: RequestValidationError) -> JSONResponse:
    """Return the response to a request that does not match the interface."""
    faults = [{"at": ".".join(map(str, fault["loc"])), "fault": fault["msg"]} for fault in error.errors()]
    if isinstance(error.body, bytes):
        # FastAPI reads no body of another type.
        faults = [{"at": "body", "fault": "its type is not JSON; send it as Content-Type: application/json"}]
    detail = "; ".join(f"{fault['at']}: {fault['fault']}" for fault in faults)
    return problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, "request", faults=faults)


def _hint(hint: Hint) -> dict[str, Any]:
    row: dict[str, Any] = {"do": hint.do, "what": hint.what, "value": hint.value, "text": in_command_line(hint)}
    if hint.do == "ask" and (question := _QUESTIONS.get(hint.value)):
        return row | {"method": "POST", "href": f"/api/runs/{hint.what}/{question}"}
    if hint.do in _REQUESTS:
        method, path = _REQUESTS[hint.do]
        return row | {"method": method, "href": path.format(hint.what)}
    return row


def _name(kind: type[Exception]) -> str:
    """Return ``unknown-run`` for ``UnknownRunError``."""
    words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__)
    return words.strip("-").removesuffix("-error")
