"""Sequences of symbols and their numbers in lexicographic order: the reference for the tables of the kernels."""

from functools import lru_cache
from math import factorial

from puzzles.keys.layout import Key

#: How many symbols of each kind a sequence has.
Amounts = tuple[int, ...]


@lru_cache(1 << 16)
def count_sequences(amounts: Amounts) -> int:
    """How many sequences of these symbols there are."""
    ways = factorial(sum(amounts))
    for amount in amounts:
        ways //= factorial(amount)
    return ways


def number_of(sequence: list[int], amounts: Amounts) -> Key:
    """The number of a sequence among all those of the same symbols."""
    key = 0
    for symbol in sequence:
        key += sum(count_sequences(_less_one(amounts, lesser)) for lesser in range(symbol) if amounts[lesser])
        amounts = _less_one(amounts, symbol)
    return key


def sequence_of(key: Key, amounts: Amounts) -> list[int]:
    """The inverse of `number_of`; `key` must be below the number of all sequences."""
    sequence = []
    while sum(amounts):
        for symbol, amount in enumerate(amounts):
            ways = count_sequences(_less_one(amounts, symbol)) if amount else 0
            if key < ways:
                break
            key -= ways
        sequence.append(symbol)
        amounts = _less_one(amounts, symbol)
    return sequence


def _less_one(amounts: Amounts, symbol: int) -> Amounts:
    return (*amounts[:symbol], amounts[symbol] - 1, *amounts[symbol + 1 :])
