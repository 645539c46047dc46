"""The chunks of a tree in the store of its run: the division into chunks, and the counts below each.

``meta``/``cutting``   record: `Cutting`
``chunks``             record per finished chunk: `ChunkRecord`
``found``              blocks by chunk, as ``blocks`` are by layer: its solutions, if the run keeps them; deleted when
                       they have become the layer after the prefixes
"""

from dataclasses import asdict, dataclass

from hakoiri.storage.layers.blocks import Lanes
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import CHUNKS, CUTTING_KEY, FOUND, META, number_key


@dataclass(frozen=True)
class Cutting:
    """The division of a tree: the `prefixes` keys of layer `depth`, in shuffled order, `chunk` keys to a chunk.

    The last chunk may have fewer.
    """

    depth: Depth
    prefixes: int
    chunk: int

    @property
    def chunks(self) -> int:
        return -(-self.prefixes // self.chunk)


@dataclass(frozen=True)
class ChunkRecord:
    """The result of the subtrees of one chunk (`SubtreeCounts`), and the processor time taken, in microseconds.

    `lane_0` and `lane_1` make the digest of the solutions found. `kept` of them are stored, in blocks whose names have
    the CRC-32 `index`. `session` is the number of the session that computed the chunk.
    """

    chunk: int
    prefixes: int
    solutions: int
    orbits: int
    classes: int
    nodes: int
    lane_0: int
    lane_1: int
    kept: int
    index: int
    microseconds: int
    session: int

    @property
    def result(self) -> tuple[int, ...]:
        """The fields that every computation of the chunk must reproduce."""
        return self.solutions, self.orbits, self.classes, self.nodes, *self.lanes

    @property
    def lanes(self) -> Lanes:
        return self.lane_0, self.lane_1


def read_cutting(ledger: Ledger) -> Cutting | None:
    """Return the division of the subtrees into chunks, or ``None`` if it is not decided yet."""
    return ledger.read_if_any(Cutting, META, CUTTING_KEY, "cutting into chunks")


def stage_cutting(ledger: Ledger, cutting: Cutting) -> None:
    """Stage a division into chunks for the next commit."""
    ledger.stage_record(META, CUTTING_KEY, asdict(cutting))


def stage_chunk(store: RunStore, record: ChunkRecord) -> None:
    """Keep the record of a chunk for the next commit; its solutions are staged beside it."""
    store.stage_record(CHUNKS, number_key(record.chunk), asdict(record))


def finished_chunks(ledger: Ledger) -> list[int]:
    """The numbers of the chunks that have a record, in order; the records are not read."""
    return [int.from_bytes(name, "big") for name in ledger.names(CHUNKS)]


def read_chunk(ledger: Ledger, chunk: int) -> ChunkRecord:
    """The record of a finished chunk; `DamagedError` that names the chunk if it is missing or broken."""
    record = ledger.read_as(ChunkRecord, CHUNKS, number_key(chunk), f"record of chunk {chunk}")
    if record.chunk != chunk:
        raise ledger.damaged(f"the record of chunk {chunk} belongs to chunk {record.chunk}")
    return record


def read_chunks(ledger: Ledger) -> dict[int, ChunkRecord]:
    """The records of all finished chunks by number, in order; `DamagedError` names one that is broken."""
    return {chunk: read_chunk(ledger, chunk) for chunk in finished_chunks(ledger)}


def require_found(store: RunStore, record: ChunkRecord) -> None:
    """Raise `DamagedError`, naming the chunk, unless the blocks of its solutions are those of its record."""
    store.require_names(record.chunk, record.index, f"what chunk {record.chunk} found", FOUND)
