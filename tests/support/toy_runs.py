"""Drives toys in every manner, and says of a run whether it is what a plain search would have stored."""

import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache, wraps
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import lmdb
import numpy as np
import pytest

import hakoiri.coordinator.runs.drive as driving
from hakoiri.coordinator.layers import makers
from hakoiri.coordinator.layers.search import SearchFigures
from hakoiri.coordinator.layers.table_maker import Marked
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.opening import open_context as threads_alone
from hakoiri.coordinator.session.farm import Farm
from hakoiri.coordinator.session.inspection import inspected_expansion
from hakoiri.coordinator.session.resources import CHUNK_SECONDS, Resources, Tuning
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, SilentObserver, ThreadExecutor
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.keys.layout import LAYOUTS, Key, Keys, ints
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, State
from hakoiri.storage.names import BLOCKS, CLOSED, CLOSED_KEY, META, PARTIAL_KEY, SPILL_FOLDER, number_key
from hakoiri.worker.tasks import do_task
from hakoiri.worker.transport.payload import Array, Arrays, pack_arrays, unpack_arrays
from tests.support.keys import digest_by_the_book
from tests.support.plain_search import reference_layers
from tests.support.runs import StoppingAfter
from tests.support.toy import Toy, is_goal

#: Where keys lie, for each layout: dense ones at either end of what the layout holds, and sparse ones.
EMBEDDINGS = [
    ("u32", "low"), ("u32", "high"), ("u32", "spread"), ("u32", "clumped"),
    ("u64", "high"), ("u64", "spread"), ("u64", "clumped"),
    ("u128", "low"), ("u128", "spread"), ("u128", "clumped"),
    ("u256", "high"), ("u256", "spread"), ("u256", "clumped"),
]  # fmt: skip

#: Allowed for each key besides the key itself, so that narrow keys do not drown in what is counted for each array.
_OVERHEAD_BYTES = 6

_lmdb_open = lmdb.open


def open_without_sync(path: str, **options: Any) -> lmdb.Environment:
    """`lmdb.open`, that does not wait for the disk."""
    return _lmdb_open(path, **options | {"sync": False})


class Elsewhere:
    """Stands in for RQ workers: all that goes there and comes back are bytes, and results come in disorder."""

    name, own, is_starting, chunk_seconds = "elsewhere", False, False, CHUNK_SECONDS

    def __init__(self, puzzle: Puzzle, workers: int, control: Control) -> None:
        self.workers, self._puzzle, self._control, self.work_log = workers, puzzle, control, WorkLog()
        self.living = workers

    def map(
        self, task: str, chunks: Iterable[Arrays], shared: Arrays = (), scarce: bool = False
    ) -> Iterator[tuple[int, list[Array]]]:
        """Take chunks ahead, as the remote executor does, and answer the one drawn last."""
        numbered, flying = enumerate(chunks), list[tuple[int, bytes]]()
        sent = pack_arrays(shared)
        while True:
            while len(flying) < 3 * self.workers and (following := next(numbered, None)) is not None:
                flying.append((following[0], pack_arrays(following[1])))
            if not flying:
                return
            self._control.check()
            number, payload = flying.pop()
            result = do_task(task, self._puzzle, unpack_arrays(payload), unpack_arrays(sent))
            if task == "expand":
                self.work_log.add_expanded("elsewhere", int(result[0][0]), 0.0, len(payload))
            yield number, unpack_arrays(pack_arrays(result))

    def expect_work(self, seconds: float, beside: int = 0) -> None:
        """Nothing depends on it."""

    def close(self) -> None:
        """Nothing is open."""


