"""Whole spaces that have many slabs although they are small."""

import pytest

from hakoiri.coordinator.graphs import census, verify
from hakoiri.coordinator.spaces import joining, slabs
from hakoiri.storage.results import census as results


def small_slabs(patch: pytest.MonkeyPatch, size: int) -> None:
    """From now on a slab has so many configurations."""
    for module in (census, joining, results, slabs, verify):
        patch.setattr(module, "SLAB", size)
