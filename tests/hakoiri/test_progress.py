"""Progress of a run in words, for every kind."""

import re
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from hakoiri.cli.driving import no_coordinator
from hakoiri.cli.runs import listing
from hakoiri.coordinator.runs.catalogue import RunStatus
from hakoiri.render.progress import ProgressLine, clock, progress_text, shown_progress
from hakoiri.storage.ledger.manifest import Progress, State


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(1_200), "1,200 configurations"),
        (Progress(12, 160, "chunks", "3 solutions"), "3 solutions; 12 of 160 chunks"),
        (Progress(12, 160, "chunks", "", (127, 159.2)), "12 of 160 chunks, 0:02:07 to 0:02:40 left (95 %)"),
        (Progress(7, None, "deals tried", "best 9", (65, 65)), "best 9; 7 deals tried, 0:01:05 left"),
        (Progress(7, None, "deals tried", "best 9", (0, 0)), "best 9; 7 deals tried"),
        (Progress(1), "1 configuration"),
        (
            Progress(7, headline="layer 2: merged 1 of 9", step_left=65.4),
            "layer 2: merged 1 of 9 (0:01:05 left); 7 configurations",
        ),
        (
            Progress(7, headline="2", step_left=4.0, most_left=60.2),
            "2 (0:00:04 left); 7 configurations, at most 0:01:01 left",
        ),
    ],
)
def test_progress_in_words(progress: Progress, text: str) -> None:
    assert progress_text(progress) == text


def test_the_rate_is_that_of_the_work_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    line = ProgressLine(Console(file=StringIO()))
    for seconds, done in ((0, 0), (10, 1_000), (20, 0), (22, 100)):
        now[0] = seconds
        line.progress(Progress(done, None, "deals tried"))
    assert str(line.__rich__()) == "100 deals tried, 50 deals/s, 0:00:22"


class Terminal(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def drawn_at_80(act: Callable[[Console], object]) -> list[str]:
    """The lines that something draws on a terminal of 80 columns."""
    console = Console(file=Terminal(), width=80, height=24, force_terminal=True, soft_wrap=True, highlight=False)
    act(console)
    assert isinstance(console.file, Terminal)
    return re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", console.file.getvalue()).replace("\r", "\n").splitlines()


def test_all_of_the_live_line_is_seen() -> None:
    told = Progress(
        1_234_567_890, headline="layer 12: expanded 3,000 of 9,000 blocks", step_left=4_000, most_left=9_000, disk=0
    )

    def draw(console: Console) -> None:
        with shown_progress(console) as line:
            line.progress(told)

    lines = drawn_at_80(draw)
    assert max(map(len, lines)) <= 80
    assert f"{progress_text(told)}, 0 MB on disk, +0.0 MB/s, 0:00:00" in " ".join(line.rstrip() for line in lines)


def test_what_is_watched_shows_the_command_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = RunStatus("3f9a2c-klotski", None, State(status="interrupted"), None, False, served=False)
    monkeypatch.setattr(listing, "results", Terminal)

    def watch(console: Console) -> None:
        monkeypatch.setattr(listing, "stderr", lambda: console)
        listing._watch(tmp_path / found.run, found, json=False)

    lines = drawn_at_80(watch)
    assert max(map(len, lines)) <= 80
    assert no_coordinator(tmp_path).replace(" ", "") in "".join("".join(lines).split())


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(127, "0:02:07"), (863_999, "239:59:59"), (864_000, "about 10 days"), (1.872e12, "about 59,000 years")],
)
def test_a_long_time_is_in_days_or_years(seconds: float, words: str) -> None:
    assert clock(seconds) == words
