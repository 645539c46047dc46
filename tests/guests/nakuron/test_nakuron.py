"""Nakuron: text, rules, keys, kernels against the rules, and games against their own figures."""

import hashlib
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakoiri.errors import PuzzleError
from hakoiri.guests.nakuron import kernels
from hakoiri.guests.nakuron.board import (
    SETTINGS,
    SIDES,
    Board,
    parse_board,
    parse_sequence,
    random_board,
    replay,
    tilt,
    tilt_cells,
    upper_bound,
    ways_out,
)
from hakoiri.guests.nakuron.kernels import field_of, ground_of
from hakoiri.guests.nakuron.moving import GamesRequest, PlayedGame
from hakoiri.guests.nakuron.puzzle import Nakuron
from hakoiri.guests.nakuron.tilting import moved_fields, play
from hakoiri.keys.layout import ints
from hakoiri.worker.transport.payload import packed, unpacked
from tests.support.published import KNOWN, Known
from tests.support.seeds import usual

KNOWN_TEXT = KNOWN[1].text


@st.composite
def boards(draw: st.DrawFn, most: int = 9) -> Board:
    size = draw(st.integers(1, most))
    rows = st.lists(st.text("0123450055", min_size=size, max_size=size), min_size=size, max_size=size)
    sides = st.lists(st.text("12345", min_size=size, max_size=size), min_size=4, max_size=4)
    return Board(tuple(draw(rows)), tuple(draw(sides)))


def rolled_ball_by_ball(board: Board, side: int) -> tuple[list[str], list[tuple[str, str]]]:
    """The rules once more, a ball and a cell at a time."""
    size = board.size
    down, right = ((-1, 0), (0, 1), (1, 0), (0, -1))[side]
    cells = {(row, column): cell for row, line in enumerate(board.rows) for column, cell in enumerate(line)}
    dropped = []
    for row, column in sorted(cells, key=lambda place: -(place[0] * down + place[1] * right)):
        ball = cells[row, column]
        if ball in "05":
            continue
        cells[row, column] = "0"
        while cells.get((row + down, column + right)) == "0":
            row, column = row + down, column + right  # noqa: PLW2901
        hole = board.frame[side][column if down else row]
        if (row + down, column + right) not in cells and hole != "5":
            dropped.append((hole, ball))
        else:
            cells[row, column] = ball
    return ["".join(cells[row, column] for column in range(size)) for row in range(size)], sorted(dropped)


@given(boards(), st.integers(0, 3))
def test_the_rules_are_those_of_single_balls(board: Board, side: int) -> None:
    found = tilt(board.rows, board.frame, side)
    assert (list(found.rows), sorted(found.dropped)) == rolled_ball_by_ball(board, side)


def assert_tilted_alike(board: Board, sides: list[int]) -> None:
    ground, nowhere, rows = ground_of(board), np.zeros(1, dtype=np.int64), board.rows
    tilted = moved_fields(field_of(board)[None], nowhere, np.array([len(SIDES)], dtype=np.uint8), ground)
    for side in sides:
        expected = [tilt(rows, board.frame, other) for other in range(len(SIDES))]
        assert tilted.gains.tolist() == [[each.score for each in expected]]
        assert tilted.takes.tolist() == [[len(each.dropped) for each in expected]]
        rows = expected[side].rows
        tilted = moved_fields(tilted.boards, nowhere, np.array([side], dtype=np.uint8), ground)
        assert np.array_equal(tilted.boards[0], field_of(Board(rows, board.frame)))


