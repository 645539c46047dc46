"""A server that speaks the protocol of Redis as far as it likes to, and a Redis of the queue with forged beats."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

from hakoiri.worker.transport.connection import HostBeat
from hakoiri.worker.transport.names import witness_name


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


class Told:
    """The Redis of the queue, in which hosts say where they have data Redis, and who is connected from where."""

    def __init__(self, *urls: str, seen: tuple[str, ...] = ("127.0.0.1:4711",), host: str = "127.0.0.1") -> None:
        self.urls = list(urls)
        self._clients = [{"name": witness_name(url), "addr": addr} for url in urls for addr in seen]
        self._host = host

    def smembers(self, name: str) -> set[bytes]:
        """The hosts."""
        return {f"den-{number}".encode() for number in range(len(self.urls))}

    def mget(self, names: list[str]) -> list[bytes]:
        """Return the forged values."""
        return [str(HostBeat("7-a", 2, url)).encode() for url in self.urls]

    def client_list(self) -> list[dict[str, str]]:
        """The connections of hosts to it."""
        return self._clients

    def get_connection_kwargs(self) -> dict[str, Any]:
        """Return the address by which this process reaches it."""
        return {"host": self._host}
