"""Censuses that hosts keep: as those made by threads, whoever is lost, and brought home."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import lmdb
import pytest

from hakoiri.api import Run
from hakoiri.coordinator.errors import ContradictionError, StopRun
from hakoiri.coordinator.hosts.hosts import HostLostError
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.hosted import collect_run, drain_run
from hakoiri.coordinator.runs.opening import open_store
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import DamagedError, ElsewhereError, Hint, PayloadError, PuzzleError, WorkerError
from hakoiri.keys.layout import ints
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import HOSTS_KEY, LABELS, META, NUMBERS_KEY, PARTIAL_KEY
from hakoiri.worker.hosts import part
from hakoiri.worker.hosts.requests import HostPassed, HostRequest
from hakoiri.worker.transport.data_redis import DataRedisPool
from hakoiri.worker.transport.payload import Array, packed, unpacked
from tests.support.near_hosts import (
    NAMES,
    Killed,
    NearHosts,
    assert_no_host_expects_messages,
    range_map_of,
    repeat_requests,
)
from tests.support.runs import Notes, small_slabs, verified
from tests.support.seeds import first_usual, usual
from tests.support.toy import Dust, Toy
from tests.support.toy_runs import before_call, open_without_sync

pytestmark = pytest.mark.timeout(120)
_OPTIONS = {"puzzle": "dust", "layout": "u64", "keys": "clumped"}
_SLAB = 64
_TASKS = ("host-take", "host-list", "host-join", "host-hand", "host-edges", "host-number")
_EMBEDDINGS = [("u32", "spread"), ("u64", "clumped"), ("u32", "high"), ("u128", "spread"), ("u256", "clumped")]


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dozen slabs, in ranges of one or more; each range is a round."""
    for name, toy in (("toy", "Toy"), ("dust", "Dust"), ("liar", "Liar")):
        monkeypatch.setitem(PUZZLES, name, f"tests.support.toy:{toy}")
    small_slabs(monkeypatch, _SLAB)
    # Never connected to.
    monkeypatch.setenv("HAKOIRI_REDIS", "redis://nowhere")
    monkeypatch.setattr(lmdb, "open", open_without_sync)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def resources(slabs: int = 3) -> Resources:
    """So many slabs in a range, at most."""
    return Resources(farm=1, tuning=Tuning(most_range=slabs * _SLAB, checkpoint=-1.0))


def started(data: Path, puzzle: str = "toy", **options: str) -> Path:
    plan = {} if "directed" in options else {"diameters": "below=200"}
    return make_run(data, PuzzleSpec(puzzle, options), "census", plan, Resources())


def driven(directory: Path, slabs: int = 3, notes: Notes | None = None) -> str:
    return drive(directory, resources(slabs), Control(), notes or Notes()).status


def found(directory: Path) -> tuple[Any, ...]:
    """The digest of a census, which is that of keys, labels and components, its figures, and the labels."""
    with closing(Run(open_store(directory))) as run:
        state = run.store.state
        return state.digest, state.figures, run.configurations()[1].tolist()


def at_home(directory: Path, hosts: NearHosts, options: dict[str, str]) -> tuple[Any, ...]:
    """All that is found without hosts."""
    hosts.wanted, hosts.copies = None, 1
    other = started(directory.parent, **options)
    assert drive(other, Resources(), Control(), SilentObserver()).status == "complete"
    return found(other)


def assert_as_at_home(directory: Path, hosts: NearHosts, options: dict[str, str]) -> None:
    """The run, brought home, is as one by threads; nothing of it is left at hosts, or of the passes."""
    hosts.then = lambda *_: None
    assert collect_run(directory, "", Control(), SilentObserver()) == 1
    assert found(directory) == at_home(directory, hosts, options)
    with RunStore(directory) as store:
        assert not any(store.names(META, name) for name in (HOSTS_KEY, NUMBERS_KEY, PARTIAL_KEY))
    assert not list(directory.parent.glob("hosts/*/run-*"))


def cases() -> Iterator[Any]:
    """Each toy in each embedding, in ranges of a slab, of some, and of all that a host has; most of them slow."""
    for number, (slabs, puzzle, (layout, keys)) in enumerate(product((1, 3, 100), ("toy", "dust"), _EMBEDDINGS)):
        options = {"puzzle": puzzle, "layout": layout, "keys": keys}
        usual = number in (0, 8, 13, 19, 21)
        yield pytest.param(slabs, options, marks=() if usual else pytest.mark.slow, id=f"{slabs}-{puzzle}-{layout}")
    yield pytest.param(3, _OPTIONS | {"directed": "yes"}, id="directed")


