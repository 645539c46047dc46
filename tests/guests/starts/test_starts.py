"""Studies of starts: figures by plain rules, lines of files, the same rows on any threads, resumed, verified."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakoiri.coordinator.session.session import Control
from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.guests.boards.designing import SolvedSpace, statistics
from hakoiri.guests.boards.generate import GenerateBoards, GenerateFigures, GeneratePlan, reference_solutions
from hakoiri.guests.boards.mixes import Boards
from hakoiri.guests.boards.puzzle import Sliding
from hakoiri.guests.starts.job import StudyStarts
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.permutation.tiles import Tiles
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.puzzles.sliding_blocks.boards import images_of, least_image, parse_board
from hakoiri.puzzles.starts import read_starts
from tests.support.commands import ROOT
from tests.support.runs import StoppingAfter, driven, opened, verified

RUSH, RUSH_OPTIONS = "IBBxooIooLDDJAALooJoKEEMFFKooMGGHHHM", {"axis": "rows-and-columns", "metric": "straight"}
#: Boards of other pieces and other sizes, all with a piece A for the goal.
BOARDS = """
; Not a start.
one AA./B.C
# walls:
#AA/..C
two words AAB/C.D/.E.
3 AA.C|3.D 77
"""
EASY = "BBBxxxxxxxxxoAAoooxxxxxoxxxxxoxxxxxx"
DEALS = "dealt 11 12 13 / 21 22 23 / 31 32 33 / 41 42 43\n11 21 12/22 31 13/23 41 32/33 42 43"
LEVELS = "5#|#@$.#|5#\nright 6#|#@$-.#|6#\n####/#+$#/####"
ROBOTS = "A...B/...../..C../...../D....\ntwo A...B/...../...../...../....."
OWN = f"{ROOT}/examples"
STUDIES = [
    (PuzzleSpec("sliding", {"goal": "A@1,2"}), BOARDS, 4),
    (PuzzleSpec("sliding", {"metric": "finger"}), BOARDS, 4),
    (PuzzleSpec("sliding", RUSH_OPTIONS), f"one {'o' * 13}AA{'o' * 21}\n{EASY}", 2),
    (PuzzleSpec("tiles", {"rows": "2", "columns": "3"}), ".12/345\nhard 54./321\n0x7", 3),
    (PuzzleSpec("tiles", {"rows": "2", "columns": "3", "goal": "*54/***"}), "345/12.", 1),
    (PuzzleSpec("gap", {"ranks": "3"}), DEALS, 2),
    (PuzzleSpec("hanoi", {"pegs": "3"}), "CBA/./.\nmiddle B/CA/.", 2),
    (PuzzleSpec("burnt-pancakes", {"n": "3"}), "1 2 3\n-1 -2 -3\nnamed 3 -1 2", 3),
    (PuzzleSpec(f"{OWN}/sokoban.py:Sokoban"), LEVELS, 3),
    (PuzzleSpec(f"{OWN}/lunar_lockout.py:LunarLockout"), ROBOTS, 2),
]


def study(
    data: Path, spec: PuzzleSpec, text: str, cap: int = 10_000, control: Control | None = None, workers: int = 1
) -> Path:
    asked = StudyStarts.parse_request(spec, starts=text, cap=cap)
    return driven(data, asked.spec, "starts", asked.plan, asked.limits, control, workers=workers)


def rows_of(directory: Path) -> list[dict[str, Any]]:
    with opened(directory) as job:
        return list(job.summary(None)["rows"])


def slow_figures(puzzle: Puzzle) -> dict[str, Any]:
    """The same figures from a graph of all that the start reaches, by the reference rules."""
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_node(puzzle.start)
    queue = [puzzle.start]
    for key in queue:
        queue += {*puzzle.successors(key)} - graph.nodes
        graph.add_edges_from((key, after) for after in puzzle.successors(key))
    depths = nx.single_source_shortest_path_length(graph, puzzle.start)
    layers = [[*depths.values()].count(depth) for depth in range(max(depths.values()) + 1)]
    goals = {key for key in graph if puzzle.is_goal(puzzle.keys([key]))[0]}
    found: dict[str, Any] = {
        "moves": min((depths[key] for key in goals), default=None),
        "configurations": len(graph),
        "layers": layers,
    }
    found |= {"depth": len(layers) - 1, "exhausted": True, "hardest_moves": None, "hardest": None}
    if goals and puzzle.undirected:
        away = nx.multi_source_dijkstra_path_length(graph.reverse(), goals)
        farthest = max(away.values())
        found["hardest_moves"] = farthest
        found["hardest"] = puzzle.render(min(key for key in graph if away[key] == farthest))
    return found


@pytest.mark.parametrize(("spec", "text", "count"), STUDIES, ids=[spec.name.rpartition(":")[2] for spec, *_ in STUDIES])
def test_figures_are_those_of_a_graph(spec: PuzzleSpec, text: str, count: int, tmp_path: Path) -> None:
    spec = with_own_file(spec)
    directory = study(tmp_path, spec, text)
    rows = rows_of(directory)
    assert len(rows) == count
    for row in rows:
        expected = slow_figures(PuzzleSpec(spec.name, spec.options, row["start"], digest=spec.digest).build())
        assert expected.items() <= row.items()
    assert verified(directory, full=True).ok


def test_a_cap_ends_a_search_and_a_goal_before_it_counts(tmp_path: Path) -> None:
    text = f"{RUSH}\n{'o' * 13}AA{'o' * 21}"
    capped, easy = rows_of(study(tmp_path, PuzzleSpec("sliding", RUSH_OPTIONS), text, cap=100))
    assert (capped["exhausted"], capped["moves"], capped["hardest"]) == (False, None, None)
    assert 100 < capped["configurations"] < 2_332
    assert (easy["exhausted"], easy["moves"], easy["configurations"]) == (True, 1, 5)
    with opened(study(tmp_path, PuzzleSpec("sliding", RUSH_OPTIONS), text, cap=100)) as job:
        assert [row["searched"] for row in job.tables()[0].rows] == ["up to the cap", "all"]
        assert [(board["board"], board["moves"]) for board in job.boards()] == [(easy["start"], 1)]
    (all_of_it,) = rows_of(study(tmp_path, PuzzleSpec("sliding", RUSH_OPTIONS), RUSH, cap=2_332))
    assert (all_of_it["exhausted"], all_of_it["moves"], all_of_it["configurations"]) == (True, 60, 2_332)
    (near,) = rows_of(study(tmp_path, PuzzleSpec("tiles"), "1.2/345/678", cap=10))
    assert (near["exhausted"], near["moves"]) == (False, 1)


def test_the_kernels_are_compared_with_the_plain_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = study(tmp_path, PuzzleSpec("tiles", {"rows": "2"}), ".12/345")
    monkeypatch.setattr(Tiles, "successors", lambda *_: [])
    report = verified(directory)
    assert report.cause == "puzzle" and "([1], 0) by the plain rules" in report.faults[0]


@pytest.mark.parametrize(
    ("puzzle", "line", "name", "start"),
    [
        ("sliding", "AB/..", "", "AB/.."),
        ("sliding", "  one\tAB/..  ", "one", "AB/.."),
        ("sliding", "two words AB/..", "two words", "AB/.."),
        ("sliding", f"60 {RUSH} 2332", "60", RUSH),
        ("sliding", f"{RUSH} 2332", "", RUSH),
        ("sliding", "easy 2A|2. 12", "easy", "2A|2."),
        ("cube2", "(R U)3 F", "", "(R U)3 F"),
        ("cube2", "trigger: R U R'", "trigger:", "R U R'"),
        ("cube2", "solved UUUURRRRFFFFDDDDLLLLBBBB 0", "solved", "UUUURRRRFFFFDDDDLLLLBBBB"),
        ("gap", "11 12 13 14 15 16 17 / 21 22 23 24 25 26 27/31 32 33 34 35 36 37/41 42 43 44 45 46 47", "", None),
    ],
)  # fmt: skip
def test_a_start_is_told_from_its_name(puzzle: str, line: str, name: str, start: str | None) -> None:
    found = read_starts(line, lambda text: PuzzleSpec(puzzle, {}, text).build().start)
    assert [each[:2] for each in found] == [(name, start or line)]


NAMES = st.text(st.characters(exclude_characters="/|;#", exclude_categories=("C", "Z")), min_size=1, max_size=40)


@pytest.mark.ci_slow
@given(st.lists(NAMES, min_size=1, max_size=4))
def test_any_word_may_be_a_name(names: list[str]) -> None:
    text = "\n".join(f"{name} AA/B." for name in names)
    found = read_starts(text, lambda part: PuzzleSpec("sliding", {}, part).build().start)
    assert [(name, start) for name, start, _ in found] == [(name, "AA/B.") for name in names]


@pytest.mark.parametrize(
    ("spec", "text", "said"),
    [
        (PuzzleSpec("sliding"), "AB/..\n\n; more\nAB/...", "line 4: row 2 '...' has 3 cells"),
        (PuzzleSpec("sliding"), "name AAB/A.B/B.B", "line 1: piece B"),
        (PuzzleSpec("sliding"), f"60 {RUSH[1:]} 2332", "line 1: piece"),
        (PuzzleSpec("sliding", {"goal": "C@1,1"}), "AB/CC\nAB/..", "line 2: sliding option goal=C@1,1: "),
        (PuzzleSpec("tiles"), ".12/345/678\n.21/345/678", "line 2: "),
        (PuzzleSpec("cube2"), "R U R'\nR U X", "line 2: turn 3, 'X'"),
        (PuzzleSpec("gap", {"ranks": "3"}), "11 12 13/21 22 23/31 32 33/41 42 49", "line 1: "),
        (PuzzleSpec("sliding"), "AABB\nAACC\nDE..\n", "the starts 'AABB' and 'AACC' are boards of one row"),
        (PuzzleSpec("sliding"), "AAB/C.B AAC/B.C", "line 1: 'AAB/C.B AAC/B.C' may be two starts"),
        (PuzzleSpec("sliding"), "one AAB/C.B\tAAC/B.C", "line 1: 'one AAB/C.B\\tAAC/B.C' may be two starts"),
        (PuzzleSpec("tiles"), "; nothing\n", "no starts found, expected 1 to 10,000"),
    ],
)
def test_a_line_without_a_start_is_named(spec: PuzzleSpec, text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        StudyStarts.parse_request(spec, starts=text)
    assert str(refusal.value).startswith(said)


def test_what_cannot_be_studied_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="more starts found, expected 1 to 10,000"):
        read_starts("x\n" * 10_001, str)
    with pytest.raises(PuzzleError, match="is a tree, so it has no moves to search by; a run counts its solutions"):
        StudyStarts.parse_request(PuzzleSpec("magic-star"), starts="1")
    with pytest.raises(PuzzleError, match="cap 0"):
        StudyStarts.parse_request(PuzzleSpec("tiles"), starts=".12/345/678", cap=0)
    asked = StudyStarts.parse_request(PuzzleSpec("sliding", {"distinct": "A"}), starts="AB/..")
    with pytest.raises(PuzzleError, match="by letters"):
        StudyStarts.validate(asked.spec, asked.plan)
    with pytest.raises(PuzzleError, match="version 9"):
        StudyStarts.validate(PuzzleSpec("tiles"), {"listed": [], "goal": "", "cap": 1, "starts_version": 9})
    with pytest.raises(PuzzleError, match="mirror images are not merged"):
        StudyStarts.validate(PuzzleSpec("klotski", merge_mirrors=True), asked.plan)


# Generated boards: each wanted property by plain rules, the same boards on any threads, resumed, verified, refused


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


@pytest.mark.ci_slow
@pytest.mark.parametrize("which", [{}, {"unique": True, "no_idle": True, "each": 3}])
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
        assert reference_solutions(puzzle) == (row["moves"], row["solutions"])
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


@pytest.mark.ci_slow
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
        assert reference_solutions(puzzle) == (row["moves"], row["solutions"])
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
        ({"size": "9x9"}, "above the limit of 64 free cells"), ({"pieces": "2x2:9"}, "no board of 3x4"),
        ({"pieces": "x.x:1"}, "not connected"), ({"pieces": "xx/x:1"}, "'xx/x' is not a piece"),
        ({"goal": "2x2@4,4"}, "does not fit"), ({"goal": "A@4,4"}, "such as 2x2@4,2"), ({"least": 0}, "least moves"),
        ({"least": 21}, "most moves"), ({"boards": 0}, "boards 0"), ({"hunt": -1}, "hunt -1"),
    ],
)  # fmt: skip
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


@pytest.mark.ci_slow
def test_more_boards_extend_a_run(tmp_path: Path) -> None:
    found = {row["board"] for row in boards_of(generated(tmp_path / "run"))}
    more = boards_of(generated(tmp_path / "run", boards=12))
    assert len(more) == 12 and found < {row["board"] for row in more}
    assert more == boards_of(generated(tmp_path / "whole", boards=12))


def test_a_run_that_was_made_before_hunts_is_the_same_run() -> None:
    asked = GenerateBoards.parse_request(PuzzleSpec("sliding"), **WANTED)
    assert "hunt" not in asked.plan and GeneratePlan(**asked.plan).hunt == 0
    assert GenerateBoards.parse_request(PuzzleSpec("sliding"), **WANTED, hunt=1).plan == {**asked.plan, "hunt": 1}
