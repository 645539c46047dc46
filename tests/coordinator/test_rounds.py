"""Layers that hosts make in many rounds, everybody lost at every stage: those of a plain search."""

import re
import shutil
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.hosts.hosts import HostLostError
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import WorkerError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.blocks import Coded, digest_text, lanes_of
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.hosts import part, wire
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.layers.kernels import layers_after
from hakoiri.worker.layers.partition import Shares
from hakoiri.worker.layers.ranges import RangeExpansion
from hakoiri.worker.layers.step import RangeStep
from tests.support.commands import START_OF_2
from tests.support.near_hosts import (
    NAMES,
    Killed,
    NearHosts,
    assert_as_a_plain_search,
    assert_no_host_expects_messages,
    driven,
    resources_of,
)
from tests.support.plain_search import reference_layers
from tests.support.runs import Notes
from tests.support.seeds import first_usual
from tests.support.servers import RedisServer
from tests.support.toy import Toy
from tests.support.toy_runs import EMBEDDINGS, before_call, new_run, spied

pytestmark = pytest.mark.timeout(300)
#: The last is how many bytes a part takes at least: with few the older keys are put away.
USUAL = {("u32", "low", "no", 24_000_000), ("u64", "spread", "yes", 600)}
SEARCHES = [
    (*each, directed, least) for each in EMBEDDINGS for directed in ("no", "yes") for least in (24_000_000, 600)
]
#: Somebody is lost after so many requests of each kind, and whenever so many files of merged ranges were removed.
OFTEN = {"host-expand": 23, "host-keep": 29, "host-back": 17, "host-merge": 19}
OFTEN_MERGED = 31


class Losses:
    """Loses one after the other: a host, what is in Redis, the coordinator."""

    def __init__(self, hosts: NearHosts, server: RedisServer) -> None:
        self._hosts, self._server, self.after = hosts, server, Counter[str]()
        self._victims = cycle([*NAMES, "Redis", "coordinator"])

    def __call__(self, task: str, host: str, request: HostRequest) -> None:
        if self._hosts.asked[task] % OFTEN.get(task, 1 << 30):
            return
        self.after[task] += 1
        victim = next(self._victims)
        if victim == "coordinator":
            raise StopRun("interrupted", "enough")
        if victim == "Redis":
            self._server.client.flushall()
        else:
            self._hosts.restart(victim)
        raise HostLostError(f"{victim} is lost")


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("layout", "keys", "directed", "least"),
    [pytest.param(*each, marks=() if each in USUAL else pytest.mark.slow) for each in SEARCHES],
)
def test_layers_in_many_rounds_are_those_of_a_plain_search_whoever_is_lost(
    layout: str, keys: str, directed: str, least: int, hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    # No bitmap is of all ranges, and no range is too short to be cut.
    shares = partial(Shares, least_range=20, whole_words=0.0 if directed == "no" else 0.5)
    monkeypatch.setattr(part, "shares_within", lambda *given: shares(least, *given[2:0:-1]))
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "600"}
    resources, notes, firsts, removed = resources_of(monkeypatch, layout), Notes(), Counter[bool](), Counter[str]()

    def kill_now_and_then(*_: object) -> None:
        removed["times"] += 1
        if removed["times"] % OFTEN_MERGED == 0:
            raise Killed

    before_call(monkeypatch, Spill, "forget_below", kill_now_and_then)
    before_call(monkeypatch, RangeStep, "merge", lambda step, first, *_: firsts.update([first > 0]))
    directory, sessions = new_run(tmp_path, options), 1
    hosts.then = losses = Losses(hosts, hosts._server)
    while driven(directory, resources, notes).status == "interrupted":
        sessions += 1
    assert_as_a_plain_search(directory, options, hosts)
    assert sessions > 1
    assert losses.after.keys() >= {"host-expand", "host-keep", "host-merge"}
    assert any("goes on after round" in text for text in notes.texts)
    # Keys that lie close together are one range, whose merge has no midst, and that takes fewer rounds.
    assert keys != "spread" or (firsts[True] and "host-back" in losses.after)


