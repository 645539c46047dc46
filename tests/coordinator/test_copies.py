"""Runs of which two hosts keep each range, and hosts that leave: every layer is that of a plain search."""

from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import cycle, product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakoiri.coordinator.hosts.hosts import HostLostError
from hakoiri.coordinator.hosts.moving import RangeMover
from hakoiri.coordinator.hosts.range_map import NOBODY, RangeMap, copies_of
from hakoiri.coordinator.hosts.run_hosts import RunHosts
from hakoiri.coordinator.runs.hosted import collect_run, drain_run, runs_kept_by
from hakoiri.coordinator.session.resources import DEFAULT
from hakoiri.coordinator.session.session import Control
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.errors import WorkerError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import DATA_FILE
from hakoiri.worker.hosts.copies import COPIES_FOLDER, Copies
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.layers.partition import Shares
from hakoiri.worker.transport.payload import Array
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
    repeat_requests,
    resources_of,
    with_searches,
)
from tests.support.runs import Notes, verified
from tests.support.seeds import first_usual
from tests.support.toy_runs import new_run

pytestmark = pytest.mark.timeout(300)
USUAL = [("u32", "low", "no"), ("u64", "spread", "yes"), ("u128", "spread", "no"), ("u256", "clumped", "yes")]
ASKED = ["host-take", "host-expand", "host-keep", "host-merge", "host-send", "host-receive", "host-settle"]


searches = partial(with_searches, cycle(USUAL))


@pytest.fixture
def hosts(hosts: NearHosts) -> NearHosts:
    """Three hosts of two threads, which keep all runs, each range at two of them."""
    hosts.copies = 2
    return hosts


class Disks:
    """Loses the disk of a host in the third layer, at a request of some kind; another one some requests later."""

    def __init__(self, hosts: NearHosts, task: str, later: int) -> None:
        self._hosts, self._task, self._left = hosts, task, later

    def __call__(self, task: str, host: str, request: HostRequest) -> None:
        gone = self._hosts.gone
        if not gone and request.depth > 5 and task in (self._task, "host-merge"):
            self._lose(host)
        elif len(gone) == 1 and task == "host-settle" == self._task:
            # Not the one that has the only copy of what the first had.
            self._hosts.restart(host)
            self._task = ""
            raise HostLostError(f"{host} is lost")
        elif len(gone) == 1 and task == "host-expand":
            self._left -= 1
            if not self._left:
                self._lose(host)

    def _lose(self, host: str) -> None:
        self._hosts.lose(host)
        raise HostLostError(f"{host} is lost")


