"""The kind of run for trees: counts every solution of a puzzle of placements, subtree by subtree, and verifies it.

The layers of prefixes are derived by the reference rules, for a sample or all, and completely by the kernel. Chunks are
counted again, small subtrees also in plain Python; every sum and digest is checked. Each kept solution must be a
solution and the least of its images. If the sums disagree, every chunk is counted again, to name the wrong one.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.layers.job import layer_summary
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Job, Table
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import DamagedError, Hint, PuzzleError
from hakoiri.guests.stars import chunk_store
from hakoiri.guests.stars.kind import TreeKind
from hakoiri.guests.stars.placements import Placements, SubtreeCounts
from hakoiri.guests.stars.search import SUMS, TreeFigures, TreeSearch, chunk_roots, figures_of, tree_digest
from hakoiri.keys.layout import Keys, ints
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.audit import check_layer
from hakoiri.storage.layers.blocks import lanes_of, sum_lanes
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Manifest, State
from hakoiri.storage.names import BLOCKS, CHUNKS, CUTTING_KEY, FOUND, LAYERS, META, number_key

#: Numbers placed by the reference rules: in one subtree, and in full.
_PLAIN_NODES_AT_ONCE, _PLAIN_NODES_IN_FULL = 2_000, 300_000


class TreeVerifier(Check):
    """Verifies the chunks of a tree by its rules."""

    puzzle: Placements

    def check(self) -> None:
        """Check everything; the layers' checksums are checked before."""
        cutting = chunk_store.read_cutting(self.store)
        if cutting is None:
            return
        self._check_layers(cutting)
        records = {}
        for chunk in chunk_store.finished_chunks(self.store):
            try:
                records[chunk] = chunk_store.read_chunk(self.store, chunk)
            except DamagedError as error:
                self.report.damage(str(error))
        if not self.report.ok:
            return
        sums_agree = self._check_sums(cutting, records)
        roots = chunk_roots(self.store, cutting)
        self._check_chunks(roots, records, everything=self.full or not sums_agree)
        self._check_by_plain_rules(roots)
        if self.puzzle.keeps:
            self._check_solutions(cutting, records)

    def _check_layers(self, cutting: chunk_store.Cutting) -> None:
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

    def _check_sums(self, cutting: chunk_store.Cutting, records: dict[int, chunk_store.ChunkRecord]) -> bool:
        state, found, before = self.store.state, TreeFigures.of(self.store.state), len(self.report.faults)
        derived = figures_of(self.store, self.puzzle, cutting, records)
        for name in (*SUMS, "chunks_done", "chunks"):
            said, known = getattr(found, name), getattr(derived, name)
            if said != known:
                # A repair recounts if the sums of the chunks differ; it does not change the number of chunks.
                wrong = self.report.damage if name in SUMS else self.report.fault
                wrong(f"the state counts {said} {name.replace('_', ' ')}, the chunks have {known}")
        if state.status == "complete":
            if len(records) != cutting.chunks:
                self.report.fault(f"{len(records)} of {cutting.chunks} chunks of a complete run are stored")
            if state.digest != tree_digest(derived, records):
                self.report.fault("the digest of the run does not match its chunks")
        return len(self.report.faults) == before

    def _check_chunks(self, roots: list[Keys], records: dict[int, chunk_store.ChunkRecord], everything: bool) -> None:
        chosen = sorted(records)
        size = len(chosen) if everything else self.context.tuning.sampled_chunks
        for chunk in self.some(chosen, size, "chunks counted again"):
            self.report.count("chunks")
            found = _result(self.puzzle.count_subtrees(roots[chunk]))
            if found != records[chunk].result or len(roots[chunk]) != records[chunk].prefixes:
                self.report.fault(
                    f"chunk {chunk}: recounted {_words(found)}, but {_words(records[chunk].result)} in its record"
                )

    def _check_by_plain_rules(self, roots: list[Keys]) -> None:
        """Compare kernel and reference rules on small subtrees below each chunk's first prefix."""
        left = _PLAIN_NODES_IN_FULL if self.full else self.context.tuning.plain_nodes
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

    def _check_solutions(self, cutting: chunk_store.Cutting, records: dict[int, chunk_store.ChunkRecord]) -> None:
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
            chunk_store.require_found(self.store, record)
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
        return keys[self.sample(len(keys), self.context.tuning.sampled, salt)]


def _result(counted: SubtreeCounts) -> tuple[int, ...]:
    """Return the counts of a chunk in the form of `ChunkRecord.result`."""
    return (counted.solutions, counted.orbits, counted.classes, counted.nodes, *lanes_of(counted.found))


def _words(result: tuple[int, ...]) -> str:
    return f"{result[0]} solutions, {result[1]} orbits, {result[2]} classes, {result[3]} nodes"


#: The options of a tree that change its search and its stored data, but not its solutions.
STRATEGY, KEEPING = "strategy", "solutions"


