"""Peg solitaire: images of the board, the most jumps, jumps in words, published layer sizes, refusals."""

import re

import numpy as np
import pytest

from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.peg_solitaire import PegSolitaire

#: By jumps done, boards that are images of one another counted once: OEIS A112737.
PUBLISHED = [1, 1, 2, 8, 39, 171, 719, 2757, 9751, 31312]
#: No board has more jumps.
MOST = "##.**##/##*.*##/*.**.**/**.**.*/.**.**./##**.##/##.**##"
SAMPLE = 150


def solitaire(symmetry: str) -> PegSolitaire:
    return PegSolitaire({"symmetry": symmetry})


def split(puzzle: Puzzle, keys: Keys) -> list[list[int]]:
    found, counts = puzzle.expand(keys)
    assert found.dtype == puzzle.layout.dtype
    assert counts.sum() == len(found)
    return [sorted(part.tolist()) for part in np.split(found, np.cumsum(counts)[:-1])]


def layers(puzzle: Puzzle, count: int) -> list[Keys]:
    found = [puzzle.keys([puzzle.start])]
    while len(found) < count:
        found.append(np.unique(puzzle.expand(found[-1]).successors))
    return found


def board(text: str) -> np.ndarray:
    return np.array([list(row) for row in text.split("/")])


def text_of(board: np.ndarray) -> str:
    return "/".join("".join(row) for row in board)


def images(text: str) -> list[str]:
    turned = [np.rot90(board(text), quarters) for quarters in range(4)]
    return [text_of(image) for one in turned for image in (one, one[:, ::-1])]


def any_boards() -> list[Key]:
    """Boards with few and many pegs, reachable or not."""
    rng = np.random.default_rng(1)
    pegs = rng.random((SAMPLE, 33)) < rng.random((SAMPLE, 1))
    return [0, (1 << 33) - 1, *(int(key) for key in pegs @ (1 << np.arange(33)))]


def test_merged_boards_are_the_least_of_the_images() -> None:
    merged, single = solitaire("on"), solitaire("off")
    for key in any_boards():
        text = single.render(key)
        assert single.parse(text) == single.parse(f"{key:#x}") == key
        keys = [single.parse(image) for image in images(text)]
        least = min(keys)
        assert {merged.parse(image) for image in images(text)} == {least}
        assert merged.parse(merged.render(least)) == merged.parse(f"{least:#x}") == least
        if key != least:
            with pytest.raises(ConfigurationError, match=f"image of {least:#x}"):
                merged.parse(f"{key:#x}")


def test_published_layers() -> None:
    assert list(map(len, layers(solitaire("on"), len(PUBLISHED)))) == PUBLISHED


def test_layers_without_symmetry_are_all_images_of_those_with_it() -> None:
    merged, single = layers(solitaire("on"), 6), layers(solitaire("off"), 6)
    for classes, boards in zip(merged, single, strict=True):
        puzzle = solitaire("off")
        every = {puzzle.parse(image) for key in classes.tolist() for image in images(puzzle.render(key))}
        assert sorted(every) == boards.tolist()


def test_no_board_has_more_jumps_than_told() -> None:
    """Over all 2^33 boards, row by row: the best so far depends on the last two rows alone."""
    rows = [0b0011100, 0b0011100, 0b1111111, 0b1111111, 0b1111111, 0b0011100, 0b0011100]
    every = np.arange(128)
    jumps = every >> 1 & (every ^ every >> 2)
    along = [np.bitwise_count(jumps & row & row >> 1 & row >> 2).astype(np.int64) for row in rows]
    never = [np.where(every & ~row, -1000, 0) for row in rows]
    best = (along[0] + never[0])[:, None] + (along[1] + never[1])
    for row in range(2, 7):
        cells = rows[row] & rows[row - 1] & rows[row - 2]
        new = np.empty_like(best)
        for last in range(128):
            down = np.bitwise_count(every & (every[:, None] ^ last) & cells)
            new[:, last] = (best + down).max(axis=0) + along[row][last] + never[row][last]
        best = new
    assert best.max() == PegSolitaire.most_successors
    puzzle = PegSolitaire(start=MOST)
    assert puzzle.expand(puzzle.keys([puzzle.start])).counts.tolist() == [PegSolitaire.most_successors]


@pytest.mark.parametrize("symmetry", ["on", "off"])
def test_described_jumps_lead_where_they_say(symmetry: str) -> None:
    puzzle = solitaire(symmetry)
    for layer in layers(puzzle, 6):
        for key in layer[:20].tolist():
            for after in set(puzzle.successors(key)):
                assert puzzle.parse(replayed(puzzle.render(key), puzzle.describe_move(key, after))) == after


def replayed(text: str, move: str) -> str:
    """The board after a move in words such as ``"d2 jumps to d4"``."""
    cells = board(text)
    match = re.fullmatch("([a-g])([1-7]) jumps to ([a-g])([1-7])", move)
    assert match
    column, row, to_column, to_row = (("abcdefg" + "1234567").index(name) % 7 for name in match.groups())
    assert sorted([abs(row - to_row), abs(column - to_column)]) == [0, 2]
    changed = [(row, column), ((row + to_row) // 2, (column + to_column) // 2), (to_row, to_column)]
    assert "".join(cells[cell] for cell in changed) == "**."
    for cell, content in zip(changed, "..*", strict=True):
        cells[cell] = content
    return text_of(cells)


def test_one_jump_before_the_end() -> None:
    puzzle = PegSolitaire(start="##...##/##...##/......./....**./......./##...##/##...##")
    assert puzzle.is_goal(puzzle.expand(puzzle.keys([puzzle.start])).successors).any()
