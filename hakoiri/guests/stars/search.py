"""The search of a tree: its first levels as layers, then the subtrees below them in chunks, committed as they are done.

The prefixes are shuffled before they are cut into chunks, so the first k of N chunks are a simple random sample. With
mean m and standard deviation s of their nodes, the other R = N - k chunks have about R m nodes. The error of that has
the variance R s^2 N / k: R s^2 of the chunks themselves and (R s)^2 / k of the mean. Only chunks before the first
missing one count, because those done beyond it were quick ones and would bias the estimate.

The seconds are the nodes divided by the pace of this session, so the interval does not include the machine's future
load.

    start -> layer 1 -> ... -> layer d, enough prefixes -> shuffled, cut into chunks -> counted (threads or workers)
          -> record of each chunk, with its solutions where the run keeps them -> sums, digest, layer d + 1

Neither the counts nor the digest depend on the division into chunks or on who counts them. A commit is made every half
a second, so a kill costs only the chunks in progress.
"""

import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hakoiri.coordinator.errors import ContradictionError, StopRun
from hakoiri.coordinator.session.inspection import inspected_expansion
from hakoiri.coordinator.session.session import Session
from hakoiri.guests.stars import chunk_store
from hakoiri.guests.stars.chunk_store import ChunkRecord, Cutting
from hakoiri.guests.stars.placements import Placements
from hakoiri.keys.layout import Keys
from hakoiri.keys.order import is_increasing, sort_keys
from hakoiri.keys.splitmix import first_words
from hakoiri.storage.layers.blocks import chain, code_keys, digest_text, sum_lanes
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Figures, Progress
from hakoiri.storage.names import FOUND
from hakoiri.timing import clock
from hakoiri.worker.transport.payload import Array, Arrays

#: With fewer chunks there is no estimate: their spread is not known well enough for a normal distribution.
LEAST_SAMPLE = 40
_CONFIDENCE = 0.95
_QUANTILE = statistics.NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
SecondsLeft = tuple[float, float]


def nodes_left(sample: Sequence[int], chunks: int) -> SecondsLeft | None:
    """Return bounds of the nodes of the chunks beyond `sample`, with 95 % confidence; ``None`` if it is too small."""
    known = len(sample)
    rest = chunks - known
    if known < LEAST_SAMPLE:
        return None
    expected = rest * statistics.fmean(sample)
    error = _QUANTILE * statistics.stdev(sample) * math.sqrt(rest * chunks / known)
    return max(0.0, expected - error), expected + error


def seconds_left(sample: Sequence[int], chunks: int, beyond: int, nodes: int, seconds: float) -> SecondsLeft | None:
    """Return the same in seconds, at a pace of `nodes` in `seconds`; `beyond` nodes after `sample` are done."""
    bounds = nodes_left(sample, chunks)
    if bounds is None or not nodes or not seconds:
        return None
    least, most = (max(0.0, bound - beyond) * seconds / nodes for bound in bounds)
    return least, most


