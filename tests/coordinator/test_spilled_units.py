"""Which spilled blocks a part of a key range is merged of."""

import pytest

from hakoiri.coordinator.steps.farmed import reaches
from hakoiri.puzzles.keys.layout import LAYOUTS, Key
from hakoiri.storage.layers.blocks import pack_blocks


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 10, False), (0, 11, True), (10, 11, True), (20, 30, True), (90, 95, True), (91, 95, False)],
)
def test_a_spilled_block_reaches_to_its_last_key(name: str, low: Key, high: Key, expected: bool) -> None:
    """Whatever stands after it in its file: that may be another batch, which begins later and ends sooner."""
    assert reaches(pack_blocks(LAYOUTS[name].pack([10, 40, 90])), low, high) == expected