@settings(deadline=None)
@given(boards(), st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_the_kernel_tilts_by_the_rules(board: Board, sides: list[int]) -> None:
    assert_tilted_alike(board, sides)


@usual(4, "size", [63, 64, 65, 130, 250, 256])
def test_the_kernel_across_words(size: int) -> None:
    assert_tilted_alike(random_board(size, size % 3 + 1, size), [0, 1, 2, 3, 1, 0])


def test_without_walls_balls_roll_across_the_whole_board() -> None:
    rows = ("1" + "0" * 255, *["0" * 256] * 254, "0" * 255 + "2")
    assert_tilted_alike(Board(rows, ("5" * 256,) * 4), [2, 1, 0, 3, 1])


@settings(deadline=None, max_examples=60)
@given(boards(8))
def test_keys_lead_where_the_rules_lead(board: Board) -> None:
    puzzle = Nakuron(None, board.text())
    assert puzzle.rows_of(puzzle.start) == board.rows
    assert puzzle.parse(puzzle.start_text()) == puzzle.parse(puzzle.render(puzzle.start)) == puzzle.start
    keys = [puzzle.start, *puzzle.successors(puzzle.start)]
    moves = puzzle.scored(puzzle.keys(keys))
    assert ints(moves.successors) == [after for key in keys for after in puzzle.successors(key)]
    assert puzzle.reserves(puzzle.keys(keys)).tolist() == list(map(puzzle.reserve, keys))
    tilts = [(key, tilt(puzzle.rows_of(key), board.frame, side)) for key in keys for side in range(len(SIDES))]
    assert moves.scores.tolist() == [tilted.score for key, tilted in tilts if puzzle.pack(tilted.rows) != key]


def test_moves_are_told_with_what_they_score() -> None:
    puzzle = Nakuron(None, KNOWN_TEXT)
    told = {puzzle.describe_move(puzzle.start, after) for after in puzzle.successors(puzzle.start)}
    assert told == {"up, 7 of 34", "right, 6 of 27", "down, 8 of 27", "left, 17 of 34"}


@usual(1, "known", sorted(KNOWN, key=lambda known: known.boards), ids=lambda known: str(known.boards))
def test_reachable_boards(known: object) -> None:
    board = parse_board(known.text)  # type: ignore[attr-defined]
    met, waiting = {board.rows}, deque([board.rows])
    while waiting:
        rows = waiting.popleft()
        for side in range(4):
            after = tilt(rows, board.frame, side).rows
            if after not in met:
                met.add(after)
                waiting.append(after)
    assert len(met) == known.boards  # type: ignore[attr-defined]


# Texts


def test_sequences() -> None:
    assert parse_sequence(" 012\n3 ") == [0, 1, 2, 3]
    # The contest's code for the end of a game: what follows does not count.
    assert parse_sequence("01 2 -1 3 x") == parse_sequence("012-1-1-1") == [0, 1, 2]
    with pytest.raises(PuzzleError, match="move 3 is '4'"):
        parse_sequence("014")
    with pytest.raises(PuzzleError, match="30,001 moves"):
        parse_sequence("0" * 30_001)


# Boards of a seed


def test_a_small_random_board_by_hand() -> None:
    assert random_board(2, 3, 0).text() == "2/21/31/33/12/53/35"


@pytest.mark.parametrize("setting", SETTINGS)
def test_random_boards_are_the_same_everywhere_and_of_their_setting(setting: int) -> None:
    board = random_board(250, setting, 1)
    digest = hashlib.sha256(board.text().encode()).hexdigest()
    assert digest[:16] == {1: "19a6535edd688ccf", 2: "b36a55b8bbfc3685", 3: "18d4d85410a211c5"}[setting]
    ball, wall = SETTINGS[setting]
    cells = "".join(board.rows)
    assert cells.count("5") == pytest.approx(62_500 * float(wall), rel=0.05)
    assert all(cells.count(colour) == pytest.approx(62_500 * float(ball), rel=0.05) for colour in "1234")
    assert all("".join(board.frame).count(hole) == pytest.approx(200, rel=0.25) for hole in "12345")
    assert random_board(250, setting, 2).rows != board.rows


# Games


def best_game(board: Board, strategy: str, seed: int, first: int, count: int) -> PlayedGame:
    request = packed(GamesRequest(Nakuron.games.index(strategy), seed, first, count))
    return unpacked(play(Nakuron(), request, [*ground_of(board), field_of(board)]), PlayedGame)


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: str(known.greedy))
def test_greedy_reaches_what_it_is_known_to_reach(known: object) -> None:
    board = parse_board(known.text)  # type: ignore[attr-defined]
    assert best_game(board, "greedy", 1, 0, 1).score == known.greedy  # type: ignore[attr-defined]


@pytest.mark.parametrize("strategy", Nakuron.games)
def test_games_have_the_score_that_the_rules_give_them(strategy: str) -> None:
    board = random_board(24, 2, 5)
    games = [best_game(board, strategy, 7, number, 1) for number in range(3)]
    for game in games:
        assert sum(tilted.score for tilted in replay(board, game.sequence)) == game.score > 0
    best = best_game(board, strategy, 7, 0, 3)
    assert (best.score, best.tried) == (max(game.score for game in games), sum(game.tried for game in games))
    if strategy == "cycle":
        assert games[0].sequence[:6] == [0, 1, 2, 3, 0, 1]


def test_a_plane_is_moved_up_by_whole_words() -> None:
    """As plain Python, which checks each index."""
    chance = np.random.default_rng(1)
    plane, moving = chance.integers(0, 2**64, (2, 12), dtype=np.uint64)
    for far in (1, 4, 11):
        out = np.zeros(12, dtype=np.uint64)
        vars(kernels)["_move_up"].py_func(plane, moving, 12, far, out)
        for place in range(12):
            below = plane[place + far] & moving[place + far] if place + far < 12 else 0
            assert out[place] == plane[place] & ~moving[place] | below


# The bound on the score of any play: against every play of small boards, and the known optima


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
