"""Coordinators and hosts whose directories are of different moments: the run goes on and is right, or is refused."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hakoiri.coordinator.runs.drive as driving
from hakoiri.coordinator.errors import ContradictionError, StopRun
from hakoiri.coordinator.runs.hosted import collect_run, drain_run
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import Hint, WorkerError
from hakoiri.storage.layers.blocks import NOTHING, code_keys, digest_text
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import BLOCKS, number_key
from hakoiri.worker.hosts import part
from hakoiri.worker.hosts.copies import COPIES_FOLDER
from hakoiri.worker.hosts.requests import HostExpanded, HostRequest
from hakoiri.worker.transport.payload import Array, Arrays, packed, unpacked
from tests.support.near_hosts import (
    NAMES,
    NearHosts,
    always_even,
    assert_as_a_plain_search,
    driven,
    range_map_of,
    resources_of,
)
from tests.support.runs import Notes, StoppingAfter
from tests.support.toy_runs import assert_as_expected, new_run


def cases() -> Iterator[Any]:
    """Every combination; all but one with older keys of a directed puzzle are slow."""
    for (kept, reached), directed, least, restarted in product(
        ((4, 5), (4, 6), (3, 9)), ("no", "yes"), (24_000_000, 600), (False, True)
    ):
        usual = ((3, 9, "yes", 600, True),)
        marks = () if (kept, reached, directed, least, restarted) in usual else pytest.mark.slow
        yield pytest.param(kept, reached, directed, least, restarted, marks=marks)


@pytest.mark.ci_slow
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


OPTIONS = {"layout": "u64", "keys": "spread", "directed": "no", "size": "600"}


def forget_copies(hosts: NearHosts, name: str, depth: int, every: int = 0) -> None:
    """Have a host lose its copies of a layer, or all but one of so many keys."""
    hosts.restart(name)
    [directory] = hosts.directory.glob(f"{name}/run-*/{COPIES_FOLDER}")
    with RunStore(directory, writable=True) as store:
        keys = np.concatenate([*store.blocks(depth)])
        store.erase(BLOCKS, number_key(depth))
        if every:
            store.stage_blocks(depth, code_keys(depth, keys[1::every]))
        store.commit(store.state)


@pytest.mark.ci_slow
def test_keys_outside_own_ranges_end_a_layer(hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinator's data is a copy of before ranges moved, and hosts do not know theirs, as in earlier versions."""
    directory, saved, resources = new_run(tmp_path, OPTIONS), tmp_path / "saved", resources_of(monkeypatch, "u64")
    driven(directory, resources, Notes(), 3)
    shutil.copytree(directory, saved)
    with monkeypatch.context() as moving:
        always_even(moving, hosts)
        driven(directory, resources, Notes(), 6)
    assert range_map_of(directory, hosts).owners != range_map_of(saved, hosts).owners
    shutil.rmtree(directory)
    shutil.move(saved, directory)
    monkeypatch.setattr(part.RunPart, "_require_ranges", lambda *_: None)
    with pytest.raises(WorkerError, match=r"layer 3 has [\d,]+ configurations, but its hosts have [\d,]+$"):
        driven(directory, resources, Notes())


