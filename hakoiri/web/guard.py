"""The guard: checks of every request before it is handled, headers of every response, and the pass of a browser.

* Host names this server: else a foreign page could resolve its own name to it (DNS rebinding). A name of a rebinding
  attack is never an IP address, so those pass.
* Origin and Sec-Fetch-Site, if a browser sends them, are those of this server: no other page may send requests for
  its reader, nor query the interface by an image or a link.
* The token comes as ``Authorization: Bearer``, as a pass derived from it in a cookie, or once in the address. The
  address is then replaced by one without the token, and the pass is set.
"""

import asyncio
import hmac
import ipaddress
import logging
import posixpath
import time
from collections.abc import Iterable
from hashlib import sha256
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hakoiri.web.problems import problem
from hakoiri.web.server import KNOWN
from hakoiri.web.settings import Settings

_SEPARATOR = "."


class Passes:
    """Makes and checks the passes of a server; a stolen pass does not reveal the token."""

    def __init__(self, settings: Settings) -> None:
        self._token, self._seconds = settings.token, settings.pass_seconds
        # Cookies belong to a host, whatever the port.
        self._cookie = f"hakoiri-{settings.port}"
        #: Tells scripts of the page that there is a pass.
        self._mark = f"{self._cookie}-in"

    def admits(self, headers: Headers) -> bool:
        """Return whether a request carries a pass of this server that has not expired."""
        # IMPORTANT: parsed by hand. The standard library's parser of cookies takes quadratic time.
        parts = (part.strip().partition("=") for line in headers.getlist("cookie") for part in line.split(";"))
        # A browser sends one, or two for different paths; a signature is computed for each.
        passes = islice((value for name, _, value in parts if name == self._cookie), 2)
        return any(map(self._is_valid, passes))

    def give(self, response: Response, headers: Headers) -> None:
        """Put a new pass into a response; over TLS, also that of a proxy, it is never sent unencrypted."""
        expires = f"{int(time.time()) + self._seconds:x}"
        content = f"{expires}{_SEPARATOR}{self._signed(expires)}"
        self._set(response, headers, content, self._seconds)

    def take(self, response: Response, headers: Headers) -> None:
        """Make the browser delete its pass."""
        self._set(response, headers, "", 0)

    def _set(self, response: Response, headers: Headers, content: str, seconds: int) -> None:
        # A forged header only makes the forger's own cookie stricter.
        secure = headers.get("x-forwarded-proto", "").lower() == "https"
        for name, value, hidden in ((self._cookie, content, True), (self._mark, "1", False)):
            response.set_cookie(name, value, seconds, secure=secure, httponly=hidden, samesite="strict")

    def _is_valid(self, content: str) -> bool:
        expires, _, signature = content.partition(_SEPARATOR)
        if not hmac.compare_digest(signature.encode(), self._signed(expires).encode()):
            return False
        return int(expires, 16) > time.time()

    def _signed(self, expires: str) -> str:
        return hmac.new(self._token.encode(), f"cookie {expires}".encode(), sha256).hexdigest()


