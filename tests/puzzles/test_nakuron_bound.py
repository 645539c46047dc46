"""The bound on the score of any play: against every play of small boards, and the known optima."""

import numpy as np
import pytest
from hypothesis import given, settings

from hakoiri.puzzles.nakuron.board import SIDES, Board, parse_board, tilt, tilt_cells, upper_bound, ways_out
from hakoiri.puzzles.nakuron.puzzle import Nakuron
from tests.puzzles.test_nakuron import boards
from tests.support.published import KNOWN, Known


def best_score(board: Board) -> int:
    """By every board that tilts lead to, with the most that was scored on the way there."""
    most, queue = {board.rows: 0}, [board.rows]
    for rows in queue:
        for side in range(len(SIDES)):
            tilted = tilt(rows, board.frame, side)
            if most.get(tilted.rows, -1) < most[rows] + tilted.score:
                most[tilted.rows] = most[rows] + tilted.score
                queue.append(tilted.rows)
    return max(most.values())


def arrays_of(board: Board) -> tuple[np.ndarray, np.ndarray]:
    rows, frame = (np.array([list(line) for line in lines], dtype=np.uint8) for lines in (board.rows, board.frame))
    return rows, frame


@settings(max_examples=40, deadline=None)
@given(boards(4))
def test_no_play_scores_more(board: Board) -> None:
    best, bounds = best_score(board), [upper_bound(board, most) for most in (1, 2, 5, 20, 100_000)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] <= board.balls
    assert bounds[-1] == best


@settings(max_examples=20, deadline=None)
@given(boards(5))
def test_tilts_are_those_of_the_rules_and_balls_leave_as_was_said(board: Board) -> None:
    cells, frame = arrays_of(board)
    flat = cells.ravel()
    leaving, after = ways_out(flat, frame).reshape(cells.shape), np.empty_like(flat)
    for side in range(len(SIDES)):
        expected, scored = tilt(board.rows, board.frame, side), tilt_cells(flat, frame[side], side, after)
        if expected.rows == board.rows:
            assert scored == -1
        else:
            assert scored == expected.score
            assert ["".join(map(str, row)) for row in after.reshape(cells.shape).tolist()] == list(expected.rows)
    # One ball alone goes where it goes: through no hole that was not foretold of its cell.
    for place in np.argwhere((cells > 0) & (cells < 5))[:4].tolist():
        alone = [["5" if cell == 5 else "0" for cell in row] for row in cells.tolist()]
        alone[place[0]][place[1]] = "1"
        seen, queue, holes = set(), [tuple("".join(row) for row in alone)], set()
        for rows in queue:
            for side in range(len(SIDES)):
                tilted = tilt(rows, board.frame, side)
                holes |= {int(hole) for hole, _ in tilted.dropped}
                if tilted.rows not in seen:
                    seen.add(tilted.rows)
                    queue.append(tilted.rows)
        assert holes <= {colour for colour in range(1, 5) if int(leaving[tuple(place)]) >> colour & 1}


@pytest.mark.parametrize("known", KNOWN[1:])
def test_known_optima_are_proved(known: Known) -> None:
    assert upper_bound(parse_board(known.text)) == known.score
    assert Nakuron().bound(known.text) == known.score
    assert upper_bound(parse_board(known.text), 1) > known.score
