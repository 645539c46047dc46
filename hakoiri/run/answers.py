"""Types of the answers that guests give: the functions for them are named as text (`hakoiri.api`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hakoiri.keys.layout import Key


class Play(NamedTuple):
    """A play: its score, its number of moves, and the moves as text (`Scored.write_play` of its puzzle).

    If it is `proved` to be the best, `path` holds its configurations from the start on.
    """

    score: int
    moves: int
    sequence: str
    proved: bool
    path: list[Key]

    def row(self) -> dict[str, Any]:
        return {"score": self.score, "moves": self.moves, "sequence": self.sequence}

    def counts(self) -> Mapping[str, int]:
        """Return what a verification counts."""
        return {"moves of the best play": self.moves}


@dataclass(frozen=True)
class Statistics:
    """Figures of a board, of its shortest solutions, and of its space.

    The goal is `moves` away, and `solutions` counts the shortest solutions. The steps of the first of them have
    `branching` moves on average. `good` is the share of moves that bring the goal nearer, by step. `forced` counts the
    steps whose only move, besides the one that takes back the last, is good. `idle` are the letters of pieces that some
    shortest solution does not move, ``None`` for a puzzle without pieces. `dead_ends` counts those of all `positions`
    that have one move and are not goals.
    """

    moves: int
    solutions: int
    forced: int
    branching: float
    good: list[float]
    idle: str | None
    positions: int
    dead_ends: int