class Manner(NamedTuple):
    """Resources, the memory of a layer step in keys, and whether every single piece of work is made durable at once.

    `elsewhere` is the number of workers that are not threads of this process.
    """

    common: Resources
    keys: int = 1_000_000
    durable: bool = False
    elsewhere: int = 0

    def take(self, patch: pytest.MonkeyPatch, layout: str) -> Resources:
        """The resources of runs that are driven in this manner, for keys of `layout`; others are from now on, too."""
        # Each of these takes longer than the whole search, and here no power is cut.
        patch.setattr(lmdb, "open", open_without_sync)
        patch.setattr(os, "fsync", lambda descriptor: None)
        patch.setattr(driving, "open_context", self.context if self.elsewhere else threads_alone)
        tuning = Tuning(least_bytes=self.keys * (LAYOUTS[layout].bytes + _OVERHEAD_BYTES), merged_at_once=64)
        if self.durable:
            tuning = replace(tuning, checkpoint=-1.0, range_commit=-1.0)
        return replace(self.common, tuning=tuning)

    @contextmanager
    def context(
        self, puzzle: Puzzle, spec: PuzzleSpec, resources: Resources, control: Control, observer: Observer,
        by_hosts: bool = False,
    ) -> Iterator[ComputeContext]:  # fmt: skip
        """As `open_context`, with workers that stand in for others."""
        budget, workers = resources.budget(), resources.workers or 1
        with closing(ThreadExecutor(puzzle, workers, control)) as local:
            far = Elsewhere(puzzle, self.elsewhere, control)
            shares = budget.shares(puzzle, workers)
            farm = Farm(puzzle, local, far, budget, shares, observer.note)
            yield ComputeContext(puzzle, farm, local, budget, shares, control, observer, redis="redis://elsewhere")


MANNERS = {
    "default": Manner(Resources()),
    "chunks": Manner(Resources(workers=2, chunk=7, farm=1)),
    "spilling": Manner(Resources(workers=2, memory=1, farm=1), 900),
    "starving": Manner(Resources(workers=1, memory=1, chunk=30, farm=40), 150),
    "crowded": Manner(Resources(workers=5, memory=1, chunk=50, farm=1), 3_000),
    "farmed": Manner(Resources(workers=1, memory=1, chunk=30, farm=1), 900, elsewhere=3),
    "half farmed": Manner(Resources(workers=3, memory=1, chunk=90, farm=20), 4_000, elsewhere=2),
    "durable": Manner(Resources(workers=2, memory=1, chunk=40, farm=40), 30_000, durable=True),
}


def spied(patch: pytest.MonkeyPatch, *methods: tuple[type | ModuleType, str]) -> Counter[str]:
    """Count the calls of each method from now on."""
    calls: Counter[str] = Counter()
    for owner, name in methods:
        before_call(patch, owner, name, lambda *_, name=name: calls.update([name]))
    return calls


def before_call(patch: pytest.MonkeyPatch, owner: type | ModuleType, name: str, act: Callable[..., Any]) -> None:
    """From now on call `act` with a method's arguments before the method itself."""
    method = getattr(owner, name)

    @wraps(method)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        act(*arguments)
        return method(*arguments, **named)

    patch.setattr(owner, name, wrapped)


def be_quick(patch: pytest.MonkeyPatch) -> None:
    """From now on the first keys of a layer count as expanded in a microsecond each, however busy the machine is."""

    def quick(puzzle: Puzzle, keys: Keys, depth: Depth) -> tuple[Expansion, float]:
        return inspected_expansion(puzzle, keys, depth)[0], 1e-6 * len(keys)

    patch.setattr(makers, "inspected_expansion", quick)


def left_by_another_version(directory: Path) -> dict[str, Any]:
    """Turn what is half done in a run into what a version without a number of its own would have left; the record."""
    for path in (directory / SPILL_FOLDER).glob("*"):
        path.write_bytes(b"frames of another format")
    with RunStore(directory, writable=True) as store:
        fields = store.read_partial(dict[str, Any])
        assert fields is not None
        del fields["spilled"]["version"]
        store.stage_record(META, PARTIAL_KEY, fields)
        store.commit(store.state)
    return fields


class Expected(NamedTuple):
    """The results of a plain search."""

    layers: list[list[Key]]
    records: list[tuple[int, str, int]]
    digest: str


