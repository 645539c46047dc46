"""HTTP as clients should speak it and as they should not: what a connection sends, drawn from a grammar by chance."""

from random import Random

from campaigns.mayhem.mutation import mutated
from tests.support.web import TOKEN

_METHODS = (b"GET",) * 30 + (b"HEAD", b"OPTIONS", b"PUT", b"get", b"G\0T", b"CONNECT", b"PRI", b"", b"X" * 99, b"\x80")
_VERSIONS = (
    b"HTTP/1.1",) * 30 + ( b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/9.9", b"http/1.1", b"HTTP/1.", b"",
    b"\xff",
)  # fmt: skip
_ENDS = (b"\r\n",) * 40 + (b"\n", b"\r", b"\r\r\n", b"\n\n", b"\0\r\n")
_PATHS = (
    b"/", b"/api/runs", b"/api/runs/%s", b"/api/runs/%s/layers", b"/api/runs/%s/layers/3?limit=5", b"/metrics",
    b"/docs", b"/api/runs/%s/path?to=farthest", b"/api/runs/%s/positions/.12/345", b"/api/runs/%s/export.csv",
    b"/api/puzzles", b"/api/runs/%s/map?dim=2", b"/api/runs/%s/hardest", b"/api/openapi.json",
    b"/api/boards/tiles.svg", b"/nothing", b"*", b"//evil.example/", b"http://evil.example/api/runs",
    b"/%%2e%%2e/%%2e%%2e/etc/passwd", b"/api/runs/%%00", b"/%%", b"/api/runs/%%ff%%fe?%%", b"?", b"#x",
    b"/\xc3\xa9", b"/a b", b"[", b"http://[", b":80", b"/api/logout",
)  # fmt: skip
_SHOWN = b"Authorization: Bearer " + TOKEN.encode()
_LINES = (
    b"Host: 127.0.0.1", b"Host: evil.example", b"Host: [", b"Host: ", b"Authorization: Bearer x",
    b"Authorization: \xff", b"Cookie: hakoiri-8080=x", b"Cookie: " + b'a="' + b"\\" * 900, b"Origin: http://[",
    b"Origin: null", b"X:", b": x", b"X", b"Sec-Fetch-Site: cross-site", b"Sec-Fetch-Site: x", b"Connection: close",
    b"Connection: upgrade", b"Upgrade: websocket", b"Upgrade: h2c", b"Expect: 100-continue", b"Expect: x",
    b"Range: bytes=0-", b"Range: bytes=>", b"Range: bytes=9-1,-5,x", b"If-None-Match: *", b"If-None-Match: \"x",
    b"Last-Event-ID: 9-9-9", b"X-Forwarded-Proto: https", b"X\0: x", b"X : x", b" folded", b"\tfolded", b"X: \x01",
    b"X: \x80", b"Content-Type: application/json", b"Accept-Encoding: \0", b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: chunked, x", b"Transfer-Encoding:", b"Trailer: Host",
)  # fmt: skip
_LENGTHS = (b"0", b"5", b"5", b"-1", b"+5", b"5, 5", b"5 6", b"0x5", b"", b"9" * 30, b"1048577", b"\xb2")
_SIZES = (
    b"0", b"5", b"5", b"-1", b"fffffffffffffffff", b"5;x=y", b"5;" + b"x" * 999, b" 5", b"", b"5 ", b"g",
    b"7fffffff",
)  # fmt: skip
_BODIES = (b"", b"{}", b"hello", b'{"puzzle": "tiles"}', b"[" * 999, b"\0\xff", b'{"puzzle": ')
#: One of so many headers is far too long, or there are far too many.
_SELDOM = 150


def request(names: list[str], chance: Random) -> bytes:
    """One request, right or wrong in any of its parts, of a client that knows the token or does not."""
    path = chance.choice(_PATHS)
    path = path % chance.choice(names).encode() if b"%s" in path else path.replace(b"%%", b"%")
    space = chance.choice((b" ",) * 40 + (b"", b"  ", b"\t"))
    head = [chance.choice(_METHODS) + space + path + space + chance.choice(_VERSIONS)]
    head += [b"Host: 127.0.0.1"] * (chance.random() < 0.95) + [_SHOWN] * (chance.random() < 0.8)
    head += chance.choices(_LINES, k=chance.choice((0, 0, 0, 1, 1, 2, 5)))
    if chance.randrange(_SELDOM) == 0:
        head += [b"X: " + b"x" * chance.choice((60_000, 70_000, 300_000))]
    if chance.randrange(_SELDOM) == 0:
        head += [b"X: x"] * chance.choice((1_000, 20_000))
    body, length = b"", chance.random()
    if length < 0.3:
        body = chance.choice(_BODIES)
        right = b"%d" % len(body)
        head.append(b"Content-Length: " + (right if chance.random() < 0.6 else chance.choice(_LENGTHS)))
    if length < 0.05 or length > 0.85:
        head.append(b"Transfer-Encoding: chunked")
        body = _chunks(chance)
    end = chance.choice(_ENDS)
    return b"".join(line + end for line in head) + end + body


def _chunks(chance: Random) -> bytes:
    """The chunks of a body, some of them of another size than they say, and trailers."""
    sent = b""
    for _ in range(chance.randrange(4)):
        content = chance.choice(_BODIES)
        size = b"%x" % len(content) if chance.random() < 0.7 else chance.choice(_SIZES)
        sent += size + chance.choice(_ENDS) + content + chance.choice(_ENDS)
    sent += chance.choice((b"0\r\n", b"0\r\n", b"00000\r\n", b"0;x\r\n", b""))
    return sent + b"".join(line + b"\r\n" for line in chance.choices(_LINES, k=chance.choice((0, 0, 1, 3)))) + b"\r\n"


def stream(names: list[str], chance: Random) -> list[bytes]:
    """Return the pieces that a connection sends: one request or several, some of them spoiled or cut off."""
    raw = b"".join(request(names, chance) for _ in range(chance.choice((1, 1, 1, 2, 3, 40))))
    if chance.random() < 0.2:
        raw = mutated(raw, chance)
    if chance.random() < 0.1:
        raw = raw[: chance.randrange(len(raw) + 1)]
    cuts = sorted(chance.randrange(len(raw) + 1) for _ in range(chance.choice((0, 0, 0, 1, 3, 12))))
    return [raw[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
