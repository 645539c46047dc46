"""What the run of a tree adds to its store: how its subtrees are cut into chunks, and what each chunk gave.

``meta``/``cutting``   record: `Cutting`
``chunks``             record per finished chunk: `ChunkRecord`
``found``              blocks by chunk, as ``blocks`` are by layer: the solutions that it found, where the run keeps
                       them; gone when they have become the layer after the prefixes
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import Depth, known_fields
from hakoiri.storage.names import CHUNKS, CUTTING_KEY, FOUND, META, number_key


@dataclass(frozen=True)
class Cutting:
    """Layer `depth` has `prefixes` keys; in shuffled order they make chunks of `chunk` keys each, the last of fewer."""

    depth: Depth
    prefixes: int
    chunk: int

    @property
    def chunks(self) -> int:
        return -(-self.prefixes // self.chunk)


@dataclass(frozen=True)
class ChunkRecord:
    """What the subtrees of one chunk gave (`SubtreeCounts`), and in how many microseconds of the processor.

    `lane_0` and `lane_1` make the digest of what was found, `kept` of which are stored, in blocks whose names have the
    CRC-32 `index`. `session` counts the processes that drove the run.
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
        """What any other computation of the chunk must give, too."""
        return self.solutions, self.orbits, self.classes, self.nodes, self.lane_0, self.lane_1

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "ChunkRecord":
        return cls(**known_fields(cls, fields))


def read_cutting(ledger: Ledger) -> Cutting | None:
    """How the subtrees are cut, once that is decided."""
    if ledger.read(META, CUTTING_KEY) is None:
        return None
    return Cutting(**known_fields(Cutting, ledger.read_record(META, CUTTING_KEY, "cutting into chunks")))


def stage_cutting(ledger: Ledger, cutting: Cutting) -> None:
    """Keep it for the next commit."""
    ledger.stage_record(META, CUTTING_KEY, asdict(cutting))


def stage_chunk(store: RunStore, record: ChunkRecord) -> None:
    """Keep the record of a chunk for the next commit; its solutions are staged beside it."""
    store.stage_record(CHUNKS, number_key(record.chunk), asdict(record))


def finished_chunks(ledger: Ledger) -> list[int]:
    """The numbers of the chunks that have a record, in order; the records are not read."""
    return [int.from_bytes(name, "big") for name in ledger.names(CHUNKS)]


def read_chunk(ledger: Ledger, chunk: int) -> ChunkRecord:
    """The record of a finished chunk; `DamagedError` that names the chunk if it is missing or broken."""
    record = ChunkRecord.from_dict(ledger.read_record(CHUNKS, number_key(chunk), f"record of chunk {chunk}"))
    if record.chunk != chunk:
        raise DamagedError(f"run {ledger.directory.name}: the record of chunk {chunk} is that of chunk {record.chunk}")
    return record


def read_chunks(ledger: Ledger) -> dict[int, ChunkRecord]:
    """The records of all finished chunks by number, in order; `DamagedError` names one that is broken."""
    return {chunk: read_chunk(ledger, chunk) for chunk in finished_chunks(ledger)}


def require_found(store: RunStore, record: ChunkRecord) -> None:
    """`DamagedError` that names the chunk unless the blocks of what it found are those of its record."""
    store.require_names(record.chunk, record.index, f"what chunk {record.chunk} found", FOUND)