@pytest.mark.ci_slow
@searches("task", *ASKED)
def test_two_lost_disks_one_after_the_other_change_nothing(
    task: str, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = options_of(search)
    directory, notes = new_run(tmp_path, options), Notes()
    hosts.then = Disks(hosts, task, 5)
    assert driven(directory, resources_of(monkeypatch, search[0]), notes).status == "complete"
    assert len(hosts.gone) == 2
    assert [text for text in notes.texts if "take over its" in text]
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@searches("copies", 1, 2)
def test_a_host_that_leaves_in_the_midst_keeps_nothing(
    copies: int, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    options = options_of(search)
    directory, notes, hosts.copies = new_run(tmp_path, options), Notes(), copies

    def leave(task: str, host: str, request: HostRequest) -> None:
        if request.depth > 5:
            hosts.leaving = {"b"} if request.depth < 9 else {"a", "b"}

    hosts.then = leave
    repeat_requests(hosts, monkeypatch)
    assert driven(directory, resources_of(monkeypatch, search[0]), notes).status == "complete"
    assert sorted(path.parent.name for path in tmp_path.glob("hosts/*/run-*")) == ["c"]
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@searches("depth", 4, 6)
def test_a_run_without_copies_gets_them_with_its_next_session(
    depth: int, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = options_of(search)
    directory, resources, hosts.copies = new_run(tmp_path, options), resources_of(monkeypatch, search[0]), 1
    assert driven(directory, resources, Notes(), until=depth).status == "interrupted"
    hosts.copies = 2
    assert driven(directory, resources, Notes(), until=depth + 3).status == "interrupted"
    hosts.lose("b")
    assert driven(directory, resources, Notes()).status == "complete"
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@searches("gone", *NAMES)
def test_whoever_is_away_the_layers_are_read(
    gone: str, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = new_run(tmp_path, options_of(search))
    driven(directory, resources_of(monkeypatch, search[0], 60.0), Notes())
    hosts.lose(gone)
    assert_readable(directory, hosts)
    with RunStore(directory) as store:
        assert sum(record.hosted for record in store.layer_records()) > 5


@pytest.mark.ci_slow
@searches("depth", 4, 6)
def test_a_host_in_the_place_of_a_lost_one_gets_its_share_and_copies(
    depth: int, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Of one that began with two hosts, so that one has no other for its copies until there is a new one."""
    options = options_of(search)
    directory, resources = new_run(tmp_path, options), resources_of(monkeypatch, search[0])
    hosts.lose("c")
    hosts.chosen = ["a", "b"]
    assert driven(directory, resources, Notes(), until=depth).status == "interrupted"
    hosts.lose("a")
    assert driven(directory, resources, Notes(), until=depth + 2).status == "interrupted"
    hosts.add("d")
    assert driven(directory, resources, Notes(), until=depth + 4).status == "interrupted"
    hosts.lose("b")
    assert driven(directory, resources, Notes()).status == "complete"
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@searches("copies", 1, 2)
def test_hosts_that_come_later_share_long_layers(
    copies: int, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    hosts.tuning = replace(hosts.tuning, host_joins=-1.0)
    options = options_of(search)
    directory, hosts.copies, hosts.chosen = new_run(tmp_path, options), copies, ["a", "b"][:copies]
    lost = Counter[str]()

    def lose_now_and_then(task: str, host: str, request: HostRequest) -> None:
        if len(request.hosts) == 3 and task in ("host-take", "host-send", "host-settle") and not lost[task + host]:
            lost[task + host] += 1
            hosts.restart(host)
            raise HostLostError(f"{host} is lost")

    hosts.then = lose_now_and_then
    assert driven(directory, resources_of(monkeypatch, search[0]), Notes()).status == "complete"
    range_map = range_map_of(directory, hosts)
    counts = [range_map.owners.count(place) for place in range(3)]
    assert range_map.hosts == NAMES
    assert max(counts) - min(counts) <= 1
    assert_as_a_plain_search(directory, options, hosts)
    assert {task[:-1] for task in lost} == {"host-take", "host-send", "host-settle"}


@pytest.mark.ci_slow
@searches("task", "host-take", "host-send", "host-settle")
def test_a_host_takes_part_only_when_it_has_its_ranges(
    task: str, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The coordinator is killed while a third host is sent its share; then that host is gone, too."""
    hosts.tuning = replace(hosts.tuning, host_joins=-1.0)
    options = options_of(search)
    directory, resources, hosts.chosen = new_run(tmp_path, options), resources_of(monkeypatch, search[0]), ["a", "b"]

    def kill(asked: str, host: str, request: HostRequest) -> None:
        if asked == task and len(request.hosts) == 3 and not request.dry:
            raise Killed

    hosts.then = kill
    with pytest.raises(Killed):
        driven(directory, resources, Notes())
    range_map = range_map_of(directory, hosts)
    # Where blocks are settled, the host is on record with its ranges.
    assert range_map.hosts == (NAMES if task == "host-settle" else ["a", "b"])
    assert {*range_map.owners} == {*range(len(range_map.hosts))}
    hosts.then = lambda *_: None
    hosts.lose("c")
    assert driven(directory, resources, Notes()).status == "complete"
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
def test_blocks_settle_in_many_commits(hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block is a commit of its own, and the attempt after each of them is lost once."""
    monkeypatch.setattr(Shares, "staged_bytes", property(lambda shares: 1))
    options = dict(zip(("layout", "keys", "directed", "size"), ("u64", "spread", "no", "600"), strict=True))
    directory, resources = new_run(tmp_path, options), resources_of(monkeypatch, "u64")
    assert driven(directory, resources, Notes(), until=6).status == "interrupted"
    commits, committed, settle = list[bool](), RunStore.commit, Copies.settle

    def commit(store: RunStore, state: State) -> None:
        committed(store, state)
        if len(settling) and "hosts" in store.directory.parts:
            commits.append(True)
            if len(commits) in (2, 5, 9, 20):
                raise Killed

    def settle_and_say(copies: Copies, own: RunStore, request: HostRequest) -> list[Array]:
        settling.append(True)
        try:
            return settle(copies, own, request)
        finally:
            settling.clear()

    settling = list[bool]()
    monkeypatch.setattr(RunStore, "commit", commit)
    monkeypatch.setattr(Copies, "settle", settle_and_say)
    hosts.lose("b")
    assert driven(directory, resources, Notes()).status == "complete"
    assert len(commits) > 20
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
def test_a_host_with_a_damaged_store_of_copies_serves_again_when_it_is_mended(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": "u64", "keys": "spread", "directed": "no", "size": "600"}
    directory, resources = new_run(tmp_path, options), resources_of(monkeypatch, "u64")
    assert driven(directory, resources, Notes(), until=6).status == "interrupted"
    hosts.restart("b")
    [file] = tmp_path.glob(f"hosts/b/run-*/{COPIES_FOLDER}/{DATA_FILE}")
    whole = file.read_bytes()
    file.write_bytes(b"damaged" * 1000)
    with pytest.raises(WorkerError, match="host b: the data file of run copies is damaged"):
        driven(directory, resources, Notes())
    file.write_bytes(whole)
    assert driven(directory, resources, Notes()).status == "complete"
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@pytest.mark.parametrize("task", first_usual(1, "host-merge", "host-send", "host-receive"))
def test_what_a_host_has_done_is_counted_once(
    task: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host is lost for good while a layer is merged or copied, so that the layer is made again."""
    options = {"layout": "u64", "keys": "spread", "directed": "no", "size": "600"}
    directory, told = new_run(tmp_path, options), list[int]()
    monkeypatch.setattr(WorkLog, "add_kept", lambda places, host, **figures: told.append(figures["configurations"]))

    def lose(asked: str, host: str, request: HostRequest) -> None:
        if asked == task and request.depth == 7 and not hosts.gone:
            hosts.lose(host)
            raise HostLostError(f"{host} is lost")

    hosts.then = lose
    assert driven(directory, resources_of(monkeypatch, "u64"), Notes()).status == "complete"
    with RunStore(directory) as store:
        kept = sum(record.size for record in store.layer_records() if record.hosted)
    assert hosts.gone
    assert sum(told) == kept


@pytest.mark.ci_slow
def test_who_keeps_a_run_alone_leaves_it_to_a_host_that_did_not_take_part(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": "u64", "keys": "spread", "directed": "no", "size": "300"}
    directory, hosts.copies, hosts.chosen, hosts.leaving = new_run(tmp_path, options), 1, ["a"], {"a"}
    assert driven(directory, resources_of(monkeypatch, "u64"), Notes()).status == "complete"
    assert sorted(path.parent.name for path in tmp_path.glob("hosts/*/run-*")) == ["b", "c"]
    assert_as_a_plain_search(directory, options, hosts)


MOVING = ["host-send", "host-receive", "recorded", "host-settle", "host-leave"]
USUAL_DRAINS = [("drain", "host-send", 1), ("drain", "recorded", 1), ("collect", "recorded", 2)]
DRAINS = [
    pytest.param(*each, marks=() if each in USUAL_DRAINS else pytest.mark.slow)
    for each in product(["drain", "collect"], MOVING, [1, 2])
]


@pytest.mark.ci_slow
@pytest.mark.parametrize(("finish", "task", "copies"), DRAINS)
def test_a_drain_that_is_killed_hides_nothing(
    finish: str, task: str, copies: int, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All layers can be read and checked, and the next command finishes it."""
    monkeypatch.setenv("HAKOIRI_REDIS", "redis://nowhere")
    options = {"layout": "u64", "keys": "spread", "directed": "no", "size": "300"}
    directory, hosts.copies = new_run(tmp_path, options), copies
    assert driven(directory, resources_of(monkeypatch, "u64"), Notes()).status == "complete"

    def kill(asked: str, host: str, request: HostRequest) -> None:
        if asked == task and not request.dry:
            raise Killed

    def kill_if_recorded(moving: RangeMover, range_map: RangeMap, dry: bool = True) -> tuple[str, list[Array]]:
        if not dry:
            raise Killed
        return placed(moving, range_map)

    placed = RangeMover._placed
    with monkeypatch.context() as patched:
        if task == "recorded":
            patched.setattr(RangeMover, "_placed", kill_if_recorded)
        else:
            hosts.then = kill
        with pytest.raises(Killed):
            drain_run(directory, "b", "", Control(), Notes())
    hosts.then = lambda *_: None
    # With copies nothing is sent until others have taken over.
    is_moving = task in ("recorded", "host-settle") or (copies == 2 and task != "host-leave")
    assert range_map_of(directory, hosts).settled is not is_moving
    assert_readable(directory, hosts)
    assert verified(directory, full=False).ok
    if finish == "drain":
        assert (directory in runs_kept_by(tmp_path, "b")) is (task != "host-leave")
        drain_run(directory, "b", "", Control(), Notes())
        assert not list(tmp_path.glob("hosts/b/run-*"))
        assert verified(directory, full=False).ok
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@searches("copies", 1, 2)
def test_ranges_move_to_hosts_that_have_less(
    copies: int, search: tuple[str, str, str], hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """However little that is, and whoever is lost meanwhile."""
    always_even(monkeypatch, hosts)
    options, notes, lost = options_of(search), Notes(), Counter[str]()
    directory, hosts.copies = new_run(tmp_path, options), copies

    def lose(task: str, host: str, request: HostRequest) -> None:
        if task in ("host-send", "host-receive", "host-settle") and request.first == 0 and lost[task] < 2:
            lost[task] += 1
            hosts.restart(host)
            raise HostLostError(f"{host} is lost")

    hosts.then = lose
    assert driven(directory, resources_of(monkeypatch, search[0]), notes).status == "complete"
    assert any(text.endswith("to hosts that have less to do") for text in notes.texts)
    assert len(lost) == 3
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
def test_who_has_left_drops_its_part_when_it_is_back(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is cut off while ranges are dealt out, one later; the first is back before the end, the other after it."""
    options = {"layout": "u64", "keys": "spread", "directed": "no", "size": "600"}
    directory, notes, resources = new_run(tmp_path, options), Notes(), resources_of(monkeypatch, "u64")
    away, living = set[str](), NearHosts.living
    monkeypatch.setattr(
        NearHosts, "living", lambda pool: {name: beat for name, beat in living(pool).items() if name not in away}
    )

    def cut(task: str, host: str, request: HostRequest) -> None:
        if task == "host-take" and host == "c" and not away:
            away.add("c")
            hosts.chosen = ["a", "b"]
            raise HostLostError("c is away")
        if request.depth == 6:
            away.discard("c")

    hosts.then = cut
    assert driven(directory, resources, notes, until=4).status == "interrupted"
    assert list(tmp_path.glob("hosts/c/run-*"))
    with RunStore(directory) as store:
        assert RunHosts.of(store, hosts).range_map.left == ["c"]
    assert driven(directory, resources, notes, until=8).status == "interrupted"
    assert not list(tmp_path.glob("hosts/c/run-*"))
    hosts.gone.add("b")
    away.add("b")
    assert driven(directory, resources, notes).status == "complete"
    with RunStore(directory) as store:
        assert RunHosts.of(store, hosts).range_map.left == ["b"]
    hosts.then, told = lambda *_: None, Notes()
    collect_run(directory, "", Control(), told)
    assert told.texts == [f"host b is away: remove run-{directory.name}-* from its directory, if it is there"]


# Who has what


@given(st.integers(2, 8), st.lists(st.integers(0, 1_000), min_size=8, max_size=60), st.randoms())
def test_ranges_move_until_no_host_has_much_more_than_others(hosts: int, sizes: list[int], random: Random) -> None:
    names, owners = [f"host-{number}" for number in range(hosts)], [random.randrange(hosts) for _ in sizes]
    before = RangeMap(names, b"", owners)
    targets = before.balanced(sizes, [random.randrange(10) for _ in sizes], DEFAULT.host_uneven)
    after = before.moved(targets).owners

    def fullest(of: list[int]) -> int:
        return max(sum(size for size, owner in zip(sizes, of, strict=True) if owner == host) for host in range(hosts))

    mean = sum(sizes) / hosts
    assert fullest(after) <= fullest(owners)
    # What is left above that is less than a range.
    assert fullest(after) <= max(1.2 * mean, mean + max(sizes))
    assert (targets == [NOBODY] * len(sizes)) == (after == owners)


@given(st.integers(2, 8), st.integers(1, 20), st.booleans(), st.data())
def test_whoever_leaves_each_range_has_an_owner_and_a_copy(
    count: int, each: int, copied: bool, data: st.DataObject
) -> None:
    names, owners = [f"host-{number}" for number in range(count)], [n % count for n in range(count * each)]
    range_map = RangeMap(names, b"", owners, copies_of(owners, count) if copied else [])
    while len(range_map.hosts) > 1:
        host = data.draw(st.sampled_from(range_map.hosts))
        kept = {number: range_map.hosts[owner] for number, owner in enumerate(range_map.owners)}
        copies = {number: range_map.hosts[copy] for number, copy in enumerate(range_map.copies)}
        after = range_map.moved(range_map.from_host(host)).without(host)
        assert after.hosts == [name for name in range_map.hosts if name != host]
        for number, owner in enumerate(after.owners):
            expected = kept[number] if kept[number] != host else copies.get(number, after.hosts[owner])
            assert after.hosts[owner] == expected
        due = {number for number in range(len(owners)) if copied and host in (kept[number], copies[number])}
        assert {*after.due} == (due if len(after.hosts) > 1 else set())
        for number, copy in enumerate(after.copies):
            assert (copy == NOBODY) == (len(after.hosts) == 1)
            assert copy != after.owners[number]
        counts = [after.owners.count(place) for place in range(len(after.hosts))]
        # Whoever has the copy takes over, however much that host keeps already.
        assert copied or max(counts) - min(counts) <= 1
        range_map = RangeMap(after.hosts, b"", after.owners, after.copies)


@given(st.integers(2, 7), st.integers(1, 5), st.booleans(), st.data())
def test_neighbours_take_over_from_neighbours(count: int, each: int, copied: bool, data: st.DataObject) -> None:
    """The copies that are there stay, and others become due."""
    names, owners = [f"host-{number}" for number in range(count)], [n // each for n in range(count * each)]
    range_map = RangeMap(names, b"", owners, neighbours=True)
    if copied:
        range_map = range_map.copied()
        assert range_map.due == [*range(len(owners))]
        range_map = replace(range_map, due=[])
    while len(range_map.hosts) > 1:
        before = {n: range_map.hosts[copy] for n, copy in enumerate(range_map.copies)}
        host = data.draw(st.sampled_from(range_map.hosts))
        place, last = range_map.hosts.index(host), len(range_map.hosts) - 1
        heir = range_map.hosts[place + 1 if place < last else place - 1]
        assert not copied or {before[n] for n in range_map.owned(host)} == {heir}
        mine, theirs = range_map.owned(host), range_map.owned(heir)
        range_map = range_map.moved(range_map.from_host(host)).without(host)
        assert range_map.owned(heir) == sorted([*mine, *theirs])
        assert range_map.owners == sorted(range_map.owners)
        for number, copy in enumerate(range_map.copies):
            owner, alone = range_map.owners[number], len(range_map.hosts) == 1
            assert copy == (NOBODY if alone else owner + 1 if owner < last - 1 else owner - 1)
            assert alone or (number in range_map.due) == (before[number] != range_map.hosts[copy])
        range_map = replace(range_map, due=[])


def test_the_only_host_of_neighbours_leaves_all_to_one() -> None:
    alone = RangeMap(["a"], b"", [0, 0], [NOBODY, NOBODY], neighbours=True)
    joined = alone.joined_by(["b"])
    assert joined.moved(joined.from_host("a")).without("a").owners == [0, 0]


@given(st.integers(2, 9), st.integers(1, 40))
def test_copies_lie_at_all_other_hosts_evenly(hosts: int, ranges: int) -> None:
    owners = [number % hosts for number in range(ranges)]
    copies = copies_of(owners, hosts)
    assert all(0 <= copy < hosts and copy != owner for copy, owner in zip(copies, owners, strict=True))
    counts = [copies.count(host) for host in range(hosts)]
    assert max(counts) - min(counts) <= 1


def test_a_host_whose_copies_are_not_there_yet_is_needed() -> None:
    range_map = RangeMap(["a", "b", "c"], b"", [0, 1, 2], [1, 2, 0])
    assert range_map.dispensable() == {"a", "b", "c"}
    assert range_map.moved(range_map.from_host("a")).without("a").dispensable() == set()
    assert RangeMap(["a", "b", "c"], b"", [0, 1, 2], [1, 2, 0], [1]).dispensable() == {"a", "c"}
    assert RangeMap(["a"], b"", [0], [NOBODY]).dispensable() == set()
