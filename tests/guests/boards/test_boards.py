"""Studies of boards: every mix and component against plain searches, however cut; mixes, tables, damage, refusals."""

import csv
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.session.kind import require_bounds
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import Hint, OverBudgetError, PuzzleError
from hakoiri.export.tables import check_ending, write_rows
from hakoiri.guests.boards import family
from hakoiri.guests.boards.family import OPEN, Member, MemberRequest, measure
from hakoiri.guests.boards.job import BoardsPlan, StudyBoards
from hakoiri.guests.boards.mixes import Boards, configurations_of, in_reading_order
from hakoiri.guests.boards.puzzle import Sliding
from hakoiri.keys.layout import ints
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.boards import least_image
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.results import ResultRows
from hakoiri.worker.graphs.bounds import Aim, Bounds, least_alike, look_here, widest
from hakoiri.worker.graphs.searches import Graph
from hakoiri.worker.transport.payload import packed, unpacked
from tests.support.refusals import refused
from tests.support.runs import StoppingAfter, driven, opened, repaired, verified
from tests.support.seeds import usual

PLAN = BoardsPlan("3x3", "2x1:* 1x2:* 1x1:*", "2", "1x1@3,3", pairs=True, hardest=40)


def studied(data: Path, plan: BoardsPlan = PLAN, control: Control | None = None, **resources: Any) -> Path:
    words = {name: value for name, value in asdict(plan).items() if name != "boards_version"}
    asked = StudyBoards.parse_request(PuzzleSpec("sliding"), **words)
    return driven(data, asked.spec, "boards", asked.plan, asked.limits, control, **resources)


def members_of(directory: Path) -> dict[int, Member]:
    with opened(directory) as job:
        return dict(job.stored())


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studied(tmp_path_factory.mktemp("boards"), workers=1)


def space_of(puzzle: Sliding) -> nx.Graph:
    """By the reference rules."""
    graph: nx.Graph = nx.Graph()
    for key in ints(np.concatenate(list(puzzle.configurations()))):
        graph.add_node(key)
        graph.add_edges_from((key, after) for after in puzzle.successors(key))
    return graph