@pytest.mark.ci_slow
@usual(1, ("slabs", "options"), [*cases()])
def test_hosts_find_what_threads_find(
    slabs: int, options: dict[str, str], tmp_path: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, sizes = started(tmp_path, **options), list[int]()
    before_call(monkeypatch, DataRedisPool, "reach", lambda *_: sizes.append(1))
    repeat_requests(hosts, monkeypatch)
    assert driven(directory, slabs) == "complete"
    assert_no_host_expects_messages()
    # They have exchanged something, and each has a part.
    assert sizes
    with RunStore(directory) as store:
        assert store.layer_record(0).hosted
        assert not store.names(LABELS)
    assert len(list(tmp_path.glob("hosts/*/run-*"))) == len(NAMES)
    assert_as_at_home(directory, hosts, options)


class Losses:
    """Each host is lost once after it has answered a request of some name; or the coordinator is stopped then."""

    def __init__(self, hosts: NearHosts, task: str, stops: bool) -> None:
        self._hosts, self._task, self._stops, self.lost = hosts, task, stops, list[str]()

    def __call__(self, task: str, host: str, request: HostRequest) -> None:
        if task == self._task and host not in self.lost:
            self.lost.append(host)
            if self._stops:
                raise StopRun("interrupted", "enough")
            self._hosts.restart(host)
            raise HostLostError(f"{host} is lost")


@pytest.mark.ci_slow
@pytest.mark.parametrize("stops", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("task", first_usual(3, *_TASKS))
def test_a_census_goes_on_whoever_is_lost(task: str, stops: bool, tmp_path: Path, hosts: NearHosts) -> None:
    directory = started(tmp_path, **_OPTIONS)
    hosts.then = losses = Losses(hosts, task, stops)
    while (status := driven(directory)) == "interrupted":
        assert stops
    assert status == "complete"
    assert losses.lost == NAMES
    assert_as_at_home(directory, hosts, _OPTIONS)


@pytest.mark.ci_slow
def test_what_is_done_is_not_done_again(tmp_path: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is restarted after a range has expanded that range, and those in flight are lost."""
    expanded, directory, restarts = list[int](), started(tmp_path, **_OPTIONS), 9
    before_call(monkeypatch, Dust, "expand", lambda _, keys: expanded.append(len(keys)))

    def restart(task: str, host: str, request: HostRequest) -> None:
        if task == "host-join" and hosts.asked[task] <= restarts:
            hosts.restart(host)

    hosts.then = restart
    assert driven(directory, 1) == "complete"
    with RunStore(directory) as store:
        size = store.layer_record(0).size
    # Twice: to be joined, and to be measured. Four ranges are in flight; the sample is compared with the rules.
    assert sum(expanded) < 2 * size + (restarts * 4 + 1) * _SLAB + size // 2


@pytest.mark.ci_slow
def test_components_are_numbered_for_the_joinings_that_hosts_have(tmp_path: Path, hosts: NearHosts) -> None:
    """A host was restored to a moment before it joined its ranges: its trees may have other roots then."""
    directory, saved = started(tmp_path, **_OPTIONS), tmp_path / "saved"

    def stop(task: str, host: str, request: HostRequest) -> None:
        if task == "host-join" and not saved.exists():
            [part] = tmp_path.glob("hosts/b/run-*")
            shutil.copytree(part, saved)
        if task == "host-number":
            raise StopRun("interrupted", "enough")

    hosts.then = stop
    assert driven(directory) == "interrupted"
    hosts.then = lambda *_: None
    [part] = tmp_path.glob("hosts/b/run-*")
    shutil.rmtree(part)
    shutil.move(saved, part)
    hosts.restart("b")
    hosts.asked.clear()
    assert driven(directory) == "complete"
    assert hosts.asked["host-hand"] == len(NAMES)
    assert_as_at_home(directory, hosts, _OPTIONS)


@pytest.mark.ci_slow
def test_answers_are_read_from_hosts(tmp_path: Path, hosts: NearHosts) -> None:
    directory = started(tmp_path, **_OPTIONS)
    assert driven(directory) == "complete"
    there = found(directory)
    with closing(Run(open_store(directory))) as run:
        keys, labels = run.configurations()
        assert [run.component_of(key) for key in ints(keys[::50])] == labels[::50].tolist()
    assert verified(directory).faults == []
    assert there == at_home(directory, hosts, _OPTIONS)


@pytest.mark.ci_slow
def test_labels_that_a_host_has_lost_are_missed(tmp_path: Path, hosts: NearHosts) -> None:
    directory = started(tmp_path, **_OPTIONS)
    assert driven(directory) == "complete"
    with hosts.store_of("b") as store:
        store.erase(LABELS, store.names(LABELS)[0])
        store.commit(store.state)
    report = verified(directory, full=False)
    assert not report.ok
    assert re.search(r"labels \d+ is missing", report.faults[0])
    with pytest.raises(DamagedError, match="is missing"):
        collect_run(directory, "", Control(), SilentObserver())
    assert len(list(tmp_path.glob("hosts/*/run-*"))) == len(NAMES)


@pytest.mark.parametrize(
    ("lie", "error", "said"),
    [("slip", PuzzleError, "expand does not"), ("rare", ContradictionError, "which does not lead back")],
)
def test_wrong_moves_are_found(lie: str, error: type[Exception], said: str, tmp_path: Path, hosts: NearHosts) -> None:
    with pytest.raises(error, match=said):
        driven(started(tmp_path, puzzle="liar", keys="clumped", lie=lie))


@pytest.mark.parametrize(
    ("task", "change"),
    [("host-list", lambda told: {"size": told.size - 1}), ("host-hand", lambda told: {"sent": told.sent[1:]})],
)
def test_what_a_host_says_must_fit_what_is_known(
    task: str, change: Callable[[HostPassed], dict[str, Any]], tmp_path: Path, hosts: NearHosts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    perform = hosts.perform

    def lie(asked: str, name: str, *request: Any) -> list[Array]:
        answer = perform(asked, name, *request)
        if (asked, name) != (task, "b"):
            return answer
        told = unpacked(answer, HostPassed)
        return [*packed(replace(told, **change(told))), *answer[1:]]

    monkeypatch.setattr(hosts, "perform", lie)
    with pytest.raises((ContradictionError, PayloadError), match=r"at its hosts|unknown hosts"):
        driven(started(tmp_path, **_OPTIONS))


def test_few_configurations_stay_here(tmp_path: Path, hosts: NearHosts) -> None:
    directory = started(tmp_path, **_OPTIONS)
    assert drive(directory, replace(resources(), farm=1 << 20), Control(), SilentObserver()).status == "complete"
    assert not hosts.asked


@pytest.mark.ci_slow
def test_who_asks_for_copies_asks_for_hosts(tmp_path: Path, hosts: NearHosts) -> None:
    hosts.wanted, hosts.copies = None, 2
    assert driven(started(tmp_path, **_OPTIONS)) == "complete"
    assert hosts.asked["host-receive"] == len(NAMES)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("last", "numbered"), first_usual(2, ("host-list", None), ("host-join", 4), ("host-list", 4), ("host-join", None))
)
def test_a_census_whose_coordinator_was_restored_is_labelled_again(
    last: str, numbered: int | None, tmp_path: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts have labelled some ranges meanwhile, or all, and forgotten how they were joined."""
    # Each range is committed.
    monkeypatch.setattr(part, "LEAST_BYTES", 600)
    directory, saved = started(tmp_path, **_OPTIONS), tmp_path / "saved"
    hosts.then = Losses(hosts, last, stops=True)
    assert driven(directory, 1) == "interrupted"
    shutil.copytree(directory, saved)

    def stop(task: str, host: str, request: HostRequest) -> None:
        if task == "host-number" and hosts.asked[task] == numbered:
            raise StopRun("interrupted", "enough")

    hosts.then = stop
    assert driven(directory, 1) == ("interrupted" if numbered else "complete")
    shutil.rmtree(directory)
    shutil.move(saved, directory)
    hosts.then = lambda *_: None
    assert driven(directory, 1) == "complete"
    assert_as_at_home(directory, hosts, _OPTIONS)


@pytest.mark.ci_slow
def test_numbers_of_trees_are_not_taken_for_labels(tmp_path: Path, hosts: NearHosts) -> None:
    """A host is restored to before it had labels."""
    directory, place = started(tmp_path, **_OPTIONS), tmp_path / "hosts" / "b"
    hosts.then = Losses(hosts, "host-edges", stops=True)
    assert driven(directory) == "interrupted"
    shutil.copytree(place, tmp_path / "saved")
    hosts.then = lambda *_: None
    assert driven(directory) == "complete"
    hosts.hosts["b"].close()
    shutil.rmtree(place)
    shutil.move(tmp_path / "saved", place)
    hosts.add("b")
    with pytest.raises(WorkerError, match="host b: its configurations have no labels yet"):
        found(directory)


# Copies, and hosts that leave


class Disks:
    """Loses hosts and their disks, each when any host has answered so many requests of some name."""

    def __init__(self, hosts: NearHosts, *losses: tuple[str, str, int]) -> None:
        self._hosts, self._losses = hosts, list(losses)

    def __call__(self, task: str, host: str, request: HostRequest) -> None:
        for loss in self._losses:
            lost, at, number = loss
            if task == at and self._hosts.asked[task] >= number:
                self._losses.remove(loss)
                self._hosts.lose(lost)
                raise HostLostError(f"{lost} is lost")


@pytest.fixture
def copying(hosts: NearHosts) -> NearHosts:
    """Hosts of which two keep each range."""
    hosts.copies = 2
    return hosts


def assert_whole(directory: Path) -> None:
    """A verification of everything, copies included, finds no fault."""
    assert verified(directory).faults == []


def losses() -> Iterator[Any]:
    """Each host is lost at each request of a census: while it is listed, copied, labelled, and measured.

    All but one host at every other request are slow.
    """
    tasks = [(task, 1) for task in (*_TASKS[1:], "host-send", "host-receive", "host-index", "host-labels")]
    for number, (task, count) in enumerate([*tasks, ("host-labels", 4), ("host-give", 3)]):
        for lost in NAMES:
            marks = () if number % 2 == 0 and lost == NAMES[number % len(NAMES)] else pytest.mark.slow
            yield pytest.param((lost, task, count), id=f"{lost}-{task}-{count}", marks=marks)


@pytest.mark.ci_slow
@pytest.mark.parametrize("loss", [*losses()])
def test_a_lost_disk_costs_a_census_no_configuration(
    loss: tuple[str, str, int], tmp_path: Path, copying: NearHosts
) -> None:
    directory, notes = started(tmp_path, **_OPTIONS), Notes()
    copying.then = Disks(copying, loss)
    assert driven(directory, notes=notes) == "complete"
    assert copying.gone == {loss[0]}
    assert [text for text in notes.texts if "take over its" in text]
    assert range_map_of(directory, copying).owners == sorted(range_map_of(directory, copying).owners)
    assert_whole(directory)
    assert_as_at_home(directory, copying, _OPTIONS)


@pytest.mark.ci_slow
@pytest.mark.parametrize("lost", first_usual(1, *NAMES))
def test_a_census_is_labelled_anew_without_a_host_that_is_lost_later(
    lost: str, tmp_path: Path, copying: NearHosts
) -> None:
    directory, notes = started(tmp_path, **_OPTIONS), Notes()
    assert driven(directory) == "complete"
    assert_whole(directory)
    known = found(directory)
    copying.lose(lost)
    with closing(Run(open_store(directory))) as run:
        keys = run.store.layer(0)
        with pytest.raises(ElsewhereError, match=f"{lost} do not answer") as missed:
            [run.component_of(key) for key in ints(keys[::50])]
    assert Hint("drain", lost) in missed.value.hints
    with pytest.raises(ElsewhereError, match=f"{lost} do not answer"):
        verified(directory, full=False)
    drain_run(directory, lost, "", Control(), notes)
    assert notes.texts[-1] == f"run {directory.name}: ranges have moved, so its components are to be found again"
    assert notes.hints[-1] == (Hint("resume", directory.name),)
    with RunStore(directory) as store:
        assert (store.state.status, store.keepers()) == ("interrupted", [name for name in NAMES if name != lost])
    assert_whole(directory)
    measured = copying.asked["host-give"]
    assert driven(directory) == "complete"
    assert found(directory) == known
    # All components have their records still.
    assert copying.asked["host-give"] - measured < measured
    assert_whole(directory)
    assert_as_at_home(directory, copying, _OPTIONS)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    "task", first_usual(3, "host-list", "host-receive", "host-labels", "host-take", "host-send", "host-join")
)
def test_a_census_whose_coordinator_is_killed_has_copies(task: str, tmp_path: Path, copying: NearHosts) -> None:
    """It is killed again when others take over for a host, which is lost after the first time."""
    directory = started(tmp_path, **_OPTIONS)

    def killed_at(*tasks: str) -> None:
        def kill(asked: str, host: str, request: HostRequest) -> None:
            if asked in tasks:
                raise Killed

        copying.then = kill
        with pytest.raises(Killed):
            driven(directory)

    killed_at(task)
    if task == "host-take":
        copying.then = lambda *_: None
        assert driven(directory) == "complete"
    else:
        copying.lose("b")
        killed_at("host-take" if task in ("host-list", "host-send", "host-receive") else "host-settle")
        copying.then = lambda *_: None
        assert driven(directory) == "complete"
    range_map = range_map_of(directory, copying)
    assert (range_map.due, range_map.settled) == ([], True)
    assert range_map.dispensable() == {*range_map.hosts}
    assert_whole(directory)
    assert_as_at_home(directory, copying, _OPTIONS)


@pytest.mark.ci_slow
@pytest.mark.parametrize("task", first_usual(1, "host-join", "host-list", "host-number"))
def test_a_census_without_copies_gets_them_with_its_next_session(task: str, tmp_path: Path, hosts: NearHosts) -> None:
    directory, hosts.then = started(tmp_path, **_OPTIONS), Losses(hosts, task, stops=True)
    assert driven(directory, 1) == "interrupted"
    hosts.copies = 2
    hosts.then = Disks(hosts, ("a", "host-hand", 1))
    # It is numbered already where that was all that was left.
    assert driven(directory, 1) == "complete"
    assert_whole(directory)
    assert range_map_of(directory, hosts).dispensable() == {*range_map_of(directory, hosts).hosts}
    assert_as_at_home(directory, hosts, _OPTIONS)


@pytest.mark.ci_slow
@pytest.mark.parametrize("copies", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("task", first_usual(2, "host-list", "host-number", "host-take", "host-join", "host-edges"))
def test_a_host_that_is_to_leave_keeps_nothing_of_a_census(
    task: str, copies: int, tmp_path: Path, hosts: NearHosts
) -> None:
    directory, hosts.copies = started(tmp_path, **_OPTIONS), copies

    def leave(asked: str, host: str, request: HostRequest) -> None:
        if asked == task:
            hosts.leaving = {"b"}

    hosts.then = leave
    assert driven(directory) == "complete"
    assert sorted(path.parent.name for path in tmp_path.glob("hosts/*/run-*")) == ["a", "c"]
    hosts.then = lambda *_: None
    for host in ("c", "a"):
        drain_run(directory, host, "", Control(), SilentObserver())
        assert driven(directory) == "complete"
    assert_as_at_home(directory, hosts, _OPTIONS)


@pytest.mark.ci_slow
@pytest.mark.parametrize("last", first_usual(2, *_TASKS[1:]))
def test_a_census_brought_home_in_its_midst_is_finished_there(last: str, tmp_path: Path, hosts: NearHosts) -> None:
    directory = started(tmp_path, **_OPTIONS)
    hosts.then = Losses(hosts, last, stops=True)
    assert driven(directory) == "interrupted"
    hosts.then = lambda *_: None
    collect_run(directory, "", Control(), SilentObserver())
    hosts.wanted = None
    assert driven(directory) == "complete"
    assert found(directory) == at_home(directory, hosts, _OPTIONS)


@pytest.mark.parametrize("place", [0, 300, -1])
def test_a_move_out_of_the_space_is_found(
    place: int, tmp_path: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed, without = Toy.configurations, sorted(Toy({"keys": "clumped"}).vertices)[place]
    monkeypatch.setattr(Toy, "configurations", lambda self: (block[block != without] for block in listed(self)))
    with pytest.raises(ContradictionError, match=f"leads to {without:#x}, which is not among the 599 configurations"):
        driven(started(tmp_path, puzzle="toy", keys="clumped"))


@pytest.mark.ci_slow
@pytest.mark.parametrize("task", ["host-send", "host-receive", "host-settle"])
def test_a_restarted_host_loses_nothing_of_a_census_with_copies(task: str, tmp_path: Path, copying: NearHosts) -> None:
    directory, restarts = started(tmp_path, **_OPTIONS), Losses(copying, task, stops=False)
    disks = Disks(copying, ("b", "host-join", 1))

    def then(*told: Any) -> None:
        disks(*told)
        restarts(*told)

    copying.then = then
    assert driven(directory) == "complete"
    assert {*restarts.lost} >= {"a", "c"}
    assert_as_at_home(directory, copying, _OPTIONS)
