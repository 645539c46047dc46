"""Replies of a data Redis drawn from the grammar of RESP, with wrong lengths, counts and depths."""

import random
from io import BytesIO

from redis._parsers.encoders import Encoder

from campaigns.mayhem.mutation import EDGES, mutated
from hakoiri.worker.transport.values import OldValueParser, ValueParser, allowing


def read_replies(chance: random.Random) -> None:
    """Parse answers drawn from the grammar of RESP, some of them changed; `redis.RedisError` refuses one."""
    parser = chance.choice((ValueParser, OldValueParser))(65_536)
    parser.on_connect(_Connection(b"".join(_reply(chance, 0) for _ in range(chance.randint(1, 4)))))
    most = chance.choice((100, 10_000, 1_000_000))
    with allowing(most, 5.0):
        found = parser.read_response(disable_decoding=True)
    assert len(repr(found)) < 20 * most + 1_000, "more than was allowed"


def _reply(chance: random.Random, depth: int) -> bytes:
    number = str(chance.choice((*EDGES, chance.randrange(12), chance.randrange(12), "abc", "", "9" * 5_000))).encode()
    kind = chance.choice(b"+-:$*_,#!=(%~>|?").to_bytes(1, "big")
    text = chance.choice((b"OK", b"READONLY no", b"MOVED", b"", chance.randbytes(9), b"x" * 100_000))
    if kind in b"$!=":
        made = kind + (str(len(text)).encode() if chance.random() < 0.7 else number) + b"\r\n" + text + b"\r\n"
    elif kind in b"*%~>|" and depth < 5:
        count = chance.randrange(5)
        parts = b"".join(_reply(chance, depth + 1) for _ in range(count * (1 + (kind == b"%"))))
        made = kind + (str(count).encode() if chance.random() < 0.8 else number) + b"\r\n" + parts
    elif kind in b"+-":
        made = kind + text + b"\r\n"
    else:
        made = kind * chance.choice((1, 1, 1, 2_000)) + number + b"\r\n"
    if chance.random() < 0.01:
        made = b"*1\r\n" * 5_000
    return made if chance.random() < 0.9 else mutated(made, chance)


class _Connection:
    """A connection, and its socket, as far as a parser uses them: gives some bytes and then closes."""

    socket_timeout, encoder = 5.0, Encoder("utf-8", "strict", False)  # type: ignore[no-untyped-call]

    def __init__(self, content: bytes) -> None:
        self._sock, self._left = self, BytesIO(content)

    def settimeout(self, seconds: float) -> None:
        """Do nothing: no call waits."""

    def recv(self, size: int) -> bytes:
        return self._left.read(size)

    def recv_into(self, view: memoryview) -> int:
        return self._left.readinto(view)
