"""The kind ``optimise``: the play of a board with the highest score."""

from dataclasses import dataclass
from typing import Any

from hakoiri.coordinator.session.kind import RunKind
from hakoiri.guests.parameters import seed_of, time_of
from hakoiri.parameters import flag, parameter

#: The strategy that every scored puzzle has; its other strategies are in `Scored.games`.
BEAM = "beam"
#: The price of a lost point, in points.
PRICE = 0.5


@dataclass(frozen=True)
class OptimiseKind(RunKind):
    """Look for the play with the highest score.

    The best play so far is always on disk. Run the same command again to continue.
    """

    job = "hakoiri.guests.nakuron.optimise:Optimise"
    example, words = "optimise nakuron --from board.txt --time 5m", 1
    puzzle, takes = "nakuron, or FILE.py:NAME for your own with moves that score.", ("options", "board")
    note, misfit = "moves score", "{} has no scored moves; puzzles with scores: {}"
    seconds: float = time_of(10, 300.0, "5m")
    width: int | None = parameter(
        "--width", "W", "Width of the beam: boards kept per layer.", "fitted to the time", min=1
    )
    strategy: str = parameter(
        "--strategy", "NAME", "One of cycle, random, greedy, two-step, sample, beam.", default=BEAM
    )
    seed: int = seed_of("the search")
    price: float = parameter(
        "--price", "P", "Points that a beam deducts for each lost ball.", default=PRICE, min=0.0, plan="changed"
    )
    rising: bool = flag("--rising", "Raise the price from 0.7 P to 1.2 P as the box empties.", plan="changed")
    rounds: int | None = parameter(
        "--rounds", "N", "Stop after N beams or games, not by time. Reproducible.", min=1, limit=True
    )

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        from hakoiri.guests.nakuron.scored import Scored

        return issubclass(puzzle, Scored)
