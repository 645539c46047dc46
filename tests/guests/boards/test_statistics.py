"""The statistics of boards for their designers, against plain searches and all shortest solutions written out."""

from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from hakoiri.api import Run, census, explore
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.keys.layout import Key, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.sliding_blocks.pieces import Blocks
from tests.support.seeds import usual

BOARD, GOAL = "DDB/CA./.A.", "D@3,2"


def slow_statistics(puzzle: Puzzle, key: Key) -> dict[str, Any] | None:
    """The same by the reference rules and by all shortest solutions, one by one; ``None`` without a solution."""
    graph: nx.Graph = nx.Graph()
    queue = [key]
    for here in queue:
        graph.add_node(here)
        queue += [after for after in dict.fromkeys(puzzle.successors(here)) if after not in {*queue}]
        graph.add_edges_from((here, after) for after in puzzle.successors(here))
    goals = [here for here in queue if is_goal(puzzle, here)]
    if not goals:
        return None
    away = nx.multi_source_dijkstra_path_length(graph, goals)
    nearest = [goal for goal in goals if nx.shortest_path_length(graph, key, goal) == away[key]]
    paths = [path for goal in nearest for path in nx.all_shortest_paths(graph, key, goal)]
    first = min(paths)
    after = [{*graph[here]} for here in first[:-1]]
    onward = [after[0], *(found - {before} for before, found in zip(first, after[1:], strict=False))] if after else []
    return {
        "moves": len(first) - 1,
        "solutions": len(paths),
        "forced": sum(len(found) == 1 for found in onward),
        "branching": round(sum(map(len, after)) / len(after), 2) if after else 0.0,
        "good": [
            round(sum(away[there] < away[here] for there in found) / len(found), 3)
            for here, found in zip(first, after, strict=False)
        ],
        "idle": idle(puzzle, paths),
        "positions": len(queue),
        "dead_ends": sum(graph.degree(here) == 1 and here not in goals for here in graph),
    }


def is_goal(puzzle: Puzzle, key: Key) -> bool:
    return bool(puzzle.is_goal(puzzle.keys([key]))[0])


def idle(puzzle: Puzzle, paths: list[list[Key]]) -> str | None:
    """The letters that are never named by the moves of some solution."""
    if not isinstance(puzzle, Blocks):
        return None
    letters = {*puzzle.render(paths[0][0])} - {*"./"}
    return "".join(sorted(set().union(*(letters - moved_letters(puzzle, path) for path in paths))))


def moved_letters(puzzle: Puzzle, path: list[Key]) -> set[str]:
    changed = [cells for boards in pairwise(puzzle.render_path(path)) for cells in zip(*boards, strict=True)]
    return {letter for cells in changed if cells[0] != cells[1] for letter in cells}


@pytest.mark.ci_slow
@usual(1, "metric", ["unit", "finger"])
def test_the_statistics_of_the_boards_of_a_run(metric: str, tmp_path: Path) -> None:
    with explore("sliding", {"goal": GOAL, "metric": metric}, start=BOARD, data=tmp_path) as run:
        keys = ints(run.configurations()[0])
        assert len(keys) == 64
        found = [asdict(run.statistics(key)) for key in keys[::2]]
        assert found == [slow_statistics(run.puzzle, key) for key in keys[::2]]
        assert any(row["idle"] for row in found) and any(row["idle"] == "" for row in found)
        assert run.statistics() == run.statistics(BOARD)


@pytest.mark.ci_slow
def test_those_of_a_census_are_of_the_component_of_the_board(tmp_path: Path) -> None:
    with census("sliding", {"goal": "D@1,1"}, start="ABC/ADD/..E", data=tmp_path) as run:
        found = []
        for key in ints(run.layer(0))[::7]:
            found.append(slow_statistics(run.puzzle, key))
            if found[-1] is None:
                with pytest.raises(UnanswerableError, match=f"component {run.component_of(key)} of run .* has no goal"):
                    run.statistics(key)
            else:
                assert asdict(run.statistics(key)) == found[-1]
        assert {row and row["positions"] for row in found} == {None, 24, 26}


def test_a_puzzle_without_pieces_has_no_idle_ones(tmp_path: Path) -> None:
    with explore("hanoi", {"discs": "3"}, data=tmp_path) as run:
        assert asdict(run.statistics()) == slow_statistics(run.puzzle, run.puzzle.start)
        assert run.statistics().idle is None


def test_as_many_solutions_as_there_are_paths(usual_run: Run) -> None:
    found = usual_run.statistics()
    assert (found.moves, found.solutions) == (116, usual_run.shortest_paths().count)


def test_boards_that_have_none(small_run: Run, merged_run: Run, tmp_path: Path) -> None:
    for run, why in ((small_run, "has no goal among"), (merged_run, "has mirror images merged")):
        with pytest.raises(UnanswerableError, match=why):
            run.statistics()
    with explore("gap", {"ranks": "3"}, data=tmp_path) as run, pytest.raises(UnanswerableError, match="taken back"):
        run.statistics()
    with explore(until_goal=True, data=tmp_path) as run, pytest.raises(UnanswerableError, match="at its first goal"):
        run.statistics()
