"""How a run is shown in words, whatever its kind."""

import time
from io import StringIO

import pytest
from rich.console import Console

from hakoiri.render.progress import ProgressLine, progress_text
from storage.ledger.manifest import Progress


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (Progress(1_200), "1,200 configurations"),
        (Progress(12, 160, "chunks", "3 solutions"), "3 solutions; 12 of 160 chunks"),
        (Progress(12, 160, "chunks", "", (127, 159.2)), "12 of 160 chunks, 0:02:07 to 0:02:40 left (95 %)"),
        (Progress(7, None, "deals tried", "best 9", (65, 65)), "best 9; 7 deals tried, 0:01:05 left"),
        (Progress(7, None, "deals tried", "best 9", (0, 0)), "best 9; 7 deals tried"),
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
        line.progress(Progress(done, None, "deals"))
    assert str(line.__rich__()) == "100 deals, 50/s, 0:00:22"
