"""`verify` of layers that hosts keep: each host looks at its part, and what is wrong there is found."""

import re
import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakoiri.coordinator.hosts.hosts import HostLostError
from hakoiri.coordinator.hosts.run_hosts import HostedBlocks, RunHosts
from hakoiri.coordinator.layers.verify import SAMPLE_PER_LAYER
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.hosted import collect_run
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import ElsewhereError
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.keys.order import members, sort_keys
from hakoiri.storage.layers.audit import Sample
from hakoiri.storage.layers.blocks import add_lanes, chain, code_keys, digest_text, lanes_in, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.storage.names import BLOCKS, number_key
from hakoiri.worker.hosts.copies import COPIES_FOLDER
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.layers.kernels import merge
from tests.support.near_hosts import NearHosts, driven, near_hosts, resources_of
from tests.support.runs import Notes
from tests.support.seeds import first_usual
from tests.support.toy import Toy
from tests.support.toy_runs import new_run

pytestmark = pytest.mark.timeout(300)
LAYOUTS = [("u32", "low"), ("u64", "spread"), ("u256", "clumped")]
DEPTH = 4


@pytest.fixture
def options(layout: str, keys: str, directed: str) -> dict[str, str]:
    """A toy of 600 configurations."""
    return {"layout": layout, "keys": keys, "directed": directed, "size": "600"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Callable[[dict[str, str], int], Path]:
    """Makes a run and what each host keeps of it, in a directory that tests copy; one for the same options."""

    @cache
    def made(copies: int, *options: tuple[str, str]) -> Path:
        root = tmp_path_factory.mktemp("kept")
        with pytest.MonkeyPatch.context() as patch, near_hosts(root, patch) as hosts:
            hosts.copies, directory = copies, new_run(root / "data", dict(options))
            driven(directory, resources_of(patch, dict(options)["layout"], 60.0), Notes())
        return root

    return lambda options, copies: made(copies, *options.items())


def taken(kept: Path, tmp_path: Path) -> Path:
    """Copy a run and what its hosts keep, for the hosts below `tmp_path`."""
    for part in kept.glob("hosts/*/run-*"):
        shutil.copytree(part, tmp_path / part.relative_to(kept))
    [run] = kept.glob("data/*")
    return Path(shutil.copytree(run, tmp_path / run.name))


@pytest.fixture
def directory(
    options: dict[str, str], hosts: NearHosts, tmp_path: Path, kept: Callable[[dict[str, str], int], Path]
) -> Path:
    """A run that hosts keep."""
    hosts.puzzle = Toy(options)
    return taken(kept(options, 1), tmp_path)


@pytest.fixture
def copied(
    options: dict[str, str], hosts: NearHosts, tmp_path: Path, kept: Callable[[dict[str, str], int], Path]
) -> Path:
    """Return a run that hosts keep, each range at two of them."""
    hosts.copies, hosts.puzzle = 2, Toy(options)
    return taken(kept(options, 2), tmp_path)


TOYS = [(*each, directed) for each in LAYOUTS for directed in ("no", "yes")]


def toys(name: str, *values: object) -> pytest.MarkDecorator:
    """Each value of a parameter with every toy, by default with one of them in turn."""
    usual = [(value, *TOYS[number % len(TOYS)]) for number, value in enumerate(values)]
    cases = [(value, *toy) for value in values for toy in TOYS]
    marked = [pytest.param(*each, marks=() if each in usual else pytest.mark.slow) for each in cases]
    return pytest.mark.parametrize((name, "layout", "keys", "directed"), marked)


def checked(directory: Path, monkeypatch: pytest.MonkeyPatch, full: bool = False) -> Report:
    """Verify a run that near hosts keep. The URL of their Redis is given, but never connected to."""
    monkeypatch.setenv("HAKOIRI_REDIS", "redis://nowhere")
    return verify_directory(directory, full, Resources(), Control(), SilentObserver())


@pytest.mark.ci_slow
@toys("at_once", 0.0, 60.0)
def test_what_hosts_keep_is_looked_at_there(
    at_once: float, options: dict[str, str], directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.tune(check=at_once)
    for full in (False, True):
        report = checked(directory, monkeypatch, full)
        assert report.faults == []
        assert report.checked["layers"] > DEPTH
        assert report.sampled != full
    assert hosts.asked["host-check"] >= 6


@pytest.mark.ci_slow
@toys("gone", "", "a", "c")
def test_keys_are_looked_for_at_the_hosts_of_their_ranges(gone: str, copied: Path, hosts: NearHosts) -> None:
    if gone:
        hosts.lose(gone)
    with RunStore(copied) as run:
        kept = HostedBlocks(RunHosts.of(run, hosts), run.layout)
        run.elsewhere = lambda: kept
        layers = {record.depth: run.layer(record.depth) for record in run.layer_records() if record.hosted}
        everything = sort_keys(np.concatenate(list(layers.values())))
        hosts.asked.clear()
        for depth, mine in layers.items():
            assert (kept.members(depth, everything) == members(mine, everything)).all()
            # One key is less than a block of some.
            assert run.contains(depth, mine[-1:]).all()
        assert not kept.members(DEPTH, everything[:0]).any()
    assert len(layers) > DEPTH
    assert hosts.asked["host-give"] == 0 < hosts.asked["host-find"]


def changed(store: RunStore, depth: int, change: Callable[[Keys], Keys]) -> None:
    """A layer of a part with other keys, its record as it was but for the names of blocks."""
    keys = np.concatenate([store.layout.empty(0), *store.blocks(depth)])
    store.erase(BLOCKS, number_key(depth))
    _, index = store.stage_blocks(depth, code_keys(depth, sort_keys(change(keys).copy())))
    record = store.layer_record(depth)
    store.stage_layer(type(record)(**record.as_dict() | {"index": index}))
    store.commit(store.state)


@pytest.mark.ci_slow
@toys("wrong", "lost", "twice", "other", "goals", "broken", "gone")
def test_what_is_wrong_at_a_host_is_found(
    wrong: str, options: dict[str, str], directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RunStore(directory) as run:
        records = run.layer_records()
    with hosts.store_of("b") as store:
        keys, next_keys = (np.concatenate([store.layout.empty(0), *store.blocks(n)]) for n in (DEPTH, DEPTH + 1))
        assert len(keys) > 1 < len(next_keys)
        if wrong == "lost":
            changed(store, DEPTH, lambda found: found[1:])
            said = f"host b: layer {DEPTH}: {len(keys) - 1} configurations on disk, {len(keys)} in its record"
        elif wrong == "twice":
            changed(store, DEPTH, lambda found: np.concatenate([found, next_keys[:1]]))
            said = f"configuration {ints(next_keys)[0]:#x} stands in layers {DEPTH}, {DEPTH + 1}"
        elif wrong == "other":
            vertex = next(each for each in Toy(options).vertices if each not in {*ints(keys), *ints(next_keys)})
            changed(store, DEPTH, lambda found: np.concatenate([found[1:], store.layout.pack([vertex])]))
            said = f"layer {DEPTH}: its keys have the digest"
        elif wrong == "goals":
            said = f"layer {DEPTH} has 0 goals, but {records[DEPTH].goals}"
            monkeypatch.setattr(Toy, "is_goal", lambda toy, some: np.zeros(len(some), dtype=np.bool_))
        else:
            name = store.names(BLOCKS, number_key(DEPTH))[0]
            value = bytearray(store.read(BLOCKS, name) or b"")
            value[-1] ^= 4
            store.erase(BLOCKS, name)
            if wrong == "broken":
                store.stage(BLOCKS, name, bytes(value))
            store.commit(store.state)
            said = f"host b: layer {DEPTH}"
    report = checked(directory, monkeypatch)
    assert any(said in fault for fault in report.faults), report.faults
    # Other layers are sound, whatever lies beside the damaged block.
    assert wrong == "goals" or all(re.search(rf"\b{DEPTH}\b", text) for text in report.faults)
    # No repair mends what the goals are.
    assert (report.cause, report.complete) == ("unknown" if wrong == "goals" else "damage", True)


@pytest.mark.ci_slow
@toys("wrong", "lost", "broken")
def test_wrong_copies_are_found(
    wrong: str, copied: Path, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checked(copied, monkeypatch).faults == []
    hosts.restart("b")
    [part] = tmp_path.glob("hosts/b/run-*")
    with RunStore(part / COPIES_FOLDER, writable=True) as store:
        name = next(name for depth in range(DEPTH, 2 * DEPTH) for name in store.names(BLOCKS, number_key(depth)))
        value = bytearray(store.read(BLOCKS, name) or b"")
        value[-1] ^= 4
        store.erase(BLOCKS, name)
        if wrong == "broken":
            store.stage(BLOCKS, name, bytes(value))
        store.commit(store.state)
    [said, *_] = checked(copied, monkeypatch).faults
    assert said.startswith("host b: " if wrong == "broken" else "layer ")
    assert "damaged" in said or said.endswith("its copies differ from the originals")


@pytest.mark.ci_slow
@pytest.mark.parametrize("wrong", ["broken", "twice"])
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_what_is_wrong_with_layers_that_lie_here_is_found(
    wrong: str, options: dict[str, str], hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, resources = new_run(tmp_path, options), resources_of(monkeypatch, options["layout"], 60.0)
    driven(directory, replace(resources, farm=20), Notes())
    with RunStore(directory, writable=True) as store:
        home = [record.depth for record in store.layer_records() if not record.hosted]
        assert len(home) > 2
        if wrong == "twice":
            keys = merge([store.layer(2), store.layer(1)], [])
            store.erase(BLOCKS, number_key(2))
            store.put_layer(2, keys, 0)
        else:
            name = store.names(BLOCKS, number_key(2))[0]
            store.stage(BLOCKS, name, bytes([1]) + (store.read(BLOCKS, name) or b"")[1:])
        store.commit(store.state)
    said = checked(directory, monkeypatch).faults[0]
    assert ("layer 2" in said and "damaged" in said) if wrong == "broken" else said.endswith("stands in layers 1, 2")


@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_a_host_that_goes_in_the_midst_of_a_check_is_done_without(
    copied: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.tune(check=0.0)

    def lose(task: str, host: str, request: HostRequest) -> None:
        if task == "host-check" and request.round == 1 and not hosts.gone:
            hosts.lose(host)
            raise HostLostError(f"{host} is away")

    hosts.then = lose
    hosts.asked.clear()
    assert checked(copied, monkeypatch).faults == []
    assert len(hosts.gone) == 1
    assert hosts.asked["host-give"] > 0


@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_a_repair_of_what_hosts_keep_leaves_it_as_it_is(
    options: dict[str, str], directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ElsewhereError):
        drive(directory, resources_of(monkeypatch, options["layout"]), Control(), SilentObserver(), repair=True)
    with RunStore(directory) as store:
        assert store.state.status == "complete"


@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_while_a_host_is_away_copies_are_looked_at(
    copied: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.lose("a")
    hosts.asked.clear()
    assert checked(copied, monkeypatch).faults == []
    assert hosts.asked["host-check"] == 0 < hosts.asked["host-give"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sample": 1 << 17}, "not readable"), ({"seed": 1 << 32}, "not readable"), ({"seed": -1}, "not readable"),
        ({"round": 3}, "no check"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_a_request_for_a_check_that_makes_no_sense_is_refused(
    changes: dict[str, int], said: str, options: dict[str, str], directory: Path, hosts: NearHosts,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    sent = HostRequest.arrays
    monkeypatch.setattr(HostRequest, "arrays", lambda request, *keys: sent(type(request)(**vars(request) | changes)))
    monkeypatch.setattr(NearHosts, "insist", lambda hosts, what, work: work())
    with pytest.raises(HostLostError, match=said):
        checked(directory, monkeypatch)


@pytest.mark.ci_slow
@given(st.data(), st.integers(0, (1 << 64) - 1), st.sampled_from(["u32", "u64", "u128"]))
def test_samples_of_parts_make_one_of_the_whole(data: st.DataObject, seed: int, layout: str) -> None:
    toy = Toy({"layout": layout, "keys": "low", "directed": "no", "size": "600"})
    numbers = data.draw(st.sets(st.integers(0, 5_000), min_size=1, max_size=600))
    keys, wanted = toy.layout.pack(sorted(numbers)), data.draw(st.integers(1, SAMPLE_PER_LAYER))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(keys)), max_size=3)))
    parts = np.split(keys, cuts)
    sample = Sample(seed, wanted)
    candidates = np.concatenate([sample.candidates(part, len(part)) for part in parts])
    assert ints(sample.of(candidates)) == ints(sample.of(keys))
    assert len(sample.of(keys)) == min(wanted, len(keys))


# `verify --full` of runs that hosts keep: layers are read from there and derived here, as those of any run


Rule = Callable[[Toy, Key], list[Key]]
TOYS_IN_FULL = [("u64", "spread", "no"), ("u128", "spread", "yes"), ("u32", "low", "no"), ("u256", "clumped", "yes")]
toys_in_full = pytest.mark.parametrize(
    ("layout", "keys", "directed"),
    [pytest.param(*each, marks=() if number < 2 else pytest.mark.slow) for number, each in enumerate(TOYS_IN_FULL)],
)
undirected = pytest.mark.parametrize(("layout", "keys", "directed"), TOYS_IN_FULL[:1])


@pytest.fixture
def hosts(hosts: NearHosts, monkeypatch: pytest.MonkeyPatch) -> NearHosts:
    """Three hosts, which keep all runs."""
    # Never connected to.
    monkeypatch.setenv("HAKOIRI_REDIS", "redis://nowhere")
    return hosts


@pytest.fixture
def directory_in_full(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A complete run that hosts keep, some of its layers at home."""
    found = new_run(tmp_path, {"layout": layout, "keys": keys, "directed": directed, "size": "600"})
    assert driven(found, resources_of(monkeypatch, layout, 60.0), Notes()).status == "complete"
    hosts.asked.clear()
    return found


def verified(directory_in_full: Path, full: bool = True) -> Report:
    """Return the report of a verification."""
    return verify_directory(directory_in_full, full, Resources(), Control(), SilentObserver(), seed=1)


@pytest.mark.ci_slow
@toys_in_full
def test_it_checks_as_much_as_at_home(directory_in_full: Path, hosts: NearHosts) -> None:
    kept = verified(directory_in_full)
    assert (kept.faults, kept.believed) == ([], "")
    collect_run(directory_in_full, "", Control(), SilentObserver())
    assert verified(directory_in_full).checked == kept.checked


@pytest.mark.ci_slow
@undirected
def test_a_layer_that_its_host_counts_wrong_is_found(directory_in_full: Path, hosts: NearHosts, tmp_path: Path) -> None:
    """A host has left out a configuration, and its records and those of the run agree on that."""
    with RunStore(directory_in_full, writable=True) as home:
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
    assert verified(directory_in_full, full=False).believed.endswith(f"to {last} as their hosts say")
    assert f"to {ints(key)[0]:#x}, which is in no layer" in " ".join(verified(directory_in_full).faults)


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


@pytest.mark.ci_slow
@toys_in_full
@pytest.mark.parametrize("rule", first_usual(2, left_out, elsewhere, nearer))
def test_what_is_wrong_is_said_as_at_home(
    rule: Callable[[list[list[Key]]], Rule], directory_in_full: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules are not those any more by which the run was made."""
    with RunStore(directory_in_full) as store:
        deepest = store.state.depth
    collected = {depth: keys_of(directory_in_full, hosts, depth) for depth in range(deepest + 1)}
    monkeypatch.setattr(Toy, "successors", rule([collected[depth] for depth in range(deepest + 1)]))
    kept = verified(directory_in_full)
    assert kept.faults
    collect_run(directory_in_full, "", Control(), SilentObserver())
    home = verified(directory_in_full)
    assert (kept.faults, kept.cause) == (home.faults, home.cause)


def keys_of(directory_in_full: Path, hosts: NearHosts, depth: int) -> list[Key]:
    """The keys of a layer."""
    with RunStore(directory_in_full) as store:
        store.elsewhere = lambda: HostedBlocks(RunHosts.of(store, hosts), store.layout)
        return ints(store.layer(depth))


@pytest.mark.ci_slow
@undirected
def test_a_move_that_is_not_taken_back_is_seen(
    directory_in_full: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it leads to a layer that it may lead to."""
    one, other = keys_of(directory_in_full, hosts, DEPTH)[:2]
    monkeypatch.setattr(Toy, "successors", lambda toy, key: [*toy.table[key], other] if key == one else toy.table[key])
    assert verified(directory_in_full).faults == ["some moves are not reversed by another; set undirected = False"]


@pytest.mark.ci_slow
@undirected
@pytest.mark.parametrize("copies", [1, 2])
def test_a_host_may_be_killed_meanwhile(
    copies: int, layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """And be lost for good, where there are copies."""
    hosts.copies, lost = copies, list[str]()
    directory_in_full = new_run(tmp_path, {"layout": layout, "keys": keys, "directed": directed, "size": "600"})
    driven(directory_in_full, resources_of(monkeypatch, layout, 60.0), Notes())

    def lose(asked: str, host: str, request: HostRequest) -> None:
        if asked == "host-give" and request.depth > DEPTH and not lost:
            lost.append(host)
            (hosts.restart if copies == 1 else hosts.lose)(host)
            raise HostLostError(f"{host} is lost")

    hosts.then = lose
    hosts.asked.clear()
    assert verified(directory_in_full).faults == []
    assert lost


@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_a_check_goes_on_when_a_host_is_started_again(
    options: dict[str, str], directory: Path, hosts: NearHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts.tune(check=0.0)
    lost = list[str]()

    def lose(task: str, host: str, request: HostRequest) -> None:
        if task == "host-check" and request.round == 1 and len(lost) < 2:
            lost.append(host)
            hosts.restart(host)
            if len(lost) == 2:
                raise HostLostError(f"{host} is lost")

    hosts.then = lose
    assert checked(directory, monkeypatch).faults == []
    assert len(lost) == 2
