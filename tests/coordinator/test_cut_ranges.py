"""Runs whose ranges are cut while hosts make them: every layer is that of a plain search, whoever is lost."""

from dataclasses import replace
from functools import partial
from itertools import accumulate, cycle, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakoiri.coordinator.hosts.hosts import HostLostError
from hakoiri.coordinator.hosts.range_map import NOBODY, RangeMap, copies_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import State
from hakoiri.worker.hosts.copies import Copies
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.layers.partition import Shares
from tests.support.near_hosts import (
    NAMES,
    Killed,
    NearHosts,
    always_even,
    assert_as_a_plain_search,
    assert_readable,
    driven,
    options_of,
    range_map_of,
    resources_of,
    with_searches,
)
from tests.support.runs import Notes
from tests.support.toy_runs import new_run

pytestmark = pytest.mark.timeout(300)
USUAL = [("u32", "spread", "no"), ("u64", "clumped", "yes"), ("u128", "spread", "yes"), ("u256", "clumped", "no")]
searches = partial(with_searches, cycle(USUAL))
SEARCH = ("u64", "spread", "no")


@pytest.fixture
def hosts(hosts: NearHosts, monkeypatch: pytest.MonkeyPatch) -> NearHosts:
    """Three hosts of two threads, which keep all runs; nearly each range is cut before each layer."""
    hosts.tuning = replace(hosts.tuning, host_ranges=2)
    always_even(monkeypatch, hosts)
    return hosts


