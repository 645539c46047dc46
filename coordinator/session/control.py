"""How somebody outside stops a search, and how the search tells somebody outside what it does."""

import time
from collections.abc import Callable
from typing import Protocol

from coordinator.errors import StopRun
from storage.ledger.manifest import Depth

#: How often the store is asked whether another process wants the run cancelled.
_CANCEL_LOOK_SECONDS = 0.2


class Observer(Protocol):
    """Who watches a run; every method returns at once."""

    def layer(self, depth: Depth, size: int, configurations: int) -> None:
        """Layer `depth` is known; so many configurations in all."""

    def part(self, depth: Depth, what: str, done: int, total: int, disk: int) -> None:
        """Within layer `depth`: `done` of `total`; the run takes `disk` bytes by now."""

    def phase(self, name: str, done: int, total: int) -> None:
        """`done` of `total` steps of a named phase of the census."""

    def interval(self, lower: int, upper: int) -> None:
        """The diameter in question lies between these, both included."""

    def subtrees(self, done: int, total: int, solutions: int, left: tuple[float, float] | None) -> None:
        """`done` of `total` chunks of a tree, with so many solutions; between so many seconds are left, if known."""

    def note(self, text: str) -> None:
        """Something that a user should know but need not act on."""


class SilentObserver:
    """Watches nothing."""

    def layer(self, depth: Depth, size: int, configurations: int) -> None:
        """Nothing."""

    def part(self, depth: Depth, what: str, done: int, total: int, disk: int) -> None:
        """Nothing."""

    def phase(self, name: str, done: int, total: int) -> None:
        """Nothing."""

    def interval(self, lower: int, upper: int) -> None:
        """Nothing."""

    def subtrees(self, done: int, total: int, solutions: int, left: tuple[float, float] | None) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""


class Control:
    """Asked between steps whether to go on. `interrupt` may be called from a signal handler."""

    def __init__(self) -> None:
        self._reason = ""
        self._cancelled: Callable[[], bool] = lambda: False
        self._next_look = 0.0

    def watch(self, cancelled: Callable[[], bool]) -> None:
        """From now on also ask `cancelled` from time to time."""
        self._cancelled = cancelled

    def interrupt(self, reason: str) -> None:
        """Stop at the next check, resumable."""
        self._reason = reason

    @property
    def interrupted(self) -> bool:
        """Whether `interrupt` was called."""
        return bool(self._reason)

    def check(self) -> None:
        """Return to go on; raise `StopRun` to leave."""
        if self._reason:
            raise StopRun("interrupted", self._reason)
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _CANCEL_LOOK_SECONDS
            if self._cancelled():
                raise StopRun("cancelled", "cancelled on request")
