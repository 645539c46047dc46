"""Puzzles as a user may have them, each of which harms the process that computes its moves."""

import ctypes
import os
import signal
import sys
from collections.abc import Iterator

import numpy as np

from hakoiri import U32, Puzzle
from hakoiri.keys.layout import Keys


class _OddError(BaseException):
    """No `Exception`: few catch it."""


class Harmless(Puzzle):
    """Two rings of 128 configurations in pairs; the others act when they come to one of these."""

    name = "poisonous"
    layout = U32
    undirected = True
    most_successors = 3

    def usual_start(self) -> int:
        return 0

    def configurations(self) -> Iterator[Keys]:
        yield np.arange(256, dtype=np.uint32)

    def successors(self, key: int) -> list[int]:
        """The other one of its pair, and one of the next and of the last."""
        if key == 40:
            self.act()
        return [key ^ 1, (key + 2) % 256, (key - 2) % 256]

    def act(self) -> None:
        """Do no harm."""


class Leaves(Harmless):
    """Ends the process as a success."""

    def act(self) -> None:
        os._exit(0)


class Exits(Harmless):
    """Raises what ends a program."""

    def act(self) -> None:
        sys.exit(0)


class Raises(Harmless):
    """Raises what is no `Exception`."""

    def act(self) -> None:
        raise _OddError


class Crashes(Harmless):
    """Reads from address 0."""

    def act(self) -> None:
        ctypes.string_at(0)


class Aborts(Harmless):
    """Ends as a failed assertion of a C library does."""

    def act(self) -> None:
        os.abort()


class Killed(Harmless):
    """Ends as a process that the system kills."""

    def act(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Greedy(Harmless):
    """Asks for more memory than there is."""

    def act(self) -> None:
        bytearray(1 << 60)


class Hungry(Harmless):
    """Takes memory until the system ends that; only for a control group with a limit."""

    def act(self) -> None:
        taken = []
        while True:
            taken.append(b"x" * (1 << 24))


class Endless(Harmless):
    """Never answers."""

    def act(self) -> None:
        while True:
            pass
