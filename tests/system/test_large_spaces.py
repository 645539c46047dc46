"""Censuses by passes, as if memory were short: by workers of a real Redis, and killed in the middle of each pass."""

import random
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from coordinator.graphs import census as census_module
from coordinator.session.resources import Resources
from coordinator.session.tuning import Tuning
from coordinator.spaces import joining, slabs
from hakoiri.api import Run, census
from storage.errors import StorageError
from storage.ledger.ledger import Ledger
from storage.results import census as results
from tests.support.searching import essence
from tests.support.seeds import seeds
from tests.system.helpers import Hakoiri, wait_until
from tests.system.servers import Workers

#: Too little for the moves of all configurations of Hakoiri-musume, enough for those of its largest component.
_SHORT = 1_500_000
#: All configurations of ten tiles and their moves take more than the least memory that a run may have.
_TILES = ("run", "sliding", "--from", ".ABCD/EFGHI", "-o", "distinct=all", "--whole", "--diameters", "below=2")


def test_workers_find_what_threads_find(
    farm: Workers, whole_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (census_module, joining, slabs, results):
        monkeypatch.setattr(module, "SLAB", 4_096)
    resources = Resources(farm.url, memory=_SHORT, chunk=20_000, farm_from=1, tuning=Tuning(most_range=5 * 4_096))
    with census(data=tmp_path, resources=resources) as run:
        assert essence(run) == essence(whole_run)
        assert run.components() == whole_run.components()


def _partial(hakoiri: Hakoiri) -> dict[str, Any]:
    """How far the only run is, as others read it: nothing before it is anywhere."""
    try:
        with Ledger(hakoiri.run_directory()) as ledger:
            return {"depth": ledger.state.depth} | (ledger.read_partial() or {})
    except (ValueError, FileNotFoundError, StorageError):
        return {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(1, 1, 20))
def test_a_census_killed_in_each_pass_is_that_of_one_left_alone(seed: int, hakoiri: Hakoiri, tmp_path: Path) -> None:
    with closing(Hakoiri(tmp_path / "alone")) as other:
        alone = other.ask(*_TILES, "--memory", "4GB")
    assert (alone["configurations"], alone["components"], alone["edges"]) == (3_628_800, 2, 4_717_440)
    chance, command = random.Random(seed), [*_TILES, "--memory", "100MB"]
    moments = [("depth", 0), ("folded", chance.randrange(1, 4)), ("folded", chance.randrange(4, 7)), ("numbered", 2)]
    for what, number in moments:
        running = hakoiri.start(*command)
        wait_until(lambda: _partial(hakoiri).get(what, -1) >= number or running.process.poll() is not None)  # noqa: B023
        assert running.process.poll() is None, f"ended before {number} were {what}"
        running.send(signal.SIGKILL)
        running.finish()
        command = ["resume", "last", "--memory", "100MB"]
    found = hakoiri.ask(*command)
    for name in ("digest", "components", "edges", "start_component", "configurations"):
        assert found[name] == alone[name]
    with Ledger(hakoiri.run_directory()) as ledger:
        assert ledger.state.session == len(moments) + 1
    assert hakoiri.ask("verify", "last")["ok"]
