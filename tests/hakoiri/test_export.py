"""Exports of keys of every width, directed and not, finished and not, against the reference rules."""

import csv
import json
import re
import sys
from collections.abc import Iterator
from itertools import cycle, pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from pyarrow import parquet

from hakoiri.api import Run, census, explore
from hakoiri.coordinator.errors import StopRun, UnanswerableError
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import SilentObserver
from hakoiri.errors import Hint
from hakoiri.keys.layout import LAYOUTS, ints, key_at
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.render.files import export_edges, export_run
from hakoiri.storage.ledger.manifest import Progress
from tests.support.refusals import refused
from tests.support.runs import StoppingAfter

#: Layout of the keys, whether moves cannot be taken back, whether the run ends with its first goal.
RUNS = [
    *(("u64", directed, True) for directed in ("no", "yes")),
    *((layout, directed, False) for layout, directed in zip(LAYOUTS, cycle(("no", "yes")), strict=False)),
]
#: Default runs have keys of up to 256 bits.
PARAMS = [pytest.param(run, marks=pytest.mark.ci_slow if number > 6 else ()) for number, run in enumerate(RUNS)]


@pytest.fixture(scope="module", params=PARAMS, ids=lambda param: "-".join(map(str, param)))
def toy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run of a few hundred configurations, cut into several batches."""
    layout, directed, until_goal = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
        options = {"layout": layout, "keys": "spread", "directed": directed}
        resources, data = Resources(tuning=Tuning(written_blocks=2, written_rows=30)), tmp_path_factory.mktemp("toy")
        with explore("toy", options, until_goal=until_goal, data=data, resources=resources) as run:
            assert run.exhausted == (not until_goal)
            yield run


def edges_by_rules(run: Run) -> list[tuple[int, int]]:
    keys = sorted(run_keys(run))
    return [
        (key, after)
        for key in keys
        for after in sorted({*run.puzzle.successors(key)} & {*keys})
        if after != key and (key < after or not run.puzzle.undirected)
    ]


def run_keys(run: Run) -> dict[int, int]:
    """The depth of each key."""
    depths = range(len(run.layer_sizes))
    return {key: depth for depth in depths for key in ints(run.layer(depth))}


def test_tables_of_configurations(toy: Run, tmp_path: Path) -> None:
    expected, width = sorted(run_keys(toy).items()), toy.puzzle.layout.digits
    assert export_run(toy, tmp_path / "run.csv") == len(expected)
    assert len(expected) > (30 if toy.exhausted else 5)
    with (tmp_path / "run.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["key"], int(row["depth"])) for row in rows] == [
        (f"{key:#0{width}x}", depth) for key, depth in expected
    ]
    assert export_run(toy, tmp_path / "run.parquet") == len(expected)
    table = parquet.read_table(tmp_path / "run.parquet").to_pylist()
    assert [(row["key"], row["depth"]) for row in table] == [(row["key"], int(row["depth"])) for row in rows]
    assert [str(row["goal"]).lower() for row in table] == [row["goal"] for row in rows]
    assert {row["goal"] for row in rows} == {"false", "true"}


def test_tables_of_moves(toy: Run, tmp_path: Path) -> None:
    expected = edges_by_rules(toy)
    named = [(*edge, toy.puzzle.describe_move(*edge)) for edge in expected]
    for ending in ("csv", "parquet"):
        plain, moves = tmp_path / f"plain.{ending}", tmp_path / f"moves.{ending}"
        assert export_edges(toy, plain) == export_edges(toy, moves, moves=True) == len(expected)
        if ending == "parquet":
            rows = parquet.read_table(plain).to_pylist()
            assert [(int(row["source"], 16), int(row["target"], 16)) for row in rows] == expected
            rows = parquet.read_table(moves).to_pylist()
            assert [(int(row["source"], 16), int(row["target"], 16), row["move"]) for row in rows] == named
        else:
            with plain.open(newline="") as file:
                assert [(int(one, 16), int(other, 16)) for one, other in list(csv.reader(file))[1:]] == expected
            with moves.open(newline="") as file:
                assert [
                    (int(one, 16), int(other, 16), move) for one, other, move in list(csv.reader(file))[1:]
                ] == named


def test_graphs(toy: Run, tmp_path: Path) -> None:
    expected = edges_by_rules(toy)
    export_run(toy, tmp_path / "run.npz", moves=True)
    with np.load(tmp_path / "run.npz", allow_pickle=False) as loaded:
        keys = ints(loaded["keys"])
        assert list(zip(keys, loaded["depths"].tolist(), strict=True)) == sorted(run_keys(toy).items())
        assert [(keys[one], keys[other]) for one, other in loaded["edges"].tolist()] == expected
        assert [loaded["names"][move] for move in loaded["moves"]] == [toy.puzzle.describe_move(*e) for e in expected]
        np.testing.assert_array_equal(loaded["goals"], toy.puzzle.is_goal(loaded["keys"]))
    export_run(toy, tmp_path / "run.graphml", moves=True)
    graph = nx.read_graphml(tmp_path / "run.graphml")
    assert graph.is_directed() != toy.puzzle.undirected
    found = {tuple(int(end, 16) for end in edge): graph.edges[edge]["move"] for edge in graph.edges}
    for edge in expected:
        assert found.get(edge, found.get(edge[::-1])) == toy.puzzle.describe_move(*edge)
    assert len(found) == len(expected)
    assert {int(key, 16): there["depth"] for key, there in graph.nodes(data=True)} == run_keys(toy)


@pytest.mark.ci_slow
def test_moves_between_classes_of_mirror_images_are_those_of_a_board(small_run: Run, tmp_path: Path) -> None:
    board = Klotski()
    with explore(start=small_run.puzzle.start, merge_mirrors=True, data=tmp_path / "runs") as merged:
        assert export_edges(merged, tmp_path / "moves.csv", moves=True) > 100
    with (tmp_path / "moves.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        here, there = int(row["source"], 16), int(row["target"], 16)
        after = [key for key in board.successors(here) if key_at(board.canonical(board.keys([key])), 0) == there]
        assert row["move"] in [board.describe_move(here, key) for key in after]


@pytest.mark.ci_slow
def test_a_drawing_has_every_board_and_every_move(small_run: Run, tmp_path: Path) -> None:
    assert export_run(small_run, tmp_path / "run.dot") == 248
    text = (tmp_path / "run.dot").read_text()
    assert text.startswith(f'graph "{small_run.name}" {{')
    nodes = dict(re.findall(r'^  "(0x\w+)" \[label="(.*)" depth=\d+\];$', text, re.MULTILINE))
    assert {small_run.puzzle.parse(board.replace("\\n", "/")) for board in nodes.values()} == run_keys(small_run).keys()
    edges = re.findall(r'^  "(0x\w+)" -- "(0x\w+)" \[label="(.*)"\];$', text, re.MULTILINE)
    assert [(int(one, 16), int(other, 16)) for one, other, _ in edges] == edges_by_rules(small_run)
    assert all(small_run.puzzle.describe_move(int(one, 16), int(other, 16)) == move for one, other, move in edges)


def test_a_large_drawing_is_refused(usual_run: Run, tmp_path: Path) -> None:
    with pytest.raises(UnanswerableError, match=r"25,955 configurations exceed the limit .* use .graphml"):
        export_run(usual_run, tmp_path / "run.dot")
    assert list(tmp_path.iterdir()) == []


class Watcher(SilentObserver):
    """An observer that keeps all that it is shown."""

    def __init__(self) -> None:
        self.seen: list[Progress] = []

    def progress(self, progress: Progress) -> None:
        self.seen.append(progress)

    def note(self, text: str, *hints: Hint) -> None:
        raise AssertionError(text)


def test_progress_is_shown_and_an_export_can_be_stopped(toy: Run, tmp_path: Path) -> None:
    watcher, target, size = Watcher(), tmp_path / "run.npz", sum(toy.layer_sizes)
    export_run(toy, target, observer=watcher)
    phases = [
        [each for each in watcher.seen if each.headline == f"writing {what}"] for what in ("configurations", "moves")
    ]
    for phase in phases:
        assert phase[-1].done == phase[-1].total == size
        assert all(each.step_left for each in phase[:-1]), "the time left is known from the first batch on"
        assert phase[-1].step_left == 0
        assert all(0 < after.done - before.done <= 30 for before, after in pairwise(phase))
    written = target.read_bytes()
    with pytest.raises(StopRun, match="enough"):
        export_run(toy, target, control=StoppingAfter(len(watcher.seen) - 1))
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    assert target.read_bytes() == written


def test_without_pyarrow_the_message_says_how_to_get_it(
    small_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for write in (export_run, export_edges):
        with pytest.raises(UnanswerableError, match=r"needs pyarrow: pip install 'hakoiri\[parquet\]'"):
            write(small_run, tmp_path / "run.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("puzzle", "options", "bits"), [("tiles", {"rows": "2"}, 8), ("pancakes", {"n": "5"}, 4)])
def test_a_pattern_database_has_the_distance_of_each_key(
    puzzle: str, options: dict[str, str], bits: int, tmp_path: Path
) -> None:
    with explore(puzzle, options, data=tmp_path) as run:
        assert export_run(run, tmp_path / "run.pdb") == sum(run.layer_sizes)
        head, _, raw = (tmp_path / "run.pdb").read_bytes().partition(b"\n")
        halves = [half for byte in raw for half in (byte & 15, byte >> 4)] if bits == 4 else [*raw]
        assert {key: entry - 1 for key, entry in enumerate(halves) if entry} == run_keys(run)
        assert json.loads(head)["bits"] == bits and len(raw) == -(-(1 + max(run_keys(run))) * bits // 8)


def test_options_that_do_not_apply_are_refused(small_run: Run, tmp_path: Path) -> None:
    with refused(UnanswerableError, "layers does not apply to a certificate", Hint("leave out", "layers")):
        small_run.export(tmp_path / "run.json", layers=3)
    with refused(UnanswerableError, "images does not apply to a table of", Hint("leave out", "images")):
        small_run.export(tmp_path / "run.csv", images=True)
    assert list(tmp_path.iterdir()) == []


def test_sparse_keys_and_a_whole_space_make_no_pattern_database(toy: Run, tmp_path: Path) -> None:
    with pytest.raises(UnanswerableError, match="too sparse"):
        export_run(toy, tmp_path / "toy.pdb")
    with census("tiles", {"rows": "2"}, data=tmp_path) as run, pytest.raises(UnanswerableError, match="up to 254"):
        export_run(run, tmp_path / "whole.pdb")
