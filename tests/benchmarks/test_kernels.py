"""The clocks of `benchmarks/kernels.py` are around kernels that are used."""

import pytest

from benchmarks.kernels import KERNELS, measured
from hakoiri.puzzles.registry import PuzzleSpec


@pytest.mark.parametrize(
    ("name", "options", "count", "unused"),
    [("tiles", {"rows": "2", "columns": "3"}, 360, set()), ("pancakes", {"n": "7"}, 5040, {"set_within"})],
)
def test_every_kernel_that_is_used_has_a_clock(
    name: str, options: dict[str, str], count: int, unused: set[str]
) -> None:
    found, _, each = measured(PuzzleSpec(name, options).build())
    assert found == count
    assert {kernel for kernel, spent in zip(KERNELS, each, strict=True) if not spent} <= unused
