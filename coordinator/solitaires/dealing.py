"""Deals from texts and files, for those who have many: the contest's format, and deals of our own generator."""

from collections.abc import Iterator

from puzzles.errors import ConfigurationError, PuzzleError
from puzzles.registry import PuzzleSpec
from puzzles.solitaires.cards import SUITS, Card, random_deal
from puzzles.solitaires.solitaire import Solitaire

#: Begins a comment in a file of deals.
COMMENT = ";"


def solitaire(spec: PuzzleSpec) -> Solitaire:
    """The game; `PuzzleError` for a puzzle that has no deals."""
    puzzle = spec.build()
    if not isinstance(puzzle, Solitaire):
        raise PuzzleError(f"{puzzle.name} has no deals; gap and superpuzz have")
    return puzzle


def deals_of(puzzle: Solitaire, text: str) -> Iterator[list[Card]]:
    """The deals of a text: one a line, its rows joined by ``/``, or in four lines each.

    The contest's number before them may be there or not, blank lines and comments too. `ConfigurationError` names the
    deal that is wrong, and in it the row and the card.
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(COMMENT)]
    announced = int(lines.pop(0)) if lines and lines[0].isdigit() else None
    texts = _deal_texts(lines)
    if announced is not None and announced != len(texts):
        raise ConfigurationError(f"the first line announces {announced} deals, {len(texts)} follow")
    if not texts:
        raise ConfigurationError(f"there is no deal in the text {text[:40]!r}")
    for number, each in enumerate(texts, 1):
        try:
            yield puzzle.parse_deal(each)
        except ConfigurationError as error:
            where = f"deal {number}: " if len(texts) > 1 else ""
            raise ConfigurationError(f"{where}{error}") from None


def _deal_texts(lines: list[str]) -> list[str]:
    if any("/" in line for line in lines):
        return lines
    if len(lines) % SUITS:
        last = len(lines) // SUITS + 1
        raise ConfigurationError(f"deal {last} has {len(lines) % SUITS} rows, expected {SUITS}")
    return ["/".join(lines[begin : begin + SUITS]) for begin in range(0, len(lines), SUITS)]


def random_deals(puzzle: Solitaire, seed: int, count: int, first: int = 0) -> list[str]:
    """The texts of deals `first`, ... of a seed (`puzzles.solitaires.cards.random_deal`)."""
    cards = SUITS * puzzle.columns
    return [puzzle.text_of_deal(random_deal(cards, seed, number)) for number in range(first, first + count)]
