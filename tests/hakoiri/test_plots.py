"""Plots of layers and components: what they are of, what their axes are, and the scale that shows most."""

import json
import re
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

from hakoiri.api import Run, census, explore, open_run
from hakoiri.coordinator.errors import StopRun, UnanswerableError
from hakoiri.export.graphs import write_map
from hakoiri.keys.layout import ints
from hakoiri.render.maps import COLOURS, save_map
from hakoiri.render.plots import plot_layers
from hakoiri.run import maps
from hakoiri.run.maps import Map
from hakoiri.worker.graphs.searches import eccentricities_of
from tests.support.plain_search import reference_distances
from tests.support.runs import StoppingAfter
from tests.support.seeds import usual


def words(run: Run, target: Path) -> str:
    """Return the words of an SVG of the plot: matplotlib leaves the text of each drawn word as a comment."""
    plot_layers(run, target)
    return "\n".join(re.findall(r"<!-- (.*?) -->", target.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def star(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return explore("magic-star", data=tmp_path_factory.mktemp("star"))


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Layers that grow ninefold."""
    return explore("pancakes", {"n": "9"}, data=tmp_path_factory.mktemp("stack"))


def test_layers(usual_run: Run, tmp_path: Path) -> None:
    said = words(usual_run, tmp_path / "layers.svg")
    assert "klotski, metric=unit" in said
    assert "25,955 configurations in 168 layers" in said
    assert "depth, in moves from the start" in said and "\nconfigurations" in said
    assert "first goal, 116 moves" in said and "2,220 around 57" in said
    assert "logarithmic" not in said


@pytest.mark.ci_slow
def test_goal_distances(usual_run: Run, tmp_path: Path) -> None:
    with open_run(usual_run.hardest(1).distances, usual_run.store.directory.parent) as distances:
        said = words(distances, tmp_path / "distances.svg")
    assert "moves to the nearest goal" in said
    assert "25,955 configurations lead to a goal, the farthest 126 moves from it" in said


@pytest.mark.ci_slow
def test_a_wide_range_has_a_logarithmic_axis_with_numbers_in_full(stack: Run, tmp_path: Path) -> None:
    said = words(stack, tmp_path / "layers.svg").splitlines()
    assert "pancakes, n=9" in said and "configurations, logarithmic" in said
    assert {"1", "10", "100", "1,000", "10,000"} <= {*said}
    assert not [word for word in said if "mathdefault" in word or ("e" in word and word[0].isdigit() and len(word) < 6)]


@pytest.mark.ci_slow
def test_a_whole_space_shows_its_components(whole_run: Run, tmp_path: Path) -> None:
    said = words(whole_run, tmp_path / "layers.svg")
    assert "the whole space: 65,880 configurations in 898 components" in said
    assert "components by size, the largest is the first" in said
    plot_layers(whole_run, target := tmp_path / "layers.png")
    blue = matplotlib.image.imread(target)[:, :, 2] - matplotlib.image.imread(target)[:, :, 0] > 0.3
    assert blue.sum() > 1_000, "an empty frame"


def test_a_tree_says_how_many_solutions_it_has(star: Run, tmp_path: Path) -> None:
    said = words(star, tmp_path / "layers.svg")
    assert "960 solutions; the first levels of the tree" in said
    assert "magic-star, points=6" in said and "placings that can be continued" in said
    assert "0 configurations" not in said.splitlines()


@usual(1, "ending", ["svg", "png", "pdf"])
def test_the_same_run_gives_the_same_bytes(ending: str, small_run: Run, tmp_path: Path) -> None:
    plot_layers(small_run, first := tmp_path / f"first.{ending}")
    plot_layers(small_run, second := tmp_path / f"second.{ending}")
    assert first.read_bytes() == second.read_bytes()


# Maps of components: which configurations, what is known of each, and the file


BOARD = "AABB/C..D"


@pytest.fixture(scope="module")
def mapped(small_run: Run) -> Map:
    return small_run.map()


def read(file: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """As docs/reference/http.md says."""
    raw = file.read_bytes()
    assert raw[:8] == b"HAKOMAP1"
    header = json.loads(raw[12 : 12 + int.from_bytes(raw[8:12], "little")])
    return header, {
        one["name"]: np.frombuffer(raw, one["type"], int(np.prod(one["shape"])), one["offset"]).reshape(one["shape"])
        for one in header["arrays"]
    }


def moves_of(run: Run, found: Map) -> set[tuple[int, int]]:
    """The moves between the configurations of a map by the reference rules, as it gives them."""
    keys = ints(found.keys)
    place = {key: number for number, key in enumerate(keys)}
    moves = {(place[key], place[to]) for key in keys for to in run.puzzle.successors(key) if to in place and to != key}
    return {move for move in moves if move[0] < move[1]} if run.puzzle.undirected else moves


@pytest.mark.ci_slow
def test_a_component_with_its_moves_and_distances(small_run: Run, mapped: Map) -> None:
    keys = ints(mapped.keys)
    successors = small_run.puzzle.successors
    assert (mapped.component, mapped.size, mapped.whole, mapped.places.shape) == (0, 248, True, (248, 3))
    assert dict(zip(keys, mapped.depths.tolist(), strict=True)) == reference_distances(successors, keys[0])
    assert keys[0] == small_run.puzzle.start
    assert np.all(np.diff(mapped.depths) >= 0)
    assert {*map(tuple, mapped.moves.tolist())} == moves_of(small_run, mapped)
    assert mapped.goals is None
    assert mapped.eccentricities is not None
    found, graph = small_run.graph()
    expected = dict(zip(ints(found), eccentricities_of(graph)[0].tolist(), strict=True))
    assert dict(zip(keys, mapped.eccentricities.tolist(), strict=True)) == expected
    lengths = np.linalg.norm(mapped.places[mapped.moves[:, 0]] - mapped.places[mapped.moves[:, 1]], axis=1)
    assert 0.7 < lengths.mean() < 1.3
    assert mapped.stress < 0.02


@pytest.mark.ci_slow
def test_the_same_run_gives_the_same_map_and_a_plane_has_two_axes(small_run: Run, mapped: Map) -> None:
    again, flat = small_run.map(), small_run.map(axes=2)
    assert np.array_equal(again.places, mapped.places)
    assert flat.places.shape == (248, 2)
    assert np.array_equal(flat.keys, mapped.keys)
    assert flat.stress > mapped.stress


def test_the_file_holds_all_of_it(small_run: Run, mapped: Map, tmp_path: Path) -> None:
    write_map(small_run, mapped, tmp_path / "small.hakomap")
    header, arrays = read(tmp_path / "small.hakomap")
    assert header["run"] == small_run.name
    assert header["origin"] == small_run.puzzle.render(small_run.puzzle.start)
    assert (header["start"], header["undirected"], header["depth"]) == (True, True, mapped.depths.max())
    assert all(one["offset"] % 8 == 0 for one in header["arrays"])
    assert [int(row.tobytes().hex(), 16) for row in arrays["keys"]] == ints(mapped.keys)
    for name, array in (
        ("places", mapped.places),
        ("moves", mapped.moves),
        ("depth", mapped.depths),
        ("eccentricity", mapped.eccentricities),
    ):
        assert array is not None
        assert np.array_equal(arrays[name], array)
    assert "goal_distance" not in arrays


@usual(1, ("ending", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_a_map_is_a_picture_by_its_ending(
    ending: str, begin: bytes, small_run: Run, mapped: Map, tmp_path: Path
) -> None:
    """A small one is drawn line by line; of a larger one lines and points are an image in an SVG."""
    sizes = []
    for most in (1_000, 10):
        save_map(small_run, mapped, target := tmp_path / f"{most}.{ending}", most)
        assert target.read_bytes().startswith(begin)
        sizes.append(target.read_bytes().count(b"<image"))
    assert sizes == ([1, 2] if ending == "svg" else [0, 0])


def test_a_map_of_another_ending_is_refused(small_run: Run, mapped: Map, tmp_path: Path) -> None:
    with pytest.raises(UnanswerableError, match=r"must end in .png, .svg, .pdf, .html, .hakomap"):
        save_map(small_run, mapped, tmp_path / "map.txt")


def test_of_a_large_component_the_layers_around_its_start(
    small_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maps of a search and of a census, and of an unfinished one."""
    monkeypatch.setattr(maps, "MOST_SHOWN", 100)
    monkeypatch.setattr(maps, "MOST_OF_LARGER", 60)
    found = small_run.map()
    shown = len(small_run.layer_sizes[: int(found.depths.max()) + 1])
    assert (found.size, found.whole, len(found.keys)) == (248, False, sum(small_run.layer_sizes[:shown]))
    assert len(found.keys) <= 60 < len(found.keys) + small_run.layer_sizes[shown]
    assert {*map(tuple, found.moves.tolist())} == moves_of(small_run, found)
    assert found.goals is None and found.eccentricities is None
    with (
        census("sliding", start=BOARD, data=tmp_path) as counted,
        explore("sliding", start=BOARD, data=tmp_path) as run,
    ):
        monkeypatch.setattr(maps, "MOST_SHOWN", 5)
        monkeypatch.setattr(maps, "MOST_OF_LARGER", 9)
        of_census, of_search = counted.map(), run.map()
        assert sorted(ints(of_census.keys)) == sorted(ints(of_search.keys))
        assert not of_census.whole
        assert of_census.component == counted.start_component


def test_goals_and_directed_moves(tmp_path: Path) -> None:
    """Gap: a move cannot be taken back, and from some deals no goal is reached."""
    with explore("gap", {"ranks": "3"}, data=tmp_path) as run:
        found = run.map()
        keys, goals = ints(found.keys), set(ints(found.keys[run.puzzle.is_goal(found.keys)]))
        assert {*map(tuple, found.moves.tolist())} == moves_of(run, found)
        assert found.eccentricities is None
        for key, goal_distance in zip(keys, found.goals.tolist() if found.goals is not None else keys, strict=True):
            reached = reference_distances(run.puzzle.successors, key)
            assert goal_distance == min((reached[goal] for goal in goals & reached.keys()), default=-1) or not goals


def test_a_run_under_way_and_one_that_stops_at_its_goal(tmp_path: Path) -> None:
    with explore("tiles", {"rows": "2", "columns": "3"}, until_goal=True, data=tmp_path, start="142/35.") as run:
        found = run.map()
        assert (found.size, found.whole, len(found.keys)) == (None, False, sum(run.layer_sizes))
        assert found.depths.max() == run.store.state.depth


def test_it_stops_when_it_is_told_to(small_run: Run) -> None:
    with pytest.raises(StopRun, match="enough"):
        small_run.map(control=StoppingAfter(4))


def test_maps_have_the_colours_of_the_page() -> None:
    words = Path(__file__).parents[2].joinpath("hakoiri/web/static/js/map/words.js").read_text(encoding="utf-8")
    assert tuple(re.findall("#[0-9a-f]{6}", words.partition("light: [")[2].partition("]")[0])) == COLOURS
