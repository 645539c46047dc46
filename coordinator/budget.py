"""How much memory a run may use, and how it cuts its layers to keep to that."""

from dataclasses import dataclass

from coordinator.errors import OverBudgetError
from puzzles.contract import Puzzle
from puzzles.keys import Keys

#: Below this many configurations a round trip to a worker costs more than the work (design measurement).
FARM_FROM = 50_000
_LEAST_CHUNK, _MOST_CHUNK = 4_096, 1 << 20
#: Chunks per worker in a layer: enough that one slow chunk does not hold up the layer.
_CHUNKS_PER_WORKER = 4


@dataclass(frozen=True)
class Budget:
    """`memory` in bytes for the layers in hand; `chunk` and `farm_from` in configurations.

    ``chunk=None`` fits the chunks to layer, workers and memory. Layers smaller than `farm_from` are expanded where the
    layers are; giving a chunk size without it means that every layer larger than a chunk is farmed.
    """

    memory: int
    chunk: int | None = None
    farm_from: int | None = None

    def farms(self, configurations: int) -> bool:
        """Whether so many configurations are worth cutting into chunks."""
        if self.farm_from is not None:
            return configurations >= self.farm_from
        return configurations > self.chunk if self.chunk is not None else configurations >= FARM_FROM

    def chunk_size(self, configurations: int, workers: int, puzzle: Puzzle) -> int:
        """Configurations per chunk for a layer of so many, with so many workers."""
        if self.chunk is not None:
            return self.chunk
        wanted = -(-configurations // (_CHUNKS_PER_WORKER * workers))
        # A chunk in work holds its successors twice; two chunks per worker are in flight within half of the memory.
        fitting = self.memory // (8 * workers * puzzle.most_successors * puzzle.dtype.itemsize)
        return max(1, min(max(wanted, _LEAST_CHUNK), _MOST_CHUNK, fitting))

    def require(self, what: str, needed: int) -> None:
        """Raise `OverBudgetError` if `what` needs more bytes than allowed."""
        if needed > self.memory:
            raise OverBudgetError(
                f"{what} needs {needed:,} bytes of memory, --memory allows {self.memory:,}; "
                f"resume with --memory {(needed * 5 // 4 >> 20) + 1}MB"
            )


def bytes_of(*batches: Keys) -> int:
    """What some batches take."""
    return sum(batch.nbytes for batch in batches)
