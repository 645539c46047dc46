"""Filters pass every key that they hold, and few others."""

import numpy as np
import pytest

from hakoiri.keys.layout import LAYOUTS, Layout
from hakoiri.worker.layers.closed_set import add, empty_filter, may_hold
from tests.support.stores import random_layers


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
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
