"""Sliding tiles: the numbering, moves by texts alone, published layers, orbits, and what is refused."""

from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
import pytest

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.permutation.tiles import Tiles
from tests.support.plain_search import check_expand, check_undirected, layer_sizes, plain_layer_sizes, whole
from tests.support.seeds import usual

#: Board -> the sizes of all layers, or the first ones and their number, or only the last ones and the depth.
ALL_LAYERS = {
    "2x2": [1, 2, 2, 2, 2, 2, 1],
    # A090034.
    "3x2": [1, 2, 3, 5, 6, 7, 10, 12, 12, 16, 23, 25, 28, 39, 44, 40, 29, 21, 18, 12, 6, 1],
    "2x3": [1, 2, 3, 5, 6, 7, 10, 12, 12, 16, 23, 25, 28, 39, 44, 40, 29, 21, 18, 12, 6, 1],
    "1x5": [1, 1, 1, 1, 1],
    "4x1": [1, 1, 1, 1],
}
#: Korf and Schultze, "Large-scale parallel breadth-first search", 2005, table 1.
DEPTHS = {"2x4": 36, "4x2": 36}
#: The 15-puzzle, A089484.
FIFTEEN_PUZZLE_BEGINS = [1, 2, 4, 10, 24, 54, 107, 212, 446, 946, 1_948, 3_938, 7_808, 15_544, 30_821]

SMALL = ["1x2", "2x1", "1x5", "4x1", "1x16", "2x2", "2x3", "3x2"]


def tiles(board: str, start: str | None = None) -> Tiles:
    rows, columns = board.split("x")
    return Tiles({"rows": rows, "columns": columns}, start)


def size_of(board: str) -> int:
    rows, columns = map(int, board.split("x"))
    return factorial(rows * columns) // 2 if min(rows, columns) > 1 else rows * columns


def lines(text: str) -> list[str]:
    """The boards after one move of any number of tiles in a line, from nothing but the text: slides one way."""
    blank, found = text.replace("/", "").index("."), list[str]()
    for board in slides(text):
        step, after, here = board.replace("/", "").index(".") - blank, board, blank
        while after:
            found.append(after)
            here += step
            after = next((each for each in slides(after) if each.replace("/", "").index(".") == here + step), "")
    return found


def slides(text: str) -> list[str]:
    """The boards after one slide, from nothing but the text."""
    rows = text.split("/")
    columns, cells = len(rows[0]), "".join(rows)
    blank, found = cells.index("."), []
    for cell, tile in enumerate(cells):
        if abs(cell // columns - blank // columns) + abs(cell % columns - blank % columns) == 1:
            after = cells.replace(tile, "?").replace(".", tile).replace("?", ".")
            found.append("/".join(after[begin : begin + columns] for begin in range(0, len(after), columns)))
    return found


@usual(1, "board", SMALL)
def test_every_small_board(board: str) -> None:
    puzzle = tiles(board)
    keys = whole(puzzle)
    assert len(keys) == size_of(board) == sum(plain_layer_sizes(slides, puzzle.render(0)))
    assert puzzle.expand(keys).counts.max() == puzzle.most_successors
    check_expand(puzzle, keys, slides)
    check_undirected(puzzle, keys)


def test_only_the_boards_that_slides_reach_have_keys() -> None:
    puzzle, reached = tiles("2x3"), set()
    for letters in permutations(".12345"):
        text = "".join(letters[:3]) + "/" + "".join(letters[3:])
        try:
            reached.add(puzzle.parse(text))
        except PuzzleError as error:
            assert "two tiles are exchanged" in str(error)
    assert reached == set(range(360))


@usual(1, "board", ALL_LAYERS)
def test_published_layers(board: str) -> None:
    assert layer_sizes(tiles(board)) == ALL_LAYERS[board]


@pytest.mark.parametrize("board", DEPTHS)
def test_published_depths(board: str) -> None:
    sizes = layer_sizes(tiles(board))
    assert (sum(sizes), len(sizes) - 1) == (20_160, DEPTHS[board])


def test_published_layers_of_the_fifteen_puzzle() -> None:
    assert layer_sizes(tiles("4x4"), most=len(FIFTEEN_PUZZLE_BEGINS)) == FIFTEEN_PUZZLE_BEGINS


@usual(1, ("board", "classes"), [("2x2", 1), ("2x3", 2), ("3x2", 2), ("1x5", 3), ("4x1", 2), ("2x4", 2), ("3x3", 3)])
def test_configurations_of_an_orbit_have_the_same_layers(board: str, classes: int) -> None:
    puzzle = tiles(board)
    keys = whole(puzzle)
    orbits = puzzle.orbits(keys)
    assert len(orbits) == len(keys)
    numbers = np.unique(orbits).tolist()
    assert len(numbers) == classes
    rng = np.random.default_rng(3)
    profiles = list[Any]()
    for number in numbers:
        alike = keys[orbits == number]
        several = alike if len(keys) <= 360 else rng.choice(alike, 20 if len(keys) < 100_000 else 2, replace=False)
        found = {tuple(layer_sizes(puzzle, key)) for key in several.tolist()}
        assert len(found) == 1
        profiles += found
    assert len(set(profiles)) == classes, "these kinds of cells do differ"


def test_moves_in_words() -> None:
    puzzle = tiles("3x4")
    before = puzzle.parse("1234/5.67/89ba")
    words = [puzzle.describe_move(before, after) for after in puzzle.successors(before)]
    assert sorted(words) == ["2 down", "5 right", "6 left", "9 up"]


def test_tiles_of_a_single_line_keep_their_order() -> None:
    assert tiles("4x1").parse("1/2/./3") == 2


@usual(1, "board", ["2x2", "2x3", "3x2", "1x5", "4x1", "2x4", "4x2"])
def test_any_number_of_tiles_in_a_line_is_one_move(board: str) -> None:
    rows, columns = board.split("x")
    puzzle = Tiles({"rows": rows, "columns": columns, "metric": "multi"})
    assert puzzle.option_texts() == {"rows": rows, "columns": columns, "metric": "multi"}
    assert tiles(board).option_texts() == {"rows": rows, "columns": columns}
    for key in whole(puzzle)[:: max(1, size_of(board) // 150)].tolist():
        text = puzzle.render(key)
        expected = sorted(puzzle.parse(after) for after in lines(text))
        assert sorted(puzzle.successors(key)) == expected
        assert sorted(puzzle.expand(puzzle.keys([key])).successors.tolist()) == expected
        for after in expected:
            *moved, way = puzzle.describe_move(key, after).split()
            single = [
                each for each in slides(text) if puzzle.describe_move(key, puzzle.parse(each)) == f"{moved[0]} {way}"
            ]
            assert len(single) == 1
            assert {text[cell] for cell in range(len(text)) if text[cell] != puzzle.render(after)[cell]} == {
                ".",
                *moved,
            }