@pytest.mark.ci_slow
@searches("copies", 1, 2)
def test_ranges_are_cut_and_layers_are_those_of_a_plain_search(
    copies: int, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each host is started again, and at each of the requests."""
    options, notes, hosts.copies = options_of(search), Notes(), copies
    directory, left = (
        new_run(tmp_path, options),
        {(task, host) for task in ("host-cut", "host-settle") for host in NAMES},
    )

    def lose(task: str, host: str, request: HostRequest) -> None:
        if (task, host) in left:
            left.remove((task, host))
            hosts.restart(host)
            raise HostLostError(f"{host} is lost")

    hosts.then = lose
    assert driven(directory, resources_of(monkeypatch, search[0]), notes).status == "complete"
    assert not left
    assert sum(text.startswith("cutting ") for text in notes.texts) > 2
    assert any(text.endswith("to hosts that have less to do") for text in notes.texts)
    range_map = range_map_of(directory, hosts)
    assert len(range_map.owners) > 3 * 2
    assert range_map.settled
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
def test_what_is_made_of_the_next_layer_is_dropped_if_ranges_are_cut_or_move(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No host is asked to go on with it, and no attempt is lost."""
    options, notes = options_of(SEARCH), Notes()
    directory = new_run(tmp_path, options)
    state = driven(directory, resources_of(monkeypatch, SEARCH[0], 60.0), notes)
    assert any(text.startswith("cutting ") for text in notes.texts)
    assert any(text.endswith("to hosts that have less to do") for text in notes.texts)
    assert not any("restarts" in text for text in notes.texts)
    assert len(NAMES) < hosts.asked["host-expand"] < len(NAMES) * state.depth
    assert hosts.asked["host-merge"] == len(NAMES) * (state.depth + 1)
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@searches("task", "host-cut", "host-settle")
def test_a_disk_is_lost_while_ranges_are_cut(
    task: str, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has the copies has them in blocks that reach beyond the cut, or has split them already."""
    options, hosts.copies = options_of(search), 2
    directory = new_run(tmp_path, options)

    def lose(asked: str, host: str, request: HostRequest) -> None:
        if asked == task and host == "b" and not hosts.gone:
            hosts.lose(host)
            raise HostLostError(f"{host} is lost")

    hosts.then = lose
    assert driven(directory, resources_of(monkeypatch, search[0]), Notes()).status == "complete"
    assert hosts.gone == {"b"}
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@searches("asked", 1, 2, 3)
def test_a_coordinator_killed_between_the_record_of_a_cut_and_its_end_goes_on(
    asked: int, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many hosts have split their blocks. Meanwhile all layers can be read, also while a host is away."""
    options, hosts.copies = options_of(search), 2
    directory, resources, told = new_run(tmp_path, options), resources_of(monkeypatch, search[0]), list[str]()

    def kill(task: str, host: str, request: HostRequest) -> None:
        if task == "host-settle" and not request.dry and request.depth > 4:
            told.append(host)
            if len(told) == asked:
                raise Killed

    hosts.then = kill
    with pytest.raises(Killed):
        driven(directory, resources, Notes())
    hosts.then = lambda *_: None
    assert not range_map_of(directory, hosts).settled
    for away in (*NAMES, ""):
        with monkeypatch.context() as patch:
            living = {name: beat for name, beat in hosts.living().items() if name != away}
            patch.setattr(hosts, "living", lambda there=living: there)
            assert_readable(directory, hosts)
    assert driven(directory, resources, Notes()).status == "complete"
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@searches("copies", 1, 2)
def test_hosts_join_a_run_that_one_host_began_with_fewer_ranges_than_there_are_hosts(
    copies: int, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.tuning = replace(hosts.tuning, host_joins=-1.0)
    options, notes, hosts.copies, hosts.chosen = options_of(search), Notes(), copies, ["a", "b"][:copies]
    directory = new_run(tmp_path, options)
    assert driven(directory, resources_of(monkeypatch, search[0]), notes, until=7).status == "interrupted"
    range_map = range_map_of(directory, hosts)
    assert range_map.hosts == NAMES
    assert {*range_map.owners} == {0, 1, 2}
    assert driven(directory, resources_of(monkeypatch, search[0]), notes).status == "complete"
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.slow
def test_blocks_are_split_in_many_commits(hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each layer is a commit of its own, and the attempt after some of them is lost."""
    monkeypatch.setattr(Shares, "staged_bytes", property(lambda shares: 1))
    options, hosts.copies = options_of(SEARCH), 2
    commits, committed, splitting, split = list[bool](), RunStore.commit, list[bool](), Copies.split

    def commit(store: RunStore, state: State) -> None:
        committed(store, state)
        if splitting:
            commits.append(True)
            if len(commits) in (2, 5, 9, 20):
                raise Killed

    def split_and_say(copies: Copies, own: RunStore, request: HostRequest) -> None:
        splitting.append(True)
        try:
            split(copies, own, request)
        finally:
            splitting.clear()

    monkeypatch.setattr(RunStore, "commit", commit)
    monkeypatch.setattr(Copies, "split", split_and_say)
    directory = new_run(tmp_path, options)
    assert driven(directory, resources_of(monkeypatch, "u64"), Notes()).status == "complete"
    assert len(commits) > 40
    assert_as_a_plain_search(directory, options, hosts)


# Who has what


@pytest.mark.ci_slow
@given(st.integers(2, 5), st.lists(st.integers(1, 4), min_size=1, max_size=12), st.booleans(), st.data())
def test_pieces_of_a_range_are_where_it_was(hosts: int, pieces: list[int], copied: bool, data: st.DataObject) -> None:
    ranges = len(pieces)
    owners = data.draw(st.lists(st.integers(0, hosts - 1), min_size=ranges, max_size=ranges))
    some = st.sets(st.integers(0, ranges - 1)).map(sorted)
    names, copies = [f"host-{number}" for number in range(hosts)], copies_of(owners, hosts) if copied else []
    before = RangeMap(names, b"before", owners, copies, data.draw(some))
    after = before.cut(b"after", pieces)
    assert (after.partition, after.settled, len(after.owners)) == (b"after", False, sum(pieces))
    for number, (begin, end) in enumerate(pairwise([0, *accumulate(pieces)])):
        for piece in range(begin, end):
            assert after.owners[piece] == owners[number]
            assert after.copy_of(piece) == (before.copy_of(number) if copied else NOBODY)
            assert (piece in after.due) == (number in before.due)


@given(st.integers(1, 9), st.lists(st.integers(0, 1_000), min_size=1, max_size=60), st.integers(1, 16))
def test_no_piece_is_larger_than_two_parts(hosts: int, sizes: list[int], parts: int) -> None:
    range_map = RangeMap([f"host-{number}" for number in range(hosts)], b"", [0] * len(sizes))
    pieces = range_map.pieces(sizes, parts)
    part = max(1.0, sum(sizes) / (parts * hosts))
    assert all(size / count <= 2 * part for size, count in zip(sizes, pieces, strict=True))
    # What is not too large stays whole, so there are at most so many more.
    assert sum(pieces) <= len(sizes) + 1.5 * parts * hosts
