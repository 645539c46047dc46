"""`verify --full` of runs that hosts keep: layers are read from there and derived here, as those of any run."""

import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hakoiri.coordinator.hosts.hosts import HostLostError
from hakoiri.coordinator.hosts.keepers import Keepers, KeptBlocks
from hakoiri.coordinator.runs.hosted import collect_run
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.storage.layers.blocks import add_lanes, chain, code_keys, digest_text, lanes_in, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.storage.names import BLOCKS, number_key
from hakoiri.worker.hosts.requests import HostRequest
from tests.support.near_hosts import NearHosts, driven, resources_of
from tests.support.runs import Notes
from tests.support.toy import Toy
from tests.support.toy_runs import new_run

pytestmark = pytest.mark.timeout(300)
DEPTH = 4
Rule = Callable[[Toy, Key], list[Key]]
TOYS = [("u64", "spread", "no"), ("u128", "spread", "yes"), ("u32", "low", "no"), ("u256", "clumped", "yes")]
toys = pytest.mark.parametrize(
    ("layout", "keys", "directed"),
    [pytest.param(*each, marks=() if number < 2 else pytest.mark.slow) for number, each in enumerate(TOYS)],
)
undirected = pytest.mark.parametrize(("layout", "keys", "directed"), TOYS[:1])


@pytest.fixture
def hosts(hosts: NearHosts, monkeypatch: pytest.MonkeyPatch) -> NearHosts:
    """Three hosts, which keep all runs."""
    # Never connected to.
    monkeypatch.setenv("HAKOIRI_REDIS", "redis://nowhere")
    return hosts


@pytest.fixture
def directory(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A complete run that hosts keep, some of its layers at home."""
    found = new_run(tmp_path, {"layout": layout, "keys": keys, "directed": directed, "size": "600"})
    assert driven(found, resources_of(monkeypatch, layout, 60.0), Notes()).status == "complete"
    hosts.asked.clear()
    return found


def verified(directory: Path, full: bool = True) -> Report:
    """Return the report of a verification."""
    return verify_directory(directory, full, Resources(), Control(), SilentObserver(), seed=1)


@toys
def test_it_checks_as_much_as_at_home(directory: Path, hosts: NearHosts) -> None:
    kept = verified(directory)
    assert (kept.faults, kept.believed) == ([], "")
    collect_run(directory, "", Control(), SilentObserver())
    assert verified(directory).checked == kept.checked


@undirected
def test_a_layer_that_its_host_counts_wrong_is_found(directory: Path, hosts: NearHosts, tmp_path: Path) -> None:
    """A host has left out a configuration, and its records and those of the run agree on that."""
    with RunStore(directory, writable=True) as home:
        last = home.state.depth
        for host in ("a", "b", "c"):
            hosts.restart(host)
        part = next(part for part in sorted(tmp_path.glob("hosts/*/run-*")) if own_size(part, last))
        with RunStore(part, writable=True) as store:
            key, others = np.split(store.layer(last), [1])
            store.erase(BLOCKS, number_key(last))
            store.stage_blocks(last, code_keys(last, others))
            store.commit(store.state)
            store.stage_layer(without(store.layer_record(last), key, store.names(BLOCKS, number_key(last))))
            store.commit(store.state)
        home.stage_layer(without(home.layer_record(last), key, []))
        records = [*home.layer_records()[:-1], without(home.layer_record(last), key, [])]
        figures = {**home.state.figures, "configurations": sum(record.size for record in records)}
        home.commit(replace(home.state, figures=figures, digest=chain(record.digest for record in records)))
    assert verified(directory, full=False).believed.endswith(f"to {last} as their hosts say")
    assert f"to {ints(key)[0]:#x}, which is in no layer" in " ".join(verified(directory).faults)


def own_size(part: Path, depth: Depth) -> int:
    with RunStore(part) as store:
        return store.layer_record(depth).size


def without(record: LayerRecord, key: Keys, names: list[bytes]) -> LayerRecord:
    """The record of a layer without one of its keys, whose blocks have these names."""
    one, two = (-lane for lane in lanes_of(key))
    digest, index = digest_text(add_lanes(lanes_in(record.digest), (one, two))), zlib.crc32(b"".join(names))
    return replace(record, size=record.size - 1, digest=digest, index=index)


def left_out(layers: list[list[Key]]) -> Rule:
    """A configuration of a middle layer leads nowhere."""
    one = layers[DEPTH][len(layers[DEPTH]) // 2]
    return lambda toy, key: [] if key == one else toy.table[key]


def nearer(layers: list[list[Key]]) -> Rule:
    """One leads to where it should not."""
    one, far = layers[DEPTH][1], layers[DEPTH + 3][0]
    return lambda toy, key: [*toy.table[key], far] if key == one else toy.table[key]


def elsewhere(layers: list[list[Key]]) -> Rule:
    """One leads to what is in no layer."""
    one, found = layers[DEPTH][1], {key for layer in layers for key in layer}
    return lambda toy, key: [*toy.table[key], min({*toy.vertices} - found)] if key == one else toy.table[key]


@toys
@pytest.mark.parametrize("rule", [left_out, nearer, elsewhere])
def test_what_is_wrong_is_said_as_at_home(
    rule: Callable[[list[list[Key]]], Rule], directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules are not those any more by which the run was made."""
    with RunStore(directory) as store:
        deepest = store.state.depth
    collected = {depth: keys_of(directory, hosts, depth) for depth in range(deepest + 1)}
    monkeypatch.setattr(Toy, "successors", rule([collected[depth] for depth in range(deepest + 1)]))
    kept = verified(directory)
    assert kept.faults
    collect_run(directory, "", Control(), SilentObserver())
    home = verified(directory)
    assert (kept.faults, kept.cause) == (home.faults, home.cause)


def keys_of(directory: Path, hosts: NearHosts, depth: int) -> list[Key]:
    """The keys of a layer."""
    with RunStore(directory) as store:
        store.elsewhere = lambda: KeptBlocks(Keepers.of(store, hosts), store.layout)
        return ints(store.layer(depth))


@undirected
def test_a_move_that_is_not_taken_back_is_seen(
    directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it leads to a layer that it may lead to."""
    one, other = keys_of(directory, hosts, DEPTH)[:2]
    monkeypatch.setattr(Toy, "successors", lambda toy, key: [*toy.table[key], other] if key == one else toy.table[key])
    assert verified(directory).faults == ["some moves are not reversed by another; set undirected = False"]


@undirected
@pytest.mark.parametrize("copies", [1, 2])
def test_a_host_may_be_killed_meanwhile(
    copies: int, layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """And be lost for good, where there are copies."""
    hosts.copies, lost = copies, list[str]()
    directory = new_run(tmp_path, {"layout": layout, "keys": keys, "directed": directed, "size": "600"})
    driven(directory, resources_of(monkeypatch, layout, 60.0), Notes())

    def lose(asked: str, host: str, request: HostRequest) -> None:
        if asked == "host-give" and request.depth > DEPTH and not lost:
            lost.append(host)
            (hosts.restart if copies == 1 else hosts.lose)(host)
            raise HostLostError(f"{host} is lost")

    hosts.then = lose
    hosts.asked.clear()
    assert verified(directory).faults == []
    assert lost
