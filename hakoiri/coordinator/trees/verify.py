"""Verification of a tree: derives prefixes, chunks and solutions again.

The layers of prefixes are derived by the reference rules, for a sample or all, and completely by the kernel. Chunks are
counted again, small subtrees also in plain Python; every sum and digest is checked. Each kept solution must be a
solution and the least of its images. If the sums disagree, every chunk is counted again, to name the wrong one.
"""

from collections.abc import Iterator

import numpy as np

from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.trees.figures import TreeFigures, chunk_roots, prefix_nodes, tree_digest
from hakoiri.puzzles.capabilities import Placements, SubtreeCounts
from hakoiri.puzzles.keys.layout import Keys, ints
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.digest import lanes_of, sum_lanes
from hakoiri.storage.names import FOUND
from hakoiri.storage.results import subtrees

#: Sample sizes of each layer and of the solutions, and of the chunks, without `full`.
_SAMPLE, _SAMPLE_OF_CHUNKS = 64, 16
#: Numbers placed by the reference rules, some ten thousand a second: in one subtree, of a sample, and in full.
_PLAIN_NODES_AT_ONCE, _PLAIN_NODES, _PLAIN_NODES_IN_FULL = 2_000, 10_000, 300_000


class TreeVerifier(Check):
    """Verifies the chunks of a tree by its rules."""

    puzzle: Placements

    def check(self) -> None:
        """Check everything; the layers' checksums are checked before."""
        cutting = subtrees.read_cutting(self.store)
        if cutting is None:
            return
        self._check_layers(cutting)
        records = dict(self._readable_records())
        if not self.report.ok:
            return
        sums_agree = self._check_sums(cutting, records)
        roots = chunk_roots(self.store, cutting)
        self._check_chunks(roots, records, everything=self.full or not sums_agree)
        self._check_by_plain_rules(roots)
        if self.puzzle.keeps:
            self._check_solutions(cutting, records)

    def _check_layers(self, cutting: subtrees.Cutting) -> None:
        start = self.puzzle.start
        if ints(self.store.layer(0)) != [start]:
            self.report.fault("layer 0 is not just the start")
        for depth in self.each(range(1, cutting.depth + 1), "layers derived again"):
            before, keys = self.store.layer(depth - 1), self.store.layer(depth)
            if not np.array_equal(sort_keys(self.puzzle.expand(before).successors), keys):
                self.report.fault(f"layer {depth} does not follow from layer {depth - 1}")
            there = set(ints(keys))
            sampled = self._sampled(before, depth)
            for key, successors in zip(ints(sampled), self._successors_of(sampled), strict=True):
                self.report.count("prefixes")
                if strays := successors - there:
                    self.report.fault(f"layer {depth}: {key:#x} leads to {min(strays):#x}, which is missing")
        if (size := len(self.store.layer(cutting.depth))) != cutting.prefixes:
            self.report.fault(
                f"the chunks have {cutting.prefixes} prefixes, expected the {size} of layer {cutting.depth}"
            )

    def _readable_records(self) -> Iterator[tuple[int, subtrees.ChunkRecord]]:
        for chunk in subtrees.finished_chunks(self.store):
            try:
                yield chunk, subtrees.read_chunk(self.store, chunk)
            except DamagedError as error:
                self.report.damage(str(error))

    def _check_sums(self, cutting: subtrees.Cutting, records: dict[int, subtrees.ChunkRecord]) -> bool:
        state, found, before = self.store.state, TreeFigures.of(self.store.state), len(self.report.faults)
        nodes = prefix_nodes(self.store, self.puzzle, cutting.depth)
        results = [record.result for record in records.values()]
        sums = [sum(values) for values in zip(*results, strict=True)][:4] if results else [0] * 4
        # A repair recounts if the sums of the chunks differ; it does not change the number of chunks.
        summed, lasting = self.report.damage, self.report.fault
        for what, said, derived, wrong in (
            ("solutions", found.solutions, sums[0], summed),
            ("orbits", found.orbits, sums[1], summed),
            ("classes", found.classes, sums[2], summed),
            ("nodes", found.nodes, sums[3] + nodes, summed),
            ("chunks done", found.chunks_done, len(records), lasting),
            ("chunks", found.chunks, cutting.chunks, lasting),
        ):
            if said != derived:
                wrong(f"the state counts {said} {what}, the chunks have {derived}")
        if state.status == "complete":
            if len(records) != cutting.chunks:
                self.report.fault(f"{len(records)} of {cutting.chunks} chunks of a complete run are stored")
            lanes = sum_lanes(record.lanes for record in records.values())
            if state.digest != tree_digest(sums[0], sums[1], sums[2], lanes):
                self.report.fault("the digest of the run does not match its chunks")
        return len(self.report.faults) == before

    def _check_chunks(self, roots: list[Keys], records: dict[int, subtrees.ChunkRecord], everything: bool) -> None:
        chosen = sorted(records)
        if not everything:
            chosen = [chosen[place] for place in self.sample(len(chosen), _SAMPLE_OF_CHUNKS, 0)]
        for chunk in self.each(chosen, "chunks counted again"):
            self.report.count("chunks")
            found = _result(self.puzzle.count_subtrees(roots[chunk]))
            if found != records[chunk].result or len(roots[chunk]) != records[chunk].prefixes:
                self.report.fault(
                    f"chunk {chunk}: recounted {_words(found)}, but {_words(records[chunk].result)} in its record"
                )

    def _check_by_plain_rules(self, roots: list[Keys]) -> None:
        """Compare kernel and reference rules on small subtrees below each chunk's first prefix."""
        left = _PLAIN_NODES_IN_FULL if self.full else _PLAIN_NODES
        for chunk in roots:
            keys, counted = self._small_subtree(chunk[:1])
            if counted.nodes > left:
                self.report.sampled |= not self.full
                return
            left -= counted.nodes + 1
            self.report.count("subtrees by the reference rules")
            plain = _result(self.puzzle.reference_counts(ints(keys)[0]))
            if plain != _result(counted):
                self.report.mistake(
                    f"the subtree of {ints(keys)[0]:#x} has {_words(plain)} by the reference rules, the kernel differs"
                )

    def _small_subtree(self, keys: Keys) -> tuple[Keys, SubtreeCounts]:
        """Return `keys`, a single one, or one further down, whose subtree is small enough."""
        while (counted := self.puzzle.count_subtrees(keys)).nodes > _PLAIN_NODES_AT_ONCE:
            self.control.check()
            successors = self.puzzle.expand(keys).successors
            keys = successors[len(successors) // 2 :][:1]
        return keys, counted

    def _check_solutions(self, cutting: subtrees.Cutting, records: dict[int, subtrees.ChunkRecord]) -> None:
        if self.store.state.status == "complete":
            if orbits := TreeFigures.of(self.store.state).orbits:
                keys = self.store.layer(cutting.depth + 1)
                lanes = sum_lanes(record.lanes for record in records.values())
                if lanes_of(keys) != lanes or len(keys) != orbits:
                    self.report.fault(f"layer {cutting.depth + 1} differs from the solutions of the chunks")
                self._check_each(keys)
            return
        for chunk, record in records.items():
            self.control.check()
            subtrees.require_found(self.store, record)
            blocks = list(self.store.blocks(chunk, database=FOUND))
            keys = np.concatenate(blocks) if blocks else self.puzzle.layout.empty(0)
            if lanes_of(keys) != record.lanes or len(keys) != record.orbits:
                self.report.fault(f"chunk {chunk}: the stored solutions do not match its record")
            self._check_each(keys)

    def _check_each(self, keys: Keys) -> None:
        for key, magic in zip(ints(keys), self.puzzle.is_goal(keys).tolist(), strict=True):
            if not magic:
                self.report.fault(f"stored {key:#x} is not a solution")
        for key in ints(self._sampled(keys, 0)):
            self.control.check()
            self.report.count("solutions")
            if self.puzzle.images(key)[0] != key:
                self.report.fault(f"stored {key:#x} is not the least of its images")

    def _sampled(self, keys: Keys, salt: int) -> Keys:
        return keys[self.sample(len(keys), _SAMPLE, salt)]


def _result(counted: SubtreeCounts) -> tuple[int, ...]:
    """Return the counts of a chunk in the form of `ChunkRecord.result`."""
    return (counted.solutions, counted.orbits, counted.classes, counted.nodes, *lanes_of(counted.found))


def _words(result: tuple[int, ...]) -> str:
    return f"{result[0]} solutions, {result[1]} orbits, {result[2]} classes, {result[3]} nodes"
