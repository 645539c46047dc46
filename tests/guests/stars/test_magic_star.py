"""Magic stars: the three strategies against reference rules and each other, keys and texts, and the figure drawn."""

import math
import random

import pytest

from hakoiri.guests.stars.figure import star
from hakoiri.guests.stars.magic_star import FASTEST, GENERATE, PRUNE, MagicStar
from hakoiri.guests.stars.placements import SubtreeCounts
from hakoiri.guests.stars.strategies import COMBINED
from hakoiri.keys.layout import MOST_POINTS, Key, Numbering, ints
from tests.support.stars import incidence_automorphisms, orbit_count, ring_lines, ring_solutions

#: Orbits by the symmetries of the figure; published. Solutions are 2n times as many.
ORBITS = {5: 0, 6: 80, 7: 72, 8: 112}
STRATEGIES = (FASTEST, PRUNE, GENERATE, *COMBINED)
IDEAS = ("symmetry", "order", "forced", "ahead")
#: All that breaks no symmetry, and some that do, in every order of points.
SAMPLED = (FASTEST, PRUNE, GENERATE, "symmetry", "order+ahead", "symmetry+forced", "+".join(IDEAS))
FIGURE_6 = "1/2 4 12 8/10 6/11 5 3 7/9"


def made(points: int, strategy: str = FASTEST) -> MagicStar:
    return MagicStar({"points": str(points), "strategy": strategy})


def of_all(puzzle: MagicStar) -> SubtreeCounts:
    return puzzle.count_subtrees(puzzle.keys([puzzle.start]))


def level(puzzle: MagicStar, depth: int) -> list[Key]:
    """The nodes of a level, by the reference rules."""
    keys = [puzzle.start]
    for _ in range(depth):
        keys = [successor for key in keys for successor in puzzle.successors(key)]
    return keys


@pytest.mark.parametrize(
    ("points", "strategy"),
    [(points, strategy) for points in ORBITS for strategy in STRATEGIES[: 2 if points < 8 else 1]]
    + [(points, strategy) for points in (5, 6) for strategy in COMBINED]
    + [
        (5, GENERATE),
        pytest.param(6, GENERATE, marks=pytest.mark.slow),
        pytest.param(8, PRUNE, marks=pytest.mark.slow),
    ],
)
def test_every_strategy_finds_all(points: int, strategy: str) -> None:
    puzzle = made(points, strategy)
    counted = of_all(puzzle)
    assert (counted.solutions, counted.orbits) == (2 * points * ORBITS[points], ORBITS[points])
    assert counted.classes == (20 if points == 6 else ORBITS[points])
    keys = ints(counted.found)
    assert len(set(keys)) == counted.orbits
    assert puzzle.is_goal(counted.found).all()
    assert all(puzzle.images(key)[0] == key for key in keys)
    assert sorted(keys) == sorted(ints(of_all(made(points)).found))


@pytest.mark.parametrize("points", [5, 6, pytest.param(7, marks=pytest.mark.slow)])
def test_solutions_are_those_of_a_plain_search(points: int) -> None:
    puzzle = made(points)
    order = [*puzzle.star.tip, *puzzle.star.crossing]
    plain = set()
    for numbers in ring_solutions(points):
        placed = dict(zip(order, numbers, strict=True))
        plain.add(Numbering(2 * points).key_of([placed[point] for point in range(2 * points)]))
    found = [image for key in ints(of_all(puzzle).found) for image in puzzle.images(key)]
    assert len(found) == len(set(found))
    assert set(found) == plain


@pytest.mark.parametrize(
    ("points", "strategy"),
    [(points, strategy) for points in (5, 6, 8, 13, 15) for strategy in SAMPLED if points < 9 or strategy != GENERATE],
)
def test_the_kernel_expands_by_the_plain_rules(points: int, strategy: str) -> None:
    puzzle, chance = made(points, strategy), random.Random(points)
    keys = [puzzle.start]
    for depth in range(puzzle.levels + 1):
        expansion = puzzle.expand(puzzle.keys(keys))
        found, begin = ints(expansion.successors), 0
        for key, count in zip(keys, expansion.counts.tolist(), strict=True):
            assert sorted(found[begin : begin + count]) == sorted(puzzle.successors(key))
            begin += count
        if not found:
            assert depth
            return
        placed = puzzle.placings(puzzle.keys(found))
        widths = [puzzle.numbers_placed(each) for each in range(depth + 2)]
        assert ((placed > 0).sum(axis=1) == sum(widths)).all()
        keys = chance.sample(found, min(25, len(found)))


@pytest.mark.parametrize(
    ("points", "strategy", "depth"),
    [
        (5, FASTEST, 0), (6, FASTEST, 0), (6, FASTEST, 3), (8, FASTEST, 6), (12, FASTEST, 8), (6, PRUNE, 7),
        (6, GENERATE, 8), (6, "symmetry", 6), (7, "order+forced", 5), (6, "forced+ahead", 4),
    ],
)  # fmt: skip
def test_a_harvest_is_that_of_the_plain_rules(points: int, strategy: str, depth: int) -> None:
    puzzle, chance = made(points, strategy), random.Random(depth)
    keys = [puzzle.start]
    for _ in range(depth):
        keys = chance.sample(keys, min(4, len(keys)))
        keys = [successor for key in keys for successor in puzzle.successors(key)]
    for key in chance.sample(keys, min(6, len(keys))):
        fast, plain = puzzle.count_subtrees(puzzle.keys([key])), puzzle.reference_counts(key)
        assert fast[:4] == plain[:4]
        assert sorted(ints(fast.found)) == ints(plain.found)