def test_the_moves_of_all_layers_of_a_run_at_hosts_are_summed(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sum of the first is 0: while one is unknown, a configuration that a host drops is not missed."""
    resources = resources_of(monkeypatch, "u32")
    directory = make_run(tmp_path, PuzzleSpec("klotski", start=START_OF_2), "explore", {}, resources)
    assert driven(directory, resources, Notes()).status == "complete"
    with RunStore(directory) as store:
        flows = [record.net_flow for record in store.layer_records()]
    assert len(flows) == 2 and flows[0] == 0 and None not in flows


@pytest.mark.slow
def test_layers_by_bits_in_many_rounds_are_those_of_a_plain_search_whoever_is_lost(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = PuzzleSpec("pancakes", {"n": "10"})
    puzzle, resources, notes = spec.build(), replace(resources_of(monkeypatch, "u32"), farm=50_000), Notes()
    marked = spied(monkeypatch, (RangeExpansion, "_mark"))
    directory = make_run(tmp_path, spec, "explore", {}, resources)
    hosts.then = losses = Losses(hosts, hosts._server)
    while (state := driven(directory, resources, notes)).status == "interrupted":
        pass
    layers = layers_after(puzzle, puzzle.keys([puzzle.start]))
    with RunStore(directory) as store:
        found = [(record.size, record.digest) for record in store.layer_records()]
        assert all(record.net_flow is not None for record in store.layer_records())
    assert state.status == "complete"
    assert found == [(len(keys), digest_text(lanes_of(keys))) for keys in layers]
    assert marked["_mark"] > len(found) and len(losses.after) > 2


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_short_layers_take_one_request_and_leave_nothing_to_go_back_to(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "400"}
    directory, notes = new_run(tmp_path, options), Notes()
    state = driven(directory, resources_of(monkeypatch, layout, 60.0), notes)
    assert_no_host_expects_messages()
    assert_as_a_plain_search(directory, options, hosts)
    # Layers 1 and 2 are begun by requests of their own: nothing is known of the layer before. The last layer is empty,
    # and the one after it is discarded.
    requests = {"host-expand": 2, "host-merge": state.depth + 1, "host-keep": 0, "host-back": 0}
    assert {task: hosts.asked[task] for task in requests} == {n: len(NAMES) * count for n, count in requests.items()}
    assert hosts.told == {"host-back": len(NAMES)}


def test_no_layer_is_begun_after_the_last_that_is_wanted(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": "u64", "keys": "spread", "directed": "no", "size": "400"}
    spec, ahead = PuzzleSpec("toy", options), Counter[Depth]()
    hosts.then = lambda task, _, request: ahead.update([request.depth] if request.ahead else [])
    directory = make_run(tmp_path, spec, "explore", {"layers": 5}, Resources())
    assert driven(directory, resources_of(monkeypatch, "u64", 60.0), Notes()).depth == 5
    assert ahead == dict.fromkeys((2, 3, 4), len(NAMES))


@pytest.mark.ci_slow
def test_a_host_merges_no_key_that_kernels_may_not_take(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": "u64", "keys": "spread", "directed": "no", "size": "400"}
    toy = Toy(options)
    wrong = reference_layers(toy.successors, toy.start)[5][0]
    monkeypatch.setattr(Toy, "are_keys", lambda _, keys: keys != wrong)
    directory = new_run(tmp_path, options)
    said = f"host .*: run .*: layer 5 would have {wrong:#x}, which is not a configuration of toy"
    with pytest.raises(WorkerError, match=said):
        driven(directory, resources_of(monkeypatch, "u64"), Notes())
    with RunStore(directory) as store:
        assert store.state.depth == 4


@pytest.mark.ci_slow
def test_a_run_that_stops_leaves_nothing_under_way(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = new_run(tmp_path, {"layout": "u64", "keys": "spread", "directed": "no", "size": "400"})
    resources = resources_of(monkeypatch, "u64", 60.0)
    assert driven(directory, resources, Notes(), until=4).status == "interrupted"
    assert_no_host_expects_messages()
    assert driven(directory, resources, Notes()).status == "complete"


@pytest.mark.ci_slow
def test_a_run_that_stops_within_a_layer_leaves_nothing_under_way_but_the_rounds_that_were_kept(
    hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(task: str, _: str, request: HostRequest) -> None:
        if task == "host-expand" and request.round:
            raise StopRun("interrupted", "enough")

    directory = new_run(tmp_path, {"layout": "u64", "keys": "spread", "directed": "no", "size": "600"})
    resources, notes, hosts.then = resources_of(monkeypatch, "u64"), Notes(), stop
    assert driven(directory, resources, notes).status == "interrupted"
    assert_no_host_expects_messages()
    hosts.then = lambda *_: None
    assert driven(directory, resources, notes).status == "complete"
    assert any("goes on after round" in text for text in notes.texts)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("least", "directed"), first_usual(2, (24_000_000, "no"), (600, "yes"), (600, "no"), (24_000_000, "yes"))
)
def test_whoever_is_lost_while_the_next_layer_is_made_costs_no_layer(
    least: int, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few bytes the older keys of a directed search are put away, those of the layer before, too."""
    monkeypatch.setattr(part, "LEAST_BYTES", least)
    options = {"layout": "u64", "keys": "spread", "directed": directed, "size": "600"}
    resources, notes, lost = resources_of(monkeypatch, "u64", 60.0), Notes(), Counter[str]()
    directory, sessions = new_run(tmp_path, options), 1

    def lose_the_host(*_: object) -> None:
        lost["expanded"] += 1
        if lost["expanded"] % 7 == 0:
            raise Killed

    def lose_others(task: str, host: str, _: object) -> None:
        if task == "host-merge" and hosts.asked[task] % 23 == 0:
            raise StopRun("interrupted", "enough")
        if task == "host-merge" and hosts.asked[task] % 17 == 0:
            # It has told what it made of the next layer.
            hosts.restart(host)

    before_call(monkeypatch, part.HostStep, "expand", lose_the_host)
    hosts.then = lose_others
    while driven(directory, resources, notes).status == "interrupted":
        sessions += 1
    assert_as_a_plain_search(directory, options, hosts)
    assert sessions > 1 and lost["expanded"] > 50


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u128", "spread", "yes")])
@pytest.mark.parametrize("harm", ["damaged", "gone"])
def test_a_layer_whose_spill_files_are_lost_is_begun_anew(
    harm: str, layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "400"}
    directory, notes, resources = new_run(tmp_path, options), Notes(), resources_of(monkeypatch, layout)

    def strike(task: str, host: str, request: HostRequest) -> None:
        files = list(hosts.spill_files("b"))
        if task == "host-keep" and host == "c" and files:
            hosts.then = lambda *_: None
            if harm == "gone":
                shutil.rmtree(files[0].parent)
                hosts.restart("b")
                return
            for path in files:
                raw = bytearray(path.read_bytes())
                raw[-1] ^= 1
                path.write_bytes(raw)

    hosts.then = strike
    if harm == "damaged":
        with pytest.raises(WorkerError, match=r"host b: .*spill file .* is damaged"):
            driven(directory, resources, notes)
    assert driven(directory, resources, notes).status == "complete"
    (text,) = [text for text in notes.texts if "cannot go back" in text]
    assert text.startswith("b cannot go back to its last round; layer ")
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "yes")])
def test_a_host_that_was_restored_to_a_round_of_an_earlier_beginning_says_so(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The layer and the number of the round are those that the coordinator has recorded."""
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "400"}
    directory, notes, saved, marks = new_run(tmp_path, options), Notes(), tmp_path / "saved", list[int]()

    def strike(task: str, host: str, request: HostRequest) -> None:
        # All hosts have kept the first round.
        files = [*hosts.spill_files("a")]
        if (task, host, request.round) != ("host-expand", "a", 1) or not files:
            return
        [part] = tmp_path.glob("hosts/b/run-*")
        marks.append(request.depth)
        if len(marks) == 1:
            shutil.copytree(part, saved)
            shutil.rmtree(files[0].parent)
            hosts.restart("a")
        else:
            hosts.then = lambda *_: None
            shutil.rmtree(part)
            shutil.move(saved, part)
            hosts.restart("b")
        raise HostLostError(f"{host} is lost")

    hosts.then = strike
    assert driven(directory, resources_of(monkeypatch, layout), notes).status == "complete"
    assert marks[0] == marks[1]
    depth = marks[0]
    said = [text for text in notes.texts if "cannot go back" in text]
    assert said == [f"{host} cannot go back to its last round; layer {depth} restarts" for host in ("a", "b")]
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "yes")])
def test_keys_that_a_host_loses_are_missed(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message arrives without some of its blocks."""
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "400"}
    directory, notes, lost = new_run(tmp_path, options), Notes(), list[int]()

    unpack = wire.unpack_message

    def fewer(message: bytes) -> tuple[int, int, list[tuple[int, Coded]]]:
        sender, number, found = unpack(message)
        lost.append(len(found))
        return sender, number, found if len(lost) > 1 else found[1:]

    monkeypatch.setattr(wire, "unpack_message", fewer)
    assert driven(directory, resources_of(monkeypatch, layout, 60.0), notes).status == "complete"
    assert any(re.search(r"of \d+ keys sent to range \d its host has \d+", text) for text in notes.texts)
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u32", "spread", "no")])
def test_a_host_that_kept_a_round_more_than_all_goes_back_one(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "600"}
    directory, notes, lost = new_run(tmp_path, options), Notes(), list[int]()

    def lose_in_the_third_round(task: str, host: str, request: HostRequest) -> None:
        # Two of the three have kept it.
        if (task, host, request.round) == ("host-keep", "b", 3) and len(lost) < 3:
            lost.append(request.depth)
            hosts.restart("b")
            raise HostLostError("b is lost")

    hosts.then = lose_in_the_third_round
    assert driven(directory, resources_of(monkeypatch, layout), notes).status == "complete"
    found = [text for text in notes.texts if "is lost" in text]
    assert len(found) == len(lost) == 3
    assert all(text.startswith("b is lost; layer ") and text.endswith(" goes on after round 2") for text in found)
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.ci_slow
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_who_reads_between_two_rounds_disturbs_nobody(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "400"}
    directory, read, notes = new_run(tmp_path, options), Counter[int](), Notes()

    def read_the_layer_before(task: str, host: str, request: HostRequest) -> None:
        if task in ("host-expand", "host-keep"):
            asked = replace(request, depth=request.depth - 1, memory=0, attempt=0, round=0)
            hosts.perform("host-index", host, asked.shared, asked.arrays(), "another session")
            read[request.depth] += 1

    hosts.then = read_the_layer_before
    assert driven(directory, resources_of(monkeypatch, layout), notes).status == "complete"
    assert max(read.values()) > 2 * len(NAMES)
    assert not any("goes on after" in text or "restarts" in text for text in notes.texts)
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_a_host_that_stood_still_while_it_was_given_ranges_keeps_nothing_of_the_run(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "400"}
    directory = new_run(tmp_path, options)

    def lose_the_last(task: str, host: str, request: HostRequest) -> None:
        if task == "host-take" and host == "c":
            hosts.chosen = NAMES[:2]
            raise HostLostError("c is away")

    hosts.then = lose_the_last
    driven(directory, resources_of(monkeypatch, layout, 60.0), Notes())
    assert [path.parent.name for path in sorted(tmp_path.glob("hosts/*/run-*"))] == NAMES[:2]
    assert_as_a_plain_search(directory, options, hosts)
    assert not list(tmp_path.glob("hosts/*/run-*"))
