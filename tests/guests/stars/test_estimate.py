"""The time that a tree will take yet: exact where chunks are alike, honest where they are not."""

import numpy as np
import pytest

from hakoiri.guests.stars.search import LEAST_SAMPLE, nodes_left, seconds_left, shuffled


def test_nothing_is_said_of_too_few() -> None:
    assert nodes_left([5] * (LEAST_SAMPLE - 1), 100) is None
    assert nodes_left([5] * LEAST_SAMPLE, 100) is not None
    assert seconds_left([5] * LEAST_SAMPLE, 100, 0, 0, 1.0) is None


def test_equal_chunks_leave_no_doubt() -> None:
    assert nodes_left([7] * 40, 100) == (420.0, 420.0)
    assert seconds_left([7] * 40, 100, 70, 140, 10.0) == (25.0, 25.0)
    assert nodes_left([7] * 100, 100) == (0.0, 0.0)


@pytest.mark.parametrize("known", [LEAST_SAMPLE, 100, 200, 380])
def test_95_of_100_intervals_hold_the_truth(known: int) -> None:
    """Chunks as unlike as a tree's: some ten times as large as others."""
    chance = np.random.default_rng(known)
    hits = 0
    for _ in range(400):
        nodes = chance.lognormal(10, 0.7, 400).astype(np.int64)
        bounds = nodes_left(nodes[:known].tolist(), len(nodes))
        assert bounds is not None
        hits += bounds[0] <= int(nodes[known:].sum()) <= bounds[1]
    assert 0.90 <= hits / 400 <= 0.99


def test_bounds_are_no_wider_than_they_must_be() -> None:
    chance = np.random.default_rng(3)
    nodes = chance.integers(900, 1100, 1000).tolist()
    least, most = nodes_left(nodes[:100], 1000) or (0, 0)
    assert 0 < most - least < 0.03 * sum(nodes[100:])


def test_the_shuffle_is_a_fixed_permutation() -> None:
    assert shuffled(10).tolist() == [2, 4, 6, 8, 5, 1, 7, 0, 9, 3]
    order = shuffled(10_000)
    assert sorted(order.tolist()) == list(range(10_000))
    assert abs(np.corrcoef(order, np.arange(10_000))[0, 1]) < 0.03
