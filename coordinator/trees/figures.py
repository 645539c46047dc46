"""What is counted of a tree, and how it is cut into chunks: alike for whoever searches it and whoever verifies it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hakoiri.puzzles.capabilities import Placements
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.keys.splitmix import first_words
from hakoiri.storage.layers.digest import Lanes, chain, digest_text
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Figures
from hakoiri.storage.results.subtrees import Cutting


@dataclass(frozen=True)
class TreeFigures(Figures):
    """What is counted of a tree (`puzzles.capabilities.SubtreeCounts`), in how many chunks and seconds of a processor.

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
        """With the name that the counts of all runs have."""
        return super().as_dict() | {"configurations": self.solutions}


def shuffled(count: int) -> np.ndarray:
    """The numbers below `count` in the order in which prefixes are taken: that of as many random numbers.

    The same on every machine and in every session, and unrelated to the order of the keys.
    """
    return np.argsort(first_words(count), kind="stable")


def chunk_roots(store: RunStore, cutting: Cutting) -> list[Keys]:
    """The prefixes of each chunk."""
    keys = store.layer(cutting.depth)[shuffled(cutting.prefixes)]
    return [keys[begin : begin + cutting.chunk] for begin in range(0, cutting.prefixes, cutting.chunk)]


def prefix_nodes(store: RunStore, puzzle: Placements, depth: int) -> int:
    """The nodes of the layers of prefixes."""
    return sum(store.layer_record(level).size * puzzle.numbers_placed(level) for level in range(1, depth + 1))


def tree_digest(solutions: int, orbits: int, classes: int, lanes: Lanes) -> str:
    """The digest of a finished run: of its counts and of one solution of each orbit, the same for every strategy."""
    return chain([str(solutions), str(orbits), str(classes), digest_text(lanes)])
