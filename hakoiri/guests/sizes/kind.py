"""The kind `sizes`: a puzzle, size by size."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hakoiri.coordinator.session.kind import RunKind
from hakoiri.parameters import parameter


@dataclass(frozen=True)
class SizesKind(RunKind):
    """Explore a puzzle size by size.

    Reports layers, depth, diameter, radius and diametral pairs of each size. If interrupted, run the same command again
    to continue. Other --sizes add to the study.
    """

    job = "hakoiri.guests.sizes.job:StudySizes"
    in_form = False
    example = "study sizes tiles --sizes 4..8"
    puzzle = "tiles, topspin, pancakes, burnt-pancakes, hanoi, or FILE.py:NAME for your own with sizes."
    fields_first, files = True, ("b_files",)
    note, misfit = "study sizes", "the sizes of {} cannot be studied; puzzles that can: {}"
    sizes: Sequence[int] = parameter(
        "--sizes", "SIZES", "Cells of tiles, discs of hanoi, n of others: 3..10, 6 or 4,6,8.", default=(),
        required=True, read="sizes", limit=True,
    )  # fmt: skip

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        return hasattr(puzzle, "size_options")
