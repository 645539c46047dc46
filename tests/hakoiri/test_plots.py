"""Plots of layers and components: what they are of, what their axes are, whole bars, and the scale that shows most."""

import re
from pathlib import Path

import matplotlib.image
import pytest

from hakoiri.api import Run, explore, open_run
from hakoiri.render.plots import plot_layers


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


def test_goal_distances(usual_run: Run, tmp_path: Path) -> None:
    with open_run(usual_run.hardest(1).distances, usual_run.store.directory.parent) as distances:
        said = words(distances, tmp_path / "distances.svg")
    assert "moves to the nearest goal" in said
    assert "25,955 configurations lead to a goal, the farthest 126 moves from it" in said


def test_a_wide_range_has_a_logarithmic_axis_with_numbers_in_full(stack: Run, tmp_path: Path) -> None:
    said = words(stack, tmp_path / "layers.svg").splitlines()
    assert "pancakes, n=9" in said and "configurations, logarithmic" in said
    assert {"1", "10", "100", "1,000", "10,000"} <= {*said}
    assert not [word for word in said if "mathdefault" in word or ("e" in word and word[0].isdigit() and len(word) < 6)]


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


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_same_run_gives_the_same_bytes(ending: str, small_run: Run, tmp_path: Path) -> None:
    plot_layers(small_run, first := tmp_path / f"first.{ending}")
    plot_layers(small_run, second := tmp_path / f"second.{ending}")
    assert first.read_bytes() == second.read_bytes()