def test_the_fastest_never_needs_more_than_pruning() -> None:
    assert 100 * of_all(made(6)).nodes < of_all(made(6, PRUNE)).nodes


@pytest.mark.parametrize("points", range(5, 16))
def test_texts_and_keys_lead_to_each_other(points: int) -> None:
    puzzle, chance = made(points), random.Random(points)
    assert puzzle.parse(puzzle.render(puzzle.start)) == puzzle.start
    for _ in range(20):
        numbers = chance.sample(range(1, 2 * points + 1), 2 * points)
        for point in chance.sample(range(2 * points), chance.randrange(2 * points)):
            numbers[point] = 0
        key = Numbering(2 * points).key_of(numbers)
        assert puzzle.parse(puzzle.render(key)) == puzzle.parse(f"{key:#x}") == key
        packed = puzzle.keys([key])
        assert puzzle.placings(packed).tolist() == [numbers]
        assert ints(Numbering(2 * points).pack(puzzle.placings(packed))) == [key]


def test_keys_sort_as_their_numbers_do() -> None:
    chance = random.Random(1)
    for points in (10, 14, 24, 26, MOST_POINTS):
        rows = sorted(chance.sample(range(1, points + 1), points) for _ in range(50))
        keys = [Numbering(points).key_of(row) for row in rows]
        assert keys == sorted(keys)


@pytest.mark.parametrize("strategy", SAMPLED)
def test_a_tree_too_large_to_count_is_seen_at_once(strategy: str) -> None:
    puzzle = made(8, strategy)
    start = puzzle.keys([puzzle.start])
    assert puzzle.exceeds(start, 1_000)
    assert made(8).exceeds(start, 68_347)
    assert not made(8).exceeds(start, 68_348)
    assert not puzzle.exceeds(start[:0], 0)


def test_only_magic_stars_are_goals() -> None:
    puzzle = made(6)
    wrong = FIGURE_6.replace("11 5", "5 11")
    keys = puzzle.keys([puzzle.parse(text) for text in (FIGURE_6, wrong, puzzle.render(0))])
    assert puzzle.is_goal(keys).tolist() == [True, False, False]


# The figure


def test_points_without_a_number_are_drawn_as_such() -> None:
    assert made(6).drawing(0).count("o") == 12


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("1/2 3 4 5/. ./. . . ./.", ["line 1 2 3 4: 2 + 3 + 4 + 5 = 14, not 26"]),
        ("1/12 11 2 ./. ./. . . ./.", ["line 1 2 3 4: 12 + 11 + 2 needs 1, which is on point 0"]),
        ("4/1 2 3 ./. ./. . . ./.", ["line 1 2 3 4: 1 + 2 + 3 needs 20, which is not in 1 to 12"]),
        ("12/1 2 . ./. ./. . . ./.", ["line 1 2 3 4: 1 + 2 needs 23 more, and no 2 unused numbers add up to it"]),
        (FIGURE_6, []),
    ],
)
def test_what_fails_is_told_line_by_line(text: str, faults: list[str]) -> None:
    puzzle = made(6)
    found = puzzle.faults(puzzle.parse(text))
    assert [fault for fault in found if fault.startswith("line 1 2 3 4")] == faults
    assert (not found) == (not faults)


# The figure: its points, lines and rows, its symmetries, and those of its lines alone


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


def placed_by_the_third_program(points: int) -> tuple[int, int]:
    """(solutions, numbers placed) of Hiroi's ms3.c, translated word by word; its flags and lines for any star."""
    figure = made(points).star
    star, used, solutions, placed = [0] * figure.points, set[int](), 0, 0
    flags = {*figure.tip} - {0}
    left, right = sorted((figure.crossing[0], figure.crossing[-1]))

    def is_image(position: int, number: int) -> bool:
        return (position in flags and star[0] > number) or (position == right and star[left] > number)

    def fits(position: int, number: int) -> bool:
        lines = [line for line in figure.lines if position in line]
        there = [[star[point] for point in line if point < position] for line in lines]
        return all(len(numbers) < 3 or sum(numbers) + number == figure.total for numbers in there)

    def search(position: int) -> None:
        nonlocal solutions, placed
        if position == figure.points:
            solutions += 1
            return
        for number in range(1, figure.points + 1):
            if number not in used and not is_image(position, number) and fits(position, number):
                placed += 1
                star[position] = number
                used.add(number)
                search(position + 1)
                used.remove(number)

    search(0)
    return solutions, placed


@pytest.mark.ci_slow
@pytest.mark.parametrize("points", [5, pytest.param(6, marks=pytest.mark.slow)])
def test_symmetry_is_the_third_program_of_the_paper(points: int) -> None:
    counted = of_all(made(points, "symmetry"))
    assert (counted.orbits, counted.nodes) == placed_by_the_third_program(points)
    assert of_all(made(points)).nodes < counted.nodes < of_all(made(points, PRUNE)).nodes


def test_each_idea_places_fewer_numbers() -> None:
    alone = {strategy: of_all(made(6, strategy)).nodes for strategy in (PRUNE, *COMBINED)}
    assert all(alone[idea] < alone[PRUNE] for idea in IDEAS)
    for strategy, nodes in alone.items():
        if "ahead" not in strategy and strategy != PRUNE:
            both = "+".join(idea for idea in IDEAS if idea in (*strategy.split("+"), "ahead"))
            assert alone[both] < nodes