@dataclass(frozen=True)
class TreeFigures(Figures):
    """The counts of a tree (`puzzles.capabilities.SubtreeCounts`), its chunks, and their processor seconds.

    ``None`` is not known before the tree is cut.
    """

    solutions: int = 0
    orbits: int | None = None
    classes: int | None = None
    nodes: int = 0
    chunks: int | None = None
    chunks_done: int = 0
    processor_seconds: float = 0.0
    exhausted: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, with the solutions also as the configurations of other runs."""
        return super().as_dict() | {"configurations": self.solutions}


#: The figures that are sums over the chunks; nodes have those of the prefixes besides.
SUMS = ("solutions", "orbits", "classes", "nodes")


def shuffled(count: int) -> np.ndarray:
    """Return the numbers below `count` in the order in which prefixes are taken: that of as many random numbers.

    It is the same on every machine and in every session, and unrelated to the order of the keys.
    """
    return np.argsort(first_words(count), kind="stable")


def chunk_roots(store: RunStore, cutting: Cutting) -> list[Keys]:
    """Return the prefixes of each chunk."""
    keys = store.layer(cutting.depth)[shuffled(cutting.prefixes)]
    return [keys[begin : begin + cutting.chunk] for begin in range(0, cutting.prefixes, cutting.chunk)]


def figures_of(
    store: RunStore, puzzle: Placements, cutting: Cutting, records: Mapping[int, ChunkRecord]
) -> TreeFigures:  # fmt: skip
    """Return the figures of a run with these chunks."""
    found = records.values()
    nodes = sum(store.layer_record(level).size * puzzle.numbers_placed(level) for level in range(1, cutting.depth + 1))
    solutions, orbits, classes, below = (sum(getattr(record, name) for record in found) for name in SUMS)
    seconds = sum(record.microseconds for record in found) / 1e6
    return TreeFigures(solutions, orbits, classes, below + nodes, cutting.chunks, len(found), seconds)


def tree_digest(found: TreeFigures, records: Mapping[int, ChunkRecord]) -> str:
    """Return the digest of a finished run: of its counts and one solution of each orbit, for any strategy."""
    lanes = digest_text(sum_lanes(record.lanes for record in records.values()))
    return chain([str(found.solutions), str(found.orbits or 0), str(found.classes or 0), lanes])


#: The number of prefixes sampled to decide whether there are enough, and the most prefixes (`Tuning`).
_LOOKS_BELOW, _MOST_PREFIXES = 4, 400_000
#: The target number of chunks, and bounds of their time: shorter ones cost overhead, longer ones are lost in a kill.
_CHUNKS, _LEAST_SECONDS, _MOST_SECONDS = 1_000, 0.02, 4.0
#: The pace is measured on single prefixes, up to this time and number.
_LOOK_SECONDS, _LOOKS = 0.1, 16
#: Work below this is not worth sending to workers.
_WORTH_SENDING_SECONDS = 0.5
#: Merging the solutions holds three copies: as read, concatenated, and sorted.
_COPIES = 3


class TreeSearch:
    """A search of a tree, on an open run, from its last commit on."""

    def __init__(self, session: Session) -> None:
        self._session, self._store, self._tuning = session, session.store, session.context.tuning
        if not isinstance(session.puzzle, Placements):
            raise ContradictionError(f"{session.puzzle.name} is not a tree; start a new run")
        self._puzzle = session.puzzle
        self._state = self._store.state
        self._found = TreeFigures.of(self._state)
        self._expected = self._state.progress.seconds_left

    def run(self) -> None:
        """Search until every chunk is counted. Commits along the way; raises as `explore` does."""
        cutting = chunk_store.read_cutting(self._store) or self._cut()
        roots = chunk_roots(self._store, cutting)
        self._records = chunk_store.read_chunks(self._store)
        with self._session.committing(self._commit_staged):
            self._count(roots)
        self._finish(cutting)

    def _commit_staged(self) -> None:
        self._state = self._session.commit_staged(self._state)

    def _cut(self) -> chunk_store.Cutting:
        """Make layers until there are enough prefixes; decide on the chunks, once for all sessions."""
        try:
            keys = self._grow()
            pace = self._pace(keys[shuffled(len(keys))[:_LOOKS]])
        except StopRun:
            # Layers without the cutting would be made again by the next session.
            self._store.discard_staged()
            raise
        cutting = chunk_store.Cutting(self._state.depth, len(keys), self._chunk_size(len(keys), pace))
        chunk_store.stage_cutting(self._store, cutting)
        self._commit(orbits=0, classes=0, chunks=cutting.chunks)
        return cutting

    def _commit(self, **found: Any) -> None:
        self._find(**found)
        self._state = self._session.commit(self._state)

    def _find(self, **found: Any) -> None:
        self._found = replace(self._found, **found)
        self._state = replace(self._state, figures=self._found.as_dict())

    def _grow(self) -> Keys:
        # They are committed together with the cutting, or not at all.
        keys = self._puzzle.keys([self._puzzle.start])
        self._add(keys)
        while self._more_prefixes(keys):
            self._session.control.check()
            expansion, _ = inspected_expansion(self._puzzle, keys, self._state.depth + 1)
            following = sort_keys(expansion.successors)
            if not len(following):
                break
            if not is_increasing(following):
                raise ContradictionError(f"{self._puzzle.name}: level {self._state.depth + 1} has a duplicate")
            self._add(following)
            keys = following
        return keys

    def _more_prefixes(self, keys: Keys) -> bool:
        if len(keys) < self._tuning.enough_prefixes:
            return 2 * self._state.depth < self._puzzle.levels
        some = keys[shuffled(len(keys))[:_LOOKS_BELOW]]
        return len(keys) < _MOST_PREFIXES and self._puzzle.exceeds(some, self._tuning.most_below)

    def _add(self, keys: Keys) -> None:
        record = self._store.put_layer(self._state.depth + 1, keys, 0)
        stored = self._state.stored_bytes + record.stored_bytes
        self._state = replace(self._state, depth=record.depth, stored_bytes=stored)
        self._find(nodes=self._found.nodes + record.size * self._puzzle.numbers_placed(record.depth))
        self._session.tell(Progress(record.size, unit="prefixes", headline=f"level {record.depth}"))

    def _chunk_size(self, prefixes: int, pace: float) -> int:
        if (chosen := self._session.context.budget.chunk) is not None:
            return chosen
        seconds = min(max(pace * prefixes / _CHUNKS, _LEAST_SECONDS), _MOST_SECONDS)
        return max(1, min(prefixes, int(seconds / pace)))

    def _pace(self, roots: Keys) -> float:
        """Return the seconds per prefix, measured on some of `roots`, one after the other."""
        began, looked = clock(), 0
        for looked in range(1, len(roots) + 1):
            self._puzzle.count_subtrees(roots[looked - 1 : looked])
            if clock() - began > _LOOK_SECONDS:
                break
        return max((clock() - began) / max(looked, 1), 1e-7)

    def _count(self, roots: list[Keys]) -> None:
        missing = [chunk for chunk in range(len(roots)) if chunk not in self._records]
        if not missing:
            return
        self._began, self._nodes_here = time.monotonic(), 0
        self._committed = self._began
        for number, result in self._results(missing, roots):
            self._take_in(missing[number], len(roots[missing[number]]), result)
            self._session.control.check()

    def _results(self, missing: list[int], roots: list[Keys]) -> Iterator[tuple[int, list[Array]]]:
        chunks: Iterator[Arrays] = ([roots[chunk]] for chunk in missing)
        farm, left = self._session.context.farm, sum(len(roots[chunk]) for chunk in missing)
        least = int(_WORTH_SENDING_SECONDS / self._pace(roots[missing[0]][:_LOOKS])) + 1
        return farm.map(farm.plan_of(left, least), "subtrees", chunks)

    def _take_in(self, chunk: int, prefixes: int, result: list[Array]) -> None:
        """Stage the result of a chunk, and commit if the last commit is long ago."""
        tally, (lane_0, lane_1), kept = result[0].tolist(), result[1].tolist(), result[2]
        solutions, orbits, classes, nodes, microseconds = tally
        stored, index = self._store.stage_blocks(chunk, code_keys(chunk, kept), database=FOUND)
        counts = chunk, prefixes, solutions, orbits, classes, nodes
        record = ChunkRecord(*counts, lane_0, lane_1, len(kept), index, microseconds, self._state.session)
        chunk_store.stage_chunk(self._store, record)
        self._records[chunk] = record
        self._nodes_here += nodes
        self._state = replace(self._state, stored_bytes=self._state.stored_bytes + stored)
        found = self._found
        self._find(
            solutions=found.solutions + solutions, orbits=(found.orbits or 0) + orbits,
            classes=(found.classes or 0) + classes, nodes=found.nodes + nodes, chunks_done=len(self._records),
            processor_seconds=round(found.processor_seconds + microseconds / 1e6, 6),
        )  # fmt: skip
        now = time.monotonic()
        staged, most = self._store.staged_bytes, self._session.context.shares.staged_bytes
        due = now - self._committed > self._tuning.chunk_commit or staged > most
        if due:
            self._expected = self._left(now - self._began)
        self._tell()
        if due:
            self._commit()
            self._committed = now

    def _tell(self) -> None:
        found = self._found
        done, said = (found.chunks_done, found.chunks, "chunks"), f"{found.solutions:,} solutions"
        self._session.tell(Progress(*done, said, self._expected, found.nodes, "nodes"))

    def _left(self, seconds: float) -> tuple[float, float] | None:
        sample: list[int] = []
        while len(sample) in self._records:
            sample.append(self._records[len(sample)].nodes)
        beyond = sum(record.nodes for record in self._records.values()) - sum(sample)
        return seconds_left(sample, self._found.chunks or 0, beyond, self._nodes_here, seconds)

    def _finish(self, cutting: chunk_store.Cutting) -> None:
        # A repaired run may already have its solutions in their layer.
        if self._puzzle.keeps and self._found.orbits and self._state.depth == cutting.depth:
            self._keep(cutting.depth + 1, [self._records[chunk] for chunk in range(cutting.chunks)])
        self._state = replace(self._state, status="complete", digest=tree_digest(self._found, self._records))
        self._expected = None
        self._tell()
        self._commit(exhausted=True)

    def _keep(self, depth: int, records: list[chunk_store.ChunkRecord]) -> None:
        """Stage the solutions of all chunks as one layer, which replaces those stored by chunk."""
        kept = sum(record.kept for record in records)
        needed = kept * self._puzzle.layout.bytes * _COPIES
        if needed > self._session.context.shares.free:
            self._session.context.budget.require(f"sorting {kept:,} solutions", needed)
        blocks: list[Keys] = []
        for record in records:
            chunk_store.require_found(self._store, record)
            blocks.extend(self._store.blocks(record.chunk, database=FOUND))
        keys = sort_keys(np.concatenate(blocks))
        if len(keys) != kept or not is_increasing(keys):
            raise ContradictionError(f"{self._puzzle.name}: two subtrees found the same solution")
        layer = self._store.put_layer(depth, keys, len(keys))
        self._store.erase(FOUND)
        stored = sum(older.stored_bytes for older in self._store.layer_records()) + layer.stored_bytes
        self._state = replace(self._state, depth=depth, stored_bytes=stored)
