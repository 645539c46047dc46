"""The time that a layer and a run will take yet: right where layers come evenly, else nothing is said."""

from pathlib import Path

import pytest

from hakoiri.api import explore
from hakoiri.coordinator.layers import step as pace_module
from hakoiri.coordinator.layers.step import Pace
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import SilentObserver
from hakoiri.storage.ledger.manifest import Progress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def paced(most: int | None = None) -> tuple[Pace, Clock]:
    clock = Clock()
    return Pace(most, clock), clock


def layer(pace: Pace, clock: Clock, size: int, expanding: float, merging: float) -> None:
    """One layer from its beginning to its end."""
    pace.expand(0)
    clock.now += expanding
    pace.merge(0)
    clock.now += merging
    pace.finish(size)


def test_a_half_that_comes_evenly_is_foretold() -> None:
    pace, clock = paced()
    pace.expand(0)
    pace.merge(0)
    clock.now += 3.0
    assert pace.merging_left(30, 100) == pytest.approx(7.0)
    assert pace.run_left(7.0, 5) is None, "nobody knows how many layers there are"


def test_a_resumed_layer_counts_what_this_session_does_and_shows_no_pace() -> None:
    pace, clock = paced(most=10_000)
    pace.expand(600)
    clock.now += 2.0
    pace.merge(0)
    clock.now += 2.0
    pace.finish(1_000)
    assert pace.run_left(1.0, 0) is None
    layer(pace, clock, 1_000, expanding=2.0, merging=1.0)
    pace.expand(500)
    clock.now += 2.0
    assert pace.expanding_left(750, 1_000) == pytest.approx(2.0 + 4.0), "merging takes half of what all expanding would"
    pace.merge(50)
    clock.now += 2.0
    assert pace.merging_left(75, 100) == pytest.approx(2.0)


def test_the_slowest_of_the_last_layers_counts() -> None:
    pace, clock = paced(most=1_000)
    for seconds in (9.0, 1.0, 2.0, 1.0):
        layer(pace, clock, 100, expanding=seconds / 2, merging=seconds / 2)
    assert pace.run_left(0.0, 900) == pytest.approx(2.0)
    assert pace.run_left(3.0, 1_000) == pytest.approx(3.0), "all is found, only the last layer is to be expanded"


class Watching(SilentObserver):
    def __init__(self) -> None:
        self.seen: list[Progress] = []

    def progress(self, progress: Progress) -> None:
        self.seen.append(progress)


@pytest.mark.parametrize(("puzzle", "known"), [("tiles", True), ("klotski", False)])
def test_a_run_says_what_can_be_said(puzzle: str, known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace_module, "_LEAST_SECONDS", 0.0)
    options = {"rows": "2", "columns": "4"} if puzzle == "tiles" else {}
    watching = Watching()
    resources = Resources(workers=1, chunk=100, farm=500)
    with explore(puzzle, options, data=tmp_path, resources=resources, observer=watching):
        pass
    halves = [
        progress for progress in watching.seen if "merged" in progress.headline or "expanded" in progress.headline
    ]
    assert any(progress.step_left for progress in halves)
    assert any(progress.most_left for progress in halves) == known
    assert all(
        progress.most_left >= progress.step_left for progress in halves if progress.most_left and progress.step_left
    )
    assert (watching.seen[-1].step_left, watching.seen[-1].most_left) == (None, None)
