"""Requests of any kind, made from the interface's own description, and requests that never end."""

import json
import resource
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.support.commands import ROOT
from tests.support.forged import BYTES, bounded, resident
from tests.support.web import TOKEN

METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
#: What is answered as it should be, though it sounds otherwise: nobody drives runs here, questions are many.
BUSY = (503, 507)
#: What no client can send has no status.
_NOT_SENT = 0
_WORDS = (
    "last", "", ".", "..", "/", "*", "-", "0", "1", "-1", "21", "99999999999999999999", "1e9", "true", "null", "0x0",
    "0x", "0xffffffffffffffffffffffff", ".12/345", "1.2/345", ".12/543", "AABB/C..D", "goal", "farthest", "complete",
    "tiles", "klotski", "gap", "nakuron", "magic-star", "sliding", "x.py:X", "rows=2", "metric=unit", "csv", "\0", "\n",
    "%2e%2e%2f", "/etc/passwd", "<script>", "é", "\U0001f600", "\udcff".encode("utf-8", "replace").decode(),
)  # fmt: skip
_TEXTS = st.sampled_from(_WORDS) | st.text(max_size=40)
_VALUES = st.recursive(
    _TEXTS | st.integers() | st.floats() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_FIELDS = (
    "puzzle", "options", "start", "kind", "until_goal", "merge_mirrors", "name", "sizes", "deals", "seed", "cap",
    "legs", "seconds", "rounds", "width", "strategy", "objective", "pool", "base", "diameters", "size",
    "pieces", "empty", "starts", "component", "every", "cosets", "to_depth", "definition", "priority",
)  # fmt: skip
_KINDS = (
    "explore", "census", "tree", "study", "sizes", "boards", "starts", "cosets", "generate", "hunt", "optimise",
    "hardest", "eccentricities",
)  # fmt: skip
#: Definitions by the name of their file: no more than their first letters.
_FILES = {
    path.name: path.read_text(encoding="utf-8")[:10_000]
    for path in sorted((ROOT / "examples" / "definitions").iterdir())
}
_KIND = {"kind": st.sampled_from(_KINDS)}
_DEFINITIONS = st.sampled_from([*_FILES.values()]) | _VALUES
_BODIES = st.fixed_dictionaries(
    {"puzzle": st.sampled_from(["tiles", "gap", "nakuron", "klotski", "magic-star", "x", *_FILES]) | _VALUES},
    optional=dict.fromkeys(_FIELDS[1:], _VALUES) | {"definition": _DEFINITIONS} | _KIND,
)
#: Bodies with a definition and the name of a file, mostly its own, and few other fields.
_DEFINED = st.one_of(
    [
        st.fixed_dictionaries(
            {"puzzle": st.just(name) | st.sampled_from([*_FILES]), "definition": st.just(text)},
            optional={
                "options": st.sampled_from([{"pieces": "identical"}, {"goal": "1"}, {"rows": "2"}]) | _VALUES,
                "merge_mirrors": st.booleans(), "priority": st.integers(-2_000, 2_000) | _VALUES,
            } | _KIND,
        )
        for name, text in _FILES.items()
    ]
)  # fmt: skip
_HEADERS = st.dictionaries(
    st.sampled_from(
        ["Range", "If-None-Match", "Last-Event-ID", "Idempotency-Key", "Content-Type", "Accept", "Cookie", "Origin",
         "Authorization", "Host", "Content-Length", "X-Forwarded-Host", "Transfer-Encoding"]
    ),
    st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=30),
    max_size=2,
)  # fmt: skip


@st.composite
def requests(draw: st.DrawFn, paths: dict[str, Any], names: list[str], methods: tuple[str, ...]) -> dict[str, Any]:
    """A request to one of the paths, as the description has it or not."""
    path = draw(st.sampled_from([path for path in paths if not path.endswith("/events")]))
    method = draw(st.sampled_from([*(method for method in paths[path] if method in methods)] * 4 + [*methods]))
    described = paths[path].get(method, {}).get("parameters", [])
    texts = st.sampled_from(names) | _TEXTS
    query: list[tuple[str, str]] = []
    for parameter in described:
        value = draw(texts)
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", quote(value, safe=draw(st.sampled_from(["", "/"]))))
        elif parameter["in"] == "query" and draw(st.booleans()):
            query.append((parameter["name"], value))
    body = draw(_BODIES | _DEFINED) if method == "post" else None
    content = json.dumps(body).encode() if body is not None else b""
    return {"method": method, "url": path, "params": query, "content": content, "headers": draw(_HEADERS)}


def _ask(client: TestClient, request: dict[str, Any]) -> int:
    """The status of the answer; a refusal says why in the interface's own form."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    headers |= {name: value.encode("latin-1") for name, value in request["headers"].items()}
    url = client.base_url.join("/") if not request["url"] else request["url"]
    try:
        asked = client.build_request(
            request["method"].upper(), url, params=request["params"], content=request["content"], headers=headers
        )
    except (ValueError, UnicodeError):
        return _NOT_SENT
    response = client.send(asked)
    status = response.status_code
    assert status < 500 or status in BUSY, (request, response.text)
    if 400 <= status < 500 and request["method"] != "head":
        assert response.headers["content-type"] == "application/problem+json", (request, response.text)
    return status


def fuzz(
    client: TestClient, names: list[str], count: int, methods: tuple[str, ...], memory: int, chance: int = 1
) -> Counter[int]:
    """So many requests, drawn by `chance`, to a server that may take so much memory: how many had which status."""
    paths = client.get("/api/openapi.json").json()["paths"]
    statuses = Counter[int]()

    @seed(chance)
    @settings(
        max_examples=count, phases=[Phase.generate], database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(request=requests(paths, names, methods))
    def try_one(request: dict[str, Any]) -> None:
        with bounded(request):
            statuses[_ask(client, request)] += 1

    before = resident()
    try_one()
    assert resident() - before < memory + BYTES
    return statuses


HEAD = b"GET /api/puzzles HTTP/1.1\r\nHost: 127.0.0.1\r\n"
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
