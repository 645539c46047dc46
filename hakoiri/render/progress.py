"""A run as it goes, on stderr: one live line on a terminal, a line now and then elsewhere."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from storage.ledger.manifest import Depth, State

#: Without a terminal, how often a long run says where it is.
_LINE_SECONDS = 10.0
_FRAMES_PER_SECOND = 8


class ProgressLine:
    """An observer (`coordinator.session.control.Observer`) that keeps the latest figures and draws them when asked."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()
        self._next_line = self._started + _LINE_SECONDS
        self._text = "starting"
        self._first: int | None = None
        self._first_disk: int | None = None

    def layer(self, depth: Depth, size: int, configurations: int) -> None:
        """A layer is known."""
        if self._first is None:
            self._first = configurations - size
        elapsed = max(time.monotonic() - self._started, 1e-3)
        rate = (configurations - self._first) / elapsed
        self._text = (
            f"layer {depth}: {size:,} configurations, {configurations:,} in all, {rate:,.0f}/s, {clock(elapsed)}"
        )
        self._perhaps_a_line()

    def part(self, depth: Depth, what: str, done: int, total: int, disk: int) -> None:
        """A part of a long layer is done."""
        elapsed = max(time.monotonic() - self._started, 1e-3)
        if self._first_disk is None:
            self._first_disk = disk
        growth = (disk - self._first_disk) / elapsed
        self._text = (
            f"layer {depth}: {what} {done:,} of {total:,}; {disk / 1e6:,.0f} MB on disk, "
            f"{growth / 1e6:+,.1f} MB/s, {clock(elapsed)}"
        )
        self._perhaps_a_line()

    def phase(self, name: str, done: int, total: int) -> None:
        """A step of a phase is done."""
        elapsed = time.monotonic() - self._started
        of_total = f" of {total:,}" if total else ""
        self._text = f"{name}: {done:,}{of_total}, {done / max(elapsed, 1e-3):,.0f}/s, {clock(elapsed)}"
        self._perhaps_a_line()

    def interval(self, lower: int, upper: int) -> None:
        """The bounds of a diameter came closer."""
        elapsed = time.monotonic() - self._started
        self._text = f"the diameter is in [{lower:,}, {upper:,}], {clock(elapsed)}"
        self._perhaps_a_line()

    def subtrees(self, done: int, total: int, solutions: int, left: tuple[float, float] | None) -> None:
        """A chunk of a tree is done."""
        elapsed = time.monotonic() - self._started
        ahead = f", {time_left(left)}" if left else ""
        self._text = f"{done:,} of {total:,} chunks, {solutions:,} solutions{ahead}, {clock(elapsed)}"
        self._perhaps_a_line()

    def note(self, text: str) -> None:
        """Say it at once."""
        self._console.print(Text(text, style="dim"))

    def __rich__(self) -> Text:
        return Text(self._text, style="cyan")

    def _perhaps_a_line(self) -> None:
        if not self._console.is_terminal and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_SECONDS
            self._console.print(Text(self._text))


def tree_progress(state: State) -> str:
    """How far a tree is."""
    ahead = f", {time_left(state.left)}" if state.left else ""
    return f"{state.chunks_done:,} of {state.chunks or 0:,} chunks, {state.configurations:,} solutions{ahead}"


def time_left(left: Sequence[float]) -> str:
    """How long a tree will take yet, e.g. ``0:02:07 to 0:02:40 left (95 %)``."""
    return f"{clock(left[0])} to {clock(math.ceil(left[1]))} left (95 %)"


@contextmanager
def shown_progress(console: Console) -> Iterator[ProgressLine]:
    """An observer whose line is drawn while the block runs, and gone after it."""
    line = ProgressLine(console)
    if not console.is_terminal:
        yield line
        return
    with Live(line, console=console, refresh_per_second=_FRAMES_PER_SECOND, transient=True):
        yield line


def clock(seconds: float) -> str:
    """Hours, minutes and seconds, e.g. ``0:02:07``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
