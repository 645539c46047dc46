"""The damaged parts of a tree, forgotten, so that they are computed again."""

from dataclasses import replace

from coordinator.session.session import Session
from coordinator.trees.search import Grown, prefix_nodes
from puzzles.capabilities import Placements
from storage.errors import DamagedError
from storage.layers.audit import check_layer
from storage.layers.store import RunStore
from storage.ledger.manifest import State
from storage.names import BLOCKS, CHUNKS, CUTTING_KEY, FOUND, LAYERS, META, number_key
from storage.results.subtrees import ChunkRecord, Cutting, finished_chunks, read_chunk, read_cutting, require_found


def forget_damaged_subtrees(session: Session, puzzle: Placements) -> None:
    """Forget broken chunks of a run; all of them where a layer or a sum is wrong. Durable on return."""
    store = session.store
    cutting = _sound_cutting(store)
    if cutting is None:
        session.observer.note("counting everything again")
        for database, prefix in ((BLOCKS, b""), (LAYERS, b""), (CHUNKS, b""), (FOUND, b""), (META, CUTTING_KEY)):
            store.erase(database, prefix)
        store.commit(replace(store.state, depth=-1, stored_bytes=0, digest="", figures=Grown().as_dict()))
        return
    records = _sound_records(store, cutting)
    broken = [chunk for chunk in finished_chunks(store) if chunk not in records]
    # What the chunks found is not with them any more once it has become a layer.
    merged = store.state.depth > cutting.depth
    solutions_are_broken = merged and list(check_layer(store, store.state.depth))
    if not broken and _sums(records) == _counted(store, puzzle, cutting) and not solutions_are_broken:
        return
    if merged or not broken:
        broken, records = finished_chunks(store), {}
    session.observer.note(f"counting {len(broken)} chunks again")
    for chunk in broken:
        store.erase(CHUNKS, number_key(chunk))
        store.erase(FOUND, number_key(chunk))
    store.erase(BLOCKS, number_key(cutting.depth + 1))
    store.erase(LAYERS, number_key(cutting.depth + 1))
    store.commit(_state_of(store, puzzle, cutting, records))


def _sound_cutting(store: RunStore) -> Cutting | None:
    """The cutting, if it and the layers of prefixes can be relied on."""
    try:
        cutting = read_cutting(store)
    except DamagedError:
        return None
    if cutting is None or any(list(check_layer(store, depth)) for depth in range(cutting.depth + 1)):
        return None
    return cutting if store.layer_record(cutting.depth).size == cutting.prefixes else None


def _sound_records(store: RunStore, cutting: Cutting) -> dict[int, ChunkRecord]:
    records = {}
    for chunk in finished_chunks(store):
        try:
            record = read_chunk(store, chunk)
            if store.state.depth == cutting.depth:
                require_found(store, record)
                list(store.blocks(chunk, database=FOUND))
        except DamagedError:
            continue
        records[chunk] = record
    return records


def _sums(records: dict[int, ChunkRecord]) -> tuple[int, ...]:
    each = [record.result[:4] for record in records.values()]
    return tuple(sum(values) for values in zip(*each, strict=True)) if each else (0, 0, 0, 0)


def _counted(store: RunStore, puzzle: Placements, cutting: Cutting) -> tuple[int, ...]:
    """The same sums by the state."""
    found, nodes = Grown.of(store.state), prefix_nodes(store, puzzle, cutting.depth)
    return found.solutions, found.orbits or 0, found.classes or 0, found.nodes - nodes


def _state_of(store: RunStore, puzzle: Placements, cutting: Cutting, records: dict[int, ChunkRecord]) -> State:
    solutions, orbits, classes, nodes = _sums(records)
    seconds = sum(record.microseconds for record in records.values()) / 1e6
    nodes += prefix_nodes(store, puzzle, cutting.depth)
    found = Grown(solutions, orbits, classes, nodes, cutting.chunks, len(records), seconds)
    return replace(store.state, depth=cutting.depth, digest="", figures=found.as_dict())
