"""The files of the page: whole, of our own, and fetched together."""

import gzip
import re
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.rows.positions import moves_row
from tests.hakoiri.web.conftest import Served
from tests.hakoiri.web.test_answers import asked
from tests.support.commands import ROOT

STATIC = ROOT / "hakoiri" / "web" / "static"
IMPORTED = re.compile(r'(?:from|import\() ?"(\.[^"]+)"')


def reached(module: Path, lazily: bool = False) -> set[Path]:
    """The modules that one imports, itself too; with `lazily` also those that are fetched when they are asked for."""
    found: set[Path] = set()
    waiting = [module]
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            text = here.read_text(encoding="utf-8")
            if not lazily:
                text = re.sub(r'import\("[^"]+"\)', "", text)
            waiting += [(here.parent / path).resolve() for path in IMPORTED.findall(text)]
    return found


#: Scripts of the colours and of the interface's description, and the module of pages that are handed on.
_OTHERS = {STATIC / "js" / name for name in ("lib/theme.js", "docs.js", "play/handed.js", "play/sliding.js")}


def test_every_module_is_used_and_every_import_leads_to_one() -> None:
    modules = {*STATIC.rglob("*.js")}
    assert reached(STATIC / "js" / "main.js", lazily=True) | _OTHERS == modules


def test_the_first_view_is_fetched_at_once() -> None:
    """The browser knows all modules of the list of runs, and the head of a run, before it has read the first."""
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    preloaded = {STATIC / path for path in re.findall(r'rel="modulepreload" href="([^"]+)"', page)}
    pages = [STATIC / "js" / name for name in ("main.js", "pages/runs.js", "pages/run.js")]
    assert preloaded == set[Path]().union(*map(reached, pages)) - {pages[0]}


def test_nothing_comes_from_elsewhere_and_no_script_stands_in_the_page() -> None:
    for path in STATIC.rglob("*"):
        if path.suffix in (".js", ".css", ".html"):
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://|@import|url\(", text), path
            assert not re.search(r"innerHTML|eval\(|new Function|document\.write", text), path
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]* src=)|<style| on[a-z]+=| style=", page)


def test_scripts_and_styles_are_no_longer_and_no_wider_than_agreed() -> None:
    lines = {path: path.read_text("utf-8").splitlines() for kind in ("js", "css") for path in STATIC.rglob(f"*.{kind}")}
    assert [path for path, text in lines.items() if max(map(len, text)) > 120] == []
    assert sum(map(len, lines.values())) <= 5_900


# Pictures of configurations whose parts can be moved, and plays as boards


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


def test_a_start_with_its_moves_and_merged_images_as_they_are_drawn(served: Served) -> None:
    """Four jumps of peg solitaire lead to one key, each to a board of its own."""
    start = asked(served, "/api/boards/klotski.json?moves=true")
    assert len(start["moves"]) == 4 and start["goal"] is False
    assert "moves" not in asked(served, "/api/boards/klotski.json")
    merged = PuzzleSpec("peg-solitaire").build()
    assert merged.unmerged is not None
    row = moves_row(merged.unmerged, merged.start, merged)
    assert [move["move"] for move in row["moves"]] == [f"{peg} jumps to d4" for peg in ("d2", "b4", "f4", "d6")]
    assert {move["key"] for move in row["moves"]} == {
        merged.layout.text(key) for key in merged.successors(merged.start)
    }
    assert len({move["at"] for move in row["moves"]}) == 4 and row["at"] == merged.render(merged.start)


def test_the_boards_of_a_play(served: Served) -> None:
    """The best play of a small board is proved; each board is a tilt after the one before it."""
    puzzle = PuzzleSpec("nakuron", {}, "2/15/55/55/55/10/01").build()
    play = [*puzzle.filmed("03")]  # type: ignore[attr-defined]
    assert [found.move for found in play] == ["start", "up, 1 of 1", "left"]
    assert [found.score for found in play] == [0, 1, 0]
    assert [len(found.picture.parts) for found in play] == [3, 2, 2]


def test_the_map_of_the_landing_page_has_the_positions_and_their_distances() -> None:
    """By the rules of the puzzle: every move leads to a position on the map, at most one move nearer or farther."""
    packed = (STATIC / "landing.map.gz").read_bytes()
    columns = gzip.decompress(packed)
    points, puzzle = len(columns) // 9, PuzzleSpec("klotski").build()
    keys = np.cumsum(np.frombuffer(columns, "<u4", points), dtype=np.uint32)
    distances = dict(zip(keys.tolist(), columns[8 * points :], strict=True))
    assert (len(packed) < 200_000, len(distances), distances[puzzle.start], max(distances.values())) == (
        True,
        25_955,
        116,
        126,
    )
    for key in keys[::500].tolist():
        near = [distances[after] for after in puzzle.successors(key)]
        assert (distances[key] == 0) == bool(puzzle.is_goal(puzzle.keys([key]))[0])
        assert distances[key] == 0 or min(near) == distances[key] - 1
        assert max(near) <= distances[key] + 1
