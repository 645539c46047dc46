"""The kinds `study` and `hunt`: many random deals, and the hardest ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hakoiri.coordinator.session.kind import RunKind
from hakoiri.guests.parameters import cap_of, seed_of, time_of
from hakoiri.parameters import flag, parameter
from hakoiri.puzzles.options import MOST_SEED

#: The most positions of a deal, unless the user wants others, and the deals that a hunt follows at once.
#: On two cores a smaller pool gets farther (measured: docs/how-to/hunt.md).
CAP, POOL = 10_000_000, 4


@dataclass(frozen=True)
class DealsKind(RunKind):
    """Solve many random deals and report statistics.

    If interrupted, run the same command again to continue. More --deals or other --sizes add to the study. All searches
    share --memory: less memory means fewer threads.
    """

    job = "hakoiri.guests.deals.job:StudyDeals"
    in_form = False
    example = "study deals superpuzz --sizes 4..6 --deals 1000 --seed 1"
    puzzle, takes = "gap, superpuzz, or FILE.py:NAME for your own with deals.", ()
    files, csv = ("csv", "plot"), ("Write a row per deal.", "")
    note, misfit = "study deals", "{!r} cannot be studied; puzzles that can: {}"
    sizes: Sequence[int] = parameter(
        "--sizes", "SIZES", "Ranks of gap, columns of superpuzz: 4..8, 6 or 4,6,8.", default=(), required=True,
        read="sizes", limit=True,
    )  # fmt: skip
    deals: int = parameter(
        "--deals", "N", "Number of deals of each size.", default=1_000, min=1, max=MOST_SEED, limit=True
    )  # fmt: skip
    seed: int = seed_of("the random deals")
    strategy: Literal["bfs", "dfs", "longest", "tree"] = parameter(
        "--strategy", "bfs|dfs", "Search breadth first or depth first.", default="bfs", read="text"
    )
    cap: int = cap_of("Give up a deal after this many positions: 500k, 10M.", CAP, "10M")
    shorten: bool = flag("--shorten", "Shorten each solution and compare it with a shortest one (superpuzz, dfs).")

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        from hakoiri.guests.deals.dealt import Dealt

        return issubclass(puzzle, Dealt) and bool(puzzle.size_option)


@dataclass(frozen=True)
class HuntKind(RunKind):
    """Look for the hardest deal by changing deals step by step.

    The hardest deal has the most positions, needs the most moves or goes deepest (--maximise). Run the same command
    again to continue. For gap, --from is the first deal. For sliding, --from gives the pieces, and all boards that
    moves connect count as one.
    """

    job = "hakoiri.guests.deals.hunt:HuntDeals"
    example, words = "hunt gap -o ranks=7 --maximise positions --time 10m", 1
    puzzle = "gap, sliding, or FILE.py:NAME for your own with deals that can be varied."
    takes, files = ("options", "start", "goal"), ("certificate",)
    misfit = "{} does not support hunts; puzzles that do: {}"
    objective: Literal["positions", "moves", "depth"] = parameter(
        "--maximise", "positions|moves|depth", "Figure to maximise.", default="positions", read="text"
    )
    seconds: float = time_of(30)
    seed: int = seed_of("the hunt")
    legs: int | None = parameter(
        "--legs", "N", "Stop after N legs in total, not by time. Reproducible.", min=1, limit=True
    )
    cap: int = cap_of("Skip deals with more positions: 500k, 10M.", CAP, "10M")
    pool: int = parameter(
        "--pool", "N", "Number of deals followed at once. Raise it for more workers.", default=POOL, min=1, max=256
    )
    near: bool = flag("--near", "Vary the board of --from itself, not random boards of its pieces.", plan="changed")

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        from hakoiri.guests.deals.dealt import Dealt

        return issubclass(puzzle, Dealt) and puzzle.hunted
