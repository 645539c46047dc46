"""Gap and Superpuzz: a field of cards as a key, its text, and the moves into blanks.

Source: Ishihata, "Tranpu no hitori asobi" (Joho Shori 45, 2004), on problem F of the Aizu contest of 2003. A deal has
four rows of R cards, a suit 1-4 and a rank 1-9 T J Q K each: ``42 21 13 22 32 26 23/16 43 47 ...``. A position has one
more column, that of the aces, and ``..`` for its gaps: ``11 42 .. 13 22 32 26 23/...``.

Source: Shintani, "Verbosity of Movement by Depth-first Search on Superpuzz" (IPSJ). A card is a suit H D S C and a rank
A 2-9 0 J Q K. With k columns the ranks are the first k, and those of rank k, the kings of a full deck, make the holes.
A deal is written with them, ``D2 S2 H4 H3 D6 H5/C2 H2 ...``; a position has ``..`` for its holes.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations
from typing import ClassVar

import numpy as np

from hakoiri.errors import ConfigurationError, Hint, PuzzleError
from hakoiri.guests.deals.cards import (
    BLANK,
    LETTERED,
    MOST_COLUMNS,
    NUMBERED,
    SUITS,
    Card,
    Deck,
    check_shape,
    grown,
    has_blanks,
    parse_cards,
    placing,
    random_deal,
    rows_of,
)
from hakoiri.guests.deals.dealt import Convention, Dealt, Move, SearchOrder
from hakoiri.guests.deals.kernels import MOST_MOVES, expand_fields
from hakoiri.keys.layout import Key, Keys, Mask
from hakoiri.keys.order import equal_rows
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import OVERFLOW, Expansion
from hakoiri.puzzles.options import Choice, Number
from hakoiri.puzzles.pictures import BED, CARD, GROUND, Circle, Label, Part, Picture, Rectangle

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
    #: The rank of a deal's first card of a suit that stays on the field; the cards left out make the blanks.
    first_rank: ClassVar[int]

    def prepare(self, start: str | None) -> None:
        self.columns = self.size
        self.suit_size = self.columns - 1
        self.most_successors = MOST_MOVES if self.any_ace else SUITS
        self.most_predecessors = SUITS * SUITS * self.suit_size
        self.placing = placing(self.columns)
        self.layout, self.fields = self.placing.layout, self.placing.fields
        #: The canonical text of the deal; ``None`` if the start is a position or a key.
        self.deal: str | None = None
        if start is None:
            self.deal = self.random_deal(USUAL_SEED, 0)
        elif not (start.strip().lower().startswith("0x") or has_blanks(start)):
            rows = rows_of(start)
            if len(rows) > SUITS and len(rows[0]) == 1 and rows[0][0].isdecimal():
                # The contest's file of many deals begins with their number.
                text = f"this text is a list of {rows[0][0]} deals, a run takes one"
                raise ConfigurationError(text, Hint("solve", self.name))
            self.deal = self.text_of_deal(self.parse_deal(start))

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

    def text_of_deal(self, deal: list[Card]) -> str:
        """A deal, all cards in reading order, as text."""
        words = [self.deck.word(card, self.columns) for card in deal]
        rows = (words[row * self.columns : (row + 1) * self.columns] for row in range(SUITS))
        return "/".join(" ".join(row) for row in rows)

    def parse_deal(self, text: str) -> list[Card]:
        """The cards of a deal in reading order; `ConfigurationError` names the card and the row that is wrong."""
        rows, hints = rows_of(text), []
        widths = {len(row) for row in rows}
        if len(rows) == SUITS and len(widths) == 1 and (width := widths.pop()) != self.columns:
            # A whole deal of another size.
            hints = [Hint("give", "option", f"{self.size_option}={width}")]
        check_shape(rows, self.columns, f"a deal of {self.size_option}={self.columns}", *hints)
        cards = parse_cards(rows, self.deck, self.columns, range(SUITS * self.columns), 0)
        return [card for card in cards if card is not None]

    def start_of(self, deal: list[Card]) -> Key:
        """The position that a deal, all cards in reading order, becomes when its blanks are made."""
        return self.placing.pack(self.places_of(deal))

    def places_of(self, deal: list[Card]) -> list[int]:
        """The cell of each card on the field, once a deal's blanks are made."""
        cell_of = {card: cell for cell, card in enumerate(deal)}
        return [cell_of[self._in_deal(card)] for card in range(self.placing.cards)]

    def _in_deal(self, card: int) -> Card:
        """Return a card of the field as numbered in deals."""
        suit, rank = divmod(card, self.suit_size)
        return suit * self.columns + rank + self.first_rank

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
    def goals(self) -> list[Key]:
        """The keys of all goals."""
        cards = [divmod(card, self.suit_size) for card in range(self.placing.cards)]
        return [self.placing.pack([rows[suit] * self.columns + rank for suit, rank in cards]) for rows in self._orders]

    @property
    def _orders(self) -> list[tuple[int, ...]]:
        """The row of each suit, in every goal."""
        return [tuple(range(SUITS))]

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

    def word(self, card: int) -> str:
        """A card of the field in two letters."""
        return self.deck.word(self._in_deal(card), self.columns)

    def parse_text(self, text: str) -> Key:
        if has_blanks(text):
            return self.placing.pack(self._parse_position(rows_of(text)))
        return self.start_of(self.parse_deal(text))

    def _parse_position(self, rows: list[list[str]]) -> list[int]:
        """The cell of each card of a text with blanks. Cards below the first rank have a column of their own."""
        width, ranks = self.columns + self.first_rank, range(self.first_rank + self.suit_size)
        check_shape(rows, width, f"a position of {self.size_option}={self.columns}")
        self._check_left_end(rows)
        wanted = [suit * self.columns + rank for suit in range(SUITS) for rank in ranks]
        found = enumerate(parse_cards(rows, self.deck, self.columns, wanted, SUITS))
        cell_of = {card: place // width * self.columns + place % width - self.first_rank for place, card in found}
        return [cell_of[self._in_deal(card)] for card in range(self.placing.cards)]

    def _check_left_end(self, rows: list[list[str]]) -> None:
        pass


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
                colour = _COLOURS[deck.suits.index(word[0])]
                paper = Rectangle(0, 0, _WIDTH, _HEIGHT, CARD, 5, colour)
                middle = _WIDTH / 2
                sign = _SIGNS.get(word[0])
                mark = Label(middle, 40, sign, 18, colour) if sign else Circle(middle, 41, 5, colour)
                cards.append(Part(word, (paper, Label(middle, 18, word, 19, colour), mark), x, y))
    return Picture(width, height, (Part("table", tuple(holes)), *cards))


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
    first_rank = 1
    size_option = "ranks"
    walker = "cards"
    orders = ("bfs", "dfs", "longest", "tree")
    until = "exhausted"
    hunted = grows = True

    def grown(self, deal: str, word: int) -> str:
        """Return a deal of one rank more: the new cards are in a new last column."""
        return self.sized(self.size + 1).text_of_deal(grown(self.parse_deal(deal), word))

    def describe_move(self, before: Key, after: Key) -> str:
        """The card that moves, e.g. ``"36"``: only one gap can take it."""
        return self.word(self.move_between(before, after)[0])

    def _drawn_row(self, row: int, words: list[str]) -> list[str]:
        return [self.deck.word(row * self.columns, self.columns), *super()._drawn_row(row, words)]

    def _check_left_end(self, rows: list[list[str]]) -> None:
        for number, row in enumerate(rows):
            if row[0] != (ace := self.deck.word(number * self.columns, self.columns)):
                said = f"row {number + 1} begins with {row[0]}; in a position (with {BLANK}) it must begin with {ace}"
                raise ConfigurationError(said)


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
    first_rank = 0
    size_option = "columns"
    until = "both"
    goal_names = {"first": "24 goals, the suits in any order", "fixed": "one goal, the suits in the order H D S C"}
    shortens = True
    words_of_move = 2

    @property
    def convention(self) -> Convention:
        return "fixed" if self.parameters["goals"] == "1" else "first"

    @property
    def _orders(self) -> list[tuple[int, ...]]:
        return list(permutations(range(SUITS))) if self.parameters["goals"] == "24" else super()._orders

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
