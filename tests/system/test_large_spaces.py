"""Censuses by passes, as if memory were short: by workers of a real Redis, and killed in the middle of each pass."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hakoiri.api import census
from hakoiri.coordinator.census import job as verify_module
from hakoiri.coordinator.executors.remote import RemoteExecutor
from hakoiri.coordinator.executors.threads import ThreadExecutor
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.results import Diameter, read_pairs, recorded_components, stage_component
from tests.support.commands import Hakoiri
from tests.support.servers import Workers, by_workers
from tests.support.toy_runs import before_call

#: Little for all configurations of Hakoiri-musume, enough for what is proved of its largest component.
_SHORT = 5_000_000
#: All configurations of ten tiles and their moves take more than the least memory that a run may have.
_TILES = ("run", "sliding", "--from", ".ABCD/EFGHI", "-o", "distinct=all", "--whole", "--diameters", "below=2")


def test_diameters_are_asked_for_from_the_command_line(hakoiri: Hakoiri) -> None:
    found = hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=2", "--whole", "--diameters", "below=4")
    assert (found["diameters"], found["components"], found["components_done"]) == ("below=4", 1, 1)
    (only,) = hakoiri.ask("components", "last")["components"]
    assert (only["size"], only["diameter"]) == (12, None)
    # What was left out is measured when it is asked for.
    assert hakoiri.ask("diameter", "last", "--component", "0")["diameter"] == 6
    refused = hakoiri.here("run", "tiles", "--diameters", "largest=1", check=False)
    assert "--diameters needs --whole" in refused.error


def verified(farm: Workers, directory: Path, patch: pytest.MonkeyPatch) -> Report:
    """Return the report of `verify`, all its work done by workers."""
    asked, mapped = set[str](), RemoteExecutor.map

    def told(self: RemoteExecutor, task: str, *arguments: Any) -> Any:
        asked.add(task)
        return mapped(self, task, *arguments)

    patch.setattr(RemoteExecutor, "map", told)
    resources = Resources(farm.url, memory=1 << 28, chunk=1_000, farm=1)
    report = verify_directory(directory, False, resources, Control(), SilentObserver())
    assert "derive" in asked or not report.ok
    return report


def test_workers_and_threads_search_from_every_configuration_of_a_census_again(
    farm: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with census("pancakes", {"n": "5"}, data=tmp_path) as run:
        directory = run.store.directory
    monkeypatch.setattr(verify_module, "_STEPS_AT_ONCE", 10_000)
    for executor, resources in ((ThreadExecutor, Resources()), (RemoteExecutor, Resources(farm.url))):
        asked: list[str] = []
        before_call(monkeypatch, executor, "map", lambda _, task, *rest, asked=asked: asked.append(task))
        with by_workers() if resources.redis else nullcontext():
            report = verify_directory(directory, True, resources, Control(), SilentObserver())
        assert (report.ok, report.checked["components"]) == (True, 1), report
        assert "searches" in asked
    with RunStore(directory, writable=True) as store:
        (record,) = recorded_components(store).values()
        stage_component(store, Diameter(replace(record, radius=4), read_pairs(store, 0)))
        store.commit(store.state)
    report = verify_directory(directory, True, Resources(farm.url), Control(), SilentObserver())
    assert "diameter, radius, centre, periphery are (5, 5, 120, 120)" in report.faults[0]
