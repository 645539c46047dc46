"""Hosts of this process, which keep the layers of runs that tests make: any of them can be lost at any request."""

import math
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, cast

import pytest

import hakoiri.coordinator.runs.drive as driving
from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.hosts import layers as rounds
from hakoiri.coordinator.hosts.hosts import HostGoneError, HostLostError, HostPool, HostRefusedError
from hakoiri.coordinator.hosts.range_map import RangeMap
from hakoiri.coordinator.hosts.run_hosts import HostedBlocks, RunHosts
from hakoiri.coordinator.runs import hosted as collect
from hakoiri.coordinator.runs import hosted as drain
from hakoiri.coordinator.runs import opening, verify
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.hosted import collect_run
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.resources import DEFAULT, Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, SilentObserver
from hakoiri.errors import HakoiriError, PayloadError, WorkerError
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.storage.layers.blocks import digest_text, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import LayerRecord, State
from hakoiri.storage.names import HOSTS_KEY, META, ROUND_KEY, SPILL_FOLDER
from hakoiri.worker.hosts.host import HOST_TASKS, Host
from hakoiri.worker.hosts.part import SAMPLED
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.hosts.wire import HostTuning
from hakoiri.worker.transport.connection import HostBeat
from hakoiri.worker.transport.data_redis import DataRedisPool
from hakoiri.worker.transport.payload import Array, Arrays, pack_arrays
from tests.support.commands import PATIENCE_SECONDS
from tests.support.runs import Notes
from tests.support.servers import RedisServer
from tests.support.toy_runs import EMBEDDINGS, MANNERS, assert_as_expected

NAMES = ["a", "b", "c"]
#: The layout of a toy puzzle, its keys, and whether it is directed.
Search = tuple[str, str, str]
#: Nobody waits, and there are few enough ranges, of which none moves because the machine is busy.
NEAR = replace(DEFAULT, host_pause=0.0, host_look=0.0, host_ranges=6, host_move=1e9)
#: They have all threads at work, send as soon as they may, and compress each byte that takes any time. Small layers are
#: cut into as many pieces as large ones.
NEAR_HOST = HostTuning(
    short=0.0, least_sampled=SAMPLED, slow=-1.0, slow_seconds=-1.0, most_sending=math.inf, compressed=0.0
)


class Killed(BaseException):
    """Raised to end a host while it works."""


