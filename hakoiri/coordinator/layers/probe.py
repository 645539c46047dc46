"""Probes: short searches in memory that find what a run would find and need, before it is created."""

import math
import time
from itertools import chain
from typing import NamedTuple

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.puzzles.capabilities import Placements
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.kernels import merge, split

#: Limits of a probe. A puzzle in plain Python expands some ten thousand configurations a second.
MOST_CONFIGURATIONS, MOST_SECONDS = 200_000, 1.0
#: Configurations expanded between two looks at the clock, by a kernel and in plain Python.
_BLOCK, _PLAIN_BLOCK = 4_096, 64


class Probe(NamedTuple):
    """The figures of a probe.

    `configurations` were found, in layers up to `depth`. They are all that the start reaches if `exhausted`; otherwise
    a limit ended the search, and `total` is the number of all if the puzzle knows it. `goal_depth` is the fewest moves
    to a goal, ``None`` if no goal was found. `spent` are the seconds of the search, `share` is the mean size of a
    configuration on disk in bytes, in the largest layer.
    """

    configurations: int
    depth: Depth
    goal_depth: Depth | None
    exhausted: bool
    total: int | None
    spent: float
    share: float

    @property
    def expected(self) -> int | None:
        """The number of all configurations that the start reaches; ``None`` if it is unknown."""
        return self.configurations if self.exhausted else self.total

    @property
    def seconds(self) -> float | None:
        """The seconds that a search for all takes by one thread, at this pace; ``None`` if unknown."""
        return None if self.expected is None else self.expected * self.spent / self.configurations

    @property
    def stored_bytes(self) -> int | None:
        """The size of all on disk; ``None`` if unknown."""
        return None if self.expected is None else math.ceil(self.expected * self.share)


def probe(puzzle: Puzzle, most: int = MOST_CONFIGURATIONS, seconds: float = MOST_SECONDS) -> Probe:
    """Search from the start until all layers, `most` configurations or `seconds` are exceeded.

    Raises `UnanswerableError` for a tree, which has no moves.
    """
    if isinstance(puzzle, Placements):
        text = f"{puzzle.name} is a tree, so it has no moves to search by; a run counts its solutions"
        raise UnanswerableError(text, Hint("run", puzzle.name))
    layers = [puzzle.keys([puzzle.start])]
    # Loads the kernels, or compiles them, before the clock starts.
    _following(puzzle, layers, math.inf)
    began, configurations, goal_depth = time.monotonic(), 0, None
    following: Keys | None = layers[0]
    while following is not None and len(following):
        configurations += len(following)
        if goal_depth is None and puzzle.is_goal(following).any():
            goal_depth = len(layers) - 1
        following = _following(puzzle, layers, began + seconds) if configurations <= most else None
        if following is not None and len(following):
            layers.append(following)
    spent, largest, exhausted = time.monotonic() - began, max(layers, key=len), following is not None
    share = int(code_keys(0, largest).lengths.sum()) / len(largest)
    return Probe(configurations, len(layers) - 1, goal_depth, exhausted, puzzle.total, spent, share)


def probe_whole(puzzle: Puzzle, seconds: float = MOST_SECONDS) -> Probe:
    """List the whole space and expand it for some seconds; `PuzzleError` if the puzzle cannot list it."""
    blocks = puzzle.configurations()
    first = next(blocks)
    # Loads the kernels, or compiles them, before the clock starts.
    puzzle.expand(first[:1])
    began, configurations, exhausted = time.monotonic(), 0, True
    for part in (part for block in chain([first], blocks) for part in split(block, _BLOCK)):
        if not (exhausted := time.monotonic() < began + seconds):
            break
        puzzle.expand(part)
        configurations += len(part)
    share = int(code_keys(0, first).lengths.sum()) / len(first)
    return Probe(configurations, 0, None, exhausted, puzzle.total, time.monotonic() - began, share)


def _following(puzzle: Puzzle, layers: list[Keys], until: float) -> Keys | None:
    """Return the layer after the last of `layers`; ``None`` if the clock passes `until` first."""
    # A move of an undirected puzzle leads back no farther than to the layer before.
    known, found = layers[-2:] if puzzle.undirected else layers, []
    for block in split(layers[-1], _BLOCK if puzzle.has_kernel else _PLAIN_BLOCK):
        if time.monotonic() > until:
            return None
        found.append(merge([puzzle.expand(block).successors], known))
    return merge(found, [])
