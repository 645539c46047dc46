"""Gap and Superpuzz: keys, texts, errors, goals, and the kernel against the papers' words."""

import numpy as np
import pytest

from hakoiri.errors import ConfigurationError, Hint, PuzzleError
from hakoiri.guests.deals.cards import MOST_COLUMNS, random_deal
from hakoiri.guests.deals.solitaire import Gap, Solitaire, Superpuzz
from hakoiri.keys.layout import Key, ints
from tests.support import card_rules as rules
from tests.support.refusals import refused

SIZES = range(3, MOST_COLUMNS + 1)
LAYOUTS = ["u32", "u64", "u64", "u128", "u128", "u128", "u256", "u256", "u256", "u256", "u256"]
FIGURE_1_GAP = "42 21 13 22 32 26 23/16 43 47 14 24 34 36/46 17 27 31 11 37 12/35 41 44 25 15 33 45"
POSITION = "11 42 .. 13 22 32 26 23/21 16 43 47 14 24 34 36/31 46 17 27 .. .. 37 12/41 35 .. 44 25 15 33 45"
FIGURE_1_PUZZ = "D2 S2 H4 H3 D6 H5/C2 H2 SA S4 C6 S3/S5 S6 D5 C4 DA H6/HA C5 CA D4 D3 C3"
#: The paper's solution of its figure 1, found depth first.
FIGURE_1_MOVES = (
    "(D6, H4) (S3, D6) (S5, C6) (HA, C6) (C6, DA) (C5, C6) (C6, D2) (HA, C6) (DA, C6) (C6, HA) (DA, C6) (CA, C6) "
    "(D3, C6) (C6, D5) (S6, C2) (C3, C6) (HA, S6) (S6, DA) (SA, S6) (S6, H3) (S4, S6) (S6, H4) (S5, S6) (S6, H5)"
)
games = pytest.mark.parametrize("game", [Gap, Superpuzz])
sizes = pytest.mark.parametrize("size", SIZES)


def made(game: type[Solitaire], size: int, deal: str | None = None, **options: str) -> Solitaire:
    return game({game.size_option: str(size), **options}, deal)


def deal_text(game: type[Solitaire], size: int, number: int, seed: int = 7) -> str:
    puzzle = made(game, size)
    return puzzle.text_of_deal(random_deal(4 * size, seed, number))


def some_positions(puzzle: Solitaire, count: int) -> list[Key]:
    """Return at most `count` positions that the start leads to."""
    found = dict.fromkeys([puzzle.start])
    for key in list(found):
        order = [key]
        for here in order:
            order += [after for after in puzzle.successors(here) if after not in found and len(found) < count]
            found.update(dict.fromkeys(order))
    return list(found)


@games
@sizes
def test_moves_are_those_of_the_papers_words(game: type[Solitaire], size: int) -> None:
    gap = game is Gap
    puzzle = made(game, size, deal_text(game, size, 0))
    assert puzzle.layout.name == LAYOUTS[size - 3]
    start = (rules.gap_start if gap else rules.puzz_start)(puzzle.deal or "")
    assert puzzle.render(puzzle.start) == rules.text_of(start)
    keys = some_positions(puzzle, 30)
    found, counts = puzzle.expand(puzzle.keys(keys))
    for key, end, count in zip(keys, np.cumsum(counts), counts, strict=True):
        words = [rules.text_of(after) for _, after in rules.moves(rules.board_of(puzzle.render(key)), gap)]
        assert sorted(map(puzzle.render, ints(found[end - count : end]))) == sorted(words)


@games
def test_blanks_between_cards_mean_nothing(game: type[Solitaire]) -> None:
    text = made(game, 7).start_text()
    assert made(game, 7, text.replace("/", "  /\t ")).start_text() == text


@games
def test_a_key_that_is_no_position(game: type[Solitaire]) -> None:
    puzzle = made(game, 7)
    for wrong in (puzzle.start | 1, (1 << 128) - 1):
        with pytest.raises(ConfigurationError, match=f"{wrong:#x}"):
            puzzle.parse(f"{wrong:#x}")


