"""Live progress of a run on stderr, and the counts of its work by host and worker."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from hakoiri.errors import Hint, counted
from hakoiri.hints import worded
from hakoiri.storage.ledger.manifest import Progress

#: Expanders that are listed.
_SHOWN = 12
#: What runs are said to have been made by, of which "cheaper" occurs only in older ones.
_HERE = ("small", "cheaper", "threads")


def work_log_facts(work_log: Mapping[str, Any] | None) -> dict[str, str]:
    """Return `hakoiri.rows.runs.work_log_row` by label; empty if threads of one process did all."""
    if work_log is None:
        return {}
    facts = {"expanded": expanded_text(work_log)}
    if by := [_expander(row) for row in work_log["expanders"]]:
        more = [f"and {len(by) - _SHOWN:,} more"] if len(by) > _SHOWN else []
        facts["by"] = "\n".join(by[:_SHOWN] + more)
    if work_log["repeated"]:
        facts["sent again"] = counted(work_log["repeated"], "chunks")
    what = "processes" if "processes" in work_log["layers"] else "workers"
    facts["chunks"] = "\n".join(_chunks(host, what) for host in work_log["hosts"]) or "none handed out"
    if work_log["kept"] is not None:
        facts["kept"] = "\n".join(map(_kept, work_log["kept"]["hosts"]))
        ratio, layer = work_log["kept"]["slowest_over_mean"], work_log["kept"]["slowest_layer"]
        most = "most in layer {depth}, where {host} took {seconds:.1f} s and the mean was {mean:.1f} s"
        known = ratio is not None and layer is not None
        facts["slowest host"] = f"{ratio:.2f} times the mean, {most.format(**layer)}" if known else "not known"
    if (audit := work_log["audit"]) is not None:
        wrong = ", ".join(audit["untrusted"])
        found = f"excluded because they were wrong: {wrong}" if wrong else "no worker was wrong"
        facts["audit"] = f"{counted(audit['chunks'], 'chunks')} computed again here; {found}"
    return facts


def expanded_text(work_log: Mapping[str, Any]) -> str:
    """Return who expanded the layers: ``168 layers: 3 here, 165 by 2 workers in 371 chunks``; empty without layers.

    If workers idle, it says why.
    """
    makers, expanders = work_log["layers"], work_log["expanders"]
    here = sum(makers[maker]["layers"] for maker in _HERE if maker in makers)
    parts = [f"{here:,} here"] if here else []
    for others in (maker for maker in ("workers", "processes") if maker in makers):
        workers = [row for row in expanders if row["name"] not in (None, *_hosts(work_log))]
        chunks = f" in {counted(sum(row['chunks'] for row in workers), 'chunks')}" if workers else ""
        parts.append(f"{makers[others]['layers']:,} by {_several(workers, others)}{chunks}")
    if "hosts" in makers:
        parts.append(f"{makers['hosts']['layers']:,} by {_several(_hosts(work_log), 'hosts')}")
    total = sum(made["layers"] for made in makers.values())
    why = f", because {work_log['here']}" if work_log["here"] else ""
    return f"{counted(total, 'layers')}: {', '.join(parts)}{why}" if total else why.removeprefix(", ")


def expanders_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return who made a layer: ``2 others and threads, 5 chunks``; ``here`` if a process made it at once."""
    others = [row for row in rows if row["name"] is not None]
    if not others:
        return "here"
    chunks = counted(sum(row["chunks"] for row in rows), "chunks")
    by = others[0]["name"] if len(others) == 1 else f"{len(others)} others"
    return f"{by}{' and threads' if len(others) < len(rows) else ''}, {chunks}"


def _several(names: Sequence[object], what: str) -> str:
    """Return how many there are; runs of earlier versions do not know."""
    return counted(len(names), what) if names else what


def _hosts(work_log: Mapping[str, Any]) -> list[str]:
    return [] if work_log["kept"] is None else [host["host"] for host in work_log["kept"]["hosts"]]


def _expander(row: Mapping[str, Any]) -> str:
    done = f"{counted(row['chunks'], 'chunks')} of {row['configurations']:,} configurations in {row['seconds']:.2f} s"
    if row["name"] is None:
        return f"threads here: {done}"
    return f"{row['name']}: {done}, {row['sent'] / 1e6:.2f} MB sent, {row['received'] / 1e6:.2f} MB received"


def _kept(host: Mapping[str, Any]) -> str:
    from hakoiri.rows.runs import KEPT_BYTES

    done = f"{host['configurations']:,} configurations in {counted(host['ranges'], 'ranges')} by {host['host']}"
    moved = ", ".join(f"{host[what] / 1e6:.1f} MB {what}" for what in KEPT_BYTES)
    return f"{done}, {counted(host['threads'], 'threads')}: {moved}, waited {host['waited']:.1f} s for others"


def _chunks(host: Mapping[str, Any], what: str) -> str:
    done = ", ".join(f"{number:,} {task}" for task, number in host["chunks"].items())
    if host["host"] is None:
        return f"{done} by this process, without {what}"
    return f"{done} by {counted(host['workers'], what)} of {host['host']}"


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
            self._say(self._line())

    def note(self, text: str, *hints: Hint) -> None:
        self._say(worded(text, hints), "dim")

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style))

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
    least, most = progress.seconds_left or (0, 0)
    if most > 0:
        # The same twice is bounded by the clock.
        known = clock(least) if least == most else f"{clock(least)} to {clock(math.ceil(most))}"
        text += f", {known} left{'' if least == most else ' (95 %)'}"
    return text + (f", at most {clock(math.ceil(progress.most_left))} left" if progress.most_left else "")


def compiling_text(seconds: float) -> str | None:
    """Return the seconds in which a run compiled kernels; ``None`` if it found all compiled."""
    return f"{seconds:.3f} s, once" if seconds else None


def progress_count(progress: Progress) -> str:
    """Return the amount done, e.g. ``12 of 160 chunks``."""
    if not progress.unit:
        return ""
    if progress.total is None:
        return counted(progress.done, progress.unit)
    return f"{progress.done:,} of {counted(progress.total, progress.unit)}"


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
