"""Superpuzz: all cards are dealt, the highest rank is taken away, and each hole takes what follows its left neighbour.

Source: Shintani, "Verbosity of Movement by Depth-first Search on Superpuzz" (IPSJ). A card is a suit H D S C and a rank
A 2-9 0 J Q K. With k columns the ranks are the first k, and those of rank k, the kings of a full deck, make the holes.
A deal is written with them, ``D2 S2 H4 H3 D6 H5/C2 H2 ...``; a position has ``..`` for its holes.
"""

from collections.abc import Mapping
from itertools import pairwise, permutations

from hakoiri.puzzles.capabilities import Convention
from hakoiri.puzzles.keys.layout import Key
from hakoiri.puzzles.options import Choice, Number
from hakoiri.puzzles.solitaires.cards import (
    BLANK,
    LETTERED,
    MOST_COLUMNS,
    SUITS,
    Card,
    check_shape,
    parse_cards,
    rows_of,
)
from hakoiri.puzzles.solitaires.solitaire import Solitaire


class Superpuzz(Solitaire):
    """Each hole takes the card that follows its left neighbour; at the left end any ace, also from another left end.

    The cards of the highest rank are taken out of a deal and leave the four holes. Nothing follows a hole or the
    next to highest rank. The goal is each suit in order in a row: in any order of the suits (goals=24), or in the order
    H D S C (goals=1).
    """

    name = "superpuzz"
    summary = "Superpuzz: cards of four suits into the holes of the highest rank"
    goal_summary = "each suit in order in a row"
    options = {"columns": Number(6, 3, MOST_COLUMNS), "goals": Choice(("24", "1"))}
    deck = LETTERED
    any_ace = True
    size_option = "columns"
    until = "both"
    goal_names = {"first": "24 goals, the suits in any order", "fixed": "one goal, the suits in the order H D S C"}
    shortens = True
    words_of_move = 2

    @property
    def convention(self) -> Convention:
        return "fixed" if self.parameters["goals"] == "1" else "first"

    @property
    def goals(self) -> list[Key]:
        rows_of_suits = list(permutations(range(SUITS)))
        chosen = rows_of_suits if self.parameters["goals"] == "24" else rows_of_suits[:1]
        return [
            self.placing.pack(
                [rows[suit] * self.columns + rank for suit in range(SUITS) for rank in range(self.suit_size)]
            )
            for rows in chosen
        ]

    def places_of(self, deal: list[Card]) -> list[int]:
        """A card of the highest rank makes its place a hole."""
        cell_of = {card: cell for cell, card in enumerate(deal)}
        return [cell_of[suit * self.columns + rank] for suit in range(SUITS) for rank in range(self.suit_size)]

    def describe_move(self, before: Key, after: Key) -> str:
        """As the paper writes it, a card and a hole that change places, the later of the two first: ``"(D6, H4)"``.

        A position does not know which hole is which: they are ``..`` here, and named by `describe_moves`.
        """
        return self._exchange(before, after, {})

    def describe_moves(self, path: list[Key]) -> list[str]:
        """The moves of a path; from the start of a deal its holes are named by the cards that were there."""
        holes = self.named_holes() if path and path[0] == self.start else {}
        moves = []
        for before, after in pairwise(path):
            moves.append(self._exchange(before, after, holes))
            _, source, target = self.move_between(before, after)
            if target in holes:
                holes[source] = holes.pop(target)
        return moves

    def named_holes(self) -> dict[int, str]:
        """The holes of a deal have the names of the cards that were there."""
        words = [] if self.deal is None else [word for row in rows_of(self.deal) for word in row]
        highest = self.deck.ranks[self.suit_size]
        return {cell: word for cell, word in enumerate(words) if word[1] == highest}

    def _exchange(self, before: Key, after: Key, holes: Mapping[int, str]) -> str:
        card, source, target = self.move_between(before, after)
        pair = {source: self.word(card), target: holes.get(target, BLANK)}
        return f"({pair[max(pair)]}, {pair[min(pair)]})"

    def _parse_position(self, rows: list[list[str]]) -> list[int]:
        check_shape(rows, self.columns, f"a position of {self.size_option}={self.columns}")
        wanted = [card for card in range(SUITS * self.columns) if card % self.columns < self.suit_size]
        cell_of = {card: cell for cell, card in enumerate(parse_cards(rows, self.deck, self.columns, wanted, SUITS))}
        return [cell_of[card] for card in wanted]

    def word(self, card: int) -> str:
        suit, rank = divmod(card, self.suit_size)
        return self.deck.word(suit * self.columns + rank, self.columns)
