"""How a search is stopped from outside, and how it reports what it does."""

import time
from collections.abc import Callable
from typing import Protocol

from coordinator.errors import StopRun
from storage.ledger.manifest import Progress

#: How often the store is asked whether another process wants the run cancelled.
_CANCEL_LOOK_SECONDS = 0.2


class Observer(Protocol):
    """Watches a run; both methods return at once."""

    def progress(self, progress: Progress) -> None:
        """How far the work is."""

    def note(self, text: str) -> None:
        """Something that a user should know but need not act on."""


class SilentObserver:
    """Watches nothing."""

    def progress(self, progress: Progress) -> None:
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
