"""The kinds `boards` and `generate`: all boards of given pieces, and boards of a given difficulty."""

from dataclasses import dataclass
from typing import Any

from hakoiri.coordinator.session.kind import RunKind
from hakoiri.guests.parameters import cap_of, seed_of, time_of
from hakoiri.parameters import flag, given, parameter

#: The most moves of a generated board.
MOST_MOVES = 10_000


@dataclass(frozen=True)
class MixesKind(RunKind):
    """Measure all boards made of given pieces.

    Reports components and exact diameters for every mix of the pieces. If interrupted, run the same command again to
    continue.
    """

    job = "hakoiri.guests.boards.job:StudyBoards"
    in_form = False
    example = 'study boards --size 4x5 --pieces "2x2:1 2x1:* 1x2:* 1x1:*" --empty 2..'
    fields_first, files = True, ("csv",)
    csv = ("Write a row per component: .csv or .parquet.", "components")
    without = ("start", "goal", "distinct")
    note, misfit = "study boards", "{} is not a family of boards; expected {}"
    size: str = parameter(
        "--size", "CxR", "Columns x rows: 4x5; or rows with walls: ...#/....", default="", required=True
    )
    pieces: str = parameter(
        "--pieces", "PIECES", 'WIDTHxHEIGHT:COUNT or a drawing of each, * for any count: "2x2:1 2x1:* xx/x.:1..2".',
        default="", required=True,
    )  # fmt: skip
    empty: str = parameter("--empty", "N", "Number of empty cells: 2, 2.. or 2..4.", default="2")
    goal: str = parameter("--goal", "PIECE@R,C", "Report the start farthest from this goal: 2x2@4,2.", default="")
    pairs: bool = flag("--pairs", "Count all diametral pairs.")
    hardest: int = parameter(
        "--hardest", "K", "With --goal, draw the K hardest starts of all, up to symmetry.", default=0, min=0, max=100,
        plan="changed",
    )  # fmt: skip

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        from hakoiri.guests.deals.dealt import Family

        return issubclass(puzzle, Family)


@dataclass(frozen=True)
class BoardsKind(RunKind):
    """Find boards of a given difficulty.

    Searches the spaces of random boards for the boards farthest from the goal within --moves. The result depends on
    nothing but the options. Run the same command again to continue, or with more --boards.
    """

    job = "hakoiri.guests.boards.generate:GenerateBoards"
    example = 'generate sliding --size 6x6 --pieces "2x2:5 2x1:3 1x2:3 1x1:1" --goal 2x2@5,5 --moves 25..30'
    fields_first = True
    without, misfit = MixesKind.without, MixesKind.misfit
    size: str = parameter(
        "--size", "CxR", "Columns x rows: 6x6; or rows with walls: ....#/...../.....", default="", required=True,
        form="4x4",
    )  # fmt: skip
    pieces: str = parameter(
        "--pieces", "PIECES", 'WIDTHxHEIGHT:COUNT or a drawing of each: "2x2:1 2x1:1..3 xx/x.:*".', default="",
        required=True, form="2x2:1 2x1:2 1x2:2 1x1:2",
    )  # fmt: skip
    goal: str = parameter(
        "--goal", "PIECE@R,C", "Goal of every board: 2x2@5,5.",
        "the first piece at the lower edge, with -o axis at the right one", default="", form="2x2@3,3",
    )  # fmt: skip
    moves: str = parameter(
        "--moves", "N", "Fewest moves to the goal: 25..30, 25.. or 25.", default="", typed="1..", read="moves",
        plan=False,
    )  # fmt: skip
    least: int = given("Fewest moves to the goal, at least; instead of `moves`.", 1, form=15)
    most: int = given("Fewest moves to the goal, at most; instead of `moves`.", MOST_MOVES, form=30)
    empty: str = parameter("--empty", "N", "Number of empty cells: 2, 2.. or 2..4.", default="1..", form="1..")
    unique: bool = flag("--unique", "Only boards with a single shortest solution.", form=False)
    no_idle: bool = flag("--no-idle", "Only boards all of whose pieces have to move.", form=False)
    each: int = parameter("--each", "N", "Most boards of one space.", default=1, min=1, max=64)
    hunt: int = parameter(
        "--hunt", "N", "Vary each board found N times, in search of a harder one.", default=0, min=0, plan="changed",
        form=0,
    )  # fmt: skip
    boards: int = parameter("--boards", "N", "Number of boards in total.", default=20, min=1, limit=True, form=12)
    seconds: float = time_of(60)
    cap: int = cap_of("Skip spaces with more positions: 20k.", 20_000, "20k")
    seed: int = seed_of("the random boards")

    def bounds(self) -> tuple[int, int]:
        """Return the least and the greatest number of fewest moves."""
        if not self.moves:
            return self.least, self.most
        least, to, most = self.moves.partition("..")
        return int(least), int(most or MOST_MOVES) if to else int(least)

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        from hakoiri.guests.deals.dealt import Family

        return issubclass(puzzle, Family)
