"""A game: which key does what, on puzzles whose moves are those of pieces and on others."""

from itertools import pairwise
from random import Random

import pytest

from hakoiri.cli.puzzles.playing import PlaySession, Press, scrambled
from hakoiri.guests.nakuron.board import random_board
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.registry import PuzzleSpec
from tests.support.seeds import usual


def game(puzzle: str, start: str | None = None, **options: str) -> PlaySession:
    return PlaySession(PuzzleSpec(puzzle, options, start).build())


def test_a_letter_and_an_arrow_move_a_piece() -> None:
    board = game("klotski")
    assert [choice.words for choice in board.choices] == ["G down", "H down", "I right", "J left"]
    board.press("i")
    assert board.moves == ["I right"]
    board.press("I")
    assert (board.message, board.selected, len(board.path)) == ("I is chosen: which way?", "I", 2)
    board.press(Press.RIGHT)
    board.press(Press.RIGHT)
    assert (board.message, board.moves) == ("there is no move I right", ["I right", "I right"])
    board.press(Press.LEFT)
    assert board.moves == ["I right", "I right", "I left"]
    assert board.puzzle.successors(board.path[1]).count(board.here) == 0
    assert board.here == board.path[1]


def test_q_leaves_where_it_is_no_move() -> None:
    assert game("klotski").leaves("q") and game("pancakes", "2 3 1", n="3").leaves("q")
    assert game("klotski").leaves(Press.LEAVE)
    assert not game("klotski").leaves("x")
    for board in ("QQ/P.", "PP/QQ/.."):
        assert not game("sliding", board, distinct="all").leaves("q"), (
            "a piece is called so, and need not be able to move"
        )
    assert not game("hanoi", discs="17").leaves("q"), "a disc is called so"
    pegs = "##**.##/##***##/***.**./**.***./.**.*../##**.##/##*..##"
    assert not game("peg-solitaire", pegs).leaves("q"), "the 17th of its moves"


def test_moves_of_no_piece_are_called_by_the_letters_of_their_list() -> None:
    board = game("pancakes", "2 3 1", n="3")
    assert [(choice.called, choice.words) for choice in board.choices] == [("a", "reverse 2"), ("b", "reverse 3")]
    board.press("B")
    assert board.moves == ["reverse 3"]
    board.press(Press.UP)
    assert board.message == "there is no move up"


def test_arrows_tilt_a_box() -> None:
    board = game("nakuron", random_board(3, 3, 5).text())
    ways = {choice.way: choice.target for choice in board.choices}
    assert {*ways} <= {"up", "down", "left", "right"}
    board.press(Press(next(iter(ways))))
    assert board.here == next(iter(ways.values()))
    board.press("a")
    assert (len(board.path), board.selected) == (3, "")


def test_the_goal_and_dead_ends_are_told() -> None:
    board = game("pancakes", "2 1 3", n="3")
    board.press("a")
    assert (board.solved, board.message) == (True, "goal reached after 1 move")
    board.press("b")
    assert (board.solved, board.message) == (False, "")
    pegs = game("peg-solitaire", "##...##/##...##/......./...**../......./##...##/##...##")
    pegs.press("a")
    assert pegs.message == "no moves from here"
    pegs.press(Press.TAKE)
    pegs.press(Press.NEXT)
    assert len(pegs.path) == 2


@usual(3, "puzzle", ["klotski", "hanoi", "topspin", "superpuzz", "peg-solitaire"])
def test_whatever_was_done_is_undone(puzzle: str) -> None:
    board, chance = game(puzzle), Random(puzzle)
    keys = [*Press, *"abcdeghijABCDEGHIJ"]
    for _ in range(60):
        board.press(chance.choice(keys))
        assert board.here == board.path[-1]
        assert all(after in board.puzzle.successors(before) for before, after in pairwise(board.path))
        assert len(board.moves) == len(board.path) - 1
    for _ in range(len(board.path) - 1):
        board.press(Press.UNDO)
    assert (board.here, board.moves) == (board.puzzle.start, [])
    board.press(Press.UNDO)
    assert board.message == "this is the start"


@pytest.mark.ci_slow
def test_turns_are_typed_in_their_notation() -> None:
    board = game("cube2")
    for key in "rU'f2":
        board.press(key)
    assert board.moves == ["R", "U'", "F2"]
    board.press("'")
    assert board.moves == ["R", "U'", "F'"]
    board = game("pyraminx")
    board.press("L")
    board.press("2")
    assert (board.moves, board.message) == ([], "there is no move L2")


def test_discs_are_called_by_their_letters_and_go_to_pegs() -> None:
    board = game("hanoi")
    for key in "a2b3":
        board.press(key)
    assert board.moves == ["A from peg 1 to peg 2", "B from peg 1 to peg 3"]
    board.press("2")
    assert board.message == "there is no move B to peg 2"


def test_a_scramble_is_made_of_moves_and_is_that_of_its_seed() -> None:
    rules = PuzzleSpec("tiles").build()
    made = [scrambled(rules, moves, random_words(7 << 32)) for moves in range(5)]
    assert made[0] == rules.start
    assert all(after in rules.successors(before) for before, after in pairwise(made))
    assert len({*made}) == 5
    assert scrambled(rules, 4, random_words(8 << 32)) != made[4]
