"""Ctrl-C and SIGTERM: the first asks the work to stop at its next safe point, a second Ctrl-C stops at once."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ASKING = (signal.SIGINT, signal.SIGTERM)


class Received:
    """The signal that came, or none."""

    def __init__(self) -> None:
        self.number: signal.Signals | None = None

    @property
    def exit_code(self) -> int:
        """128 and the signal's number, as shells have it; 1 when it was no signal that stopped us."""
        return 128 + self.number if self.number is not None else 1


@contextmanager
def stopping_with(ask: Callable[[str], None]) -> Iterator[Received]:
    """While the block runs, a signal calls ``ask("stopped by SIGINT")`` instead of ending the process."""
    received = Received()

    def handle(number: int, _: FrameType | None) -> None:
        received.number = signal.Signals(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ask(f"stopped by {received.number.name}")

    before = {number: signal.signal(number, handle) for number in _ASKING}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
