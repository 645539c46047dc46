"""The figures of a tree and its division into chunks, shared by search and verification."""

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
    """The counts of a tree (`puzzles.capabilities.SubtreeCounts`), its chunks, and their processor seconds.

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
        """Return the fields, with the solutions also as the configurations of other runs."""
        return super().as_dict() | {"configurations": self.solutions}


def shuffled(count: int) -> np.ndarray:
    """Return the numbers below `count` in the order in which prefixes are taken: that of as many random numbers.

    It is the same on every machine and in every session, and unrelated to the order of the keys.
    """
    return np.argsort(first_words(count), kind="stable")


def chunk_roots(store: RunStore, cutting: Cutting) -> list[Keys]:
    """Return the prefixes of each chunk."""
    keys = store.layer(cutting.depth)[shuffled(cutting.prefixes)]
    return [keys[begin : begin + cutting.chunk] for begin in range(0, cutting.prefixes, cutting.chunk)]


def prefix_nodes(store: RunStore, puzzle: Placements, depth: int) -> int:
    """Return the number of nodes in the layers of prefixes."""
    return sum(store.layer_record(level).size * puzzle.numbers_placed(level) for level in range(1, depth + 1))


def tree_digest(solutions: int, orbits: int, classes: int, lanes: Lanes) -> str:
    """Return the digest of a finished run: of its counts and one solution of each orbit, for any strategy."""
    return chain([str(solutions), str(orbits), str(classes), digest_text(lanes)])
