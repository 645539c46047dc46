"""The kind of run for trees: counts every solution of a puzzle of placements, subtree by subtree."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.layers.job import layer_summary
from hakoiri.coordinator.session.job import Job, Table
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.trees.figures import TreeFigures, prefix_nodes
from hakoiri.coordinator.trees.search import TreeSearch
from hakoiri.coordinator.trees.verify import TreeVerifier
from hakoiri.puzzles.capabilities import Placements
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Hint, PuzzleError
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.audit import check_layer
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Manifest, State
from hakoiri.storage.names import BLOCKS, CHUNKS, CUTTING_KEY, FOUND, LAYERS, META, number_key
from hakoiri.storage.results import subtrees

#: The options of a tree that change its search and its stored data, but not its solutions.
STRATEGY, KEEPING = "strategy", "solutions"


class Subtrees(Job):
    """A count of all solutions, from the empty figure."""

    figures = TreeFigures
    check_class = TreeVerifier
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
        forget_damaged_subtrees(session, self.puzzle)

    def summary(self, budget: Budget) -> dict[str, Any]:
        return layer_summary(self.store.layer_records())

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        counts = {"solutions": summary["solutions"], "numbers placed": summary["nodes"]}
        if summary["chunks"] is None:
            return counts
        return counts | {
            "orbits": f"{summary['orbits']:,} by the {self.puzzle.symmetries} symmetries of the figure",
            "classes": f"{summary['classes']:,} by the {self.puzzle.automorphisms} automorphisms of its lines",
            "chunks": f"{summary['chunks_done']:,} of {summary['chunks']:,}",
            "processor": f"{summary['processor_seconds']:.3f} s for the chunks",
        }

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


def forget_damaged_subtrees(session: Session, puzzle: Placements) -> None:
    """Erase broken chunks of a run; all chunks if a layer or a sum is wrong. Durable on return."""
    store = session.store
    cutting = _sound_cutting(store)
    if cutting is None:
        session.observer.note("counting everything again")
        for database, prefix in ((BLOCKS, b""), (LAYERS, b""), (CHUNKS, b""), (FOUND, b""), (META, CUTTING_KEY)):
            store.erase(database, prefix)
        store.commit(replace(store.state, depth=-1, stored_bytes=0, digest="", figures=TreeFigures().as_dict()))
        return
    records = _sound_records(store, cutting)
    broken = [chunk for chunk in subtrees.finished_chunks(store) if chunk not in records]
    # Once the solutions have become a layer, they are no longer stored by chunk.
    merged = store.state.depth > cutting.depth
    solutions_are_broken = merged and list(check_layer(store, store.state.depth))
    if not broken and _sums(records) == _counted(store, puzzle, cutting) and not solutions_are_broken:
        return
    if merged or not broken:
        broken, records = subtrees.finished_chunks(store), {}
    session.observer.note(f"counting {len(broken)} chunks again")
    for chunk in broken:
        store.erase(CHUNKS, number_key(chunk))
        store.erase(FOUND, number_key(chunk))
    store.erase(BLOCKS, number_key(cutting.depth + 1))
    store.erase(LAYERS, number_key(cutting.depth + 1))
    store.commit(_state_of(store, puzzle, cutting, records))


def _sound_cutting(store: RunStore) -> subtrees.Cutting | None:
    """Return the cutting, if it and the layers of prefixes are sound."""
    try:
        cutting = subtrees.read_cutting(store)
    except DamagedError:
        return None
    if cutting is None or any(list(check_layer(store, depth)) for depth in range(cutting.depth + 1)):
        return None
    return cutting if store.layer_record(cutting.depth).size == cutting.prefixes else None


def _sound_records(store: RunStore, cutting: subtrees.Cutting) -> dict[int, subtrees.ChunkRecord]:
    records = {}
    for chunk in subtrees.finished_chunks(store):
        try:
            record = subtrees.read_chunk(store, chunk)
            if store.state.depth == cutting.depth:
                subtrees.require_found(store, record)
                list(store.blocks(chunk, database=FOUND))
        except DamagedError:
            continue
        records[chunk] = record
    return records


def _sums(records: dict[int, subtrees.ChunkRecord]) -> tuple[int, ...]:
    each = [record.result[:4] for record in records.values()]
    return tuple(sum(values) for values in zip(*each, strict=True)) if each else (0, 0, 0, 0)


def _counted(store: RunStore, puzzle: Placements, cutting: subtrees.Cutting) -> tuple[int, ...]:
    """Return the same sums by the state."""
    found, nodes = TreeFigures.of(store.state), prefix_nodes(store, puzzle, cutting.depth)
    return found.solutions, found.orbits or 0, found.classes or 0, found.nodes - nodes


def _state_of(
    store: RunStore, puzzle: Placements, cutting: subtrees.Cutting, records: dict[int, subtrees.ChunkRecord]
) -> State:
    solutions, orbits, classes, nodes = _sums(records)
    seconds = sum(record.microseconds for record in records.values()) / 1e6
    nodes += prefix_nodes(store, puzzle, cutting.depth)
    found = TreeFigures(solutions, orbits, classes, nodes, cutting.chunks, len(records), seconds)
    return replace(store.state, depth=cutting.depth, digest="", figures=found.as_dict())


def found_solutions(store: RunStore, puzzle: Placements) -> Iterator[Keys]:
    """Yield the least image of one solution of each orbit, in batches; increasing if the run is complete.

    For an unfinished run, yield the solutions of its finished chunks. Raises `UnanswerableError` if the run keeps none.
    """
    run = store.manifest.run
    if not puzzle.keeps:
        text = f"run {run} counted its solutions and kept none; only one with solutions=keep has them"
        raise UnanswerableError(text, Hint("give", "option", f"{KEEPING}=keep"))
    cutting = subtrees.read_cutting(store)
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
            subtrees.require_found(store, subtrees.read_chunk(store, chunk))
            yield from store.blocks(chunk, database=FOUND)