class NearHosts(HostPool):
    """Hosts of this process, over a real Redis. After each request `then` is called with its task and its host."""

    def __init__(self, directory: Path, server: RedisServer) -> None:
        self.directory, self._server, self._near = directory, server, 0
        self.tuning, self.host_tuning = NEAR, NEAR_HOST
        self.hosts = {name: Host(directory / name, 2, NEAR_HOST) for name in NAMES}
        self.memory, self.puzzle, self.wanted, self.address = 1, cast(Puzzle, None), 0, "redis://near"
        self._control, self._observer, self.chosen = Control(), SilentObserver(), NAMES
        self.copies, self.leaving = 1, set[str]()
        #: Hosts of other code, and the names of those that the pool has excluded.
        self.refusing, self._refusing = set[str](), dict[str, str]()
        self.gone, self.told = set[str](), Counter[str]()
        self.asked, self.then = Counter[str](), cast(Callable[[str, str, HostRequest], None], lambda *_: None)

    def for_run(self, puzzle: Puzzle, observer: Observer) -> "NearHosts":
        """The same for another session."""
        self.puzzle, self._observer, self._refusing = puzzle, observer, {}
        return self.anew()

    def anew(self) -> "NearHosts":
        """The same for other messages than before."""
        self._near += 1
        return self

    def choose(self, again: bool = False) -> list[str]:
        """Those that were not lost for good, and have not refused."""
        return [name for name in self.chosen if name not in self._refusing]

    def living(self) -> dict[str, HostBeat]:
        """All of them, for those are back."""
        return {name: HostBeat(name, 2, "") for name in self.hosts}

    def await_all(self, names: list[str], dispensable: Collection[str] = ()) -> dict[str, HostBeat]:
        """They live, and their messages lie in the Redis of the queue; but for those that are gone."""
        if missing := {*names} & self.gone:
            if len(missing) == 1 and missing <= {*dispensable}:
                raise HostGoneError(*missing)
            raise StopRun("interrupted", f"{missing} would be waited for")
        return self.living()

    def changes(self, members: Sequence[str]) -> tuple[set[str], list[str]]:
        """Those that are to leave, and the others that are there."""
        return self.leaving, sorted({*self.willing()} - {*members} - self.leaving - self.gone)

    def add(self, name: str) -> None:
        """Start another host."""
        self.hosts[name] = Host(self.directory / name, 2, self.host_tuning)

    def put_back(self, name: str, saved: Path) -> None:
        """Have a host begin anew with a directory that was saved."""
        self.hosts[name].close()
        shutil.rmtree(self.directory / name)
        shutil.copytree(saved, self.directory / name)
        self.add(name)

    def tune(self, **changes: Any) -> None:
        """Have all hosts begin anew with another tuning."""
        self.host_tuning = replace(self.host_tuning, **changes)
        for name in self.hosts:
            self.restart(name)

    def draining(self) -> set[str]:
        """Those that are to leave."""
        return self.leaving

    def ask(
        self, task: str, shared: Arrays, requests: Mapping[str, Arrays], living: Mapping[str, HostBeat]
    ) -> dict[str, list[Array]]:
        """As `HostPool.ask`, one host after the other."""
        answers = {}
        for name, arrays in requests.items():
            if name in self.refusing:
                raise HostRefusedError(name, living[name].process, "its code differs from the run's: tasks")
            try:
                answers[name] = self.perform(task, name, shared, arrays, str(self._near))
            except Killed:
                self.restart(name)
                raise HostLostError(f"host {name} was restarted") from None
            except PayloadError as error:
                raise HostLostError(f"host {name}: {error}") from error
            except Exception as error:
                raise WorkerError(f"host {name}: {error}", *getattr(error, "hints", ())) from error
            self.asked[task] += 1
            self.then(task, name, HostRequest.read(shared, arrays, ""))
        return answers

    def tell(self, task: str, shared: Arrays, requests: Mapping[str, Arrays]) -> None:
        """As `HostPool.tell`: each host that is there performs the request; its answer and its errors are dropped."""
        for name in requests.keys() & self.hosts.keys():
            self.told[task] += 1
            with suppress(HakoiriError):
                self.perform(task, name, shared, requests[name], str(self._near))

    def perform(self, task: str, name: str, shared: Arrays, arrays: Arrays, session: str) -> list[Array]:
        """The answer of one host to a request of some session."""
        return self.hosts[name].perform(task, self.puzzle, session, shared, arrays, DataRedisPool(self._server.client))

    def restart(self, name: str) -> None:
        """Have a host begin anew on its directory, where only what is durable counts: the end of no file is."""
        self.hosts[name].close()
        for path in self.spill_files(name):
            with path.open("ab") as file:
                file.write(b"written, and never synced")
        self.add(name)

    def lose(self, name: str) -> None:
        """Lose a host and its disk."""
        self.hosts.pop(name).close()
        shutil.rmtree(self.directory / name)
        self.gone.add(name)

    def store_of(self, name: str) -> RunStore:
        """Return the store of the one part that a host has, which is begun anew on it when it is asked again."""
        self.restart(name)
        [directory] = self.directory.glob(f"{name}/run-*")
        return RunStore(directory, writable=True)

    def spill_files(self, name: str) -> Iterator[Path]:
        """The spill files of a host."""
        return self.directory.glob(f"{name}/run-*/{SPILL_FOLDER}/*")

    def close(self) -> None:
        """End all of them."""
        for host in self.hosts.values():
            host.close()


@contextmanager
def near_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NearHosts]:
    """Three hosts of two threads, which keep all runs while the block runs."""
    with RedisServer(tmp_path / "redis") as server, closing(NearHosts(tmp_path / "hosts", server)) as found:

        @contextmanager
        def with_hosts(puzzle: Puzzle, *arguments: Any) -> Iterator[ComputeContext]:
            with open_context(puzzle, *arguments) as context:
                yield replace(context, hosts=found.for_run(puzzle, context.observer))

        monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
        # A session over Redis has no children, and each of them takes a second to start.
        monkeypatch.setattr(opening, "_children", lambda *_: 0)
        # Each layer of one round is short, however busy the machine is.
        monkeypatch.setattr(rounds, "AHEAD_SECONDS", math.inf)
        monkeypatch.setattr(driving, "open_context", with_hosts)
        for module in (collect, drain, opening, verify):
            monkeypatch.setattr(module, "open_run_hosts", lambda store, *_: RunHosts.of(store, found.anew()))
        yield found


