"""Gap: cards of four suits, their aces set to the left, and each gap takes the successor of the card to its left.

Source: Ishihata, "Tranpu no hitori asobi" (Joho Shori 45, 2004), on problem F of the Aizu contest of 2003. A deal has
four rows of R cards, a suit 1-4 and a rank 1-9 T J Q K each: ``42 21 13 22 32 26 23/16 43 47 ...``. A position has one
more column, that of the aces, and ``..`` for its gaps: ``11 42 .. 13 22 32 26 23/...``.
"""

from hakoiri.puzzles.errors import ConfigurationError
from hakoiri.puzzles.keys.layout import Key
from hakoiri.puzzles.options import Number
from hakoiri.puzzles.solitaires.cards import BLANK, MOST_COLUMNS, NUMBERED, SUITS, Card, check_shape, grown, parse_cards
from hakoiri.puzzles.solitaires.solitaire import Solitaire


class Gap(Solitaire):
    """Each gap takes the card that follows its left neighbour, which leaves a gap in turn.

    The aces of a deal go to the left end, suit by suit, and leave the four gaps; that is no move. Nothing follows a gap
    or the highest rank. The goal is each suit in order in its row. No position can come back.
    """

    name = "gap"
    summary = "Gap (contest problem, 2003): cards of four suits into gaps"
    goal_summary = "each suit in order in its row"
    options = {"ranks": Number(7, 3, MOST_COLUMNS)}
    deck = NUMBERED
    any_ace = False
    size_option = "ranks"
    walker = "cards"
    orders = ("bfs", "dfs", "longest", "tree")
    until = "exhausted"
    hunted = grows = True

    @property
    def goals(self) -> list[Key]:
        return [
            self.placing.pack([suit * self.columns + rank for suit in range(SUITS) for rank in range(self.suit_size)])
        ]

    def places_of(self, deal: list[Card]) -> list[int]:
        """An ace's place becomes a gap. Column 0 of the rules, that of the aces, is not part of the field."""
        cell_of = {card: cell for cell, card in enumerate(deal)}
        return [cell_of[suit * self.columns + rank] for suit in range(SUITS) for rank in range(1, self.columns)]

    def grown(self, deal: str, word: int) -> str:
        """Return a deal of one rank more: the new cards are in a new last column."""
        return self.sized(self.size + 1).text_of_deal(grown(self.parse_deal(deal), word))

    def describe_move(self, before: Key, after: Key) -> str:
        """The card that moves, e.g. ``"36"``: only one gap can take it."""
        return self.word(self.move_between(before, after)[0])

    def _drawn_row(self, row: int, words: list[str]) -> list[str]:
        return [self.deck.word(row * self.columns, self.columns), *super()._drawn_row(row, words)]

    def _parse_position(self, rows: list[list[str]]) -> list[int]:
        check_shape(rows, self.columns + 1, f"a position of {self.size_option}={self.columns}")
        aces = [suit * self.columns for suit in range(SUITS)]
        for row, ace in zip(rows, aces, strict=True):
            if row[0] != self.deck.word(ace, self.columns):
                raise ConfigurationError(
                    f"row {rows.index(row) + 1} begins with {row[0]}; in a position (with {BLANK}) it must begin with "
                    f"{self.deck.word(ace, self.columns)}"
                )
        wanted = range(SUITS * self.columns)
        found = parse_cards(rows, self.deck, self.columns, wanted, SUITS)
        width = self.columns + 1
        cell_of = {card: index // width * self.columns + index % width - 1 for index, card in enumerate(found)}
        return [cell_of[card] for card in wanted if card % self.columns]

    def word(self, card: int) -> str:
        suit, rank = divmod(card, self.suit_size)
        return self.deck.word(suit * self.columns + rank + 1, self.columns)
