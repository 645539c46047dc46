"""Permutations with identical pieces, from Python: the positions are those of a search of rows of colours."""

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np
import pytest

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.definitions.puzzle import Defined, definition_class
from hakoiri.puzzles.definitions.stickers import from_permutations
from tests.support.seeds import first_usual

_CASES, _TOGETHER, _MOST = 10_000, 100, 400


def plainly(moves: Mapping[str, Sequence[int]], identical: Sequence[Sequence[int]]) -> list[int]:
    """Return the layers of the colours, one for each list of `identical` and each other place."""
    places = len(next(iter(moves.values())))
    colours = {place: -1 - number for number, alike in enumerate(identical) for place in alike}
    layer = [tuple(colours.get(place, place) for place in range(places))]
    known, sizes = {*layer}, list[int]()
    while layer and len(known) < _MOST:
        sizes.append(len(layer))
        after = {tuple(state[place] for place in move) for state in layer for move in moves.values()}
        layer = [*(after - known)]
        known |= after
    return sizes


def by_keys(puzzle: Defined, depth: int) -> list[int]:
    known, layer, sizes = {puzzle.start}, puzzle.keys([puzzle.start]), list[int]()
    while len(layer) and len(sizes) < depth:
        sizes.append(len(layer))
        after = {*puzzle.expand(layer).successors.tolist()} - known
        known |= after
        layer = puzzle.keys(sorted(after))
    return sizes


def by_chance(random: Random) -> tuple[dict[str, list[int]], list[list[int]]]:
    """Return moves of rings that move alike, of blocks, or of anything; and places that look alike."""
    rings, size, names = random.randint(1, 3), random.randint(2, 4), "ABC"[: random.randint(1, 3)]
    moves = {}
    for name in names:
        ring = random.sample(range(size), size)
        row = [size * number + place for number in range(rings) for place in ring]
        if random.random() < 0.3:
            # The rings are blocks, or exchanged.
            order = random.sample(range(rings), rings)
            row = [
                size * number + place for number in order for place in (ring if random.random() < 0.8 else range(size))
            ]
        if random.random() < 0.15:
            random.shuffle(row)
        moves[name] = row
    # The places in another order.
    names_of = random.sample(range(rings * size), rings * size)
    back = np.argsort(names_of).tolist()
    moves = {name: [names_of[row[back[place]]] for place in range(len(row))] for name, row in moves.items()}
    left, identical = random.sample(range(rings * size), rings * size), list[list[int]]()
    for _ in range(random.randint(0, 3)):
        identical.append([left.pop() for _ in range(min(len(left), random.choice([1, 2, 2, 3])))])
    return moves, [each for each in identical if each]


@pytest.mark.ci_slow
@pytest.mark.parametrize("begin", first_usual(2, *range(0, _CASES, _TOGETHER)))
def test_layers_with_identical_pieces_are_those_of_their_colours(begin: int) -> None:
    wrong = {}
    for seed in range(begin, begin + _TOGETHER):
        moves, identical = by_chance(Random(seed))
        expected = plainly(moves, identical)
        try:
            definition = from_permutations("made", moves, identical, 0)
            puzzle = definition_class("made", definition.checked().text())({"metric": "given"})
        except PuzzleError:
            found = [1]  # No move changes anything.
        else:
            found = by_keys(puzzle, len(expected))
        if found != expected:
            wrong[seed] = moves, identical, expected, found
    assert wrong == {}
