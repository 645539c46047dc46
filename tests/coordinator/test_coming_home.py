"""Runs brought home from hosts: in pieces, and checked; and what hosts say of layers that cannot be."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from hakoiri.coordinator.errors import ContradictionError, StopRun
from hakoiri.coordinator.runs import hosted
from hakoiri.coordinator.runs.hosted import collect_run
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import WorkerError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import BLOCKS, number_key
from hakoiri.worker.hosts.requests import HostExpanded, HostRequest
from hakoiri.worker.transport.payload import Array, Arrays, packed, unpacked
from tests.support.near_hosts import NAMES, NearHosts, driven, resources_of
from tests.support.runs import Notes, StoppingAfter
from tests.support.toy_runs import assert_as_expected, new_run

pytestmark = pytest.mark.timeout(120)
OPTIONS = {"layout": "u64", "keys": "spread", "directed": "no", "size": "400"}


@pytest.fixture
def directory(hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A complete run that its hosts keep."""
    directory = new_run(tmp_path, OPTIONS)
    assert driven(directory, resources_of(monkeypatch, "u64", 60.0), Notes()).status == "complete"
    return directory


def test_who_is_stopped_while_a_run_comes_home_brings_the_rest_later(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped between layers and in their midst, each block being committed as it comes."""
    monkeypatch.setattr(hosted, "_AT_ONCE", 1)
    monkeypatch.setattr(hosted, "_STAGED_BYTES", 0)
    left, halves, keepers = list[int](), 0, True
    while keepers:
        with suppress(StopRun):
            collect_run(directory, "", StoppingAfter(9 + len(left)), SilentObserver())
        with RunStore(directory) as store:
            away = [record.depth for record in store.layer_records() if record.hosted]
            halves += bool(away and store.names(BLOCKS, number_key(away[0])))
            left.append(len(away))
            keepers = bool(store.keepers())
    assert left == sorted(left, reverse=True)
    assert len(set(left)) > 4
    assert halves > 1
    assert_as_expected(directory, OPTIONS)


def test_a_host_that_gives_other_keys_than_it_made_is_found_out(directory: Path, tmp_path: Path) -> None:
    with RunLock(directory), RunStore(directory, writable=True) as store:
        before, record = store.layer_records()[3:5]
        store.stage_layer(replace(record, digest=before.digest))
        store.commit(store.state)
    with pytest.raises(ContradictionError, match="layer 4 from its hosts has another digest"):
        collect_run(directory, "", Control(), SilentObserver())
    with RunStore(directory) as store:
        assert next(each.depth for each in store.layer_records() if each.hosted) == 4
    # Nobody has dropped what is not at home.
    assert [path.parent.name for path in sorted(tmp_path.glob("hosts/*/run-*"))] == NAMES


def test_what_a_host_says_of_a_layer_must_fit_what_is_known(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host tells of layer 5 when it has merged layer 4."""
    begun, perform = new_run(tmp_path, OPTIONS), hosts.perform

    def lie(task: str, name: str, arrays: Arrays, session: str) -> list[Array]:
        answer = perform(task, name, arrays, session)
        if (task, name, unpacked(arrays, HostRequest).depth) != ("host-merge", "b", 4):
            return answer
        told = unpacked(answer[1:], HostExpanded)
        return [answer[0], *packed(replace(told, size=told.size - 1))]

    monkeypatch.setattr(hosts, "perform", lie)
    with pytest.raises(WorkerError, match="its hosts have"):
        driven(begun, resources_of(monkeypatch, "u64", 60.0), Notes())
    with RunStore(begun) as store:
        assert store.state.depth == 4
