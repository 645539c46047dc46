"""How a run is shown in words, whatever its kind."""

import pytest

from hakoiri.render.progress import progress_text
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
