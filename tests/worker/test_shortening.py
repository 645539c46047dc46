"""Redundant moves: the paper's own example, element components by search, and solutions of many deals replayed."""

from itertools import pairwise

import networkx
import pytest

from hakoiri.errors import TaskError
from hakoiri.keys.layout import ints
from hakoiri.puzzles.capabilities import Move
from hakoiri.puzzles.solitaires.solitaire import Superpuzz, moved
from hakoiri.worker.solitaires.shortening import DIAMETERS, replay, shorten
from hakoiri.worker.studies.deals import Goal
from tests.puzzles.test_solitaire import FIGURE_1_MOVES, FIGURE_1_PUZZ
from tests.support import card_rules as rules
from tests.worker.test_solving import assert_replays, dealt, solved


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


@pytest.mark.parametrize("number", range(6))
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
