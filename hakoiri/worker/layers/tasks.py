"""Tasks of a search by layers: a chunk of a frontier -> its distinct successors by range (`worker.tasks`)."""

from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.layers.ranges import expand_chunk
from hakoiri.worker.layers.rules import goals_only, leading, predecessors
from hakoiri.worker.transport.payload import Array, Arrays

#: Where an answer has the time that it took.
_SECONDS = 2


def expand(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys], shared [the cuts of a partition, `chunk_plan`] -> `ExpandedChunk`: their distinct successors by range."""
    (keys,), (cuts, plan) = chunk, shared
    return expand_chunk(puzzle, keys, cuts, plan)


def goals(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """As `expand`, the goals among the keys."""
    return expand(goals_only(puzzle), chunk, shared)


def leads(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """As `expand`, the keys with a successor among the last array shared, which increases."""
    return expand(leading(puzzle, lambda: shared[-1:]), chunk, shared[:-1])


def before(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """As `expand`, the predecessors that pass a Bloom filter, shared last."""
    return expand(predecessors(puzzle, shared[-1]), chunk, shared[:-1])


def untimed(answer: Arrays) -> list[Array]:
    """Return an answer without the time that it took."""
    return [answer[0][:_SECONDS], *answer[1:]]
