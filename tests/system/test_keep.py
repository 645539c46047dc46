"""A run that keeps depths, as processes: killed as its layers go, asked while they go, resumed, checked."""

import signal

import pytest

from hakoiri.api import open_run
from hakoiri.coordinator.session.resources import DEFAULT
from hakoiri.errors import NotKeptError
from tests.support.commands import Hakoiri
from tests.support.plain_search import reference_distances
from tests.support.process_setup import stand_still_beyond

COMMAND = ("run", "pancakes", "-o", "n=7", "--keep", "depths")
STOPS = (2, 4, 5, 6)


def drop_at_once() -> None:
    """Drop layers as soon as there are three, and stop as SIGSTOP does at some depths."""
    vars(DEFAULT).update(least_dropped=0, checkpoint=-1.0, table_rest=0.0)
    stand_still_beyond("depth", *STOPS)


@pytest.mark.ci_slow
def test_an_open_run_whose_layers_go_says_nothing_wrong(hakoiri: Hakoiri) -> None:
    """It finds a depth, or says that the layer is not kept any more."""
    running = hakoiri.start(*COMMAND, before=drop_at_once)
    running.stands_still()
    with open_run("last", hakoiri.data) as run:
        first, expected = run.store.state.depth, reference_distances(run.puzzle.successors, run.puzzle.start)
        for _ in STOPS[1:]:
            running.send(signal.SIGCONT)
            running.stands_still()
            gone = 0
            for key in [*expected][::197]:
                try:
                    found = run.store.find(key)
                except NotKeptError:
                    gone += 1
                    found = run.store.find(key)
                assert found == expected[key] if expected[key] <= first else found in (None, expected[key])
            assert gone <= 1
    running.send(signal.SIGCONT)
    assert running.finish().code == 0


@pytest.mark.ci_slow
@pytest.mark.parametrize("stops", [1, 3])
def test_a_killed_run_goes_on(hakoiri: Hakoiri, stops: int) -> None:
    running = hakoiri.start(*COMMAND, before=drop_at_once)
    for number in range(stops):
        running.send(signal.SIGCONT) if number else None
        running.stands_still()
    running.send(signal.SIGCONT)
    assert running.kill().code == -signal.SIGKILL
    summary = hakoiri.ask("resume", "last")
    assert (summary["status"], summary["configurations"], summary["depth"]) == ("complete", 5_040, 8)
    assert hakoiri.ask("distance", "last", "7,6,5,4,3,2,1")["length"] == 1
    assert hakoiri.ask("verify", "last", "--full")["ok"]
