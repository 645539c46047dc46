"""Pictures of configurations whose parts can be moved, and plays as boards."""

from urllib.parse import quote

import pytest

from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.rows.positions import moves_row
from tests.hakoiri.web.conftest import Served
from tests.hakoiri.web.test_answers import asked


def test_a_move_of_a_piece_is_a_part_elsewhere() -> None:
    puzzle = PuzzleSpec("klotski").build()
    row = moves_row(puzzle, puzzle.start)
    places = {part["name"]: (part["x"], part["y"]) for part in row["picture"]["parts"]}
    moved = [(move["moved"], move["changed"] + move["gone"] + move["new"]) for move in row["moves"]]
    assert all(len(parts) == 1 and not others for parts, others in moved)
    steps = {
        part["name"]: (part["x"] - places[part["name"]][0], part["y"] - places[part["name"]][1])
        for ((part,), _) in moved
    }
    assert steps == {"G": (0, 48), "H": (0, 48), "I": (48, 0), "J": (-48, 0)}
    kinds = row["picture"]["kinds"]
    assert kinds["A"] == kinds["F"] != kinds["B"] and len(set(kinds.values())) == 4


@pytest.mark.parametrize("name", ["hanoi", "tiles", "peg-solitaire", "gap", "nakuron", "cube2", "pancakes"])
def test_every_move_has_its_key_and_changes_something(name: str) -> None:
    puzzle = PuzzleSpec(name).build()
    row = moves_row(puzzle, puzzle.start)
    assert len(row["moves"]) == len(set(puzzle.successors(puzzle.start)))
    for move in row["moves"]:
        after = puzzle.picture(puzzle.parse(move["key"]))
        before = len(row["picture"]["parts"])
        assert before - len(move["gone"]) + len(move["new"]) == len(after.parts)
        assert move["moved"] or move["changed"] or move["gone"]


def test_positions_as_pictures(served: Served) -> None:
    start = served.said("status", served.small)["start"]
    row = asked(served, f"/api/runs/{served.small}/pictures/{quote(start)}")
    moves = asked(served, f"/api/runs/{served.small}/positions/{quote(start)}")["moves"]
    assert {move["key"] for move in row["moves"]} == {move["key"] for move in moves}
    assert row["configuration"] == start
    merged = asked(served, "/api/boards/klotski.json?o=metric=straight")
    assert merged["configuration"] == "ABBC/ABBC/DEEF/DGHF/I..J"
    assert asked(served, "/api/boards/klotski.json?conf=AABB", 422)["detail"]


def test_the_boards_of_a_play(served: Served) -> None:
    """The best play of a small board is proved; each board is a tilt after the one before it."""
    puzzle = PuzzleSpec("nakuron", {}, "2/15/55/55/55/10/01").build()
    play = [*puzzle.filmed("03")]  # type: ignore[attr-defined]
    assert [found.move for found in play] == ["start", "up, 1 of 1", "left"]
    assert [found.score for found in play] == [0, 1, 0]
    assert [len(found.picture.parts) for found in play] == [3, 2, 2]
