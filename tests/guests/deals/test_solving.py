"""Deals solved in memory: published figures, breadth first against depth first, and the papers' words against both."""

from itertools import islice, pairwise

import networkx
import pytest

from hakoiri.errors import TaskError
from hakoiri.guests.deals import searching as layered
from hakoiri.guests.deals.cards import random_deal
from hakoiri.guests.deals.dealt import Dealt, Move, SearchOrder, Until
from hakoiri.guests.deals.searching import Goal, SolveResult
from hakoiri.guests.deals.shortening import DIAMETERS, element_component, replay, shorten
from hakoiri.guests.deals.solitaire import Gap, Solitaire, Superpuzz, moved
from hakoiri.guests.deals.solving import solve
from hakoiri.keys.layout import ints
from tests.guests.deals.test_solitaire import FIGURE_1_GAP, FIGURE_1_MOVES, FIGURE_1_PUZZ
from tests.support import card_rules as rules
from tests.support.seeds import usual

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


@pytest.mark.ci_slow
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


@pytest.mark.ci_slow
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


@pytest.mark.slow
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


@pytest.mark.ci_slow
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


@pytest.mark.ci_slow
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


@pytest.mark.ci_slow
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


# Redundant moves: the paper's own example, element components by search, and solutions of many deals replayed


def papers_moves(puzzle: Superpuzz) -> list[Move]:
    """The moves of figure 1: of each pair the one that is a card of the field."""
    places, found = puzzle.placing.unpack(puzzle.start), list[Move]()
    holes = {word: cell for cell, word in enumerate(FIGURE_1_PUZZ.replace("/", " ").split()) if word[1] == "6"}
    cards = {puzzle.word(card): card for card in range(puzzle.placing.cards)}
    for pair in FIGURE_1_MOVES.strip("()").split(") ("):
        one, other = sorted(pair.split(", "), key=lambda word: word in cards)
        card = cards[other]
        found.append((card, holes[one]))
        holes[one] = places[card]
        card, cell = found[-1]
        places = moved(places, card, cell)
    return found


def test_the_papers_example() -> None:
    """In its 24 moves "(HA, C6) (DA, C6) (C6, HA) (DA, C6)" become two; other walks of aces are as short as can be."""
    puzzle = Superpuzz(start=FIGURE_1_PUZZ)
    moves = papers_moves(puzzle)
    shorter = shorten(puzzle, puzzle.start, moves)
    (only,) = [each for round_ in shorter.rounds for each in round_.redundant]
    assert (only.begin, only.end, only.why, only.component) == (7, 11, "property 1", (2, 1))
    told = puzzle.describe_moves(
        [puzzle.placing.pack(list(each)) for each in replay(puzzle, puzzle.placing.unpack(puzzle.start), shorter.moves)]
    )
    assert (len(told), told[7:9]) == (22, ["(DA, C6)", "(C6, HA)"])
    assert_replays(puzzle, Goal(shorter.moves, 0))


@pytest.mark.parametrize(("aces", "holes"), DIAMETERS)
def test_element_components_by_search(aces: int, holes: int) -> None:
    """Sizes and diameters of the paper, from the rules: its figure 2."""
    sizes = {(1, 1): 2, (1, 2): 3, (1, 3): 4, (2, 1): 6, (2, 2): 12, (3, 1): 24}
    ends = ["HA", "DA", "SA"][:aces] + [".."] * holes + ["H3", "D3", "S3"][: 4 - aces - holes]
    # Ranks that can go nowhere: only the aces of the left end move.
    board = [[end, "..", "..", ".."] for end in ends]
    graph: networkx.DiGraph = networkx.DiGraph()
    start = rules.board_of("/".join(map(" ".join, board)))
    order = [start]
    for here in order:
        for card, after in rules.moves(here, gap=False):
            if card in ends:
                order += [after] if after not in graph else []
                graph.add_edge(here, after)
    assert len(graph) == sizes[aces, holes]
    assert networkx.diameter(graph) == DIAMETERS[aces, holes]


@pytest.mark.slow
def test_shortened_solutions_of_many_deals_are_solutions() -> None:
    reasons: set[str] = set()
    for number in range(40):
        puzzle = dealt(Superpuzz, 4 + number % 3, number)
        places = puzzle.placing.unpack(puzzle.start)
        deep, wide = solved(puzzle, "dfs", "goal", 200_000), solved(puzzle, "bfs", "goal", 200_000)
        if deep.goal is None:
            continue
        shorter = shorten(puzzle, puzzle.start, deep.goal.moves)
        assert_replays(puzzle, Goal(shorter.moves, 0))
        assert len(shorter.moves) <= len(deep.goal.moves)
        assert wide.goal is None or len(wide.goal.moves) <= len(shorter.moves)
        assert not shorten(puzzle, puzzle.start, shorter.moves).rounds
        path = replay(puzzle, places, shorter.moves)
        assert len(set(path)) == len(path)
        for each in (each for round_ in shorter.rounds for each in round_.redundant):
            reasons.add(each.why)
            assert len(each.instead) < each.end - each.begin
            if each.component is not None:
                assert len(each.instead) <= DIAMETERS[each.component]
                assert (each.end - each.begin > DIAMETERS[each.component]) == (each.why == "property 1")
    assert "property 1" in reasons


