"""Magic stars counted by halves that meet: as published."""

import pytest

from campaigns.tables.stars import orbits


@pytest.mark.parametrize(("points", "published"), [(5, 0), (6, 80), (7, 72), (8, 112), (9, 3_014), (10, 10_882)])
def test_as_many_as_are_published(points: int, published: int) -> None:
    assert orbits(points) == published
