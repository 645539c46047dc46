"""Live progress of a run on stderr: one updated line on a terminal, which wraps; elsewhere a line at intervals."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from hakoiri.hints import worded
from hakoiri.puzzles.errors import Hint, counted
from hakoiri.storage.ledger.manifest import Progress

#: The interval between lines without a terminal.
_LINE_SECONDS = 10.0
_FRAMES_PER_SECOND = 8
#: Units of long times, in seconds.
_LONG_UNITS = (("years", 31_557_600), ("days", 86_400))


class ProgressLine:
    """An observer (`coordinator.session.session.Observer`) that keeps the latest progress and draws it on demand."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = self._first_at = time.monotonic()
        self._next_line = self._started + _LINE_SECONDS
        self._first: Progress | None = None
        self._last = Progress(unit="", headline="starting")

    def progress(self, progress: Progress) -> None:
        # Another unit or less work done than before means that another phase or run has begun.
        if self._first is None or self._first.unit != progress.unit or progress.done < self._last.done:
            self._first, self._first_at = progress, time.monotonic()
        self._last = progress
        if not self._console.is_terminal and time.monotonic() >= self._next_line:
            self._next_line = time.monotonic() + _LINE_SECONDS
            self._console.print(Text(self._line()))

    def note(self, text: str, *hints: Hint) -> None:
        self._console.print(Text(worded(text, hints), style="dim"))

    def __rich__(self) -> Text:
        return live_text(self._line(), "cyan")

    def _line(self) -> str:
        """Return the progress, its speed, and the elapsed time of this process."""
        first, last = self._first or self._last, self._last
        elapsed = max(time.monotonic() - self._first_at, 1e-3)
        parts = [progress_text(last)]
        if last.done > first.done and not last.seconds_left:
            parts.append(counted(round((last.done - first.done) / elapsed), f"{last.unit.partition(' ')[0]}/s"))
        if last.disk is not None and first.disk is not None:
            parts.append(f"{last.disk / 1e6:,.0f} MB on disk")
            parts.append(f"{(last.disk - first.disk) / elapsed / 1e6:+,.1f} MB/s")
        return ", ".join([*parts, clock(time.monotonic() - self._started)])


def live_text(line: str, style: str = "") -> Text:
    """Return a line that is updated in place; on a narrow terminal it wraps, so that its end is visible."""
    return Text(line, style, overflow="fold", no_wrap=False)


def progress_text(progress: Progress) -> str:
    """Return the progress of any run, e.g. ``3 solutions; 12 of 160 chunks, 0:02:07 to 0:02:40 left (95 %)``.

    Or ``layer 9: expanded 7 of 9 (0:00:02 left); 12 configurations, at most 0:02:40 left``.
    """
    headline = progress.headline + (f" ({clock(progress.step_left)} left)" if progress.step_left else "")
    text = "; ".join(part for part in (headline, progress_count(progress)) if part)
    left = progress.seconds_left
    text += f", {time_left(left)}" if left is not None and left[1] > 0 else ""
    return text + (f", at most {clock(math.ceil(progress.most_left))} left" if progress.most_left else "")


def progress_count(progress: Progress) -> str:
    """Return the amount done, e.g. ``12 of 160 chunks``."""
    if not progress.unit:
        return ""
    if progress.total is None:
        return counted(progress.done, progress.unit)
    return f"{progress.done:,} of {counted(progress.total, progress.unit)}"


def time_left(left: Sequence[float]) -> str:
    """Return the remaining time, e.g. ``0:02:07 to 0:02:40 left (95 %)``, or exactly if bounded by the clock."""
    least, most = left
    return f"{clock(most)} left" if least == most else f"{clock(least)} to {clock(math.ceil(most))} left (95 %)"


@contextmanager
def shown_progress(console: Console) -> Iterator[ProgressLine]:
    """Yield an observer whose line is drawn while the block runs, and removed after it."""
    line = ProgressLine(console)
    if not console.is_terminal:
        yield line
        return
    with Live(line, console=console, refresh_per_second=_FRAMES_PER_SECOND, transient=True):
        yield line


def clock(seconds: float) -> str:
    """Return hours, minutes and seconds, e.g. ``0:02:07``; of ten days and more, ``about 59,000 years``."""
    for unit, size in _LONG_UNITS:
        if seconds >= 10 * size:
            return f"about {float(f'{seconds / size:.2g}'):,.0f} {unit}"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
