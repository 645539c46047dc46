"""The arrays that tasks take and give: right ones pass, and any that a kernel would trust wrongly is refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from hakoiri.coordinator.executors.sending import same_answer, same_arrays
from hakoiri.errors import TaskError
from hakoiri.guests.nakuron.board import MOST_SIZE
from hakoiri.guests.nakuron.moving import GamesRequest
from hakoiri.keys.layout import LAYOUTS, Layout
from hakoiri.loading import loaded
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.graphs.lanes import LANES
from hakoiri.worker.graphs.searches import Graph
from hakoiri.worker.layers.closed_set import add, empty_filter, may_hold
from hakoiri.worker.tasks import TASKS, Sizes, checked, wrong_array
from hakoiri.worker.transport.payload import Arrays, packed
from tests.support.keys import every_layout
from tests.support.stores import random_layers

KLOTSKI, NAKURON = PuzzleSpec("klotski").build(), PuzzleSpec("nakuron").build()
SUPERPUZZ = PuzzleSpec("superpuzz", {"columns": "3"}).build()
START = KLOTSKI.keys([KLOTSKI.start])
LAYER = np.unique(KLOTSKI.expand(START).successors)
WRONG = KLOTSKI.keys([0xFFFFFFFF])
PATH = Graph(np.array([0, 1, 3, 4], dtype=np.int64), np.array([1, 0, 2, 1], dtype=np.int32))
ARENA = NAKURON.arena()  # type: ignore[attr-defined]
NOTHING, ONE = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)


def of(*numbers: int, kind: str = "i4") -> np.ndarray:
    return np.array(numbers, dtype=kind)


PLAN = of(3, 0, 0, kind="u8")
#: Arrays of a task that are right: the puzzle, what is shared, a chunk.
RIGHT: dict[str, tuple[Puzzle, Arrays, Arrays]] = {
    "before": (
        SUPERPUZZ, [SUPERPUZZ.keys([]), PLAN, empty_filter(9, 80)], [SUPERPUZZ.keys([SUPERPUZZ.start])]
    ),
    "derive": (KLOTSKI, [], [LAYER]),
    "diameters": (KLOTSKI, [], [*PATH, of(0, kind="i8")]),
    "eccentricities": (KLOTSKI, [], [next(KLOTSKI.configurations())[:0], NOTHING]),
    "expand": (KLOTSKI, [LAYER[1:3], PLAN], [LAYER]),
    "forest": (KLOTSKI, [], [LAYER]),
    "goals": (KLOTSKI, [LAYER[1:3], PLAN], [LAYER]),
    "leading": (KLOTSKI, [LAYER[1:3], PLAN, START], [LAYER]),
    "look": (KLOTSKI, PATH, [of(0, 2), of(0, kind="u1"), of(3, kind="i8")]),
    "move planes": (NAKURON, ARENA.shared, [ARENA.first, ONE, of(1, kind="u2")]),
    "neighbours": (KLOTSKI, [], [LAYER]),
    "pairs": (KLOTSKI, PATH, [of(0), of(2, kind="i8")]),
    "play": (NAKURON, [*ARENA.shared, ARENA.first[0]], packed(GamesRequest(2, 1, 0, 1))),
    "searches": (KLOTSKI, PATH, [of(0, 2, 0)]),
}  # fmt: skip


def refused(row: str, shared: Sequence[Any], chunk: Sequence[Any]) -> bool:
    sizes, (puzzle, *_), task = Sizes(), RIGHT[row], row.split(maxsplit=1)[0]
    return bool(wrong_array(task, "shared", puzzle, shared, sizes) or wrong_array(task, "chunk", puzzle, chunk, sizes))


def test_every_row_has_a_form_and_a_function() -> None:
    for name, row in TASKS.items():
        assert len(row.form.split(";")) == 3, name
        assert callable(row.work), name
        assert not row.untimed or callable(loaded(row.untimed)), name


def test_a_form_allows_the_largest_board_and_as_many_vertices_as_are_looked_from() -> None:
    assert f",D{MOST_SIZE}," in TASKS["play"].form
    assert all(f"i4[S{LANES}]!V" in TASKS[task].form for task in ("look", "pairs"))


@pytest.mark.parametrize("row", RIGHT)
def test_right_arrays_and_what_they_give_pass(row: str) -> None:
    puzzle, shared, chunk = RIGHT[row]
    assert not refused(row, shared, chunk)
    if row != "eccentricities":
        task, sizes = row.split(maxsplit=1)[0], Sizes()
        wrong_array(task, "shared", puzzle, shared, sizes)
        wrong_array(task, "chunk", puzzle, chunk, sizes)
        assert wrong_array(task, "result", puzzle, checked(task, puzzle, chunk, shared), sizes) == ""


@pytest.mark.parametrize("row", RIGHT)
def test_arrays_of_another_type_or_form_are_refused(row: str) -> None:
    _, shared, chunk = RIGHT[row]
    for place in range(len(shared) + len(chunk)):
        both = [*shared, *chunk]
        for wrong in (both[place].astype(np.float64), both[place][None]):
            altered = [*both[:place], wrong, *both[place + 1 :]]
            assert refused(row, altered[: len(shared)], altered[len(shared) :]), (place, wrong)


GROUND = ARENA.shared
HIGH = np.zeros((1, 3, 257, 4), dtype=np.uint64)
FORGED: list[tuple[str, Sequence[Any], Sequence[Any]]] = [
    *((row, RIGHT[row][1], [WRONG]) for row in ("derive", "expand", "forest", "goals", "leading", "neighbours")),
    ("eccentricities", [], [LAYER, of(0, len(LAYER), kind="i8")]),
    ("eccentricities", [], [LAYER, of(-1, kind="i8")]),
    ("leading", [LAYER[1:3], PLAN, LAYER[::-1]], [LAYER]),
    ("goals", [LAYER[[2, 1]], PLAN], [LAYER]),
    ("diameters", [], [*PATH, of(0, 4, kind="i8")]),
    ("diameters", [], [*PATH, of(-1, kind="i8")]),
    *((row, graph, RIGHT[row][2]) for row in ("look", "pairs", "searches") for graph in (
        [of(0, 1, 3, 5, kind="i8"), PATH.targets], [of(1, 1, 3, 4, kind="i8"), PATH.targets],
        [of(0, 3, 1, 4, kind="i8"), PATH.targets], [PATH.offsets, of(1, 0, 3, 1)], [PATH.offsets, of(1, 0, -1, 1)],
        [of(kind="i8"), PATH.targets[:0]],
    )),
    ("searches", PATH, [of(0, 3)]),
    ("pairs", PATH, [of(-1), ONE]),
    ("look", PATH, [of(0, 0), of(0, kind="u1"), ONE]),
    ("look", PATH, [of(0), of(0, kind="u1"), of(4, kind="i8")]),
    ("move planes", GROUND, [ARENA.first, of(1, kind="i8"), of(0, kind="u2")]),
    ("move planes", GROUND, [ARENA.first, ONE, of(4, kind="u2")]),
    ("move planes", GROUND, [ARENA.first, ONE, of(0, 1, kind="u2")]),
    ("move planes", GROUND, [ARENA.first[:, :, :5], ONE, of(0, kind="u2")]),
    ("move planes", [*GROUND[:2], HIGH.repeat(4, axis=0), GROUND[3]], [HIGH, ONE, of(0, kind="u2")]),
    ("move planes", [*GROUND[:3], of(9, kind="u8")], [ARENA.first, ONE, of(0, kind="u2")]),
    ("play", [*GROUND, ARENA.first[0, :, :5]], RIGHT["play"][2]),
]  # fmt: skip


@pytest.mark.parametrize(("row", "shared", "chunk"), FORGED, ids=[f"{row}-{n}" for n, (row, *_) in enumerate(FORGED)])
def test_indices_and_keys_that_point_elsewhere_are_refused(
    row: str, shared: Sequence[Any], chunk: Sequence[Any]
) -> None:
    assert refused(row, shared, chunk)
    with pytest.raises(TaskError, match=rf"array \d of the (shared|chunk) of task {row.split(maxsplit=1)[0]} is not "):
        checked(row.split(maxsplit=1)[0], RIGHT[row][0], chunk, shared)


SIZES = {"K": 2, "R": 2, "V": 3, "S": 1}
RESULTS: list[tuple[str, Sequence[Any]]] = [
    (
        "goals",
        [PLAN, of(1, 2, kind="i8"), LAYER[:2], of(1, 1, kind="i8"), of(9, 9, kind="i8"), of(*[0] * 18, kind="u1")],
    ),
    ("goals", [PLAN, of(2, kind="i8"), LAYER[:2], of(1, 1, kind="i8"), of(9, 9, kind="i8"), of(*[0] * 18, kind="u1")]),
    (
        "goals",
        [PLAN, of(1, 1, kind="i8"), LAYER[:2], of(1, 1, kind="i8"), of(9, 8, kind="i8"), of(*[0] * 18, kind="u1")],
    ),
    ("neighbours", [LAYER[:2], of(1, 2, kind="u2")]),
    ("neighbours", [LAYER[:2], of(2, kind="u2")]),
    ("derive", [LAYER[:2], of(3, -1, kind="i8"), NOTHING]),
    ("derive", [LAYER[:2], of(1, 1, kind="i8"), of(2, kind="i8")]),
    ("look", [of(2), of(2), of(3), of(0, 1, 2)]),
    ("look", [of(2), of(2), of(2), of(0, 1)]),
    ("pairs", [of(0, 3).reshape(1, 2)]),
    ("searches", [of(1, 1)]),
    ("expand", [of(2, 0, 0, kind="u8"), of(1, 1, kind="i8"), LAYER[:1], ONE, ONE, of(kind="u1")]),
    ("expand", [of(2, 0, 0, kind="u8"), of(1, 0, kind="i8"), LAYER[:1], ONE, of(9, kind="i8"), of(1, kind="u1")]),
]


@pytest.mark.parametrize(("task", "result"), RESULTS, ids=[f"{task}-{n}" for n, (task, _) in enumerate(RESULTS)])
def test_results_that_do_not_fit_their_chunk_are_refused(task: str, result: Sequence[Any]) -> None:
    assert wrong_array(task, "result", KLOTSKI, result, dict(SIZES))


def test_an_empty_filter_holds_nothing() -> None:
    assert not may_hold(np.zeros(0, dtype=np.uint64), LAYER).any()


# Answers to one request compared: any difference counts but that of the time taken


SOME = np.array([1, 2, 3], dtype=np.uint32)


@pytest.mark.parametrize(
    "other", [[], [SOME], [SOME, SOME, SOME], [SOME, SOME[:2]], [SOME, SOME + 1], [SOME, SOME.astype(np.int64)]]
)
def test_answers_differ_by_an_array_more_or_less_its_type_shape_or_an_element(other: list[np.ndarray]) -> None:
    assert not same_arrays([SOME, SOME], other)
    assert not same_answer(TASKS["neighbours"], other, [SOME, SOME])
    assert same_arrays(other, [each.copy() for each in other])


def test_the_seconds_of_a_count_do_not_matter() -> None:
    counts = np.arange(6)
    later, other = counts.copy(), counts.copy()
    later[4], other[0] = 99, 99
    assert same_answer(TASKS["subtrees"], [counts], [later])
    assert not same_answer(TASKS["subtrees"], [counts], [other])


# Filters pass every key that they hold, and few others


@every_layout
def test_no_key_is_lost_and_few_others_pass(layout: Layout) -> None:
    held, others = random_layers(layout, [20_000, 5_000], seed=4)
    words = empty_filter(len(held), 1 << 20)
    for part in np.array_split(held, 3):
        add(words, part)
    assert words.nbytes <= 2 * len(held)
    assert may_hold(words, held).all()
    # Two of the sixteen bits that there are for each key.
    assert 0 < np.count_nonzero(may_hold(words, others)) < len(others) // 20


def test_a_filter_keeps_to_its_bytes() -> None:
    layout = LAYOUTS["u64"]
    held, others = random_layers(layout, [20_000, 5_000], seed=4)
    words = empty_filter(len(held), 5_000)
    add(words, held)
    assert words.nbytes <= 5_000
    assert may_hold(words, held).all()
    assert not may_hold(words, others).all()
    assert not may_hold(empty_filter(0, 0), others).any()
