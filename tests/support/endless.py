"""What clients without a token send that never ends, and as many sockets as they have."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from tests.system.web_servers import TOKEN

HEAD = b"GET /api/puzzles HTTP/1.1\r\nHost: 127.0.0.1\r\n"
SHOWN = HEAD + f"Authorization: Bearer {TOKEN}\r\n".encode()
CHUNKED = b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
#: Ten times what sockets hold on their way: the rest is sent only if the server takes it in.
MUCH = 20_000_000
#: What never ends: its beginning, and what comes again and again.
ENDLESS = {
    "a header": (HEAD + b"X: ", b"x" * 65_536),
    "a name": (HEAD + b"X", b"x" * 65_536),
    "headers": (HEAD, b"X: x\r\n" * 10_000),
    "an address": (b"GET /", b"x" * 65_536),
    "a query": (b"GET /?", b"x=1&" * 16_384),
    "line ends": (b"", b"\r\n" * 32_768),
    "a chunk's extension": (CHUNKED + b"1;", b"x" * 65_536),
    "trailers": (CHUNKED + b"0\r\n", b"X: x\r\n" * 10_000),
    "requests": (b"", (HEAD + b"\r\n") * 1_000),
}


@contextmanager
def many_files() -> Iterator[None]:
    """For as many sockets as an attacker has."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4_096, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
