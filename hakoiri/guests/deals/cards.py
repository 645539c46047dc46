"""Cards on a field of four rows: their words, deals in and out of text, and random deals.

A card is a number, suit * ranks + rank, both from 0. A text has four rows joined by ``/``, cards separated by spaces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import ConfigurationError, Hint
from hakoiri.keys.layout import U256, Field, Fields, Key, Layout, narrowest
from hakoiri.keys.splitmix import random_words

#: A card's number.
Card = int
SUITS = 4
#: A cell without a card.
BLANK = ".."

_WORD_BITS = 64


@dataclass(frozen=True)
class Deck:
    """The letters of suits and ranks, in order; a game may use only the first of the ranks."""

    suits: str
    ranks: str

    def word(self, card: Card, ranks: int) -> str:
        suit, rank = divmod(card, ranks)
        return self.suits[suit] + self.ranks[rank]

    def card(self, word: str, ranks: int) -> Card:
        """The card of a word; `ConfigurationError` that says what is wrong with it."""
        suit, rank = (self.suits.find(word[:1]), self.ranks.find(word[1:2])) if len(word) == 2 else (-1, -1)
        if min(suit, rank) < 0:
            raise ConfigurationError(
                f"{word!r} is not a card; expected a suit ({self.suits}) and a rank ({self.ranks[:ranks]}), e.g. "
                f"{self.word(0, ranks)}"
            )
        if rank >= ranks:
            raise ConfigurationError(f"the rank of {word} is too high; expected one of {self.ranks[:ranks]}")
        return suit * ranks + rank


#: As the contest writes them: Gap.
NUMBERED = Deck("1234", "123456789TJQK")
#: As the paper on Superpuzz does, 0 being ten.
LETTERED = Deck("HDSC", "A234567890JQK")


def rows_of(text: str) -> list[list[str]]:
    """The words of each row."""
    return [row.split() for row in text.strip().strip("/").split("/")]


def has_blanks(text: str) -> bool:
    """Return whether a text is a position, not a deal."""
    return any(BLANK in row for row in rows_of(text))


def parse_cards(
    rows: list[list[str]], deck: Deck, ranks: int, wanted: Sequence[Card], blanks: int
) -> list[Card | None]:
    """The cards of all rows, one after another, ``None`` for a blank: each of `wanted` once and `blanks` blanks.

    Raises `ConfigurationError` that names the card and the row.
    """
    found: list[Card | None] = []
    seen: dict[Card, str] = {}
    for number, row in enumerate(rows, 1):
        for column, word in enumerate(row, 1):
            where = f"row {number} column {column}"
            if word == BLANK:
                found.append(None)
                continue
            try:
                card = deck.card(word, ranks)
            except ConfigurationError as error:
                raise ConfigurationError(f"{where}: {error}") from None
            if card in seen:
                raise ConfigurationError(
                    f"{where}: {word} is also in {seen[card]}{_missing(rows, deck, ranks, wanted)}"
                )
            if card not in wanted:
                raise ConfigurationError(f"{where}: {word} is not allowed in this cell")
            seen[card] = where
            found.append(card)
    if len(seen) < len(wanted) or found.count(None) != blanks:
        raise ConfigurationError(
            f"expected {len(wanted)} cards and {blanks} blanks ({BLANK}), found {len(seen)} and {found.count(None)}"
            f"{_missing(rows, deck, ranks, wanted)}"
        )
    return found


def _missing(rows: list[list[str]], deck: Deck, ranks: int, wanted: Sequence[Card]) -> str:
    there = {word for row in rows for word in row}
    words = [word for word in (deck.word(card, ranks) for card in wanted) if word not in there]
    return f"; missing: {' '.join(words[:8])}{' ...' if len(words) > 8 else ''}" if words else ""


def check_shape(rows: list[list[str]], width: int, what: str, *hints: Hint) -> None:
    """Raise `ConfigurationError` unless there are four rows of `width` words; `what` names the text."""
    if len(rows) != SUITS:
        raise ConfigurationError(f"{what} has {SUITS} rows joined by '/'; found {len(rows)}")
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            said = f"row {number} '{' '.join(row)}' has {len(row)} cards"
            raise ConfigurationError(f"{said}; {what} has {width} in each", *hints)


def random_deal(cards: int, seed: int, number: int) -> list[Card]:
    """Deal `number` of a seed: the cards 0..cards-1 in reading order, the same on every machine.

    Fisher-Yates: from the last place to the second, each card is exchanged with that of place ``word % (place + 1)``,
    the words being those of SplitMix64 from the state seed * 2^32 + number (modulo 2^64).
    """
    words = random_words((seed << 32) + number)
    deal = list(range(cards))
    for place in range(cards - 1, 0, -1):
        other = next(words) % (place + 1)
        deal[place], deal[other] = deal[other], deal[place]
    return deal


def grown(deal: Sequence[Card], word: int) -> list[Card]:
    """Return a deal of one rank more: the new cards are in a new last column, in an order that `word` determines."""
    ranks, suits = len(deal) // SUITS, list(range(SUITS))
    larger = [card // ranks * (ranks + 1) + card % ranks for card in deal]
    rows = []
    for row in range(SUITS):
        word, choice = divmod(word, len(suits))
        rows += [*larger[row * ranks : (row + 1) * ranks], suits.pop(choice) * (ranks + 1) + ranks]
    return rows


@dataclass(frozen=True)
class Placing:
    """The packing of a field's cards as a key: the index of each card's cell among those left by earlier cards.

    The field has four rows of n cells, each of the four suits n - 1 cards, and four cells are blank. Card i, of
    4 (n - 1), has 4 n - i cells to choose from, so its field is just wide enough for 4 n - i - 1. Fields lie side by
    side from the most significant bit of the key down, but none lies across two words of 64 bits: 13 columns take
    exactly 256 bits.

    For each card `words` and `shifts` say where its field lies in the key, `masks` what fits into it.
    """

    columns: int
    layout: Layout
    words: NDArray[np.int64]
    shifts: NDArray[np.int64]
    masks: NDArray[np.uint64]

    @property
    def cells(self) -> int:
        return SUITS * self.columns

    @property
    def cards(self) -> int:
        return SUITS * (self.columns - 1)

    @cached_property
    def fields(self) -> Fields:
        return Fields.of(self.layout, (
            Field(self._shift(card), int(self.masks[card]).bit_length(), self.cells - card)
            for card in range(self.cards)
        ))  # fmt: skip

    def _shift(self, card: Card) -> int:
        """The lowest bit of a card's field in the key."""
        return (self.layout.words - 1 - int(self.words[card])) * _WORD_BITS + int(self.shifts[card])

    def pack(self, places: "Sequence[int]") -> Key:
        left, key = list(range(self.cells)), 0
        for card, place in enumerate(places):
            key |= left.index(place) << self._shift(card)
            left.remove(place)
        return key

    def unpack(self, key: Key) -> list[int]:
        """The cell of each card; `ConfigurationError` for a key that no cells have."""
        left, places = list(range(self.cells)), []
        for card in range(self.cards):
            choice = key >> self._shift(card) & int(self.masks[card])
            if choice >= len(left):
                raise ConfigurationError(f"{key:#x} puts card {card} in cell {choice} of {len(left)} free ones")
            places.append(left.pop(choice))
        if self.pack(places) != key:
            raise ConfigurationError(f"{key:#x} has bits above those of its cards")
        return places


@cache
def placing(columns: int) -> Placing:
    """The packing for 2 to 13 columns."""
    words, offsets, word, used = [], [], 0, 0
    widths = [(SUITS * columns - card - 1).bit_length() for card in range(SUITS * (columns - 1))]
    for width in widths:
        if used + width > _WORD_BITS:
            word, used = word + 1, 0
        used += width
        words.append(word)
        offsets.append(used)
    layout = narrowest(_WORD_BITS * word + used)
    bits = min(layout.bits, _WORD_BITS)
    lead = layout.words - word - 1
    masks = np.array([(1 << width) - 1 for width in widths], dtype=np.uint64)
    return Placing(columns, layout, np.array(words) + lead, bits - np.array(offsets), masks)


#: More columns than these do not fit the widest key.
MOST_COLUMNS = 13
assert placing(MOST_COLUMNS).layout == U256  # noqa: S101
