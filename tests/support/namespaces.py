"""Hosts with addresses of their own on one machine: network namespaces, joined by a switch whose links can be slow.

    with Network(["control", "one", "two"]) as network:
        network.limit("two", 10_000_000)
        with network.inside("one"):
            subprocess.Popen(...)  # It and what it starts live on that host, and open sockets there.

Root alone may make them; `why_not` says what else is missing. All of it goes with the block, but for processes.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Self

_NAMESPACES = Path("/run/netns")
#: The flag of setns(2) for a network.
_CLONE_NEWNET = 0x40000000
#: A link address that no host has.
_NOBODY = "02:00:00:00:00:01"
#: A link lets so many seconds of bytes through at once, four frames at least, and holds back so many for so long.
_BURST_SECONDS, _LEAST_BURST, _QUEUE = 0.01, 6_000, "200ms"


@cache
def why_not() -> str:
    """Why there can be no such hosts here; empty if there can."""
    missing = [name for name in ("ip", "tc") if shutil.which(name) is None]
    if missing:
        return f"no {' and no '.join(missing)} (install iproute2)"
    try:
        with Network(["probe"]) as network:
            network.limit("probe", 10_000_000)
    except subprocess.CalledProcessError as error:
        return f"{' '.join(error.cmd)}: {error.stderr.strip()}"
    return ""


class Network:
    """Named hosts 10.213.0.1, 10.213.0.2 and so on, which reach each other and nobody else."""

    def __init__(self, names: Sequence[str]) -> None:
        self.addresses = {name: f"10.213.0.{number}" for number, name in enumerate(names, 1)}
        self._switch = self.namespace("switch")

    def __enter__(self) -> Self:
        try:
            self._make()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def namespace(self, name: str) -> str:
        """The name that the system has for a host."""
        return f"hakoiri-{os.getpid()}-{name}"

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """This thread, and what it starts, is on a host."""
        with open("/proc/thread-self/ns/net", "rb") as home:
            enter(self.namespace(name))
            try:
                yield
            finally:
                _set_namespace(home.fileno())

    def limit(self, name: str, bits: int, queue: str = _QUEUE) -> None:
        """Let no more than so many bits a second go to a host, and as many come from it, after `queue` at most."""
        burst = max(_LEAST_BURST, int(bits / 8 * _BURST_SECONDS))
        for place, device in self._ends(name):
            _call("tc", "-n", place, "qdisc", "replace", "dev", device, "root", "tbf",
                  "rate", f"{bits}bit", "burst", f"{burst}", "latency", queue)  # fmt: skip

    def cut(self, name: str) -> None:
        """Let nothing go to a host, and nothing come from it; nobody is told."""
        _call("ip", "-n", self._switch, "link", "set", self._port(name), "down")

    def mend(self, name: str) -> None:
        """Undo `cut`."""
        _call("ip", "-n", self._switch, "link", "set", self._port(name), "up")

    def part(self, name: str, other: str) -> None:
        """Let nothing go from a host to another, nor back; nobody is told, and both reach all others."""
        for here, there in ((name, other), (other, name)):
            _call("ip", "-n", self.namespace(here), "neighbour", "replace", self.addresses[there],
                  "lladdr", _NOBODY, "dev", "eth0", "nud", "permanent")  # fmt: skip

    def close(self) -> None:
        """Take all of it away."""
        for name in ("switch", *self.addresses):
            if (_NAMESPACES / self.namespace(name)).exists():
                _call("ip", "netns", "delete", self.namespace(name))

    def _make(self) -> None:
        _call("ip", "netns", "add", self._switch)
        _call("ip", "-n", self._switch, "link", "add", "bridge", "type", "bridge")
        _call("ip", "-n", self._switch, "link", "set", "bridge", "up")
        for name, address in self.addresses.items():
            host, port = self.namespace(name), self._port(name)
            _call("ip", "netns", "add", host)
            _call("ip", "-n", self._switch, "link", "add", port, "type", "veth", "peer", "eth0", "netns", host)
            _call("ip", "-n", self._switch, "link", "set", port, "master", "bridge", "up")
            _call("ip", "-n", host, "address", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _call("ip", "-n", host, "link", "set", device, "up")

    def _port(self, name: str) -> str:
        return f"port{list(self.addresses).index(name)}"

    def _ends(self, name: str) -> list[tuple[str, str]]:
        return [(self.namespace(name), "eth0"), (self._switch, self._port(name))]


def enter(namespace: str) -> None:
    """Have this thread be on the host that the system knows by that name: for processes that have just been forked."""
    with open(_NAMESPACES / namespace, "rb") as file:
        _set_namespace(file.fileno())


def _set_namespace(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)
