"""The Python interface takes configurations however they are named, and says what a run is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

from hakoiri.api import (
    Run,
    census,
    delete_run,
    explore,
    explore_graph,
    explore_permutations,
    open_run,
    resume_run,
    verify_run,
)
from hakoiri.coordinator.errors import UnanswerableError, UnknownRunError
from hakoiri.coordinator.runs.kinds import KINDS, kind_class, kind_of
from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import ints
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from tests.support.plain_search import reference_distances


def test_texts_keys_and_numbers_of_numpy_name_a_configuration(small_run: Run) -> None:
    row = small_run.layer(10)[0]
    forms = (row, int(row), f"{row:#x}", small_run.puzzle.render(int(row)), np.uint64(row), np.array(row))
    assert [small_run.distance(form) for form in forms] == [10] * len(forms)
    back = [small_run.path(small_run.puzzle.start, source=form).keys for form in forms]
    assert back == [back[0]] * len(forms)
    assert len(back[0]) == 11


def test_rows_of_a_layer_with_wide_keys_are_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
    options = {"layout": "u256", "keys": "spread", "size": "200"}
    with explore("toy", options, data=tmp_path) as run:
        row = run.layer(2)[0]
        assert row.shape == (4,)
        assert run.distance(row) == 2 == run.distance(ints(row[None])[0])
        with explore("toy", options, start=row, data=tmp_path) as other:
            assert other.puzzle.start == ints(row[None])[0]


@pytest.mark.parametrize("wrong", [57.0, None, np.array([1, 2], dtype=np.uint32), np.array([0, 5], dtype=np.uint64)])
def test_what_is_no_configuration_is_refused_with_what_would_be_one(small_run: Run, wrong: object) -> None:
    with pytest.raises(ConfigurationError, match="expected a text, a key, a row of a layer, or a list of numbers"):
        small_run.distance(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [-1, np.int64(-1)])
def test_no_key_is_below_0(small_run: Run, number: int) -> None:
    with pytest.raises(ConfigurationError, match="key -1 is below 0"):
        small_run.distance(number)


def test_a_run_says_what_it_is(small_run: Run) -> None:
    expected = f"<Run {small_run.name} of klotski metric=unit: explore, complete, 248 configurations>"
    assert repr(small_run) == expected


@pytest.mark.ci_slow
def test_the_farthest_is_the_least_of_those_that_are(small_run: Run) -> None:
    distances = reference_distances(small_run.puzzle.successors, small_run.puzzle.start)
    for source in (None, *small_run.layer(10)[:2], small_run.layer(30)[0]):
        if source is not None:
            distances = reference_distances(small_run.puzzle.successors, int(source))
        found = small_run.path("farthest", source)
        most = max(distances.values())
        assert len(found) == most == small_run.distance("farthest", source)
        assert found.keys[-1] == min(key for key, depth in distances.items() if depth == most)


def test_a_configuration_lies_in_the_component_that_a_search_from_it_finds(whole_run: Run, small_run: Run) -> None:
    keys, labels = whole_run.configurations()
    for place in (0, 1_000, 40_000, len(keys) - 1):
        assert whole_run.component_of(keys[place]) == labels[place]
    number = whole_run.component_of(small_run.puzzle.start)
    assert whole_run.components(number + 1)[number].size == 248
    assert {whole_run.component_of(key) for key in small_run.layer(30)} == {number}
    assert small_run.component_of(small_run.layer(30)[0]) == 0
    with pytest.raises(UnanswerableError, match=r"did not find .* among all that its start can reach"):
        small_run.component_of(keys[0])


def test_a_run_is_verified_resumed_and_deleted(tmp_path: Path) -> None:
    with explore("hanoi", {"discs": "2"}, data=tmp_path) as run:
        name, sizes = run.name, run.layer_sizes
    report = verify_run("last", tmp_path, full=True)
    assert (report.faults, report.checked["layers"]) == ([], len(sizes))
    for repair in (False, True):
        with resume_run(name, tmp_path, repair=repair) as run:
            assert (run.layer_sizes, run.store.state.session) == (sizes, 1 + repair)
    delete_run(name, tmp_path)
    with pytest.raises(UnknownRunError):
        open_run(name, tmp_path)


def on(state: int) -> list[int]:
    return [(state + 1) % 5]


_TEXT, _TRUTH, _NUMBER = "a text", "True or False", "a whole number or None"


@pytest.mark.parametrize(
    ("asked", "field", "wrong", "expected"),
    [
        *((explore, "layers", wrong, _NUMBER) for wrong in ("3", 1.5, True, [3], "x\ny", np.array([1, 2]))),
        (explore, "most", "x", _NUMBER),
        (explore, "until_goal", "no", _TRUTH),
        (explore, "until_goal", 1, _TRUTH),
        (explore, "keep", None, _TEXT),
        (explore, "merge_mirrors", "no", _TRUTH),
        (explore, "reuse", "no", _TRUTH),
        (explore, "options", "metric=unit", "a dict such as"),
        (explore, "options", ["metric"], "a dict such as"),
        (explore, "starts", 3, "a list of configurations, or a file"),
        (census, "most", "3", _NUMBER),
        (census, "diameters", 3, _TEXT),
        (census, "by", 1, _TEXT),
        (census, "merge_mirrors", 0, _TRUTH),
        *((explore_graph, field, "x", _NUMBER) for field in ("layers", "most")),
        (explore_graph, "until_goal", "x", _TRUTH),
        *((explore_permutations, field, 3, _TEXT) for field in ("name", "metric", "keep")),
        (explore_permutations, "layers", 2.0, _NUMBER),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_wrong_type_is_refused_before_a_run_is_made(
    tmp_path: Path, asked: Callable[..., Run], field: str, wrong: object, expected: str
) -> None:
    what = {explore_graph: (0, on), explore_permutations: (["(0 1)"],)}.get(asked, ("hanoi",))
    with pytest.raises(PuzzleError, match=f"^{field} is .*; expected {expected}") as refused:
        asked(*what, **{"data": tmp_path / "runs", field: wrong})
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("wrong", [{"discs": None}, {"discs": 2.5}, {3: "x"}])
def test_an_option_is_a_text_or_a_whole_number(tmp_path: Path, wrong: Mapping[str, str]) -> None:
    with pytest.raises(PuzzleError, match=r"^option (discs )?is .*; expected a text"):
        explore("hanoi", wrong, data=tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_every_kind_of_run_has_a_type(kind: str) -> None:
    hints = get_type_hints(kind_class(kind))
    for each in fields(kind_class(kind)):
        for wrong in (object(), b"x", {}, "x" if hints[each.name] is not str else 1):
            with pytest.raises(PuzzleError, match=f"^{each.name} is .*; expected "):
                kind_of(kind).parse_request(PuzzleSpec("hanoi"), **{each.name: wrong})


def test_integers_of_numpy_are_integers(tmp_path: Path) -> None:
    options: Any = {"discs": np.int64(3)}
    with explore("hanoi", options, layers=np.int64(2), most=np.uint8(50), data=tmp_path) as run:  # type: ignore[arg-type]
        assert (run.depth, run.store.manifest.plan) == (2, {"layers": 2, "most": 50})
        assert run.puzzle.parameters["discs"] == 3
    assert kind_class("study").of(sizes=np.arange(3, 5), seed=np.int32(2)) == kind_class("study").of(
        sizes=[3, 4], seed=2
    )


def test_a_start_and_several_cannot_be_combined(tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match="start and starts cannot be combined"):
        explore("hanoi", start=0, starts=[1, 2], data=tmp_path)
    # An instance has a start of its own, which is not one of the user's.
    with explore(PuzzleSpec("hanoi", {"discs": "2"}).build(), starts=[1, 2], data=tmp_path) as run:
        assert run.layer_sizes[0] == 2


@pytest.fixture(scope="module")
def towers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """A run whose goal distances are known."""
    with explore("hanoi", {"discs": "3"}, data=tmp_path_factory.mktemp("towers")) as run:
        run.hardest()
        yield run


def test_goal_distances_take_configurations_however_they_are_named(towers: Run) -> None:
    row = towers.layer(2)
    expected = towers.goal_distances(row).tolist()
    texts = towers.texts(row)
    arrays = (row.astype(np.int64), row.astype(np.uint64))
    forms = (texts, ints(row), list(row), tuple(map(hex, ints(row))), *arrays, iter(texts))
    assert [towers.goal_distances(form).tolist() for form in forms] == [expected] * len(forms)
    empty: list[int] = []
    for nothing in (empty, np.array([], dtype=np.int64), row[:0]):
        assert towers.goal_distances(nothing).tolist() == []
    # A number that is no configuration is not in the run.
    assert towers.goal_distances(np.array([1 << 20])).tolist() == [-1]


@pytest.mark.parametrize(
    "wrong",
    [3, None, "0x0", b"x", ["x"], [1.5], [None], np.array([0.5]), np.array(3), np.array([0, -1]),
     np.array([1 << 40]), np.zeros((2, 2)), [1 << 40]],
    ids=repr,
)  # fmt: skip
def test_goal_distances_of_anything_else_are_refused(towers: Run, wrong: Any) -> None:
    with pytest.raises(ConfigurationError) as refused:
        towers.goal_distances(wrong)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("wrong", ["x", 1.5, None, True])
def test_a_layer_has_a_whole_number(towers: Run, wrong: Any) -> None:
    with pytest.raises(PuzzleError, match=r"^depth is .*; expected a whole number"):
        towers.layer(wrong)
    assert towers.layer(np.int64(2)).tolist() == towers.layer(2).tolist()  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "x"])
def test_a_limit_is_at_least_1(towers: Run, whole_run: Run, wrong: Any) -> None:
    asks = (towers.components, whole_run.components, whole_run.weak_components, towers.hardest)
    for ask in asks:
        with pytest.raises(PuzzleError, match=f"^limit is {wrong!r}; expected a whole number"):
            ask(wrong)
    with pytest.raises(PuzzleError, match=f"^count is {wrong!r}; expected a whole number"):
        towers.sample(wrong)
    assert len(whole_run.components(np.int64(2))) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [(3, 1), ("a", 2), 3, (1, 2, 3), "ab"])
def test_layers_of_a_sample_are_a_range(towers: Run, wrong: Any) -> None:
    with pytest.raises(PuzzleError, match=r"^layers is .*; expected "):
        towers.sample(1, wrong)


def test_other_numbers_out_of_range_are_refused(towers: Run, tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match="seed -1 is not in 0"):
        towers.sample(1, seed=-1)
    with pytest.raises(PuzzleError, match="limit is -1; expected a whole number from 0 on"):
        towers.antipodes(-1)
    with pytest.raises(PuzzleError, match="component is 'x'; expected a whole number"):
        towers.diameter("x")  # type: ignore[arg-type]
    with pytest.raises(UnanswerableError, match="has goal distances 0 to 5, not 99"):
        towers.at_goal_distance(99, 0)
    with pytest.raises(PuzzleError, match="layers is -1; expected a whole number from 0 on"):
        towers.export(tmp_path / "x.csv", layers=-1)
