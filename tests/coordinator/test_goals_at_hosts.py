"""Goal distances of directed runs that hosts keep: made by these hosts, each among its own configurations."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

from hakoiri.coordinator.goals.job import distances_run
from hakoiri.coordinator.hosts.hosts import HostLostError
from hakoiri.coordinator.hosts.moving import RangeMover
from hakoiri.coordinator.hosts.run_hosts import RunHosts
from hakoiri.coordinator.runs.hosted import collect_run
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import WorkerError
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import BLOCKS, number_key
from hakoiri.worker.hosts import part
from hakoiri.worker.hosts.requests import HostRequest
from tests.coordinator.test_goals import assert_right
from tests.support.near_hosts import NearHosts, driven, near_hosts, resources_of
from tests.support.runs import Notes, verified
from tests.support.toy import TwoWayToy
from tests.support.toy_runs import new_run

pytestmark = [pytest.mark.timeout(300), pytest.mark.ci_slow]
TOYS = [("u64", "clumped"), ("u128", "spread"), ("u32", "low"), ("u256", "clumped")]
toys = pytest.mark.parametrize(
    ("layout", "keys"), [pytest.param(*each, marks=() if each == TOYS[1] else pytest.mark.slow) for each in TOYS]
)


def losses() -> Iterator[Any]:
    """Each request with each toy, in much memory and in little, with copies and without; most of them slow."""
    tasks = ("host-take", "host-expand", "host-keep", "host-merge")
    for number, (task, toy) in enumerate(product(tasks, TOYS)):
        for copies, held in product((1, 2), (True, False)):
            usual = (number, copies, held) in ((5, 2, True), (10, 1, False))
            yield pytest.param(task, copies, held, *toy, marks=() if usual else pytest.mark.slow)


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NearHosts]:
    """Three hosts, which keep all runs of a toy that knows its moves backwards."""
    with near_hosts(tmp_path, monkeypatch) as found:
        monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:TwoWayToy")
        # Never connected to.
        monkeypatch.setenv("HAKOIRI_REDIS", "redis://nowhere")
        yield found


@pytest.fixture
def options(layout: str, keys: str) -> dict[str, str]:
    """A toy of a few hundred configurations."""
    return {"layout": layout, "keys": keys, "directed": "yes", "size": "240"}


def distances(base: Path, options: dict[str, str]) -> Path:
    """The directory of a new run of the goal distances of a run, which has not been driven."""
    with RunStore(base) as store:
        return distances_run(store, TwoWayToy(options)).make(Resources())


def kept_run(data: Path, options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A complete run that hosts keep."""
    base = new_run(data, options)
    assert driven(base, resources_of(monkeypatch, options["layout"], 60.0), Notes()).status == "complete"
    return base


def assert_home_and_right(directory: Path, options: dict[str, str], hosts: NearHosts) -> None:
    """The distances, brought home, are those of a plain search."""
    hosts.then = lambda *_: None
    with RunStore(directory) as store:
        assert all(record.hosted for record in store.layer_records())
    assert collect_run(directory, "", Control(), SilentObserver()) > 3
    assert_right(directory, options)
    assert verified(directory).faults == []


class Losses:
    """Loses a host in the third layer, at a request of some kind."""

    def __init__(self, hosts: NearHosts, task: str, disk: bool) -> None:
        self._hosts, self._task, self._disk, self.lost = hosts, task, disk, ""

    def __call__(self, task: str, host: str, request: HostRequest) -> None:
        if task == self._task and request.depth == (0 if task == "host-take" else 3) and not self.lost:
            self.lost = host
            (self._hosts.lose if self._disk else self._hosts.restart)(host)
            raise HostLostError(f"{host} is lost")


