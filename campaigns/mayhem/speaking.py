"""Connections to the application on the web by the hundred, which speak any HTTP: what each of them was answered."""

import asyncio
import logging
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import uvicorn

from campaigns.mayhem.grammar import stream
from hakoiri.web.app import make_app
from hakoiri.web.server import OPTIONS
from hakoiri.web.settings import Settings
from tests.support.web import TOKEN
from tests.support.web_requests import BUSY

#: Connections that are open side by side; how long the last answer of one is waited for; how long others may wait.
_AT_A_TIME, _QUIET_SECONDS, _MOST_SECONDS = 100, 0.3, 10.0
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) [A-Z]")
_GOOD = f"GET /api/puzzles HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"


class _Said(logging.Handler):
    """The mistakes that the server and the event loop log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(" ".join(self.format(record).split())[-1_800:])


def speak(data: Path, names: list[str], count: int, seed: int) -> tuple[Counter[int], float]:
    """Return the number of answers of each status, and the longest wait of a good client; raise `AssertionError`."""
    with _serving(Settings(data, token=TOKEN)) as (port, said):
        statuses, waited = asyncio.run(_ask(port, names, count, Random(seed)))
    assert not said.texts, said.texts[0]
    wrong = [status for status in statuses if status >= 500 and status not in (*BUSY, 501, 505)]
    assert not wrong, f"{statuses}"
    assert waited < _MOST_SECONDS, f"another client waited {waited:.1f} s"
    return statuses, waited


@contextmanager
def _serving(settings: Settings) -> Iterator[tuple[int, _Said]]:
    """The server, in a thread of this process, by a socket as everybody's."""
    said = _Said()
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(settings), **OPTIONS))
    thread = threading.Thread(target=server.run, args=([listening],))
    logging.getLogger().addHandler(said)
    thread.start()
    try:
        yield listening.getsockname()[1], said
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
        logging.getLogger().removeHandler(said)


async def _ask(port: int, names: list[str], count: int, chance: Random) -> tuple[Counter[int], float]:
    statuses, waited = Counter[int](), 0.0
    for begin in range(0, count, _AT_A_TIME):
        pieces = [stream(names, chance) for _ in range(min(_AT_A_TIME, count - begin))]
        asking = [asyncio.create_task(_one(port, each)) for each in pieces]
        began = time.monotonic()
        answer = await asyncio.wait_for(_one(port, [_GOOD.encode()], _MOST_SECONDS), 2 * _MOST_SECONDS)
        waited = max(waited, time.monotonic() - began)
        assert answer == [200], f"beside such clients: {answer}"
        for found in await asyncio.gather(*asking):
            statuses.update(found)
    return statuses, waited


async def _one(port: int, pieces: list[bytes], quiet: float = _QUIET_SECONDS) -> list[int]:
    """The statuses of all answers on a connection that sends such pieces."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers = b""
    with suppress(ConnectionError):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
    with suppress(ConnectionError, TimeoutError):
        while part := await asyncio.wait_for(reader.read(1 << 16), quiet):
            answers += part
    writer.transport.abort()
    return [int(status) for status in _STATUS.findall(answers)]
