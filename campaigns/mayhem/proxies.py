"""A door to a Redis that is slow, or shuts after some bytes."""

import socket
import threading
import time
from contextlib import suppress
from random import Random
from typing import Self

_AT_ONCE = 65_536


class Proxy:
    """Listens on a port of its own; what comes goes to `port`, `pause` seconds late.

    A connection is cut after so many bytes one way: a number up to `most`, another for each (0: none is cut).
    """

    def __init__(self, port: int, chance: Random, most: int = 0, pause: float = 0.0) -> None:
        self._target, self._chance, self._most, self._pause = port, chance, most, pause
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._door.getsockname()[1]}/0"
        #: How many were cut.
        self.cuts = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._door.accept()
                there = socket.create_connection(("127.0.0.1", self._target))
                left = self._chance.randint(1, self._most) if self._most else 0
                for source, sink in ((here, there), (there, here)):
                    threading.Thread(target=self._pass_on, args=(source, sink, left), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, left: int) -> None:
        with suppress(OSError):
            while content := source.recv(_AT_ONCE):
                time.sleep(self._pause)
                if self._most and len(content) >= left:
                    sink.sendall(content[:left])
                    self.cuts += 1
                    break
                left -= len(content)
                sink.sendall(content)
        for each in (source, sink):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