@pytest.mark.parametrize(("task", "copies", "held", "layout", "keys"), [*losses()])
def test_hosts_make_them_whoever_is_lost(
    task: str, copies: int, held: bool, options: dict[str, str], hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """With copies the disk of the host is gone, too; the run is read from disk if memory does not hold it."""
    hosts.copies = copies
    directory = distances(kept_run(tmp_path, options, monkeypatch), options)
    if not held:
        monkeypatch.setattr(part, "LEAST_BYTES", 600)
    # Before there is anything to take over, the host is only started again.
    hosts.then = losses = Losses(hosts, task, copies == 2 and task != "host-take")
    hosts.asked.clear()
    assert driven(directory, resources_of(monkeypatch, options["layout"]), Notes()).status == "complete"
    assert losses.lost
    # The coordinator reads nothing of the run.
    assert hosts.asked["host-index"] + hosts.asked["host-give"] + hosts.asked["host-find"] == 0
    assert_home_and_right(directory, options, hosts)


@toys
@pytest.mark.parametrize("copies", [2, pytest.param(1, marks=pytest.mark.slow)])
def test_ranges_follow_those_of_the_run(
    copies: int, options: dict[str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host has left the run, and another one has joined it, between two sessions."""
    hosts.copies = copies
    hosts.chosen = ["a", "b"]
    hosts.leaving = {"c"}
    base = kept_run(tmp_path, options, monkeypatch)
    directory, resources, notes = distances(base, options), resources_of(monkeypatch, options["layout"]), Notes()
    assert driven(directory, resources, notes, until=3).status == "interrupted"
    hosts.leaving = set()
    with RunLock(base), RunStore(base, writable=True) as store:
        moving = RangeMover(store, RunHosts.of(store, hosts), notes.note)
        moving.admit(["c"])
        moving.drain("b", [])
    assert driven(directory, resources, notes).status == "complete"
    assert "moving ranges to the hosts of the run that this one belongs to" in notes.texts
    with RunStore(base) as store, RunStore(directory) as made:
        there, here = RunHosts.of(store, hosts).range_map, RunHosts.of(made, hosts).range_map
    assert [there.hosts[owner] for owner in there.owners] == [here.hosts[owner] for owner in here.owners]
    assert_home_and_right(directory, options, hosts)
    assert len([*tmp_path.glob("hosts/b/run-*")]) == 0


@toys
@pytest.mark.parametrize("held", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_run_that_moves_between_two_short_layers_is_looked_at_again(
    held: bool, options: dict[str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts have expanded the next layer already. A host that is sent ranges first makes a store for them."""
    directory, notes, moved = distances(kept_run(tmp_path, options, monkeypatch), options), Notes(), list[str]()
    if not held:
        monkeypatch.setattr(part, "LEAST_BYTES", 600)

    def move(task: str, host: str, request: HostRequest) -> None:
        if (task, host, request.depth) == ("host-merge", "c", 3) and not moved:
            assert request.ahead
            moved.append(host)
            for each in cast(Any, hosts).hosts.values():
                base = each._base(request, hosts.puzzle, None)
                assert base.copies
                each._forget(base)

    hosts.then = move
    assert driven(directory, resources_of(monkeypatch, options["layout"], 60.0), notes).status == "complete"
    assert moved
    assert any("has moved" in text for text in notes.texts)
    assert_home_and_right(directory, options, hosts)


@pytest.mark.parametrize(("layout", "keys"), [TOYS[0]])
def test_configurations_that_a_host_has_lost_are_missed(
    options: dict[str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = kept_run(tmp_path, options, monkeypatch)
    directory, hosts.tuning = distances(base, options), replace(hosts.tuning, most_losses=3)
    with hosts.store_of("b") as store:
        depth = next(each for each in range(store.state.depth) if store.first_keys(each))
        store.erase(BLOCKS, number_key(depth))
        store.commit(store.state)
    with pytest.raises(WorkerError, match=f"some layers of run {base.name}"):
        driven(directory, resources_of(monkeypatch, options["layout"]), Notes())


@pytest.mark.parametrize(("layout", "keys"), [TOYS[0]])
def test_a_run_brought_home_without_its_distances_says_what_to_do(
    options: dict[str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = kept_run(tmp_path, options, monkeypatch)
    directory, resources = distances(base, options), resources_of(monkeypatch, options["layout"])
    assert driven(directory, resources, Notes(), until=3).status == "interrupted"
    collect_run(base, "", Control(), SilentObserver())
    with pytest.raises(WorkerError, match="was collected, and hosts have the first of its goal distances"):
        driven(directory, resources, Notes())
    collect_run(directory, "", Control(), SilentObserver())
    assert driven(directory, resources, Notes()).status == "complete"
    assert_right(directory, options)


@pytest.mark.parametrize(("layout", "keys"), TOYS[:1])
def test_of_a_run_at_home_this_process_makes_them_and_says_so(
    options: dict[str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = kept_run(tmp_path, options, monkeypatch)
    collect_run(base, "", Control(), SilentObserver())
    found, notes = distances(base, options), Notes()
    assert driven(found, resources_of(monkeypatch, options["layout"]), notes).status == "complete"
    assert f"run {base.name} is not kept by hosts, so this process makes its goal distances" in notes.texts
    assert_right(found, options)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("task", "depth"),
    [
        ("host-expand", 3),
        ("host-keep", 0),
        ("host-merge", 3),
        pytest.param("host-expand", 0, marks=pytest.mark.slow),
        pytest.param("host-keep", 3, marks=pytest.mark.slow),
        pytest.param("host-merge", 0, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("layout", "keys"), [TOYS[0]])
def test_a_run_that_moves_in_the_midst_of_a_layer_is_looked_at_again(
    depth: int, task: str, options: dict[str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, notes, moved = distances(kept_run(tmp_path, options, monkeypatch), options), Notes(), list[str]()

    def move(asked: str, host: str, request: HostRequest) -> None:
        if asked == task and request.depth == depth and not moved:
            moved.append(host)
            for each in cast(Any, hosts).hosts.values():
                each._forget(each._base(request, hosts.puzzle, None))

    hosts.then = move
    assert driven(directory, resources_of(monkeypatch, options["layout"]), notes).status == "complete"
    assert moved
    assert any("has moved" in text for text in notes.texts)
    assert_home_and_right(directory, options, hosts)
