"""Generated boards: each wanted property by plain rules, the same boards on any threads, resumed, verified, refused."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from hakoiri.coordinator.session.session import Control
from hakoiri.coordinator.studies.generate import (
    GenerateBoards,
    GenerateFigures,
    GeneratePlan,
    reference_solutions,
)
from hakoiri.errors import PuzzleError
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.mixes import Boards
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.boards import images_of, least_image, parse_board
from hakoiri.puzzles.sliding_blocks.sliding import Sliding
from hakoiri.worker.studies.designing import SolvedSpace, statistics
from tests.support.runs import StoppingAfter, driven, opened, verified

WANTED: dict[str, Any] = {
    "size": "3x4", "pieces": "2x1:1..2 1x2:1..2 1x1:2..4 xx/x.:0..1", "empty": "2", "goal": "2x1@4,1", "least": 4,
    "most": 20, "boards": 6,
}  # fmt: skip


def generated(data: Path, control: Control | None = None, workers: int = 1, **wanted: Any) -> Path:
    asked = GenerateBoards.parse_request(PuzzleSpec("sliding"), **WANTED | wanted)
    return driven(data, asked.spec, "generate", asked.plan, asked.limits, control, workers=workers)


def boards_of(directory: Path) -> list[dict[str, Any]]:
    with opened(directory) as run:
        return GenerateBoards(run.store, run.puzzle).boards()


def slow_graph(puzzle: Sliding) -> nx.Graph:
    """Everything that the start reaches, by the reference rules."""
    graph: nx.Graph = nx.Graph()
    graph.add_node(puzzle.start)
    queue = [puzzle.start]
    for key in queue:
        queue += {*puzzle.successors(key)} - graph.nodes
        graph.add_edges_from((key, after) for after in puzzle.successors(key))
    return graph


@pytest.mark.parametrize(
    "which", [{}, {"unique": True}, {"no_idle": True}, {"unique": True, "no_idle": True, "each": 3}]
)
def test_boards_are_what_is_wanted(which: dict[str, Any], tmp_path: Path) -> None:
    rows = boards_of(generated(tmp_path, **which))
    assert len(rows) == 6 and len({least_image(row["board"], row["goal"]) for row in rows}) == 6
    assert [row["moves"] for row in rows] == sorted((row["moves"] for row in rows), reverse=True)
    for row in rows:
        puzzle = Sliding({"goal": row["goal"]}, row["board"])
        graph = slow_graph(puzzle)
        graph.add_edges_from((key, "goal") for key in [*graph] if puzzle.is_goal(puzzle.keys([key]))[0])
        paths = [path[:-1] for path in nx.all_shortest_paths(graph, puzzle.start, "goal")]
        assert (len(paths[0]) - 1, len(paths)) == (row["moves"], row["solutions"])
        assert reference_solutions(puzzle, puzzle.start) == (row["moves"], row["solutions"])
        still = {piece for path in paths for piece in set.intersection(*(set(puzzle.unpack(key)) for key in path))}
        assert len(row["idle"]) == len(still)
        assert (
            4 <= row["moves"] <= 20
            and (len(paths) == 1 or "unique" not in which)
            and not (still and "no_idle" in which)
        )
        graph.remove_node("goal")
        ends = [key for key in graph if graph.degree(key) == 1 and not puzzle.is_goal(puzzle.keys([key]))[0]]
        assert (row["positions"], row["dead_ends"]) == (len(graph), len(ends))
        degrees = [graph.degree(key) for key in min(paths)[:-1]]
        if len(paths) == 1:
            assert row["branching"] == pytest.approx(sum(degrees) / len(degrees), abs=0.01)
            assert row["good"] == [pytest.approx(1 / degree, abs=0.001) for degree in degrees]
            assert row["forced"] == sum(degree - (step > 0) == 1 for step, degree in enumerate(degrees))


def test_a_hunt_finds_harder_boards_the_same_on_any_threads(tmp_path: Path) -> None:
    wanted: dict[str, Any] = {
        "pieces": "xx/x.:1..2 2x1:0..2 1x2:0..2 1x1:0..3", "empty": "2..3", "goal": "xx/x.@3,2", "least": 2,
        "most": 60, "boards": 4,
    }  # fmt: skip
    before = boards_of(generated(tmp_path / "before", **wanted))
    directory = generated(tmp_path / "one", hunt=15, **wanted)
    found = boards_of(directory)
    assert len(found) == 4 and len({least_image(row["board"], row["goal"]) for row in found}) == 4
    assert sum(row["moves"] for row in found) > sum(row["moves"] for row in before)
    for row in found:
        puzzle = Sliding({"goal": row["goal"]}, row["board"])
        assert reference_solutions(puzzle, puzzle.start) == (row["moves"], row["solutions"])
    assert verified(directory, full=True).ok
    with opened(directory) as run:
        assert GenerateFigures.of(run.store.state).tried >= 4 * 15
    stopped = generated(tmp_path / "two", StoppingAfter(3), workers=2, hunt=15, **wanted)
    assert boards_of(generated(tmp_path / "two", workers=2, hunt=15, **wanted)) == found, stopped


def test_figures_of_hakoiri_musume() -> None:
    puzzle = PuzzleSpec("klotski").build()
    space = SolvedSpace.of(puzzle, puzzle.start, 30_000)
    assert space is not None and SolvedSpace.of(puzzle, puzzle.start, 20_000) is None
    found = asdict(statistics(space, space.place(puzzle.start), puzzle.render(puzzle.start)))
    assert (found["moves"], found["positions"], len(found["good"])) == (116, 25_955, 116)


def test_images_of_a_board() -> None:
    assert images_of("AB/A.") == ["AB/A.", "AB/.B", "A./AB", ".A/BA", "AA/B.", "AA/.B", "A./BB", ".A/BB"]
    assert len(images_of("AB./AB.")) == 4
    assert {least_image(image, "**/*A") for image in ("AB/A.", "AA/B.")} == {"AA/B."}
    assert least_image("A./AB", "**/*A") == "A./AB"


def test_a_varied_board_differs_in_a_piece_or_two() -> None:
    boards = Boards.parse("4x4", "2x2:1 2x1:0..3 1x1:0..6", "2..5")
    before = "AABB/AACC/D.E./FG.."
    standing = set(parse_board(before).pieces.values())
    counts = set()
    for seed in range(60):
        _, board = boards.varied(before, random_words(seed))
        after = set(parse_board(board).pieces.values())
        assert after != standing and len(standing - after) <= 2
        counts.add(len(after))
    assert {len(standing) - 1, len(standing), len(standing) + 1} <= counts
    assert Boards.parse("2x2", "1x1:4", "0").varied("AB/CD", random_words(1)) == ((), "")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"size": "9x9"}, "above the limit of 64 free cells"),
        ({"pieces": "2x2:9"}, "no board of 3x4"),
        ({"pieces": "x.x:1"}, "not connected"),
        ({"pieces": "xx/x:1"}, "'xx/x' is not a piece"),
        ({"goal": "2x2@4,4"}, "does not fit"),
        ({"goal": "A@4,4"}, "such as 2x2@4,2"),
        ({"least": 0}, "least moves"),
        ({"least": 21}, "most moves"),
        ({"boards": 0}, "boards 0"),
        ({"hunt": -1}, "hunt -1"),
    ],
)
def test_what_cannot_be_is_refused(wanted: dict[str, Any], said: str) -> None:
    with pytest.raises(PuzzleError, match=said):
        GenerateBoards.parse_request(PuzzleSpec("sliding"), **WANTED | wanted)


def test_options_that_name_pieces_are_refused() -> None:
    with pytest.raises(PuzzleError, match="cannot be combined"):
        GenerateBoards.parse_request(PuzzleSpec("sliding", {"goal": "A@1,1"}), **WANTED)
    asked = GenerateBoards.parse_request(PuzzleSpec("sliding", {"distinct": "A"}), **WANTED)
    with pytest.raises(PuzzleError, match="by letters"):
        GenerateBoards.validate(asked.spec, asked.plan)


def test_a_plan_of_another_version_is_refused() -> None:
    asked = GenerateBoards.parse_request(PuzzleSpec("sliding"), **WANTED)
    with pytest.raises(PuzzleError, match="version 9"):
        GeneratePlan(**{**asked.plan, "generate_version": 9}).first()


def test_more_pieces_than_letters_are_no_board() -> None:
    boards = Boards.parse("8x8", "1x1:63", "1..")
    assert boards.random(random_words(1))[1] == "" and Boards.parse("8x8", "1x1:62", "1..").random(random_words(1))[1]


def test_a_hunt_is_bounded_by_the_positions_it_may_search() -> None:
    with pytest.raises(PuzzleError, match="hunt"):
        GenerateBoards.parse_request(PuzzleSpec("sliding"), **{**WANTED, "cap": 1_000_000}, hunt=21)
