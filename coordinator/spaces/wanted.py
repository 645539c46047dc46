"""Selects the components of a whole space to measure: ``all``, ``largest=K``, ``below=N`` or ``none``.

With ``none`` the configurations are listed, and their components are not found.
"""

import numpy as np

from hakoiri.puzzles.errors import PuzzleError
from hakoiri.worker.spaces.slabs import Sizes

DIAMETERS = "diameters"
ALL, NONE = "all", "none"


def check_wanted(text: str) -> None:
    """Raise `PuzzleError` unless `text` is a valid selection."""
    kind, _, number = text.partition("=")
    if text not in (ALL, NONE) and not (kind in ("largest", "below") and number.isdecimal()):
        raise PuzzleError(f"diameters {text!r} is malformed; expected {ALL}, {NONE}, largest=K or below=N")


def wanted_of(text: str, sizes: Sizes) -> range:
    """Return the selected components; `sizes` are those of all, the largest first."""
    kind, _, number = text.partition("=")
    if kind == "largest":
        return range(min(int(number), len(sizes)))
    begin = int(np.searchsorted(-sizes, -int(number), "right")) if kind == "below" else 0
    return range(begin, len(sizes))
