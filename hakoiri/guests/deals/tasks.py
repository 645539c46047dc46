"""Tasks of searching, solved and hunted for by the solver and the walker that the puzzle names (`worker.tasks`)."""

from collections.abc import Callable
from dataclasses import replace

from hakoiri.guests.deals import hunting as hunting_cards
from hakoiri.guests.deals import searching
from hakoiri.guests.deals import solving as solving_cards
from hakoiri.guests.deals.dealt import Dealt
from hakoiri.storage.results import DealFigures
from hakoiri.worker.tasks import do_task, measured
from hakoiri.worker.transport.payload import Arrays, packed, unpacked

#: The values of `guests.deals.dealt.Dealt.solver`, and of `walker`.
SOLVERS = {"layers": searching, "cards": solving_cards}
_WALKERS = {"deals": searching, "cards": hunting_cards}

solve = measured(Dealt, searching.SolveRequest, lambda puzzle, deal: SOLVERS[puzzle.solver].solve(*deal.of(puzzle)))
hunt = measured(Dealt, searching.Leg, lambda puzzle, leg: _WALKERS[puzzle.walker].walk(puzzle, leg))


def untimed(answer: Arrays) -> Arrays:
    """Return an answer to ``solve`` without the time that it took."""
    return packed(replace(unpacked(answer, searching.SolveResult), seconds=0.0))


def figures_apart(puzzle: Dealt, deal: str) -> Callable[[int], DealFigures]:
    """Return the function that finds the figures of the start in memory (`puzzles.contract.Puzzle.figures_apart`)."""
    puzzle.tidy_deal(deal)
    return lambda most: (
        solved(puzzle, searching.SolveRequest.made(puzzle, puzzle.start, "bfs", "exhausted", most)).figures
    )


def solved(puzzle: Dealt, asked: searching.SolveRequest) -> searching.SolveResult:
    """Return the result of task ``solve``, done in this process. Raises as `guarded` does."""
    return unpacked(do_task("solve", puzzle, packed(asked), ()), searching.SolveResult)
