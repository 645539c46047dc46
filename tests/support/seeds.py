"""The seeds that a slow test is tried with: a few, or many with ``HAKOIRI_MANY_SEEDS=1`` in the environment."""

import os


def seeds(first: int, few: int, many: int) -> range:
    """The seeds from `first` on that a test is to be tried with now."""
    return range(first, first + (many if os.environ.get("HAKOIRI_MANY_SEEDS") else few))
