"""Exports read back by other programs: csv by the standard library, npz by numpy, graphml by networkx."""

import csv
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from pyarrow import parquet

from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from tests.support.commands import START_OF_2, FinishedRuns, Hakoiri
from tests.support.process_setup import stand_still
from tests.support.published import HAKOIRI as KNOWN
from tests.support.seeds import first_usual

START_KEY = 0x17038BBB
ENDINGS = ("csv", "npz", "graphml", "parquet")


def export(hakoiri: Hakoiri, run: str, target: Path, configurations: int) -> Path:
    """Export, and see that nothing but the file has come to be."""
    target.parent.mkdir(exist_ok=True)
    before = set(target.parent.iterdir())
    told = hakoiri.ask("export", run, "--to", str(target))
    assert (told["configurations"], told["file"]) == (configurations, str(target))
    assert set(target.parent.iterdir()) - before <= {target}
    return target


def read_csv(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


def edges_by_rules(sample: list[int]) -> set[frozenset[int]]:
    """The moves of some configurations by the puzzle's reference rules."""
    puzzle = Klotski()
    return {frozenset((key, other)) for key in sample for other in puzzle.successors(key)}


@pytest.fixture(scope="module")
def arrays(finished: FinishedRuns, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The exploration as numpy has it."""
    target = tmp_path_factory.mktemp("arrays") / "run.npz"
    with np.load(export(finished.hakoiri, finished.explored["run"], target, 25_955), allow_pickle=False) as loaded:
        return dict(loaded)


@pytest.mark.ci_slow
def test_npz_holds_the_exploration(arrays: dict[str, Any], finished: FinishedRuns) -> None:
    keys, depths, edges = arrays["keys"], arrays["depths"], arrays["edges"]
    assert (np.diff(keys.astype(np.int64)) > 0).all()
    assert np.bincount(depths).tolist() == finished.explored["layers"]
    assert (edges[:, 0] < edges[:, 1]).all()
    assert len(np.unique(edges, axis=0)) == len(edges)
    graph: nx.Graph = nx.Graph(edges.tolist())
    distances = nx.single_source_shortest_path_length(graph, int(np.searchsorted(keys, START_KEY)))
    assert [distances[vertex] for vertex in range(len(keys))] == depths.tolist()
    sample = np.random.default_rng(5).choice(len(keys), 300, replace=False)
    chosen = np.isin(edges, sample).any(axis=1)
    assert {frozenset(pair) for pair in keys[edges[chosen]].tolist()} == edges_by_rules(keys[sample].tolist())


@pytest.mark.ci_slow
def test_csv_holds_the_exploration(finished: FinishedRuns, arrays: dict[str, Any], tmp_path: Path) -> None:
    rows = read_csv(export(finished.hakoiri, finished.explored["run"], tmp_path / "run.csv", 25_955))
    puzzle = Klotski()
    assert [int(row["key"], 16) for row in rows] == arrays["keys"].tolist()
    assert [int(row["depth"]) for row in rows] == arrays["depths"].tolist()
    assert {row["goal"] for row in rows} == {"false", "true"}
    nearest = min(int(row["depth"]) for row in rows if row["goal"] == "true")
    assert nearest == finished.explored["goal_depth"]
    assert sum(row["goal"] == "true" for row in rows) == finished.explored["goals"]
    assert all(puzzle.parse(row["configuration"]) == int(row["key"], 16) for row in rows[::100])


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Hakoiri, dict[str, Any]]:
    """A run with merged mirror images."""
    hakoiri = Hakoiri(tmp_path_factory.mktemp("merged"))
    return hakoiri, hakoiri.ask("run", "klotski", "--merge-mirrors")


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("kind", "ending"), first_usual(2, ("interrupted", "graphml"), ("until the goal", "npz"), ("interrupted", "csv"))
)
def test_an_unfinished_run(kind: str, ending: str, hakoiri: Hakoiri, tmp_path: Path, finished: FinishedRuns) -> None:
    """It gives whole layers, without the one that is half made, and the moves within them."""
    if kind == "interrupted":
        running = hakoiri.start("run", "klotski", "--chunk", "5", before=partial(stand_still, 43, "expanded"))
        running.stands_still()
        running.kill()
    else:
        hakoiri.here("run", "klotski", "--until-goal")
    status = hakoiri.ask("status", "last")
    assert status["depth"] == (42 if kind == "interrupted" else 116)
    layers = finished.explored["layers"][: status["depth"] + 1]
    target = export(hakoiri, "last", tmp_path / "out" / f"run.{ending}", sum(layers))
    if ending == "csv":
        assert Counter(int(row["depth"]) for row in read_csv(target)) == dict(enumerate(layers))
        return
    if ending == "npz":
        with np.load(target, allow_pickle=False) as loaded:
            graph: nx.Graph = nx.Graph(loaded["edges"].tolist())
            depth = dict(enumerate(loaded["depths"].tolist()))
    else:
        graph = nx.read_graphml(target)
        assert not graph.is_directed()
        assert not any(there["goal"] for _, there in graph.nodes(data=True))
        depth = dict(graph.nodes(data="depth"))
    assert Counter(depth.values()) == dict(enumerate(layers))
    start = next(vertex for vertex, there in depth.items() if there == 0)
    assert nx.single_source_shortest_path_length(graph, start) == depth


@pytest.mark.parametrize("name", ["run.txt", "run", "run.csv.gz", ".csv"])
def test_a_bad_ending_is_refused(name: str, finished: FinishedRuns, tmp_path: Path) -> None:
    refused = finished.hakoiri.here("export", "last", "--to", str(tmp_path / name), check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert "must end in .csv, .parquet, .pdb, .npz, .graphml, .dot" in refused.error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_target_that_cannot_be_written_leaves_nothing(ending: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    hakoiri.here("run", "klotski", "--from", START_OF_2)
    place = tmp_path / "place"
    (place / f"taken.{ending}").mkdir(parents=True)
    (place / "file").touch()
    for target in (place / "none" / f"run.{ending}", place / "file" / f"run.{ending}", place / f"taken.{ending}"):
        refused = hakoiri.here("export", "last", "--to", str(target), check=False)
        assert (refused.code, refused.stdout) == (1, "")
        assert f"cannot write {target}" in refused.error
    assert sorted(path.name for path in place.rglob("*")) == ["file", f"taken.{ending}"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--to a.json --layers 0", "layers does not apply to a certificate; leave out --layers"),
        ("--to a.csv --moves", "moves does not apply to a table of configurations; leave out --moves"),
        ("--to a.pdb --moves", "moves does not apply to a table of distances; leave out --moves"),
        ("--to b.json --moves", "moves does not apply to a certificate; leave out --moves"),
        ("--to b.json --images", "images does not apply to a certificate; leave out --images"),
        ("--to a.html --moves", "moves does not apply to a page to play; leave out --moves"),
        ("--to a.npz --images", "images does not apply to a graph of configurations and moves; leave out --images"),
        ("--to a.csv --per-page 4", "per_page does not apply to a table of configurations; leave out --per-page"),
        ("--edges e.csv --per-page 4", "per_page does not apply to a table of moves; leave out --per-page"),
        ("--play p.csv --layers 3", "layers does not apply to a table of best moves; leave out --layers"),
        ("--play p.csv --moves", "moves does not apply to a table of best moves; leave out --moves"),
        ("--growth g.csv --layers 3", "layers does not apply to a table of the sizes of layers; leave out --layers"),
        ("--to a.csv --play p.csv --layers 3", "layers does not apply to a table of best moves"),
        ("--to a.csv --growth g.csv --moves", "moves does not apply to a table of configurations"),
        ("--to a.csv --edges e.txt", "cannot export to 'e.txt': the name must end in .csv, .parquet"),
        ("--to a.csv --play p.npz", "cannot write perfect play to 'p.npz': the name must end in .csv"),
        ("--to a.csv --growth gone/g.csv", "cannot write gone/g.csv: its directory does not exist"),
    ],
)
def test_what_cannot_be_written_is_refused_before_a_file_is_written(
    options: str, said: str, finished: FinishedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = finished.hakoiri.here("export", finished.explored["run"], *options.split(), check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert said in refused.error
    assert not list(tmp_path.iterdir())


def test_options_may_be_for_one_file_of_several(hakoiri: Hakoiri, tmp_path: Path) -> None:
    hakoiri.here("run", "klotski", "--from", START_OF_2)
    target = tmp_path / "a.csv"
    assert [row.keys() for row in edges_of(hakoiri, "last", tmp_path / "e.csv", "--moves", "--to", str(target))] == [
        {"source", "target", "move"}
    ]
    assert len(read_csv(target)) == 2
    hakoiri.here("export", "last", "--to", str(target), "--edges", str(tmp_path / "e.csv"), "--layers", "0")
    assert [len(read_csv(file)) for file in (target, tmp_path / "e.csv")] == [1, 0]


def edges_of(hakoiri: Hakoiri, run: str, target: Path, *more: str) -> list[dict[str, Any]]:
    told = hakoiri.ask("export", run, "--edges", str(target), *more)
    found: list[dict[str, Any]] = (
        parquet.read_table(target).to_pylist() if target.suffix == ".parquet" else list(read_csv(target))
    )
    assert (told["edges_file"], told["edges"]) == (str(target), len(found))
    return found


@pytest.mark.ci_slow
def test_moves_are_a_table_of_their_own(finished: FinishedRuns, arrays: dict[str, Any], tmp_path: Path) -> None:
    expected = arrays["keys"][arrays["edges"]].tolist()
    run, hakoiri = finished.explored["run"], finished.hakoiri
    for ending in ("parquet", "csv"):
        rows = edges_of(hakoiri, run, tmp_path / f"edges.{ending}")
        assert [[int(row["source"], 16), int(row["target"], 16)] for row in rows] == expected


@pytest.mark.slow
def test_graphml_holds_the_exploration(finished: FinishedRuns, arrays: dict[str, Any], tmp_path: Path) -> None:
    """As an interrupted one, below, by default."""
    graph = nx.read_graphml(export(finished.hakoiri, finished.explored["run"], tmp_path / "run.graphml", 25_955))
    assert not graph.is_directed()
    assert graph.number_of_nodes() == KNOWN["reachable"]
    assert graph.number_of_edges() == len(arrays["edges"])
    start = next(node for node, there in graph.nodes(data=True) if there["configuration"] == KNOWN["start"])
    assert int(start, 16) == START_KEY
    distances = nx.single_source_shortest_path_length(graph, start)
    assert distances == {node: there["depth"] for node, there in graph.nodes(data=True)}
    goals = [node for node, there in graph.nodes(data=True) if there["goal"]]
    assert min(distances[node] for node in goals) == KNOWN["solution by metric"]["unit"]


@pytest.mark.ci_slow
@pytest.mark.parametrize("ending", ["npz", pytest.param("graphml", marks=pytest.mark.slow)])
def test_a_census_by_its_components(ending: str, finished: FinishedRuns, tmp_path: Path) -> None:
    """65,880 vertices, 103,390 edges; the components are those that networkx finds."""
    target = export(finished.hakoiri, finished.counted["run"], tmp_path / f"run.{ending}", 65_880)
    if ending == "npz":
        with np.load(target, allow_pickle=False) as loaded:
            graph: nx.Graph = nx.Graph(loaded["edges"].tolist())
            label = dict(enumerate(loaded["components"].tolist()))
    else:
        graph = nx.read_graphml(target)
        label = dict(graph.nodes(data="component"))
    assert graph.number_of_nodes() == KNOWN["configurations"]
    assert graph.number_of_edges() == KNOWN["moves"]
    components = list(nx.connected_components(graph))
    assert len(components) == KNOWN["components"]
    sizes = Counter(len(component) for component in components)
    for size, count in KNOWN["component sizes, each with how often"].items():
        assert sizes[size] == count
    assert all(len({label[vertex] for vertex in component}) == 1 for component in components)
    assert len(set(label.values())) == len(components)


@pytest.mark.ci_slow
def test_parquet_holds_what_csv_does(merged: tuple[Hakoiri, dict[str, Any]], tmp_path: Path) -> None:
    hakoiri, found = merged
    table = parquet.read_table(export(hakoiri, found["run"], tmp_path / "run.parquet", 13_011))
    rows = read_csv(export(hakoiri, found["run"], tmp_path / "run.csv", 13_011))
    assert {field.name: str(field.type) for field in table.schema} == {
        "key": "string",
        "configuration": "string",
        "depth": "uint32",
        "goal": "bool",
    }
    told = [row | {"goal": str(row["goal"]).lower(), "depth": str(row["depth"])} for row in table.to_pylist()]
    assert told == rows
