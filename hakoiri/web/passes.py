"""The pass that a browser keeps in a cookie in place of the token: signed with the token, and valid for a week."""

import hmac
import time
from hashlib import sha256
from itertools import islice

from starlette.datastructures import Headers
from starlette.responses import Response

from hakoiri.web.settings import Settings

_PASS_SECONDS = 7 * 86_400
_SEPARATOR = "."


class Passes:
    """Makes and checks the passes of a server; a stolen pass does not reveal the token."""

    def __init__(self, settings: Settings) -> None:
        self._token = settings.token
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
        expires = f"{int(time.time()) + _PASS_SECONDS:x}"
        content = f"{expires}{_SEPARATOR}{self._signed(expires)}"
        self._set(response, headers, content, _PASS_SECONDS)

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
