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