@pytest.mark.ci_slow
@pytest.mark.parametrize("lost", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])])
def test_a_host_restored_to_before_ranges_were_cut_splits_its_blocks(
    lost: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces of its ranges move on: a key that stayed with another piece would not be known where it belongs."""
    hosts.tuning = replace(hosts.tuning, host_ranges=2)
    always_even(monkeypatch, hosts)
    options, saved, cut = OPTIONS | {"directed": "yes"}, tmp_path / "saved", list[str]()
    directory, resources = new_run(tmp_path, options), resources_of(monkeypatch, "u64")

    def stop(task: str, host: str, request: HostRequest) -> None:
        if task == "host-cut" and request.depth > 3 and not saved.exists():
            shutil.copytree(hosts.directory / lost, saved)
        cut.extend([host] if task == "host-settle" and not request.dry and saved.exists() else [])
        if len(cut) == len(NAMES) and task != "host-settle":
            raise StopRun("interrupted", "enough")

    hosts.then = stop
    assert driven(directory, resources, Notes()).status == "interrupted"
    hosts.then = lambda *_: None
    assert range_map_of(directory, hosts).settled
    hosts.put_back(lost, saved)
    assert driven(directory, resources, Notes()).status == "complete"
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
def test_a_host_that_is_behind_is_drained(hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts.copies, resources = 2, resources_of(monkeypatch, "u64")
    directory = new_run(tmp_path, OPTIONS)
    driven(directory, resources, Notes(), 4)
    shutil.copytree(hosts.directory / "b", tmp_path / "saved")
    driven(directory, resources, Notes(), 7)
    hosts.put_back("b", tmp_path / "saved")
    with pytest.raises(WorkerError, match=r"layer 5 has [\d,]+ configurations, but its hosts have") as refused:
        driven(directory, resources, Notes())
    assert refused.value.hints == (Hint("drain", "b"),)
    drain_run(directory, "b", "", Control(), Notes())
    hosts.leaving = {"b"}
    assert driven(directory, resources, Notes()).status == "complete"
    assert_as_a_plain_search(directory, OPTIONS, hosts)


@pytest.mark.ci_slow
def test_a_run_that_hosts_keep_says_over_which_redis(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = new_run(tmp_path, OPTIONS)
    driven(directory, resources_of(monkeypatch, "u64"), Notes(), 5)
    monkeypatch.setattr(driving, "open_context", open_context)
    for asked in (0, None):
        with pytest.raises(WorkerError, match=r"is kept by a, b, c") as refused:
            driven(directory, Resources(hosts=asked), Notes())
        assert refused.value.hints == (Hint("give", "redis", "redis://near"),)
        with RunStore(directory) as store:
            assert store.state.status == "interrupted"


@pytest.mark.ci_slow
def test_others_take_over_only_with_whole_copies(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a host is away copies of its ranges turn out to be missing; when it is back the run goes on."""
    hosts.copies, resources = 2, resources_of(monkeypatch, "u64")
    directory = new_run(tmp_path, OPTIONS)
    driven(directory, resources, Notes(), 6)
    forget_copies(hosts, "b", 5)
    hosts.gone = {"a"}
    with pytest.raises(WorkerError, match=r"layer 5 has [\d,]+ configurations, but its hosts have") as refused:
        driven(directory, resources, Notes())
    assert refused.value.hints == (Hint("host", "DIR"),)
    hosts.gone = set()
    assert driven(directory, resources, Notes()).status == "complete"
    assert_as_a_plain_search(directory, OPTIONS, hosts)


# Runs brought home from hosts: in pieces, and checked; and what hosts say of layers that cannot be


OPTIONS_HOME = {"layout": "u64", "keys": "spread", "directed": "no", "size": "400"}


@pytest.fixture
def directory(hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A complete run that its hosts keep."""
    directory = new_run(tmp_path, OPTIONS_HOME)
    assert driven(directory, resources_of(monkeypatch, "u64", 60.0), Notes()).status == "complete"
    return directory


@pytest.mark.ci_slow
def test_who_is_stopped_while_a_run_comes_home_brings_the_rest_later(directory: Path, hosts: NearHosts) -> None:
    """Stopped between layers and in their midst, each block being committed as it comes."""
    hosts.tuning = replace(hosts.tuning, host_blocks=1, host_staged=0)
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
    assert_as_expected(directory, OPTIONS_HOME)


@pytest.mark.ci_slow
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
    begun, perform = new_run(tmp_path, OPTIONS_HOME), hosts.perform

    def lie(task: str, name: str, shared: Arrays, arrays: Arrays, session: str) -> list[Array]:
        answer = perform(task, name, shared, arrays, session)
        if (task, name, HostRequest.read(shared, arrays, session).depth) != ("host-merge", "b", 4):
            return answer
        told = unpacked(answer[1:], HostExpanded)
        return [answer[0], *packed(replace(told, size=told.size - 1))]

    monkeypatch.setattr(hosts, "perform", lie)
    with pytest.raises(WorkerError, match="its hosts have"):
        driven(begun, resources_of(monkeypatch, "u64", 60.0), Notes())
    with RunStore(begun) as store:
        assert store.state.depth == 4


@pytest.mark.ci_slow
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
        always_even(patch, hosts)
        assert driven(directory, resources, Notes(), 6).status == "interrupted"
    shutil.rmtree(directory)
    shutil.move(saved, directory)
    with pytest.raises(WorkerError, match=r"it keeps other ranges of the run than the coordinator's record says"):
        driven(directory, resources, Notes())


@pytest.mark.ci_slow
@pytest.mark.parametrize("directed", ["no", "yes"])
def test_layers_that_were_dealt_out_are_counted_too(
    directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host of the start has lost it: of a directed puzzle it would be found once more."""
    hosts.copies, resources = 2, resources_of(monkeypatch, "u64")
    directory = new_run(tmp_path, OPTIONS | {"directed": directed})
    driven(directory, resources, Notes(), 4)
    stores = {name: hosts.store_of(name) for name in NAMES}
    [host] = [name for name, store in stores.items() if store.names(BLOCKS, number_key(0))]
    stores[host].erase(BLOCKS, number_key(0))
    stores[host].stage_layer(replace(stores[host].layer_record(0), size=0, digest=digest_text(NOTHING), index=0))
    stores[host].commit(stores[host].state)
    for store in stores.values():
        store.close()
    with pytest.raises(WorkerError, match="layer 0 has 1 configurations, but its hosts have 0 in their") as refused:
        driven(directory, resources, Notes())
    assert refused.value.hints == (Hint("drain", host),)


@pytest.mark.ci_slow
@pytest.mark.parametrize("every", [0, 2])
def test_stale_copies_are_made_again(
    every: int, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first layers stay here.
    hosts.copies, resources, notes = 2, replace(resources_of(monkeypatch, "u64"), farm=30), Notes()
    directory = new_run(tmp_path, OPTIONS)
    driven(directory, resources, Notes(), 6)
    forget_copies(hosts, "b", 5, every)
    driven(directory, resources, notes, 8)
    assert [text for text in notes.texts if "of another moment, and are made again" in text]
    hosts.lose("a")
    assert driven(directory, resources, Notes()).status == "complete"
    assert_as_a_plain_search(directory, OPTIONS, hosts)