@cache
def expected(layout: str, keys: str, directed: str, size: str = "600") -> Expected:
    """The layers of a toy: their keys, their sizes, digests and goals, and the digest of the run."""
    toy = Toy({"layout": layout, "keys": keys, "directed": directed, "size": size})
    layers = reference_layers(toy.successors, toy.start)
    records = [(len(layer), digest_by_the_book(layer, toy.layout), sum(map(is_goal, layer))) for layer in layers]
    digest = hashlib.sha256("".join(f"{digest}\n" for _, digest, _ in records).encode()).hexdigest()
    return Expected(layers, records, digest)


def new_run(data: Path, options: dict[str, str], resources: Resources | None = None) -> Path:
    """The directory of a new run of the toy."""
    return make_run(data, PuzzleSpec("toy", options), "explore", {}, resources or Resources())


def driven(directory: Path, resources: Resources, control: Control | None = None) -> State:
    return drive(directory, resources, control or Control(), SilentObserver())


def driven_by_stops(directory: Path, resources: Resources) -> Iterator[tuple[int, int]]:
    """Drive a run whose table of layers is stopped again and again: yield its layer and place after each stop.

    Each session must get farther than the one before.
    """
    before = (-1, 0)
    while driven(directory, resources, StoppingAfter(25)).status != "complete":
        with RunStore(directory) as left:
            begun = left.read_partial(Marked)
            reached = left.state.depth, begun.at if begun else 0
        assert before < reached
        yield (before := reached)


def assert_as_expected(directory: Path, options: dict[str, str]) -> None:
    """The finished run holds the layers of the plain search and nothing else at all."""
    right = expected(**options)
    with RunStore(directory) as store:
        state, found, records = store.state, SearchFigures.of(store.state), store.layer_records()
        assert [(record.size, record.digest, record.goals) for record in records] == right.records
        assert [ints(store.layer(depth)) for depth in range(state.depth + 1)] == right.layers
        assert (state.status, found.exhausted, state.digest) == ("complete", True, right.digest)
        assert found.configurations == sum(map(len, right.layers))
        assert found.goal_depth == next((depth for depth, (_, _, goals) in enumerate(right.records) if goals), None)
        assert state.stored_bytes == sum(record.stored_bytes for record in records)
        assert_tidy(store)
    assert not (directory / SPILL_FOLDER).exists()


def assert_tidy(store: RunStore) -> None:
    """No block, record or run is left that nobody knows of, and those that are there are those of their records."""
    depths = range(store.state.depth + 1)
    names = store.names(BLOCKS)
    for depth in depths:
        mine, index = [name for name in names if name[:4] == number_key(depth)], 0
        for name in mine:
            index = zlib.crc32(name, index)
        record = store.layer_record(depth)
        assert index == record.index
        assert record.stored_bytes == sum(len(name) + len(store.read(BLOCKS, name) or b"") for name in mine)
    assert {name[:4] for name in names} == {number_key(depth) for depth in depths}
    assert store.read(META, PARTIAL_KEY) is None
    assert_seen_is_true(store)


def assert_seen_is_true(store: RunStore) -> None:
    """The runs of older keys are exactly the layers that they say they cover."""
    if store.read(META, CLOSED_KEY) is None:
        assert store.names(CLOSED) == []
        return
    fields = store.read_record(META, CLOSED_KEY, "runs")
    runs = [np.concatenate(list(store.blocks(number, 0, CLOSED))) for number, *_ in fields["segments"]]
    assert [len(keys) for keys in runs] == [size for _, size, *_ in fields["segments"]]
    assert {int.from_bytes(name[:4], "big") for name in store.names(CLOSED)} == {
        number for number, *_ in fields["segments"]
    }
    covered = [
        key for depth in range(min(fields["covered"], store.state.depth + 1)) for key in ints(store.layer(depth))
    ]
    assert sorted(key for keys in runs for key in ints(keys)) == sorted(covered)
