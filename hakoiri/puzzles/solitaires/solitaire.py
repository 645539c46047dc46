"""The base of Gap and Superpuzz: a field of cards as a key, its text, and the moves into blanks."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hakoiri.puzzles.capabilities import Dealt, Move, Reversible, SearchOrder
from hakoiri.puzzles.contract import OVERFLOW, Expansion
from hakoiri.puzzles.errors import ConfigurationError, Hint, PuzzleError
from hakoiri.puzzles.keys.layout import Key, Keys, Mask
from hakoiri.puzzles.keys.order import equal_rows
from hakoiri.puzzles.pictures.shapes import BED, CARD, GROUND, Circle, Label, Part, Picture, Rectangle
from hakoiri.puzzles.solitaires.cards import (
    BLANK,
    SUITS,
    Card,
    Deck,
    check_shape,
    has_blanks,
    parse_cards,
    placing,
    random_deal,
    rows_of,
)
from hakoiri.puzzles.solitaires.kernels import MOST_MOVES, expand_fields

#: The default start: the first deal of this seed.
USUAL_SEED = 1
#: The colours and sizes of a field.
_WIDTH, _HEIGHT, _GAP, _MARGIN = 44, 56, 4, 8
#: One colour for each suit, dark enough to be read on white; and its sign, where the suits have letters.
_COLOURS = ("#c0392b", "#b35900", "#0059a8", "#1b1b1b")
_SIGNS = {"H": "♥", "D": "♦", "S": "♠", "C": "♣"}


class Solitaire(Dealt, Reversible):
    """Four suits on four rows; cards go one by one into blanks, each to the right of its predecessor.

    A *card* is here one of those that lie on the field, numbered suit by suit from 0: ``card % suit_size`` is its
    rank among them. A *cell* is ``row * columns + column``.
    """

    undirected = False
    solver = "cards"
    orders: ClassVar[tuple[SearchOrder, ...]] = ("bfs", "dfs")
    rows_of_deal = SUITS
    #: The words of a move: its card, or its card and the blank.
    words_of_move: ClassVar[int] = 1
    deck: ClassVar[Deck]
    #: A blank at the left end takes the first card of any suit.
    any_ace: ClassVar[bool]

    def prepare(self, start: str | None) -> None:
        self.columns = self.size
        self.suit_size = self.columns - 1
        self.most_successors = MOST_MOVES if self.any_ace else SUITS
        self.most_predecessors = SUITS * SUITS * self.suit_size
        self.placing = placing(self.columns)
        self.layout, self.fields = self.placing.layout, self.placing.fields
        self.deal = None if start is None else self._deal_of(start)
        if start is None:
            self.deal = self.random_deal(USUAL_SEED, 0)

    def random_deal(self, seed: int, number: int) -> str:
        return self.text_of_deal(random_deal(SUITS * self.columns, seed, number))

    def start_of_deal(self, seed: int, number: int) -> Key:
        return self.start_of(random_deal(SUITS * self.columns, seed, number))

    def tidy_deal(self, text: str) -> str:
        return self.text_of_deal(self.parse_deal(text))

    def follow(self, start: Key, moves: Sequence[Move]) -> list[Key]:
        """A move is a card and the cell that it goes to."""
        path = [self.placing.unpack(start)]
        for card, cell in moves:
            path.append(moved(path[-1], card, cell))
        return [self.placing.pack(places) for places in path]

    def _deal_of(self, text: str) -> str | None:
        """The canonical text of a deal; ``None`` where the text is a position or a key instead."""
        if text.strip().lower().startswith("0x") or has_blanks(text):
            return None
        self._refuse_many(rows_of(text))
        return self.text_of_deal(self.parse_deal(text))

    def _refuse_many(self, rows: list[list[str]]) -> None:
        """`ConfigurationError` for the contest's file of many deals, which begins with their number."""
        if len(rows) > SUITS and len(rows[0]) == 1 and rows[0][0].isdigit():
            text = f"this text is a list of {rows[0][0]} deals, a run takes one"
            raise ConfigurationError(text, Hint("solve", self.name))

    def text_of_deal(self, deal: list[Card]) -> str:
        """A deal, all cards in reading order, as text."""
        words = [self.deck.word(card, self.columns) for card in deal]
        rows = (words[row * self.columns : (row + 1) * self.columns] for row in range(SUITS))
        return "/".join(" ".join(row) for row in rows)

    def parse_deal(self, text: str) -> list[Card]:
        """The cards of a deal in reading order; `ConfigurationError` names the card and the row that is wrong."""
        rows = rows_of(text)
        check_shape(rows, self.columns, f"a deal of {self.size_option}={self.columns}", *self._other_size(rows))
        cards = parse_cards(rows, self.deck, self.columns, range(SUITS * self.columns), 0)
        return [card for card in cards if card is not None]

    def _other_size(self, rows: list[list[str]]) -> list[Hint]:
        """Return the step that helps if the text is a whole deal of another size."""
        widths = {len(row) for row in rows}
        if len(rows) == SUITS and len(widths) == 1 and (width := widths.pop()) != self.columns:
            return [Hint("give", "option", f"{self.size_option}={width}")]
        return []

    def start_of(self, deal: list[Card]) -> Key:
        """The position that a deal, all cards in reading order, becomes when its blanks are made."""
        return self.placing.pack(self.places_of(deal))

    @abstractmethod
    def places_of(self, deal: list[Card]) -> list[int]:
        """The cell of each card on the field, once a deal's blanks are made."""

    def usual_start(self) -> Key:
        return self.parse_text(self.start_text())

    def start_text(self) -> str:
        return self.deal or self.render(self.start)

    def is_goal(self, keys: Keys) -> Mask:
        """Every suit is in order in a row."""
        found = np.zeros(len(keys), dtype=np.bool_)
        for goal in self.keys(self.goals):
            found |= equal_rows(keys, np.broadcast_to(goal, keys.shape))
        return found

    @property
    @abstractmethod
    def goals(self) -> list[Key]:
        """The keys of all goals."""

    def expand(self, keys: Keys) -> Expansion:
        return self._moved(keys, self.most_successors, back=False)

    def unmove(self, keys: Keys) -> Expansion:
        return self._moved(keys, self.most_predecessors, back=True)

    def _moved(self, keys: Keys, most: int, back: bool) -> Expansion:
        words = keys.astype(np.uint64, copy=False).reshape(len(keys), self.layout.words)
        room = np.empty((len(keys) * most, self.layout.words), dtype=np.uint64)
        counts = np.empty(len(keys), dtype=np.uint16)
        total = expand_fields(
            words, self.columns, self.any_ace, back, self.placing.words, self.placing.shifts, self.placing.masks,
            room, counts,
        )  # fmt: skip
        if total == OVERFLOW:
            raise PuzzleError(f"{self.name}: a configuration has more than {most} successors")
        found = room[:total].astype(self.layout.dtype)
        return Expansion(found if self.layout.words > 1 else found.reshape(-1), counts)

    def successors(self, key: Key) -> list[Key]:
        places = self.placing.unpack(key)
        return [self.placing.pack(moved(places, card, cell)) for card, cell in self.moves(places)]

    def predecessors(self, key: Key) -> list[Key]:
        places = self.placing.unpack(key)
        blanks = set(range(self.placing.cells)) - {*places}
        cards = [card for card in range(len(places)) if self._may_have_moved(places, card)]
        return [self.placing.pack(moved(places, card, blank)) for card in cards for blank in sorted(blanks)]

    def _may_have_moved(self, places: list[int], card: int) -> bool:
        """Return whether a card is in a place to which it could have moved."""
        row, column = divmod(places[card], self.columns)
        suit, rank = divmod(card, self.suit_size)
        if column == 0:
            return rank == 0 and (self.any_ace or suit == row)
        return rank > 0 and places[card - 1] == places[card] - 1

    def moves(self, places: list[int]) -> list[tuple[int, int]]:
        """Each card that can move and the blank that it goes to, blanks in reading order."""
        at = {cell: card for card, cell in enumerate(places)}
        found = []
        for blank in range(self.placing.cells):
            if blank in at:
                continue
            row, column = divmod(blank, self.columns)
            left = at.get(blank - 1)
            if column == 0:
                found += [(suit * self.suit_size, blank) for suit in range(SUITS) if self.any_ace or suit == row]
            elif left is not None and left % self.suit_size < self.suit_size - 1:
                found.append((left + 1, blank))
        return found

    def read_moves(self, text: str) -> list[Move]:
        """Return the moves of a text in the words of `describe_moves`; brackets, commas and arrows may be left out.

        Raises `ConfigurationError` that names the first illegal move.
        """
        places, holes, found = self.placing.unpack(self.start), self.named_holes(), list[Move]()
        words = re.findall(r"\w+|\.\.", text)
        for begin in range(0, len(words), self.words_of_move):
            told = words[begin : begin + self.words_of_move]
            fitting = [
                (card, blank)
                for card, blank in self.moves(places)
                if sorted(told) == sorted([self.word(card), holes.get(blank, BLANK)][: self.words_of_move])
            ]
            if len(fitting) != 1:
                wrong = "is not a legal move" if not fitting else "fits several holes"
                raise ConfigurationError(f"move {len(found) + 1}, {' '.join(told)[:40]}, {wrong}")
            ((card, blank),) = fitting
            if blank in holes:
                holes[places[card]] = holes.pop(blank)
            places = moved(places, card, blank)
            found.append((card, blank))
        return found

    def named_holes(self) -> dict[int, str]:
        """The names of the start's blanks by their cells, where they have any."""
        return {}

    def move_between(self, before: Key, after: Key) -> tuple[int, int, int]:
        """The one card whose cell differs, the cell that it left and the one that it went to."""
        one, other = self.placing.unpack(before), self.placing.unpack(after)
        (card,) = [card for card in range(self.placing.cards) if one[card] != other[card]]
        return card, one[card], other[card]

    def check_key(self, key: Key) -> None:
        self.placing.unpack(key)

    def render(self, key: Key) -> str:
        words = [BLANK] * self.placing.cells
        for card, cell in enumerate(self.placing.unpack(key)):
            words[cell] = self.word(card)
        return "/".join(" ".join(self._drawn_row(row, words)) for row in range(SUITS))

    def _drawn_row(self, row: int, words: list[str]) -> list[str]:
        """The words of one row of a position, `words` being those of all cells."""
        return words[row * self.columns : (row + 1) * self.columns]

    def pictures(self, path: list[Key]) -> list[Picture]:
        return [draw_field(rows_of(self.render(key)), self.deck) for key in path]

    @abstractmethod
    def word(self, card: int) -> str:
        """A card of the field in two letters."""

    def parse_text(self, text: str) -> Key:
        if has_blanks(text):
            return self.placing.pack(self._parse_position(rows_of(text)))
        return self.start_of(self.parse_deal(text))

    @abstractmethod
    def _parse_position(self, rows: list[list[str]]) -> list[int]:
        """The cell of each card of a text with blanks."""


