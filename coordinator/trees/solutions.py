"""The solutions of a tree, as a run has them, and how its strategies compare."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from coordinator.errors import UnanswerableError
from coordinator.runs.catalogue import list_runs
from puzzles.keys.layout import Keys
from puzzles.registry import PuzzleSpec
from storage.layers.store import RunStore
from storage.ledger.manifest import Manifest
from storage.names import FOUND
from storage.results.subtrees import read_chunk, read_cutting, require_found

#: The options of a tree that change how it is searched and what is stored, but not its solutions.
STRATEGY, KEEPING = "strategy", "solutions"


def found_solutions(store: RunStore) -> Iterator[Keys]:
    """The least image of one solution of each orbit, batch by batch; in increasing order when the run is complete.

    Of a run that is not, what its chunks found up to now. Raises `UnanswerableError` if the run keeps none.
    """
    run = store.manifest.run
    if store.manifest.mode != "tree":
        raise UnanswerableError(f"run {run} is no tree and has no solutions to list; ask 'hakoiri path {run}'")
    if PuzzleSpec.from_dict(store.manifest.puzzle).options.get(KEEPING) != "keep":
        raise UnanswerableError(
            f"run {run} counted its solutions and kept none; run it again with -o {KEEPING}=keep, then ask that run"
        )
    cutting = read_cutting(store)
    if cutting is None:
        return
    if store.state.depth > cutting.depth:
        store.require_whole(store.state.depth)
        yield from store.blocks(store.state.depth)
        return
    for name in store.names(FOUND):
        # A chunk's blocks stand together; its record is looked at before the first of them.
        chunk = int.from_bytes(name[:4], "big")
        if name == store.names(FOUND, name[:4])[0]:
            require_found(store, read_chunk(store, chunk))
            yield from store.blocks(chunk, database=FOUND)


@dataclass(frozen=True)
class Strategy:
    """What one strategy needed: `processor` are the seconds of all chunks together, `seconds` those of the clock."""

    strategy: str
    run: str
    nodes: int
    processor: float
    seconds: float


def compared_strategies(data: Path, manifest: Manifest) -> list[Strategy]:
    """The latest complete run of each strategy for the same figure in `data`, the one with most nodes first."""
    latest: dict[str, Strategy] = {}
    for found in list_runs(data, PuzzleSpec.from_dict(manifest.puzzle).name):
        state = found.state
        if found.manifest and _figure(found.manifest) == _figure(manifest) and state.status == "complete":
            name = PuzzleSpec.from_dict(found.manifest.puzzle).options[STRATEGY]
            latest[name] = Strategy(name, found.run, state.nodes or 0, state.processor, state.seconds)
    return sorted(latest.values(), key=lambda each: -each.nodes)


def _figure(manifest: Manifest) -> tuple[str, dict[str, str]]:
    """Which tree it is, whatever way it is searched."""
    spec = PuzzleSpec.from_dict(manifest.puzzle)
    return spec.name, {name: value for name, value in spec.options.items() if name not in (STRATEGY, KEEPING)}