def test_moves_against_the_rules_are_refused() -> None:
    puzzle = Superpuzz(start=FIGURE_1_PUZZ)
    places, moves = puzzle.placing.unpack(puzzle.start), papers_moves(puzzle)
    keys = [puzzle.placing.pack(list(each)) for each in replay(puzzle, places, moves)]
    assert all(after in ints(puzzle.expand(puzzle.keys([before])).successors) for before, after in pairwise(keys))
    with pytest.raises(TaskError, match="move 1, "):
        replay(puzzle, places, moves[1:])


def chains_graph(puzzle: Superpuzz) -> networkx.DiGraph:
    """All positions that the start leads to and the moves between them, by the reference rules."""
    graph: networkx.DiGraph = networkx.DiGraph()
    start = tuple(puzzle.placing.unpack(puzzle.start))
    order, known = [start], {start}
    for here in order:
        for card, cell in puzzle.moves(list(here)):
            after = tuple(moved(list(here), card, cell))
            graph.add_edge(here, after)
            if after not in known:
                known.add(after)
                order.append(after)
    return graph


@usual(3, "number", range(6))
def test_after_the_steps_no_stay_in_a_strong_component_is_longer_than_the_shortest(number: int) -> None:
    """By true components, found by networkx; only moves from column r to column r of rank r are inside one."""
    puzzle = Superpuzz({"columns": "3"}, Superpuzz({"columns": "3"}).random_deal(7, number))
    found = solved(puzzle, "dfs")
    graph = chains_graph(puzzle)
    numbers = {
        place: index for index, part in enumerate(networkx.strongly_connected_components(graph)) for place in part
    }
    for one, other in graph.edges:
        if numbers[one] == numbers[other]:
            (card,) = [card for card, cell in enumerate(one) if other[card] != cell]
            assert {one[card] % 3, other[card] % 3} == {card % puzzle.suit_size}
    if found.goal is None:
        return
    shorter = shorten(puzzle, puzzle.start, found.goal.moves)
    path = replay(puzzle, puzzle.placing.unpack(puzzle.start), shorter.moves)
    places: dict[int, list[int]] = {}
    for index, position in enumerate(path):
        places.setdefault(numbers[position], []).append(index)
    for stay in places.values():
        assert stay[-1] - stay[0] == networkx.shortest_path_length(graph, path[stay[0]], path[stay[-1]])


def test_with_enough_reach_a_solution_becomes_a_shortest_one() -> None:
    puzzle = Superpuzz(start=FIGURE_1_PUZZ)
    assert shorten(puzzle, puzzle.start, papers_moves(puzzle), 1_000).left == {
        "revisits": 24, "aces": 22, "components": 22, "twice": 22, "shortcuts": 18,
    }  # fmt: skip


@pytest.mark.ci_slow
def test_the_papers_deal_of_superpuzz() -> None:
    puzzle = Superpuzz(start=FIGURE_1_PUZZ)
    found = solved(puzzle, "bfs")
    assert (found.positions, found.depth, found.exhausted) == (622_473, 72, True)
    assert found.goal is not None
    assert len(found.goal.moves) == 18
    assert_replays(puzzle, found.goal)
    assert found.fixed is not None
    assert_replays(puzzle, found.fixed, fixed=True)
    first = solved(puzzle, "bfs", "goal")
    assert first.goal == found.goal
    assert not first.exhausted
    assert first.positions < found.positions
    assert solved(puzzle, "dfs").positions == found.positions


def test_depth_first_gives_the_24_moves_that_the_paper_prints() -> None:
    puzzle = Superpuzz(start=FIGURE_1_PUZZ)
    found = solved(puzzle, "dfs", "both")
    assert found.goal is not None
    assert found.fixed is not None
    assert " ".join(puzzle.describe_moves(puzzle.follow(puzzle.start, found.goal.moves))) == FIGURE_1_MOVES
    assert_replays(puzzle, found.fixed, fixed=True)


def test_the_papers_figure_6_has_a_solution_of_6_moves_and_one_of_15() -> None:
    """Its scan is lost; these are the one row and the three cards that both of its orders need."""
    puzzle = Gap(
        start="11 .. 12 .. 13 .. 14 ../21 22 23 24 25 26 27 15/31 32 33 34 35 36 37 16/41 42 43 44 45 46 47 17"
    )
    short, long = (solve(puzzle, puzzle.start, order, "goal", 10**6).goal for order in ("bfs", "longest"))
    assert short is not None and long is not None
    assert [puzzle.word(card) for card, _ in short.moves] == ["12", "13", "14", "15", "16", "17"]
    assert len(long.moves) == 15
    told = "15 14 15 16 13 14 15 16 17 12 13 14 15 16 17"
    path = puzzle.follow(puzzle.start, puzzle.read_moves(told))
    assert puzzle.is_goal(puzzle.keys(path[-1:]))[0]


def test_loops_are_left_out() -> None:
    """A walk around an element component and on."""
    puzzle = Superpuzz({"columns": "3"}, "HA .. S2/DA C2 D2/.. H2 ../SA CA ..")
    places, moves = puzzle.placing.unpack(puzzle.start), list[Move]()
    here = places
    for card in (0, 2, 0, 2, 0, 2):
        (move,) = [move for move in puzzle.moves(here) if move[0] == card]
        moves.append(move)
        here = moved(here, *move)
    assert element_component(puzzle, tuple(places)) == (3, 1)
    assert here == places
    shorter = shorten(puzzle, puzzle.start, moves)
    assert shorter.moves == []
    assert [each.why for each in shorter.rounds[0].redundant] == ["revisit"]
    assert shorten(puzzle, puzzle.start, moves[:4]).moves != moves[:4]
