"""The Python interface takes configurations however they are named, and says what a run is."""

from pathlib import Path

import numpy as np
import pytest

from hakoiri.api import Run, explore
from puzzles.errors import ConfigurationError
from puzzles.keys.layout import ints
from puzzles.registry import PUZZLES


def test_texts_keys_and_numbers_of_numpy_name_a_configuration(usual_run: Run) -> None:
    row = usual_run.layer(57)[0]
    forms = (row, int(row), f"{row:#x}", usual_run.puzzle.render(int(row)), np.uint64(row), np.array(row))
    assert [usual_run.distance(form) for form in forms] == [57] * len(forms)
    back = [usual_run.path(usual_run.puzzle.start, source=form).keys for form in forms]
    assert back == [back[0]] * len(forms)
    assert len(back[0]) == 58
    assert len(usual_run.path("goal", row)) == usual_run.distance("goal", source=int(row))


def test_rows_of_a_layer_with_wide_keys_are_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUZZLES, "toy", ("tests.support.toy", "Toy"))
    options = {"layout": "u256", "keys": "spread", "size": "200"}
    with explore("toy", options, data=tmp_path) as run:
        row = run.layer(2)[0]
        assert row.shape == (4,)
        assert run.distance(row) == 2 == run.distance(ints(row[None])[0])
        with explore("toy", options, start=row, data=tmp_path) as other:
            assert other.puzzle.start == ints(row[None])[0]


@pytest.mark.parametrize("wrong", [57.0, None, np.array([1, 2], dtype=np.uint32), np.array([0, 5], dtype=np.uint64)])
def test_what_is_no_configuration_is_refused_with_what_would_be_one(usual_run: Run, wrong: object) -> None:
    with pytest.raises(ConfigurationError, match="give a text, a key, or one row of a layer"):
        usual_run.distance(wrong)  # type: ignore[arg-type]


def test_a_run_says_what_it_is(small_run: Run) -> None:
    expected = f"<Run {small_run.name} of klotski metric=unit: explore, complete, 248 configurations>"
    assert repr(small_run) == expected
