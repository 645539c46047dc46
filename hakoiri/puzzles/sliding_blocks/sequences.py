"""Sequences of symbols and their numbers in lexicographic order: the reference for the tables of the kernels."""

from math import factorial

from hakoiri.puzzles.keys.layout import Key

#: The number of symbols of each kind in a sequence.
Amounts = tuple[int, ...]


def count_sequences(amounts: Amounts) -> int:
    """Return the number of sequences of these symbols."""
    ways = factorial(sum(amounts))
    for amount in amounts:
        ways //= factorial(amount)
    return ways


def number_of(sequence: list[int], amounts: Amounts) -> Key:
    """The number of a sequence among all those of the same symbols."""
    key, ways, left = 0, count_sequences(amounts), list(amounts)
    for total, symbol in zip(range(len(sequence), 0, -1), sequence, strict=True):
        # The share of sequences that begin with a symbol is its share of the symbols left.
        key += ways * sum(left[:symbol]) // total
        ways = ways * left[symbol] // total
        left[symbol] -= 1
    return key


def sequence_of(key: Key, amounts: Amounts) -> list[int]:
    """The inverse of `number_of`; `key` must be below the number of all sequences."""
    sequence, ways, left = [], count_sequences(amounts), list(amounts)
    for total in range(sum(amounts), 0, -1):
        symbol = 0
        while key >= (beginning := ways * left[symbol] // total):
            key -= beginning
            symbol += 1
        sequence.append(symbol)
        ways = beginning
        left[symbol] -= 1
    return sequence