def repeat_requests(hosts: NearHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeat each request that may be repeated: it is answered alike."""
    perform = hosts.perform

    def twice(task: str, *request: Any) -> list[Array]:
        answer = perform(task, *request)
        assert not HOST_TASKS[task].may_repeat or pack_arrays(perform(task, *request)) == pack_arrays(answer), task
        return answer

    monkeypatch.setattr(hosts, "perform", twice)


def assert_no_host_expects_messages() -> None:
    """No thread that looks for messages stays."""
    for thread in threading.enumerate():
        if thread.name == "inbox":
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


def resources_of(monkeypatch: pytest.MonkeyPatch, layout: str, checkpoint: float = -1.0) -> Resources:
    """Return resources of a run by hosts: each range is a round, or each layer is one; no commit waits for the disk."""
    context = vars(driving)["open_context"]
    resources = MANNERS["durable"].take(monkeypatch, layout)
    monkeypatch.setattr(driving, "open_context", context)
    return replace(resources, farm=1, tuning=replace(resources.tuning, checkpoint=checkpoint))


def always_even(patch: pytest.MonkeyPatch, hosts: NearHosts) -> None:
    """Have ranges cut and moved before each layer, however little that brings."""
    patch.setattr(hosts, "tuning", replace(hosts.tuning, host_move=math.nan, host_uneven=(1.0, 1.0)))


def driven(directory: Path, resources: Resources, notes: Notes, until: int | None = None) -> State:
    """The state after a session, which is stopped at a depth."""
    return drive(directory, resources, _Until(until), notes)


class _Until(Control):
    """Stops a run at a depth."""

    def __init__(self, depth: int | None) -> None:
        super().__init__()
        self._depth = depth

    def made(self, record: LayerRecord) -> None:
        """Return, or stop."""
        super().made(record)
        if record.depth == self._depth:
            raise StopRun("interrupted", "deep enough")


def assert_as_a_plain_search(directory: Path, options: dict[str, str], hosts: NearHosts) -> None:
    """The run, brought home, has its layers and nothing else, and its hosts have nothing."""
    hosts.then = lambda *_: None
    assert collect_run(directory, "", Control(), SilentObserver()) > 1
    assert_as_expected(directory, options)
    with RunStore(directory) as store:
        assert (store.read(META, ROUND_KEY), store.read(META, HOSTS_KEY)) == (None, None)


def with_searches(usual: Iterator[Search], name: str, *values: object) -> pytest.MarkDecorator:
    """Each value of a parameter with every search; all are slow but one for every other value, next of the `usual`."""
    default = [*zip(values[::2], usual, strict=False)]
    cases = product(values, [(*each, directed) for each in EMBEDDINGS for directed in ("no", "yes")])
    marked = [pytest.param(*each, marks=() if each in default else pytest.mark.slow) for each in cases]
    return pytest.mark.parametrize((name, "search"), marked)


def options_of(search: Search) -> dict[str, str]:
    """Options of a small toy puzzle by layout, keys and whether it is directed."""
    return dict(zip(("layout", "keys", "directed"), search, strict=True), size="300")


def range_map_of(directory: Path, hosts: NearHosts) -> RangeMap:
    """Return the ranges of each host."""
    with RunStore(directory) as store:
        return RunHosts.of(store, hosts).range_map


def assert_readable(directory: Path, hosts: NearHosts) -> None:
    """Read all layers, and compare their digests."""
    with RunStore(directory) as store:
        kept = HostedBlocks(RunHosts.of(store, hosts), store.layout)
        store.elsewhere = lambda: kept
        for record in store.layer_records():
            assert digest_text(lanes_of(store.layer(record.depth))) == record.digest
