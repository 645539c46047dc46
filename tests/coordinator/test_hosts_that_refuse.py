"""Hosts of other code, or without the puzzle: a run does without them, comes home, and can be drained."""

from dataclasses import replace
from pathlib import Path

import pytest

from hakoiri.coordinator.hosts.hosts import HostPool, TooFewHostsError
from hakoiri.coordinator.hosts.range_map import RangeMap
from hakoiri.coordinator.hosts.run_hosts import RunHosts
from hakoiri.coordinator.runs.hosted import collect_run, drain_run, runs_kept_by
from hakoiri.coordinator.session.session import Control
from hakoiri.errors import WorkerError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import HOSTS_KEY, LEAVING_KEY, META
from tests.support.near_hosts import (
    NearHosts,
    assert_as_a_plain_search,
    driven,
    options_of,
    range_map_of,
    resources_of,
)
from tests.support.runs import Notes
from tests.support.toy_runs import assert_as_expected, new_run

pytestmark = pytest.mark.timeout(300)
OPTIONS = options_of(("u64", "spread", "no"))
EXCLUDED = "host {} is excluded from this run: its code differs from the run's: tasks"


@pytest.fixture
def directory(tmp_path: Path, hosts: NearHosts) -> Path:
    return new_run(tmp_path, OPTIONS)


def range_map_of_store(store: RunStore, hosts: NearHosts) -> RangeMap:
    """The ranges of each host of an open run."""
    return RunHosts.of(store, hosts).range_map


def parts(hosts: NearHosts) -> set[str]:
    """The hosts with a part of a run."""
    return {path.parent.name for path in hosts.directory.glob("*/run-*")}


@pytest.mark.ci_slow
def test_a_run_begins_without_hosts_that_refuse(
    directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes, hosts.refusing = Notes(), {"a", "c"}
    assert driven(directory, resources_of(monkeypatch, "u64"), notes).status == "complete"
    assert [text for text in notes.texts if "excluded" in text] == [EXCLUDED.format("a"), EXCLUDED.format("c")]
    assert (range_map_of(directory, hosts).hosts, range_map_of(directory, hosts).left) == (["b"], [])
    assert_as_a_plain_search(directory, OPTIONS, hosts)


@pytest.mark.ci_slow
def test_a_host_that_refuses_does_not_join(directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one that has come with it does."""
    hosts.tuning = replace(hosts.tuning, host_joins=-1.0)
    notes, hosts.chosen, hosts.refusing = Notes(), ["a"], {"b"}
    assert driven(directory, resources_of(monkeypatch, "u64"), notes).status == "complete"
    assert notes.texts.count(EXCLUDED.format("b")) == 1
    assert range_map_of(directory, hosts).hosts == ["a", "c"]
    assert_as_a_plain_search(directory, OPTIONS, hosts)


@pytest.mark.ci_slow
def test_the_only_host_of_a_run_stays_if_all_others_refuse(
    directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.chosen, hosts.refusing, hosts.leaving = ["a"], {"b", "c"}, {"a"}
    assert driven(directory, resources_of(monkeypatch, "u64"), Notes()).status == "complete"
    assert range_map_of(directory, hosts).hosts == ["a"]


@pytest.mark.ci_slow
def test_a_member_that_refuses_ends_the_session(
    directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    resources = resources_of(monkeypatch, "u64")
    assert driven(directory, resources, Notes(), until=5).status == "interrupted"
    hosts.refusing = {"b"}
    with pytest.raises(WorkerError, match="host b: its code differs from the run's: tasks"):
        driven(directory, resources, Notes())
    hosts.refusing = set()
    assert driven(directory, resources, Notes()).status == "complete"
    assert_as_a_plain_search(directory, OPTIONS, hosts)


@pytest.mark.ci_slow
@pytest.mark.parametrize("refuses", [True, False])
def test_threads_make_a_run_if_nobody_asked_for_hosts_and_these_refuse_or_have_gone(
    refuses: bool, directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other hosts drop what they have taken until then."""

    def choose(pool: NearHosts, again: bool = False) -> list[str]:
        """Return all, or nobody."""
        asked.append(again)
        if not refuses:
            raise TooFewHostsError("0 hosts live, 1 are wanted")
        return pool.chosen

    asked, notes, hosts.refusing = list[bool](), Notes(), {"c"}
    monkeypatch.setattr(NearHosts, "choose", choose)
    monkeypatch.setattr(HostPool, "is_requested", False)
    monkeypatch.setattr(HostPool, "pays", lambda *_: not asked)
    assert driven(directory, resources_of(monkeypatch, "u64"), notes).status == "complete"
    assert asked == [False]
    assert (EXCLUDED.format("c") in notes.texts) is refuses
    assert (parts(hosts), hosts.told["host-leave"] > 0) == (set(), refuses)
    assert_as_expected(directory, OPTIONS)


@pytest.mark.ci_slow
@pytest.mark.parametrize("left", [True, False])
def test_a_run_comes_home_though_another_host_refuses(
    left: bool, directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its part is named if it may have one."""
    hosts.chosen = ["a", "b"]
    assert driven(directory, resources_of(monkeypatch, "u64"), Notes()).status == "complete"
    hosts.refusing, notes = {"c"}, Notes()
    if left:
        with RunStore(directory, writable=True) as store:
            store.stage_record(META, HOSTS_KEY, vars(replace(range_map_of_store(store, hosts), left=["c"])))
            store.commit(store.state)
    assert collect_run(directory, "", Control(), notes) > 1
    assert [text for text in notes.texts if text.startswith("host c refuses (its code differs")] == notes.texts
    assert (len(notes.texts), parts(hosts)) == (left, set())
    assert_as_expected(directory, OPTIONS)


@pytest.mark.ci_slow
def test_parts_of_a_run_that_is_home_are_dropped_later(
    directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No host keeps layers as soon as the last one is here; whatever hosts do then, the next command finishes."""
    assert driven(directory, resources_of(monkeypatch, "u64"), Notes()).status == "complete"

    def refuse(task: str, *_: object) -> None:
        hosts.refusing |= {"b"} if task == "host-leave" else set()

    hosts.then = refuse
    with pytest.raises(WorkerError, match="host b: its code differs"):
        collect_run(directory, "", Control(), Notes())
    with RunStore(directory) as store:
        assert not store.keepers()
    assert_as_expected(directory, OPTIONS)
    assert "b" in parts(hosts)
    hosts.refusing, hosts.then = set(), lambda *_: None
    assert collect_run(directory, "", Control(), Notes()) == 0
    assert not parts(hosts)
    with RunStore(directory) as store:
        assert store.read(META, LEAVING_KEY) is None


@pytest.mark.ci_slow
@pytest.mark.parametrize("away", [False, True])
def test_a_host_of_a_run_that_is_home_is_drained(
    away: bool, directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a collection left it that older versions broke off: it has its hosts, and these have nothing."""
    assert driven(directory, resources_of(monkeypatch, "u64"), Notes()).status == "complete"
    with RunStore(directory) as store:
        record = vars(range_map_of_store(store, hosts))
    collect_run(directory, "", Control(), Notes())
    with RunStore(directory, writable=True) as store:
        store.stage_record(META, HOSTS_KEY, record)
        store.commit(store.state)
    if away:
        hosts.lose("b")
    assert runs_kept_by(directory.parent, "a") == [directory]
    notes = Notes()
    drain_run(directory, "a", "", Control(), notes)
    assert runs_kept_by(directory.parent, "a") == []
    said = f"b do not answer; once they do, collect run {directory.name} to delete their parts"
    assert notes.texts == [said] * away
    assert_as_expected(directory, OPTIONS)
