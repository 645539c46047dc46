"""Searches from one start in memory: the layers, the fewest moves, and the hardest configuration."""

from dataclasses import dataclass

import numpy as np

from hakoiri.puzzles.capabilities import Family
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import key_at
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.worker.deals.solving import layers_from


@dataclass(frozen=True)
class StartRequest:
    """A start as text, its goal if the puzzle is a `Family`, and the most configurations to search."""

    start: str
    goal: str
    cap: int


@dataclass(frozen=True)
class StartFigures:
    """The sizes of the layers found, all of them if `exhausted`; the fewest `moves` to a goal, ``None`` without one.

    `hardest` is the least configuration farthest from a goal among those that the start reaches, `hardest_moves` its
    distance; ``None`` without a goal, where the cap ended the search, or where moves cannot be taken back.
    """

    layers: list[int]
    exhausted: bool
    moves: int | None
    hardest_moves: int | None = None
    hardest: str | None = None

    @property
    def configurations(self) -> int:
        return sum(self.layers)


def puzzle_from(puzzle: Puzzle, start: str, goal: str) -> Puzzle:
    """Return the puzzle of another start, which may decide its rules."""
    return puzzle.member(start, goal) if isinstance(puzzle, Family) else type(puzzle)(puzzle.parameters, start)


def measure(puzzle: Puzzle, asked: StartRequest) -> StartFigures:
    """Search from a start breadth first; then, if all moves can be taken back, from all goals that it reaches."""
    puzzle = puzzle_from(puzzle, asked.start, asked.goal)
    layers, exhausted = layers_from(puzzle, puzzle.keys([puzzle.start]), asked.cap + 1)
    goals = [layer[puzzle.is_goal(layer)] for layer in layers]
    moves = next((depth for depth, found in enumerate(goals) if len(found)), None)
    figures = [len(layer) for layer in layers], exhausted, moves
    if moves is None or not (exhausted and puzzle.undirected):
        return StartFigures(*figures)
    away, _ = layers_from(puzzle, sort_keys(np.concatenate(goals)), asked.cap + 1)
    return StartFigures(*figures, len(away) - 1, puzzle.render(key_at(away[-1], 0)))