@games
@sizes
def test_goals(game: type[Solitaire], size: int) -> None:
    puzzle = made(game, size)
    texts = [puzzle.render(key) for key in puzzle.goals]
    if game is Gap:
        assert len(texts) == 1
        assert rules.is_gap_goal(rules.board_of(texts[0]))
    else:
        assert len(set(texts)) == 24
        assert all(rules.is_puzz_goal(rules.board_of(text), fixed=False) for text in texts)
        (fixed,) = made(game, size, goals="1").goals
        assert rules.is_puzz_goal(rules.board_of(puzzle.render(fixed)), fixed=True)
    others = some_positions(puzzle, 30)
    keys = puzzle.keys([*puzzle.goals, *others])
    expected = [key in puzzle.goals for key in [*puzzle.goals, *others]]
    assert puzzle.is_goal(keys).tolist() == expected
    assert not any(puzzle.successors(key) for key in puzzle.goals)


def test_the_papers_first_figures() -> None:
    gap = Gap(start=FIGURE_1_GAP)
    assert gap.render(gap.start) == POSITION
    assert "36" in [gap.describe_move(gap.start, after) for after in gap.successors(gap.start)]


def test_the_papers_solution_in_the_papers_words() -> None:
    """Replayed from its own words, and told again in them, holes named by the cards that were there."""
    puzzle = Superpuzz(start=FIGURE_1_PUZZ)
    words = FIGURE_1_MOVES.removesuffix(")").split(") ")
    board = [list(row) for row in rules.board_of(FIGURE_1_PUZZ)]
    place = {word: (row, column) for row, words in enumerate(board) for column, word in enumerate(words)}
    path = [puzzle.start]
    for pair in words:
        one, other = pair.strip("()").split(", ")
        place[one], place[other] = place[other], place[one]
        rows = [[""] * 6 for _ in range(4)]
        for word, (row, column) in place.items():
            rows[row][column] = ".." if word[1] == "6" else word
        path.append(puzzle.parse("/".join(map(" ".join, rows))))
        assert path[-1] in puzzle.successors(path[-2])
    assert puzzle.is_goal(puzzle.keys(path)).tolist() == [False] * 24 + [True]
    assert " ".join(puzzle.describe_moves(path)) == FIGURE_1_MOVES
    assert puzzle.describe_move(path[0], path[1]) == "(.., H4)"
    assert puzzle.describe_moves(path[1:])[0] == "(S3, ..)"


def test_blanks_stand_for_the_last_ranks_of_a_deal() -> None:
    text = FIGURE_1_PUZZ.replace("D6", "..").replace("C6", "..").replace("S6", "..").replace("H6", "..")
    assert Superpuzz(start=text).start == Superpuzz(start=FIGURE_1_PUZZ).start


def test_a_list_of_deals_is_to_be_solved() -> None:
    with refused(ConfigurationError, "a list of 2 deals, a run takes one", Hint("solve", "gap")):
        Gap(start=f"2/{FIGURE_1_GAP}/{FIGURE_1_GAP}")


def test_a_deal_of_another_size_says_which() -> None:
    with refused(ConfigurationError, "row 1 '12 13 21' has 3 cards", Hint("give", "option", "ranks=3")):
        Gap(start="12 13 21/22 23 31/32 33 41/42 43 11")


@games
def test_options_out_of_range(game: type[Solitaire]) -> None:
    for size in ("2", "14", "six"):
        with pytest.raises(PuzzleError, match=r"3\.\.13"):
            made(game, size)  # type: ignore[arg-type]


def test_deals_are_the_same_everywhere() -> None:
    """SplitMix64 as published (Steele, Lea and Flood; first words of seed 0 and of 1234567), and Fisher-Yates."""
    from itertools import islice

    from hakoiri.keys.splitmix import random_words

    assert list(islice(random_words(0), 2)) == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
    assert list(islice(random_words(1234567), 2)) == [6457827717110365317, 3203168211198807973]
    assert random_deal(4, 0, 0) != random_deal(4, 0, 1)
    assert sorted(random_deal(52, 5, 9)) == list(range(52))
    chosen = [tuple(random_deal(3, 1, number)) for number in range(6_000)]
    assert {chosen.count(order) // 100 for order in set(chosen)} <= {9, 10}
    assert len(set(chosen)) == 6
