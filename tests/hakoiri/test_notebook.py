"""Runs, paths and boards in a notebook: what they print and show, and the data frames and graphs made of them."""

import sys
from inspect import getmembers, isclass
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import networkx as nx
import numpy as np
import pytest
from nbclient import NotebookClient

import hakoiri
from hakoiri import Run, UnanswerableError, explore
from hakoiri import errors as storage_errors
from hakoiri.coordinator import errors as run_errors
from hakoiri.errors import HakoiriError
from hakoiri.keys.layout import ints
from tests.support.commands import ROOT

BOARD = "AABB/AACC/DE../FGHH/FGII"


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)  # noqa: S314  (our own)


@pytest.mark.ci_slow
def test_a_path_is_a_sequence_of_boards_with_a_short_repr(small_run: Run) -> None:
    path = small_run.path("farthest")
    assert len(repr(path)) < 200
    assert repr(path).startswith(f"<DrawnPath of {len(path)} moves from ")
    assert list(path) == path.configurations == path[:]
    assert [board.key for board in path] == path.keys
    assert (path[0], path[-1]) == (small_run.board(), path[len(path)])
    assert [small_run.distance(board) for board in path[:5]] == [0, 1, 2, 3, 4]
    with pytest.raises(IndexError):
        path[len(path) + 1]


@pytest.mark.ci_slow
def test_boards_of_a_path_keep_the_letters_and_colours_of_the_first(small_run: Run, tmp_path: Path) -> None:
    path = small_run.path("farthest")
    shown = [{part.name: part.shapes for part in board.picture.parts} for board in path]
    assert shown == [shown[0]] * len(shown)
    drawn = parsed(path[-1].svg())
    assert drawn.findtext("{*}title") == path.configurations[-1]
    for ending in (".svg", ".png"):
        path[-1].save(tmp_path / f"board{ending}")
    assert (tmp_path / "board.svg").read_text() == path[-1].svg() == path[-1]._repr_svg_()


@pytest.mark.ci_slow
def test_a_notebook_shows_runs_paths_and_plots(small_run: Run, tmp_path: Path) -> None:
    path = small_run.path("farthest")
    path.film(tmp_path / "path.html")
    small_run.film(tmp_path / "run.html", "farthest")
    frame = parsed(str(path._repr_html_()))
    films = [(tmp_path / name).read_text() for name in ("path.html", "run.html")]
    # In the value of an attribute, XML takes a line break for a space.
    assert [film.split() for film in films] == [str(frame.get("srcdoc")).split()] * 2
    figure = parsed(small_run._repr_html_())
    assert figure.findtext("figcaption") == repr(small_run)[1:-1]
    assert figure.find("{http://www.w3.org/2000/svg}svg") is not None
    plotted = small_run.plot(tmp_path / "plot.svg")
    assert parsed(plotted).tag.endswith("svg")
    assert plotted == (tmp_path / "plot.svg").read_text()
    assert len(repr(plotted)) < 100


@pytest.mark.ci_slow
def test_frames_graphs_and_matrices_have_the_moves_of_the_reference(small_run: Run) -> None:
    keys, depths = small_run.configurations()
    frame = small_run.to_dataframe()
    assert frame.key.tolist() == ints(keys) and frame.depth.tolist() == depths.tolist()
    assert frame.configuration.tolist() == [small_run.puzzle.render(key) for key in ints(keys)]
    graph = small_run.to_networkx()
    assert {key: set(graph[key]) for key in graph} == {key: set(small_run.puzzle.successors(key)) for key in ints(keys)}
    assert nx.single_source_shortest_path_length(graph, small_run.puzzle.start) == nx.get_node_attributes(
        graph, "depth"
    )
    matrix = small_run.to_scipy()
    assert (matrix != nx.to_scipy_sparse_array(graph, nodelist=ints(keys))).nnz == 0
    first = small_run.to_networkx(layers=3)
    assert (
        set(first)
        == set(small_run.to_dataframe(layers=3).key)
        == {key for key in keys.tolist() if depths[keys == key] < 4}
    )


@pytest.mark.parametrize(
    ("call", "library"), [("to_dataframe", "pandas"), ("to_networkx", "networkx"), ("to_scipy", "scipy")]
)
def test_what_is_not_installed_is_named_with_its_extra(
    small_run: Run, call: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [library, "scipy.sparse"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UnanswerableError, match=rf"needs {library}.*: pip install 'hakoiri\[notebook\]'$"):
        getattr(small_run, call)()


def test_solutions_of_a_tree_are_a_frame(tmp_path: Path) -> None:
    with explore("magic-star", {"points": "6", "solutions": "keep"}, data=tmp_path) as run:
        frame = run.to_dataframe()
        assert list(frame) == ["orbit", "key", "solution"]
        assert frame.key.tolist() == [key for batch in run.solutions() for key in ints(batch)]


def test_a_closed_run_says_so(tmp_path: Path) -> None:
    run = explore("sliding", {"goal": "A@4,1"}, start=BOARD, layers=5, data=tmp_path)
    path = run.path(run.layer(5)[0])
    run.close()
    run.close()
    assert repr(run) == f"<Run {run.name}: closed>"
    assert f"{run.name}: closed" in run._repr_html_()
    assert path[3]._repr_svg_().startswith("<svg")
    for question in (run.path, run.plot, run.to_dataframe, run.diameter, lambda: run.layer_sizes, lambda: BOARD in run):
        with pytest.raises(UnanswerableError, match=rf"^run {run.name} is closed; open_run\('{run.name}'\) opens"):
            question()


def test_a_run_that_did_the_same_is_used_again(tmp_path: Path) -> None:
    (tmp_path / "board.txt").write_text("; a board\n" + BOARD.replace("/", "\n") + "\n")
    options = {"goal": "A@4,1"}
    with explore("sliding", options, start=BOARD, data=tmp_path) as first:
        # It may be open, as in a notebook whose cell is run again.
        with explore("sliding", options, start=tmp_path / "board.txt", data=tmp_path, reuse=True) as again:
            assert again.name == first.name
        with explore("sliding", options, start=str(tmp_path / "board.txt"), data=tmp_path) as other:
            assert other.name != first.name
            assert other.store.manifest.puzzle == first.store.manifest.puzzle


def test_every_error_is_public() -> None:
    modules = (run_errors, storage_errors)
    errors = {name for module in modules for name, it in getmembers(module, isclass) if issubclass(it, HakoiriError)}
    internal = {"AddressSpaceError", "MisreadError", "PayloadError", "PoisonedError", "TakenOverError"}
    assert internal < errors
    assert errors - internal <= set(dir(hakoiri))
    assert all(issubclass(getattr(hakoiri, name), HakoiriError) for name in dir(hakoiri) if name.endswith("Error"))


@pytest.mark.ci_slow
def test_the_example_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(ROOT / "examples" / "klotski.ipynb", 4)
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [output.data for output in outputs if output.output_type == "execute_result"]
    assert sum("text/html" in data for data in shown) == 4
    assert sum("image/svg+xml" in data for data in shown) == 3
    assert "(1, 41948)" in {data["text/plain"] for data in shown}
    assert np.loadtxt(tmp_path / "klotski.csv", skiprows=1, delimiter=",", usecols=2).max() == 167
    assert (tmp_path / "klotski.html").exists() and (tmp_path / "klotski.svg").exists()
