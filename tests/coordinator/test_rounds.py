"""Layers that hosts make in many rounds, everybody lost at every stage: those of a plain search."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any, cast

import pytest

import hakoiri.coordinator.runs.drive as driving
from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.executors import hosts as executors_hosts
from hakoiri.coordinator.executors.hosts import HostLostError, HostPool, Keepers
from hakoiri.coordinator.executors.opening import open_context
from hakoiri.coordinator.runs import collect
from hakoiri.coordinator.runs.collect import collect_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, SilentObserver
from hakoiri.coordinator.steps import hosted
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Step
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import State
from hakoiri.storage.names import HOSTS_KEY, META, ROUND_KEY, SPILL_FOLDER
from hakoiri.worker.errors import PayloadError, WorkerError
from hakoiri.worker.exchange import exchange, shares
from hakoiri.worker.exchange.step import RangeStep
from hakoiri.worker.hosts import part
from hakoiri.worker.hosts.host import Host
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.tasks import Array, Arrays
from hakoiri.worker.transport.connection import HostBeat
from hakoiri.worker.transport.depots import Depots
from tests.support.engine import EMBEDDINGS, MANNERS, assert_as_expected, before_call, new_run
from tests.system.servers import RedisServer

pytestmark = pytest.mark.timeout(300)
NAMES = ["a", "b", "c"]
#: The last is how many bytes a part takes at least: with few the older keys are put away.
USUAL = {
    ("u32", "low", "no", 600), ("u64", "spread", "yes", 600), ("u128", "spread", "no", 24_000_000),
    ("u256", "clumped", "yes", 24_000_000),
}  # fmt: skip
SEARCHES = [
    (*each, directed, least) for each in EMBEDDINGS for directed in ("no", "yes") for least in (24_000_000, 600)
]
#: Somebody is lost after so many requests of each kind, and whenever so many files of merged ranges were removed.
OFTEN = {"host-expand": 23, "host-keep": 29, "host-back": 17, "host-merge": 19}
OFTEN_MERGED = 31


class Killed(BaseException):
    """What ends a host in the midst of its work."""


class Notes(SilentObserver):
    """Keeps what a user is told."""

    def __init__(self) -> None:
        self.texts = list[str]()

    def note(self, text: str, *steps: Step) -> None:
        """Keep it."""
        self.texts.append(text)


class NearHosts(HostPool):
    """Hosts of this process, over a real Redis. After each request `then` is called
    with its task, its host and its round."""

    def __init__(self, directory: Path, server: RedisServer) -> None:
        self._directory, self._server, self._near = directory, server, 0
        self._hosts = {name: Host(directory / name, 2) for name in NAMES}
        self.memory, self.puzzle, self._wanted = 1, cast(Puzzle, None), 0
        self._control, self._observer, self.chosen = Control(), SilentObserver(), NAMES
        self._most_losses = 25
        self.asked, self.then = Counter[str](), cast(Callable[[str, str, HostRequest], None], lambda *_: None)

    def for_run(self, puzzle: Puzzle, observer: Observer) -> "NearHosts":
        """The same for another session."""
        self.puzzle, self._observer, self._near = puzzle, observer, self._near + 1
        return self

    def choose(self) -> list[str]:
        """Those that were not lost for good."""
        return self.chosen

    def living(self) -> dict[str, HostBeat]:
        """All of them, for those are back."""
        return self.await_all(NAMES)

    def await_all(self, names: list[str]) -> dict[str, HostBeat]:
        """They live, and their messages lie in the Redis of the queue."""
        return {name: HostBeat("", 2, "") for name in names}

    def ask(self, task: str, requests: Mapping[str, Arrays], living: Mapping[str, HostBeat]) -> dict[str, list[Array]]:
        """As `HostPool.ask`, one host after the other."""
        answers = {}
        for name, arrays in requests.items():
            try:
                answers[name] = self.perform(task, name, arrays, str(self._near))
            except Killed:
                self.restart(name)
                raise HostLostError(f"host {name} was started again") from None
            except PayloadError as error:
                raise HostLostError(f"host {name}: {error}") from error
            except Exception as error:
                raise WorkerError(f"host {name}: {error}") from error
            self.asked[task] += 1
            self.then(task, name, HostRequest.of(arrays))
        return answers

    def perform(self, task: str, name: str, arrays: Arrays, session: str) -> list[Array]:
        """The answer of one host to a request of some session."""
        return self._hosts[name].perform(task, self.puzzle, session, arrays, Depots(self._server.client))

    def restart(self, name: str) -> None:
        """Have a host begin anew on its directory, where only what is durable counts: the end of no file is."""
        self._hosts[name].close()
        for path in self.spill_files(name):
            with path.open("ab") as file:
                file.write(b"written, and never synced")
        self._hosts[name] = Host(self._directory / name, 2)

    def spill_files(self, name: str) -> Iterator[Path]:
        """The spill files of a host."""
        return self._directory.glob(f"{name}/run-*/{SPILL_FOLDER}/*")

    def close(self) -> None:
        """End all of them."""
        for host in self._hosts.values():
            host.close()


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NearHosts]:
    """Three hosts of two threads, which keep all runs."""
    with RedisServer(tmp_path / "redis") as server, closing(NearHosts(tmp_path / "hosts", server)) as found:

        @contextmanager
        def with_hosts(puzzle: Puzzle, *arguments: Any) -> Iterator[ComputeContext]:
            with open_context(puzzle, *arguments) as context:
                yield replace(context, hosts=found.for_run(puzzle, context.observer))

        monkeypatch.setitem(PUZZLES, "toy", ("tests.support.toy", "Toy"))
        # Nobody waits, and there are few enough ranges.
        monkeypatch.setattr(executors_hosts, "_PAUSE_SECONDS", 0.0)
        monkeypatch.setattr(hosted, "_RANGES", 6)
        monkeypatch.setattr(driving, "open_context", with_hosts)
        monkeypatch.setattr(collect, "open_keepers", lambda store, *_: Keepers.of(store, found))
        yield found


def resources_of(monkeypatch: pytest.MonkeyPatch, layout: str, checkpoint: float = -1.0) -> Resources:
    """Those by which each range is a round, or each layer one, and made by hosts; nobody waits for a disk."""
    context = vars(driving)["open_context"]
    resources = MANNERS["durable"].take(monkeypatch, layout)
    monkeypatch.setattr(driving, "open_context", context)
    return replace(resources, farm_from=1, tuning=replace(resources.tuning, checkpoint=checkpoint))


def driven(directory: Path, resources: Resources, notes: Notes) -> State:
    return drive(directory, resources, Control(), notes)


def assert_as_a_plain_search(directory: Path, options: dict[str, str], hosts: NearHosts) -> None:
    """The run, brought home, has its layers and nothing else, and its hosts have nothing."""
    hosts.then = lambda *_: None
    assert collect_run(directory, "", Control(), SilentObserver()) > 1
    assert_as_expected(directory, options)
    with RunStore(directory) as store:
        assert (store.read(META, ROUND_KEY), store.read(META, HOSTS_KEY)) == (None, None)


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


@pytest.mark.parametrize(
    ("layout", "keys", "directed", "least"),
    [pytest.param(*each, marks=() if each in USUAL else pytest.mark.slow) for each in SEARCHES],
)
def test_layers_in_many_rounds_are_those_of_a_plain_search_whoever_is_lost(
    layout: str, keys: str, directed: str, least: int, hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(part, "LEAST_BYTES", least)
    # No bitmap is of all ranges, and no range is too short to be cut.
    monkeypatch.setattr(exchange, "_WHOLE_WORDS", 0.0 if directed == "no" else 0.5)
    monkeypatch.setattr(shares, "_LEAST_RANGE", 20)
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


@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_short_layers_take_two_requests_and_leave_nothing_to_go_back_to(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "600"}
    directory, notes = new_run(tmp_path, options), Notes()
    state = driven(directory, resources_of(monkeypatch, layout, 60.0), notes)
    assert_as_a_plain_search(directory, options, hosts)
    # The last layer is empty.
    assert hosts.asked["host-expand"] == hosts.asked["host-merge"] == len(NAMES) * (state.depth + 1)
    assert hosts.asked["host-keep"] == hosts.asked["host-back"] == 0


@pytest.mark.parametrize(("layout", "keys", "directed"), [("u128", "spread", "yes")])
@pytest.mark.parametrize("harm", ["damaged", "gone"])
def test_a_layer_whose_spill_files_are_lost_is_begun_anew(
    harm: str, layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "600"}
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
        with pytest.raises(WorkerError, match=r"host b: .* its spill file .* is damaged"):
            driven(directory, resources, notes)
    assert driven(directory, resources, notes).status == "complete"
    (text,) = [text for text in notes.texts if "cannot go back" in text]
    assert text.startswith("b cannot go back: layer ")
    assert_as_a_plain_search(directory, options, hosts)


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


@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_who_reads_between_two_rounds_disturbs_nobody(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "600"}
    directory, read = new_run(tmp_path, options), Counter[int]()

    def read_the_layer_before(task: str, host: str, request: HostRequest) -> None:
        if task in ("host-expand", "host-keep"):
            asked = replace(request, depth=request.depth - 1, memory=0, attempt=0, round=0)
            hosts.perform("host-index", host, asked.arrays(), "another session")
            read[request.depth] += 1

    hosts.then = read_the_layer_before
    assert driven(directory, resources_of(monkeypatch, layout), Notes()).status == "complete"
    assert max(read.values()) > 2 * len(NAMES)
    assert hosts.asked["host-back"] == 0
    assert_as_a_plain_search(directory, options, hosts)


@pytest.mark.parametrize(("layout", "keys", "directed"), [("u64", "spread", "no")])
def test_a_host_that_stood_still_while_it_was_given_ranges_keeps_nothing_of_a_run_brought_home(
    layout: str, keys: str, directed: str, hosts: NearHosts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "600"}
    directory = new_run(tmp_path, options)

    def lose_the_last(task: str, host: str, request: HostRequest) -> None:
        if task == "host-take" and host == "c":
            hosts.chosen = NAMES[:2]
            raise HostLostError("c is away")

    hosts.then = lose_the_last
    driven(directory, resources_of(monkeypatch, layout, 60.0), Notes())
    assert [path.parent.name for path in sorted(tmp_path.glob("hosts/*/run-*"))] == NAMES
    assert_as_a_plain_search(directory, options, hosts)
    assert not list(tmp_path.glob("hosts/*/run-*"))
