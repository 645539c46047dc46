"""Hosts that are ahead of a coordinator whose data was restored: the run is made again from there, and right."""

import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hakoiri.worker.errors import WorkerError
from hakoiri.worker.hosts import part
from tests.support.near_hosts import NearHosts, always_even, assert_as_a_plain_search, driven, resources_of
from tests.support.runs import Notes
from tests.support.toy_runs import new_run


def cases() -> Iterator[Any]:
    """Every combination; those in which older keys of a directed puzzle were taken for known are not slow."""
    for (kept, reached), directed, least, restarted in product(
        ((4, 5), (4, 6), (3, 9)), ("no", "yes"), (24_000_000, 600), (False, True)
    ):
        usual = reached == 9 and (directed == "yes") and restarted == (least == 600)
        marks = () if usual or (kept, reached, directed, least) == (4, 5, "no", 600) else pytest.mark.slow
        yield pytest.param(kept, reached, directed, least, restarted, marks=marks)


@pytest.mark.parametrize(("kept", "reached", "directed", "least", "restarted"), list(cases()))
def test_layers_that_hosts_have_and_the_coordinator_lost_are_made_again(
    kept: int, reached: int, directed: str, least: int, restarted: bool, hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The coordinator's data is a copy of when it had layer `kept`; hosts have layers up to `reached`."""
    monkeypatch.setattr(part, "LEAST_BYTES", least)
    options = {"layout": "u64", "keys": "spread", "directed": directed, "size": "600"}
    directory, saved = new_run(tmp_path, options), tmp_path / "saved"

    def until(depth: int) -> None:
        assert driven(directory, resources_of(monkeypatch, "u64"), Notes(), depth).status == "interrupted"

    until(kept)
    shutil.copytree(directory, saved)
    until(reached)
    shutil.rmtree(directory)
    shutil.move(saved, directory)
    if restarted:
        for name in ("a", "b", "c"):
            hosts.restart(name)
    assert driven(directory, resources_of(monkeypatch, "u64"), Notes()).status == "complete"
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.parametrize("directed", ["no", "yes"])
def test_a_host_whose_ranges_have_moved_since_says_so(
    directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator's data is a copy of when other hosts had these ranges."""
    options = {"layout": "u64", "keys": "spread", "directed": directed, "size": "600"}
    directory, saved = new_run(tmp_path, options), tmp_path / "saved"
    resources = resources_of(monkeypatch, "u64")
    assert driven(directory, resources, Notes(), 3).status == "interrupted"
    shutil.copytree(directory, saved)
    with monkeypatch.context() as patch:
        always_even(patch)
        assert driven(directory, resources, Notes(), 6).status == "interrupted"
    shutil.rmtree(directory)
    shutil.move(saved, directory)
    with pytest.raises(WorkerError, match=r"it keeps other ranges of the run than the coordinator's record says"):
        driven(directory, resources, Notes())