LOG = logging.getLogger("hakoiri.web")
_MOST_BODY, _MOST_ADDRESS = 1 << 20, 16_384
_SEND_SECONDS = 30.0
_TOO_LONG = f"a body has {_MOST_BODY:,} bytes at most"
_SAFE = ("GET", "HEAD", "OPTIONS")
#: Paths that foreign pages may not request, whatever the method.
_ASKED = ("/api/", "/metrics")
_FOREIGN = ("cross-site", "same-site")
_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
#: The page of the interface's description is third-party and sets styles in its elements.
_POLICY_OF_DOCS = f"{_POLICY}; style-src 'self' 'unsafe-inline'"
_DOCS = "/docs"
_REFUSAL = "show the token: open the address that the server printed, or send it as Authorization: Bearer"
#: The page of a browser without the token, and what it may load without one.
_ENTRANCE, _OPEN = Path(__file__).with_name("static") / "token.html", "/style/"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """An application behind its guard."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._token, self._names, self._settings = app, settings.token, settings.names, settings
        self._passes = Passes(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        begun, sent = time.perf_counter(), _Sent(scope, send)
        try:
            await self._answer(scope, receive, sent)
        finally:
            method, path, seconds = scope["method"], scope["path"], time.perf_counter() - begun
            LOG.info("%s %s %s %.1f ms", method, _printable(path), sent.status, 1000 * seconds)
            scope["app"].state.metrics.count(method, sent.status, seconds)

    async def _answer(self, scope: Scope, receive: Receive, sent: "_Sent") -> None:
        answer = self._refusal(scope) or self._without_token(scope)
        if answer is not None:
            await answer(scope, receive, sent)
            return
        if KNOWN in scope:
            scope[KNOWN]()
        body, seconds = _Body(scope, receive, sent, self._settings.body_seconds), self._settings.answer_seconds
        late = asyncio.get_running_loop().call_later(seconds, sent.give_up, receive, seconds)
        try:
            await self._app(scope, body, sent)
        except (TimeoutError, ClientDisconnect):
            # The client did not read the response, or has left; uvicorn closes the connection.
            pass
        except Exception:
            LOG.exception("%s %s: this is a mistake in Hakoiri", scope["method"], _printable(scope["path"]))
            mistake = problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error of Hakoiri; see its log")
            await sent.refuse(mistake, receive)
        finally:
            late.cancel()

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        if len(scope["query_string"]) + len(scope["raw_path"] or b"") > _MOST_ADDRESS:
            return problem(HTTPStatus.REQUEST_URI_TOO_LONG, f"the address is longer than {_MOST_ADDRESS:,} bytes")
        host = headers.get("host", "")
        if not self._is_mine(host):
            return problem(HTTPStatus.MISDIRECTED_REQUEST, "the name in Host is not a name of this server")
        foreign = headers.get("sec-fetch-site") in _FOREIGN
        if foreign and not scope["path"].startswith(_ASKED):
            # A foreign link may lead to the page.
            foreign = scope["method"] not in _SAFE
        if foreign or not _is_of(headers.get("origin"), host):
            return problem(HTTPStatus.FORBIDDEN, "requests from pages of another origin are refused")
        return None

    def _is_mine(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name in self._names:
                return True
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _without_token(self, scope: Scope) -> ASGIApp | None:
        """Return the response to a request without the token, or with the token in its address."""
        # The path as files are found by it: without "..".
        if not self._token or posixpath.normpath(scope["path"].replace("\\", "/")).startswith(_OPEN):
            return None
        headers = Headers(scope=scope)
        kind, _, shown = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(shown.strip(), self._token):
            return None
        if self._passes.admits(headers):
            return self._moved(scope, _queried(scope)) if scope["method"] == "GET" else None
        found = _queried(scope)
        if scope["method"] == "GET" and any(_same(value, self._token) for name, value in found if name == "token"):
            return self._moved(scope, found)
        refusal: Response = problem(HTTPStatus.UNAUTHORIZED, _REFUSAL, "token")
        if scope["method"] == "GET" and "text/html" in headers.get("accept", ""):
            page = _ENTRANCE.read_text("utf-8")
            wrong = any(name == "token" for name, _ in found)
            refusal = HTMLResponse(page.replace(" hidden>", ">") if wrong else page, HTTPStatus.UNAUTHORIZED)
        refusal.headers["WWW-Authenticate"] = 'Bearer realm="hakoiri"'
        return refusal

    def _moved(self, scope: Scope, query: list[tuple[str, str]]) -> ASGIApp | None:
        """Return a redirect to the address without the token, which goes into the cookie; ``None`` if it has none."""
        if all(name != "token" for name, _ in query):
            return None
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        # With several slashes the path would be read as the name of another server.
        path = "/" + scope["path"].lstrip("/\\")
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, HTTPStatus.SEE_OTHER)
        self._passes.give(answer, Headers(scope=scope))
        return answer


class _Body:
    """The body of a request, as it comes; one that is too long or too slow is refused, and ends there.

    To the application, which may have begun to respond, such a client appears to have disconnected.
    """

    def __init__(self, scope: Scope, receive: Receive, sent: "_Sent", seconds: float) -> None:
        self._receive, self._sent, self._taken, self._done = receive, sent, 0, False
        self._seconds, self._until = seconds, asyncio.get_running_loop().time() + seconds
        length = Headers(scope=scope).get("content-length", "0")
        self._announced = int(length) if length.isdecimal() else 0

    async def __call__(self) -> Message:
        if self._done:
            return await self._receive()
        if self._announced > _MOST_BODY:
            return await self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LONG)
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            return await self._refuse(HTTPStatus.REQUEST_TIMEOUT, f"the body took more than {self._seconds:.0f} s")
        self._taken += len(message.get("body", b""))
        self._done = not message.get("more_body", False)
        if self._taken > _MOST_BODY:
            return await self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LONG)
        return message

    async def _refuse(self, status: HTTPStatus, detail: str) -> Message:
        await self._sent.refuse(problem(status, detail), self._receive)
        return {"type": "http.disconnect"}


class _Sent:
    """A response in progress, with the headers of every response. A client that reads too slowly is dropped."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send, self.status = scope, send, 0
        self._refused = False
        # A reference, or the loop may collect the task.
        self._late: asyncio.Task[None] | None = None

    def give_up(self, receive: Receive, seconds: float) -> None:
        """Respond that there is no answer, unless a response has begun; a thread still at work cannot be stopped."""
        late = problem(HTTPStatus.SERVICE_UNAVAILABLE, f"no answer within {seconds:.0f} s")
        self._late = asyncio.get_running_loop().create_task(self.refuse(late, receive))

    async def refuse(self, answer: ASGIApp, receive: Receive) -> None:
        """Send this response in place of the application's, unless that has begun."""
        if not self.status and not self._refused:
            self._refused = True
            await answer(self._scope, receive, self._pass_on)

    async def __call__(self, message: Message) -> None:
        if not self._refused:
            await self._pass_on(message)

    async def _pass_on(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            policy = _POLICY_OF_DOCS if self._scope["path"].startswith(_DOCS) else _POLICY
            for name, value in (_HEADERS | {"Content-Security-Policy": policy}).items():
                headers.setdefault(name, value)
            if self._scope["path"].startswith("/api/"):
                headers.setdefault("Cache-Control", "no-store")
        async with asyncio.timeout(_SEND_SECONDS):
            await self._send(message)


def _is_of(origin: str | None, host: str) -> bool:
    """Return whether an origin, if sent, is that of this server."""
    try:
        return origin is None or urlsplit(origin).netloc == host
    except ValueError:
        return False


def _same(shown: str, wanted: str) -> bool:
    return hmac.compare_digest(shown.encode(), wanted.encode())


def _queried(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _printable(path: Iterable[str]) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in path)
