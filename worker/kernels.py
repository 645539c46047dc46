"""What is done to the keys of one chunk: sort, drop duplicates, take away the layers already known."""

from puzzles.jit import jit
from puzzles.keys import Counts, Keys


@jit
def _unique(keys: Keys) -> int:
    """Move the distinct keys of a sorted array to its front; return how many."""
    count = 0
    for index in range(len(keys)):
        if index == 0 or keys[index] != keys[index - 1]:
            keys[count] = keys[index]
            count += 1
    return count


@jit
def _subtract(keys: Keys, known: Keys, more: Keys) -> int:
    """Move the distinct keys of a sorted array that neither `known` nor `more` hold to its front; return how many."""
    count = 0
    one = 0
    other = 0
    for index in range(len(keys)):
        key = keys[index]
        if count > 0 and keys[count - 1] == key:
            continue
        while one < len(known) and known[one] < key:
            one += 1
        if one < len(known) and known[one] == key:
            continue
        while other < len(more) and more[other] < key:
            other += 1
        if other < len(more) and more[other] == key:
            continue
        keys[count] = key
        count += 1
    return count


@jit
def _simple_edges(sources: Keys, successors: Keys, counts: Counts) -> int:
    """Sort each source's successors, drop duplicates and loops, in place; `counts` follow; return the new total."""
    begin = 0
    total = 0
    for source in range(len(sources)):
        end = begin + counts[source]
        for index in range(begin + 1, end):
            key = successors[index]
            place = index
            while place > begin and successors[place - 1] > key:
                successors[place] = successors[place - 1]
                place -= 1
            successors[place] = key
        first = total
        for index in range(begin, end):
            key = successors[index]
            if key != sources[source] and (total == first or successors[total - 1] != key):
                successors[total] = key
                total += 1
        counts[source] = total - first
        begin = end
    return total


def sort_unique(keys: Keys) -> Keys:
    """The distinct keys, strictly increasing. `keys` is used up as working space."""
    keys.sort()
    return keys[: _unique(keys)]


def sort_subtract(keys: Keys, previous: Keys, current: Keys) -> Keys:
    """The distinct keys that are in neither sorted layer, strictly increasing. `keys` is used up."""
    keys.sort()
    return keys[: _subtract(keys, previous, current)]


def simple_edges(sources: Keys, successors: Keys, counts: Counts) -> tuple[Keys, Counts]:
    """The edges of a simple graph: per source its distinct successors other than itself. The inputs are used up."""
    total = _simple_edges(sources, successors, counts)
    return successors[:total], counts


def split(keys: Keys, size: int) -> list[Keys]:
    """`keys` in consecutive chunks of `size`; the last may be smaller."""
    return [keys[begin : begin + size] for begin in range(0, len(keys), size)]
