"""A server that speaks the protocol of Redis as far as it likes to."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self


class HostileRedis:
    """Answers each command of a client with what `says` makes of its words, and what a connection begins with by OK."""

    def __init__(self, says: Callable[[list[bytes]], bytes]) -> None:
        self._says, self._listener = says, socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.url = f"redis://:secret@127.0.0.1:{self.port}/0"
        self.callers = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._listener.accept()
                self.callers += 1
                threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        with suppress(OSError), caller, caller.makefile("rb") as asked:
            while line := asked.readline():
                words = []
                for _ in range(int(line[1:])):
                    words.append(asked.read(int(asked.readline()[1:]) + 2)[:-2])
                begins = words[0].upper() in (b"AUTH", b"CLIENT", b"HELLO")
                caller.sendall(b"+OK\r\n" if begins else self._says(words))
