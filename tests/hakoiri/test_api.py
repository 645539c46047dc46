"""The Python interface takes configurations however they are named, and says what a run is."""

from pathlib import Path

import numpy as np
import pytest

from hakoiri.api import Run, delete_run, explore, open_run, resume_run, verify_run
from hakoiri.coordinator.errors import UnanswerableError, UnknownRunError
from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import ints
from hakoiri.puzzles.registry import PUZZLES
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
