"""`verify --full` of runs that hosts keep: hosts make their layers again, and faults are those found at home."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hakoiri.coordinator.executors.hosts import HostLostError
from hakoiri.coordinator.executors.keepers import Keepers
from hakoiri.coordinator.executors.kept import KeptBlocks
from hakoiri.coordinator.layers import derive_kept
from hakoiri.coordinator.runs.collect import collect_run
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.puzzles.keys.layout import Key, ints
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import SPILL_FOLDER
from hakoiri.worker.hosts.deriving import Rules
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.tasks import do_task
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
    """Three hosts, which keep all runs and expand for an instant at a time."""
    monkeypatch.setattr(derive_kept, "_SECONDS", 0.0)
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


def verified(directory: Path) -> Report:
    """Return the report of a full verification."""
    return verify_directory(directory, True, Resources(), Control(), SilentObserver(), seed=1)


@toys
def test_hosts_make_their_layers_again(directory: Path, hosts: NearHosts) -> None:
    kept = verified(directory)
    assert kept.faults == []
    assert hosts.asked["host-derive"] > hosts.asked["host-compare"] > 3 * DEPTH
    # At most the first of their layers, which the last one at home leads to, in one block or a few of each host.
    assert hosts.asked["host-give"] <= 6
    collect_run(directory, "", Control(), SilentObserver())
    assert verified(directory).checked == kept.checked


@undirected
def test_spill_files_of_a_killed_verification_are_removed(directory: Path, hosts: NearHosts, tmp_path: Path) -> None:
    hosts.restart("a")
    [part] = tmp_path.glob("hosts/a/run-*")
    (part / SPILL_FOLDER).mkdir()
    (part / SPILL_FOLDER / "3-0").write_bytes(b"left")
    assert verified(directory).faults == []
    assert not (part / SPILL_FOLDER).exists()


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
    hosts.asked.clear()
    kept = verified(directory)
    assert hosts.asked["host-compare"] > 0
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
@pytest.mark.parametrize("task", ["host-derive", "host-compare"])
@pytest.mark.parametrize("copies", [1, 2])
def test_a_host_may_be_killed_meanwhile(
    copies: int, task: str, layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """And be lost for good, where there are copies."""
    hosts.copies, lost = copies, list[str]()
    directory = new_run(tmp_path, {"layout": layout, "keys": keys, "directed": directed, "size": "600"})
    driven(directory, resources_of(monkeypatch, layout, 60.0), Notes())

    def lose(asked: str, host: str, request: HostRequest) -> None:
        if asked == task and request.depth > DEPTH and not lost:
            lost.append(host)
            (hosts.restart if copies == 1 else hosts.lose)(host)
            raise HostLostError(f"{host} is lost")

    hosts.then = lose
    hosts.asked.clear()
    assert verified(directory).faults == []
    assert lost
    assert (hosts.asked["host-give"] > 0) == (copies == 2)


def test_processes_follow_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = PuzzleSpec("pancakes", {"n": "7"})
    puzzle = spec.build()
    keys = puzzle.keys(list(range(1000)))
    rules = Rules(puzzle, spec.as_dict(), 2)
    try:
        assert rules._idle.qsize() == 2
        expanded = rules.expand(keys)
        assert len(rules._processes) == 1
    finally:
        rules.close()
    successors, counts, unlike = do_task("derive", puzzle, [keys], ())
    assert (expanded.successors == successors).all()
    assert (expanded.counts == counts).all()
    assert (rules.found, len(rules.unlike), len(unlike)) == (len(successors), 0, 0)
    assert all(process._process.returncode is not None for process in rules._processes)


def test_keys_at_which_the_kernel_differs_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    puzzle = PuzzleSpec("pancakes", {"n": "7"}).build()
    rules, plain = Rules(puzzle, {}, 1), type(puzzle).successors
    monkeypatch.setattr(type(puzzle), "successors", lambda mine, key: plain(mine, key)[key == 5 :])
    rules.expand(puzzle.layout.pack(range(20)))
    assert ints(rules.unlike) == [5]
