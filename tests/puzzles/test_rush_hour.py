"""Pieces that are bound to an axis: cars moved by plain rules on texts, boards of one line, goals, hunts, pictures."""

from pathlib import Path

import numpy as np
import pytest

from hakoiri.coordinator.studies.hunt import HuntPlan, hunted
from hakoiri.coordinator.studies.table import dealt_class
from hakoiri.errors import ConfigurationError, Hint, PuzzleError, PuzzleWarning
from hakoiri.keys.layout import Key, ints
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.sliding import Sliding
from hakoiri.worker.studies.deals import Leg, hardest_of, walk
from tests.support.refusals import refused
from tests.support.runs import driven, opened, verified

#: First row of the database of fogleman/rush: moves, board, reachable configurations.
HARDEST = (60, "IBBxooIooLDDJAALooJoKEEMFFKooMGGHHHM", 2_332)
CARS = "BAA./B..C/DDEC/..E."
BOUND = {"axis": "rows-and-columns", "metric": "straight"}


def cars(board: str = CARS, goal: str = "A@1,3", **options: str) -> Sliding:
    return Sliding(BOUND | ({"goal": goal} if goal else {}) | options, board)


def slid(board: str, width: int) -> list[tuple[str, int]]:
    """Every move of a car along its length: the board after it, and how many cells far it goes."""
    found = []
    for car in sorted(set(board) - set(".x")):
        cells = [cell for cell, letter in enumerate(board) if letter == car]
        step = 1 if cells[0] // width == cells[-1] // width else width
        for sign, front in ((-step, cells[0]), (step, cells[-1])):
            length, cell = 1, front + sign
            while 0 <= cell < len(board) and board[cell] == "." and (step > 1 or cell // width == front // width):
                moved = [each + sign * length for each in cells]
                after = ["." if letter == car else letter for letter in board]
                for each in moved:
                    after[each] = car
                found.append(("".join(after), length))
                length, cell = length + 1, cell + sign
    return found


def distances(board: str, width: int) -> dict[str, int]:
    """Straight moves from a board to each that it leads to, by the plain rules."""
    found, queue = {board: 0}, [board]
    for here in queue:
        for after, _ in slid(here, width):
            if after not in found:
                found[after] = found[here] + 1
                queue.append(after)
    return found


def rows(board: str, width: int) -> str:
    lines = (board[begin : begin + width] for begin in range(0, len(board), width))
    return "/".join(lines).replace("x", "#")


def moves_of(puzzle: Sliding) -> set[str]:
    return {puzzle.describe_move(puzzle.start, key) for key in puzzle.successors(puzzle.start)}


def layers(puzzle: Sliding, first: list[Key]) -> list[set[Key]]:
    found, seen = [set(first)], set(first)
    while found[-1]:
        after = set(ints(puzzle.expand(puzzle.keys(sorted(found[-1]))).successors)) - seen
        seen |= after
        found.append(after)
    return found[:-1]


def test_the_hardest_board_of_a_collection_is_as_published() -> None:
    moves, board, reachable = HARDEST
    puzzle = cars(board, goal="")
    assert puzzle.parameters["goal"] == "***#**/******/****AA/******/******/******"
    plain = distances(board.replace("o", "."), 6)
    assert {puzzle.parse(rows(text, 6)) for text in plain} == set().union(*layers(puzzle, [puzzle.start]))
    assert len(plain) == reachable
    solved = [distance for text, distance in plain.items() if text[16:18] == "AA"]
    found = [bool(puzzle.is_goal(puzzle.keys(sorted(layer))).any()) for layer in layers(puzzle, [puzzle.start])]
    assert min(solved) == found.index(True) == moves


@pytest.mark.parametrize("metric", ["unit", "straight", "finger"])
def test_cars_move_along_their_length_only(metric: str) -> None:
    puzzle = cars(metric=metric)
    for text in distances(CARS.replace("/", ""), 4):
        key = puzzle.parse(rows(text, 4))
        allowed = [after for after, far in slid(text, 4) if metric != "unit" or far == 1]
        expected = {puzzle.parse(rows(after, 4)) for after in allowed}
        assert set(puzzle.successors(key)) == set(ints(puzzle.expand(puzzle.keys([key])).successors)) == expected


def test_squares_and_bent_pieces_move_as_ever() -> None:
    puzzle = cars("AA./A../..B", goal="")
    assert moves_of(puzzle) == {"A right", "A down", "B left", "B left 2", "B up", "B up 2"}


@pytest.mark.parametrize(
    ("axis", "moves"),
    [
        ("A:row, C:column ,B:column", {"A right", "B up", "B down", "C down"}),
        ("A:row,BC:column", {"A right", "B up", "B down", "C down"}),
        ("A:column,B:row,C:row", {"A down", "B left", "B right", "C left"}),
    ],
)
def test_pieces_are_bound_by_their_letters_and_keep_them(axis: str, moves: set[str]) -> None:
    puzzle = Sliding({"axis": axis}, "A.C/..C/.B./...")
    assert moves_of(puzzle) == moves
    assert puzzle.start_text() == "A.C/..C/.B./..."
    assert Sliding(puzzle.parameters, puzzle.start_text()).start == puzzle.start


def test_letters_of_one_shape_and_axis_are_the_same_and_others_distinct() -> None:
    puzzle = Sliding({"axis": "A:row,C:row,B:column"}, "AB/C./..")
    assert puzzle.parameters["axis"] == "A:row,B:column,C:row"
    assert puzzle.parse("CB/A./..") == puzzle.start != puzzle.parse("BA/C./..")
    assert puzzle.render(puzzle.parse("CB/A./..")) == "AB/C./.."
    assert len(np.concatenate(list(puzzle.configurations()))) == 6 * 5 * 4 // 2


def test_a_board_of_one_line_is_one_in_rows() -> None:
    _, line, _ = HARDEST
    one, other = cars(line, goal=""), cars(rows(line.replace("o", "."), 6), goal="A@3,5")
    assert (one.start, one.parameters) == (other.start, other.parameters)
    # A short line is a single row, and elsewhere o and x are letters of pieces.
    assert Sliding({}, "A.Bo.xC..").pieces.rows == 1
    assert set(Sliding({"distinct": "o,x"}, "oxA/...").pieces.letters) == {"o", "x"}
    with pytest.raises(ConfigurationError, match="joined by '/', and only a square board of 5 x 5 to 8 x 8"):
        cars(line[:30], goal="")
    with pytest.raises(ConfigurationError, match=r"row 1 .IBB#\*"):
        cars(line.replace("oo", "*o"))


def test_a_goal_is_meant_by_the_line_that_a_car_keeps_to() -> None:
    cars(HARDEST[1], goal="A@3,5")
    with pytest.warns(PuzzleWarning, match="any of the 2 pieces"):
        cars("AABB../....../....../....../....../......", goal="A@1,5")
    with pytest.raises(PuzzleError, match="piece A cannot leave its row"):
        cars(goal="A@2,1")


@pytest.mark.parametrize(
    ("axis", "said"),
    [
        ("rows", "expected rows-and-columns, or A:row,BC:column"),
        ("A:diagonal", "piece A has two axes; expected one, row or column"),
        ("A:row,A:column", "piece A has two axes"),
        ("Z:row", "'Z' is not a piece of the board; its pieces are BACDE"),
    ],
)
def test_what_is_no_axis_is_refused(axis: str, said: str) -> None:
    with pytest.raises(PuzzleError, match=f"axis={axis}: .*{said}"):
        cars(axis=axis)


# Hunts


@pytest.fixture(scope="module")
def hunt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hunted_for(tmp_path_factory.mktemp("hunt"), 8, workers=1)


def hunted_for(data: Path, legs: int, workers: int = 2) -> Path:
    spec = PuzzleSpec("sliding", dict(BOUND, goal="A@1,3"), CARS)
    plan = {"objective": "moves", "seed": 1, "cap": 100_000, "pool": 4, "work": 160_000}
    return driven(data, spec, "hunt", plan, {"seconds": None, "legs": legs}, workers=workers)


def test_a_hunt_for_boards_is_the_same_however_it_is_cut(hunt: Path, tmp_path: Path) -> None:
    for legs in (3, 8):
        cut = hunted_for(tmp_path, legs)
    with opened(hunt) as whole, opened(cut) as other:
        best, again = whole.best, other.best
    assert (best.deal, best.score, best.figures) == (again.deal, again.score, again.figures)
    puzzle = cars()
    assert hardest_of(puzzle, puzzle.parse(best.deal), 100_000)[:2] == (puzzle.parse(best.deal), best.score)
    assert best.score > hardest_of(puzzle, puzzle.start, 100_000)[1]
    assert verified(hunt).ok


def test_walks_of_the_other_objectives_keep_to_their_boards() -> None:
    puzzle = cars()
    walked = walk(puzzle, Leg(CARS, "positions", 1, 0.1, 5_000, 100_000, 1))
    assert walked.figures is not None
    assert walked.best_score == walked.figures.positions


def test_a_hunt_for_moves_needs_a_goal_and_studies_need_sizes() -> None:
    puzzle = hunted(PuzzleSpec("sliding", BOUND, CARS))
    with refused(PuzzleError, "has no goal", Hint("give", "goal", "CONF")):
        HuntPlan.made(puzzle, "moves", 1)
    assert HuntPlan.made(puzzle, "positions", 1).work > 0
    with pytest.raises(PuzzleError, match="puzzles that can: gap and superpuzz"):
        dealt_class("sliding")
