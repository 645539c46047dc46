"""The puzzle `sliding`: sliding blocks whose boards are studied together, made to order and hunted for."""

from collections.abc import Iterator
from typing import Self

from hakoiri.guests.deals.dealt import Dealt, Family
from hakoiri.keys.layout import Keys
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.sliding_blocks.pieces import PlacedPiece, reflections
from hakoiri.puzzles.sliding_blocks.sliding import OPTIONS, SlidingBlocks

#: Changes that make a random board of the start; and how often a change is tried before the board is left as it is.
_CHANGES, _TRIES = 100, 200


class Sliding(SlidingBlocks, Dealt, Family):  # noqa: D101 - that of the rules
    __doc__ = SlidingBlocks.__doc__

    # As in the base: completion reads the source.
    options = OPTIONS
    hunted = True
    judged_together = True

    def member(self, start: str, goal: str = "") -> Self:
        return type(self)({**self.parameters, "goal": goal}, start)

    def images(self, keys: Keys) -> list[Keys]:
        """By reflections left to right and upside down, and by both."""
        return [self.image(keys, table) for table in reflections(self.pieces)]

    # Boards to be hunted among: all of the pieces of the start.

    def random_deal(self, seed: int, number: int) -> str:
        """The start after many changes (`varied`)."""
        words, standing = random_words((seed << 32) + number), self.unpack(self.start)
        for _ in range(_CHANGES):
            standing = self._changed(standing, words)
        return self.render(self.pack(standing))

    def varied(self, deal: str, word: int) -> str:
        """A piece is put elsewhere, or two pieces change places."""
        return self.render(self.pack(self._changed(self.unpack(self.parse(deal)), random_words(word))))

    def _changed(self, standing: list[PlacedPiece], words: Iterator[int]) -> list[PlacedPiece]:
        for _ in range(_TRIES):
            first, second = (standing[next(words) % len(standing)] for _ in range(2))
            moved = {first: PlacedPiece(first.kind, second.corner), second: PlacedPiece(second.kind, first.corner)}
            if next(words) % 2:
                places = list(self.pieces.kinds[first.kind].places)
                moved = {first: PlacedPiece(first.kind, places[next(words) % len(places)])}
            changed = [moved.get(piece, piece) for piece in standing]
            # For each piece in the goal one is on the line of its axis.
            reach = all(any(self.pieces.on_one_line(piece, wish) for piece in changed) for wish in self._aims)
            if reach and set(changed) != set(standing) and self.pieces.fit(changed):
                return changed
        return standing
