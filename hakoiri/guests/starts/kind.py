"""The kind `starts`: a search from each start of a list."""

from dataclasses import dataclass
from typing import Any

from hakoiri.coordinator.session.kind import ExploreKind, RunKind
from hakoiri.guests.parameters import cap_of
from hakoiri.parameters import given


@dataclass(frozen=True)
class StartsKind(RunKind):
    """Search from every start of a file.

    Reports the fewest moves to the goal, what the start reaches, and the moves of the hardest configuration there.
    Lines such as "60 BOARD 2332" of collections of Rush Hour are read, too. Comments begin with a semicolon. If
    interrupted, run the same command again to continue.
    """

    job = "hakoiri.guests.starts.job:StudyStarts"
    in_form = False
    example = "study starts boards.txt -o axis=rows-and-columns -o metric=straight"
    takes, files = ("file", "--puzzle", "options", "goal"), ("csv",)
    csv = ("Write a row per start: .csv or .parquet.", "starts")
    misfit, instead = ExploreKind.misfit, ExploreKind.instead
    starts: str = given("A text with one start in each line, perhaps after its name.", "", plan=False)
    cap: int = cap_of("Give up a start after this many: 500k, 10M.", 1_000_000, "1M")

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        return ExploreKind.fits(puzzle)
