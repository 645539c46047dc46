"""Data Redis, as hosts say where they are: what cannot be one is lost, and harms nobody."""

from typing import cast

import pytest
import redis

from hakoiri.worker.errors import DataRedisLostError
from hakoiri.worker.transport.data_redis_pool import MAIN, DataRedisPool, data_redis_number
from tests.support.hostile_redis import Told


@pytest.mark.parametrize(
    "url",
    ["?", "redis://[", "redis://:secret@host:99999999/0", "\x1b[2J", "rediss://", "redis://:secret@10.0.0.9:1/0"],
)
def test_an_address_that_is_none_or_not_shown_harms_nobody(url: str) -> None:
    """Whoever may write into Redis may write it there."""
    data_pool = DataRedisPool(cast(redis.Redis, Told(url, seen=())))
    with pytest.raises(DataRedisLostError) as raised, data_pool.reach(data_redis_number(url)):
        pytest.fail("it was connected to")
    assert "secret" not in str(raised.value)


def test_a_data_redis_that_no_host_names_is_lost_and_that_of_the_queue_never() -> None:
    main = cast(redis.Redis, Told("redis://10.0.0.9:1/0"))
    data_pool = DataRedisPool(main)
    with pytest.raises(DataRedisLostError, match="belongs to no live host"), data_pool.reach(5):
        pytest.fail("it was connected to")
    with data_pool.reach(MAIN) as connection:
        assert connection is main
