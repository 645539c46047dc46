"""The figure: its points, lines and rows, its symmetries, and those of its lines alone."""

import math

import pytest

from hakoiri.puzzles.stars.figure import star
from tests.support.stars import incidence_automorphisms, orbit_count, ring_lines, ring_solutions

#: The lines of Hiroi's program, points numbered as in his figure 7.
PAPER = [(0, 2, 5, 7), (0, 3, 6, 10), (7, 8, 9, 10), (1, 2, 3, 4), (1, 5, 8, 11), (4, 6, 9, 11)]
TIPS = range(5, 16)


def test_six_tips_are_numbered_as_in_the_paper() -> None:
    figure = star(6)
    assert {frozenset(line) for line in figure.lines} == {frozenset(line) for line in PAPER}
    assert figure.rows == ((0,), (1, 2, 3, 4), (5, 6), (7, 8, 9, 10), (11,))
    assert figure.total == 26


@pytest.mark.parametrize("tips", TIPS)
def test_points_are_numbered_as_one_reads(tips: int) -> None:
    figure = star(tips)
    assert [point for row in figure.rows for point in row] == list(range(2 * tips))
    heights = [[round(figure.places[point][1], 9) for point in row] for row in figure.rows]
    assert all(len(set(row)) == 1 for row in heights)
    assert [row[0] for row in heights] == sorted({height for row in heights for height in row}, reverse=True)
    for row in figure.rows:
        across = [figure.places[point][0] for point in row]
        assert across == sorted(across)


@pytest.mark.parametrize("tips", TIPS)
def test_symmetries_of_the_figure_keep_distances_and_lines(tips: int) -> None:
    figure = star(tips)
    symmetries = figure.symmetries()
    assert len(set(symmetries)) == len(symmetries) == 2 * tips
    assert symmetries[0] == tuple(range(2 * tips))
    lines = {frozenset(line) for line in figure.lines}
    for image in symmetries:
        assert {frozenset(image[point] for point in line) for line in figure.lines} == lines
        for point in range(1, 2 * tips):
            before = math.dist(figure.places[0], figure.places[point])
            assert math.dist(figure.places[image[0]], figure.places[image[point]]) == pytest.approx(before)


@pytest.mark.parametrize(("tips", "count"), [(5, 120), (6, 48), (7, 14), (8, 16)])
def test_automorphisms_of_the_lines(tips: int, count: int) -> None:
    """Against every rearrangement of the lines; only for five and six tips are there more than the figure has."""
    figure = star(tips)
    automorphisms = figure.automorphisms()
    assert automorphisms[: 2 * tips] == figure.symmetries()
    lines = {frozenset(line) for line in figure.lines}
    for image in automorphisms:
        assert sorted(image) == list(range(2 * tips))
        assert {frozenset(image[point] for point in line) for line in figure.lines} == lines
    assert len(set(automorphisms)) == len(automorphisms) == count
    if tips < 8:
        assert len(incidence_automorphisms(tips)) == count


@pytest.mark.parametrize("tips", [9, 12, 15])
def test_large_stars_have_no_hidden_automorphisms(tips: int) -> None:
    assert len(star(tips).automorphisms()) == 2 * tips


def test_six_tips_have_80_orbits_by_the_figure_and_20_by_the_lines() -> None:
    solutions, every = ring_solutions(6), incidence_automorphisms(6)
    turn = tuple(6 * (point // 6) + (point + 1) % 6 for point in range(12))
    mirror = (*((-i) % 6 for i in range(6)), *(6 + (5 - i) for i in range(6)))
    lines = {frozenset(line) for line in ring_lines(6)}
    for image in (turn, mirror):
        assert {frozenset(image[point] for point in line) for line in ring_lines(6)} == lines
    assert len(solutions) == 960
    assert orbit_count(solutions, frozenset({turn, mirror})) == 80
    assert orbit_count(solutions, every) == 20