def check_member(asked: MemberRequest, found: Member) -> None:
    puzzle = Sliding({"goal": asked.goal}, asked.start)
    graph, known = space_of(puzzle), found.components
    parts = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    assert (found.configurations, found.edges) == (len(graph), graph.number_of_edges())
    assert known.size == list(map(len, parts))
    for number, part in enumerate(parts):
        distances = {source: nx.single_source_shortest_path_length(graph, source) for source in part}
        longest = max(max(away.values()) for away in distances.values())
        assert known.diameter[number] == longest
        one, other = (int(key, 16) for key in known.pair[number])
        assert distances[one][other] == longest
        if asked.pairs:
            count = sum(away == longest for all_away in distances.values() for away in all_away.values())
            assert known.pairs[number] == (count // 2 if longest else 0)
        goals = [key for key in part if puzzle.is_goal(puzzle.keys([key]))[0]]
        nearest = {key: min(distances[goal][key] for goal in goals) for key in part} if goals else {}
        assert known.moves[number] == max(nearest.values(), default=OPEN)
        farthest = [key for key, far in nearest.items() if far == known.moves[number]]
        assert known.hardest[number] == (hex(min(farthest)) if farthest else "")


def test_every_mix_is_as_plain_searches_have_it(study: Path) -> None:
    found = members_of(study)
    assert len(found) == len(PLAN.mixes()) == 10
    for number, mix in enumerate(PLAN.mixes()):
        check_member(PLAN.asked(mix), found[number])


@pytest.mark.parametrize("alone_from", [2, 50_000])
def test_large_components_are_tasks_of_their_own(
    alone_from: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usual = (
        MemberRequest("AAB/C.D/EF.", "", True),
        MemberRequest("AAB/.CB/D..", "***/***/AA*", False),
        MemberRequest("AA/BB/..", "", True),
    )
    expected = [measure(Sliding({}, asked.start), asked) for asked in usual]
    monkeypatch.setattr(family, "ALONE_FROM", alone_from)
    for asked, whole in zip(usual, expected, strict=True):
        check_member(asked, whole)
        found = measure(Sliding({}, asked.start), asked)
        left = found.components.left()
        assert (len(left) > 0) == (alone_from == 2 and len(set(whole.components.like)) > 1)
        for component in left:
            more = measure(Sliding({}, asked.start), replace(asked, component=component)).components
            assert component in more.number
            assert more.diameter == [whole.components.diameter[number] for number in more.number]
            assert more.pairs == [whole.components.pairs[number] for number in more.number]


def plain_starts(plan: BoardsPlan) -> list[tuple[int, str]]:
    """Moves and board of every start that no move leads away from the goal, one of each symmetry class, by rank."""
    found = []
    for number, mix in enumerate(plan.mixes()):
        goal = plan.goal_in(mix)
        puzzle = Sliding({"goal": goal}, mix.board)
        graph = space_of(puzzle)
        goals = [key for key in graph if puzzle.is_goal(puzzle.keys([key]))[0]]
        away = nx.multi_source_dijkstra_path_length(graph, goals) if goals else {}
        for key, moves in away.items():
            if moves and all(away[other] <= moves for other in graph[key]):
                found.append((-moves, number, key, puzzle.render(key), goal))
    seen: dict[str, tuple[int, str]] = {}
    for less, _, _, board, goal in sorted(found):
        seen.setdefault(least_image(board, goal), (-int(less), in_reading_order(board)))
    return list(seen.values())


@pytest.mark.parametrize(
    ("pieces", "goal", "hardest"), [(PLAN.pieces, PLAN.goal, PLAN.hardest), ("xx/x.:1 2x1:0..1 1x1:*", "xx/x.@2,2", 5)]
)
def test_the_hardest_starts_of_a_family_are_those_of_plain_searches(
    pieces: str, goal: str, hardest: int, study: Path, tmp_path: Path
) -> None:
    plan = BoardsPlan("3x3", pieces, "2", goal, hardest=hardest)
    expected = plain_starts(plan)
    assert len(expected) > hardest, "some are left out"
    with opened(study if pieces == PLAN.pieces else studied(tmp_path, plan)) as job:
        starts = job.boards()
        shown = next(table for table in job.tables() if table.name == "hardest starts")
        assert job.summary(None)["starts"] == starts
    assert [(row["moves"], row["board"]) for row in starts] == expected[:hardest]
    assert len({least_image(row["board"], row["goal"]) for row in starts}) == hardest
    assert [(row["rank"], row["board"]) for row in shown.rows] == [
        (rank, board) for rank, (_, board) in enumerate(expected[:hardest], 1)
    ]


@pytest.mark.ci_slow
def test_a_study_is_the_same_however_it_is_cut(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = members_of(study)
    monkeypatch.setattr(family, "ALONE_FROM", 10)
    stopped = studied(tmp_path, control=StoppingAfter(6))
    kept = members_of(stopped)
    assert 0 < len(kept) < len(expected)
    again = members_of(studied(tmp_path))
    assert again.keys() == expected.keys()
    for number, member in expected.items():
        pair = again[number].components.pair
        assert (
            replace(again[number], components=replace(again[number].components, pair=member.components.pair)) == member
        )
        assert len(pair) == len(member.components.pair)
    with RunStore(stopped, writable=True) as store:
        number = ResultRows(store, "component").numbers()[0]
        store.stage(b"rows", b"mix/" + (number >> 12).to_bytes(4, "big"), b"damage")
        store.commit(store.state)
    assert not verified(stopped).ok
    repaired(stopped)
    assert verified(stopped).ok


@usual(1, "ending", [".csv", ".parquet"])
def test_components_are_written_as_tables(study: Path, ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"boards{ending}"
    check_ending(target)
    with opened(study) as job:
        rows = list(job.rows())
    assert write_rows(iter(rows), target) == len(rows)
    if ending == ".csv":
        with target.open(encoding="utf-8") as file:
            found: Sequence[Any] = list(csv.DictReader(file))
        assert [{name: str(value) if value is not None else "" for name, value in row.items()} for row in rows] == found
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        assert parquet.read_table(target).to_pylist() == rows


def test_a_pair_met_otherwise_is_as_good(tmp_path: Path) -> None:
    directory = studied(tmp_path, replace(PLAN, goal="", hardest=0))
    with RunStore(directory, writable=True) as store:
        rows = ResultRows(store, "mix")
        row = rows.read(3)
        row["components"]["pair"][1].reverse()
        rows.stage(3, row)
        store.commit(store.state)
    assert verified(directory).ok


def test_memory_is_kept_by_fewer_threads(tmp_path: Path) -> None:
    plan = BoardsPlan("4x5", "2x2:1 1x2:* 2x1:* 1x1:*", "2")
    asked = StudyBoards.parse_request(PuzzleSpec("sliding"), size=plan.size, pieces=plan.pieces)
    directory = make_run(tmp_path, asked.spec, "boards", asked.plan, Resources())
    with opened(directory) as job:
        assert job.limit_resources(Resources(workers=3, memory=1 << 30), SilentObserver()).workers == 3
        assert job.limit_resources(Resources(workers=3, memory=110 << 20), SilentObserver()).workers == 1
        with refused(OverBudgetError, "the largest mix needs", Hint("raise", "memory")):
            job.limit_resources(Resources(workers=3, memory=60 << 20), SilentObserver())
        assert job.limit_resources(Resources(redis="redis://there"), SilentObserver()).deadline == 900


def test_what_workers_answer_is_read_again() -> None:
    member = measure(Sliding({}, "AA/B."), MemberRequest("AA/B.", "**/A*", True))
    assert unpacked(packed(member), Member) == member


# Mixes


def test_the_published_numbers_of_mixes() -> None:
    """dnomd343/klotski: one 2x2 piece, dominoes and singles on 4x5, at least two cells empty; exactly two."""
    pieces = "2x2:1 1x2:* 2x1:* 1x1:*"
    mixes = Boards.parse("4x5", pieces, "2..").mixes()
    assert (len(mixes), sum(mix.configurations for mix in mixes)) == (203, 29_334_498)
    assert len(Boards.parse("4x5", pieces, "2").mixes()) == 35


def fits(pieces: list[list[set[tuple[int, int]]]], taken: set[tuple[int, int]]) -> bool:
    return not pieces or any(not place & taken and fits(pieces[1:], place | taken) for place in pieces[0])


@pytest.mark.parametrize(
    ("size", "pieces", "empty", "said"),
    [
        ("4", "1x1:1", "2", "size: '4' is not a size; expected columns x rows, such as 4x5"),
        ("9x9", "1x1:1", "2", "limit of 64 free cells"),
        ("4x5", "2x2", "2", "pieces 2x2 are malformed"),
        ("4x5", "2x2:x", "2", "are malformed"),
        ("4x5", "1x1:* 1x1:2", "2", "1x1 is given twice"),
        ("4x5", " ", "2", "no pieces are given"),
        ("4x5", "1x1:*", "2..1", "empty 2..1 is malformed; expected a number or range such as 2, 2.. or 2..4"),
        ("2x2", "3x1:1", "1..", "no mix of these pieces fills"),
        ("2x3", "2x2:1", "1", "no mix of these pieces fills"),
        ("8x8", "1x1:* 1x2:* 2x1:* 2x2:* 1x3:* 3x1:*", "2..", "too many mixes"),
    ],
)
def test_what_is_no_family_of_boards_is_refused(size: str, pieces: str, empty: str, said: str) -> None:
    with pytest.raises(PuzzleError) as refusal:
        Boards.parse(size, pieces, empty).mixes()
    assert said in str(refusal.value)


@pytest.mark.parametrize(
    ("goal", "said"), [("A@1,1", "such as 2x2@4,2"), ("2x1@1,3", "does not fit on"), ("1x1@0,1", "does not fit on")]
)
def test_goals_that_cannot_be_are_refused(goal: str, said: str) -> None:
    with pytest.raises(PuzzleError, match=said):
        replace(PLAN, goal=goal).mixes()


def test_hardest_starts_need_a_goal_and_are_few() -> None:
    with refused(PuzzleError, "farthest from a goal", Hint("give", "goal", "PIECE@R,C")):
        replace(PLAN, goal="").mixes()
    with pytest.raises(PuzzleError, match="hardest 101"):
        require_bounds(replace(PLAN, hardest=101))


def test_only_puzzles_of_boards_are_families() -> None:
    with pytest.raises(PuzzleError, match="klotski is not a family of boards; expected sliding"):
        StudyBoards.puzzle_kind(PuzzleSpec("klotski"))
    with pytest.raises(PuzzleError, match="of studies of boards, expected 1"):
        replace(PLAN, boards_version=2).mixes()


# Searches from many at once


def test_images_of_components_take_over_what_is_known_and_others_stay_as_they_are() -> None:
    """Of five components, each of two vertices, 1 and 4 are images of 0; 2 and 3 are each other's, and not measured."""
    images = [np.array([2, 3, 8, 9, 6, 7, 4, 5, 0, 1]), np.array([8, 9, 0, 1, 4, 5, 6, 7, 2, 3])]
    space = family._Space(
        np.arange(10, dtype=np.uint64), cast(Graph, None), np.arange(0, 11, 2, dtype=np.int32), images
    )
    waiting = [OPEN, 0, 0, OPEN]
    figures = np.array([[7, 0, 1, 3], waiting, [OPEN, 4, 5, OPEN], [OPEN, 7, 6, OPEN], waiting])
    family._follow_images(space, space.like(), figures)
    assert space.like().tolist() == [0, 0, 2, 2, 0]
    assert figures[[0, 1, 4]].tolist() == [[7, 0, 1, 3], [7, 8, 9, 3], [7, 2, 3, 3]]
    assert figures[2:4, 0].tolist() == [OPEN, OPEN]
    assert figures[2, 1:3].tolist() == [4, 5]


def test_a_run_that_was_made_before_hardest_starts_is_the_same_run(tmp_path: Path) -> None:
    plan = BoardsPlan("2x3", "1x1:*", "2..", "1x1@3,2")
    directory = studied(tmp_path, plan)
    with RunStore(directory, writable=True) as store:
        assert "hardest" not in store.manifest.plan
        rows = ResultRows(store, "mix")
        for number in rows.numbers():
            row = rows.read(number)
            del row["starts"]
            rows.stage(number, row)
        store.commit(store.state)
    assert studied(tmp_path, plan) == directory and verified(directory).ok
    with opened(directory) as job:
        assert job.boards() == job.summary(None)["starts"] == []


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 90), st.integers(0, 60), st.integers(0, 1_000), st.booleans())
def test_diameters_by_bounds_are_those_of_all_searches(vertices: int, more: int, seed: int, mirrored: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = nx.Graph((here, int(rng.integers(here))) for here in range(1, vertices))
    graph.add_edges_from(rng.integers(vertices, size=(more, 2)).tolist())
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    images = []
    if mirrored:
        # Two copies side by side: each vertex has the other's for its image.
        copy = {here: here + vertices for here in range(vertices)}
        graph = nx.union(graph, nx.relabel_nodes(graph, copy))
        graph.add_edge(0, vertices)
        images = [np.roll(np.arange(2 * vertices), vertices).astype(np.int32)]
    count = graph.number_of_nodes()
    degrees = [graph.degree(here) for here in range(count)]
    offsets = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    targets = np.array([there for here in range(count) for there in sorted(graph[here])], dtype=np.int32)
    away = dict(nx.all_pairs_shortest_path_length(graph))
    longest = max(max(row.values()) for row in away.values())
    pairs = sum(far == longest for row in away.values() for far in row.values()) // 2
    found = widest(Graph(offsets, targets), images, pairs=True)
    assert (found.diameter, found.pairs) == (longest, pairs)
    assert away[found.pair[0]][found.pair[1]] == longest
    # From few vertices at a time, so that most are never searched from.
    bounds = Bounds(Graph(offsets, targets), least_alike(count, images))
    bounds.settle(Aim.WIDEST, look_here(bounds), lanes=4, first=2)
    assert int(bounds.lower.max()) == longest == widest(bounds.graph, images).diameter
    assert not bounds.open(Aim.WIDEST).size
    known = bounds.lower[bounds.first]
    assert all(known[here] <= max(row.values()) for here, row in away.items())


def test_numbers_of_configurations_are_exact_beyond_those_of_floats() -> None:
    """64 cells, some of them covered by single pieces."""
    found = configurations_of(Boards.parse("8x8", "1x1:*", "0.."))
    assert found == {(covered,): math.comb(64, covered) for covered in range(65)}
