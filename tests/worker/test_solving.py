"""Deals solved in memory: published figures, breadth first against depth first, and the papers' words against both."""

from itertools import islice

import pytest

from hakoiri.puzzles.capabilities import Dealt, SearchOrder, Until
from hakoiri.puzzles.solitaires.cards import random_deal
from hakoiri.puzzles.solitaires.solitaire import Gap, Solitaire, Superpuzz, moved
from hakoiri.worker.solitaires.solving import solve
from hakoiri.worker.studies import deals as layered
from hakoiri.worker.studies.deals import Goal, SolveResult
from tests.puzzles.test_solitaire import FIGURE_1_GAP
from tests.support import card_rules as rules

#: A contest deal, the hardest that a few minutes of hill climbing had found, and one dealt in order.
CONTEST = "26 31 13 44 21 24 42/17 45 23 25 41 36 11/46 34 14 12 37 32 47/16 43 27 35 22 33 15"
CLIMBED = "23 36 42 12 15 26 31/44 41 22 35 25 21 17/34 45 32 13 27 16 47/43 24 33 14 11 46 37"
IN_ORDER = "12 13 14 15 16 17 21/22 23 24 25 26 27 31/32 33 34 35 36 37 41/42 43 44 45 46 47 11"
PLENTY = 10_000_000
strategies = pytest.mark.parametrize("strategy", ["bfs", "dfs"])


def solved(puzzle: Solitaire, strategy: SearchOrder, until: Until = "exhausted", cap: int = PLENTY) -> SolveResult:
    return solve(puzzle, puzzle.start, strategy, until, cap)


def dealt(game: type[Solitaire], size: int, number: int, seed: int = 3, **options: str) -> Solitaire:
    words = {game.size_option: str(size), **options}
    return game(words, game(words).text_of_deal(random_deal(4 * size, seed, number)))


def boards_of(puzzle: Solitaire, goal: Goal) -> list[str]:
    places = [puzzle.placing.unpack(puzzle.start)]
    for card, cell in goal.moves:
        places.append(moved(places[-1], card, cell))
    return [puzzle.render(puzzle.placing.pack(each)) for each in places]


def assert_replays(puzzle: Solitaire, goal: Goal, fixed: bool = False) -> None:
    """The solution, move by move, by rules that share nothing with ours."""
    boards = boards_of(puzzle, goal)
    if isinstance(puzzle, Gap):
        rules.replay(rules.gap_start(puzzle.deal or ""), boards, rules.is_gap_goal, gap=True)
    else:
        start = rules.puzz_start(puzzle.deal or "")
        rules.replay(start, boards, lambda board: rules.is_puzz_goal(board, fixed), gap=False)


@strategies
@pytest.mark.parametrize(
    ("deal", "moves", "positions", "depth"),
    [(FIGURE_1_GAP, None, 22, 7), (CONTEST, 33, 6_785, 38), (CLIMBED, 34, 423_672, 55), (IN_ORDER, 0, 1, 0)],
)
def test_known_deals_of_gap(deal: str, moves: int | None, positions: int, depth: int, strategy: SearchOrder) -> None:
    puzzle = Gap(start=deal)
    found = solved(puzzle, strategy)
    assert (found.positions, found.exhausted) == (positions, True)
    assert (None if found.goal is None else len(found.goal.moves)) == moves
    assert found.goal == found.fixed
    if strategy == "bfs":
        assert (found.depth, sum(found.layers), len(found.layers)) == (depth, positions, depth + 1)
    if found.goal is not None:
        assert_replays(puzzle, found.goal)


@pytest.mark.parametrize(("size", "deals"), [(3, 30), (4, 8), (5, 4), (7, 2)])
def test_depth_first_goes_in_the_order_of_the_paper(size: int, deals: int) -> None:
    """Each first goal with the whole way to it, the positions by then, the greatest depth; from positions, too."""
    cap, goals = 1_500, 0
    for number in range(deals):
        puzzle = dealt(Superpuzz, size, number)
        if number % 2:
            puzzle = Superpuzz({"columns": str(size)}, puzzle.render(puzzle.start))
        found = solved(puzzle, "dfs", cap=cap)
        plain = rules.PaperDepthFirst(rules.board_of(puzzle.render(puzzle.start)))
        boards = list(islice(plain.boards(), cap + 1))
        assert (found.positions, found.exhausted) == (min(cap, len(boards)), len(boards) <= cap)
        assert found.depth == max(plain.depths[board] for board in boards[:cap])
        for goal, fixed in ((found.goal, False), (found.fixed, True)):
            met = [n for n, board in enumerate(boards[:cap], 1) if rules.is_puzz_goal(board, fixed)]
            assert (goal is None) == (not met)
            if goal is not None:
                goals += 1
                assert goal.positions == met[0]
                assert boards_of(puzzle, goal) == [rules.text_of(board) for board in plain.way_to(boards[met[0] - 1])]
    assert goals > 5 or size > 4


def test_breadth_and_depth_first_agree_on_every_gap_deal() -> None:
    """Deals of 3 to 9 ranks; every solution is replayed."""
    solvable = 0
    for size in range(3, 10):
        for number in range(50 if size < 9 else 5):
            puzzle = dealt(Gap, size, number)
            wide, deep = solved(puzzle, "bfs"), solved(puzzle, "dfs")
            assert (wide.positions, wide.exhausted) == (deep.positions, deep.exhausted)
            assert (wide.goal is None) == (deep.goal is None)
            if wide.goal is not None and deep.goal is not None:
                solvable += 1
                assert len(wide.goal.moves) == len(deep.goal.moves)
                for found in (wide, deep):
                    assert found.goal is not None
                    assert_replays(puzzle, found.goal)
    assert solvable > 75


