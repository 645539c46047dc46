"""Studies of cosets: each coset against a search of the whole space, what is proven of the rest, what is refused."""

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hakoiri.coordinator.session.session import Control
from hakoiri.errors import PuzzleError, TaskError
from hakoiri.guests.cosets import filling as cosets
from hakoiri.guests.cosets.filling import CosetFigures, CosetRequest, fill
from hakoiri.guests.cosets.job import StudyCosets
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from tests.puzzles.test_definitions import puzzle_of, random_definition
from tests.support.geometry import FOLDER
from tests.support.runs import StoppingAfter, driven, opened, verified
from tests.support.seeds import usual

PYRAMINX = PuzzleSpec(f"{FOLDER}/pyraminx.json")
CUBE2 = PuzzleSpec(f"{FOLDER}/2x2x2.gap")
CORNERS = PuzzleSpec(f"{FOLDER}/corners.gap")
#: As published, and as searches of the whole spaces find.
PYRAMINX_LAYERS = [1, 8, 48, 288, 1728, 9896, 51808, 220111, 480467, 166276, 2457, 32]
CUBE2_LAYERS = [1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644]
CORNER_LAYERS = [
    1, 18, 243, 2874, 28000, 205416, 1168516, 5402628, 20776176, 45391616, 15139616, 64736
]  # fmt: skip


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """The ball of a process depends on its size, which tests change."""
    cosets._around.cache_clear()


@cache
def whole_space(spec: str, size: int) -> list[list[int]]:
    """The positions at each depth of each coset, by a search of the whole space."""
    return by_coset(with_own_file(PuzzleSpec(spec)).build(), size)


def by_coset(puzzle: Any, size: int) -> list[list[int]]:
    depths, depth, found = np.full(puzzle.size, 255, dtype=np.uint8), 0, True
    depths[puzzle.start] = 0
    while found:
        found = False
        for begin in range(0, puzzle.size, 1 << 20):
            places = np.flatnonzero(depths[begin : begin + (1 << 20)] == depth) + begin
            after = puzzle.expand(places.astype(puzzle.layout.dtype)).successors
            depths[after[depths[after] == 255]] = depth + 1
            found |= len(places) > 0
        depth += 1
    return [np.bincount(coset[coset < 255], minlength=depth - 1).tolist() for coset in depths.reshape(-1, size)]


def study(
    data: Path, spec: PuzzleSpec = PYRAMINX, control: Control | None = None, workers: int = 1, **asked: Any
) -> Path:
    made = StudyCosets.parse_request(with_own_file(spec), **asked)
    return driven(data, made.spec, "cosets", made.plan, made.limits, control, workers=workers)


def told(directory: Path) -> dict[str, Any]:
    with opened(directory) as job:
        return dict(job.summary(None))


def assert_fits(found: CosetFigures, expected: list[int]) -> None:
    counted = len(found.layers)
    assert found.layers == expected[:counted]
    assert found.deeper == sum(expected[counted:])
    greatest = max(depth for depth, count in enumerate(expected) if count)
    assert found.deepest <= greatest
    assert found.most is None or found.most >= greatest
    if not found.deeper:
        assert found.most == found.deepest == greatest


