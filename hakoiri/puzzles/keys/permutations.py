"""Orders of things as numbers 0..n!-1, in plain Python: what the kernels of several puzzles compute in their own ways.

The digit of place i says how many larger things stand before it, 0..i, and is worth i!. So the things in increasing
order have number 0, and the digits add up to the number of inversions. The number of the first k places alone, as if
nothing followed, is the whole number modulo k!.
"""

from collections.abc import Sequence
from math import factorial

import numpy as np
from numpy.typing import NDArray


def digits_of(order: Sequence[int]) -> list[int]:
    """Return for each place the number of larger things before it. The things are any distinct numbers."""
    return [sum(earlier > thing for earlier in order[:place]) for place, thing in enumerate(order)]


def number_of(order: Sequence[int]) -> int:
    """The number of an order of things, which are any numbers, all different."""
    return sum(digit * factorial(place) for place, digit in enumerate(digits_of(order)))


def order_of(number: int, length: int) -> list[int]:
    """The order of the things 0..length-1 that has this number."""
    left, order = list(range(length)), [0] * length
    for place in range(length - 1, -1, -1):
        digit, number = divmod(number, factorial(place))
        order[place] = left.pop(place - digit)
    return order


def all_orders(length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many things exceed the one at each place of each order, and how many of these precede it (the digits).

    Two arrays of shape (length, length!); at length 8 they take 5 MB.
    """
    numbers = np.arange(factorial(length))
    larger, digits = np.zeros((2, length, len(numbers)), dtype=np.int64)
    for place in range(length):
        digits[place] = numbers // factorial(place) % (place + 1)
        larger[:place] += larger[:place] >= digits[place]
        larger[place] = digits[place]
    return larger, digits


def pack_places(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of an array as one: four bits for each, the first row lowest."""
    packed = np.zeros(rows.shape[1], dtype=np.int64)
    for place, row in enumerate(rows):
        packed |= row << 4 * place
    return packed
