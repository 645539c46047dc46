"""The structure of a puzzle whose parts are turned: stickers by number, the places of its pieces, and turns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain, combinations, permutations

#: The stickers of a piece's place, clockwise.
Place = tuple[int, ...]
#: For each sticker the one whose colour it takes.
Turn = tuple[int, ...]


@dataclass(frozen=True)
class Pieces:
    """The faces in the order of their rows, and the places by name, a noun first: ``"corner URF"``.

    The pieces of `exchanged` places go from one to another; those of `pivots` twist where they are; those of `still`
    places never move. `even`: only even permutations of the exchanged pieces can be reached.
    """

    faces: str
    exchanged: Mapping[str, Place]
    pivots: Mapping[str, Place] = field(default_factory=dict)
    still: Mapping[str, Place] = field(default_factory=dict)
    even: bool = False

    @property
    def moving(self) -> dict[str, Place]:
        return {**self.exchanged, **self.pivots}

    @property
    def row(self) -> int:
        return sum(map(len, chain(self.moving.values(), self.still.values()))) // len(self.faces)

    @property
    def dependent(self) -> int:
        """The moving place whose twist follows from the others: those of all exchanged places add up to full turns."""
        return len(self.exchanged) - 1

    @property
    def orders(self) -> list[tuple[int, ...]]:
        """Return every possible order of the pieces in the exchanged places, in lexicographic order."""
        found = permutations(range(len(self.exchanged)))
        return [order for order in found if not self.even or _is_even(order)]


def turned_then(first: Turn, second: Turn) -> Turn:
    """The turn that is `first`, then `second`."""
    return tuple(first[sticker] for sticker in second)


def _is_even(order: tuple[int, ...]) -> bool:
    return sum(one > other for one, other in combinations(order, 2)) % 2 == 0
