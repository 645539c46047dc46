"""Answers to one request compared: any difference counts but that of the time taken."""

import numpy as np
import pytest

from hakoiri.coordinator.executors.remote import same_answer, same_arrays

SOME = np.array([1, 2, 3], dtype=np.uint32)


@pytest.mark.parametrize(
    "other", [[], [SOME], [SOME, SOME, SOME], [SOME, SOME[:2]], [SOME, SOME + 1], [SOME, SOME.astype(np.int64)]]
)
def test_answers_differ_by_an_array_more_or_less_its_type_shape_or_an_element(other: list[np.ndarray]) -> None:
    assert not same_arrays([SOME, SOME], other)
    assert not same_answer("neighbours", other, [SOME, SOME])
    assert same_arrays(other, [each.copy() for each in other])


def test_the_seconds_of_a_count_do_not_matter() -> None:
    counts = np.arange(6)
    later, other = counts.copy(), counts.copy()
    later[4], other[0] = 99, 99
    assert same_answer("subtrees", [counts], [later])
    assert not same_answer("subtrees", [counts], [other])