@pytest.mark.parametrize(("game", "size", "deals"), [(Gap, 4, 40), (Gap, 6, 25), (Superpuzz, 3, 25)])
def test_distances_are_those_of_the_papers_words(game: type[Solitaire], size: int, deals: int) -> None:
    gap = game is Gap
    for number in range(deals):
        puzzle = dealt(game, size, number)
        found = solved(puzzle, "bfs")
        start = (rules.gap_start if gap else rules.puzz_start)(puzzle.deal or "")
        away = rules.distances(start, gap)
        steps = list(away.values())
        assert found.layers == [steps.count(depth) for depth in range(max(steps) + 1)]
        for goal, fixed in ((found.goal, False), (found.fixed, True)):
            reached = [
                steps
                for board, steps in away.items()
                if (rules.is_gap_goal(board) if gap else rules.is_puzz_goal(board, fixed))
            ]
            assert (None if goal is None else len(goal.moves)) == min(reached, default=None)
            assert goal is None or goal.positions <= found.positions


@strategies
@pytest.mark.parametrize("game", [Gap, Superpuzz])
def test_a_cap_is_kept_and_told(game: type[Solitaire], strategy: SearchOrder) -> None:
    puzzle = dealt(game, 7, 2)
    whole = solved(puzzle, strategy, cap=20_000)
    for cap in (1, 2, 100, whole.positions - 1):
        found = solved(puzzle, strategy, cap=cap)
        assert (found.positions, found.exhausted) == (cap, False)


@pytest.mark.parametrize("cap", [PLENTY, 300, 7])
@pytest.mark.parametrize(("game", "size"), [(Gap, 3), (Gap, 4), (Superpuzz, 3)])
def test_any_puzzle_is_solved_by_its_moves_as_cards_are_by_kernels(game: type[Solitaire], size: int, cap: int) -> None:
    for number in range(12):
        puzzle = dealt(game, size, number)
        by_layers = layered.solve(puzzle, puzzle.start, "bfs", "exhausted", cap)
        by_cards = solve(puzzle, puzzle.start, "bfs", "exhausted", cap)
        assert (by_layers.positions, by_layers.exhausted) == (by_cards.positions, by_cards.exhausted)
        if by_cards.exhausted:
            assert by_layers.layers == by_cards.layers
            assert (by_layers.goal is None) == (by_cards.goal is None)
        if by_layers.goal is not None:
            path = Dealt.follow(puzzle, puzzle.start, by_layers.goal.moves)
            assert path[-1] in puzzle.goals
            assert by_cards.goal is None or len(path) - 1 == len(by_cards.goal.moves)


def moves_of_tree(
    puzzle: Gap, places: tuple[int, ...], known: dict[tuple[int, ...], tuple[int, int]]
) -> tuple[int, int]:
    """By the rules: how many nodes the tree below a position has, and its longest solution (or -1)."""
    if places not in known:
        after = [moves_of_tree(puzzle, tuple(moved([*places], *move)), known) for move in puzzle.moves([*places])]
        own = 0 if puzzle.placing.pack(places) in puzzle.goals else -1
        longest = max([own, *(moves + 1 for _, moves in after if moves >= 0)])
        known[places] = 1 + sum(nodes for nodes, _ in after), longest
    return known[places]


@pytest.mark.parametrize("number", range(8))
def test_without_memory_the_positions_are_the_nodes_of_a_tree(number: int) -> None:
    puzzle = Gap({"ranks": "4"}, Gap({"ranks": "4"}).random_deal(3, number))
    nodes, longest = moves_of_tree(puzzle, tuple(puzzle.placing.unpack(puzzle.start)), {})
    shortest, farthest, tree = (
        solve(puzzle, puzzle.start, order, "goal", 2**30) for order in ("bfs", "longest", "tree")
    )
    assert (tree.positions, tree.exhausted, tree.tree) == (nodes, True, None)
    assert (len(farthest.goal.moves) if farthest.goal else -1) == longest
    for found in (farthest, tree):
        assert (found.goal is None) == (shortest.goal is None)
        if found.goal is not None:
            assert_replays(puzzle, found.goal)
    if tree.goal is not None and shortest.goal is not None:
        assert len(tree.goal.moves) == len(shortest.goal.moves)


def test_a_tree_that_is_stopped_is_estimated() -> None:
    puzzle = Gap(start="26 31 13 44 21 24 42/17 45 23 25 41 36 11/46 34 14 12 37 32 47/16 43 27 35 22 33 15")
    nodes, _ = moves_of_tree(puzzle, tuple(puzzle.placing.unpack(puzzle.start)), {})
    found = solve(puzzle, puzzle.start, "tree", "goal", 1_000)
    assert (found.positions, found.exhausted) == (1_000, False)
    assert found.tree is not None and found.tree_error is not None
    assert abs(found.tree - nodes) < 5 * found.tree_error
    assert found.tree_error < nodes


def test_the_deal_of_figure_7_has_83521_positions() -> None:
    """17 for each suit: the one order of a row that has so many."""
    deal = "/".join(" ".join(f"{suit}{rank}" for rank in "3724651") for suit in "1234")
    found = solved(Gap(start=deal), "bfs")
    assert (found.positions, found.exhausted) == (83_521, True)