class Subtrees(Job):
    """A count of all solutions, from the empty figure."""

    figures = TreeFigures
    parameters = TreeKind
    verifier = f"{__name__}:TreeVerifier"
    facts = (
        "solutions", "numbers placed: nodes",
        "orbits: {orbits:,} by the {job.puzzle.symmetries} symmetries of the figure",
        "classes: {classes:,} by the {job.puzzle.automorphisms} automorphisms of its lines",
        "chunks: {chunks_done:,} of {chunks:,}", "processor: {processor_seconds:.3f} s for {chunks:chunks}",
    )  # fmt: skip
    puzzle: Placements

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        asked = {**dict.fromkeys(plan, True), "start": spec.start is not None}
        for option in (name for name, given in asked.items() if given):
            raise PuzzleError(
                f"{spec.name} counts every solution from the empty figure, so it has no start",
                Hint("leave out", option),
            )
        return spec.build()

    def work(self, session: Session) -> None:
        TreeSearch(session).run()

    def repair(self, session: Session) -> None:
        """Erase broken chunks of a run; all chunks if a layer or a sum is wrong. Durable on return."""
        store, cutting = session.store, _sound_cutting(session.store)
        if cutting is None:
            session.observer.note("counting everything again")
            for database, prefix in ((BLOCKS, b""), (LAYERS, b""), (CHUNKS, b""), (FOUND, b""), (META, CUTTING_KEY)):
                store.erase(database, prefix)
            store.commit(replace(store.state, depth=-1, stored_bytes=0, digest="", figures=TreeFigures().as_dict()))
            return
        records = _sound_records(store, cutting)
        broken = [chunk for chunk in chunk_store.finished_chunks(store) if chunk not in records]
        # Once the solutions have become a layer, they are no longer stored by chunk.
        merged = store.state.depth > cutting.depth
        solutions_are_broken = merged and list(check_layer(store, store.state.depth))
        said, derived = TreeFigures.of(store.state), figures_of(store, self.puzzle, cutting, records)
        sums_agree = all((getattr(said, name) or 0) == getattr(derived, name) for name in SUMS)
        if not broken and sums_agree and not solutions_are_broken:
            return
        if merged or not broken:
            broken, records = chunk_store.finished_chunks(store), {}
        session.observer.note(f"counting {len(broken)} chunks again")
        for chunk in broken:
            store.erase(CHUNKS, number_key(chunk))
            store.erase(FOUND, number_key(chunk))
        store.erase(BLOCKS, number_key(cutting.depth + 1))
        store.erase(LAYERS, number_key(cutting.depth + 1))
        derived = figures_of(store, self.puzzle, cutting, records)
        store.commit(replace(store.state, depth=cutting.depth, digest="", figures=derived.as_dict()))

    def summary(self, budget: Budget) -> dict[str, Any]:
        return layer_summary(self.store.layer_records())

    def questions(self) -> list[str]:
        return ["solutions"] if self.puzzle.keeps and TreeFigures.of(self.store.state).orbits else []

    @classmethod
    def compare(cls, manifest: Manifest, others: Callable[[], list[tuple[Manifest, State]]]) -> Table:
        """Return the latest complete run of each strategy for the same figure, the one with most nodes first."""
        latest = {
            other.puzzle["options"][STRATEGY]: (other.run, state, TreeFigures.of(state))
            for other, state in others()
            if _figure(other) == _figure(manifest) and state.status == "complete"
        }
        slowest_first = sorted(latest.items(), key=lambda entry: -entry[1][2].nodes)
        fastest = slowest_first[-1][1][2] if latest else TreeFigures()
        rows = [
            {
                "strategy": strategy,
                "nodes": found.nodes,
                "times_nodes": round(found.nodes / max(fastest.nodes, 1), 1),
                "processor": found.processor_seconds,
                "times_processor": round(found.processor_seconds / max(fastest.processor_seconds, 1e-6), 1),
                "seconds": round(state.seconds, 3),
                "run": run,
            }
            for strategy, (run, state, found) in slowest_first
        ]
        return Table("strategies", rows)


def _figure(manifest: Manifest) -> tuple[str, dict[str, str]]:
    """Return the identity of the tree, without the strategy of the search."""
    options = manifest.puzzle["options"]
    return manifest.puzzle["name"], {name: options[name] for name in options if name not in (STRATEGY, KEEPING)}


def _sound_cutting(store: RunStore) -> chunk_store.Cutting | None:
    """Return the cutting, if it and the layers of prefixes are sound."""
    try:
        cutting = chunk_store.read_cutting(store)
    except DamagedError:
        return None
    if cutting is None or any(list(check_layer(store, depth)) for depth in range(cutting.depth + 1)):
        return None
    return cutting if store.layer_record(cutting.depth).size == cutting.prefixes else None


def _sound_records(store: RunStore, cutting: chunk_store.Cutting) -> dict[int, chunk_store.ChunkRecord]:
    records = {}
    for chunk in chunk_store.finished_chunks(store):
        try:
            record = chunk_store.read_chunk(store, chunk)
            if store.state.depth == cutting.depth:
                chunk_store.require_found(store, record)
                list(store.blocks(chunk, database=FOUND))
        except DamagedError:
            continue
        records[chunk] = record
    return records


def require_solutions_of(store: RunStore, puzzle: Placements) -> None:
    """Raise `UnanswerableError` for a run that keeps no solutions."""
    if not puzzle.keeps:
        text = f"run {store.manifest.run} counted its solutions and kept none; only one with solutions=keep has them"
        raise UnanswerableError(text, Hint("give", "option", f"{KEEPING}=keep"))


def found_solutions(store: RunStore, puzzle: Placements) -> Iterator[Keys]:
    """Yield the least image of one solution of each orbit, in batches; increasing if the run is complete.

    For an unfinished run, yield the solutions of its finished chunks. Raises `UnanswerableError` if the run keeps none.
    """
    require_solutions_of(store, puzzle)
    cutting = chunk_store.read_cutting(store)
    if cutting is None:
        return
    if store.state.depth > cutting.depth:
        store.require_whole(store.state.depth)
        yield from store.blocks(store.state.depth)
        return
    for name in store.names(FOUND):
        # A chunk's blocks are adjacent; its record is checked before the first of them.
        chunk = int.from_bytes(name[:4], "big")
        if name == store.names(FOUND, name[:4])[0]:
            chunk_store.require_found(store, chunk_store.read_chunk(store, chunk))
            yield from store.blocks(chunk, database=FOUND)