@usual(2, "ball", [50, 3_000, 200_000, 1 << 25])
@pytest.mark.parametrize("size", [34_560, 11_520, 360])
def test_a_coset_is_that_of_a_whole_search(size: int, ball: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the ball, forwards from it, and back from what is left."""
    monkeypatch.setattr(cosets, "MOST_IN_BALL", ball)
    puzzle: Any = with_own_file(PYRAMINX).build()
    expected = whole_space(PYRAMINX.name, size)
    for number in Random(size).sample(range(len(expected)), 3):
        assert_fits(fill(puzzle, CosetRequest(number, size, 0)), expected[number])


@pytest.mark.ci_slow
def test_few_positions_are_found_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last positions, and as many by a search that is not shortened so."""
    monkeypatch.setattr(cosets, "MOST_IN_BALL", 1_000_000)
    puzzle: Any = with_own_file(CUBE2).build()
    expected, back = whole_space(CUBE2.name, 5040), list[int]()
    leading = cosets._Coset.leading

    def noted(coset: Any, keys: Any, moves: int, layer: Any) -> Any:
        back.append(moves)
        return leading(coset, keys, moves, layer)

    monkeypatch.setattr(cosets._Coset, "leading", noted)
    for undirected in (True, False):
        puzzle.undirected = undirected
        for number in (0, 400):
            assert_fits(fill(puzzle, CosetRequest(number, 5040, 11)), expected[number])
        assert bool(back) == undirected
        back.clear()


@usual(2, "seed", range(40))
def test_cosets_of_definitions_made_by_chance(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directed ones, too, identical pieces, and numbers that are no positions."""
    monkeypatch.setattr(cosets, "MOST_IN_BALL", 2 + 10 * (seed % 4))
    random = Random(seed)
    definition = random_definition(random)
    try:
        puzzle = puzzle_of(definition, metric=random.choice(["half", "quarter", "given"]))
    except PuzzleError:
        return
    for size in puzzle.coset_sizes():
        expected = by_coset(puzzle, size)
        positions = sum(map(sum, expected))
        for number in random.sample(range(len(expected)), min(5, len(expected))):
            found = fill(puzzle, CosetRequest(number, size, 0))
            assert found.layers == expected[number][: len(found.layers)]
            if positions == puzzle.size:
                assert_fits(found, expected[number])
            elif any(expected[number]):
                assert found.deepest <= max(depth for depth, count in enumerate(expected[number]) if count)


def test_all_cosets_make_the_published_layers(tmp_path: Path) -> None:
    found = told(study(tmp_path, size=34_560, workers=2))
    assert (found["layers"], found["god"], found["whole"]) == (PYRAMINX_LAYERS, 11, 27)
    assert "hours" not in found


@pytest.mark.slow
def test_all_cosets_of_the_2x2x2_make_its_published_layers(tmp_path: Path) -> None:
    found = told(study(tmp_path, CUBE2, workers=2))
    assert (found["layers"], found["god"], found["whole"]) == (CUBE2_LAYERS, 11, 729)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_cosets_of_the_corners_are_those_of_a_whole_search(tmp_path: Path) -> None:
    """Not all 2,187: the figures of some, and what they prove."""
    with opened(study(tmp_path, CORNERS, cosets=4)) as job:
        found, rows, size = job.summary(None), job.stored(), job.plan.size
    expected = whole_space(CORNERS.name, size)
    assert [sum(column) for column in zip(*expected, strict=True)] == CORNER_LAYERS
    for number, row in rows.items():
        assert_fits(row, expected[number])
    assert found["at_least"] <= 11 <= found["at_most"]


@pytest.mark.ci_slow
@pytest.mark.parametrize("seed", [1, 2])
def test_bounds_hold_and_more_cosets_tighten_them(seed: int, tmp_path: Path) -> None:
    bounds = list[tuple[int, int]]()
    for count in (1, 4, 27):
        found = told(study(tmp_path, size=34_560, seed=seed, cosets=count))
        assert len(found["rows"]) == count
        bounds.append((found.get("at_least", found["god"]), found.get("at_most", found["god"])))
    least, most = zip(*bounds, strict=True)
    assert sorted(least) == list(least)
    assert sorted(most, reverse=True) == list(most)
    assert least[0] <= 11 < most[0]
    assert bounds[-1] == (11, 11)


@pytest.mark.ci_slow
def test_a_depth_leaves_bounds(tmp_path: Path) -> None:
    found = told(study(tmp_path, size=311_040, to_depth=7))
    assert found["layers"] == PYRAMINX_LAYERS[:8]
    assert found["god"] is None
    assert found["at_least"] == 8
    assert 11 <= found["at_most"] <= 12


@pytest.mark.ci_slow
def test_fewer_and_more_cosets_are_one_run(tmp_path: Path) -> None:
    first = study(tmp_path, size=360, cosets=5)
    rows = {row["coset"]: row for row in told(first)["rows"]}
    assert study(tmp_path, size=360, cosets=9) == first
    more = {row["coset"]: row for row in told(first)["rows"]}
    assert (len(rows), len(more)) == (5, 9)
    assert rows.items() <= more.items()
    other = told(study(tmp_path, size=360, cosets=5, seed=2))["rows"]
    assert {row["coset"] for row in other} != rows.keys()
    assert verified(first).ok


def test_a_stop_costs_no_coset_that_is_done(tmp_path: Path) -> None:
    stopped = study(tmp_path, size=11_520, control=StoppingAfter(30))
    done = told(stopped)["rows"]
    assert 0 < len(done) < 81
    with opened(stopped) as job:
        assert job.tables()[0].rows[0].keys() == {"depth", "positions", "estimated_for_all"}
    assert study(tmp_path, size=11_520) == stopped
    found = told(stopped)
    assert found["layers"] == PYRAMINX_LAYERS
    assert all(row in found["rows"] for row in done)


@pytest.mark.parametrize(
    ("spec", "asked", "said"),
    [
        (PYRAMINX, {"size": 13}, "pyraminx cannot be divided into such cosets: 3 cosets of 311,040, 9"),
        (PuzzleSpec(f"{FOLDER}/lx-9.gap"), {}, "lx-9 cannot be divided into such cosets: it has one coordinate"),
        (PYRAMINX, {"to_depth": 201}, r"depth 201 is not in 0\.\.200"),
        (PYRAMINX, {"cosets": 0}, "cosets 0 is not in 1"),
        (PYRAMINX, {"seed": -1}, "seed -1 is not in 0"),
        (PuzzleSpec("klotski"), {}, "klotski has no cosets; expected the file of a definition"),
    ],
)
def test_what_is_refused(spec: PuzzleSpec, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(PuzzleError, match=said):
        StudyCosets.parse_request(with_own_file(spec), **asked)


def test_a_plan_of_another_version_is_refused() -> None:
    made = StudyCosets.parse_request(with_own_file(PYRAMINX))
    with pytest.raises(PuzzleError, match="version 9 of studies of cosets, expected 1"):
        StudyCosets.validate(made.spec, {**made.plan, "cosets_version": 9})


@pytest.mark.parametrize("asked", [(27, 34_560, 0), (-1, 34_560, 0), (0, 34_560, 201), (0, 0, 0), (0, 7, 0)])
def test_a_worker_takes_no_other_request(asked: tuple[int, int, int]) -> None:
    puzzle: Any = with_own_file(PYRAMINX).build()
    with pytest.raises((TaskError, PuzzleError), match=r"pyraminx (has no coset|cannot be divided)"):
        fill(puzzle, CosetRequest(*asked))