def moved(places: list[int], card: int, cell: int) -> list[int]:
    """The places after `card` has gone to `cell`."""
    return [*places[:card], cell, *places[card + 1 :]]


def draw_field(rows: Sequence[Sequence[str]], deck: Deck) -> Picture:
    """The words of each row, a card each or a blank."""
    width = len(rows[0]) * (_WIDTH + _GAP) - _GAP + 2 * _MARGIN
    height = len(rows) * (_HEIGHT + _GAP) - _GAP + 2 * _MARGIN
    holes, cards = [Rectangle(0, 0, width, height, GROUND, 8)], []
    for row, words in enumerate(rows):
        for column, word in enumerate(words):
            x, y = _MARGIN + column * (_WIDTH + _GAP), _MARGIN + row * (_HEIGHT + _GAP)
            holes.append(Rectangle(x, y, _WIDTH, _HEIGHT, BED, 5))
            if word != BLANK:
                cards.append(_card(word, _COLOURS[deck.suits.index(word[0])], x, y))
    return Picture(width, height, (Part("table", tuple(holes)), *cards))


def _card(word: str, colour: str, x: float, y: float) -> Part:
    paper = Rectangle(0, 0, _WIDTH, _HEIGHT, CARD, 5, colour)
    middle = _WIDTH / 2
    sign = _SIGNS.get(word[0])
    mark = Label(middle, 40, sign, 18, colour) if sign else Circle(middle, 41, 5, colour)
    return Part(word, (paper, Label(middle, 18, word, 19, colour), mark), x, y)
