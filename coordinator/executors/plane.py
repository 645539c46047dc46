"""The depots that a run has for its pieces: which are there, how much each may hold, and which are left out, and when.

The one Redis of the queue is waited for while it is away. A data Redis is not: what lies there can be made again.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import redis
from redis.exceptions import OutOfMemoryError

from hakoiri.coordinator.session.tuning import Tuning
from hakoiri.worker.errors import DepotLostError
from hakoiri.worker.transport.connection import ALIVE_SECONDS, without_password
from hakoiri.worker.transport.depots import MAIN, Depots, depot_number

_Value = TypeVar("_Value")
#: A data Redis that did not answer is left out for so long at first, then four times as long, and so on.
_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 5.0, 600.0
_MOST_MEMORY = 1 << 60


class Patiently(Protocol):
    """Makes a call to Redis, again and again while Redis is away."""

    def __call__(self, call: Callable[[], _Value]) -> _Value:
        """What the call gives."""


@dataclass
class _Depot:
    """One data Redis. Times are those of `time.monotonic`."""

    where: str = "a worker"
    announced_at: float = 0.0
    #: How much of the run may lie there, as far as it was asked.
    share: int = 0
    is_out: bool = False
    back_at: float = 0.0
    pause: float = 0.0
    #: Whether it was left out before.
    is_frail: bool = False


class Plane:
    """The depots by number. `patiently` makes a call again once the Redis of the queue is back; `note` is for users."""

    def __init__(self, depots: Depots, tuning: Tuning, patiently: Patiently, note: Callable[[str], None]) -> None:
        self.depots, self._most = depots, tuning.shuffle_bytes
        self._patiently, self._note = patiently, note
        self._others: dict[int, _Depot] = {}
        #: Whether a worker has no data Redis.
        self._main_share, self._main_is_used = 0, True

    def left_out(self) -> list[int]:
        """The depots in which nothing lies that counts."""
        return [number for number, depot in self._others.items() if depot.is_out]

    def is_out(self, number: int) -> bool:
        return number != MAIN and number in self._others and self._others[number].is_out

    def is_frail(self, number: int) -> bool:
        """Whether a depot was left out at any time."""
        return number in self._others and self._others[number].is_frail

    def announced(self, urls: Iterable[str]) -> None:
        """Living workers leave pieces at these URLs, or in the one Redis where one is empty."""
        now, told = time.monotonic(), set(urls)
        self._main_is_used = "" in told or not told
        for url in told - {""}:
            depot = self._others.setdefault(depot_number(url), _Depot())
            depot.where, depot.announced_at = f"the data Redis at {without_password(url)}", now
            if depot.is_out and now >= depot.back_at:
                depot.is_out = False
                self._note(f"{depot.where} is used again")
        for number, depot in self._others.items():
            if not depot.is_out and now > depot.announced_at + ALIVE_SECONDS:
                self.leave_out(number, f"no worker lives that reaches {depot.where}")

    def expect_all(self) -> None:
        """The one Redis was away, and has to hear anew what workers say."""
        for depot in self._others.values():
            depot.announced_at = time.monotonic()

    def leave_out(self, number: int, why: str) -> None:
        """What lies in a depot is lost, and nothing is left there for a while."""
        depot = self._others.setdefault(number, _Depot(announced_at=time.monotonic()))
        if depot.is_out:
            return
        depot.pause = min(max(_PAUSE_SECONDS, 4 * depot.pause), _LONGEST_PAUSE_SECONDS)
        depot.is_out, depot.is_frail, depot.back_at = True, True, time.monotonic() + depot.pause
        self._note(f"{why}; what lay there is made again, and it is left out until it answers")

    def call(self, number: int, call: Callable[[redis.Redis], _Value], most: int = 0) -> _Value | None:
        """What a call gives, with values of `most` bytes; ``None`` where a data Redis does not answer, or has no room.

        Whatever a data Redis says that the call cannot make sense of counts as no answer.
        """
        if number == MAIN:
            return self._patiently(lambda: call(self.depots.main))
        if self.is_out(number):
            return None
        try:
            # Who has it, the one Redis knows.
            self._patiently(lambda: self.depots.open(number))
            with self.depots.reach(number, most) as depot:
                return call(depot)
        except OutOfMemoryError:
            return None
        except DepotLostError as error:
            self.leave_out(number, str(error))
            return None

    def measure(self, held: Callable[[int], int]) -> None:
        """Ask every depot how much may lie there, `held` of which lies there now."""
        for number, depot in list(self._others.items()):
            depot.share = self._share(number, held(number))
        self._main_share = self._share(MAIN, held(MAIN))

    @property
    def shares(self) -> dict[int, int]:
        """How many bytes of the run may lie in each depot that is used; the one Redis serves for those left out."""
        used = {number: depot.share for number, depot in self._others.items() if not depot.is_out}
        return used | ({MAIN: self._main_share} if self._main_is_used or self.left_out() else {})

    def _share(self, number: int, held: int) -> int:
        found = self.call(number, _memory)
        if found is None:
            return 0
        most, used = found
        return max(0, (most - used + held) // 2) if most else self._most

    def close(self) -> None:
        """Close the connections to data Redis."""
        self.depots.close()


def _memory(depot: redis.Redis) -> tuple[int, int]:
    """What a Redis may take, 0 without a limit, and what it takes."""
    memory: dict[str, Any] = depot.info("memory")
    most, used = int(memory.get("maxmemory", 0)), int(memory["used_memory"])
    if not (0 <= most <= _MOST_MEMORY and 0 <= used <= _MOST_MEMORY):
        raise ValueError(f"no Redis takes {used} of {most} bytes")
    return most, used
