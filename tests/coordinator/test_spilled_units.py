"""Which spilled blocks a part of a key range is merged of, and how often some may be lost."""

from itertools import zip_longest
from types import SimpleNamespace

import numpy as np
import pytest

from hakoiri.coordinator.steps.asking import Asking, Unit, overlapping
from hakoiri.coordinator.steps.farmed import reaches
from hakoiri.puzzles.keys.layout import LAYOUTS, Key
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.worker.errors import TaskError
from hakoiri.worker.transport.lots import COLUMNS, NUMBER, VALUE, Lot


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 10, False), (0, 11, True), (10, 11, True), (20, 30, True), (90, 95, True), (91, 95, False)],
)
def test_a_spilled_block_reaches_to_its_last_key(name: str, low: Key, high: Key, expected: bool) -> None:
    """Whatever stands after it in its file: that may be another batch, which begins later and ends sooner."""
    layout = LAYOUTS[name]
    (block,) = code_keys(3, layout.pack([10, 40, 90])).blocks(3)
    assert reaches(block, low, high, layout) == expected


def test_blocks_of_a_unit_are_those_that_do_not_end_before_it() -> None:
    """A block is known to end before the next one of its value begins, if that is greater."""
    layout, firsts, values = LAYOUTS["u32"], [10, 20, 20, 30, 40, 5, 50], [0, 0, 0, 0, 0, 0, 3]
    places = np.zeros((len(firsts), COLUMNS), dtype=np.int64)
    places[:, VALUE], places[:, NUMBER] = values, range(len(firsts))
    lot = Lot(places, layout.pack(firsts), np.ones(len(firsts), dtype=np.int64))
    for low in range(0, 60, 5):
        for high in range(low + 1, 60, 5):
            ends = [
                after if same == other and after > first else 60
                for (first, same), (after, other) in zip_longest(
                    zip(firsts, values, strict=True), zip(firsts[1:], values[1:], strict=True), fillvalue=(0, 9)
                )
            ]
            expected = [
                n for n, (first, end) in enumerate(zip(firsts, ends, strict=True)) if first < high and end > low
            ]
            assert overlapping(lot, Unit(0, low, high)).places[:, NUMBER].tolist() == expected


def test_so_many_losses_in_turn_as_are_allowed_end_a_step() -> None:
    looks: list[bool] = []
    lying = SimpleNamespace(share=lambda: 0, look=lambda: looks.append(True))
    asking = Asking(SimpleNamespace(lying=lying), LAYOUTS["u32"], 5, 3)  # type: ignore[arg-type]
    asking._note_loss()
    asking._note_loss()
    with pytest.raises(TaskError, match=r"layer 5: .* 3 times in turn"):
        asking._note_loss()
    assert len(looks) == 2
